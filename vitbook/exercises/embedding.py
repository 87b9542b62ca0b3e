"""Exercises on Eq. 1 and on the position table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.record import Case, Exercise, mistake


def embed_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(N: int, numbers: int, D: int) -> tuple[np.ndarray, ...]:
        sizes = ((N, numbers), (numbers, D), (D,), (1, D), (N + 1, D))
        return tuple(r.standard_normal(size) for size in sizes)

    yield Case("five patches of twelve numbers, D = 7", draw(5, 12, 7))
    yield Case("E square, as it happens to be in ViT-B/16", draw(6, 8, 8))
    yield Case("one patch", draw(1, 3, 5))
    yield Case("D = 1", draw(4, 9, 1))
    yield Case("numbers in the thousands", tuple(1e3 * part for part in draw(3, 5, 4)))


EMBED = Exercise(
    name="embed",
    parameters="x_p, E, b, x_class, E_pos",
    chapter="Equation 1",
    statement="Write Eq. 1. Project the patches, put [class] first, add a position to every row. The projection has a bias,"
    " as in all released models, though Eq. 1 shows none.",
    shapes="x_p (N, P P C), E (P P C, D), b (D,), x_class (1, D), E_pos (N + 1, D) -> z_0 (N + 1, D).",
    hints=(
        "One matrix product projects all patches at once.",
        "np.concatenate stacks rows; both parts need two axes.",
        "E_pos has N + 1 rows: its row 0 belongs to [class].",
    ),
    minutes=5,
    difficulty="easy",
    solution="""\
import numpy as np


def embed(x_p, E, b, x_class, E_pos):
    patches = x_p @ E + b
    return np.concatenate([x_class, patches]) + E_pos
""",
    cases=embed_cases,
    mistakes=(
        mistake(
            "[class] left without its position",
            "row 0 gets a position too: E_pos has N + 1 rows, and the first is for [class].",
            ("np.concatenate([x_class, patches]) + E_pos", "np.concatenate([x_class, patches + E_pos[1:]])"),
        ),
        mistake(
            "[class] forgotten",
            "the sequence has N + 1 rows; the first is the learned [class] token.",
            ("np.concatenate([x_class, patches]) + E_pos", "patches + E_pos[1:]"),
        ),
        mistake(
            "[class] at the end",
            "[class] comes first; the rest of the model looks for it in row 0.",
            ("[x_class, patches]", "[patches, x_class]"),
        ),
        mistake(
            "bias forgotten",
            "the projection has a bias, added to every patch, though Eq. 1 does not show it.",
            (" + b", ""),
        ),
        mistake(
            "bias on [class] too",
            "the bias belongs to the projection of the patches; [class] is not projected.",
            ("+ b\n", "\n"),
            ("patches]) + E_pos", "patches]) + b + E_pos"),
        ),
        mistake(
            "positions forgotten", "every row of the sequence gets a position vector added to it.", (" + E_pos", "")
        ),
        mistake(
            "positions shifted by one",
            "the first position row went to the first patch; it belongs to [class].",
            ("+ E_pos", "+ np.roll(E_pos, -1, axis=0)"),
        ),
        mistake(
            "E transposed",
            "E multiplies the rows of x_p from the right: (N, P P C) times (P P C, D). E.T fits only where E is square.",
            ("x_p @ E +", "x_p @ E.T +"),
        ),
    ),
)


def resampling_cases(r: np.random.Generator) -> Iterator[Case]:
    for label, grid, new_grid in (
        ("finer in both directions", (3, 5), (6, 7)),
        ("the same grid: nothing changes", (4, 3), (4, 3)),
        ("coarser", (7, 5), (3, 4)),
        ("from 14 x 14 to 24 x 24", (14, 14), (24, 24)),
        ("finer one way, coarser the other", (2, 9), (5, 4)),
        ("a single row", (1, 6), (3, 8)),
    ):
        yield Case(label, (r.standard_normal((grid[0] * grid[1] + 1, 3)), grid, new_grid))


RESAMPLE_POSITIONS = Exercise(
    name="resample_positions",
    parameters="E_pos, grid, new_grid",
    chapter="Position embeddings",
    statement="Make the position table of one grid fit another (Section 3.2). Interpolate linearly in both directions, and "
    "put corners on corners as the authors' code does. The row of [class] has no place in the grid and stays as "
    "it is.",
    shapes="E_pos (1 + rows columns, D), grid (rows, columns), new_grid (new_rows, new_columns) -> (1 + new_rows "
    "new_columns, D).",
    hints=(
        "Put the [class] row aside, give the others their grid back: (rows, columns, D).",
        "np.linspace(0, rows - 1, new_rows) says at which old row each new row reads, fractions and all.",
        "A fraction takes its share of the row below and the rest of the row above. Rows first, then columns: the"
        " order does not matter.",
        "np.floor gives the row above; np.minimum keeps the row below inside the table.",
    ),
    minutes=25,
    difficulty="hard",
    solution='''\
import numpy as np


def stretch(table, size):
    """Linear interpolation along the first axis: the first stays first, the last stays last."""
    at = np.linspace(0, len(table) - 1, size)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(table) - 1)
    share = (at - low)[:, None, None]
    return (1 - share) * table[low] + share * table[high]


def resample_positions(E_pos, grid, new_grid):
    table = E_pos[1:].reshape(*grid, -1)
    table = stretch(table, new_grid[0])
    table = stretch(table.swapaxes(0, 1), new_grid[1]).swapaxes(0, 1)
    return np.concatenate([E_pos[:1], table.reshape(-1, E_pos.shape[1])])
''',
    cases=resampling_cases,
    mistakes=(
        mistake(
            "half-pixel centres",
            "this grid lies cell on cell, as most libraries have it; the authors' code puts corners on corners.",
            (
                "np.linspace(0, len(table) - 1, size)",
                "np.clip((np.arange(size) + 0.5) * len(table) / size - 0.5, 0, len(table) - 1)",
            ),
        ),
        mistake(
            "nearest neighbour",
            "each new position copies an old one; linear interpolation mixes two by their distance.",
            ("(at - low)[:, None, None]", "np.round(at - low)[:, None, None]"),
        ),
        mistake(
            "rows and columns swapped",
            "the table's rows of numbers follow the grid row by row, so the grid's rows come first in the shape.",
            ("reshape(*grid, -1)", "reshape(grid[1], grid[0], -1).swapaxes(0, 1)"),
        ),
        mistake(
            "new rows and columns swapped",
            "new_grid is (new_rows, new_columns): the first number stretches the rows.",
            ("stretch(table, new_grid[0])", "stretch(table, new_grid[1])"),
            ("table.swapaxes(0, 1), new_grid[1]", "table.swapaxes(0, 1), new_grid[0]"),
        ),
        mistake(
            "interpolated along the sequence",
            "the table was stretched as one long line; two patches that lie above each other are neighbours too.",
            ("table = E_pos[1:].reshape(*grid, -1)", "table = E_pos[1:, None]"),
            ("stretch(table, new_grid[0])", "stretch(table, new_grid[0] * new_grid[1])"),
            ("    table = stretch(table.swapaxes(0, 1), new_grid[1]).swapaxes(0, 1)\n", ""),
        ),
        mistake(
            "class row forgotten",
            "the [class] row was put aside and not put back; the table must have one row more than the grid has "
            "places.",
            ("np.concatenate([E_pos[:1], table.reshape(-1, E_pos.shape[1])])", "table.reshape(-1, E_pos.shape[1])"),
        ),
        mistake(
            "class row at the end",
            "the [class] row comes first, as in the table that came in.",
            ("[E_pos[:1], table.reshape(-1, E_pos.shape[1])]", "[table.reshape(-1, E_pos.shape[1]), E_pos[:1]]"),
        ),
        mistake(
            "only the rows stretched and then copied",
            "the second direction is interpolated as well, by the same rule as the first.",
            (
                "stretch(table.swapaxes(0, 1), new_grid[1]).swapaxes(0, 1)",
                "table[:, np.arange(new_grid[1]) * table.shape[1] // new_grid[1]]",
            ),
        ),
    ),
)

EXERCISES = (EMBED, RESAMPLE_POSITIONS)
