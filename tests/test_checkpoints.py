"""Checkpoints from folders and from the local cache: what loads agrees with transformers, what cannot is refused by name."""

from __future__ import annotations

import io
import json
import os
import random
import socket
import struct
import tempfile
from pathlib import Path

import folders
import pytest
import torch
from folders import NAMES, PREPROCESSOR
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from vitbook import CheckpointError, load_checkpoint, preprocess
from vitbook.config import Preprocessing
from vitbook.library.base import quiet
from vitbook.library.hub import REFERENCE
from vitbook.library.reference import compare
from vitbook.model import run


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Loading never opens a connection, and sees only the cache that a test makes."""

    def refuse(*_, **__):
        raise AssertionError("loading a checkpoint opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("VITBOOK_CHECKPOINT", raising=False)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A checkpoint that is as it should be."""
    return folders.write(tmp_path_factory.mktemp("checkpoints") / "whole")


@pytest.fixture
def folder(whole, tmp_path):
    """A copy of it, to be changed."""
    return folders.copy(whole, tmp_path / "folder")


def x_for(checkpoint, seed: int = 0) -> torch.Tensor:
    c = checkpoint.config
    return torch.randn(c.C, c.H, c.W, generator=torch.Generator().manual_seed(seed))


def refused(source, *words: str, **options) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(source, **options)
    message = str(caught.value)
    for word in words:
        assert word in message
    assert "\n" not in message and tempfile.gettempdir() not in message and len(message) < 600
    return message


# What loads


def test_everything_is_read_from_the_files(whole):
    checkpoint = load_checkpoint(whole)
    c = checkpoint.config
    assert (c.H, c.W, c.P, c.C, c.D, c.L, c.heads, c.M) == (15, 20, 5, 3, 22, 3, 2, 37)
    assert (c.eps, c.activation, c.qkv_bias) == (1e-12, "gelu", True)
    assert c is checkpoint.weights.config
    assert checkpoint.labels == tuple(NAMES)
    assert checkpoint.preprocessing == Preprocessing((15, 20), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), "bicubic", 1 / 255)
    assert (checkpoint.name, checkpoint.source, checkpoint.licence) == ("whole", "the folder whole", "not stated")
    assert checkpoint.notes == ()
    assert "whole" in repr(checkpoint) and str(whole) not in repr(checkpoint)
    assert {tensor.dtype for _, tensor in checkpoint.weights.named()} == {torch.float32}
    assert checkpoint.to(torch.float64).weights.dtype == torch.float64


ACTIVATIONS = {
    "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh", "gelu_python_tanh": "gelu_tanh", "relu": "relu",
}  # fmt: skip
KINDS = {
    "as saved": {},
    "eps that cannot be ignored": {"layer_norm_eps": 0.1},
    "no q, k, v biases": {"qkv_bias": False},
    "one channel": {"num_channels": 1},
    "one head": {"num_attention_heads": 1},
    "one layer": {"num_hidden_layers": 1},
    "square": {"image_size": 25},
    "patch size as a pair": {"patch_size": [5, 5]},
    "dropout": {"hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.5},
    "no head": {"head": False},
} | {f"hidden_act {name}": {"hidden_act": name} for name in ACTIVATIONS}


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_every_kind_agrees_with_transformers_at_every_stage(tmp_path, changes):
    folder = folders.write(tmp_path / "kind", **changes)
    (folder / "preprocessor_config.json").unlink()
    checkpoint = load_checkpoint(folder)
    comparison = compare(checkpoint, x_for(checkpoint))  # raises where a bound is broken, in float32 or float64
    assert ("logits" in comparison.stages) == changes.get("head", True)
    assert checkpoint.config.activation == ACTIVATIONS[changes.get("hidden_act", "gelu")]
    assert checkpoint.config.eps == changes.get("layer_norm_eps", 1e-12)


@pytest.mark.parametrize(
    "changes",
    [{"return_dict": False}, {"use_return_dict": False}, {"torchscript": True}, {"output_attentions": True}, {"dtype": "float16"},
     {"_attn_implementation": "sdpa"}, {"pruned_heads": {"0": [0]}}, {"head_dim": 11}, {"torch_dtype": "int8"}],
    ids=str,
)  # fmt: skip
def test_settings_that_are_no_part_of_the_model_change_nothing(folder, changes):
    before = run(load_checkpoint(folder), x_for(load_checkpoint(folder)))
    checkpoint = load_checkpoint(folders.settings(folder, **changes))
    compare(checkpoint, x_for(checkpoint))
    assert torch.equal(run(checkpoint, x_for(checkpoint)).y, before.y)


@pytest.mark.parametrize(
    "changes", [{"initializer_range": "x"}, {"encoder_stride": None}, {"layer_norm_eps": 0}], ids=str
)
def test_what_transformers_cannot_load_is_no_traceback(folder, changes):
    checkpoint = load_checkpoint(folders.settings(folder, **changes))
    with pytest.raises(CheckpointError, match=f"transformers cannot load.*{next(iter(changes))}.*expected"):
        compare(checkpoint, x_for(checkpoint))


def test_a_wrong_eps_or_activation_would_not_go_unseen(tmp_path):
    """The comparison above can fail: the same tensors read with other settings give another y."""
    folder = folders.write(tmp_path / "kind")
    first = load_checkpoint(folder)
    ys = [run(first, x_for(first)).y]
    for change in ({"layer_norm_eps": 0.1}, {"hidden_act": "relu"}, {"hidden_act": "gelu_new"}):
        ys.append(run(load_checkpoint(folders.settings(folder, **change)), x_for(first)).y)
    for n, y in enumerate(ys):
        assert all((y - other).abs().max() > 1e-4 for other in ys[:n])


@pytest.mark.parametrize("head", [True, False], ids=["head", "no head"])
@pytest.mark.parametrize("prefix", [True, False], ids=["vit.", "bare"])
@pytest.mark.parametrize("style", [dict, folders.newer], ids=["old names", "new names"])
def test_old_and_new_names_with_and_without_prefix(tmp_path, whole, head, prefix, style):
    def rename(state: dict) -> dict:
        kept = {k: v for k, v in style(state).items() if head or not k.startswith("classifier")}
        return kept if prefix else {key.removeprefix("vit."): tensor for key, tensor in kept.items()}

    folder = folders.tensors(folders.copy(whole, tmp_path / "renamed"), rename)
    checkpoint, reference = load_checkpoint(folder), load_checkpoint(whole)
    for (name, tensor), (other, expected) in zip(checkpoint.weights.named(), reference.weights.named(), strict=False):
        assert name == other and torch.equal(tensor, expected)
    compare(checkpoint, x_for(checkpoint))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_floats_become_float32_and_the_note_says_so(tmp_path, dtype):
    checkpoint = load_checkpoint(folders.write(tmp_path / "floats", dtype=dtype))
    assert checkpoint.weights.dtype == torch.float32
    assert any(str(dtype).removeprefix("torch.") in note for note in checkpoint.notes)
    compare(checkpoint, x_for(checkpoint))


@pytest.mark.parametrize("pickled", [False, True], ids=["safetensors", "pickle"])
def test_shards(folder, whole, pickled):
    checkpoint = load_checkpoint(folders.shard(folder, pickled), allow_pickle=pickled)
    x = x_for(checkpoint)
    assert torch.equal(run(checkpoint, x).logits, run(load_checkpoint(whole), x).logits)
    compare(checkpoint, x)


def test_a_pickle_is_read_only_when_asked_for(folder):
    folders.pickle_only(folder)
    refused(folder, "pytorch_model.bin", "allow_pickle=True")
    compare(checkpoint := load_checkpoint(folder, allow_pickle=True), x_for(checkpoint))
    assert not any(tensor.requires_grad for _, tensor in checkpoint.weights.named())


def test_a_model_without_a_head_has_no_classes(tmp_path):
    checkpoint = load_checkpoint(folders.write(tmp_path / "bare", head=False))
    assert checkpoint.labels is None and checkpoint.weights.K is None
    assert run(checkpoint, x_for(checkpoint)).logits is None
    assert any("pooler" in note for note in checkpoint.notes)
    assert any("no classification head" in note for note in checkpoint.notes)


def test_a_head_that_the_config_promises_but_the_file_lacks_is_not_made_up(folder):
    folders.tensors(folder, lambda state: {k: v for k, v in state.items() if not k.startswith("classifier")})
    checkpoint = load_checkpoint(folder)
    assert checkpoint.weights.K is None and checkpoint.labels is None
    assert any("announces a classifier that is not in the file" in note for note in checkpoint.notes)


def test_a_head_of_zeros_is_named(folder):
    folders.tensors(folder, lambda s: {k: v * 0 if k.startswith("classifier") else v for k, v in s.items()})
    assert "every class gets the same score" in " ".join(load_checkpoint(folder).notes)
    bias = torch.arange(7.0)
    folders.tensors(folder, lambda s: s | {"classifier.bias": bias})
    assert "the same for every picture" in " ".join(load_checkpoint(folder).notes)


def test_the_licence_comes_from_the_card(folder):
    (folder / "README.md").write_text("---\ntags:\n- x\nlicense: 'cc-by-4.0'\n---\nlicense: not this\n")
    assert load_checkpoint(folder).licence == "cc-by-4.0"
    (folder / "README.md").write_text("license: mit\n")
    assert load_checkpoint(folder).licence == "not stated"


def test_code_in_a_folder_is_never_run(folder, tmp_path):
    trap = tmp_path / "it-ran"
    code = f"open({str(trap)!r}, 'w')\nclass Other: pass\n"
    for name in ("modeling_other.py", "configuration_other.py", "__init__.py", "conftest.py"):
        (folder / name).write_text(code)
    folders.settings(folder, auto_map={"AutoConfig": "configuration_other.Other", "AutoModel": "modeling_other.Other"})
    checkpoint = load_checkpoint(folder)
    checkpoint.library(torch.float32)
    assert not trap.exists()
    assert any("auto_map" in note for note in checkpoint.notes)


class Trap:
    """A pickle that would make a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("allow_pickle", [False, True])
def test_code_in_a_pickle_is_never_run(folder, tmp_path, allow_pickle):
    (folder / "model.safetensors").unlink()
    torch.save({"vit.embeddings.cls_token": Trap(tmp_path / "it-ran")}, folder / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin", allow_pickle=allow_pickle)
    assert not (tmp_path / "it-ran").exists()


def test_loading_is_silent_and_leaves_transformers_as_it_was(whole, capfd, recwarn):
    from transformers.utils import logging

    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        load_checkpoint(whole).library(torch.float32)
        with pytest.raises(ZeroDivisionError), quiet():
            _ = 1 / 0
        assert logging.get_verbosity() == logging.INFO and logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity_warning()
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        ["crane", "crane", "maillot", "maillot", "a", "b", "c"],
        ["猫", "Ὀδυσσεύς", "naïve", "‮tac", "\u0000", "", "🐈"],
        [
            "<script>alert(1)</script>",
            '"><img src=x onerror=alert(1)>',
            "&amp;",
            "{{7*7}}",
            "$\\input{x}$",
            "`rm`",
            "%s",
        ],
    ],
    ids=["twice the same", "unicode", "hostile"],
)
def test_labels_are_data(folder, labels):
    folders.settings(folder, id2label={str(i): name for i, name in enumerate(labels)})
    assert load_checkpoint(folder).labels == tuple(labels)


def test_labels_stand_in_the_order_of_the_logits_whatever_the_order_in_the_file(tmp_path):
    labels = [f"class number {i}" for i in range(12)]
    folder = folders.write(tmp_path / "twelve", id2label=dict(enumerate(labels)))
    folders.settings(folder, id2label={str(i): labels[i] for i in sorted(range(12), key=str)})  # 0, 1, 10, 11, 2, ...
    assert load_checkpoint(folder).labels == tuple(labels)


def test_generic_labels_are_no_names(folder):
    folders.settings(folder, id2label={str(i): f"LABEL_{i}" for i in range(7)})
    checkpoint = load_checkpoint(folder)
    assert checkpoint.labels is None and checkpoint.weights.K == 7
    assert any("shown by number" in note for note in checkpoint.notes)


def test_numbers_as_names_become_text(folder):
    folders.settings(folder, id2label={str(i): i * i for i in range(7)})
    assert load_checkpoint(folder).labels == ("0", "1", "4", "9", "16", "25", "36")


def test_two_classes_are_what_transformers_assumes_when_nothing_is_said(tmp_path):
    folder = folders.write(tmp_path / "two", id2label={0: "LABEL_0", 1: "LABEL_1"})
    folders.settings(folder, "id2label", "label2id")
    checkpoint = load_checkpoint(folder)
    assert checkpoint.weights.K == 2 and checkpoint.labels is None
    compare(checkpoint, x_for(checkpoint))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (None, "has no id2label, which means 2 classes, but the head in the file has 7"),
        ({"0": "only"}, "names 1 classes, but the head in the file has 7"),
        ({str(i): "x" for i in range(8)}, "names 8 classes"),
        ({str(i): "x" for i in (0, 1, 2, 4, 5, 6, 7)}, "no name for class 3"),
        ({"a": "x"}, "got the key 'a'"),
        ({"-1": "x"}, "got the key '-1'"),
        ({"9" * 5000: "x"}, "id2label must be numbered"),
        ({str(i): None for i in range(7)}, "the name of class 0 in id2label must be text, got None"),
        ({str(i): ["x"] for i in range(7)}, "must be text"),
        (["a"] * 7, "id2label must be an object"),
    ],
)
def test_labels_that_contradict_the_head_are_refused(folder, change, word):
    folders.settings(folder, "id2label", "label2id", **({} if change is None else {"id2label": change}))
    refused(folder, word)


def test_a_number_of_classes_without_names(folder):
    folders.settings(folder, "id2label", "label2id", num_labels=7)
    assert load_checkpoint(folder).labels is None
    folders.settings(folder, num_labels=8)
    refused(folder, "num_labels 8 classes")


# Preprocessing


def preprocessor(folder: Path, *without: str, **changes) -> Preprocessing:
    folders.settings(folder, *without, file="preprocessor_config.json", **changes)
    return load_checkpoint(folder).preprocessing


def test_preprocessing_without_a_file_is_the_documented_default_and_said_aloud(folder):
    (folder / "preprocessor_config.json").unlink()
    checkpoint = load_checkpoint(folder)
    assert checkpoint.preprocessing == Preprocessing((15, 20), (0.5,) * 3, (0.5,) * 3, "bilinear")
    assert any("no preprocessor_config.json" in note for note in checkpoint.notes)


def test_the_160_bytes_of_the_reference_checkpoint(tmp_path):
    folder = folders.write(tmp_path / "square", image_size=25)
    file = {"do_normalize": True, "do_resize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": 25}
    (folder / "preprocessor_config.json").write_text(json.dumps(file))
    assert load_checkpoint(folder).preprocessing == Preprocessing((25, 25), (0.5,) * 3, (0.5,) * 3, "bilinear")


@pytest.mark.parametrize("code", range(6))
def test_every_resampling_of_pillow(folder, code):
    from PIL.Image import Resampling

    assert preprocessor(folder, resample=code).resample == Resampling(code).name.lower()


def test_switched_off_steps_are_not_taken(folder):
    how = preprocessor(folder, do_resize=False, do_rescale=False, do_normalize=False, image_mean=None)
    assert how == Preprocessing(None, (0.0,) * 3, (1.0,) * 3, "bicubic", 1.0)


def test_shortest_edge_with_a_centre_crop(folder):
    crop = {"do_center_crop": True, "crop_size": {"height": 15, "width": 20}, "size": {"shortest_edge": 24}}
    how = preprocessor(folder, **crop)
    assert (how.resize, how.crop) == (24, (15, 20))
    x = preprocess("chelsea", load_checkpoint(folder))
    assert x.shape == (3, 15, 20)


def test_another_processor_that_says_everything_is_followed(folder):
    how = preprocessor(folder, image_processor_type="BitImageProcessor", do_center_crop=False, do_convert_rgb=True)
    assert how.resize == (15, 20)


def test_a_processor_inside_processor_config(folder):
    (folder / "preprocessor_config.json").unlink()
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": PREPROCESSOR}))
    assert load_checkpoint(folder).preprocessing.mean == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": {"height": 16, "width": 20}}, ["16 x 20", "15 x 20"]),
        ({"size": 15}, ["15 x 15", "15 x 20"]),
        ({"size": {"shortest_edge": 15}}, ["shortest edge", "no centre crop"]),
        ({"size": {"longest_edge": 15}}, ["size must be height and width"]),
        ({"size": "15"}, ["size must be height and width"]),
        ({"size": {"height": 15, "width": -20}}, ["size: width must be a positive whole number, got -20"]),
        ({"size": {"height": 15.0, "width": 20}}, ["got 15.0"]),
        ({"do_pad": True}, ["do_pad"]),
        ({"do_flip_channel_order": True, "crop_pct": 0.9}, ["do_flip_channel_order", "crop_pct"]),
        ({"do_resize": "yes"}, ["do_resize must be true or false, got 'yes'"]),
        ({"resample": 9}, ["resample", "from 0 to 5", "got 9"]),
        ({"resample": "bicubic"}, ["got 'bicubic'"]),
        ({"image_mean": [0.5]}, ["image_mean has 1 numbers, the model has 3 channels"]),
        ({"image_mean": [0.5, "x", 0.5]}, ["image_mean must be a finite number, got 'x'"]),
        ({"image_std": [0.5, 0, 0.5]}, ["image_std must be positive"]),
        ({"image_std": [0.5, float("nan"), 0.5]}, ["image_std must be a finite number", "got nan"]),
        ({"rescale_factor": 10**400}, ["rescale_factor must be a finite number"]),
        ({"image_processor_type": "CLIPImageProcessor"}, ["CLIPImageProcessor", "crop_size", "224 x 224", "15 x 20"]),
        ({"image_processor_type": ["a"]}, ["one of ViTImageProcessor", "got ['a']"]),
        ({"image_processor_type": "ConvNextImageProcessor"}, ["one of ViTImageProcessor", "'ConvNextImageProcessor'"]),
        ({"size": 40, "default_to_square": False}, ["shortest edge", "40"]),
        ({"size": None}, ["size must be height and width", "None"]),
        ({"do_center_crop": True}, ["crop_size", "None"]),
        ({"rescale_factor": 0}, ["rescale_factor", "positive", "0.0"]),
        ({"rescale_factor": -1 / 255}, ["rescale_factor", "positive"]),
        ({"rescale_factor": 1e300}, ["rescale_factor", "1e+300"]),
        ({"image_std": 1e-40}, ["image_std must be positive"]),
        ({"data_format": "channels_last"}, ["'data_format'"]),
        ({"auto_map": {"AutoImageProcessor": "x.X"}}, ["'auto_map'"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_preprocessing_that_cannot_be_followed_is_refused_by_name(folder, changes, words):
    folders.settings(folder, file="preprocessor_config.json", **changes)
    refused(folder, *words)


# What is refused: config.json


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "bert"}, ["'bert'", "expected 'vit'", "reads text"]),
        ({"model_type": "deit"}, ["distillation token"]),
        ({"model_type": "dinov2"}, ["LayerScale", "embedded"]),
        ({"model_type": "dinov2_with_registers"}, ["register tokens"]),
        ({"model_type": "swin"}, ["shifted windows"]),
        ({"model_type": "beit"}, ["relative positions"]),
        ({"model_type": "something_new"}, ["'something_new'", "another architecture"]),
        ({"model_type": ["vit"]}, ["['vit']"]),
        ({"model_type": None}, ["does not say its model_type"]),
        ({"hidden_act": "swish"}, ["hidden_act must be one of gelu", "'swish'"]),
        ({"hidden_act": None}, ["hidden_act", "None"]),
        ({"hidden_act": {"a": 1}}, ["hidden_act"]),
        ({"layer_norm_eps": "1e-12"}, ["layer_norm_eps must be a finite number, got '1e-12'"]),
        ({"layer_norm_eps": -1}, ["layer_norm_eps must not be negative"]),
        ({"layer_norm_eps": float("nan")}, ["layer_norm_eps", "nan"]),
        ({"layer_norm_eps": True}, ["layer_norm_eps", "True"]),
        ({"qkv_bias": "no"}, ["qkv_bias must be true or false"]),
        ({"qkv_bias": 0}, ["qkv_bias must be true or false", "0 (int)"]),
        ({"head_dim": 7}, ["head_dim is 7", "D / heads = 11"]),
        ({"num_labels": 3}, ["num_labels 3", "7 classes"]),
        ({"quantization_config": {}}, ["quantised"]),
        ({"hidden_act": "\x1b[31mred\x1b[0m\n"}, ["hidden_act must be one of"]),
        ({"image_size": "224"}, ["image_size must be a positive whole number of pixels, or two of them", "'224'"]),
        ({"image_size": [15, 20, 3]}, ["image_size"]),
        ({"image_size": [16, 20]}, ["H = 16", "multiple of 5"]),
        ({"image_size": 15.0}, ["image_size"]),
        ({"image_size": [20, 25]}, ["position_embeddings has shape (1, 13, 22)", "(1, 21, 22)"]),
        ({"patch_size": [5, 4]}, ["5 x 4", "square"]),
        ({"patch_size": 0}, ["patch_size"]),
        ({"num_channels": 4}, ["projection.weight has shape (22, 3, 5, 5)", "(22, 4, 5, 5)"]),
        ({"num_hidden_layers": 0}, ["num_hidden_layers must be a positive whole number, got 0"]),
        ({"num_hidden_layers": 4}, ["config.json says 4 layers", "hold 3"]),
        ({"num_hidden_layers": 2}, ["config.json says 2 layers", "hold 3"]),
        ({"num_hidden_layers": 10**9}, ["hold 3"]),
        ({"num_hidden_layers": True}, ["num_hidden_layers", "True"]),
        ({"num_attention_heads": 4}, ["D = 22 cannot be shared equally among 4 heads"]),
        ({"hidden_size": 24}, ["shape (22, 3, 5, 5)", "(24, 3, 5, 5)"]),
        ({"intermediate_size": 36}, ["intermediate.dense.weight has shape (37, 22)", "(36, 22)"]),
        ({"qkv_bias": False}, ["query.bias", "does not have"]),
        ({"quantization_config": {"bits": 8}}, ["quantised"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_config_that_cannot_be_followed_is_refused_by_name(folder, changes, words):
    folders.settings(folder, **changes)
    refused(folder, *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", ["config.json is not valid JSON"]),
        (b"{", ["config.json is not valid JSON"]),
        (b"[1]", ["must hold a JSON object of settings, it holds a list"]),
        (b"null", ["NoneType"]),
        (b"\xff\xfe{}", ["config.json cannot be read"]),
        (b"[" * 100_000, ["config.json is not valid JSON"]),
        (b'{"hidden_size": ' + b"9" * 10_000 + b"}", ["config.json is not valid JSON"]),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", ["git-lfs pointer"]),
        (b"<!DOCTYPE html><html>", ["config.json is not valid JSON"]),
    ],
    ids=["empty", "cut", "list", "null", "not utf-8", "nested", "huge number", "lfs", "web page"],
)
def test_a_broken_config(folder, text, words):
    (folder / "config.json").write_bytes(text)
    refused(folder, *words)


def test_a_config_with_a_byte_order_mark_is_read(folder):
    (folder / "config.json").write_bytes(b"\xef\xbb\xbf" + (folder / "config.json").read_bytes())
    checkpoint = load_checkpoint(folder)
    compare(checkpoint, x_for(checkpoint))


def test_an_absent_size_is_the_default_that_transformers_documents(folder):
    folders.settings(folder, "intermediate_size")
    refused(folder, "(3072, 22)", "(37, 22)")


def test_timm_files_are_told_apart(folder):
    folders.settings(folder, "model_type", architecture="vit_base_patch16_224")
    refused(folder, "timm's format")


# What is refused: weights


def without(key: str):
    return lambda state: {name: tensor for name, tensor in state.items() if name != key}


def spoiled(key: str, value: float):
    def change(state: dict) -> dict:
        state[key].view(-1)[3] = value
        return state

    return change


QUERY = "vit.encoder.layer.1.attention.attention.query.weight"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without(QUERY), ["lack", QUERY, "nothing is made up"]),
        (without("classifier.bias"), ["lack classifier.bias"]),
        (without("classifier.weight"), ["lack classifier.weight"]),
        (without("vit.embeddings.cls_token"), ["lack vit.embeddings.cls_token"]),
        (spoiled(QUERY, float("nan")), [QUERY, "1 numbers that are NaN or infinite"]),
        (spoiled("vit.layernorm.bias", float("-inf")), ["vit.layernorm.bias", "NaN or infinite"]),
        (lambda s: s | {"vit.surplus": torch.ones(1)}, ["hold vit.surplus"]),
        (lambda s: s | {"vit.embeddings.distillation_token": torch.ones(1, 1, 22)}, ["DeiT"]),
        (lambda s: s | {"vit.embeddings.register_tokens": torch.ones(1, 4, 22)}, ["register tokens"]),
        (lambda s: s | {"vit.encoder.layer.0.layer_scale1.lambda1": torch.ones(22)}, ["LayerScale"]),
        (lambda s: s | {"vit.encoder.layer.0.lora_A.weight": torch.ones(2, 22)}, ["LoRA"]),
        (lambda s: s | {"vit.encoder.layer.99999.norm": torch.ones(1)}, ["hold 100000"]),
        (lambda s: s | {QUERY: s[QUERY][:, :-1].contiguous()}, [QUERY, "(22, 21)", "(22, 22)"]),
        (lambda s: s | {QUERY: torch.ones(())}, [QUERY, "()"]),
        (lambda s: s | {QUERY: s[QUERY].to(torch.int8)}, ["int8", "quantised"]),
        (lambda s: s | {QUERY.removeprefix("vit."): s[QUERY].clone()}, ["the same tensor twice"]),
        (lambda s: s | folders.newer({QUERY: s[QUERY].clone()}), ["the same tensor twice"]),
        (lambda s: s | {"classifier.weight": torch.ones(0, 22)}, ["no classes at all"]),
        (lambda s: {}, ["holds no tensor at all"]),
        (lambda s: {"w": torch.ones(2), "b": torch.ones(2)}, ["none of the 2 names", "'w'"]),
        (lambda s: s | {QUERY: s[QUERY].double() * 1e300}, ["float32", "layer 2: U_q", "NaN or infinite"]),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, list) else "",
)  # fmt: skip
def test_tensors_that_do_not_fit_are_named(folder, change, words):
    folders.tensors(folder, change)
    refused(folder, *words)


def begun_with(prefix: str):
    return lambda s: {prefix + key: tensor for key, tensor in s.items()}


def more(*keys: str, dtype: torch.dtype = torch.float32):
    return lambda s: s | {key: torch.ones(2, 3, dtype=dtype) for key in keys}


def renamed(*pairs: tuple[str, str], also: str = ""):
    def change(state: dict) -> dict:
        for old, new in pairs:
            state = {key.replace(old, new): tensor for key, tensor in state.items()}
        return state | ({also: torch.ones(2)} if also else {})

    return change


TIMM = (("vit.encoder.layer.", "blocks."), ("vit.embeddings.", ""), ("attention.attention.query", "attn.qkv"))
#: Who changed the file how, and what the refusal has to say of it; never that layers are missing or the download is broken.
DIAGNOSES = {
    "torch.compile": (begun_with("_orig_mod."), ["'_orig_mod.'", "torch.compile", "'_orig_mod."]),
    "DataParallel": (begun_with("module."), ["'module.'", "DataParallel"]),
    "both": (begun_with("module._orig_mod."), ["'module._orig_mod.'", "DataParallel and torch.compile"]),
    "Lightning": (begun_with("model."), ["'model.'", "training loop"]),
    "FSDP": (begun_with("_fsdp_wrapped_module."), ["FSDP"]),
    "Fabric": (begun_with("_forward_module."), ["Fabric"]),
    "somebody's backbone": (begun_with("backbone."), ["'backbone.'"]),
    "DINOv2 of the library": (renamed(("vit.", "dinov2."), ("classifier", "dinov2.classifier")), ["'dinov2.'", "another family"]),
    "DeiT of the library": (renamed(("vit.", "deit."), ("classifier", "deit.classifier")), ["'deit.'", "another family"]),
    "timm": (renamed(*TIMM), ["timm's names", "blocks.0"]),
    "DINOv2's own repository": (renamed(*TIMM, ("layernorm_before", "ls1.gamma")), ["timm's names"]),
    "torchvision": (renamed(("vit.encoder.layer.", "encoder.layers.encoder_layer_")), ["torchvision's names"]),
    "CLIP": (renamed(("vit.encoder.layer.", "vision_model.encoder.layers.")), ["CLIP"]),
    "BERT": (renamed(("vit.", "bert."), ("attention.attention.", "attention.self."), also="bert.word_embeddings.weight"), ["BERT"]),
    "JAX": (renamed(("vit.encoder.layer.", "Transformer/encoderblock_"), (".weight", "/kernel")), ["JAX"]),
    "vit-pytorch": (renamed(("vit.encoder.layer.", "transformer.layers.0.")), ["vit-pytorch"]),
    "LoRA beside": (more(QUERY.replace("weight", "lora_A.weight")), ["LoRA", "merge_and_unload", "query.lora_A"]),
    "LoRA around": (renamed(("vit.", "base_model.model.vit."), ("query.", "query.base_layer.")), ["LoRA", "merge_and_unload"]),
    "GPTQ": (more("vit.encoder.layer.0.attention.attention.query.qweight", dtype=torch.int32), ["quantised", "qweight"]),
    "bitsandbytes": (more(QUERY.replace("weight", "SCB")), ["quantised", "SCB"]),
    "int8 in place": (lambda s: s | {QUERY: s[QUERY].to(torch.int8)}, [QUERY, "stored as int8", "quantised"]),
    "float8 in place": (lambda s: s | {QUERY: s[QUERY].to(torch.float8_e4m3fn)}, [QUERY, "float8_e4m3fn"]),
    "bool in place": (lambda s: s | {QUERY: s[QUERY] > 0}, [QUERY, "stored as bool"]),
    "an optimiser": (more("optimizer.state.0.exp_avg", "epoch"), ["what a training leaves behind", "optimizer.state.0"]),
    "a second copy": (lambda s: s | {f"ema.{key}": tensor.clone() for key, tensor in s.items()}, ["training", "ema."]),
    "a loss": (more("loss_fct.weight"), ["training", "loss_fct.weight"]),
    "BatchNorm": (more("vit.norm.running_mean"), ["BatchNorm", "running_mean"]),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), DIAGNOSES.values(), ids=DIAGNOSES)
def test_names_are_diagnosed_before_anything_is_counted(folder, change, words):
    folders.tensors(folder, change)
    message = refused(folder, *words)
    assert not any(wrong in message for wrong in ("num_hidden_layers", "lack", "download"))


@pytest.mark.parametrize("pickled", [False, True])
def test_buffers_of_whole_numbers_are_laid_aside(folder, pickled):
    buffers = more("vit.embeddings.position_ids", "vit.bn.num_batches_tracked", dtype=torch.int64)
    folders.tensors(folder, lambda s: more("vit.mask", dtype=torch.bool)(buffers(s)))
    if pickled:
        folders.pickle_only(folder)
    checkpoint = load_checkpoint(folder, allow_pickle=pickled)
    for name in ("position_ids", "num_batches_tracked", "vit.mask"):
        assert any(name in note and "do not use" in note for note in checkpoint.notes)
    compare(checkpoint, x_for(checkpoint))


def test_names_are_quoted_as_they_stand(folder):
    """A file may mix old and new names, with and without the prefix; what is told of is told by the name in it."""
    odd = "layers.1.attention.q_proj.weight"
    folders.tensors(folder, lambda s: {odd if key == QUERY else key: tensor for key, tensor in s.items()})
    compare(load_checkpoint(folder), x_for(load_checkpoint(folder)))
    folders.tensors(folder, spoiled(odd, float("nan")))
    assert f"vit.{odd}" not in refused(folder, odd, "NaN")
    folders.tensors(folder, lambda s: s | {odd: s[odd][:, :-1].contiguous()})
    assert f"vit.{odd}" not in refused(folder, odd, "(22, 21)")


def test_what_a_file_quotes_moves_no_terminal(folder):
    """Names of tensors and of files may hold anything; a message stays one line, without what a terminal would obey."""
    red = "vit.\x1b[31mred\x1b[0m\r\nand more"
    folders.tensors(folder, lambda s: s | {red: torch.ones(2)})
    assert not set("\x1b\r\n") & set(refused(folder, "red", "and more"))
    folders.tensors(folder, lambda s: {key: tensor for key, tensor in s.items() if key != red})
    folders.settings(folder, id2label={str(i): f"\x1b[2J{i}" for i in range(7)})
    checkpoint = load_checkpoint(folder)
    top = checkpoint.top(run(checkpoint, x_for(checkpoint)).logits, 7)
    assert "\x1b" not in repr(checkpoint) + "".join(name for name, _ in top)


def test_a_pickle_that_a_training_saved(folder):
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({"epoch": 3, "state_dict": state, "optimizer": {}}, folder / "pytorch_model.bin")
    refused(folder, "what a training saved", "'state_dict'", allow_pickle=True)


def test_names_in_messages_are_those_in_the_file(folder):
    folders.tensors(folder, lambda state: folders.newer(without(QUERY)(state)))
    refused(folder, "vit.layers.1.attention.q_proj.weight")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data[: len(data) // 2], ["not a whole safetensors file", "cut short"]),
        (lambda data: data[:-1], ["not a whole safetensors file"]),
        (lambda data: data + b"x", ["not a whole safetensors file"]),
        (lambda data: data[:5], ["not a whole safetensors file"]),
        (lambda data: b"", ["is empty"]),
        (lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 346293852\n", ["git lfs pull"]),
        (lambda data: b"\n<!doctype html><title>Sign in</title>", ["web page"]),
        (lambda data: struct.pack("<Q", 2**40) + b"{}", ["not a whole safetensors file"]),
        (lambda data: struct.pack("<Q", 90_000_000) + b" " * 90_000_000, ["not a whole safetensors file"]),
        (lambda data: b"PK\x03\x04" + b"0" * 100, ["not a whole safetensors file"]),
        (lambda data: bytes(1000), ["not a whole safetensors file"]),
    ],
    ids=["half", "a byte short", "a byte long", "5 bytes", "empty", "lfs", "web page", "1 TB", "blanks", "zip", "zeros"],
)  # fmt: skip
def test_a_file_that_is_not_whole(folder, spoil, words):
    path = folder / "model.safetensors"
    path.write_bytes(spoil(path.read_bytes()))
    refused(folder, "model.safetensors", *words)


def test_random_damage_is_refused_or_harmless(folder):
    """Whatever byte of the header or of config.json changes: a CheckpointError or a checkpoint, nothing else."""
    chance = random.Random(5)
    originals = {
        name: (folder / name).read_bytes() for name in ("model.safetensors", "config.json", "preprocessor_config.json")
    }
    outcomes = {"refused": 0, "loaded": 0}
    for _ in range(150):
        name = chance.choice(list(originals))
        data = bytearray(originals[name])
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(min(len(data), 6000))] = chance.randrange(256)
        (folder / name).write_bytes(data)
        try:
            load_checkpoint(folder)
            outcomes["loaded"] += 1
        except CheckpointError:
            outcomes["refused"] += 1
        (folder / name).write_bytes(originals[name])
    assert outcomes["refused"] > 30


@pytest.mark.parametrize("content", [[1, 2], {"a": 1}, {"state_dict": {"a": torch.ones(1)}}, {3: torch.ones(1)}])
def test_pickles_of_something_else(folder, content):
    (folder / "model.safetensors").unlink()
    torch.save(content, folder / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin", allow_pickle=True)


def test_pickles_of_sparse_tensors(folder):
    folders.pickle_only(folder)
    state = torch.load(folder / "pytorch_model.bin")
    torch.save(state | {QUERY: state[QUERY].to_sparse()}, folder / "pytorch_model.bin")
    refused(folder, "dense tensors", QUERY, allow_pickle=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [("tf_model.h5", ["TensorFlow"]), ("flax_model.msgpack", ["Flax"]), ("model.onnx", ["ONNX"]), ("notes.txt", ["notes.txt"])],
)  # fmt: skip
def test_weights_for_another_library(folder, name, words):
    (folder / "model.safetensors").rename(folder / name)
    refused(folder, "no model.safetensors", name, *words)


def index(folder: Path, change) -> None:
    path = folder / "model.safetensors.index.json"
    value = json.loads(path.read_text())
    change(value["weight_map"])
    path.write_text(json.dumps(value))


@pytest.mark.parametrize("target", ["../model.safetensors", "/etc/passwd", "sub/x.safetensors", "..", "C:\\x", "", "."])
def test_shards_outside_the_folder_are_not_touched(folder, target):
    folders.shard(folder)
    save_file({QUERY: torch.ones(22, 22)}, folder.parent / "model.safetensors")
    index(folder, lambda where: where.update({QUERY: target}))
    refused(folder, "model.safetensors.index.json")


def test_shards_that_are_missing_or_contradict_their_index(folder, whole, tmp_path):
    folders.shard(folder)
    first = "model-00001-of-00003.safetensors"
    data = (folder / first).read_bytes()
    (folder / first).unlink()
    refused(folder, first, "not there")
    (folder / first).write_bytes(data)
    index(folder, lambda where: where.update({"vit.more": first}))
    refused(folder, "promises vit.more")
    index(folder, lambda where: where.pop("vit.more"))
    (folder / "model-00002-of-00003.safetensors").write_bytes(data)
    refused(folder, "stands in two shards")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": ["a"]}')
    refused(folder, "weight_map")


# What is refused: folders and sources


def test_folders_that_are_none(tmp_path, folder):
    refused(tmp_path / "nowhere", "nowhere", "no such folder")
    refused(folder / "model.safetensors", "is a file")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "the folder is empty")
    (folder / "config.json").unlink()
    refused(folder, "there is no config.json", "model.safetensors")
    (folder / "config.json").mkdir()
    refused(folder, "config.json cannot be read")


def test_an_adapter_is_not_a_model(folder):
    (folder / "adapter_config.json").write_text("{}")
    refused(folder, "adapter_config.json", "merge")


def test_a_link_to_a_file_that_is_gone(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("../../blobs/0123")
    refused(folder, "a link to a file that is gone")


def test_a_folder_in_place_of_the_weights(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    refused(folder, "model.safetensors")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_files_that_may_not_be_read(folder):
    (folder / "model.safetensors").chmod(0)
    refused(folder, "model.safetensors", "Permission denied")
    folder.chmod(0)
    try:
        refused(folder, "cannot be read")
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("source", [3, 2.5, b"bytes", ["a"], {}, True, io.BytesIO(b"x"), object()])
def test_sources_of_the_wrong_type(source):
    refused(source, "source must be a folder, a hub id, 'embedded' or None", type(source).__name__)


@pytest.mark.parametrize(
    "source",
    ["", "  ", "a\0b", "https://huggingface.co/google/vit-base-patch16-224", "hub:", "hub:../x", "hub:a/b@../../x", "a" * 5000,
     "~nobody-of-this-name/x", "no/such/folder", "./nowhere", "google/nowhere", "nowhere", "hub:google/nowhere@main"],
)  # fmt: skip
def test_sources_that_lead_nowhere(source):
    refused(source)


def test_an_id_that_is_not_cached_says_how_to_get_it():
    refused("google/vit-base-patch16-224", "python -m vitbook fetch", "embedded")
    refused("facebook/something@v2", "hf download facebook/something --revision v2")


# The local cache of the hub


REVISION = "a" * 40


@pytest.fixture
def cached(whole, tmp_path):
    return folders.cache(whole, tmp_path / "hub", "someone/tiny", REVISION, main=True)


@pytest.mark.parametrize(
    "source", ["someone/tiny", "hub:someone/tiny", "someone/tiny@main", f"hub:someone/tiny@{REVISION}"]
)
def test_an_id_in_the_cache(cached, whole, source):
    checkpoint = load_checkpoint(source)
    assert checkpoint.name == "someone/tiny" and "aaaaaaa" in checkpoint.source
    assert torch.equal(checkpoint.weights.E, load_checkpoint(whole).weights.E)
    compare(checkpoint, x_for(checkpoint))


def test_a_folder_and_an_id_never_shadow_each_other(cached, whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = folders.copy(whole, tmp_path / "someone" / "tiny")
    refused("someone/tiny", "'./someone/tiny' for the folder", "'hub:someone/tiny' for the hub id")
    assert load_checkpoint("./someone/tiny").source == "the folder tiny"
    assert load_checkpoint("someone/tiny/").source == "the folder tiny"
    assert load_checkpoint(Path("someone/tiny")).source == "the folder tiny"
    assert load_checkpoint(str(here)).source == "the folder tiny"
    assert "cache" in load_checkpoint("hub:someone/tiny").source


def test_an_empty_folder_does_not_shadow_an_id_either(cached, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "someone" / "tiny").mkdir(parents=True)
    refused("someone/tiny", "is a folder here and also a hub id")


def test_a_folder_alone_may_be_named_like_an_id(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders.copy(whole, tmp_path / "someone" / "tiny")
    assert load_checkpoint("someone/tiny").source == "the folder tiny"


def test_several_revisions_without_main_ask_for_one(whole, tmp_path):
    folders.cache(whole, tmp_path / "hub", "someone/tiny", REVISION)
    assert load_checkpoint("someone/tiny").name == "someone/tiny"
    folders.cache(whole, tmp_path / "hub", "someone/tiny", "b" * 40)
    refused("someone/tiny", "several revisions", f"hub:someone/tiny@{'b' * 40}")
    assert "bbbbbbb" in load_checkpoint(f"someone/tiny@{'b' * 40}").source


def test_nothing_said_means_the_reference_if_it_is_cached(whole, tmp_path):
    folder = folders.cache(whole, tmp_path / "hub", REFERENCE.repo, REFERENCE.revision)
    checkpoint = load_checkpoint()
    assert (checkpoint.name, checkpoint.licence, checkpoint.known) == (REFERENCE.repo, "Apache-2.0", True)
    assert load_checkpoint(REFERENCE.repo).source == checkpoint.source
    (folder / "model.safetensors").unlink()  # an interrupted download: not used
    assert load_checkpoint().name.startswith("embedded")
    refused(REFERENCE.repo, "python -m vitbook fetch")


def test_the_environment_chooses(whole, folder, monkeypatch):
    monkeypatch.setenv("VITBOOK_CHECKPOINT", str(whole))
    assert load_checkpoint().name == "whole"
    monkeypatch.setenv("VITBOOK_CHECKPOINT", "someone/nowhere")
    refused(None, "$VITBOOK_CHECKPOINT says 'someone/nowhere'")
    monkeypatch.setenv("VITBOOK_CHECKPOINT", "embedded")
    assert load_checkpoint().name.startswith("embedded")
    monkeypatch.setenv("VITBOOK_CHECKPOINT", " ")
    assert load_checkpoint().name.startswith("embedded")


def test_rounding_belongs_to_the_embedded_checkpoint(whole):
    refused(whole, "unrounded=True", unrounded=True)


def test_the_file_keeps_its_numbers(whole):
    """Letters against the file itself, by indices written out here: rows of U are inputs, columns outputs."""
    weights, state = load_checkpoint(whole).weights, load_file(whole / "model.safetensors")
    assert weights.layers[1].U_q[4, 9] == state[QUERY][9, 4]
    assert weights.layers[2].W_2[30, 5] == state["vit.encoder.layer.2.output.dense.weight"][5, 30]
    assert weights.layers[0].U_msa[1, 21] == state["vit.encoder.layer.0.attention.output.dense.weight"][21, 1]
    assert weights.E[2 * 25 + 3 * 5 + 1, 7] == state["vit.embeddings.patch_embeddings.projection.weight"][7, 2, 3, 1]
    assert weights.E_pos[12, 3] == state["vit.embeddings.position_embeddings"][0, 12, 3]
    assert weights.W_head[21, 6] == state["classifier.weight"][6, 21]
