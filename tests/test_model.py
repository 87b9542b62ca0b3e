"""Eq. 1 to 8 against torch's own modules on odd sizes, in float64, where noise is near 1e-15 and a mistake is not."""

import math
from dataclasses import replace

import pytest
import torch
from tiny import ODD, checkpoint_of, random_weights, random_x
from torch import nn
from torch.nn import functional

from vitbook.attention import attention_weights, join_heads, qkv, self_attention
from vitbook.embed import embed, resample_positions
from vitbook.encoder import ACTIVATIONS, gelu, gelu_tanh, layer_norm
from vitbook.library.base import Checkpoint
from vitbook.model import run
from vitbook.readout import top

CLOSE = dict(rtol=1e-11, atol=1e-12)  # float64, three layers of sums of about 40 terms


@pytest.fixture(scope="module")
def tiny() -> Checkpoint:
    return checkpoint_of(random_weights(), tuple("abcdefg"))


@pytest.fixture(scope="module")
def trace(tiny):
    return run(tiny, random_x())


def torch_layer(layer, z):
    """The same layer built from torch's modules: LayerNorm, MultiheadAttention, GELU."""
    D, heads = ODD.D, ODD.heads
    msa = nn.MultiheadAttention(D, heads, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        msa.in_proj_weight.copy_(torch.cat([layer.U_q.T, layer.U_k.T, layer.U_v.T]))
        msa.in_proj_bias.copy_(torch.cat([layer.b_q, layer.b_k, layer.b_v]))
        msa.out_proj.weight.copy_(layer.U_msa.T)
        msa.out_proj.bias.copy_(layer.b_msa)
        normed = functional.layer_norm(z, (D,), layer.gamma_1, layer.beta_1, ODD.eps)[None]
        out, A = msa(normed, normed, normed, average_attn_weights=False)
        z_prime = z + out[0]
        normed = functional.layer_norm(z_prime, (D,), layer.gamma_2, layer.beta_2, ODD.eps)
        return A[0], z_prime, z_prime + functional.gelu(normed @ layer.W_1 + layer.b_1) @ layer.W_2 + layer.b_2


def test_every_layer_equals_torch_modules(tiny, trace):
    z = torch.cat([tiny.weights.x_class, trace.x_p @ tiny.weights.E + tiny.weights.b_E]) + tiny.weights.E_pos
    torch.testing.assert_close(trace.z[0], z, **CLOSE)
    for l, layer in enumerate(tiny.weights.layers, start=1):
        A, z_prime, z = torch_layer(layer, z)
        torch.testing.assert_close(trace.attention(l), A, **CLOSE)
        torch.testing.assert_close(trace.z_prime[l - 1], z_prime, **CLOSE)
        torch.testing.assert_close(trace.z[l], z, **CLOSE)
    y = functional.layer_norm(z[0], (ODD.D,), tiny.weights.gamma, tiny.weights.beta, ODD.eps)
    torch.testing.assert_close(trace.y, y, **CLOSE)
    torch.testing.assert_close(trace.logits, y @ tiny.weights.W_head + tiny.weights.b_head, **CLOSE)


def test_lists_have_one_entry_a_layer(trace):
    assert len(trace.z) == ODD.L + 1
    assert [len(x) for x in (trace.q, trace.k, trace.v, trace.msa, trace.z_prime, trace.mlp)] == [ODD.L] * 6
    assert trace.shapes()["q"] == "3 x (2, 13, 11)"


def test_residual_lines(trace):
    for l in range(1, ODD.L + 1):
        torch.testing.assert_close(trace.z_prime[l - 1], trace.z[l - 1] + trace.msa[l - 1], **CLOSE)
        torch.testing.assert_close(trace.z[l], trace.z_prime[l - 1] + trace.mlp[l - 1], **CLOSE)


def test_attention_of_head_and_query_is_a_part_of_the_whole(trace):
    A = trace.attention(2)
    assert A.shape == (2, 13, 13)
    torch.testing.assert_close(A.sum(-1), torch.ones(2, 13, dtype=torch.float64), **CLOSE)
    torch.testing.assert_close(trace.attention(2, head=2), A[1], **CLOSE)
    torch.testing.assert_close(trace.attention(2, head=2, query=5), A[1, 5], **CLOSE)
    torch.testing.assert_close(trace.attention(2, query=5), A[:, 5], **CLOSE)


@pytest.mark.parametrize("choice", [(0,), (4,), (1, 0), (1, 3), (1, 1, -1), (1, 1, 13), (True,), (1.0,), (1, None, 99)])
def test_choices_outside_the_model_are_refused(trace, choice):
    with pytest.raises(ValueError, match="whole number from"):
        trace.attention(*choice)


def test_mask_is_kept_for_the_derived_weights(tiny, trace):
    mask = torch.ones(13, 13, dtype=torch.bool).tril()
    masked = run(tiny, random_x(), mask)
    A = masked.attention(3)
    assert (A.triu(1) == 0).all() and torch.equal(A[:, 0, 0], torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(masked.attention(3, 1, 4), A[0, 4], **CLOSE)
    assert not torch.allclose(masked.y, trace.y)
    with pytest.raises(ValueError, match="no key to read"):
        run(tiny, random_x(), torch.zeros(13, 13, dtype=torch.bool))
    with pytest.raises(ValueError, match="mask must have shape"):
        run(tiny, random_x(), mask[:12])


def test_weights_and_a_checkpoint_run_alike_and_nothing_else_does(tiny, trace):
    assert torch.equal(run(tiny.weights, random_x()).logits, trace.logits)
    for wrong in ("embedded", None, random_x(), nn.Linear(2, 3)):
        with pytest.raises(ValueError, match=f"expected a checkpoint.*got {type(wrong).__name__}"):
            run(wrong, random_x())


def test_top_names_and_ranks(tiny, trace):
    p = torch.softmax(trace.logits, 0)
    ranked = tiny.top(trace.logits, 3)
    assert [name for name, _ in ranked] == ["abcdefg"[i] for i in p.argsort(descending=True)[:3]]
    assert ranked[0][1] == pytest.approx(p.max().item())
    assert len(tiny.top(trace.logits, 99)) == 7 and len(top(trace.logits, 99)) == 7
    assert checkpoint_of(tiny.weights).top(trace.logits, 1) == [(f"class {p.argmax()}", ranked[0][1])]
    with pytest.raises(ValueError, match="positive whole number"):
        tiny.top(trace.logits, 0)
    with pytest.raises(ValueError, match=r"got \(2, 7\); of a batch, take trace.picture"):
        tiny.top(torch.stack([trace.logits] * 2))


def test_no_head_no_logits():
    headless = checkpoint_of(random_weights(K=None))
    trace = run(headless, random_x())
    assert trace.logits is None
    with pytest.raises(ValueError, match="no classification head"):
        headless.top(trace.logits)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.zeros(1, 1, 3, 15, 20), r"or a batch \(B, 3, 15, 20\), got \(1, 1, 3, 15, 20\)"),
        (torch.zeros(0, 3, 15, 20), r"needs at least one, got shape \(0, 3, 15, 20\)"),
        (torch.zeros(5, 3, 20, 15), r"or a batch \(B, 3, 15, 20\), got \(5, 3, 20, 15\)"),
        (torch.zeros(15, 20), r"got \(15, 20\)"),
        (torch.zeros(3, 20, 15), r"\(3, 15, 20\)"),
        (torch.full((3, 15, 20), math.nan), "finite"),
        (torch.zeros(3, 15, 20, dtype=torch.uint8), "preprocess"),
        ([[0.0]], "torch tensor"),
    ],
)
def test_bad_x_is_named(tiny, x, words):
    with pytest.raises(ValueError, match=words):
        run(tiny, x)


def test_weights_refuse_wrong_shapes_nan_and_missing_layers():
    weights = random_weights()
    with pytest.raises(ValueError, match="E_pos must have shape"):
        replace(weights, E_pos=weights.E_pos[1:])
    with pytest.raises(ValueError, match="layer 2: U_msa"):
        layers = list(weights.layers)
        layers[1] = replace(layers[1], U_msa=layers[1].U_msa[:, :-1])
        replace(weights, layers=tuple(layers))
    with pytest.raises(ValueError, match="NaN"):
        replace(weights, gamma=weights.gamma * math.nan)
    with pytest.raises(ValueError, match="L = 3"):
        replace(weights, layers=weights.layers[:2])
    with pytest.raises(ValueError, match="both W_head and b_head"):
        replace(weights, b_head=None)


def test_weights_change_their_type_together():
    weights = random_weights().to(torch.float32)
    assert {tensor.dtype for _, tensor in weights.named()} == {torch.float32}
    assert weights.dtype == torch.float32 and weights.K == 7


def test_layer_norm_eps_is_inside_the_root_and_variance_is_of_the_population():
    x = torch.tensor([[1.0, 2.0, 4.0]], dtype=torch.float64)
    one, zero = torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    by_hand = (x - 7 / 3) / math.sqrt(14 / 9 + 0.5)
    torch.testing.assert_close(layer_norm(x, one, zero, 0.5), by_hand, **CLOSE)


def test_activations_equal_torch():
    x = torch.linspace(-9, 9, 1001, dtype=torch.float64)
    torch.testing.assert_close(gelu(x), functional.gelu(x), **CLOSE)
    torch.testing.assert_close(gelu_tanh(x), functional.gelu(x, approximate="tanh"), **CLOSE)
    assert torch.equal(ACTIVATIONS["relu"](x), x.clamp(min=0))


def test_eq_5_to_8_one_head_at_a_time():
    weights, z = random_weights().layers[0], torch.randn(13, 22, dtype=torch.float64)
    q, k, v = qkv(z, weights.U_q, weights.U_k, weights.U_v, weights.b_q, weights.b_k, weights.b_v, 2)
    msa = join_heads(self_attention(attention_weights(q, k), v), weights.U_msa)
    pieces = []
    for h in range(2):
        block = slice(11 * h, 11 * h + 11)
        q1, k1, v1 = (z @ U[:, block] + b[block] for U, b in zip(
            (weights.U_q, weights.U_k, weights.U_v), (weights.b_q, weights.b_k, weights.b_v), strict=True))  # fmt: skip
        pieces.append(torch.softmax(q1 @ k1.T / math.sqrt(11), 1) @ v1)
    torch.testing.assert_close(msa, torch.cat(pieces, 1) @ weights.U_msa, **CLOSE)


def test_embed_refuses_a_table_for_another_grid():
    weights = random_weights()
    with pytest.raises(ValueError, match="resample_positions"):
        embed(weights.x_class, torch.zeros(11, 22, dtype=torch.float64), weights.E_pos)


def test_resampling_keeps_class_and_the_same_grid():
    table = random_weights().E_pos
    torch.testing.assert_close(resample_positions(table, (3, 4), (3, 4)), table, **CLOSE)
    new = resample_positions(table, (3, 4), (6, 5), "bilinear-corners")
    assert new.shape == (31, 22) and torch.equal(new[0], table[0])
    corners = new[1:].reshape(6, 5, 22)[[0, 0, -1, -1], [0, -1, 0, -1]]
    torch.testing.assert_close(corners, table[1:].reshape(3, 4, 22)[[0, 0, -1, -1], [0, -1, 0, -1]], **CLOSE)
    with pytest.raises(ValueError, match="3 x 5 grid"):
        resample_positions(table, (3, 5), (6, 5))
    with pytest.raises(ValueError, match="mode must be one of"):
        resample_positions(table, (3, 4), (6, 5), "cubic")
