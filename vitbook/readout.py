"""Eq. 4 and the head: from the last layer to one vector, and from that vector to class scores."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from vitbook.checks import whole
from vitbook.encoder import layer_norm


def represent(
    z_L: Float[Tensor, "*batch tokens D"], gamma: Float[Tensor, "D"], beta: Float[Tensor, "D"], eps: float
) -> Float[Tensor, "*batch D"]:
    """Eq. 4: y = LN(z_L^0).  Row 0, the [class] token after the last layer, normalised once more, is the picture."""
    # the row first, then the norm: LN looks at each token alone, so the other N rows need not be normalised
    return layer_norm(z_L[..., 0, :], gamma, beta, eps)  # (..., N+1, D) -> (..., D)


def classify(
    y: Float[Tensor, "*batch D"], W_head: Float[Tensor, "D K"], b_head: Float[Tensor, "K"]
) -> Float[Tensor, "*batch K"]:
    """The head at fine-tuning (Section 3.1): logits = y W_head + b_head, one linear layer and nothing else."""
    return y @ W_head + b_head  # (..., D) -> (..., K)


def top(logits: Float[Tensor, "K"], k: int = 5) -> list[tuple[int, float]]:
    """The k most probable classes as (index from 0, softmax probability), best first; fewer where K < k."""
    p, index = torch.softmax(logits, dim=0).topk(min(whole(k, "k"), len(logits)))
    return list(zip(index.tolist(), p.tolist(), strict=True))
