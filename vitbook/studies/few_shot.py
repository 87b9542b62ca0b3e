"""Section 4.1 in small: what can be read off a frozen representation, with few examples.  Chapter: Equation 4."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vitbook.checks import whole

PENALTY = 0.1  # times the mean squared length of a row, so that the units of the numbers do not matter


def few_shot(
    Y: Float[Tensor, "n D"], t: Float[Tensor, "n"], penalty: float = PENALTY
) -> tuple[Float[Tensor, "D"], Float[Tensor, "D"]]:
    """Regularised least squares from rows of Y to targets t of -1 and 1: (w, mean); the answer is the sign of (y - mean) w.

    The smallest sum of ((y - mean) w - t)^2 plus lambda |w|^2, solved exactly (Section 4.1 of the paper does the same for K
    classes).  Solved for the n rows and not for the D numbers, which is the same w and less work for few rows.
    Raises ValueError where the rows are all the same: then there is nothing to learn from.
    """
    mean = Y.mean(0)
    X = Y - mean
    G = X @ X.T  # (n, n)
    lam = penalty * G.diagonal().mean()
    if not lam > 0:
        raise ValueError("all rows of Y are the same, so no rule can tell them apart")
    return X.T @ torch.linalg.solve(G + lam * torch.eye(len(G), dtype=G.dtype), t), mean


def splits(
    t: Float[Tensor, "n"], examples: int, count: int, seed: int = 0
) -> Iterator[tuple[Int[Tensor, "examples"], Int[Tensor, "others"]]]:
    """`count` random ways to take examples, as many of 1 as of -1, each with all the others to test on.

    Raises ValueError for an odd number, or where some are not left of each kind.
    """
    kinds = [(t == sign).nonzero().flatten() for sign in (1, -1)]
    half = whole(examples, "examples", 2, 2 * min(map(len, kinds)) - 2) // 2
    if examples % 2:
        raise ValueError(f"examples must be even, half of them of each kind, got {examples}")
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        mixed = [kind[torch.randperm(len(kind), generator=generator)] for kind in kinds]
        yield torch.cat([kind[:half] for kind in mixed]), torch.cat([kind[half:] for kind in mixed])


def accuracies(
    Y: Float[Tensor, "n D"], t: Float[Tensor, "n"], examples: int, count: int = 200, penalty: float = PENALTY,
    shuffled: bool = False,
) -> Float[Tensor, "count"]:  # fmt: skip
    """The share of right answers on all that was not an example, for each of `count` random splits.

    shuffled: a control; the examples' targets are dealt out at random, so there is nothing true to learn.
    """
    Y, t = Y.double(), t.double()
    deal = torch.Generator().manual_seed(1)
    right = []
    for train, test in splits(t, examples, count):
        taught = t[train][torch.randperm(len(train), generator=deal)] if shuffled else t[train]
        w, mean = few_shot(Y[train], taught, penalty)
        right.append((((Y[test] - mean) @ w > 0) == (t[test] > 0)).double().mean())
    return torch.stack(right)
