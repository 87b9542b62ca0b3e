"""Exercises on Eq. 4, the head and the ranking of its answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.record import Case, Exercise, mistake

CHAPTER = "Equation 4"


def final_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(N: int, D: int, K: int, eps: float = 1e-6, scale: float = 1.0) -> tuple:
        z = scale * (r.standard_normal((N + 1, D)) + 1)
        return z, r.standard_normal(D), r.standard_normal(D), eps, r.standard_normal((D, K)), r.standard_normal(K)

    yield Case("six tokens, D = 7, four classes", draw(5, 7, 4))
    yield Case("as many classes as features", draw(3, 6, 6))
    yield Case("[class] and one patch", draw(1, 5, 3))
    yield Case("a large eps", draw(4, 9, 2, eps=0.5))
    yield Case("numbers in the thousands, as in the last layers", draw(2, 11, 5, scale=2e3))


CLASS_LOGITS = Exercise(
    name="class_logits",
    parameters="z_L, gamma, beta, eps, W_head, b_head",
    chapter=CHAPTER,
    statement="Write Eq. 4 and the head after it: normalise [class] of the last layer, and give it to one linear layer.",
    shapes="z_L (N + 1, D), gamma, beta (D,), eps, W_head (D, K), b_head (K,) -> logits (K,).",
    hints=(
        "Only one row of z_L is needed; which?",
        "LayerNorm as in the encoder: population variance, eps under the root, then gamma and beta.",
        "The head is one product and one sum.",
    ),
    minutes=5,
    difficulty="easy",
    solution="""\
import numpy as np


def class_logits(z_L, gamma, beta, eps, W_head, b_head):
    token = z_L[0]
    y = gamma * (token - token.mean()) / np.sqrt(token.var() + eps) + beta
    return y @ W_head + b_head
""",
    cases=final_cases,
    mistakes=(
        mistake(
            "LayerNorm forgotten",
            "Eq. 4 normalises once more before the head.",
            ("gamma * (token - token.mean()) / np.sqrt(token.var() + eps) + beta", "token"),
        ),
        mistake("last row read", "[class] is row 0, the first; yours is the last patch.", ("z_L[0]", "z_L[-1]")),
        mistake("token/patch off by one", "row 1 is the first patch; [class] is row 0.", ("z_L[0]", "z_L[1]")),
        mistake(
            "mean of the patches",
            "the patches were averaged; this model reads [class].",
            ("z_L[0]", "z_L[1:].mean(axis=0)"),
        ),
        mistake(
            "mean of all tokens", "all tokens were averaged; this model reads [class].", ("z_L[0]", "z_L.mean(axis=0)")
        ),
        mistake(
            "normalised over everything",
            "mean and variance are those of the [class] row alone.",
            ("(token - token.mean()) / np.sqrt(token.var() + eps)", "(token - z_L.mean()) / np.sqrt(z_L.var() + eps)"),
        ),
        mistake(
            "sample variance", "the squares are averaged over D, not over D - 1.", ("token.var()", "token.var(ddof=1)")
        ),
        mistake(
            "eps outside the root",
            "eps is added to the variance, under the root.",
            ("np.sqrt(token.var() + eps)", "(token.std() + eps)"),
        ),
        mistake("eps forgotten", "eps is added to the variance, under the root.", ("token.var() + eps", "token.var()")),
        mistake("bias forgotten", "the head has a bias, one number a class.", (" + b_head", "")),
        mistake(
            "softmax applied",
            "these are probabilities; logits are the numbers before the softmax.",
            ("return y @ W_head + b_head", "powers = np.exp(y @ W_head + b_head)\n    return powers / powers.sum()"),
        ),
        mistake(
            "head transposed", "y multiplies W_head from the left, (D,) times (D, K).", ("y @ W_head", "y @ W_head.T")
        ),
    ),
)


def logit_cases(r: np.random.Generator) -> Iterator[Case]:
    yield Case("the three best of seven", (r.standard_normal(7), 3))
    yield Case("the best alone", (r.standard_normal(5), 1))
    yield Case("all of them", (2 * r.standard_normal(6), 6))
    yield Case("the five best of a thousand", (3 * r.standard_normal(1000), 5))
    yield Case("logits in the thousands", (np.array([1000.0, 1001.5, -3000.0, 999.0]), 2))


TOP_K = Exercise(
    name="top_k",
    parameters="logits, k",
    chapter=CHAPTER,
    statement="Find the k most probable classes, the best first, and their probabilities among all classes.",
    shapes="logits (K,), k at most K -> the tuple (classes (k,), probabilities (k,)).",
    hints=(
        "Softmax over all logits first; the largest logit taken off keeps exp in range.",
        "np.argsort sorts from small to large, and gives places rather than values.",
        "The last k places, turned round.",
    ),
    minutes=5,
    difficulty="easy",
    solution="""\
import numpy as np


def top_k(logits, k):
    powers = np.exp(logits - logits.max())
    probabilities = powers / powers.sum()
    classes = np.argsort(-logits)[:k]
    return classes, probabilities[classes]
""",
    cases=logit_cases,
    mistakes=(
        mistake(
            "worst first",
            "the classes run from the least probable up; best first is asked for.",
            ("np.argsort(-logits)[:k]", "np.argsort(logits)[-k:]"),
        ),
        mistake(
            "the k worst",
            "argsort sorts upwards, so its first places hold the smallest logits.",
            ("np.argsort(-logits)", "np.argsort(logits)"),
        ),
        mistake(
            "logits for probabilities",
            "the second part holds logits; softmax turns them into probabilities.",
            ("probabilities[classes]", "logits[classes]"),
        ),
        mistake(
            "renormalised among the k",
            "the probabilities add up to 1 over all classes, not over the best k.",
            ("probabilities[classes]", "probabilities[classes] / probabilities[classes].sum()"),
        ),
        mistake(
            "the first k classes",
            "the first k classes came back, not the most probable ones.",
            ("np.argsort(-logits)[:k]", "np.arange(k)"),
        ),
        mistake("all classes", "only the best k are asked for.", ("[:k]", "")),
        mistake(
            "parts swapped",
            "classes first, then probabilities.",
            ("classes, probabilities[classes]", "probabilities[classes], classes"),
        ),
        mistake(
            "largest logit not taken off",
            "right for small logits, but exponentials overflow above about 709.",
            ("logits - logits.max()", "logits"),
        ),
    ),
)

EXERCISES = (CLASS_LOGITS, TOP_K)
