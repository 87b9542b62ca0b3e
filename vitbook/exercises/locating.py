"""Which half of a reader's encoder block is wrong, and where in it, found from outside by what is handed in.

Weights of zero switch a half off: with Wv and Wo zero attention brings nothing, with W1 and W2 zero the MLP. Inside a half,
inputs are chosen with which one step after the other cannot go wrong; the first with which the half is right names the step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from vitbook.exercises.naming import Trial, known_mistakes
from vitbook.exercises.record import Case, Exercise, Mistake

Attempt = Callable[[list[Case]], list[Trial]]
SUMS = (
    "With Wv, Wo, W1 and W2 all zero both parts bring nothing, and the block must return x itself. Yours does not."
    " Look at what each half adds, and for a LayerNorm that stands outside the parts."
)
TOGETHER = (
    "Each half is right on its own, but not the two together. The MLP half must read x_prime, which the attention half"
    " made, and add to x_prime."
)


def locate(exercise: Exercise, attempt: Attempt) -> tuple[str, ...]:
    """What to say of a block that is wrong in an unknown way; ``attempt(cases)`` runs it."""
    r = np.random.default_rng(1)
    D, M, heads = 6, 17, 3
    weights = {n: r.standard_normal((D, D)) / np.sqrt(D) for n in ("Wq", "Wk", "Wv", "Wo")}
    weights |= {"W1": r.standard_normal((D, M)) / np.sqrt(D), "W2": r.standard_normal((M, D)) / np.sqrt(M)}
    x = r.standard_normal((2, 5, D)) + 0.5

    def right(x: np.ndarray, heads: int = heads, **changed: np.ndarray) -> bool:
        case = Case("a part alone", (x, heads, *(weights | changed).values()))
        return attempt([case])[0].failure is None

    zero = {name: 0 * W for name, W in weights.items()}
    off = {
        "attention": {n: zero[n] for n in ("W1", "W2")},
        "MLP": {n: zero[n] for n in ("Wv", "Wo")},
    }  # leaves that half
    tried = {half: attempt([alone(case, off[half]) for case in exercise.draw()]) for half in off}
    wrong = [half for half in off if any(trial.failure for trial in tried[half])]
    named = {half: known_mistakes(exercise, tried[half]) for half in wrong}
    if not wrong:
        return (TOGETHER,)
    if not any(named.values()) and not right(x, **off["attention"], **off["MLP"]):
        return (SUMS,)
    if len(wrong) == 2 and named["attention"] == named["MLP"] != ():
        return ("Both halves, each tried alone, show the same. " + told(named["MLP"]),)
    words = []
    for half, place in (("attention", in_attention), ("MLP", in_mlp)):
        if half not in wrong:
            words.append(f"Your {half} half is right: tried alone, it agrees in every case.")
        elif named[half]:
            words.append(f"Your {half} half is wrong. " + told(named[half]))
        else:
            words.append(f"Your {half} half is wrong. " + place(partial(right, **off[half]), x, weights))
    return tuple(words)


def told(known: tuple[Mistake, ...]) -> str:
    return " ".join(f"{each.name[:1].upper()}{each.name[1:]}: {each.explanation}" for each in known)


def alone(case: Case, off: dict[str, np.ndarray]) -> Case:
    """The case with one of its matrices full of zeros."""
    x, heads, *weights = case.arguments
    names = ("Wq", "Wk", "Wv", "Wo", "W1", "W2")
    return Case(case.label, (x, heads, *(0 * w if n in off else w for n, w in zip(names, weights, strict=True))))


def norm_words(right: Callable[..., bool], x: np.ndarray, plain: np.ndarray) -> str:
    """Words where LayerNorm is to blame, or nothing."""
    if right(1e4 * x):
        return "It differs first in LayerNorm's eps: for large numbers, where eps does not matter, it is right."
    halves = np.sign(np.random.default_rng(2).permuted(np.arange(x.size).reshape(x.shape) % 2 - 0.5, axis=-1))
    signs = 1e4 * halves  # its spread and its mean size are both 1e4, whichever of them a token is divided by
    return (
        "It differs first in LayerNorm: on tokens that need none, it is right." if right(plain) or right(signs) else ""
    )


def left_alone(x: np.ndarray) -> np.ndarray:
    """The tokens with mean 0 and a variance of 1 - eps, so that LayerNorm leaves them as they are."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x / x.std(axis=-1, keepdims=True) * np.sqrt(1 - 1e-6)


def in_attention(right: Callable[..., bool], x: np.ndarray, weights: dict[str, np.ndarray]) -> str:
    x_hat, even = left_alone(x), {"Wq": 0 * weights["Wq"]}
    if words := norm_words(right, x, x_hat):
        return words
    if not right(x_hat[:, :1], 1):
        return (
            "It is wrong even for one token and one head. Look at LayerNorm, at softmax (one token alone has the weight 1),"
            " at the values (Wv) and at Wo."
        )
    if right(x_hat, **even):
        return (
            "It differs first in the scores or the softmax: with Wq all zero, where all scores are 0, it is right."
            " Look at q kᵀ, the division by √D_h and the axis of softmax."
        )
    if right(x_hat, 1):
        return "It differs first where heads are split or joined: with one head it is right."
    return (
        "For one token it is right, for several with even weights it is not. Look at the weighted sum of the values:"
        " every token counts in it, later ones and the token itself too, since nothing is masked."
    )


def in_mlp(right: Callable[..., bool], x: np.ndarray, weights: dict[str, np.ndarray]) -> str:
    token = left_alone(x)[:1, :1]
    if words := norm_words(right, x, left_alone(x)):
        return words
    far = np.outer(token[0, 0], np.linspace(20.0, 40.0, weights["W1"].shape[1]))  # hidden numbers far above 0
    if right(token, W1=far):
        return "It differs first in GELU: where GELU hands large numbers on as they are, it is right."
    return (
        "It is wrong even where the hidden numbers are large and GELU hands them on as they are. Look at the products with"
        " W1 and W2, at what stands between them, and at what is added."
    )
