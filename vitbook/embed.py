"""Section 3.1: from patches to the sequence z_0, and Section 3.2: positions at another resolution."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import interpolate


def project_patches(
    x_p: Float[Tensor, "*batch N P2C"], E: Float[Tensor, "P2C D"], b_E: Float[Tensor, "D"]
) -> Float[Tensor, "*batch N D"]:
    """The x_p E of Eq. 1: every patch times the same matrix, plus the bias that the equation leaves out."""
    return x_p @ E + b_E  # (..., N, P²C) -> (..., N, D)


def embed(
    x_class: Float[Tensor, "1 D"], patches: Float[Tensor, "*batch N D"], E_pos: Float[Tensor, "N1 D"]
) -> Float[Tensor, "*batch N1 D"]:
    """Eq. 1: z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos.

    [class] becomes row 0, patch p becomes row p + 1; every row gets the position vector of its own row.
    """
    N, D = patches.shape[-2:]
    if (N + 1, D) != E_pos.shape:
        raise ValueError(
            f"{N} patches and [class] make {N + 1} rows, but E_pos has {len(E_pos)}; "
            "cut the picture for this checkpoint, or use resample_positions"
        )
    first = x_class.expand(*patches.shape[:-2], 1, D)  # the same [class] for every picture of a batch
    sequence = torch.cat([first, patches], dim=-2)  # (..., N, D) -> (..., N+1, D)
    return sequence + E_pos  # one table, the same for every picture of a batch


def resample_positions(
    E_pos: Float[Tensor, "N1 D"], grid: tuple[int, int], new_grid: tuple[int, int], mode: str = "bicubic"
) -> Float[Tensor, "M1 D"]:
    """Section 3.2: the position table for another grid, interpolated in two dimensions.

    grid, new_grid: (rows, columns).  Row 0, which belongs to [class], is kept aside and kept as it is.
    mode: "bicubic" or "bilinear", both with half-pixel centres and no antialiasing, as transformers does it;
    "bilinear-corners" puts corners on corners, as the authors' own code does.  The results differ.
    """
    modes = {"bicubic": ("bicubic", False), "bilinear": ("bilinear", False), "bilinear-corners": ("bilinear", True)}
    if mode not in modes:
        raise ValueError(f"mode must be one of {', '.join(modes)}, got {mode!r}")
    rows, columns = grid
    if len(E_pos) != rows * columns + 1:
        raise ValueError(f"a {rows} x {columns} grid needs {rows * columns + 1} rows with [class], got {len(E_pos)}")
    name, align = modes[mode]
    # [class] has no place in the grid, so it takes no part; the rest is a picture with D channels
    table = E_pos[1:].T.reshape(1, -1, rows, columns)  # (N, D) -> (1, D, rows, columns)
    resized = interpolate(table, size=new_grid, mode=name, align_corners=align)
    return torch.cat([E_pos[:1], resized[0].flatten(1).T])  # (1, D, new rows, new columns) -> (M, D)
