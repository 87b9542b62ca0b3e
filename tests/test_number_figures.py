"""Figures of counting and numerics: their words say the numbers, and none of their parts is left out."""

import re

import pytest

from vitbook.config import VARIANTS
from vitbook.figures import palette
from vitbook.figures.numbers import KINDS, kinds, layer_costs, parameter_shares
from vitbook.studies.counting import bert_parameters, count_parameters

B16 = VARIANTS["ViT-B/16"]


@pytest.mark.parametrize("count", [count_parameters(B16, 1000, True), count_parameters(B16), bert_parameters()])
def test_every_part_has_a_kind(count):
    found = kinds(count)
    assert list(found) == list(KINDS) and sum(found.values()) == count.total
    assert found["attention"] == count["attention"].total and found["MLP"] == count["mlp"].total


def colours_of(drawing):
    return {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}\b", drawing.svg)}


def test_shares():
    drawing = parameter_shares({"ViT-B/16": count_parameters(B16, 1000), "BERT-base": bert_parameters()})
    assert "ViT-B/16, 86,567,656: embeddings 0.9%, attention 32.7%, MLP 65.5%" in drawing.alt
    assert "BERT-base, 109,482,240: embeddings 21.8%" in drawing.alt


def test_costs():
    alt = layer_costs(B16).alt
    assert "4,608 tokens" in alt and "197 tokens it is 4.1%" in alt and "50,177 tokens" in alt


def test_figures_use_the_palette_alone():
    """Every colour is one of ours, or the dark twin would keep a colour of its own."""
    known = {palette.colour(name) for name in palette.names()}
    drawings = [
        parameter_shares({"ViT-B/16": count_parameters(B16)}),
        layer_costs(B16),
    ]
    for drawing in drawings:
        assert colours_of(drawing) <= known, drawing.alt
