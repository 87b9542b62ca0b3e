"""Section 3.1: cutting a picture into patches, putting it together again, and who sits where.

Token 0 is [class].  Patch p (from 0, row by row) is token p + 1 and sits at (p // columns, p % columns).
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from vitbook.checks import whole
from vitbook.config import ViTConfig


def cut(x: Float[Tensor, "*batch C H W"], P: int) -> Float[Tensor, "*batch N P2C"]:
    """x -> x_p: N = HW/P² patches, row by row, each flattened to P²C numbers in the order channel, row, column.

    The paper flattens with the channel last; this order is that of a convolution's weights in PyTorch.
    Raises ValueError when the picture is not a whole number of patches.
    """
    H, W = x.shape[-2:]
    if P < 1 or H % P or W % P:
        raise ValueError(f"a picture of {H} x {W} pixels cannot be cut into whole patches of {P} x {P}")
    squares = x.unfold(-2, P, P).unfold(-2, P, P)  # (..., C, rows, columns, P, P)
    squares = squares.movedim(-5, -3)  # (..., rows, columns, C, P, P): a patch has all its channels
    return squares.flatten(-3).flatten(-3, -2)  # (..., N, P²C)


def assemble(x_p: Float[Tensor, "N P2C"], rows: int, columns: int, C: int = 3) -> Float[Tensor, "C H W"]:
    """x_p -> x, the inverse of `cut`."""
    N, numbers = x_p.shape
    P = round((numbers / C) ** 0.5)
    if N != rows * columns or P * P * C != numbers:
        raise ValueError(f"x_p of shape {tuple(x_p.shape)} is not {rows} x {columns} square patches of {C} channels")
    squares = x_p.reshape(rows, columns, C, P, P).permute(2, 0, 3, 1, 4)  # (C, rows, P, columns, P): as pixels lie
    return squares.reshape(C, rows * P, columns * P)


def token_of(row: int, column: int, config: ViTConfig) -> int:
    """(row, column) of the grid, both from 0 -> token."""
    note = f", since the {config.rows} x {config.columns} grid counts from 0"
    row, column = whole(row, "row", 0, note=note), whole(column, "column", 0, note=note)
    if row >= config.rows or column >= config.columns:
        raise ValueError(f"({row}, {column}) is outside the {config.rows} x {config.columns} grid, which counts from 0")
    return row * config.columns + column + 1  # + 1, since [class] comes first


def place_of(token: int, config: ViTConfig) -> tuple[int, int]:
    """Token 1..N -> (row, column) of its patch.  Token 0 is [class] and has no place: ValueError."""
    token = check_token(token, config)
    if token == 0:
        raise ValueError("token 0 is [class]; it belongs to no patch and has no place in the grid")
    return divmod(token - 1, config.columns)


def box_of(token: int, config: ViTConfig) -> tuple[slice, slice]:
    """Token 1..N -> the (rows, columns) of pixels that its patch covers, as slices of x[:, rows, columns]."""
    row, column = place_of(token, config)
    # ends are not included, so neighbours share no pixel
    return slice(row * config.P, (row + 1) * config.P), slice(column * config.P, (column + 1) * config.P)


def describe(token: int, config: ViTConfig) -> str:
    """Token -> words: '[class]' or 'patch 17 (row 1, column 3)'."""
    token = check_token(token, config)
    if token == 0:
        return "[class]"
    row, column = place_of(token, config)
    return f"patch {token - 1} (row {row}, column {column})"


def check_token(token: int, config: ViTConfig) -> int:
    """The token as an int, or a ValueError that says which tokens there are."""
    return whole(token, "token (0 is [class])", 0, config.N)
