"""GELU in its two forms, softmax far from its largest score, and what weight decay leaves."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch

from vitbook.encoder import gelu, gelu_tanh
from vitbook.studies.numpy_block import CUBIC

PLACES = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)


def gelu_table(of: str, x: list[float] | None = None) -> torch.Tensor:
    """Phi, x Phi(x), torch's own gelu, or relu, at the places of the printed table."""
    t = torch.tensor(PLACES if x is None else x, dtype=torch.float64)
    functions = {
        "phi": lambda t: torch.special.ndtr(t),
        "gelu": gelu,
        "torch": torch.nn.functional.gelu,
        "relu": torch.relu,
    }
    return functions[of](t)


def tanh_error(coefficient: float = CUBIC) -> float:
    """Largest |x Phi(x) - tanh form| over a fine grid, for a coefficient of the cubic term."""
    x, exact = _grid()
    return float(np.abs(exact - 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + coefficient * x**3)))).max())


def tanh_decimals() -> int:
    """Decimals that the tanh form has right everywhere: the error stays below half a unit of the last of them."""
    return math.floor(-math.log10(2 * tanh_error()))


def best_coefficient() -> float:
    """The coefficient of the cubic term that makes the largest error smallest, to 1e-6 (ternary search: it has one valley)."""
    low, high = 0.042, 0.047
    while high - low > 1e-6:
        third = (high - low) / 3
        if tanh_error(low + third) < tanh_error(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2


def another_coefficient_differs(coefficient: float) -> bool:
    """Whether another coefficient gives other numbers than the usual one, beyond rounding in float64."""
    x = torch.linspace(-4, 4, 801, dtype=torch.float64)
    other = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + coefficient * x**3)))
    return bool((other - gelu_tanh(x)).abs().max() > 1e-9)


def smallest_weight(below: float) -> float:
    """Softmax weight of the lower of two scores that lie `below` apart."""
    return torch.softmax(torch.tensor([0.0, -below], dtype=torch.float64), 0)[1].item()


def decay_of_the_difference() -> float:
    """What decoupled weight decay leaves of x_class - E_pos[0] after pre-training on ImageNet-21k, as a factor.

    Both rows get the same gradient and, under Adam, the same update, so only decay acts on their difference: the product
    of (1 - rate * decay) over all steps.  90 epochs of 14,197,122 pictures in batches of 4096; rate 1e-3, 10,000 steps of
    warm-up, then linear to 0; decay 0.03 (the paper's Table 3 and Appendix B.1; decoupling is an assumption).
    """
    steps, warm_up, rate, decay = 90 * 14_197_122 // 4096, 10_000, 1e-3, 0.03
    rising = np.arange(1, warm_up + 1) / warm_up
    falling = np.linspace(1, 0, steps - warm_up)
    return float(np.exp(np.log1p(-rate * decay * np.concatenate([rising, falling])).sum()))


@cache
def _grid() -> tuple[np.ndarray, np.ndarray]:
    x = torch.linspace(-8, 8, 32_001, dtype=torch.float64)
    return x.numpy(), gelu(x).numpy()
