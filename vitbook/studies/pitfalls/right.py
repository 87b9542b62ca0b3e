"""Eq. 1 to 4 in parts so small that one of them can be got wrong at a time; with none wrong it is `vitbook.run`."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from vitbook.attention import join_heads, qkv, scores, self_attention
from vitbook.embed import embed, project_patches
from vitbook.encoder import ACTIVATIONS, layer_norm
from vitbook.patches import cut
from vitbook.readout import classify
from vitbook.weights import LayerWeights


class Stages(NamedTuple):
    """What a run is compared by: z_0 to z_L (N+1, D), y (D,), and logits (K,) or None."""

    z: list[Tensor]
    y: Tensor
    logits: Tensor | None


class Right:
    """The model as its checkpoint means it.  Every pitfall is a subclass that overrides one of these methods.

    Shapes as everywhere: z (N+1, D); q, k, v (heads, N+1, D_h); scores and A (heads, N+1, N+1).
    checkpoint: anything with `weights`; only the pitfall about pixels asks for its `preprocessing` too.
    """

    name = "no mistake"
    meaning = "the model as its checkpoint means it"
    code = ("", "")  # the line as it should be, and as it was written
    kind = ""
    fine = True  # measured in float64, since float32's own rounding would cover it
    against: type[Right] | None = None  # what it is compared with, where that is not the right model

    def __init__(self, checkpoint) -> None:
        self.checkpoint, self.weights = checkpoint, checkpoint.weights
        self.config = self.weights.config

    @torch.no_grad()
    def run(self, x: Tensor) -> Stages:
        """Eq. 1 to 4 on one preprocessed picture x (C, H, W)."""
        z = [self.embed(self.patches(self.pixels(x.to(self.weights.dtype))))]
        for layer in self.weights.layers:
            z.append(self.layer(z[-1], layer))
        return self.answer(z)

    @torch.no_grad()
    def answer(self, z: list[Tensor]) -> Stages:
        """Eq. 4 on what the layers have made."""
        y, w = self.read(z[-1]), self.weights
        return Stages(z, y, None if w.W_head is None else classify(y, w.W_head, w.b_head))

    def pixels(self, x: Tensor) -> Tensor:
        return x

    def patches(self, x: Tensor) -> Tensor:
        return cut(x, self.config.P)

    def embed(self, x_p: Tensor) -> Tensor:
        w = self.weights
        return embed(w.x_class, project_patches(x_p, w.E, w.b_E), self.positions())

    def positions(self) -> Tensor:
        return self.weights.E_pos

    def layer(self, z: Tensor, w: LayerWeights) -> Tensor:
        z_prime = self.add(self.msa(self.norm_1(z, w), w), z)
        return self.add(self.mlp(self.norm_2(z_prime, w), w), z_prime)

    def add(self, new: Tensor, z: Tensor) -> Tensor:
        return new + z

    def norm_1(self, z: Tensor, w: LayerWeights) -> Tensor:
        return self.norm(z, w.gamma_1, w.beta_1)

    def norm_2(self, z: Tensor, w: LayerWeights) -> Tensor:
        return self.norm(z, w.gamma_2, w.beta_2)

    def norm(self, z: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        return layer_norm(z, gamma, beta, self.config.eps)

    def msa(self, z: Tensor, w: LayerWeights) -> Tensor:
        q, k, v = self.qkv(z, w)
        return join_heads(self_attention(self.softmax(self.scores(q, k)), v), w.U_msa, w.b_msa)

    def qkv(self, z: Tensor, w: LayerWeights) -> tuple[Tensor, Tensor, Tensor]:
        return qkv(z, w.U_q, w.U_k, w.U_v, w.b_q, w.b_k, w.b_v, self.config.heads)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return scores(q, k)

    def softmax(self, s: Tensor) -> Tensor:
        return torch.softmax(s, dim=-1)

    def mlp(self, z: Tensor, w: LayerWeights) -> Tensor:
        return self.activation(z @ w.W_1 + w.b_1) @ w.W_2 + w.b_2

    def activation(self, h: Tensor) -> Tensor:
        return ACTIVATIONS[self.config.activation](h)

    def read(self, z: Tensor) -> Tensor:
        return self.norm(z[0], self.weights.gamma, self.weights.beta)
