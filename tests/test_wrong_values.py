"""Every public name answers every kind of wrong value with one sentence of ours, of a type that its docstring promises."""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import folders
import numpy as np
import pytest
import torch
from PIL import Image

import vitbook
from vitbook import CheckpointError, PictureError

#: What may come where something else belongs: the catalogue that is thrown at every argument.
ODD = {
    "None": None, "True": True, "a bool of NumPy": np.True_, "zero": 0, "minus one": -1, "three": 3, "huge": 10**40, "a float": 2.5,
    "NaN": float("nan"), "infinity": float("inf"), "complex": 1j, "empty text": "", "text": "embedded", "a name": "chelsea",
    "text of lines": "two\nlines\x1b[31m", "a zero byte": "a\0b", "bytes": b"x", "a list": [], "a list of numbers": [1, 2],
    "a tuple": (3, 4), "a dict": {"a": 1}, "a set": {1}, "a range": range(3), "an object": object(), "a function": lambda *_: None,
    "a type": int, "an ellipsis": ..., "not implemented": NotImplemented, "a path": Path("no/such/place"), "a stream": io.BytesIO(b"x"),
    "a generator": (n for n in ()), "an integer of NumPy": np.int64(1), "a float of NumPy": np.float32(0.5), "0-d": np.array(1),
    "an empty array": np.zeros(0), "an array": np.zeros((2, 3)), "an array of objects": np.array([None, "a"]),
    "text of NumPy": np.str_("a"),
    "a masked array": np.ma.masked_array([1.0], [True]), "a date": np.datetime64("2026-01-01"),
    "a 0-d tensor": torch.tensor(1), "a tensor of one": torch.tensor([1]), "a tensor": torch.zeros(3, 15, 20),
    "a tensor of integers": torch.zeros(3, 15, 20, dtype=torch.int64), "a tensor of NaN": torch.full((3, 15, 20), float("nan")),
    "a batch": torch.zeros(1, 3, 15, 20),
    "a tensor elsewhere": torch.zeros(3, 15, 20, device="meta"), "a sparse tensor": torch.zeros(3, 15, 20).to_sparse(),
    "a complex tensor": torch.zeros(3, 15, 20, dtype=torch.complex64), "a small tensor": torch.zeros(3, 15, 20, dtype=torch.float16),
    "a mask of one size": torch.ones(13, 13, dtype=torch.bool), "an empty mask": torch.zeros(13, 13, dtype=torch.bool),
    "a mask of numbers": torch.ones(13, 13), "a dtype": torch.int8, "a dtype of NumPy": np.float64,
    "a picture": Image.new("RGB", (9, 7)),
    "an error": ValueError("x"), "a module": np, "a class of ours": vitbook.ViTConfig, "a config": vitbook.VARIANTS["ViT-B/16"],
}  # fmt: skip
#: Words that only an exception of Python, NumPy or PyTorch uses.
FOREIGN = ("object has no attribute", "unsupported operand", "positional argument", "not subscriptable", "not iterable", "ambiguous",
           "unhashable", "expected str, bytes", "must be real number", "Traceback", "not callable")  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return vitbook.load_checkpoint(folders.write(tmp_path_factory.mktemp("wrong") / "tiny"))


@pytest.fixture(scope="module")
def calls(checkpoint) -> dict[str, tuple[Callable, dict, tuple[type, ...]]]:
    """Name -> the function, arguments that are right, and what its docstring promises for wrong ones."""
    x = torch.zeros(3, 15, 20)
    trace, config = vitbook.run(checkpoint, x), checkpoint.config
    model = checkpoint.library(torch.float32)
    block = {name: np.ones((1, 2, 4) if name == "x" else (4, 4)) for name in ("x", "Wq", "Wk", "Wv", "Wo", "W1", "W2")}
    return {
        "run": (vitbook.run, {"weights": checkpoint, "x": x, "mask": None, "edit": None}, (ValueError,)),
        "compare": (vitbook.compare, {"checkpoint": checkpoint, "x": x}, (ValueError,)),
        "agree": (vitbook.agree, {"ours": x, "theirs": x, "stage": "x"}, (ValueError, AssertionError)),
        "preprocess": (vitbook.preprocess, {"picture": "chelsea", "checkpoint": checkpoint}, (PictureError, ValueError)),
        "load_picture": (vitbook.load_picture, {"source": "chelsea"}, (PictureError,)),
        "load_checkpoint": (vitbook.load_checkpoint, {"source": "./a", "allow_pickle": False, "unrounded": False}, (CheckpointError,)),
        "from_transformers": (vitbook.from_transformers, {"model": model, "processor": None}, (CheckpointError,)),
        "count_parameters": (vitbook.count_parameters, {"config": config, "classes": 7, "pre_logits": False}, (TypeError, ValueError)),
        "published": (vitbook.published, {"name": "table1.base.parameters"}, (KeyError,)),
        "read_ledger": (vitbook.read_ledger, {"checkpoint": None, "picture": None}, (PictureError, ValueError)),
        "vit_encoder_block": (vitbook.vit_encoder_block, block | {"num_heads": 2}, (ValueError,)),
        "ViTConfig": (vitbook.ViTConfig, {f.name: getattr(config, f.name) for f in fields(config)}, (ValueError,)),
        "Weights": (vitbook.Weights, {f.name: getattr(checkpoint.weights, f.name) for f in fields(vitbook.Weights)}, (ValueError,)),
        "Weights.to": (checkpoint.weights.to, {"where": torch.float64}, (ValueError,)),
        "Checkpoint.to": (checkpoint.to, {"where": torch.float64}, (ValueError,)),
        "Trace.attention": (trace.attention, {"layer": 1, "head": 1, "query": 0}, (ValueError,)),
        "Trace.picture": (vitbook.run(checkpoint, torch.stack([x, x])).picture, {"i": 1}, (ValueError,)),
        "Trace.getitem": (trace.__getitem__, {"key": ("z", 2)}, (KeyError,)),
        "Checkpoint.top": (checkpoint.top, {"logits": trace.logits, "k": 2}, (ValueError,)),
        "PICTURES": (vitbook.PICTURES.__getitem__, {"name": "chelsea"}, (KeyError,)),
        "check": (vitbook.check.softmax, {"function": np.tanh, "seconds": 5.0, "seed": 0}, (ValueError,)),
        "check.hint": (vitbook.check.softmax.hint, {"number": 1}, (ValueError,)),
    }  # fmt: skip


#: Public names that are no functions of a reader's: classes of errors, records that the package makes, tables, and the
#: explorer, whose traits have tests of their own.
ELSEWHERE = {"AttentionExplorer", "Checkpoint", "CheckpointError", "PictureError", "Trace", "VARIANTS", "__version__"}


def test_every_public_name_is_thrown_at(calls):
    assert {name.split(".")[0] for name in calls} | ELSEWHERE == set(vitbook.__all__)
    for function, right, _ in calls.values():
        known = inspect.signature(function).parameters
        assert set(right) <= set(known), function


NAMES = [
    "run", "compare", "agree", "preprocess", "load_picture", "load_checkpoint", "count_parameters", "published", "read_ledger",
    "vit_encoder_block", "ViTConfig", "Weights", "Weights.to", "Checkpoint.to", "Checkpoint.top", "Trace.attention", "Trace.picture",
    "Trace.getitem", "PICTURES", "check", "check.hint", "from_transformers",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_wrong_values_are_told_in_a_sentence_of_ours(calls, name, capsys):
    function, right, promised = calls[name]
    refused, wrong = 0, []
    for argument, (what, value) in [(argument, odd) for argument in right for odd in ODD.items()]:
        if name == "read_ledger" and argument == "picture" and what in ("a name", "a picture"):
            continue  # right, and slow
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(**right | {argument: value})
        except Exception as error:
            told = error.args[0] if isinstance(error, KeyError) else str(error)
            refused += 1
            if (
                not isinstance(error, promised)
                or not 0 < len(told) < 700
                or any(word in told for word in (*FOREIGN, "\n", "\x1b"))
            ):
                wrong.append((argument, what, repr(error)))
    assert not wrong
    assert refused > 10 and "\x1b" not in capsys.readouterr().out


def test_arguments_the_wrong_way_round(checkpoint):
    x = torch.zeros(3, 15, 20)
    with pytest.raises(ValueError, match=r"expected a checkpoint.*say load_checkpoint\('embedded'\) first"):
        vitbook.run("embedded", x)
    with pytest.raises(ValueError, match=r"expected a checkpoint.*got Tensor"):
        vitbook.run(x, checkpoint)
    for call in (
        lambda: vitbook.compare(x, checkpoint),
        lambda: vitbook.preprocess(checkpoint, "chelsea"),
        lambda: vitbook.preprocess("chelsea", "embedded"),
    ):
        with pytest.raises(ValueError, match="checkpoint must be what load_checkpoint returns"):
            call()
    with pytest.raises(ValueError, match=r"say load_checkpoint\('embedded'\) first"):
        vitbook.preprocess("chelsea", "embedded")
    with pytest.raises(ValueError, match="preprocess"):
        vitbook.run(checkpoint, "chelsea")
    with pytest.raises(TypeError, match=r"check\.softmax\(your_function\)"):
        vitbook.check(np.tanh)


def test_a_rounded_checkpoint_is_not_compared(checkpoint):
    x = torch.zeros(3, 15, 20)
    for dtype in (torch.float16, torch.bfloat16):
        assert vitbook.run(checkpoint.to(dtype), x).y.dtype == dtype
        with pytest.raises(ValueError, match="as load_checkpoint returned it"):
            vitbook.compare(checkpoint.to(dtype), x)
    vitbook.compare(checkpoint.to(torch.float64), x)


NUMBERS = (np.int64(2), np.int8(2), np.uint16(2), np.array(2), torch.tensor(2), torch.tensor(2, dtype=torch.uint8))


@pytest.mark.parametrize("two", NUMBERS, ids=lambda n: f"{type(n).__name__} {n.dtype}")
def test_whole_numbers_of_every_library_are_whole_numbers(checkpoint, two):
    """Wherever the package asks for a whole number; and what it keeps of it is an int of Python's."""
    from vitbook.maps import attention_map
    from vitbook.patches import box_of, describe, place_of, token_of
    from vitbook.readout import top
    from vitbook.studies.convolution import shifts, space_to_depth
    from vitbook.studies.counting import bert_parameters, multiply_adds
    from vitbook.studies.hybrid import Stem
    from vitbook.studies.patterns import PATTERNS
    from vitbook.studies.pencil.by_hand import follow

    trace, config = vitbook.run(checkpoint, torch.zeros(3, 15, 20)), checkpoint.config
    assert torch.equal(trace.attention(two, two, two), trace.attention(2, 2, 2))
    assert torch.equal(attention_map(trace, two, two, two), attention_map(trace, 2, 2, 2))
    assert checkpoint.top(trace.logits, two) == checkpoint.top(trace.logits, 2) and top(trace.logits, two) == top(
        trace.logits, 2
    )
    assert (place_of(two, config), box_of(two, config)) == (place_of(2, config), box_of(2, config))
    assert describe(two, config) == describe(2, config) and token_of(two, two, config) == token_of(2, 2, config)
    sizes = vitbook.ViTConfig(H=two, W=two, P=two, D=two, L=two, heads=two, M=two, C=two)
    assert (
        sizes == vitbook.ViTConfig(H=2, W=2, P=2, D=2, L=2, heads=2, M=2, C=2)
        and hash(sizes)
        and repr(sizes).count("=2") == 8
    )
    for count in (vitbook.count_parameters, multiply_adds):
        assert count(config, two).total == count(config, 2).total and type(count(config, two).total) is int
    assert bert_parameters(two, two, two, two, two, two).total == bert_parameters(2, 2, 2, 2, 2, 2).total
    for pattern in PATTERNS.values():
        assert pattern.pairs(two * 7, two * 7) == pattern.pairs(14, 14)
        assert pattern.share(two * 7, two * 7) == pattern.share(14, 14)  # 196 is more than eight bits hold
        assert np.array_equal(pattern.sees(two, two, two * 7, 14), pattern.sees(2, 2, 14, 14))
    assert shifts(two + 1) == shifts(3) and space_to_depth(np.zeros((4, 4, 1)), two).shape == (2, 2, 4)
    assert Stem((two, 1)).blocks == (2, 1) and follow(two, 1) == follow(2, 1)
    x, W = np.ones((1, 2, 4)), np.eye(4)
    assert np.array_equal(*(vitbook.vit_encoder_block(x, heads, W, W, W, W, W, W) for heads in (two, 2)))
    assert vitbook.check.softmax(np.tanh, seed=two).kind == vitbook.check.softmax(np.tanh, seed=2).kind


def test_truth_values_of_every_library_are_truth_values(checkpoint):
    for yes in (True, np.True_, torch.tensor(True), np.array(True)):
        assert (
            vitbook.count_parameters(checkpoint.config, 7, yes).total
            == vitbook.count_parameters(checkpoint.config, 7, True).total
        )
        assert vitbook.ViTConfig(H=2, W=2, P=2, D=2, L=2, heads=2, M=2, qkv_bias=yes).qkv_bias is True
    for eps in (np.float32(1e-6), np.float64(1e-6), torch.tensor(1e-6), 0, np.int64(0)):
        assert type(vitbook.ViTConfig(H=2, W=2, P=2, D=2, L=2, heads=2, M=2, eps=eps).eps) is float


# What a reader has told PyTorch


def test_a_reader_s_settings_of_torch_change_nothing(checkpoint):
    x = torch.randn(3, 15, 20, generator=torch.Generator().manual_seed(4))
    expected = vitbook.run(checkpoint, x)
    default, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(True)
        torch.set_default_device("meta")
        came = vitbook.run(checkpoint, x)
        vitbook.compare(checkpoint, x)
        picture = vitbook.preprocess("chelsea", checkpoint)
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(default)
        torch.set_grad_enabled(grad)
    assert torch.equal(came.y, expected.y) and torch.equal(came.attention(2), expected.attention(2))
    assert torch.equal(picture, vitbook.preprocess("chelsea", checkpoint)) and picture.dtype == torch.float32


def test_autocast_is_left_out_with_a_warning(checkpoint):
    x = torch.randn(3, 15, 20, generator=torch.Generator().manual_seed(4))
    expected = vitbook.run(checkpoint, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.warns(UserWarning, match="autocast is on.*bfloat16") as caught:
            came = vitbook.run(checkpoint, x)
        assert len(caught) == 1
        with pytest.warns(UserWarning, match="autocast is on"):
            vitbook.compare(checkpoint, x)
        assert torch.equal(came.y, expected.y) and torch.equal(came.attention(2, 1), expected.attention(2, 1))
        assert torch.is_autocast_enabled("cpu")
