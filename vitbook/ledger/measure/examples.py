"""The two worked examples: four tokens with a pencil (Appendix A), and the encoder block of the exercise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from vitbook.studies import numpy_block, pencil

X = ((1.0, 0.0, -1.0, 2.0), (0.0, 1.0, 1.0, 0.0))  # the exercise's input, N = 2, D = 4
MSA = ((0.2, -0.1, 0.3, -0.1), (-0.1, 0.2, -0.1, 0.1))  # and the MSA output that it supposes
HIDDEN = 0.5  # and the one hidden number that it follows through GELU


def tiny(of: str, head: int = 1, rows: list[int] | None = None) -> Any:
    """A step of the four-token example: head from 1, some rows or all."""
    s = pencil.steps()
    one = s.heads[head - 1]
    steps = {
        "sizes": lambda: [*s.z.shape, len(s.heads), one.q.shape[1]],
        "z": lambda: s.z,
        "U_qkv": lambda: s.U_qkv[head - 1],
        "qkv": lambda: torch.cat([one.q, one.k, one.v], dim=1),
        "root": lambda: math.sqrt(one.q.shape[1]),
        "scores": lambda: one.scores,
        "A": lambda: one.A,
        "row_sums": lambda: one.A.sum(1),
        "SA": lambda: one.SA,
        "q_by_hand": lambda: _q_by_hand(s),
        "score_by_hand": lambda: [one.dots[0, 0], one.scores[0, 0]],
        "msa_shape": lambda: list(s.msa.shape),
        "order": lambda: [f"t{i}" for i in pencil.ORDER],
        "msa_of_shuffled": lambda: pencil.permutation().msa_of_shuffled,
        "shuffle_is_the_same": lambda: pencil.permutation().difference < 1e-6,
        "shuffle_noise": lambda: pencil.permutation().difference,
        "shuffle_with_positions": lambda: pencil.permutation().difference_with_positions,
        "moved": lambda: [f"t{old}" for old, new in sorted(zip(pencil.ORDER, range(4), strict=True)) if old != new],
    }
    out = steps[of]()
    out = out if rows is None else out[rows]
    return [x.item() if isinstance(x, torch.Tensor) else x for x in out] if isinstance(out, list) else out


def _q_by_hand(s: pencil.Steps) -> torch.Tensor:
    """The rows of U_q that t0 picks, and their sum."""
    picked = s.U_qkv[0][s.z[0] == 1, :3]
    return torch.cat([picked, picked.sum(0, keepdim=True)])


def example_layernorm(token: int) -> list[float]:
    """Mean, variance and normalised numbers of a token (from 1), without epsilon."""
    x = np.array(X[token - 1])
    return [x.mean(), x.var(), *((x - x.mean()) / x.std())]


def example_residual() -> np.ndarray:
    """x + MSA."""
    return np.array(X) + np.array(MSA)


def example_gelu(part: str) -> list[float]:
    """The tanh form at one half, step by step, each step from the unrounded one before."""
    cube = HIDDEN + numpy_block.CUBIC * HIDDEN**3
    inner = math.sqrt(2 / math.pi) * cube
    steps = {
        "inner": [HIDDEN**3, cube, inner],
        "tanh": [math.tanh(inner)],
        "result": [1 + math.tanh(inner), float(numpy_block.gelu_tanh(np.array([HIDDEN]))[0])],
    }
    return steps[part]


def example_shapes() -> list[int]:
    """N, D, heads, d_k and MLP width (twice D) of the exercise's example, whose two heads share D."""
    N, D = np.array(X).shape
    q = numpy_block.split_heads(np.array([X]), 2)
    return [N, D, q.shape[1], q.shape[3], 2 * D]


def exponentials(scores: list[float], total: bool = False) -> list[float]:
    """e to each score, and their sum."""
    powers = [math.exp(s) for s in scores]
    return [*powers, sum(powers)] if total else powers


def softmax(scores: list[float]) -> np.ndarray:
    """Weights of one row of scores."""
    return numpy_block.softmax(np.array(scores))


def block_constant(of: str) -> list[float]:
    """Epsilon, or the two constants of the tanh form."""
    return {"eps": [numpy_block.EPS], "gelu": [math.sqrt(2 / math.pi), numpy_block.CUBIC]}[of]
