"""Exercises on Section 2's cheaper attention, as masks: who may read whom."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.record import Case, Exercise, mistake

CHAPTER = "Roads not taken"


def local_cases(r: np.random.Generator) -> Iterator[Case]:
    for rows, columns, k in ((4, 7, 3), (6, 5, 5), (5, 5, 3), (1, 8, 3), (8, 1, 5), (3, 4, 1), (3, 4, 9)):
        yield Case(f"{rows} x {columns} places, {k} x {k} neighbours", (rows, columns, k))
    rows, columns = (int(n) for n in r.integers(2, 8, 2))
    yield Case("a grid of any size", (rows, columns, 3))


LOCAL_MASK = Exercise(
    name="local_mask",
    parameters="rows, columns, k",
    chapter=CHAPTER,
    statement="Local attention: a query may read only the keys in the k x k square around itself, as far as it lies inside "
    "the grid. k is odd. Places are numbered row by row; there is no [class] here.",
    shapes="rows, columns, k -> (N, N) of bool with N = rows columns; entry [i, j] is True where query i may read "
    "key j.",
    hints=(
        "Which row and which column does place i have? // and % by columns.",
        "A key is near when both its row and its column are at most (k - 1) / 2 away.",
        "r[:, None] - r[None, :] holds the differences of all pairs.",
    ),
    minutes=10,
    difficulty="medium",
    solution="""\
import numpy as np


def local_mask(rows, columns, k):
    r, c = np.divmod(np.arange(rows * columns), columns)
    down = np.abs(r[:, None] - r[None, :])
    along = np.abs(c[:, None] - c[None, :])
    return (down <= k // 2) & (along <= k // 2)
""",
    cases=local_cases,
    mistakes=(
        mistake(
            "k for the radius",
            "the square is k wide, so it reaches (k - 1) / 2 to each side.",
            ("(down <= k // 2) & (along <= k // 2)", "(down <= k) & (along <= k)"),
        ),
        mistake(
            "border left out",
            "the outermost ring of the square belongs to it.",
            ("(down <= k // 2) & (along <= k // 2)", "(down < k // 2) & (along < k // 2)"),
        ),
        mistake(
            "either is enough",
            "row and column must both be near; yours draws stripes.",
            ("(down <= k // 2) & (", "(down <= k // 2) | ("),
        ),
        mistake(
            "a cross",
            "the square's corners belong to it; yours is a cross through the query.",
            (
                "(down <= k // 2) & (along <= k // 2)",
                "((down == 0) & (along <= k // 2)) | ((along == 0) & (down <= k // 2))",
            ),
        ),
        mistake(
            "a diamond",
            "steps down and along were added up; each has its own limit.",
            ("(down <= k // 2) & (along <= k // 2)", "down + along <= k // 2"),
        ),
        mistake(
            "a disc",
            "the square reaches into its corners; yours is round.",
            ("(down <= k // 2) & (along <= k // 2)", "down**2 + along**2 <= (k // 2) ** 2"),
        ),
        mistake(
            "neighbours in the sequence",
            "places near in the sequence need not be near in the grid: rows end.",
            (
                "(down <= k // 2) & (along <= k // 2)",
                "np.abs(np.subtract.outer(np.arange(len(r)), np.arange(len(r)))) <= k // 2",
            ),
        ),
        mistake(
            "rows and columns swapped",
            "a row is as long as there are columns; divide by columns.",
            ("* columns), columns)", "* columns), rows)"),
        ),
        mistake(
            "joined at the borders",
            "the grid ends at its borders; yours goes on at the other side.",
            (
                "return (down",
                "down, along = np.minimum(down, rows - down), np.minimum(along, columns - along)\n    return (down",
            ),
        ),
        mistake(
            "causal mask",
            "a query may read later places too.",
            ("(along <= k // 2)", "(along <= k // 2) & np.tri(len(r), dtype=bool)"),
        ),
        mistake(
            "mask turned round",
            "True means that the query may read the key.",
            ("return (down <= k // 2) & (along <= k // 2)", "return (down > k // 2) | (along > k // 2)"),
        ),
    ),
)


def grid_cases(r: np.random.Generator) -> Iterator[Case]:
    for rows, columns in ((3, 5), (4, 4), (1, 6), (6, 1), (7, 2), (14, 14), tuple(int(n) for n in r.integers(2, 9, 2))):
        yield Case(f"{rows} x {columns} places", (rows, columns))


AXIAL_MASK = Exercise(
    name="axial_mask",
    parameters="rows, columns",
    chapter=CHAPTER,
    statement="Axial attention: a query may read every key in its own row and every key in its own column. Write both in "
    "one mask. Places are numbered row by row; there is no [class] here.",
    shapes="rows, columns -> (N, N) of bool with N = rows columns; entry [i, j] is True where query i may read key j.",
    hints=(
        "Row and column of every place, by // and % with columns.",
        "r[:, None] == r[None, :] compares the rows of all pairs.",
        "One of the two is enough: |.",
    ),
    minutes=5,
    difficulty="easy",
    solution="""\
import numpy as np


def axial_mask(rows, columns):
    r, c = np.divmod(np.arange(rows * columns), columns)
    return (r[:, None] == r[None, :]) | (c[:, None] == c[None, :])
""",
    cases=grid_cases,
    mistakes=(
        mistake(
            "both at once",
            "same row and same column is only the place itself; one of the two is enough.",
            (") | (", ") & ("),
        ),
        mistake("rows only", "the keys of its own column may be read too.", (" | (c[:, None] == c[None, :])", "")),
        mistake("columns only", "the keys of its own row may be read too.", ("(r[:, None] == r[None, :]) | ", "")),
        mistake("itself left out", "a query may read itself: it lies in its own row.", (") | (", ") ^ (")),
        mistake(
            "rows and columns swapped",
            "a row is as long as there are columns; divide by columns.",
            ("* columns), columns)", "* columns), rows)"),
        ),
        mistake(
            "mask turned round",
            "True means that the query may read the key.",
            (
                "(r[:, None] == r[None, :]) | (c[:, None] == c[None, :])",
                "(r[:, None] != r[None, :]) & (c[:, None] != c[None, :])",
            ),
        ),
        mistake(
            "causal mask",
            "a query may read later places too.",
            ("return (r[", "return np.tri(len(r), dtype=bool) & ((r["),
            ("c[None, :])", "c[None, :]))"),
        ),
    ),
)

EXERCISES = (LOCAL_MASK, AXIAL_MASK)
