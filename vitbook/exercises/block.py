"""Exercises on Eq. 2 and 3: how the parts of a layer are put together, and the whole block from scratch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from vitbook.exercises.attention import OVERFLOW, SOFTMAX_SOURCE, WRONG_AXIS
from vitbook.exercises.record import Case, Exercise, mistake


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
        yield Case(label, (r.standard_normal((N, D)), norm(D), mix(D), norm(D), tanh_map(D)))


ENCODER_LAYER = Exercise(
    name="encoder_layer",
    parameters="z, ln_1, msa, ln_2, mlp",
    chapter="Equations 2 and 3",
    statement="Eq. 2 and 3 from ready-made parts: ln_1, msa, ln_2 and mlp are functions that take and return arrays (N,"
    " D). Put them in the right order, residuals included.",
    shapes="z (N, D) and four functions from (N, D) to (N, D) -> z of the next layer (N, D).",
    hints=(
        "Each LayerNorm stands before its part, not after it.",
        "What comes out of MSA is added to the z that came in; call the sum z_prime.",
        "Eq. 3 has the same shape with ln_2 and mlp, and its residual starts from z_prime.",
    ),
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
        mistake("MLP first", "attention comes first, then the MLP.", ("msa(", "mlp("), ("return mlp(", "return msa(")),
    ),
)


def block_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(B: int, N: int, D: int, M: int, heads: int, scale: float = 1.0, sharp: float = 1.0) -> tuple:
        sizes = [(D, D)] * 4 + [(D, M), (M, D)]
        weights = [r.standard_normal(size) / np.sqrt(size[0]) for size in sizes]
        return scale * r.standard_normal((B, N, D)), heads, sharp * weights[0], sharp * weights[1], *weights[2:]

    yield Case("two pictures, five tokens, D = 6, M = 17", draw(2, 5, 6, 17, 3))
    yield Case("as many heads as tokens", draw(3, 4, 8, 40, 4))
    yield Case("one picture, one head", draw(1, 7, 5, 23, 1))
    yield Case("one token", draw(2, 1, 4, 19, 2))
    yield Case("numbers so small that eps matters", draw(1, 3, 6, 29, 2, scale=1e-3))
    yield Case("scores in the thousands", draw(1, 4, 6, 31, 2, sharp=100.0))


GELU_LINE = "    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))"

VIT_ENCODER_BLOCK = Exercise(
    name="vit_encoder_block",
    parameters="x, num_heads, Wq, Wk, Wv, Wo, W1, W2",
    chapter="The encoder block from scratch",
    statement="The whole pre-norm block for a batch: LayerNorm without gamma and beta (population variance, eps 1e-6), "
    "attention without mask or biases, a residual, LayerNorm, an MLP with tanh GELU, a residual.",
    shapes="x (B, N, D), Wq, Wk, Wv, Wo (D, D), W1 (D, M), W2 (M, D), all float64 -> (B, N, D).",
    hints=(
        "Write layer_norm, softmax and gelu first; the earlier exercises check them one by one.",
        "Heads go behind the batch axis: (B, N, D) to (B, N, heads, D_h) to (B, heads, N, D_h).",
        "Two lines at the end, Eq. 2 and Eq. 3, each adding what came in.",
    ),
    solution=f"""\
import math

import numpy as np


def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-6)


{SOFTMAX_SOURCE}

def gelu(x):
{GELU_LINE}


def msa(z, num_heads, Wq, Wk, Wv, Wo):
    B, N, D = z.shape
    D_h = D // num_heads
    q, k, v = ((z @ W).reshape(B, N, num_heads, D_h).swapaxes(1, 2) for W in (Wq, Wk, Wv))  # (B, heads, N, D_h)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(D_h)
    sa = softmax(scores) @ v
    return sa.swapaxes(1, 2).reshape(B, N, D) @ Wo


def vit_encoder_block(x, num_heads, Wq, Wk, Wv, Wo, W1, W2):
    x_prime = msa(layer_norm(x), num_heads, Wq, Wk, Wv, Wo) + x
    return gelu(layer_norm(x_prime) @ W1) @ W2 + x_prime
""",
    cases=block_cases,
    mistakes=(
        mistake(
            "post-norm",
            "LayerNorm came after each sum, as in the first Transformer; a ViT normalises before each part.",
            (
                "msa(layer_norm(x), num_heads, Wq, Wk, Wv, Wo) + x\n",
                "layer_norm(msa(x, num_heads, Wq, Wk, Wv, Wo) + x)\n",
            ),
            ("gelu(layer_norm(x_prime) @ W1) @ W2 + x_prime", "layer_norm(gelu(x_prime @ W1) @ W2 + x_prime)"),
        ),
        mistake(
            "no residual",
            "nothing was added back; each half adds what came in.",
            ("Wo) + x\n", "Wo)\n"),
            ("W2 + x_prime", "W2"),
        ),
        mistake("first residual missing", "Eq. 2 adds x to what attention returns.", ("Wo) + x\n", "Wo)\n")),
        mistake("second residual missing", "Eq. 3 adds x_prime to what the MLP returns.", ("W2 + x_prime", "W2")),
        mistake(
            "residual from the start",
            "the second residual adds x_prime, the result of Eq. 2.",
            ("W2 + x_prime", "W2 + x"),
        ),
        mistake(
            "residual of the normalised",
            "what is added back is x itself, before LayerNorm touched it.",
            ("Wo) + x\n", "Wo) + layer_norm(x)\n"),
            ("W2 + x_prime", "W2 + layer_norm(x_prime)"),
        ),
        mistake(
            "second norm forgotten",
            "the MLP, too, works on normalised numbers.",
            ("gelu(layer_norm(x_prime)", "gelu((x_prime)"),
        ),
        mistake(
            "sample variance",
            "the squares are averaged over D, not over D - 1.",
            (
                "(centred**2).mean(axis=-1, keepdims=True)",
                "(centred**2).sum(axis=-1, keepdims=True) / max(x.shape[-1] - 1, 1)",
            ),
        ),
        mistake(
            "eps outside the root",
            "eps is added to the variance, under the root.",
            ("np.sqrt(variance + 1e-6)", "(np.sqrt(variance) + 1e-6)"),
        ),
        mistake("another eps", "eps is 1e-6 here; 1e-12 is the library's and 1e-5 PyTorch's own.", ("1e-6", "1e-12")),
        mistake(
            "PyTorch's eps",
            "eps is 1e-6 here; 1e-5 is what PyTorch's LayerNorm takes when nothing is said.",
            ("1e-6", "1e-5"),
        ),
        mistake(
            "erf form",
            "this is the exact GELU with erf; the block is defined with the tanh form.",
            (GELU_LINE, "    return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))"),
        ),
        mistake(
            "ReLU",
            "negative numbers were cut to zero; the block is defined with GELU.",
            (GELU_LINE, "    return np.maximum(x, 0)"),
        ),
        mistake(
            "GELU forgotten",
            "between W1 and W2 stands a GELU; without it the MLP is one linear map.",
            (GELU_LINE, "    return x"),
        ),
        mistake(
            "divided by sqrt(D)",
            "each head has its own width D_h, and its root counts.",
            ("np.sqrt(D_h)", "np.sqrt(D)"),
        ),
        mistake("not divided", "the scores are divided by √D_h before the softmax.", (" / np.sqrt(D_h)", "")),
        WRONG_AXIS,
        OVERFLOW,
        mistake(
            "causal mask",
            "tokens were kept from looking at later ones, as in GPT; a ViT has no mask.",
            ("    sa = softmax(scores)", "    sa = softmax(np.where(np.tri(N, dtype=bool), scores, -np.inf))"),
        ),
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
        mistake("Wo forgotten", "after joining the heads comes one more matrix, Wo.", (" @ Wo", "")),
        mistake(
            "wrong mlp ratio",
            "only D of the M hidden numbers were used; the hidden width is that of W1.",
            (
                "gelu(layer_norm(x_prime) @ W1) @ W2",
                "gelu(layer_norm(x_prime) @ W1[:, : x.shape[2]]) @ W2[: x.shape[2]]",
            ),
        ),
    ),
)

EXERCISES = (ENCODER_LAYER, VIT_ENCODER_BLOCK)
