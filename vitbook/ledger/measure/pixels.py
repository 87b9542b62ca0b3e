"""What the published run printed before any weight was used."""

from __future__ import annotations

import torch

from vitbook.ledger.measure.here import CONFIG, Here
from vitbook.patches import box_of


def patch_numbers(here: Here, patch: int, first: int | None = None, at: list[int] | None = None):
    """Numbers of one flattened patch: the first few, or those at the given places."""
    row = here.published_x_p[patch]
    return row[:first] if at is None else row[at]


def pixel(here: Here, row: int, column: int):
    """All channels of one pixel of x."""
    return here.published_x[:, row, column]


def patch_is_window(here: Here, patch: int, rows: list[int], columns: list[int]) -> bool:
    """Whether a flattened patch is that window of x, and whether our own bookkeeping puts it there."""
    window = here.published_x[:, slice(*rows), slice(*columns)]
    placed = box_of(patch + 1, CONFIG) == (slice(*rows), slice(*columns))
    return placed and torch.equal(here.published_x_p[patch], window.flatten())
