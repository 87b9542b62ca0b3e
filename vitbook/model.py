"""The whole model: the one file that knows the order of the steps."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from vitbook.checks import told
from vitbook.edits import Edits
from vitbook.embed import embed, project_patches
from vitbook.kernels import attend, transform  # to rounding those of `encoder`, where Eq. 2 and 3 can be read
from vitbook.patches import cut
from vitbook.readout import classify, represent
from vitbook.trace import Trace, exactly
from vitbook.weights import Weights, weights_of


def run(weights: Weights, x: Tensor, mask: Tensor | None = None, edit: Mapping | None = None) -> Trace:
    """Eq. 1 to 4 on one preprocessed picture, or on a batch of them.

    weights: `Weights`, or a checkpoint, whose `weights` are taken.  x (C, H, W), as `preprocess` returns, or (B, C, H, W),
    several of them stacked; it goes into the floating-point type and onto the device of the weights.
    mask (N+1, N+1), True where a query may read a key: None in ViT.
    edit: {key: function}; the run goes on with what the function makes of the value.  Keys are ("z", l) with l from 0,
    ("z_prime", l), ("msa", l), ("mlp", l), and ("q", l, head), without head for all of them, and the same of k, v, A and SA.
    ``run(vit, x, edit={("SA", 9, 4): torch.zeros_like})`` switches off head 4 of layer 9.
    Returns a `Trace` of everything on the way; of a batch, each of its tensors has the axis B in front.
    Raises ValueError when weights, x, mask or edit is not that, or does not fit the others.
    Where autocast is on, it is left out with a warning: a run has the precision of the weights.
    """
    weights = weights_of(weights)
    config = weights.config
    x = _checked(x, config).to(weights.E)
    mask = _checked_mask(mask, config, weights.E.device)
    with exactly(x.device.type, say=True):
        return _run(weights, x, mask, Edits(edit, config))


@torch.no_grad()  # nothing is trained here, and a graph for gradients would keep every A
def _run(weights: Weights, x: Tensor, mask: Tensor | None, edits: Edits) -> Trace:
    config = weights.config
    x_p = cut(x, config.P)  # (..., N, P²C): the dots stand for the axis B of a batch, or for nothing
    embeddings = project_patches(x_p, weights.E, weights.b_E)  # (..., N, D)
    z_0 = embed(weights.x_class, embeddings, weights.E_pos)  # Eq. 1: (..., N+1, D), and so it stays up to z_L
    z, attended, mlps, A = [edits("z", 0, z_0)], [], [], {}
    for l, layer in enumerate(weights.layers, start=1):
        if edits.touch(l):  # the same two equations, line by line, with something changed
            half, changed = edits.attend(z[-1], layer, l, mask)
            mlp, z_l = edits.transform(half.z_prime, layer, l)
            A |= changed
        else:
            half = attend(z[-1], layer, config.heads, config.eps, mask)  # Eq. 2
            mlp, z_l = transform(half.z_prime, layer, config.activation, config.eps)  # Eq. 3
        attended.append(half)
        mlps.append(mlp)
        z.append(edits("z", l, z_l))
    y = represent(z[-1], weights.gamma, weights.beta, config.eps)  # Eq. 4: (..., D)
    logits = None if weights.W_head is None else classify(y, weights.W_head, weights.b_head)  # (..., K)

    q, k, v, msa, z_prime = map(list, zip(*attended, strict=True))  # one list a letter, in place of one tuple a layer
    return Trace(
        config=config, x=x, x_p=x_p, embeddings=embeddings, z=z, q=q, k=k, v=v, msa=msa, z_prime=z_prime, mlp=mlps,
        y=y, logits=logits, mask=mask, A=A,
    )  # fmt: skip


def _checked(x: Tensor, config) -> Tensor:
    expected = (config.C, config.H, config.W)
    if not isinstance(x, Tensor):
        hint = "preprocess(picture, checkpoint) makes one"
        raise ValueError(f"x must be a torch tensor (C, H, W), got {told(x)}; {hint}")
    if tuple(x.shape[-3:]) != expected or x.ndim > 4:
        raise ValueError(
            f"this checkpoint takes x of shape {expected} (C, H, W), or a batch (B, {', '.join(map(str, expected))}), "
            f"got {tuple(x.shape)}"
        )
    if not x.numel():
        raise ValueError(f"x holds no picture: a batch needs at least one, got shape {tuple(x.shape)}")
    _check_dense(x, "x")
    if not x.is_floating_point() or not torch.isfinite(x).all():
        raise ValueError(
            f"x must hold finite floating-point numbers, got {x.dtype}; use vitbook.preprocess on a picture"
        )
    return x


def _checked_mask(mask: Tensor | None, config, device: torch.device) -> Tensor | None:
    if mask is None:
        return None
    shape = (config.N + 1, config.N + 1)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or tuple(mask.shape) != shape:
        came = f"{mask.dtype} {tuple(mask.shape)}" if isinstance(mask, Tensor) else told(mask)
        raise ValueError(f"mask must have shape {shape}, truth values in a torch tensor, or be None; got {came}")
    _check_dense(mask, "mask")
    return mask.to(device)


def _check_dense(tensor: Tensor, name: str) -> None:
    if tensor.layout != torch.strided or tensor.is_meta:
        raise ValueError(
            f"{name} must be a dense tensor with numbers, got one of layout {tensor.layout} on {tensor.device}"
        )
