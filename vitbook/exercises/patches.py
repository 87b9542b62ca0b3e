"""Exercises on patches: who sits where, cutting a picture, putting it together again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.record import Case, Exercise, mistake

CHAPTER = "From pixels to a sequence"
GRIDS = ((14, 14), (3, 7), (7, 3), (1, 9), (9, 1), (24, 16))


def token_cases(r: np.random.Generator) -> Iterator[Case]:
    yield Case("patch 17 of a 14 x 14 grid", (18, 14, 14))
    for rows, columns in GRIDS:
        yield Case("the first patch", (1, rows, columns))
        yield Case("the last patch", (rows * columns, rows, columns))
        yield Case("some patch", (int(r.integers(1, rows * columns + 1)), rows, columns))


PLACE_OF_TOKEN = Exercise(
    name="place_of_token",
    parameters="token, rows, columns",
    chapter=CHAPTER,
    statement="In which row and column of the grid does the patch of this token sit? Token 0 is [class] and never asked "
    "for. The patches follow row by row. Rows, columns and patches are counted from 0.",
    shapes="token from 1 to rows * columns -> the tuple (row, column) of its patch.",
    hints=(
        "Which patch is it? The [class] token stands before all patches.",
        "How many whole rows of patches fit before this one, and how many patches are left over?",
        "Whole-number division // and the remainder %, both by the length of a row.",
    ),
    minutes=3,
    difficulty="easy",
    solution="""\
def place_of_token(token, rows, columns):
    patch = token - 1  # token 0 is [class]
    return patch // columns, patch % columns
""",
    cases=token_cases,
    mistakes=(
        mistake(
            "token/patch off by one",
            "token 0 is [class], so every patch stands one place later in the sequence than its own number.",
            ("token - 1", "token"),
        ),
        mistake(
            "row and column swapped",
            "the whole-number quotient counts full rows, the remainder says how far along the row.",
            ("patch // columns, patch % columns", "patch % columns, patch // columns"),
        ),
        mistake(
            "divided by the number of rows",
            "a row is as long as there are columns; only in a square grid is that the same.",
            ("patch // columns, patch % columns", "patch // rows, patch % rows"),
        ),
        mistake(
            "numbered down the columns",
            "patches are numbered as one reads, along each row first.",
            ("patch // columns, patch % columns", "patch % rows, patch // rows"),
        ),
        mistake(
            "counted from one",
            "rows and columns of the grid are counted from 0 here.",
            ("patch // columns, patch % columns", "patch // columns + 1, patch % columns + 1"),
        ),
    ),
)


def place_cases(r: np.random.Generator) -> Iterator[Case]:
    yield Case("row 1, column 3 of a 14 x 14 grid", (1, 3, 14, 14))
    for rows, columns in GRIDS:
        yield Case("the first patch", (0, 0, rows, columns))
        yield Case("the last patch", (rows - 1, columns - 1, rows, columns))
        yield Case("some patch", (int(r.integers(rows)), int(r.integers(columns)), rows, columns))


TOKEN_OF_PLACE = Exercise(
    name="token_of_place",
    parameters="row, column, rows, columns",
    chapter=CHAPTER,
    statement="Now the other way: from a place in the grid to the token of its patch.",
    shapes="row, column, both from 0 -> the number of the token, [class] being token 0.",
    hints=(
        "First the number of the patch, then the number of the token.",
        "All rows above are full; each holds as many patches as there are columns.",
        "One more at the end: [class] comes before every patch.",
    ),
    minutes=3,
    difficulty="easy",
    solution="""\
def token_of_place(row, column, rows, columns):
    patch = row * columns + column
    return patch + 1  # [class] is token 0
""",
    cases=place_cases,
    mistakes=(
        mistake(
            "token/patch off by one",
            "what came is the number of the patch; its token is one further, after [class].",
            ("patch + 1", "patch"),
        ),
        mistake(
            "multiplied by the number of rows",
            "a full row holds as many patches as there are columns.",
            ("row * columns + column", "row * rows + column"),
        ),
        mistake(
            "numbered down the columns",
            "patches are numbered along each row first, not down each column.",
            ("row * columns + column", "column * rows + row"),
        ),
        mistake(
            "row and column swapped",
            "it is the rows above that are full and are counted as whole rows.",
            ("row * columns + column", "column * columns + row"),
        ),
    ),
)


def picture_cases(r: np.random.Generator) -> Iterator[Case]:
    yield Case("a picture whose numbers count its pixels", (np.arange(2 * 4 * 6, dtype=float).reshape(2, 4, 6), 2))
    yield Case("C = 3 beside P = 5, higher than wide", (r.standard_normal((3, 20, 15)), 5))
    yield Case("one channel", (r.standard_normal((1, 6, 9)), 3))
    yield Case("one patch", (r.standard_normal((3, 4, 4)), 4))
    yield Case("patches of one pixel", (r.standard_normal((3, 2, 5)), 1))
    yield Case("a single row of patches", (r.standard_normal((4, 7, 28)), 7))


CUT_PATCHES = Exercise(
    name="cut_patches",
    parameters="x, P",
    chapter=CHAPTER,
    statement="Cut a picture into square patches, and make each of them one row of numbers. A row holds one channel after "
    "the other, and each channel line by line. (PyTorch keeps the weights of a convolution in this order.)",
    shapes="x (C, H, W), P the side of a patch -> x_p (N, C P P), patches row by row.",
    hints=(
        "Split both pixel axes in two: which patch, and which pixel within it.",
        "x.reshape(C, H // P, P, W // P, P) has five axes: channel, patch row, pixel row, patch column, pixel column.",
        "Bring the two patch axes to the front with transpose, then flatten what belongs to one patch.",
    ),
    minutes=10,
    difficulty="medium",
    solution="""\
def cut_patches(x, P):
    C, H, W = x.shape
    squares = x.reshape(C, H // P, P, W // P, P)  # channel, patch row, pixel row, patch column, pixel column
    return squares.transpose(1, 3, 0, 2, 4).reshape(-1, C * P * P)
""",
    cases=picture_cases,
    mistakes=(
        mistake(
            "channel order",
            "the three colours of each pixel stand side by side; here a patch is laid out channel by channel.",
            ("transpose(1, 3, 0, 2, 4)", "transpose(1, 3, 2, 4, 0)"),
        ),
        mistake(
            "patches down the columns",
            "the second patch is the one to the right of the first, not the one below.",
            ("transpose(1, 3, 0, 2, 4)", "transpose(3, 1, 0, 2, 4)"),
        ),
        mistake(
            "pixels within a patch transposed",
            "within a patch, too, pixels are read along the row first.",
            ("transpose(1, 3, 0, 2, 4)", "transpose(1, 3, 0, 4, 2)"),
        ),
        mistake(
            "reshaped without moving axes",
            "reshape keeps the order in memory, so each row holds pixels of one line of the picture, not of one "
            "square.",
            ("squares.transpose(1, 3, 0, 2, 4)", "squares"),
        ),
        mistake(
            "pixels far apart",
            "neighbouring pixels belong to one patch: the axis of pixels is the inner one, the axis of patches the "
            "outer.",
            ("x.reshape(C, H // P, P, W // P, P)", "x.reshape(C, P, H // P, P, W // P)"),
            ("transpose(1, 3, 0, 2, 4)", "transpose(2, 4, 0, 1, 3)"),
        ),
        mistake(
            "one column a patch",
            "patches are the rows of x_p; yours are its columns.",
            ("reshape(-1, C * P * P)", "reshape(-1, C * P * P).T"),
        ),
    ),
)


def patches_cases(r: np.random.Generator) -> Iterator[Case]:
    for label, (rows, columns, C, P) in {
        "C = 3 beside P = 5, higher than wide": (4, 3, 3, 5),
        "one channel": (2, 3, 1, 3),
        "one patch": (1, 1, 3, 4),
        "patches of one pixel": (2, 5, 3, 1),
        "a single row of patches": (1, 4, 2, 7),
    }.items():
        yield Case(label, (r.standard_normal((rows * columns, C * P * P)), rows, columns, C))


ASSEMBLE_PICTURE = Exercise(
    name="assemble_picture",
    parameters="x_p, rows, columns, C",
    chapter=CHAPTER,
    statement="Undo the cutting: put the patches back where they came from.",
    shapes="x_p (rows columns, C P P) -> x (C, rows P, columns P); the side P follows from the length of a row of x_p.",
    hints=(
        "Every step of the cutting can be walked backwards: unflatten, move the axes, join them.",
        "P is the square root of the row's length divided by C.",
        "After reshape(rows, columns, C, P, P), the axes of the picture want the order channel, row, pixel row, "
        "column, pixel column.",
    ),
    minutes=10,
    difficulty="medium",
    solution="""\
import math


def assemble_picture(x_p, rows, columns, C):
    P = math.isqrt(x_p.shape[1] // C)
    squares = x_p.reshape(rows, columns, C, P, P)
    return squares.transpose(2, 0, 3, 1, 4).reshape(C, rows * P, columns * P)
""",
    cases=patches_cases,
    mistakes=(
        mistake(
            "channel order",
            "each row of x_p holds one channel after the other, not three colours for each pixel.",
            ("x_p.reshape(rows, columns, C, P, P)", "x_p.reshape(rows, columns, P, P, C).transpose(0, 1, 4, 2, 3)"),
        ),
        mistake(
            "patches down the columns",
            "the second row of x_p belongs to the right of the first, not below it.",
            ("x_p.reshape(rows, columns, C, P, P)", "x_p.reshape(columns, rows, C, P, P).swapaxes(0, 1)"),
        ),
        mistake(
            "pixels within a patch transposed",
            "within a patch pixels are read along the row first.",
            ("transpose(2, 0, 3, 1, 4)", "transpose(2, 0, 4, 1, 3)"),
        ),
        mistake(
            "reshaped without moving axes",
            "reshape alone keeps the numbers in the order of the patches; a line of the picture crosses many of them.",
            ("squares.transpose(2, 0, 3, 1, 4)", "squares"),
        ),
    ),
)

EXERCISES = (PLACE_OF_TOKEN, TOKEN_OF_PLACE, CUT_PATCHES, ASSEMBLE_PICTURE)
