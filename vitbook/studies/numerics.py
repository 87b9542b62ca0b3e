"""Who runs a ViT with which GELU and which epsilon, and matrix products as a TPU makes them.  Chapter: whose numerics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

#: Who computes LayerNorm and GELU how: name -> (activation, eps).
CONVENTIONS: dict[str, tuple[str, float]] = {
    "transformers, for this family": ("gelu", 1e-12),
    "the authors' JAX code": ("gelu_tanh", 1e-6),
    "timm, torchvision": ("gelu", 1e-6),
    "a bare torch.nn.LayerNorm": ("gelu", 1e-5),
}

_ATEN = torch.ops.aten
#: torch's products of two matrices, or of one and a vector -> the place of the first of the two among its arguments.
_PRODUCTS = {
    **dict.fromkeys((_ATEN.mm, _ATEN.bmm, _ATEN.mv, _ATEN.dot), 0),
    **dict.fromkeys((_ATEN.addmm, _ATEN.baddbmm, _ATEN.addmv), 1),
}


def rounded(t: Tensor) -> Tensor:
    """t with the digits that bfloat16 keeps, in t's own type."""
    return t.to(torch.bfloat16).to(t.dtype)


class _Rounding(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        operation = function.overloadpacket
        if any(word in str(operation) for word in ("attention", "convolution")):
            raise RuntimeError(f"{operation} multiplies inside one kernel, where its factors cannot be rounded")
        first = _PRODUCTS.get(operation)
        if first is not None:
            args = [rounded(a) if first <= i < first + 2 else a for i, a in enumerate(args)]
        return function(*args, **(kwargs or {}))


@contextmanager
def rounded_products() -> Iterator[None]:
    """Inside it, both factors of every matrix product are rounded to bfloat16, those of attention too.

    So a TPU multiplies unless it is told otherwise; biases and sums keep their digits.  For runs without gradients.
    Raises RuntimeError, inside it, for a kernel that multiplies where nobody can round.
    """
    with sdpa_kernel(SDPBackend.MATH), _Rounding():  # MATH: attention as two products, and not in one kernel
        yield
