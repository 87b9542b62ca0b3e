"""Exercises on what is read off attention: how far a head looks, and rollout over the layers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.record import Case, Exercise, mistake

CHAPTER = "Looking at heads"


def weights(r: np.random.Generator, *shape: int) -> np.ndarray:
    """Random attention: positive rows whose sum is 1."""
    A = r.uniform(0.05, 1.0, shape) ** 3
    return A / A.sum(axis=-1, keepdims=True)


def distance_cases(r: np.random.Generator) -> Iterator[Case]:
    for rows, columns, P in ((3, 5, 16), (4, 4, 14), (1, 6, 8), (5, 2, 32)):
        N = rows * columns
        yield Case(f"{rows} x {columns} patches of {P} pixels", (weights(r, N + 1, N + 1), rows, columns, P))
    yield Case("uniform attention on 14 x 14", (np.full((197, 197), 1 / 197), 14, 14, 16))
    greedy = np.full((13, 13), 0.01 / 12)
    greedy[:, 0] = 0.99
    yield Case("nearly all weight on [class]", (greedy, 4, 3, 16))


ATTENTION_DISTANCE = Exercise(
    name="attention_distance",
    parameters="A, rows, columns, P",
    chapter=CHAPTER,
    statement="How far does one head look, in pixels? Drop the row and the column of [class], and let every row add up to 1"
    " again. Take the mean distance between patch centres, weighted by A, and average over the queries.",
    shapes="A (N + 1, N + 1) with rows that sum to 1, N = rows columns, P pixels a patch -> a number.",
    hints=(
        "A[1:, 1:] drops [class]; its rows no longer sum to 1.",
        "The distance of two patches is P times the straight-line distance of their places.",
        "Multiply weights and distances, sum along each row, average over the rows.",
    ),
    minutes=15,
    difficulty="medium",
    solution="""\
import numpy as np


def attention_distance(A, rows, columns, P):
    A = A[1:, 1:]
    A = A / A.sum(axis=1, keepdims=True)
    r, c = np.divmod(np.arange(rows * columns), columns)
    distance = P * np.hypot(r[:, None] - r[None, :], c[:, None] - c[None, :])
    return float((A * distance).sum(axis=1).mean())
""",
    cases=distance_cases,
    mistakes=(
        mistake(
            "not renormalised",
            "once the column of [class] is gone the rows add up to less than 1; divide each by its sum.",
            ("    A = A / A.sum(axis=1, keepdims=True)\n", ""),
        ),
        mistake(
            "columns renormalised",
            "it is the rows that must add up to 1 again.",
            ("A.sum(axis=1, keepdims=True)", "A.sum(axis=0, keepdims=True)"),
        ),
        mistake(
            "in patches, not pixels",
            "the distance is asked for in pixels; a patch is P of them wide.",
            ("P * np.hypot", "np.hypot"),
        ),
        mistake(
            "steps instead of the straight line",
            "rows and columns were added up; the distance is the root of the sum of squares.",
            (
                "np.hypot(r[:, None] - r[None, :], c[:, None] - c[None, :])",
                "(np.abs(r[:, None] - r[None, :]) + np.abs(c[:, None] - c[None, :]))",
            ),
        ),
        mistake(
            "squared distance",
            "the distance itself is averaged, not its square.",
            (
                "P * np.hypot(r[:, None] - r[None, :], c[:, None] - c[None, :])",
                "(P * np.hypot(r[:, None] - r[None, :], c[:, None] - c[None, :])) ** 2",
            ),
        ),
        mistake(
            "token/patch off by one",
            "the last token was dropped in place of [class], which is the first.",
            ("A[1:, 1:]", "A[:-1, :-1]"),
        ),
        mistake(
            "rows and columns swapped",
            "a row of patches is as long as there are columns; divide by columns.",
            ("* columns), columns)", "* columns), rows)"),
        ),
        mistake(
            "summed over the queries", "the mean over the queries is asked for.", (".sum(axis=1).mean()", ".sum()")
        ),
        mistake(
            "mean over all pairs",
            "the weights already make a mean of each row; only the queries are averaged.",
            (".sum(axis=1).mean()", ".mean()"),
        ),
    ),
)


def rollout_cases(r: np.random.Generator) -> Iterator[Case]:
    for L, N in ((3, 5), (2, 2), (1, 4), (7, 9)):
        yield Case(f"{L} layers, {N + 1} tokens", (weights(r, L, N + 1, N + 1),))
    yield Case("every token looks at itself only", (np.tile(np.eye(4), (3, 1, 1)),))
    yield Case("every token looks at [class] only", (np.tile(np.eye(5)[[0] * 5], (2, 1, 1)),))


ROLLOUT = Exercise(
    name="rollout",
    parameters="A",
    chapter=CHAPTER,
    statement="Attention rollout (Abnar and Zuidema 2020) joins the attention of all layers. In each layer take the "
    "mean of A and the identity matrix, which stands for the residual. Then multiply the layers, the later one from the left.",
    shapes="A (L, N + 1, N + 1), averaged over heads, first layer first -> (N + 1, N + 1).",
    hints=(
        "Half attention, half identity: the rows still add up to 1.",
        "Start from the first layer and go up.",
        "Row i of the product says where token i of the last layer comes from, so each new layer stands on the left.",
    ),
    minutes=10,
    difficulty="medium",
    solution="""\
import numpy as np


def rollout(A):
    steps = 0.5 * A + 0.5 * np.eye(A.shape[1])
    joint = steps[0]
    for step in steps[1:]:
        joint = step @ joint
    return joint
""",
    cases=rollout_cases,
    mistakes=(
        mistake(
            "multiplied in the wrong order",
            "the later layer stands on the left: it reads what the earlier ones made.",
            ("step @ joint", "joint @ step"),
        ),
        mistake(
            "identity forgotten",
            "half of each token is itself: that is the residual.",
            ("0.5 * A + 0.5 * np.eye(A.shape[1])", "A"),
        ),
        mistake(
            "not renormalised",
            "attention plus identity has rows that sum to 2; halve it.",
            ("0.5 * A + 0.5 * np.eye(A.shape[1])", "A + np.eye(A.shape[1])"),
        ),
        mistake(
            "number by number",
            "* multiplies entry by entry; layers are joined by the matrix product @.",
            ("step @ joint", "step * joint"),
        ),
        mistake(
            "layers averaged",
            "layers follow each other, so they are multiplied, not averaged.",
            ("    return joint", "    return steps.mean(axis=0)"),
        ),
        mistake(
            "last layer alone", "this is the last layer; all of them count.", ("joint = step @ joint", "joint = step")
        ),
        mistake(
            "first layer forgotten",
            "the product must begin with layer 1.",
            ("joint = steps[0]", "joint = np.eye(A.shape[1])"),
        ),
        mistake(
            "transposed",
            "row i says where token i comes from; yours has it in column i.",
            ("    return joint", "    return joint.T"),
        ),
    ),
)

EXERCISES = (ATTENTION_DISTANCE, ROLLOUT)
