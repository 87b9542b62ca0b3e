"""How large the gradient is in each layer before training, with LayerNorm before each half of the block or after each sum."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, gelu, layer_norm

D, N, B, HEADS, CLASSES = 32, 10, 4, 4, 10  # small, so that 48 layers cost a tenth of a second


def gradient_sizes(L: int, norm_first: bool, seed: int, shrunk: bool = False) -> list[float]:
    """The length of the gradient of each layer's six matrices, for one loss on B lists of N random tokens.

    The matrices are drawn as Xavier's rule says, the same ones for both places of the norm.  The loss is read from the
    first token behind a LayerNorm.  shrunk: before the last layer the stream is divided by the root of its mean square, so
    that this layer is as large a part of the sum as with the norm after it.  Chapter: the encoder block.
    Source of the experiment: Xiong et al. 2020, arXiv 2002.04745.
    """
    draw = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int) -> Tensor:
        return (torch.randn(rows, columns, generator=draw) * math.sqrt(2 / (rows + columns))).requires_grad_()

    layers = [[matrix(*shape) for shape in [(D, D)] * 4 + [(D, 4 * D), (4 * D, D)]] for _ in range(L)]
    z, head = torch.randn(B, N, D, generator=draw), torch.randn(D, CLASSES, generator=draw) / D**0.5
    wanted = torch.randint(CLASSES, (B,), generator=draw)
    for l, (Wq, Wk, Wv, Wo, W1, W2) in enumerate(layers, 1):
        if shrunk and l == L:
            z = z / z.square().mean().sqrt().detach()
        if norm_first:
            z = z + attention(norm(z), Wq, Wk, Wv) @ Wo
            z = z + gelu(norm(z) @ W1) @ W2
        else:
            z = norm(z + attention(z, Wq, Wk, Wv) @ Wo)
            z = norm(z + gelu(z @ W1) @ W2)
    cross_entropy(norm(z)[:, 0] @ head, wanted).backward()
    return [math.sqrt(sum(W.grad.square().sum().item() for W in layer)) for layer in layers]


def norm(z: Tensor) -> Tensor:
    return layer_norm(z, (D,))


def attention(n: Tensor, Wq: Tensor, Wk: Tensor, Wv: Tensor) -> Tensor:
    """All heads side by side, before Wo: (B, N, D) -> (B, N, D)."""
    q, k, v = ((n @ W).reshape(B, N, HEADS, -1).transpose(1, 2) for W in (Wq, Wk, Wv))
    A = torch.softmax(q @ k.mT / math.sqrt(D / HEADS), dim=-1)
    return (A @ v).transpose(1, 2).reshape(B, N, D)
