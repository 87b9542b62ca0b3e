"""The whole model: the one file that knows the order of the steps."""

from __future__ import annotations

import torch
from torch import Tensor

from vitbook.embed import embed, project_patches
from vitbook.encoder import attend, transform
from vitbook.patches import cut
from vitbook.readout import classify, represent
from vitbook.trace import Trace


@torch.no_grad()
def run(checkpoint, x: Tensor, mask: Tensor | None = None) -> Trace:
    """Eq. 1 to 4 on one preprocessed picture.

    checkpoint: anything with `weights` and `labels`, as `load_checkpoint` returns.  x (C, H, W), as `preprocess` returns;
    it is taken into the floating-point type of the weights.  mask (N+1, N+1), True where a query may read a key: None in ViT.
    Returns a `Trace` of everything on the way.  Raises ValueError when x or mask does not fit the checkpoint.
    """
    weights = checkpoint.weights
    config = weights.config
    x = _checked(x, config).to(weights.dtype)
    if mask is not None and mask.shape != (config.N + 1, config.N + 1):
        raise ValueError(f"mask must have shape {(config.N + 1, config.N + 1)}, got {tuple(mask.shape)}")

    x_p = cut(x, config.P)
    embeddings = project_patches(x_p, weights.E, weights.b_E)
    z = [embed(weights.x_class, embeddings, weights.E_pos)]  # Eq. 1
    attended, mlps = [], []
    for layer in weights.layers:
        attended.append(attend(z[-1], layer, config.heads, config.eps, mask))  # Eq. 2
        mlp, z_l = transform(attended[-1].z_prime, layer, config.activation, config.eps)  # Eq. 3
        mlps.append(mlp)
        z.append(z_l)
    y = represent(z[-1], weights.gamma, weights.beta, config.eps)  # Eq. 4
    logits = None if weights.W_head is None else classify(y, weights.W_head, weights.b_head)

    q, k, v, msa, z_prime = map(list, zip(*attended, strict=True))
    return Trace(config, x, x_p, embeddings, z, q, k, v, msa, z_prime, mlps, y, logits, checkpoint.labels, mask)


def _checked(x: Tensor, config) -> Tensor:
    expected = (config.C, config.H, config.W)
    if not isinstance(x, Tensor):
        raise ValueError(f"x must be a torch tensor (C, H, W) as preprocess returns it, got {type(x).__name__}")
    if tuple(x.shape) != expected:
        hint = "; give one picture, without the batch axis" if x.ndim == 4 else ""
        raise ValueError(f"this checkpoint takes x of shape {expected} (C, H, W), got {tuple(x.shape)}{hint}")
    if not x.is_floating_point() or not torch.isfinite(x).all():
        raise ValueError(
            f"x must hold finite floating-point numbers, got {x.dtype}; use vitbook.preprocess on a picture"
        )
    return x
