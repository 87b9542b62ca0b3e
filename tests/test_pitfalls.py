"""Pitfalls: the right model is `vitbook.run`, and each mistake is the very mistake that its name promises.

Most mistakes can be made in a second way, by handing other weights, another config, mask or picture to `vitbook.run`:
then both ways must give the same numbers. The rest is held against a property that only this mistake has.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from tiny import ODD, checkpoint_of, random_weights, random_x

from vitbook.config import Preprocessing
from vitbook.encoder import layer_norm, mlp
from vitbook.library.base import Checkpoint
from vitbook.model import run
from vitbook.patches import cut
from vitbook.studies import pitfalls
from vitbook.studies.pitfalls import PITFALLS, Right

GELU = replace(ODD, activation="gelu")
HALVES = Preprocessing((ODD.H, ODD.W), (0.5,) * 3, (0.5,) * 3)
IMAGENET = Preprocessing((ODD.H, ODD.W), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


CHECKPOINT = checkpoint_of(random_weights(GELU), preprocessing=IMAGENET)
X = random_x()


def same(stages, trace) -> None:
    """Up to the rounding of float64 sums of a few dozen terms, three layers deep."""
    for ours, theirs in zip([*stages.z, stages.y, stages.logits], [*trace.z, trace.y, trace.logits], strict=True):
        assert (ours - theirs).abs().max() <= 1e-11 * theirs.abs().max()


def with_layers(**changes) -> Checkpoint:
    """The checkpoint with each layer's tensors changed: name -> a function of the layer's weights."""
    w = CHECKPOINT.weights
    layers = tuple(replace(l, **{name: change(l) for name, change in changes.items()}) for l in w.layers)
    return replace(CHECKPOINT, weights=replace(w, layers=layers))


def with_config(**changes) -> Checkpoint:
    return replace(CHECKPOINT, weights=replace(CHECKPOINT.weights, config=replace(GELU, **changes)))


def with_weights(**changes) -> Checkpoint:
    return replace(CHECKPOINT, weights=replace(CHECKPOINT.weights, **changes))


def interleaved(name):
    """Columns in another order, so that blocks of neighbours are what every heads-th column was."""
    order = torch.arange(ODD.D).reshape(ODD.D_h, ODD.heads).T.flatten()
    return lambda l: getattr(l, name)[..., order]


later = torch.ones(ODD.N + 1, ODD.N + 1, dtype=torch.bool).tril()
down = torch.arange(ODD.N).reshape(ODD.rows, ODD.columns).T.flatten()
by_pixel = torch.arange(ODD.patch_numbers).reshape(ODD.C, -1).T.flatten()
back = torch.argsort(by_pixel)
w = CHECKPOINT.weights
mean, std = (torch.tensor(numbers, dtype=X.dtype).reshape(3, 1, 1) for numbers in (IMAGENET.mean, IMAGENET.std))

#: name -> the same mistake made by what is handed to `run`: checkpoint, x, mask.
ANOTHER_WAY = {
    "shared LayerNorm": (with_layers(gamma_2=lambda l: l.gamma_1, beta_2=lambda l: l.beta_1), X, None),
    "causal mask": (CHECKPOINT, X, later),
    "divided by sqrt(D)": (
        with_layers(**{n: lambda l, n=n: getattr(l, n) / ODD.heads**0.5 for n in ("U_q", "b_q")}), X, None,
    ),
    "not divided": (with_layers(**{n: lambda l, n=n: getattr(l, n) * ODD.D_h**0.5 for n in ("U_q", "b_q")}), X, None),
    "heads interleaved": (
        with_layers(**{n: interleaved(n) for n in ("U_q", "U_k", "U_v", "b_q", "b_k", "b_v")}), X, None,
    ),
    "q and k exchanged": (
        with_layers(U_q=lambda l: l.U_k, U_k=lambda l: l.U_q, b_q=lambda l: l.b_k, b_k=lambda l: l.b_q), X, None,
    ),
    "biases of q, k, v forgotten": (
        with_layers(**{n: lambda l, n=n: torch.zeros_like(getattr(l, n)) for n in ("b_q", "b_k", "b_v")}), X, None,
    ),
    "mlp_ratio of 1": (with_layers(W_2=lambda l: l.W_2 * (torch.arange(ODD.M) < ODD.D)[:, None]), X, None),
    "mlp_ratio taken for the width": (
        with_layers(W_2=lambda l: l.W_2 * (torch.arange(ODD.M) < max(1, ODD.M // ODD.D))[:, None]), X, None,
    ),
    "ReLU for GELU": (with_config(activation="relu"), X, None),
    "the other GELU": (with_config(activation="gelu_tanh"), X, None),
    "PyTorch's eps": (with_config(eps=1e-5), X, None),
    "positions shifted by one": (with_weights(E_pos=torch.cat([w.E_pos[1:], w.E_pos[:1]])), X, None),
    "positions forgotten": (with_weights(E_pos=0 * w.E_pos), X, None),
    "colours interleaved": (with_weights(E=w.E[back]), X, None),
    "another model's mean and std": (CHECKPOINT, (X * std + mean - 0.5) / 0.5, None),
}  # fmt: skip
BY_PROPERTY = {
    "post-norm", "no residual", "residual of the normalised", "no final LayerNorm", "softmax over the wrong axis",
    "0.04471 for 0.044715", "h² for h³", "sample variance", "token 1 read for [class]", "patches down the columns",
}  # fmt: skip


def wrong(name, checkpoint=CHECKPOINT, x=X):
    return PITFALLS[name](checkpoint).run(x)


def test_with_no_mistake_it_is_the_model():
    same(Right(CHECKPOINT).run(X), run(CHECKPOINT, X))


def test_every_pitfall_is_held_by_a_test():
    assert set(ANOTHER_WAY) | BY_PROPERTY == set(PITFALLS) and not set(ANOTHER_WAY) & BY_PROPERTY


@pytest.mark.parametrize("name", ANOTHER_WAY)
def test_the_same_mistake_made_another_way(name):
    checkpoint, x, mask = ANOTHER_WAY[name]
    same(wrong(name), run(checkpoint, x, mask))


@pytest.mark.parametrize("name", PITFALLS)
def test_each_mistake_shows(name):
    (damage,), floor = pitfalls.damages(CHECKPOINT, X, [name]), pitfalls.rounding(CHECKPOINT, X)
    assert damage.y > (1e-7 if PITFALLS[name].fine else 1000 * floor.y)
    assert damage.name == name and len(damage.z) == ODD.L + 1


# --------------------------------------------------------------------------------- mistakes known by what only they do


def test_post_norm_leaves_normalised_tokens():
    last = w.layers[-1]
    z = (wrong("post-norm").z[-1] - last.beta_2) / last.gamma_2
    assert z.mean(1).abs().max() < 1e-12 and (z.var(1, correction=0) - 1).abs().max() < 1e-2  # eps is 1e-3 here


def test_without_residuals_a_layer_is_its_mlp_alone():
    layer = w.layers[0]
    silent = with_layers(W_1=lambda l: 0 * l.W_1, b_1=lambda l: 0 * l.b_1)  # then the MLP's output is its bias
    z_1 = wrong("no residual", silent).z[1]
    assert (z_1 - layer.b_2).abs().max() < 1e-12


def test_the_residual_of_the_normalised_adds_the_normalised():
    silent = with_layers(**{n: lambda l, n=n: 0 * getattr(l, n) for n in ("U_msa", "b_msa", "W_2", "b_2")})
    layer, stages = w.layers[0], wrong("residual of the normalised", silent)
    once = layer_norm(stages.z[0], layer.gamma_1, layer.beta_1, ODD.eps)
    assert (stages.z[1] - layer_norm(once, layer.gamma_2, layer.beta_2, ODD.eps)).abs().max() < 1e-12


def test_no_final_norm_reads_the_row_as_it_is():
    stages, right = wrong("no final LayerNorm"), run(CHECKPOINT, X)
    assert torch.equal(stages.y, stages.z[-1][0]) and (stages.z[-1] - right.z[-1]).abs().max() < 1e-11


def test_the_wrong_axis_makes_columns_add_up():
    A = PITFALLS["softmax over the wrong axis"](CHECKPOINT).softmax(torch.randn(2, 5, 7, dtype=torch.float64))
    assert (A.sum(-2) - 1).abs().max() < 1e-12 and (A.sum(-1) - 1).abs().max() > 0.1


def test_the_two_slips_in_the_tanh_form():
    h = torch.linspace(-4, 4, 33, dtype=torch.float64)

    def tanh_form(cubic):
        values = [v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + cubic(v)))) for v in h.tolist()]
        return torch.tensor(values, dtype=h.dtype)

    for name, cubic in {
        "0.04471 for 0.044715": lambda v: 0.04471 * v**3,
        "h² for h³": lambda v: 0.044715 * v**2,
    }.items():
        assert (PITFALLS[name](CHECKPOINT).activation(h) - tanh_form(cubic)).abs().max() < 1e-7, (
            name
        )  # float32 literals


def test_the_sample_variance_shortens_every_token_alike():
    z, ones, zeros = torch.randn(3, ODD.D, dtype=torch.float64), torch.ones(ODD.D), torch.zeros(ODD.D)
    model = PITFALLS["sample variance"](with_config(eps=0.0))
    ratio = model.norm(z, ones, zeros) / layer_norm(z, ones, zeros, 0.0)
    assert (ratio - math.sqrt((ODD.D - 1) / ODD.D)).abs().max() < 1e-12


def test_reading_the_first_patch():
    z = run(CHECKPOINT, X).z[-1]
    assert (wrong("token 1 read for [class]").y - layer_norm(z[1], w.gamma, w.beta, ODD.eps)).abs().max() < 1e-11


def test_down_the_columns_moves_whole_patches():
    x_p = PITFALLS["patches down the columns"](CHECKPOINT).patches(X)
    assert torch.equal(x_p, cut(X, ODD.P)[down]) and not torch.equal(x_p, cut(X, ODD.P))


def test_a_causal_mask_makes_the_answer_the_same_for_every_picture():
    assert torch.equal(wrong("causal mask").y, wrong("causal mask", x=random_x(seed=5)).y)


def test_an_mlp_of_ratio_1_uses_the_first_D_hidden_numbers():
    z, layer = torch.randn(4, ODD.D, dtype=torch.float64), w.layers[0]
    D = ODD.D
    expected = mlp(z, layer.W_1[:, :D], layer.b_1[:D], layer.W_2[:D], layer.b_2)
    assert (PITFALLS["mlp_ratio of 1"](CHECKPOINT).mlp(z, layer) - expected).abs().max() < 1e-12


def test_pixels_of_a_checkpoint_with_halves_get_imagenets_numbers():
    halves = replace(CHECKPOINT, preprocessing=HALVES)
    x = PITFALLS["another model's mean and std"](halves).pixels(X)
    assert (x - (X / 2 + 0.5 - mean) / std).abs().max() < 1e-12


def test_a_checkpoint_with_the_tanh_form_gets_the_erf_form():
    same(wrong("the other GELU", with_config(activation="gelu_tanh")), run(CHECKPOINT, X))


# ----------------------------------------------------------------------------------------------------------- measuring


def test_a_coarse_mistake_is_measured_in_float32_against_a_right_in_float64():
    checkpoint = checkpoint_of(w.to(torch.float32), preprocessing=IMAGENET)
    floor = pitfalls.rounding(checkpoint, X)
    assert 1e-9 < floor.y < 1e-5 and floor.cosine == pytest.approx(1, abs=1e-9)
    fine = next(pitfalls.damages(checkpoint, X, ["0.04471 for 0.044715"]))
    exact = next(pitfalls.damages(checkpoint.to(torch.float64), X, ["0.04471 for 0.044715"]))
    assert fine == exact and fine.z[0] == 0
    coarse = next(pitfalls.damages(checkpoint, X, ["post-norm"]))
    assert coarse.z[1] > 0.1 and 0 < coarse.z[0] < 1e-5


def test_what_damage_holds():
    right, off = Right(CHECKPOINT).run(X), wrong("post-norm", CHECKPOINT.to(torch.float32))
    right, off = (type(s)([z.double() for z in s.z], s.y.double(), s.logits.double()) for s in (right, off))
    (damage,) = pitfalls.damages(CHECKPOINT, X, ["post-norm"])
    assert damage.z[2] == pytest.approx(((off.z[2] - right.z[2]).norm() / right.z[2].norm()).item())
    assert damage.cosine == pytest.approx((right.y @ off.y / right.y.norm() / off.y.norm()).item())
    assert damage.slip is PITFALLS["post-norm"]


def test_every_mistake_says_what_it_is():
    for slip in PITFALLS.values():
        assert slip.meaning and all(slip.code) and slip.code[0] != slip.code[1], slip.name


def test_an_unknown_pitfall_is_told_what_there_is():
    with pytest.raises(ValueError, match="post-norm"):
        list(pitfalls.damages(CHECKPOINT, X, ["postnorm"]))


def test_two_mistakes_at_once_are_both_made():
    by_hand = replace(
        with_config(activation="relu"), weights=replace(with_config(activation="relu").weights, E_pos=0 * w.E_pos)
    )
    both = pitfalls.together("positions forgotten", "ReLU for GELU")(CHECKPOINT)
    same(both.run(X), run(by_hand, X))
    assert both.A.shape == (ODD.heads, ODD.N + 1, ODD.N + 1)
    same(pitfalls.together()(CHECKPOINT).run(X), run(CHECKPOINT, X))


def test_a_block_without_its_sums_and_with_its_norms_behind():
    """norm(msa(z)), then norm(mlp(z')): neither of the two mistakes hides the other."""
    both, layer = pitfalls.together("post-norm", "no residual")(CHECKPOINT), w.layers[0]
    z = both.run(X).z
    z_prime = both.norm_1(both.msa(z[0], layer), layer)
    assert torch.equal(z[1], both.norm_2(both.mlp(z_prime, layer), layer))


def test_two_mistakes_in_one_line_are_refused():
    with pytest.raises(ValueError, match="'causal mask' and 'softmax over the wrong axis' both change softmax"):
        pitfalls.together("causal mask", "softmax over the wrong axis")


def test_the_board_has_each_mistake_and_every_two():
    names = ["token 1 read for [class]", "causal mask", "no residual"]
    found = pitfalls.board(CHECKPOINT, X, names)
    assert len(found) == 7 and found[()][0].y == 0 and all(set(these) <= set(names) for these in found)
    for these, (damage, read) in found.items():
        model = pitfalls.together(*these)(CHECKPOINT)
        y, row = model.run(X).y, 1 if names[0] in these else 0
        right = run(CHECKPOINT, X).y
        assert damage.y == pytest.approx(((y - right).norm() / right.norm()).item(), abs=1e-12)
        assert torch.allclose(read, model.A[:, row].mean(0)) and read.sum().item() == pytest.approx(1)
