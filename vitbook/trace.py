"""What a run leaves behind: every intermediate of Eq. 1 to 4 under its letter.

Attention weights are derived, not kept: q and k are, and A of a layer, head or query is computed when asked,
so memory grows with N and not with N².
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from vitbook.attention import attention_weights
from vitbook.checks import index, whole
from vitbook.config import ViTConfig
from vitbook.patches import check_token
from vitbook.wording import brief

COUNTED = " (counted as in the paper)"


@contextmanager
def exactly(device: str, say: bool = False) -> Iterator[None]:
    """Compute in the types that the tensors have: autocast, which would round every product, is off inside.

    device: the kind of device, "cpu" or "cuda".  say: warn where it was on.
    """
    if say and torch.is_autocast_enabled(device):
        kind = torch.get_autocast_dtype(device)
        warnings.warn(f"autocast is on, which would round every product to {kind}; it is left out here", stacklevel=4)
    with torch.autocast(device, enabled=False):
        yield


# kw_only: in a row of a dozen tensors two could change places unseen
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trace:
    """One picture's way through the model.  Layers and heads count from 1, tokens from 0 = [class].

    x (C, H, W); x_p (N, P²C); embeddings (N, D), the x_p E of Eq. 1; z: L+1 tensors (N+1, D), z[0] first;
    z_prime, msa, mlp: L tensors (N+1, D), the one of layer l at index l-1; q, k, v: L tensors (heads, N+1, D_h);
    y (D,); logits (K,) or None where the checkpoint has no head; mask: as given to `run`; A: of the layers where `run` was told to
    change it.

    One rule for a batch: every tensor here, and every result of `attention`, has the axis B in front of these shapes.
    `picture(i)` is the trace of one of them.  ``trace["z", 3]`` is z_3 and ``trace["msa", 3]`` that of layer 3.
    About 7 L (N+1) D numbers are held for each picture: where many are to be run, take batches that fit, and keep what is
    wanted of each.
    """

    config: ViTConfig
    x: Tensor
    x_p: Tensor
    embeddings: Tensor
    z: list[Tensor]  # L + 1 of them; the other lists have L
    q: list[Tensor]  # q and k are all that A follows from
    k: list[Tensor]
    v: list[Tensor]
    msa: list[Tensor]
    z_prime: list[Tensor]
    mlp: list[Tensor]
    y: Tensor
    logits: Tensor | None = None  # without names: those belong to the checkpoint, see `Checkpoint.top`
    mask: Tensor | None = None
    #: Only where `run` was told to change A: layer -> (heads, N+1, N+1).
    A: dict[int, Tensor] = field(default_factory=dict)

    @property
    def B(self) -> int | None:
        """Number of pictures in the batch, or None for one picture without that axis."""
        return None if self.x.ndim == 3 else len(self.x)

    @torch.no_grad()
    def attention(self, layer: int, head: int | None = None, query: int | None = None) -> Tensor:
        """Eq. 6: the weights A of a layer: (heads, N+1, N+1); of one head: (N+1, N+1); of one query: that row.

        layer, head: from 1; query: a token, from 0 = [class].  With a query and no head: (heads, N+1).
        Raises ValueError naming the range when a number is outside it.
        """
        l = whole(layer, "layer", 1, self.config.L, COUNTED) - 1
        query = None if query is None else check_token(query, self.config)
        h = None if head is None else whole(head, "head", 1, self.config.heads, COUNTED) - 1
        if l + 1 in self.A:
            A = self.A[l + 1] if h is None else self.A[l + 1][..., h, :, :]
            return A if query is None else A[..., query, :]
        q, k = self.q[l], self.k[l]  # (..., heads, N+1, D_h)
        mask = self.mask
        # chosen before the product, so that one row costs N + 1 dot products and not their square
        if query is not None:
            q = q[..., query : query + 1, :]  # (..., heads, 1, D_h)
            mask = None if mask is None else mask[query : query + 1]
        if h is not None:
            q, k = q[..., h, :, :], k[..., h, :, :]  # (..., N+1, D_h)
        with exactly(q.device.type):
            A = attention_weights(q, k, mask)
        return A if query is None else A.squeeze(-2)  # (..., 1, N+1) -> (..., N+1)

    def picture(self, i: int) -> Trace:
        """The trace of picture i of a batch, from 0: the same numbers without the axis B, and nothing is copied.

        Raises ValueError where there is no such picture, or no batch.
        """
        if self.B is None:
            raise ValueError("this is the trace of one picture already; only that of a batch (B, C, H, W) has others")
        i = whole(i, "picture", 0, self.B - 1)
        parts = self._parts().items()
        A = {layer: part[i] for layer, part in self.A.items()}
        return replace(self, A=A, **{name: [t[i] for t in p] if isinstance(p, list) else p[i] for name, p in parts})

    def keys(self) -> list[str | tuple[str, int]]:
        """What ``trace[...]`` takes: a letter, such as "y", or a letter and a layer, such as ("z", 3)."""
        L, out = self.config.L, []
        for name, part in self._parts().items():
            # the last entry of a list is layer L's, so that of L + 1 tensors starts at layer 0
            out += [(name, l) for l in range(L + 1 - len(part), L + 1)] if isinstance(part, list) else [name]
        return out

    def __getitem__(self, key: str | tuple[str, int]) -> Tensor:
        letter, layer = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        key = letter if layer is None else (letter, index(layer))
        if not isinstance(letter, str) or key not in self.keys():
            raise KeyError(f'no {brief(key)} in this trace; it has {", ".join(self._parts())}, and ("z", 3) is z_3')
        name, layer = key if isinstance(key, tuple) else (key, None)
        return getattr(self, name) if layer is None else getattr(self, name)[layer - self.config.L - 1]

    def shapes(self) -> dict[str, str]:
        """Name -> shape in numbers, for the reader; lists of L tensors say so."""
        return {
            name: f"{len(part)} x {tuple(part[0].shape)}" if isinstance(part, list) else f"{tuple(part.shape)}"
            for name, part in self._parts().items()
        }

    def _parts(self) -> dict[str, Tensor | list[Tensor]]:
        """What a run computed, in its order; config, mask and a changed A came from outside; logits may not be there."""
        outside = ("config", "mask", "A")
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in outside}
        return {name: part for name, part in own.items() if part is not None}

    def __repr__(self) -> str:
        c, dtype = self.config, str(self.y.dtype).removeprefix("torch.")
        pictures = "one picture" if self.B is None else f"a batch of {self.B}"
        head = "no head" if self.logits is None else f"{self.logits.shape[-1]} classes"
        return f"<Trace of {pictures}: N = {c.N}, D = {c.D}, L = {c.L}, heads = {c.heads}, {head}, {dtype}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td><code>{n}</code></td><td>{shape}</td></tr>" for n, shape in self.shapes().items())
        said = repr(self).strip("<>")  # letters and numbers of ours only, so nothing in it needs escaping
        return f"<table><caption>{said}</caption><tr><th>name</th><th>shape</th></tr>{rows}</table>"
