"""The authors' recipe for Figure 6, on maps whose picture is known."""

import numpy as np
import torch
from tiny import ODD

from vitbook.figures.attention import as_figure_6


def test_one_patch_becomes_a_soft_spot_round_itself():
    weights = torch.zeros(ODD.N + 1)
    weights[0], weights[1 + ODD.columns + 2] = 0.9, 0.1  # [class] is left out; row 1, column 2
    mask = as_figure_6(weights, ODD)
    assert mask.shape == (ODD.H, ODD.W) and mask.min() == 0 and mask.max() == 1
    row, column = np.unravel_index(mask.argmax(), mask.shape)
    assert row // ODD.P == 1 and column // ODD.P == 2
    assert (mask > 0.5).sum() > ODD.P**2  # wider than the patch


def test_an_even_map_is_no_division_by_zero():
    assert (as_figure_6(torch.ones(ODD.N + 1), ODD) == 0).all()
