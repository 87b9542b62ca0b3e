"""What a run leaves behind: every intermediate of Eq. 1 to 4 under its letter.

Attention weights are derived, not kept: q and k are, and A of a layer, head or query is computed when asked,
so memory grows with N and not with N².
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vitbook.attention import attention_weights
from vitbook.config import ViTConfig
from vitbook.patches import check_token
from vitbook.readout import top
from vitbook.wording import one_line


@dataclass(frozen=True, eq=False)
class Trace:
    """One picture's way through the model.  Layers and heads count from 1, tokens from 0 = [class].

    x (C, H, W); x_p (N, P²C); embeddings (N, D), the x_p E of Eq. 1; z: L+1 tensors (N+1, D), z[0] first;
    z_prime, msa, mlp: L tensors (N+1, D), the one of layer l at index l-1; q, k, v: L tensors (heads, N+1, D_h);
    y (D,); logits (K,) or None where the checkpoint has no head; labels: K names or None; mask: as given to `run`.
    """

    config: ViTConfig
    x: Tensor
    x_p: Tensor
    embeddings: Tensor
    z: list[Tensor]
    q: list[Tensor]
    k: list[Tensor]
    v: list[Tensor]
    msa: list[Tensor]
    z_prime: list[Tensor]
    mlp: list[Tensor]
    y: Tensor
    logits: Tensor | None = None
    labels: tuple[str, ...] | None = None
    mask: Tensor | None = None

    @torch.no_grad()
    def attention(self, layer: int, head: int | None = None, query: int | None = None) -> Tensor:
        """Eq. 6: the weights A of a layer: (heads, N+1, N+1); of one head: (N+1, N+1); of one query: that row.

        layer, head: from 1; query: a token, from 0 = [class].  With a query and no head: (heads, N+1).
        Raises ValueError naming the range when a number is outside it.
        """
        q, k = self.q[_counted("layer", layer, self.config.L) - 1], self.k[layer - 1]
        mask = self.mask
        if query is not None:
            check_token(query, self.config)
            q = q[:, query : query + 1]
            mask = None if mask is None else mask[query : query + 1]
        if head is not None:
            h = _counted("head", head, self.config.heads) - 1
            q, k = q[h], k[h]
        A = attention_weights(q, k, mask)
        return A if query is None else A.squeeze(-2)

    def top(self, k: int = 5) -> list[tuple[str, float]]:
        """The k most probable classes as (name in one line, or 'class 285', and probability), best first.

        Raises ValueError where the checkpoint has no head: then there is no answer to rank.
        """
        if self.logits is None:
            raise ValueError(
                "this checkpoint has no classification head, so there are no classes to rank; read y instead"
            )
        labels = self.labels or [""] * len(self.logits)
        return [(one_line(labels[i]) or f"class {i}", p) for i, p in top(self.logits, k)]

    def shapes(self) -> dict[str, str]:
        """Name -> shape in numbers, for the reader; lists of L tensors say so."""
        out = {}
        for name in ("x", "x_p", "embeddings", "z", "q", "k", "v", "msa", "z_prime", "mlp", "y", "logits"):
            value = getattr(self, name)
            if isinstance(value, list):
                out[name] = f"{len(value)} x {tuple(value[0].shape)}"
            elif value is not None:
                out[name] = str(tuple(value.shape))
        return out


def _counted(what: str, number: int, last: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= last:
        raise ValueError(f"{what} must be a whole number from 1 to {last} (counted as in the paper), got {number!r}")
    return number
