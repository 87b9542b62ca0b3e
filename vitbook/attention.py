"""Appendix A: multi-head self-attention, Eq. 5 to 8.

The appendix writes N for the length of the sequence; inside ViT that is N + 1, since [class] comes first.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Rows = Float[Tensor, "*batch tokens D"]
PerHead = Float[Tensor, "*batch heads tokens D_h"]


def qkv(
    z: Rows, U_q: Tensor, U_k: Tensor, U_v: Tensor, b_q: Tensor, b_k: Tensor, b_v: Tensor, heads: int
) -> tuple[PerHead, PerHead, PerHead]:
    """Eq. 5: [q, k, v] = z U_qkv, for all heads at once.

    The paper has one D x 3D_h matrix a head.  Checkpoints keep the same numbers in three D x D matrices,
    head h in columns (h-1) D_h to h D_h; splitting the products gives q, k, v of shape (heads, N+1, D_h) each.
    """
    # one large product and then the split: the same numbers as a product a head, in a fraction of the time
    return tuple(split_heads(z @ U + b, heads) for U, b in ((U_q, b_q), (U_k, b_k), (U_v, b_v)))


def split_heads(x: Rows, heads: int) -> PerHead:
    """(tokens, D) -> (heads, tokens, D_h): consecutive blocks of D_h columns belong to consecutive heads."""
    D = x.shape[-1]
    if D % heads:
        raise ValueError(f"D = {D} columns cannot be shared equally among {heads} heads")
    blocks = x.unflatten(-1, (heads, D // heads))  # (..., tokens, heads, D_h)
    return blocks.transpose(-3, -2)  # (..., heads, tokens, D_h): products now run head by head


def scores(q: Float[Tensor, "*heads queries D_h"], k: Float[Tensor, "*heads tokens D_h"]) -> Tensor:
    """Inside Eq. 6: q kᵀ / sqrt(D_h), one row a query, one column a key."""
    # mT turns the last two axes alone, (..., tokens, D_h) -> (..., D_h, tokens), so heads and pictures never meet
    return q @ k.mT / math.sqrt(q.shape[-1])


def attention_weights(
    q: Float[Tensor, "*heads queries D_h"],
    k: Float[Tensor, "*heads tokens D_h"],
    mask: Bool[Tensor, "queries tokens"] | None = None,
) -> Float[Tensor, "*heads queries tokens"]:
    """Eq. 6: A = softmax(q kᵀ / sqrt(D_h)).

    Softmax runs over the keys (the last axis), so every row sums to 1; the columns need not.
    mask: True where a query may read a key.  ViT has no mask (None); Section 2's cheaper patterns and GPT do.
    Raises ValueError when the mask leaves a query with nothing to read.
    """
    s = scores(q, k)
    if mask is not None:
        s = s.masked_fill(~readable(mask), -math.inf)  # before the softmax, so that the other weights still sum to 1
    return torch.softmax(s, dim=-1)  # torch takes each row's largest score off first, so that no exponential overflows


def readable(mask: Bool[Tensor, "queries tokens"]) -> Bool[Tensor, "queries tokens"]:
    """The mask itself.  Raises ValueError when it leaves a query with nothing to read: its weights would be 0 / 0."""
    if not mask.any(-1).all():
        raise ValueError("the mask leaves a query with no key to read; each row needs at least one True")
    return mask


def self_attention(
    A: Float[Tensor, "*heads queries tokens"], v: Float[Tensor, "*heads tokens D_h"]
) -> Float[Tensor, "*heads queries D_h"]:
    """Eq. 7: SA(z) = A v.  Each row is the average of the value rows, weighted by that row of A."""
    return A @ v  # (..., heads, N+1, N+1) @ (..., heads, N+1, D_h): the axis of the keys is summed over


def join_heads(sa: PerHead, U_msa: Float[Tensor, "kD_h D"], b_msa: Float[Tensor, "D"] | None = None) -> Rows:
    """Eq. 8: MSA(z) = [SA_1(z); ...; SA_k(z)] U_msa, the heads side by side and mixed by one matrix."""
    side_by_side = sa.transpose(-3, -2).flatten(-2)  # (..., heads, tokens, D_h) -> (..., tokens, heads * D_h)
    msa = side_by_side @ U_msa
    return msa if b_msa is None else msa + b_msa
