"""Exercises on Eq. 2 and 3: how the parts of a layer are put together, and the whole block from scratch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from vitbook.exercises.attention import IN_SCORES, SCORES
from vitbook.exercises.locating import locate
from vitbook.exercises.pieces import GELU_TANH, LAYER_NORM, SOFTMAX, SOFTMAX_SOURCE, TANH_LINE
from vitbook.exercises.record import Case, Exercise, Mistake, borrowed, mistake


def part_cases(r: np.random.Generator) -> Iterator[Case]:
    def tanh_map(D: int) -> Callable:
        W, b = r.standard_normal((D, D)), r.standard_normal(D)
        return lambda z: np.tanh(z @ W + b)

    def norm(D: int) -> Callable:
        gamma, beta = r.standard_normal(D), r.standard_normal(D)
        return lambda z: gamma * (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-6) + beta

    def mix(D: int) -> Callable:
        W = r.standard_normal((D, D))
        return lambda z: (z + z.mean(axis=0)) @ W

    for label, N, D in (("five tokens, D = 7", 5, 7), ("one token", 1, 6), ("more tokens than features", 9, 4)):
        yield Case(label, (r.standard_normal((N, D)) + 0.5, norm(D), mix(D), norm(D), tanh_map(D)))


ENCODER_LAYER = Exercise(
    name="encoder_layer",
    parameters="z, ln_1, msa, ln_2, mlp",
    chapter="Equations 2 and 3",
    statement="Write Eq. 2 and 3 from ready-made parts. ln_1, msa, ln_2 and mlp are functions that take an array (N, D) and"
    " return one. Put them in the right order, with the residuals.",
    shapes="z (N, D) and four functions from (N, D) to (N, D) -> z of the next layer (N, D).",
    hints=(
        "Each LayerNorm stands before its part, not after it.",
        "What comes out of MSA is added to the z that came in; call the sum z_prime.",
        "Eq. 3 has the same shape with ln_2 and mlp, and its residual starts from z_prime.",
    ),
    minutes=5,
    difficulty="easy",
    solution="""\
def encoder_layer(z, ln_1, msa, ln_2, mlp):
    z_prime = msa(ln_1(z)) + z
    return mlp(ln_2(z_prime)) + z_prime
""",
    cases=part_cases,
    mistakes=(
        mistake(
            "post-norm",
            "LayerNorm came after each sum, as in the first Transformer; a ViT normalises before each part and keeps "
            "the sum clean.",
            ("msa(ln_1(z)) + z\n", "ln_1(msa(z) + z)\n"),
            ("mlp(ln_2(z_prime)) + z_prime", "ln_2(mlp(z_prime) + z_prime)"),
        ),
        mistake(
            "norm after the part",
            "each part was normalised after it ran; the LayerNorm belongs in front of it.",
            ("msa(ln_1(z)) + z\n", "ln_1(msa(z)) + z\n"),
            ("mlp(ln_2(z_prime))", "ln_2(mlp(z_prime))"),
        ),
        mistake(
            "shared LayerNorm",
            "ln_1 was used twice; the second half has its own, ln_2.",
            ("ln_2(z_prime)", "ln_1(z_prime)"),
        ),
        mistake(
            "LayerNorms exchanged",
            "ln_1 belongs in front of MSA, ln_2 in front of the MLP.",
            ("ln_1(z)", "ln_2(z)"),
            ("(ln_2(z_p", "(ln_1(z_p"),
        ),
        mistake(
            "no residual",
            "nothing was added back; each half adds what came in.",
            ("(z)) + z\n", "(z))\n"),
            (")) + z_prime", "))"),
        ),
        mistake("first residual missing", "Eq. 2 adds z to what MSA returns.", ("(z)) + z\n", "(z))\n")),
        mistake("second residual missing", "Eq. 3 adds z_prime to what the MLP returns.", (")) + z_prime", "))")),
        mistake(
            "residual from the start",
            "the second residual adds z_prime, the result of Eq. 2, not z.",
            (")) + z_prime", ")) + z"),
        ),
        mistake(
            "residual of the normalised",
            "what is added back is z itself, before LayerNorm touched it.",
            ("(z)) + z\n", "(z)) + ln_1(z)\n"),
            (")) + z_prime", ")) + ln_2(z_prime)"),
        ),
        mistake(
            "norm forgotten", "both parts work on normalised numbers.", ("ln_1(z)", "z"), ("ln_2(z_prime)", "z_prime")
        ),
        mistake("side by side", "both halves read z; the MLP must read what Eq. 2 made.", ("ln_2(z_prime)", "ln_2(z)")),
        mistake(
            "MLP first",
            "attention comes first, then the MLP.",
            ("msa(ln_1(z))", "mlp(ln_2(z))"),
            ("mlp(ln_2(z_prime))", "msa(ln_1(z_prime))"),
        ),
        mistake(
            "MLP first, behind ln_1",
            "attention comes first, behind ln_1; then the MLP, behind ln_2.",
            ("msa(", "mlp("),
            ("return mlp(", "return msa("),
        ),
    ),
)


def block_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(B: int, N: int, D: int, M: int, heads: int, scale: float = 1.0, sharp: float = 1.0) -> tuple:
        sizes = [(D, D)] * 4 + [(D, M), (M, D)]
        weights = [r.standard_normal(size) / np.sqrt(size[0]) for size in sizes]
        x = scale * (r.standard_normal((B, N, D)) + 0.5)  # a mean that is not 0
        return x, heads, sharp * weights[0], sharp * weights[1], *weights[2:]

    yield Case("two pictures, five tokens, D = 6, M = 17", draw(2, 5, 6, 17, 3))
    yield Case("as many heads as tokens", draw(3, 4, 8, 40, 4))
    yield Case("one picture, one head", draw(1, 7, 5, 23, 1))
    yield Case("one token", draw(2, 1, 4, 19, 2))
    yield Case("numbers so small that eps matters", draw(1, 3, 6, 29, 2, scale=1e-3))
    yield Case("scores in the thousands", draw(1, 4, 6, 31, 2, sharp=100.0))
    yield Case("M = D, so that all matrices are square", draw(2, 3, 6, 6, 2))


BLOCK_SOURCE = f"""\
import math

import numpy as np


def layer_norm(x, eps=1e-6):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


{SOFTMAX_SOURCE}

def gelu(x):
    {TANH_LINE}


def msa(z, num_heads, Wq, Wk, Wv, Wo):
    B, N, D = z.shape
    D_h = D // num_heads
    q, k, v = ((z @ W).reshape(B, N, num_heads, D_h).swapaxes(1, 2) for W in (Wq, Wk, Wv))  # (B, heads, N, D_h)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(D_h)
    sa = softmax(scores) @ v
    return sa.swapaxes(1, 2).reshape(B, N, D) @ Wo


def vit_encoder_block(x, num_heads, Wq, Wk, Wv, Wo, W1, W2):
    x_prime = msa(layer_norm(x), num_heads, Wq, Wk, Wv, Wo) + x
    return gelu(layer_norm(x_prime) @ W1) @ W2 + x_prime
"""
MSA_CALL = "msa(layer_norm(x), num_heads, Wq, Wk, Wv, Wo) + x\n"
MLP_CALL = "gelu(layer_norm(x_prime) @ W1) @ W2 + x_prime"


def in_each_half(name: str, explanation: str, attention: str, mlp: str) -> tuple[Mistake, ...]:
    """A mistake made in both halves, and the same one in each half alone."""
    first, second = (MSA_CALL, attention + "\n"), (MLP_CALL, mlp)
    return (
        mistake(name, explanation, first, second),
        mistake(f"{name}, in the attention half", explanation, first),
        mistake(f"{name}, in the MLP half", explanation, second),
    )


WIRING = (
    *in_each_half(
        "post-norm",
        "LayerNorm came after the sum, as in the first Transformer; a ViT normalises before each part.",
        "layer_norm(msa(x, num_heads, Wq, Wk, Wv, Wo) + x)",
        "layer_norm(gelu(x_prime @ W1) @ W2 + x_prime)",
    ),
    *in_each_half(
        "norm after the part",
        "what the part returned was normalised; the LayerNorm belongs in front of the part.",
        "layer_norm(msa(x, num_heads, Wq, Wk, Wv, Wo)) + x",
        "layer_norm(gelu(x_prime @ W1) @ W2) + x_prime",
    ),
    *in_each_half(
        "norm forgotten",
        "both parts work on normalised numbers.",
        "msa(x, num_heads, Wq, Wk, Wv, Wo) + x",
        "gelu(x_prime @ W1) @ W2 + x_prime",
    ),
    *in_each_half(
        "no residual",
        "nothing was added back; each half adds what came in, x and then x_prime.",
        "msa(layer_norm(x), num_heads, Wq, Wk, Wv, Wo)",
        "gelu(layer_norm(x_prime) @ W1) @ W2",
    ),
    *in_each_half(
        "residual of the normalised",
        "what is added back is the input of the half itself, before LayerNorm touched it.",
        "msa(layer_norm(x), num_heads, Wq, Wk, Wv, Wo) + layer_norm(x)",
        "gelu(layer_norm(x_prime) @ W1) @ W2 + layer_norm(x_prime)",
    ),
    mistake(
        "residual from the start",
        "the second half adds x_prime, the result of Eq. 2, not x.",
        ("W2 + x_prime", "W2 + x"),
    ),
    mistake(
        "side by side",
        "both halves read x; the MLP must read x_prime, the result of Eq. 2.",
        ("norm(x_prime)", "norm(x)"),
    ),
    mistake(
        "MLP first",
        "attention comes first, then the MLP.",
        (MSA_CALL, "gelu(layer_norm(x) @ W1) @ W2 + x\n"),
        (MLP_CALL, "msa(layer_norm(x_prime), num_heads, Wq, Wk, Wv, Wo) + x_prime"),
    ),
    mistake(
        "a LayerNorm at the end",
        "the block ends with a sum; the next block brings its own LayerNorm.",
        (MLP_CALL, f"layer_norm({MLP_CALL})"),
    ),
    mistake("GELU after W2", "GELU stands between W1 and W2.", ("@ W1) @ W2", "@ W1 @ W2)")),
    mistake(
        "GELU forgotten",
        "between W1 and W2 stands a GELU; without it the MLP is one linear map.",
        (TANH_LINE, "return x"),
    ),
    mistake(
        "wrong mlp ratio",
        "only D of the M hidden numbers were used; the hidden width is W1.shape[1].",
        ("norm(x_prime) @ W1) @ W2", "norm(x_prime) @ W1[:, : x.shape[2]]) @ W2[: x.shape[2]]"),
    ),
    mistake(
        "4 D hidden numbers",
        "the MLP is as wide as W1 has columns; 4 D is only the usual choice.",
        ("norm(x_prime) @ W1) @ W2", "norm(x_prime) @ W1[:, : 4 * x.shape[2]]) @ W2[: 4 * x.shape[2]]"),
    ),
)
HEADS = (
    mistake(
        "heads interleaved",
        "head h owns a block of neighbouring columns; yours takes every num_heads-th.",
        ("reshape(B, N, num_heads, D_h).swapaxes(1, 2)", "reshape(B, N, D_h, num_heads).transpose(0, 3, 1, 2)"),
    ),
    mistake(
        "split without moving the axis",
        "split the columns first, then move the axis of the heads; reshape alone mixes tokens.",
        ("reshape(B, N, num_heads, D_h).swapaxes(1, 2)", "reshape(B, num_heads, N, D_h)"),
    ),
    mistake(
        "joined without moving the axis",
        "bring the heads back behind the tokens before you flatten them.",
        ("sa.swapaxes(1, 2).reshape(B, N, D)", "sa.reshape(B, N, D)"),
    ),
    mistake(
        "joined interleaved",
        "a token's row is head 1, then head 2, and so on; yours takes one number of each head in turn.",
        ("sa.swapaxes(1, 2).reshape(B, N, D)", "sa.transpose(0, 2, 3, 1).reshape(B, N, D)"),
    ),
    mistake(
        "softmax over the heads",
        "the weights of the heads add up to 1; each head shares out its attention over the keys on its own.",
        ("scores.max(axis=-1,", "scores.max(axis=1,"),
        ("powers.sum(axis=-1,", "powers.sum(axis=1,"),
    ),
    mistake(
        "one head only", "all of D was one head; split it first.", ("D_h = D // num_heads", "num_heads, D_h = 1, D")
    ),
    mistake("Wo forgotten", "after joining the heads comes one more matrix, Wo.", (" @ Wo", "")),
    mistake("Wq used twice", "the keys come from Wk, not from Wq.", ("(Wq, Wk, Wv)", "(Wq, Wq, Wv)")),
)
RIGHT = "the matrices multiply from the right as they are, x @ W; torch stores the transpose."
TRANSPOSED = (
    mistake(
        "all matrices transposed",
        RIGHT,
        ("(z @ W)", "(z @ W.T)"),
        ("D) @ Wo", "D) @ Wo.T"),
        ("@ W1)", "@ W1.T)"),
        ("@ W2 +", "@ W2.T +"),
    ),
    mistake("Wq, Wk and Wv transposed", RIGHT, ("(z @ W)", "(z @ W.T)")),
    mistake("Wq transposed", RIGHT, ("(Wq, Wk, Wv)", "(Wq.T, Wk, Wv)")),
    mistake("Wk transposed", RIGHT, ("(Wq, Wk, Wv)", "(Wq, Wk.T, Wv)")),
    mistake("Wv transposed", RIGHT, ("(Wq, Wk, Wv)", "(Wq, Wk, Wv.T)")),
    mistake("Wo transposed", RIGHT, ("D) @ Wo", "D) @ Wo.T")),
    mistake("W1 transposed", RIGHT, ("@ W1)", "@ W1.T)")),
    mistake("W2 transposed", RIGHT, ("@ W2 +", "@ W2.T +")),
)
EPS = (
    mistake("another eps", "eps is 1e-6 here; 1e-12 is the library's.", ("1e-6", "1e-12")),
    mistake(
        "PyTorch's eps",
        "eps is 1e-6 here; 1e-5 is what PyTorch's LayerNorm takes when nothing is said.",
        ("1e-6", "1e-5"),
    ),
)

VIT_ENCODER_BLOCK = Exercise(
    name="vit_encoder_block",
    parameters="x, num_heads, Wq, Wk, Wv, Wo, W1, W2",
    chapter="The encoder block from scratch",
    statement="Write a whole encoder block for a batch, in NumPy alone. LayerNorm has no gamma and beta here; it takes the "
    "population variance and eps 1e-6. Attention has no mask and no biases. The MLP has the tanh form of GELU and"
    " no biases. Return float64.",
    shapes="x (B, N, D), Wq, Wk, Wv, Wo (D, D), W1 (D, M), W2 (M, D), all float64 -> (B, N, D), float64.",
    hints=(
        "Write layer_norm, softmax and gelu first; the earlier exercises check them one by one.",
        "D is `x.shape[-1]`, and one head is `D // num_heads` wide. You need no mlp_ratio: the MLP is `W1.shape[1]` wide.",
        "Split q, k and v with a reshape to (B, N, num_heads, D_h). Then move the heads in front of the tokens.",
        "Two lines at the end, Eq. 2 and Eq. 3, each adding what came in.",
    ),
    minutes=30,
    difficulty="medium",
    solution=BLOCK_SOURCE,
    cases=block_cases,
    mistakes=(
        *WIRING,
        *borrowed(BLOCK_SOURCE, LAYER_NORM.mistakes),
        *EPS,
        *SCORES,
        *borrowed(BLOCK_SOURCE, SOFTMAX.mistakes, without=IN_SCORES),
        *HEADS,
        *borrowed(BLOCK_SOURCE, GELU_TANH.mistakes),
        *TRANSPOSED,
    ),
    double=True,
    locate=locate,
)

EXERCISES = (ENCODER_LAYER, VIT_ENCODER_BLOCK)
