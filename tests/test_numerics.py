"""GELU's tanh form is as far off as it is said to be, the conventions are ones that a model can have, and products round."""

from dataclasses import replace

import pytest
import torch
from tiny import ODD, random_weights, random_x
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import linear, scaled_dot_product_attention

from vitbook.encoder import gelu, gelu_tanh
from vitbook.ledger.measure.numerics import best_coefficient, tanh_decimals, tanh_error
from vitbook.model import run
from vitbook.studies.numerics import CONVENTIONS, rounded, rounded_products


def test_the_tanh_form_is_as_far_from_gelu_as_it_is_said_to_be():
    x = torch.linspace(-10, 10, 400_001, dtype=torch.float64)
    worst = (gelu(x) - gelu_tanh(x)).abs()
    assert tanh_error() == pytest.approx(worst.max().item(), rel=1e-6)
    assert abs(abs(x[worst.argmax()].item()) - 2.70) < 0.01
    assert 0.5e-4 < tanh_error() < 0.5e-3 and tanh_decimals() == 3


def test_the_best_coefficient_is_a_minimum():
    best = best_coefficient()
    assert tanh_error(best) < min(tanh_error(best - 1e-4), tanh_error(best + 1e-4), tanh_error())
    assert max(tanh_error(c / 1e5) >= tanh_error(best) - 1e-9 for c in range(4300, 4700, 10))


def test_conventions_are_ones_that_a_config_can_have():
    for activation, eps in CONVENTIONS.values():
        assert replace(ODD, activation=activation, eps=eps).eps == eps
    assert CONVENTIONS["the authors' JAX code"] == ("gelu_tanh", 1e-6)


@pytest.mark.parametrize(
    "choice, complaint", [(dict(activation="swish"), "activation must be"), (dict(eps=-1e-6), "eps must be")]
)
def test_a_choice_that_no_model_has_is_refused(choice, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(ODD, **choice)


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_products_are_those_of_rounded_factors():
    a, b, bias, heads = drawn(5, 7), drawn(7, 4), drawn(4), drawn(3, 5, 7)
    with rounded_products():
        found = a @ b, a[0] @ b, heads @ b, heads @ heads.mT, linear(a, b.T, bias), a[0] @ a[1]
    a, b, heads = rounded(a), rounded(b), rounded(heads)
    meant = a @ b, a[0] @ b, heads @ b, heads @ heads.mT, a @ b + bias, a[0] @ a[1]
    for x, y in zip(found, meant, strict=True):
        torch.testing.assert_close(x, y)
    assert torch.equal(rounded(torch.tensor(3.14159265)), torch.tensor(3.140625))


def test_the_products_inside_attention_are_rounded_too():
    q, k, v = drawn(1, 2, 6, 16), drawn(1, 2, 7, 16), drawn(1, 2, 7, 16)
    with rounded_products(), torch.no_grad():
        found = scaled_dot_product_attention(q, k, v)
    half = 16**-0.25  # this kernel shares 1 / sqrt(D_h) between its factors, half a power each; here exactly 1/2
    A = torch.softmax(rounded(half * q) @ rounded(half * k).mT, dim=-1)
    torch.testing.assert_close(found, rounded(A) @ rounded(v))
    assert (found - scaled_dot_product_attention(q, k, v)).abs().max() > 1e-4


def test_a_kernel_that_multiplies_unseen_is_refused():
    q = drawn(1, 2, 6, 16)
    fused = sdpa_kernel(SDPBackend.FLASH_ATTENTION)
    with torch.no_grad(), rounded_products(), fused, pytest.raises(RuntimeError, match="cannot be rounded"):
        scaled_dot_product_attention(q, q, q)


def test_a_run_goes_through_with_rounded_products():
    weights, x = random_weights().to(torch.float32), random_x().float()
    y = run(weights, x).y
    with rounded_products():
        moved = run(weights, x).y
    assert 1e-4 < (moved - y).abs().max() / y.abs().max() < 0.2 and moved.dtype == y.dtype
