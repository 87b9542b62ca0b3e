"""Exercises on the small functions of the encoder: LayerNorm, softmax, GELU in both forms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.record import Case, Exercise, mistake

CHAPTER = "The pieces of the encoder"

SOFTMAX_SOURCE = """\
def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"""
NORM_SOURCE = """\
def layer_norm(x, gamma, beta, eps):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta
"""


def norm_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(N: int, D: int, eps: float, scale: float = 1.0) -> tuple:
        return scale * (r.standard_normal((N, D)) + 2), r.standard_normal(D), r.standard_normal(D), eps

    yield Case("five tokens, D = 7", draw(5, 7, 1e-6))
    yield Case("as many tokens as features", draw(6, 6, 1e-6))
    yield Case("numbers so small that eps matters", draw(4, 9, 1e-6, scale=1e-3))
    yield Case("a large eps", draw(3, 5, 0.25))
    yield Case("one token", draw(1, 8, 1e-12))
    yield Case("numbers in the hundred thousands", draw(2, 11, 1e-6, scale=1e5))
    yield Case("a token whose numbers are all equal", (np.full((2, 5), 3.0), np.ones(5), np.arange(5.0), 1e-6))


LAYER_NORM = Exercise(
    name="layer_norm",
    parameters="x, gamma, beta, eps",
    chapter=CHAPTER,
    statement="Give every token mean 0 and variance 1 over its own numbers. Then multiply by gamma and add beta.",
    shapes="x (N, D), gamma (D,), beta (D,), eps a small number under the root -> (N, D).",
    hints=(
        "Each token on its own: mean and variance run along the last axis, and keepdims=True lets them be subtracted.",
        "The variance is the mean of the squared distances, divided by D.",
        "eps is added to the variance before the root is taken, so that equal numbers do not divide by zero.",
    ),
    minutes=5,
    difficulty="easy",
    solution="import numpy as np\n\n\n" + NORM_SOURCE,
    cases=norm_cases,
    mistakes=(
        mistake(
            "sample variance",
            "the sum of squares was divided by D - 1; LayerNorm divides by D (the population variance).",
            ("x.var(axis=-1, keepdims=True)", "x.var(axis=-1, keepdims=True, ddof=1)"),
        ),
        mistake(
            "eps outside the root",
            "eps was added to the standard deviation; it belongs to the variance, under the root.",
            ("np.sqrt(variance + eps)", "(np.sqrt(variance) + eps)"),
        ),
        mistake(
            "eps forgotten",
            "without eps a token whose numbers are all equal divides zero by zero, and small numbers come out too "
            "large.",
            ("variance + eps", "variance"),
        ),
        mistake(
            "root forgotten",
            "the distances were divided by the variance; it is its square root that has their unit.",
            ("np.sqrt(variance + eps)", "(variance + eps)"),
        ),
        mistake(
            "normalised over the tokens",
            "each feature was normalised across all tokens; LayerNorm works inside one token, along the last axis.",
            ("x.mean(axis=-1, keepdims=True)", "x.mean(axis=-2, keepdims=True)"),
            ("x.var(axis=-1, keepdims=True)", "x.var(axis=-2, keepdims=True)"),
        ),
        mistake(
            "one mean and variance for all",
            "all tokens shared one mean and one variance; each token has its own.",
            ("x.mean(axis=-1, keepdims=True)", "x.mean()"),
            ("x.var(axis=-1, keepdims=True)", "x.var()"),
        ),
        mistake(
            "variance without the mean",
            "the variance is the mean square of the distances from the mean, not of the numbers themselves.",
            ("x.var(axis=-1, keepdims=True)", "(x**2).mean(axis=-1, keepdims=True)"),
        ),
        mistake(
            "mean not subtracted",
            "the numbers were scaled but not centred first.",
            ("(x - mean)", "x"),
        ),
        mistake("beta forgotten", "after scaling by gamma comes a shift by beta.", (" + beta", "")),
        mistake(
            "gamma forgotten", "the normalised numbers are multiplied by gamma, feature by feature.", ("gamma * ", "")
        ),
        mistake(
            "gamma and beta swapped", "gamma scales, beta shifts.", ("gamma * (", "beta * ("), (" + beta", " + gamma")
        ),
    ),
)


def score_cases(r: np.random.Generator) -> Iterator[Case]:
    yield Case("three rows of five scores", (r.standard_normal((3, 5)),))
    yield Case("as many rows as columns", (2 * r.standard_normal((4, 4)),))
    yield Case("two heads", (r.standard_normal((2, 3, 7)),))
    yield Case("a single row without a second axis", (r.standard_normal(6),))
    yield Case("all scores zero", (np.zeros((2, 3)),))
    yield Case("one key", (r.standard_normal((5, 1)),))
    yield Case("scores in the thousands", (1e3 * np.array([[1.0, 1.0, -2.0], [5.0, -1.0, 4.999]]),))
    yield Case("scores far below zero", (np.array([[-1000.0, -1001.0, -1002.0, -1003.0]]),))


SOFTMAX = Exercise(
    name="softmax",
    parameters="scores",
    chapter=CHAPTER,
    statement="Turn every row of scores into positive weights whose sum is 1. A row is the last axis; there may be any "
    "number of axes before it. The scores may be very large.",
    shapes="scores (..., keys) -> weights (..., keys).",
    hints=(
        "Exponentials first, then divide each by the sum of its row.",
        "The sum runs along the last axis; keepdims=True keeps a place for it.",
        "exp(1000) is infinite. Taking the row's largest score off all of them first changes nothing else.",
    ),
    minutes=5,
    difficulty="easy",
    solution="import numpy as np\n\n\n" + SOFTMAX_SOURCE,
    cases=score_cases,
    mistakes=(
        mistake(
            "softmax over the wrong axis",
            "the weights of a column add up to 1, not those of a row; the keys are the last axis.",
            ("scores.max(axis=-1,", "scores.max(axis=max(-2, -scores.ndim),"),
            ("powers.sum(axis=-1,", "powers.sum(axis=max(-2, -scores.ndim),"),
        ),
        mistake(
            "softmax over the first axis",
            "the sum ran along the first axis; the keys are the last axis, whatever stands before it.",
            ("scores.max(axis=-1,", "scores.max(axis=0,"),
            ("powers.sum(axis=-1,", "powers.sum(axis=0,"),
        ),
        mistake(
            "softmax over everything",
            "all weights together add up to 1; every row should on its own.",
            ("scores.max(axis=-1, keepdims=True)", "scores.max()"),
            ("powers.sum(axis=-1, keepdims=True)", "powers.sum()"),
        ),
        mistake(
            "largest score not taken off",
            "right for small scores, but exponentials overflow above about 709 and vanish far below zero.",
            ("scores - scores.max(axis=-1, keepdims=True)", "scores"),
        ),
        mistake(
            "exponential forgotten",
            "the scores themselves were divided by their sum; weights come from their exponentials.",
            ("np.exp(scores - scores.max(axis=-1, keepdims=True))", "scores"),
        ),
        mistake(
            "logarithm of the weights",
            "what came is the logarithm of softmax.",
            (
                "return powers / powers.sum(axis=-1, keepdims=True)",
                "return np.log(powers / powers.sum(axis=-1, keepdims=True))",
            ),
        ),
        mistake(
            "powers of two",
            "the base is e, not 2.",
            ("np.exp(", "np.exp2("),
        ),
    ),
)


def gelu_cases(r: np.random.Generator) -> Iterator[Case]:
    yield Case("whole numbers and halves", (np.array([-3.0, -2, -1, -0.5, 0, 0.5, 1, 2, 3]),))
    yield Case("a matrix", (r.standard_normal((3, 5)),))
    yield Case("where the two forms of GELU differ most", (np.linspace(-3.2, -2.2, 11),))
    yield Case("three axes", (3 * r.standard_normal((2, 3, 4)),))
    yield Case("a single number", (np.array([-0.75]),))
    yield Case("far out on both sides", (np.array([-1000.0, -40, 40, 1000]),))


HALF = mistake("half forgotten", "the gate lies between 0 and 1, so 1 + ... is halved.", ("0.5 * x", "x"))
ONE = mistake("one forgotten", "without the 1 the gate lies around zero and the function is even.", ("(1 + ", "("))
RELU = ("ReLU", "negative numbers were cut to zero; GELU lets a little of them through.")
SIGMOID = ("sigmoid form", "x times sigmoid(1.702 x) is a third, coarser form of GELU.", "x / (1 + np.exp(-1.702 * x))")
TANH_LINE = "return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))"
ERF_LINE = "return 0.5 * x * (1 + erf(x / math.sqrt(2)))"

GELU_ERF = Exercise(
    name="gelu_erf",
    parameters="x",
    chapter=CHAPTER,
    statement="GELU multiplies x by a probability: that a standard normal number is smaller than x. Compute it with the "
    "error function erf.",
    shapes="x of any shape -> the same shape.",
    hints=(
        "That probability is (1 + erf(x / √2)) / 2.",
        "Python's math.erf takes one number at a time; np.vectorize makes it work on arrays.",
        "erf = np.vectorize(math.erf, otypes=[float])",
    ),
    minutes=5,
    difficulty="easy",
    solution=f"""\
import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])


def gelu_erf(x):
    {ERF_LINE}
""",
    cases=gelu_cases,
    mistakes=(
        mistake("tanh form", "this is the tanh approximation; it is off by up to 5e-4.", (ERF_LINE, TANH_LINE)),
        mistake(
            "root of two forgotten",
            "erf belongs to a normal number of variance 1/2; divide x by √2 first.",
            (" / math.sqrt(2)", ""),
        ),
        HALF,
        ONE,
        mistake(*RELU, (ERF_LINE, "return np.maximum(x, 0)")),
        mistake(*SIGMOID[:2], (ERF_LINE, "return " + SIGMOID[2])),
        mistake("gate alone", "this is the probability; GELU multiplies x by it.", ("0.5 * x *", "0.5 *")),
    ),
)

GELU_TANH = Exercise(
    name="gelu_tanh",
    parameters="x",
    chapter=CHAPTER,
    statement="The authors' code computes GELU with tanh and the constant 0.044715, an approximation. Write this form.",
    shapes="x of any shape -> the same shape.",
    hints=(
        "Inside: √(2/π) (x + 0.044715 x³).",
        "The gate is half of 1 + tanh of that; GELU is x times the gate.",
    ),
    minutes=5,
    difficulty="easy",
    solution=f"""\
import math

import numpy as np


def gelu_tanh(x):
    {TANH_LINE}
""",
    cases=gelu_cases,
    mistakes=(
        mistake(
            "erf form",
            "this is the exact GELU with erf; the tanh form differs from it by up to 5e-4.",
            (TANH_LINE, "return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))"),
        ),
        mistake("square for cube", "the small term is x³; x² is the same on both sides of zero.", ("x**3", "x**2")),
        mistake(
            "constant rounded",
            "the constant is 0.044715; 0.04471 is close, but another function.",
            ("0.044715", "0.04471"),
        ),
        mistake("root upside down", "the factor is the root of 2/π, not of π/2.", ("2 / math.pi", "math.pi / 2")),
        mistake("root of 2/π forgotten", "the factor is the root of 2/π.", ("math.sqrt(2 / math.pi)", "(2 / math.pi)")),
        mistake(
            "cube outside", "the factor √(2/π) multiplies both terms.", ("(x + 0.044715 * x**3)", "x + 0.044715 * x**3")
        ),
        HALF,
        ONE,
        mistake(*RELU, (TANH_LINE, "return np.maximum(x, 0)")),
        mistake(*SIGMOID[:2], (TANH_LINE, "return " + SIGMOID[2])),
    ),
)

EXERCISES = (LAYER_NORM, SOFTMAX, GELU_ERF, GELU_TANH)
