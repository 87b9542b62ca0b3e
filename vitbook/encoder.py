"""The encoder layer: LayerNorm, MSA, MLP, and the two residual lines, Eq. 2 and Eq. 3."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from vitbook.attention import attention_weights, join_heads, qkv, self_attention
from vitbook.weights import LayerWeights

Tokens = Float[Tensor, "*batch tokens D"]
PerHead = Float[Tensor, "*batch heads tokens D_h"]


def layer_norm(
    x: Float[Tensor, "*tokens D"], gamma: Float[Tensor, "D"], beta: Float[Tensor, "D"], eps: float
) -> Tensor:
    """LN of Eq. 2 to 4: gamma (x - mu) / sqrt(var + eps) + beta, on each row alone (Ba et al., 2016).

    mu and var are the row's mean and population variance (divided by D, not D - 1); eps stands inside the root.
    """
    mu = x.mean(-1, keepdim=True)
    var = (x - mu).square().mean(-1, keepdim=True)  # (..., 1): one number a token, kept as an axis to be divided by
    return gamma * (x - mu) / torch.sqrt(var + eps) + beta


def gelu(x: Tensor) -> Tensor:
    """GELU(x) = x Phi(x), Phi the standard normal distribution function (Hendrycks and Gimpel, 2016)."""
    return x * 0.5 * (1 + torch.erf(x / 2**0.5))  # Phi(x) = (1 + erf(x / √2)) / 2


def gelu_tanh(x: Tensor) -> Tensor:
    """The tanh form of GELU, which the authors' own JAX code runs: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³)))."""
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


#: Which of them a checkpoint was trained with stands in its config: they differ by more than rounding.
ACTIVATIONS = {"gelu": gelu, "gelu_tanh": gelu_tanh, "relu": functional.relu}


def mlp(
    x: Tokens,
    W_1: Float[Tensor, "D M"],
    b_1: Float[Tensor, "M"],
    W_2: Float[Tensor, "M D"],
    b_2: Float[Tensor, "D"],
    activation: str = "gelu",
) -> Tokens:
    """MLP of Eq. 3: two layers with a non-linearity between, on each token alone (Section 3.1)."""
    hidden = ACTIVATIONS[activation](x @ W_1 + b_1)  # (..., tokens, D) -> (..., tokens, M)
    return hidden @ W_2 + b_2  # back to (..., tokens, D)


class Attended(NamedTuple):
    """What Eq. 2 leaves behind: q, k, v (heads, N+1, D_h), msa and z_prime (N+1, D).  Not A: it follows from q and k."""

    q: PerHead
    k: PerHead
    v: PerHead
    msa: Tokens
    z_prime: Tokens


def attend(z: Tokens, layer: LayerWeights, heads: int, eps: float, mask: Bool[Tensor, "n n"] | None = None) -> Attended:
    """Eq. 2: z'_l = MSA(LN(z_{l-1})) + z_{l-1}.

    The tokens are normalised, look at each other, and the result is added to what came in (not to its normalised form).
    """
    normed = layer_norm(z, layer.gamma_1, layer.beta_1, eps)  # on the branch only; z itself goes past it
    q, k, v = qkv(normed, layer.U_q, layer.U_k, layer.U_v, layer.b_q, layer.b_k, layer.b_v, heads)
    sa = self_attention(attention_weights(q, k, mask), v)  # (..., heads, N+1, D_h)
    msa = join_heads(sa, layer.U_msa, layer.b_msa)  # (..., N+1, D)
    return Attended(q, k, v, msa, z_prime=msa + z)


def transform(z_prime: Tokens, layer: LayerWeights, activation: str, eps: float) -> tuple[Tokens, Tokens]:
    """Eq. 3: z_l = MLP(LN(z'_l)) + z'_l.  Returns (MLP(LN(z'_l)), z_l), (N+1, D) each."""
    normed = layer_norm(z_prime, layer.gamma_2, layer.beta_2, eps)
    out = mlp(normed, layer.W_1, layer.b_1, layer.W_2, layer.b_2, activation)
    return out, out + z_prime
