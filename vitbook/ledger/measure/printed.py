"""Printed numbers held against each other: what a document says in words about numbers that it prints elsewhere."""

from __future__ import annotations

import math
import re
from importlib import metadata

import torch

from vitbook.config import VARIANTS
from vitbook.encoder import gelu
from vitbook.ledger.publications import published
from vitbook.patches import place_of


def layernorm_by_hand(of: str, place: int) -> list[float]:
    """(x - mean)/std from printed numbers, and gamma times that (to the printed digits) plus beta."""
    x = published(of).values[place]
    mean, std = (published(f"layernorm.{name}").value for name in ("mean", "std"))
    gamma, beta = (published(f"layernorm.{name}").values[place] for name in ("gamma", "beta"))
    normalised = round((x - mean) / std, 3)
    return [normalised, gamma * normalised + beta]


def range_of_printed(name: str, above: float = -math.inf) -> list[float]:
    """Smallest and largest of the printed numbers above a limit."""
    values = [value for value in published(name).values if value > above]
    return [min(values), max(values)]


def printed_below(name: str, limit: float) -> list[int]:
    """Places, counted from 1, of the printed numbers below a limit."""
    return [i for i, value in enumerate(published(name).values, start=1) if value < limit]


def places_of_tokens(model: str, name: str) -> list[int]:
    """Patch, row and column of every printed token but [class]."""
    return [n for t in published(name).values if t for n in (t - 1, *place_of(t, VARIANTS[model]))]


def printed_tokens_in_row(model: str, name: str, row: int) -> int:
    """How many of the printed tokens sit in one row of the grid; [class] sits in none."""
    return sum(place_of(token, VARIANTS[model])[0] == row for token in published(name).values if token)


def weights_from_printed_scores(scores: str, own: str) -> list[float]:
    """exp(s_j - s_0) times the largest printed weight, which is that of token 0."""
    s = published(scores).values
    return [published(own).values[0] * math.exp(score - s[0]) for score in s]


def gelu_of_printed(name: str) -> list[float]:
    """GELU of printed numbers."""
    return gelu(torch.tensor(published(name).values, dtype=torch.float64)).tolist()


def quotients_of_printed(above: str, below: str) -> list[float]:
    """One printed row divided by another."""
    return [a / b for a, b in zip(published(above).values, published(below).values, strict=True)]


def product(factors: list[float]) -> float:
    """A product of numbers as printed."""
    return math.prod(factors)


def installed_at_least(package: str, version: str) -> bool:
    """Whether an installed package is of that version or newer."""
    found = [int(n) for n in re.findall(r"\d+", metadata.version(package))[:3]]
    return found >= [int(n) for n in version.split(".")]
