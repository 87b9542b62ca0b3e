"""GELU's tanh form is as far off as it is said to be, and the conventions are ones that a model can have."""

from dataclasses import replace

import pytest
import torch
from tiny import ODD

from vitbook.encoder import gelu, gelu_tanh
from vitbook.ledger.measure.numerics import best_coefficient, tanh_decimals, tanh_error
from vitbook.studies.numerics import CONVENTIONS


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
