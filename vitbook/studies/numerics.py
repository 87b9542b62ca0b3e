"""The same weights under other numerics: which GELU, which epsilon, how many digits.  Chapter: the authors' numerics.

Everything runs in float64 unless a choice says otherwise, so that what is measured is the choice and not the rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from vitbook.model import run
from vitbook.trace import Trace

#: Who computes LayerNorm and GELU how: name -> (activation, eps).
CONVENTIONS: dict[str, tuple[str, float]] = {
    "transformers, for this family": ("gelu", 1e-12),
    "the authors' JAX code": ("gelu_tanh", 1e-6),
    "timm, torchvision": ("gelu", 1e-6),
    "a bare torch.nn.LayerNorm": ("gelu", 1e-5),
}


def variant(checkpoint, activation: str | None = None, eps: float | None = None, dtype: torch.dtype = torch.float64):
    """The checkpoint with its weights in `dtype` and, where given, another activation or another epsilon.

    Raises ValueError for an activation or an epsilon that `ViTConfig` refuses.
    """
    config = checkpoint.weights.config
    config = replace(config, activation=activation or config.activation, eps=config.eps if eps is None else eps)
    return replace(checkpoint, weights=replace(checkpoint.weights.to(dtype), config=config))


@dataclass(frozen=True)
class Distance:
    """How far one run lies from another, stage by stage.

    z: for z_0 to z_L, the largest |difference| relative to the largest value.  y: the same for y.  angle: between the two
    y, in degrees.  probability: the largest change of a class probability, and same_answer: whether the most probable
    class stays; both None without a head.
    """

    z: tuple[float, ...]
    y: float
    angle: float
    probability: float | None
    same_answer: bool | None


def distance(trace: Trace, other: Trace) -> Distance:
    """From `trace` to `other`, both taken to float64.  Raises ValueError when they are of different models, or of batches."""
    if trace.B is not None:
        raise ValueError(
            f"distance compares runs of one picture; these are of a batch of {trace.B}, so take .picture(i)"
        )
    if len(trace.z) != len(other.z) or trace.y.shape != other.y.shape or trace.z[0].shape != other.z[0].shape:
        raise ValueError(
            f"the two runs have different shapes: z {len(trace.z)} x {tuple(trace.z[0].shape)} and "
            f"{len(other.z)} x {tuple(other.z[0].shape)}; only runs of one model can be compared"
        )
    probability = same = None
    if trace.logits is not None:
        p, q = (torch.softmax(t.logits.double(), 0) for t in (trace, other))
        probability, same = (p - q).abs().max().item(), bool(p.argmax() == q.argmax())
    z = tuple(_relative(a, b) for a, b in zip(trace.z, other.z, strict=True))
    return Distance(z, _relative(trace.y, other.y), _angle(trace.y, other.y), probability, same)


def effect(checkpoint, x: Tensor, **choice) -> Distance:
    """From the checkpoint's own numerics to another choice of `variant`'s activation, eps or dtype, on one picture x."""
    return distance(run(variant(checkpoint), x), run(variant(checkpoint, **choice), x))


def smallest_variances(trace: Trace) -> list[tuple[float, float]]:
    """For layers 1 to L: the smallest variance of a token where the LayerNorms before attention and before the MLP look.

    LN divides by sqrt(var + eps), so eps shortens a token's numbers by about eps / (2 var): only small variances feel it.
    """
    pairs = zip(trace.z[:-1], trace.z_prime, strict=True)
    return [tuple(stage.var(-1, correction=0).min().item() for stage in pair) for pair in pairs]


def _relative(a: Tensor, b: Tensor) -> float:
    return ((a.double() - b.double()).abs().max() / a.double().abs().max()).item()


def _angle(a: Tensor, b: Tensor) -> float:
    """By the lengths of sum and difference of the unit vectors, which stays exact where a cosine is 1 to all digits."""
    u, v = (torch.nn.functional.normalize(t.double(), dim=0) for t in (a, b))
    return torch.rad2deg(2 * torch.atan2((u - v).norm(), (u + v).norm())).item()
