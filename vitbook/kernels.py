"""Eq. 2 and 3 once more, by torch's own kernels: what `encoder` says, to rounding, in less time and memory.

A kernel walks once over numbers that an equation, line by line, walks over six times, and attention never writes A down.
`run` takes these two functions; who wants to read the equations reads them in `encoder`.
"""

from __future__ import annotations

from functools import partial

from jaxtyping import Bool
from torch import Tensor
from torch.nn import functional

from vitbook.attention import PerHead, join_heads, qkv, readable
from vitbook.encoder import Attended, Tokens
from vitbook.weights import LayerWeights

ACTIVATIONS = {
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
}


def attend(z: Tokens, layer: LayerWeights, heads: int, eps: float, mask: Bool[Tensor, "n n"] | None = None) -> Attended:
    """Eq. 2, as `encoder.attend`: z'_l = MSA(LN(z_{l-1})) + z_{l-1}."""
    normed = functional.layer_norm(z, layer.gamma_1.shape, layer.gamma_1, layer.beta_1, eps)
    q, k, v = qkv(normed, layer.U_q, layer.U_k, layer.U_v, layer.b_q, layer.b_k, layer.b_v, heads)  # Eq. 5
    sa = weighted_values(q, k, v, mask)  # Eq. 6 and 7
    msa = join_heads(sa, layer.U_msa, layer.b_msa)  # Eq. 8
    return Attended(q, k, v, msa, z_prime=msa + z)


def weighted_values(q: PerHead, k: PerHead, v: PerHead, mask: Bool[Tensor, "n n"] | None = None) -> PerHead:
    """Eq. 6 and 7 in one: softmax(q kᵀ / sqrt(D_h)) v, a few rows at a time, so that memory grows with N and not with N².

    mask: True where a query may read a key.  Raises ValueError when it leaves a query with nothing to read.
    """
    # the kernel wants a batch: (heads, N+1, D_h) -> (1, heads, N+1, D_h), and back
    batches = (t.reshape(-1, *t.shape[-3:]) for t in (q, k, v))
    allowed = None if mask is None else readable(mask)
    return functional.scaled_dot_product_attention(*batches, attn_mask=allowed).reshape(v.shape)


def transform(z_prime: Tokens, layer: LayerWeights, activation: str, eps: float) -> tuple[Tokens, Tokens]:
    """Eq. 3, as `encoder.transform`: z_l = MLP(LN(z'_l)) + z'_l.  Returns (MLP(LN(z'_l)), z_l)."""
    normed = functional.layer_norm(z_prime, layer.gamma_2.shape, layer.gamma_2, layer.beta_2, eps)
    # torch keeps such matrices with outputs as rows, so ours are handed over turned; its `linear` turns them back
    hidden = ACTIVATIONS[activation](functional.linear(normed, layer.W_1.T, layer.b_1))  # (..., N+1, M)
    out = functional.linear(hidden, layer.W_2.T, layer.b_2)  # (..., N+1, D)
    return out, out + z_prime
