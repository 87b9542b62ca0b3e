"""Which half of a reader's encoder block is wrong, and where in it, found from outside by what is handed in.

Weights of zero switch a half off: with Wv and Wo zero attention brings nothing, with W1 and W2 zero the MLP. Inside a half,
inputs are chosen with which one step after the other cannot go wrong; the first with which the half is right names the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vitbook.exercises.naming import Trial, known_mistakes
from vitbook.exercises.record import Case, Exercise, Mistake

Attempt = Callable[[list[Case]], list[Trial]]
NAMES = ("Wq", "Wk", "Wv", "Wo", "W1", "W2")
OFF = {"attention": ("W1", "W2"), "MLP": ("Wv", "Wo")}  # a half -> what is zero when it alone is left
PICTURES = "For one picture at a time it is right, for several together it is not: each picture must be read alone."
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
    cases = exercise.draw()

    def right(*tried: Case) -> bool:
        return not any(trial.failure for trial in attempt(list(tried)))

    if right(*(one for case in cases for one in one_by_one(case))):
        return (PICTURES,)
    tried = {half: attempt([without(case, *off) for case in cases]) for half, off in OFF.items()}
    wrong = [half for half in OFF if any(trial.failure for trial in tried[half])]
    named = {half: known_mistakes(exercise, tried[half]) for half in wrong}
    if not wrong:
        return (TOGETHER,)
    if not any(named.values()) and not right(*(without(case, "Wv", "Wo", "W1", "W2") for case in cases)):
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
            failed = next(trial.case for trial in tried[half] if trial.failure)
            alone = next((one for one in one_by_one(failed) if not right(one)), None)
            words.append(f"Your {half} half is wrong. " + (PICTURES if alone is None else place(Probe(right, alone))))
    return tuple(words)


def told(known: tuple[Mistake, ...]) -> str:
    return " ".join(f"{each.name[:1].upper()}{each.name[1:]}: {each.explanation}" for each in known)


def without(case: Case, *off: str) -> Case:
    """The case with some of its matrices full of zeros."""
    x, heads, *weights = case.arguments
    return Case(case.label, (x, heads, *(0 * W if n in off else W for n, W in zip(NAMES, weights, strict=True))))


def one_by_one(case: Case) -> list[Case]:
    """The pictures of a case, each in a case of its own."""
    x, *others = case.arguments
    return [Case(case.label, (picture[None], *others)) for picture in x]


@dataclass(frozen=True)
class Probe:
    """A case in which a half is wrong: called with another x, other heads or other matrices, it says whether that is right."""

    right: Callable[[Case], bool]
    case: Case

    @property
    def x(self) -> np.ndarray:
        return self.case.arguments[0]

    @property
    def weights(self) -> dict[str, np.ndarray]:
        return dict(zip(NAMES, self.case.arguments[2:], strict=True))

    def __call__(self, x: np.ndarray, heads: int | None = None, **changed: np.ndarray) -> bool:
        heads = heads or self.case.arguments[1]
        return self.right(Case("a part alone", (x, heads, *(self.weights | changed).values())))


def norm_words(right: Probe) -> str:
    """Words where LayerNorm is to blame, or nothing."""
    x = right.x
    if right(1e4 * x / x.std()):
        return "It differs first in LayerNorm's eps: for large numbers, where eps does not matter, it is right."
    halves = np.sign(np.random.default_rng(2).permuted(np.arange(x.size).reshape(x.shape) % 2 - 0.5, axis=-1))
    signs = 1e4 * halves  # its spread and its mean size are both 1e4, whichever of them a token is divided by
    return (
        "It differs first in LayerNorm: on tokens that need none, it is right."
        if right(left_alone(x)) or right(signs)
        else ""
    )


def left_alone(x: np.ndarray) -> np.ndarray:
    """The tokens with mean 0 and a variance of 1 - eps, so that LayerNorm leaves them as they are."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x / x.std(axis=-1, keepdims=True) * np.sqrt(1 - 1e-6)


def in_attention(right: Probe) -> str:
    x_hat, even = left_alone(right.x), {"Wq": 0 * right.weights["Wq"]}
    if words := norm_words(right):
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


def in_mlp(right: Probe) -> str:
    token = left_alone(right.x)[:1, :1]
    if words := norm_words(right):
        return words
    far = np.outer(token[0, 0], np.linspace(20.0, 40.0, right.weights["W1"].shape[1]))  # hidden numbers far above 0
    if right(token, W1=far):
        return "It differs first in GELU: where GELU hands large numbers on as they are, it is right."
    return (
        "It is wrong even where the hidden numbers are large and GELU hands them on as they are. Look at the products with"
        " W1 and W2 (all M columns), at what stands between them, and at what is added."
    )
