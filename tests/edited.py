"""Runs that are changed on the way, in torch and line by line, for the page's to be compared with."""

from __future__ import annotations

import math

import torch

from vitbook.attention import join_heads, qkv
from vitbook.embed import embed, project_patches
from vitbook.encoder import layer_norm, mlp
from vitbook.patches import cut
from vitbook.readout import classify, represent


def hidden_in(edit: dict) -> list[int]:
    """The tokens that carry the hidden patches: a shuffled patch is somewhere else."""
    order = edit.get("order")
    return [t if order is None else 1 + list(order).index(t - 1) for t in edit.get("hide", ())]


def pasted(z, l: int, edit: dict, streams: dict):
    """z_l with the rows that come from other pictures' runs. streams: z_0 to z_L (L+1, N+1, D) of each of these."""
    for picture, layer, what in edit.get("paste", ()):
        if layer == l:
            tokens = range(1, len(z)) if what == "patches" else [what]
            for t in tokens:
                stands = t if "order" not in edit or t == 0 else 1 + list(edit["order"]).index(t - 1)
                z = z.clone()
                z[stands] = streams[picture][l][t]
    return z


def edited_run(weights, x, edit: dict, streams: dict | None = None):
    """(A of every layer (L, heads, N+1, N+1), y, logits) of a run with the changes that `editor` of edits.js knows."""
    config = weights.config
    x_p = cut(x.to(weights.E), config.P)
    if "order" in edit:
        x_p = x_p[edit["order"]]
    E_pos = torch.zeros_like(weights.E_pos) if "positions" in edit else weights.E_pos
    z, maps = pasted(embed(weights.x_class, project_patches(x_p, weights.E, weights.b_E), E_pos), 0, edit, streams), []
    after, skip = "norm" in edit, 0 if "residual" in edit else 1
    for l, layer in enumerate(weights.layers, start=1):
        norm_1 = lambda t, w=layer: layer_norm(t, w.gamma_1, w.beta_1, config.eps)  # noqa: E731
        norm_2 = lambda t, w=layer: layer_norm(t, w.gamma_2, w.beta_2, config.eps)  # noqa: E731
        normed = z if after else norm_1(z)
        q, k, v = qkv(normed, layer.U_q, layer.U_k, layer.U_v, layer.b_q, layer.b_k, layer.b_v, config.heads)
        A = weights_of(q, k, edit)
        maps.append(A)
        sa = A @ v
        for off_layer, head in edit.get("heads", ()):
            if off_layer == l:
                sa[head - 1] = 0
        msa = join_heads(sa, layer.U_msa, layer.b_msa) * (l not in edit.get("msa", ()))
        z_prime = msa + skip * z
        z_prime = norm_1(z_prime) if after else z_prime
        hidden = z_prime if after else norm_2(z_prime)
        out = mlp(hidden, layer.W_1, layer.b_1, layer.W_2, layer.b_2, config.activation) * (
            l not in edit.get("mlp", ())
        )
        z = out + skip * z_prime
        z = pasted(norm_2(z) if after else z, l, edit, streams)
    y = represent(z, weights.gamma, weights.beta, config.eps)
    return torch.stack(maps), y, None if weights.W_head is None else classify(y, weights.W_head, weights.b_head)


def weights_of(q, k, edit: dict):
    s = q @ k.mT / (1 if "root" in edit else math.sqrt(q.shape[-1]))
    for token in hidden_in(edit):
        s[..., token] = -1e30
    A = s.softmax(-2 if "axis" in edit else -1)
    for token in hidden_in(edit):
        A[..., token] = 0
    return A
