"""What `run` computes with is what `encoder` says: Eq. 2 and 3 by torch's kernels against the equations, in float64."""

import pytest
import torch
from tiny import ODD, random_weights, random_x
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from vitbook import encoder, kernels
from vitbook.attention import join_heads, self_attention
from vitbook.config import ACTIVATIONS
from vitbook.model import run

CLOSE = dict(rtol=1e-12, atol=1e-13)
LAYER = random_weights().layers[1]
LATER = torch.ones(13, 13, dtype=torch.bool).tril()


def tokens(*lead: int) -> torch.Tensor:
    return torch.randn(*lead, 13, ODD.D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("lead", [(), (1,), (5,)])
@pytest.mark.parametrize("mask", [None, LATER])
@pytest.mark.parametrize("eps", [1e-12, 1e-1])
def test_attend(lead, mask, eps):
    given = (tokens(*lead), LAYER, ODD.heads, eps, mask)
    for name, ours, theirs in zip(
        encoder.Attended._fields, encoder.attend(*given), kernels.attend(*given), strict=True
    ):
        torch.testing.assert_close(theirs, ours, **CLOSE, msg=lambda said, name=name: f"{name}: {said}")


@pytest.mark.parametrize("lead", [(), (1,), (5,)])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("eps", [1e-12, 1e-1])
def test_transform(lead, activation, eps):
    given = (tokens(*lead), LAYER, activation, eps)
    for ours, theirs in zip(encoder.transform(*given), kernels.transform(*given), strict=True):
        torch.testing.assert_close(theirs, ours, **CLOSE)


def test_every_activation_of_a_config_is_there_twice():
    assert set(kernels.ACTIVATIONS) == set(encoder.ACTIVATIONS) == set(ACTIVATIONS)


def test_a_query_with_nothing_to_read_is_refused():
    mask = LATER.clone()
    mask[4] = False
    with pytest.raises(ValueError, match="no key to read"):
        kernels.attend(tokens(), LAYER, ODD.heads, 1e-6, mask)


@pytest.mark.parametrize("mask", [None, LATER])
def test_the_weights_that_a_trace_derives_are_those_that_the_run_used(mask):
    weights = random_weights()
    trace = run(weights, random_x(), mask)
    for l, layer in enumerate(weights.layers, start=1):
        msa = join_heads(self_attention(trace.attention(l), trace.v[l - 1]), layer.U_msa, layer.b_msa)
        torch.testing.assert_close(trace.msa[l - 1], msa, **CLOSE)


class Seen(TorchDispatchMode):
    """The shape of every tensor that torch makes."""

    def __init__(self):
        super().__init__()
        self.shapes = []

    def __torch_dispatch__(self, function, types, given=(), named=None):
        out = function(*given, **(named or {}))
        self.shapes += [tuple(tensor.shape) for tensor in tree_leaves(out) if isinstance(tensor, torch.Tensor)]
        return out


@pytest.mark.parametrize("lead", [(), (5,)])
def test_attention_is_never_written_down(lead):
    """No tensor on the way has two axes of tokens; the equations have one, so that this test can fail."""
    squares = []
    for room in (kernels, encoder):
        with torch.no_grad(), Seen() as seen:
            room.attend(tokens(*lead), LAYER, ODD.heads, 1e-6)
        assert len(seen.shapes) > 10
        squares.append([shape for shape in seen.shapes if shape.count(13) > 1])
    assert not squares[0] and squares[1]


def test_float32_loses_no_digit_against_the_equations():
    """Both are held against float64; the kernels may be at most twice as far away as the equations are."""
    z = tokens(64)
    exact = encoder.transform(encoder.attend(z, LAYER, ODD.heads, 1e-3).z_prime, LAYER, "gelu", 1e-3)[1]
    layer = random_weights().to(torch.float32).layers[1]
    off = [
        (room.transform(room.attend(z.float(), layer, ODD.heads, 1e-3).z_prime, layer, "gelu", 1e-3)[1] - exact)
        .square()
        .mean()
        .sqrt()
        for room in (encoder, kernels)
    ]
    assert off[1] < 2 * off[0]
