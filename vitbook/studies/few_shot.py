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
    t, deal = t.double(), torch.Generator().manual_seed(1)
    train, test = map(torch.stack, zip(*splits(t, examples, count), strict=True))  # (count, n), (count, m)
    taught = t[train]
    if shuffled:
        taught = torch.stack([row[torch.randperm(examples, generator=deal)] for row in taught])
    # As few_shot, for all splits at once: the products of all rows are all that its solution needs.
    K = _products(Y.double())
    among = K[train[:, :, None], train[:, None, :]]  # (count, n, n)
    mean = among.mean(1, keepdim=True)  # products with the mean example
    G = among - mean - mean.mT + mean.mean(2, keepdim=True)
    lam = penalty * G.diagonal(dim1=1, dim2=2).mean(1)
    if not (lam > 0).all():
        raise ValueError("all rows of Y are the same, so no rule can tell them apart")
    alpha = torch.linalg.solve(G + lam[:, None, None] * torch.eye(examples, dtype=G.dtype), taught)  # (count, n)
    across = K[test[:, :, None], train[:, None, :]]  # (count, m, n)
    across = across - across.mean(2, keepdim=True) - mean + mean.mean(2, keepdim=True)
    said = (across @ alpha[:, :, None]).squeeze(2)
    return ((said > 0) == (t[test] > 0)).double().mean(1)


def _products(Y: Float[Tensor, "n D"]) -> Float[Tensor, "n n"]:
    """Every row times every row, after their common mean is taken off: it cancels, and only costs digits."""
    X = Y - Y.mean(0)
    return X @ X.T
