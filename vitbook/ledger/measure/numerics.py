"""GELU in its two forms, what weight decay leaves, and what else takes more than one line to compute again."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib import metadata

import numpy as np
import torch
from PIL import Image

from vitbook.attention import join_heads
from vitbook.config import VARIANTS
from vitbook.encoder import gelu, gelu_tanh
from vitbook.ledger.measure.here import PREPROCESSING
from vitbook.pixels import prepare
from vitbook.studies import pencil
from vitbook.studies.numpy_block import CUBIC
from vitbook.studies.pencil.equations import head_steps


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


def other_coefficient(coefficient: float) -> float:
    """Largest difference that another coefficient makes in the tanh form."""
    x = torch.linspace(-8, 8, 32_001, dtype=torch.float64)
    other = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + coefficient * x**3)))
    return (other - gelu_tanh(x)).abs().max().item()


def decay_of_the_difference(epochs: float, rate: float, decay: float, dropout: float) -> float:
    """What decoupled weight decay leaves of x_class - E_pos[0] after pre-training on ImageNet-21k, as a factor.

    Both rows get the same gradient and, under Adam, the same update, so only decay acts on their difference: the product
    of (1 - rate * decay) over all steps.  14,197,122 pictures in batches of 4096; 10,000 steps of warm-up, then linear to 0
    (the paper's Table 3 and Appendix B.1; decoupling is an assumption).
    """
    steps, warm_up = int(epochs) * 14_197_122 // 4096, 10_000
    rising = np.arange(1, warm_up + 1) / warm_up
    falling = np.linspace(1, 0, steps - warm_up)
    return float(np.exp(np.log1p(-rate * decay * np.concatenate([rising, falling])).sum()))


def permutation_noise() -> float:
    """What float32 leaves of the difference that is 0 on paper: the four tokens shuffled before attention, or after it."""

    def msa(z):
        read = [head_steps(z, torch.tensor(U).to(z)).SA for U in pencil.U_QKV]
        return join_heads(torch.stack(read), torch.tensor(pencil.U_MSA).to(z))

    z, order = torch.tensor(pencil.Z, dtype=torch.float32), list(pencil.ORDER)
    return (msa(z[order]) - msa(z)[order]).abs().max().item()


def prepared(level: int) -> float:
    """What ViT-B/16's preparation makes of a grey level, 0 to 255."""
    return prepare(Image.new("RGB", (32, 32), (level,) * 3), PREPROCESSING, VARIANTS["ViT-B/16"])[0, 0, 0].item()


def installed(package: str) -> tuple[int, ...]:
    """The first three numbers of an installed package's version."""
    return tuple(int(n) for n in re.findall(r"\d+", metadata.version(package))[:3])


@cache
def _grid() -> tuple[np.ndarray, np.ndarray]:
    x = torch.linspace(-8, 8, 32_001, dtype=torch.float64)
    return x.numpy(), gelu(x).numpy()
