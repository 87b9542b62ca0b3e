"""Every attribute of every widget: what it cannot be is refused in one sentence, and nothing of it stays."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import traitlets
from test_explorer import tiny
from tiny import ODD, random_weights

from vitbook.pictures import PictureError
from vitbook.widgets.calculator.widget import Calculator
from vitbook.widgets.explorer import first_view
from vitbook.widgets.explorer.tour import explorer_links
from vitbook.widgets.explorer.widget import AttentionExplorer
from vitbook.widgets.figure1.widget import figure_1
from vitbook.widgets.kit.traits import choices_of
from vitbook.widgets.ledger.widget import ledger_table
from vitbook.widgets.patterns.widget import PatternWidget
from vitbook.widgets.pencil.widget import PencilWidget
from vitbook.widgets.pickers.widget import patch_picker, position_picker
from vitbook.widgets.query.widget import one_query

PICTURE = np.full((30, 40, 3), 90, np.uint8)
MAKE = {
    "explorer": lambda: AttentionExplorer(tiny(), layer=2),
    "calculator": Calculator,
    "patterns": lambda: PatternWidget(tiny(), PICTURE),
    "pencil": PencilWidget,
    "picker": lambda: position_picker(random_weights().E_pos, ODD),
    "query": lambda: one_query(PICTURE, tiny(), 1, 1, 2),
}
LARGE = 10**9
NONSENSE = [
    None, "no such thing", object(), np.zeros((2, 2, 2, 2)), float("nan"), b"x", {"no": "such"}, -3, LARGE, 1.5, [], (), (1, 2, 3)
]  # fmt: skip
#: The data that a widget hands to its page are no choices.
DATA = {
    "data",
    "presets",
    "parameters",
    "multiply_adds",
    "start",
    "sizes",
    "tables",
    "picture",
    "normalise",
    "codes",
    "numbers",
    "top",
    "kind",
    "worker",
    "fingerprint",
    "weight",
}


def choices(name: str, widget) -> list[str]:
    return [each for each in choices_of(type(widget)) if name == "explorer" or each not in DATA]


@pytest.fixture(params=MAKE)
def made(request):
    widget = MAKE[request.param]()
    yield request.param, widget
    widget.close()


def takes(name: str, trait: str, value) -> bool:
    """What is no nonsense here: nothing to compare with, a size of any size, and a number that need not be whole."""
    return (
        (trait == "against" and value is None)
        or (name == "calculator" and len(trait) < 6 and value is LARGE)
        or (trait == "divisor" and isinstance(value, float) and value == 1.5)
    )


def test_every_choice_is_looked_at():
    found = {name: choices(name, make()) for name, make in MAKE.items()}
    assert found == {
        "explorer": ["checkpoint", "picture", "layer", "head", "query", "show", "direction", "scale", "opacity", "smooth", "against"],
        "calculator": ["H", "W", "P", "C", "D", "L", "heads", "M", "K", "qkv_bias", "pre_logits"],
        "patterns": ["pattern", "grid", "query", "chosen"],
        "pencil": ["z", "U_qkv", "U_msa", "head"],
        "picker": ["token"],
        "query": ["query", "divisor"],
    }  # fmt: skip


def test_nonsense_is_refused_in_one_sentence_and_the_old_value_stays(made):
    name, widget = made
    refused = 0
    for trait in choices(name, widget):
        before = {each: getattr(widget, each) for each in choices(name, widget)}
        for value in NONSENSE:
            if takes(name, trait, value):
                continue
            with pytest.raises((traitlets.TraitError, ValueError)) as caught:
                setattr(widget, trait, value)
            said, what = str(caught.value), f"{trait} <- {value!r}"
            assert "\n" not in said and 15 < len(said) < 400, f"{what}: {said}"
            assert isinstance(caught.value, PictureError) or re.search(rf"\b({trait}|token|parameter)\b", said), (
                f"{what}: {said}"
            )
            assert {each: getattr(widget, each) for each in before} == before, what
            refused += 1
    assert refused > 10
    widget.get_state()


def test_the_explorer_can_be_shown_after_every_refusal():
    explorer = MAKE["explorer"]()
    for trait in choices("explorer", explorer):
        for value in (None, "no such thing", 10**9):
            if (trait, value) != ("against", None):
                with pytest.raises((traitlets.TraitError, ValueError)):
                    setattr(explorer, trait, value)
    explorer._put_first()
    assert "Layer 2, head 1" in first_view.html(explorer)
    explorer.close()


@pytest.mark.parametrize(
    "number", [np.int64(2), np.uint8(2), torch.tensor(2)], ids=lambda n: type(n).__name__ + str(n.dtype)
)
@pytest.mark.parametrize(
    "name, trait",
    [("explorer", "layer"), ("explorer", "head"), ("explorer", "query"), ("calculator", "L"), ("patterns", "query"),
     ("pencil", "head"), ("picker", "token"), ("query", "query")],
)  # fmt: skip
def test_whole_numbers_of_any_library_are_taken_and_kept_as_pythons(name, trait, number):
    widget = MAKE[name]()
    setattr(widget, trait, number)
    assert getattr(widget, trait) == 2 and type(getattr(widget, trait)) is int
    widget.close()


@pytest.mark.parametrize(
    "value", [np.ones((4, 6)), torch.ones(4, 6), ((1,) * 6,) * 4], ids=["array", "tensor", "tuples"]
)
def test_matrices_of_any_library_are_taken(value):
    pencil = PencilWidget()
    pencil.z = value
    assert pencil.z == [[1.0] * 6] * 4


def test_an_attribute_that_is_not_there_is_refused(made):
    name, widget = made
    with pytest.raises(AttributeError, match=r"has no 'no_such_thing'; it has \w+"):
        widget.no_such_thing = 1
    near = {
        "explorer": "layers", "calculator": "head", "patterns": "patern", "pencil": "heads", "picker": "tokens",
        "query": "querry",
    }[name]  # fmt: skip
    with pytest.raises(AttributeError, match="did you mean"):
        setattr(widget, near, 1)
    assert not hasattr(widget, near)


def test_a_choice_that_is_not_there_is_refused():
    with pytest.raises(TypeError, match="did you mean 'smooth'"):
        AttentionExplorer(tiny(), smoth=True)
    with pytest.raises(traitlets.TraitError, match="local has no parameter 'heads'; it has k"):
        PatternWidget(tiny(), PICTURE, heads=3)


@pytest.mark.parametrize(
    "wrong, says",
    [
        ("chelsea", r"got 'chelsea', which is a picture; say picture='chelsea'"),
        ("embeded", r"got 'embeded'; say load_checkpoint\('embeded'\) first"),
        (PICTURE, "ndarray"),
        (SimpleNamespace(weights=None), "SimpleNamespace"),
        (5, r"got 5 \(int\)"),
    ],
    ids=["a picture's name", "a text", "a picture", "a thing", "a number"],
)
def test_what_is_no_checkpoint_is_refused_with_what_to_do(wrong, says):
    with pytest.raises(ValueError, match=says):
        AttentionExplorer(wrong)
    for refusing in (lambda: PatternWidget(wrong), lambda: patch_picker(PICTURE, wrong), lambda: figure_1(wrong)):
        with pytest.raises(ValueError, match="checkpoint must be what load_checkpoint returns"):
            refusing()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_an_explorer_of_weights_in_another_type(dtype):
    plain = AttentionExplorer(tiny(), layer=1)
    explorer = AttentionExplorer(tiny().to(dtype), layer=1)
    explorer._put_first()
    assert "Layer 1, head 1" in first_view.html(explorer)
    assert plain._view.fingerprint != explorer._view.fingerprint, "their maps differ a little"
    explorer.close()
    plain.close()


def test_parameters_of_a_pattern_go_with_it():
    widget = PatternWidget(tiny(), PICTURE, "local", k=3)
    with pytest.raises(traitlets.TraitError, match="only if k is odd"):
        widget.chosen = {"k": 4}
    assert widget.chosen == {"k": 3}
    widget.pattern = "axial"
    assert widget.chosen == {} and widget.pairs() > 0


E_POS = random_weights().E_pos


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: patch_picker(PICTURE, tiny(), None), "patch must be a whole number from 0 to 11, got None"),
        (lambda: patch_picker(PICTURE, tiny(), 12), "patch must be a whole number from 0 to 11, got 12"),
        (lambda: position_picker(tiny(), ODD), "E_pos must be a tensor of 13 rows"),
        (lambda: position_picker(E_POS[1:], ODD), "E_pos must be a tensor of 13 rows"),
        (lambda: position_picker(E_POS, tiny()), "config must be a ViTConfig"),
        (lambda: explorer_links(5), "stops must be a dict of words"),
        (lambda: explorer_links({"there": 5}), "stops must be a dict of words"),
        (lambda: ledger_table("the ledger"), "ledger must be what read_ledger returns, got 'the ledger'"),
        (lambda: PencilWidget(U_qkv=None), "U_qkv must hold one matrix a head, got None"),
        (lambda: Calculator(["ViT-B/16"]), "model must be one of ViT-B/16"),
        (lambda: AttentionExplorer(tiny(), name=5), "name must be a text, got 5"),
    ],
)
def test_what_a_widget_cannot_be_made_of_is_refused_by_name(call, says):
    with pytest.raises(ValueError, match=says):
        call()
