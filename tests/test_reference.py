"""The witness: that it agrees where it should, and that it refuses where it should."""

from dataclasses import replace

import pytest
import torch
from folders import write

from vitbook.library.checkpoints import load_checkpoint
from vitbook.library.reference import Disagreement, agree, compare, largest_scores

CLOSE_SCORES = 1e-4  # relative; two float32 runs of the same dot products


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return load_checkpoint(write(tmp_path_factory.mktemp("reference") / "good"))


def picture(checkpoint, seed=0):
    c = checkpoint.config
    return torch.randn(c.C, c.H, c.W, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def comparison(checkpoint):
    return compare(checkpoint, picture(checkpoint))


def test_every_stage_is_there_in_both_precisions(checkpoint, comparison):
    L = checkpoint.config.L
    layers = [name for l in range(1, L + 1) for name in (f"LN, layer {l}", f"A, layer {l}", f"z_{l}")]
    assert comparison.stages == ["x_p E", "z_0", *layers, "y", "logits"]
    assert len(list(comparison)) == 2 * len(comparison.stages)
    assert comparison["y", "float64"].relative < comparison["y"].relative
    assert comparison.worst("float64").relative < 1e-11
    with pytest.raises(KeyError, match="stages are x_p E"):
        comparison["z_99"]


def test_table_and_text_name_every_stage(comparison):
    assert [row["stage"] for row in comparison.table()] == comparison.stages
    assert len(str(comparison).splitlines()) == len(comparison.stages) + 1


@pytest.mark.parametrize("name", ["E_pos", "gamma", "W_head"])
def test_a_changed_tensor_is_found(checkpoint, name):
    """One part in a thousand is far above rounding and far below what a glance at the output would show."""
    changed = replace(checkpoint.weights, **{name: getattr(checkpoint.weights, name) * 1.001})
    with pytest.raises(Disagreement, match="NOT <"):
        compare(replace(checkpoint, weights=changed), picture(checkpoint))


@pytest.mark.parametrize("name", ["gamma_1", "U_q", "b_v", "U_msa", "W_2"])
def test_a_changed_tensor_of_a_layer_is_found(checkpoint, name):
    layers = list(checkpoint.weights.layers)
    layers[1] = replace(layers[1], **{name: getattr(layers[1], name) * 1.01 + 1e-3})
    with pytest.raises(Disagreement):
        compare(replace(checkpoint, weights=replace(checkpoint.weights, layers=tuple(layers))), picture(checkpoint))


def test_the_wrong_eps_is_found_though_no_shape_changes(checkpoint):
    config = replace(checkpoint.config, eps=checkpoint.config.eps + 1e-3)
    with pytest.raises(Disagreement):
        compare(replace(checkpoint, weights=replace(checkpoint.weights, config=config)), picture(checkpoint))


def test_large_scores_loosen_the_bound_of_weights_and_of_nothing_else(checkpoint):
    """Large scores: a float32 step in a score becomes a step as large in a weight. (512: exact in both precisions.)"""
    layers = [replace(l, U_q=l.U_q * 512, b_q=l.b_q * 512) for l in checkpoint.weights.layers]
    loud = replace(checkpoint, weights=replace(checkpoint.weights, layers=tuple(layers)))

    def library(dtype):
        model = checkpoint.library(dtype)
        with torch.no_grad():
            for layer in model.vit.layers:
                layer.attention.q_proj.weight.mul_(512)
                if layer.attention.q_proj.bias is not None:
                    layer.attention.q_proj.bias.mul_(512)
        return model

    x = picture(checkpoint)
    result = compare(loud, x, library)
    scores = largest_scores(library(torch.float32), x)
    for row in result:
        is_weight = row.stage.startswith("A, ")
        plain = {"float32": 1e-5, "float64": 1e-11}[row.dtype]
        eps = {"float32": 2.0**-23, "float64": 2.0**-52}[row.dtype]
        expected = max(plain, 8 * eps * scores[row.stage]) if is_weight else plain
        assert row.bound == pytest.approx(expected, rel=CLOSE_SCORES)


def test_a_batch_is_compared_one_by_one(checkpoint):
    with pytest.raises(ValueError, match=r"one picture .*got \(2, "):
        compare(checkpoint, torch.stack([picture(checkpoint)] * 2))


def test_agree_asserts_and_says():
    a = torch.tensor([1.0, 2.0, 4.0])
    row = agree(a, a + torch.tensor([0.0, 0.0, 8e-6]), "three numbers")
    assert row.agrees and "three numbers: off by" in str(row) and len(str(row)) <= 80
    with pytest.raises(Disagreement, match="NOT < 1e-05 in float32"):
        agree(a, a + 1e-3)
    with pytest.raises(Disagreement, match=r"\(3,\)"):
        agree(a, a[None])
    with pytest.raises(Disagreement, match="float64"):
        agree(a, a.double())
    with pytest.raises(Disagreement):
        agree(a, torch.tensor([1.0, 2.0, float("nan")]))
    with pytest.raises(ValueError, match="int64"):
        agree(torch.tensor([1]), torch.tensor([1]))


def test_zeros_agree_with_zeros_only():
    zeros = torch.zeros(3)
    assert agree(zeros, zeros).relative == 0
    with pytest.raises(Disagreement):
        agree(zeros + 1e-3, zeros)


@pytest.mark.slow
def test_random_vit_b_16_saved_and_loaded(tmp_path):
    """The size of the paper's Base model: 86,567,656 random numbers, through the disk, stage by stage."""
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(0)
    model = ViTForImageClassification(ViTConfig(num_labels=1000))
    assert sum(p.numel() for p in model.parameters()) == 86_567_656
    model.save_pretrained(tmp_path / "b16")
    checkpoint = load_checkpoint(tmp_path / "b16")
    assert sum(tensor.numel() for _, tensor in checkpoint.weights.named()) == 86_567_656
    assert checkpoint.config.N == 196
    result = compare(checkpoint, picture(checkpoint))
    assert result.worst().relative <= 1e-5 and result.worst("float64").relative <= 1e-11
