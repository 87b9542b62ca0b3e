"""What a caller changes in a run: functions of the values on the way, under the names of their letters (`run`'s `edit`).

Enough to switch off a head, to paste a token from another picture's run, or to add a direction to the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from vitbook.attention import attention_weights, join_heads, qkv, self_attention
from vitbook.checks import index, told
from vitbook.config import ViTConfig
from vitbook.encoder import Attended, layer_norm, transform
from vitbook.weights import LayerWeights
from vitbook.wording import brief

PER_HEAD = ("q", "k", "v", "A", "SA")  # one matrix a head
PER_LAYER = ("z", "z_prime", "msa", "mlp")  # one matrix a layer
KEYS = (
    '("z", l) with l from 0, ("z_prime", l), ("msa", l), ("mlp", l), or ("q", l, head) and the same of k, v, A and SA'
)


class Edits:
    """The functions of an `edit`, checked.  Layers and heads count from 1, but z_0 is a layer's input."""

    def __init__(self, edit: Mapping[tuple, Callable[[Tensor], Tensor]] | None, config: ViTConfig):
        """Raises ValueError where a key is none of `KEYS`, is outside the model, or has no function."""
        self.config = config
        self._functions: dict[tuple[str, int], list[tuple[int | None, Callable]]] = {}
        if edit is not None and not isinstance(edit, Mapping):
            raise ValueError(f"edit must be a dict of functions, or None; got {told(edit)}")
        for key, function in (edit or {}).items():
            letter, l, head = self._checked(key)
            if not callable(function):
                raise ValueError(f"edit has under {brief(key)} no function of a tensor, but {told(function)}")
            self._functions.setdefault((letter, l), []).append((head, function))

    def touch(self, l: int) -> bool:
        """Whether anything inside layer l is changed; the z that comes out of it is not inside."""
        return any(layer == l and letter != "z" for letter, layer in self._functions)

    def __call__(self, letter: str, l: int, value: Tensor) -> Tensor:
        """The value as the functions leave it; itself where there are none."""
        for head, function in self._functions.get((letter, l), ()):
            if head is None:
                value = _fitting(function(value.clone()), value, (letter, l))
            else:  # (..., heads, N+1, D_h or N+1): this head's matrix alone
                mine = value[..., head - 1, :, :]
                value = value.clone()
                value[..., head - 1, :, :] = _fitting(function(mine.clone()), mine, (letter, l, head))
        return value

    def attend(self, z: Tensor, layer: LayerWeights, l: int, mask: Tensor | None) -> tuple[Attended, dict[int, Tensor]]:
        """Eq. 2 as `encoder.attend` has it, changed; and {l: A} where A is, since it follows from q and k no more."""
        heads, eps = self.config.heads, self.config.eps
        normed = layer_norm(z, layer.gamma_1, layer.beta_1, eps)
        parts = qkv(normed, layer.U_q, layer.U_k, layer.U_v, layer.b_q, layer.b_k, layer.b_v, heads)
        q, k, v = (self(letter, l, part) for letter, part in zip("qkv", parts, strict=True))
        A = self("A", l, attention_weights(q, k, mask))
        sa = self("SA", l, self_attention(A, v))
        msa = self("msa", l, join_heads(sa, layer.U_msa, layer.b_msa))
        return Attended(q, k, v, msa, self("z_prime", l, msa + z)), {l: A} if ("A", l) in self._functions else {}

    def transform(self, z_prime: Tensor, layer: LayerWeights, l: int) -> tuple[Tensor, Tensor]:
        """Eq. 3, with what the MLP brings changed before it is added."""
        out = self("mlp", l, transform(z_prime, layer, self.config.activation, self.config.eps)[0])
        return out, out + z_prime

    def _checked(self, key: Any) -> tuple[str, int, int | None]:
        letter, l, *rest = key if isinstance(key, tuple) and len(key) in (2, 3) else (None, None)
        per_head = letter in PER_HEAD
        l, head = index(l), index(rest[0]) if rest else None
        least = 0 if letter == "z" else 1
        fits = (per_head or (letter in PER_LAYER and not rest)) and l is not None and least <= l <= self.config.L
        if not fits or (rest and (head is None or not 1 <= head <= self.config.heads)):
            raise ValueError(
                f"edit takes {KEYS}, here with l up to {self.config.L} and heads up to {self.config.heads}; got {brief(key)}"
            )
        return letter, l, head


def _fitting(now: Any, before: Tensor, key: tuple) -> Tensor:
    """What a function returned, in the type that it got."""
    if not isinstance(now, Tensor) or now.shape != before.shape or now.is_complex() or now.dtype == torch.bool:
        came = f"{now.dtype} {tuple(now.shape)}" if isinstance(now, Tensor) else told(now)
        raise ValueError(f"the function of {brief(key)} must return numbers of shape {tuple(before.shape)}, got {came}")
    return now.to(before)
