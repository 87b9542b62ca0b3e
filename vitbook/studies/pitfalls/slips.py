"""The mistakes, each a few lines that replace one method of the right model.

Six come from the exercise behind the chapter on the encoder block, the others are common in public code and explainers.
"""

from __future__ import annotations

import math

import torch

from vitbook.encoder import gelu, gelu_tanh, layer_norm
from vitbook.studies.pitfalls.right import Right

# ------------------------------------------------------------------------------------------- how the layer is put together


class PostNorm(Right):
    name, kind, fine = "post-norm", "layer", False
    meaning = "LayerNorm after each sum, as in the first Transformer"
    code = ("z + msa(norm(z))", "norm(z + msa(z))")

    def layer(self, z, w):
        z_prime = self.norm_1(self.add(self.msa(z, w), z), w)
        return self.norm_2(self.add(self.mlp(z_prime, w), z_prime), w)


class SharedNorm(Right):
    name, kind, fine = "shared LayerNorm", "layer", False
    meaning = "the first LayerNorm's gamma and beta used for the MLP as well"
    code = ("norm_2(z_prime)", "norm_1(z_prime)")

    def norm_2(self, z, w):
        return self.norm_1(z, w)


class NoResidual(Right):
    name, kind, fine = "no residual", "layer", False
    meaning = "what came in is not added back"
    code = ("msa(norm(z)) + z", "msa(norm(z))")

    def add(self, new, z):
        return new


class NormalisedResidual(Right):
    name, kind, fine = "residual of the normalised", "layer", False
    meaning = "the normalised numbers are added back, not those that came in"
    code = ("msa(normed) + z", "msa(normed) + normed")

    def layer(self, z, w):
        normed = self.norm_1(z, w)
        z_prime = self.msa(normed, w) + normed
        normed = self.norm_2(z_prime, w)
        return self.mlp(normed, w) + normed


class NoFinalNorm(Right):
    name, kind, fine = "no final LayerNorm", "layer", False
    meaning = "the last row of [class] read as it is, without Eq. 4"
    code = ("norm(z_L[0])", "z_L[0]")

    def read(self, z):
        return z[0]


# --------------------------------------------------------------------------------------------------------------- attention


class CausalMask(Right):
    name, kind, fine = "causal mask", "attention", False
    meaning = "no token may look at a later one, as in a GPT; [class] comes first and sees itself alone"
    code = ("softmax(scores)", "scores[later] = -inf; softmax(scores)")

    def softmax(self, s):
        later = torch.ones_like(s, dtype=torch.bool).triu(1)
        return torch.softmax(s.masked_fill(later, -math.inf), dim=-1)


class WrongAxis(Right):
    name, kind, fine = "softmax over the wrong axis", "attention", False
    meaning = "the weights add up to 1 over the queries, not over the keys"
    code = ("softmax(scores, dim=-1)", "softmax(scores, dim=-2)")

    def softmax(self, s):
        return torch.softmax(s, dim=-2)


class RootOfD(Right):
    name, kind, fine = "divided by sqrt(D)", "attention", False
    meaning = "the width of the token in place of the width of the head"
    code = ("q @ k.T / sqrt(D_h)", "q @ k.T / sqrt(D)")

    def scores(self, q, k):
        return q @ k.mT / math.sqrt(self.config.D)


class NotDivided(Right):
    name, kind, fine = "not divided", "attention", False
    meaning = "the scores go into the softmax as they are"
    code = ("q @ k.T / sqrt(D_h)", "q @ k.T")

    def scores(self, q, k):
        return q @ k.mT


class HeadsInterleaved(Right):
    name, kind, fine = "heads interleaved", "attention", False
    meaning = "head h takes every heads-th column, not a block of neighbouring ones"
    code = ("reshape(N, heads, D_h)", "reshape(N, D_h, heads)")

    def qkv(self, z, w):
        def split(t):
            return t.reshape(len(z), -1, self.config.heads).permute(2, 0, 1)

        return tuple(split(z @ U + b) for U, b in ((w.U_q, w.b_q), (w.U_k, w.b_k), (w.U_v, w.b_v)))


class Exchanged(Right):
    name, kind, fine = "q and k exchanged", "attention", False
    meaning = "row i holds the key of token i against every query"
    code = ("q @ k.T", "k @ q.T")

    def scores(self, q, k):
        return super().scores(k, q)


class NoBiases(Right):
    name, kind, fine = "biases of q, k, v forgotten", "attention", False
    meaning = "the equations show no biases, the checkpoint has them"
    code = ("z @ U_q + b_q", "z @ U_q")

    def qkv(self, z, w):
        q, k, v = super().qkv(z, w)
        biases = (b.reshape(self.config.heads, 1, -1) for b in (w.b_q, w.b_k, w.b_v))
        return tuple(t - b for t, b in zip((q, k, v), biases, strict=True))


# ----------------------------------------------------------------------------------------- the MLP, GELU and LayerNorm


class HiddenWidthD(Right):
    name, kind, fine = "mlp_ratio of 1", "numbers", False
    meaning = "D hidden numbers used, where the checkpoint has M"
    code = ("z @ W_1", "z @ W_1[:, :D]")

    def mlp(self, z, w):
        D = self.config.D
        return self.activation(z @ w.W_1[:, :D] + w.b_1[:D]) @ w.W_2[:D] + w.b_2


class RatioForWidth(Right):
    name, kind, fine = "mlp_ratio taken for the width", "numbers", False
    meaning = "as many hidden numbers as the ratio says, and not the ratio times D"
    code = ("z @ W_1", "z @ W_1[:, :mlp_ratio]")

    def mlp(self, z, w):
        few = max(1, self.config.M // self.config.D)
        return self.activation(z @ w.W_1[:, :few] + w.b_1[:few]) @ w.W_2[:few] + w.b_2


class ReLU(Right):
    name, kind, fine = "ReLU for GELU", "numbers", False
    meaning = "negative hidden numbers cut to zero"
    code = ("gelu(h)", "h.clamp(min=0)")

    def activation(self, h):
        return h.clamp(min=0)


class OtherGELU(Right):
    name, kind = "the other GELU", "numbers"
    meaning = "the form with tanh where the checkpoint means the one with erf, or the other way round"
    code = ("h * Phi(h)", "h / 2 * (1 + tanh(...))")

    def activation(self, h):
        return gelu(h) if self.config.activation == "gelu_tanh" else gelu_tanh(h)


class TanhForm(Right):
    """No mistake of its own: what the next two are held against, since they are mistakes within the tanh form."""

    def activation(self, h):
        return gelu_tanh(h)


class RoundedConstant(Right):
    name, kind, against = "0.04471 for 0.044715", "numbers", TanhForm
    meaning = "the constant of the tanh form with a digit lost"
    code = ("0.044715 * h**3", "0.04471 * h**3")

    def activation(self, h):
        return 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.04471 * h**3)))


class SquareForCube(Right):
    name, kind, against = "h² for h³", "numbers", TanhForm
    meaning = "the square in the tanh form where the cube belongs"
    code = ("0.044715 * h**3", "0.044715 * h**2")

    def activation(self, h):
        return 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**2)))


class SampleVariance(Right):
    name, kind = "sample variance", "numbers"
    meaning = "squares divided by D - 1 in LayerNorm"
    code = ("var(correction=0)", "var()")

    def norm(self, z, gamma, beta):
        variance, mean = torch.var_mean(z, dim=-1, correction=1, keepdim=True)
        return gamma * (z - mean) / torch.sqrt(variance + self.config.eps) + beta


class DefaultEps(Right):
    name, kind = "PyTorch's eps", "numbers"
    meaning = "LayerNorm's epsilon left at PyTorch's own 1e-5"
    code = ("LayerNorm(D, eps=eps)", "LayerNorm(D)")

    def norm(self, z, gamma, beta):
        return layer_norm(z, gamma, beta, 1e-5)


# ------------------------------------------------------------------------------------------------------ tokens and patches


class FirstPatchRead(Right):
    name, kind, fine = "token 1 read for [class]", "tokens", False
    meaning = "off by one: the answer is taken from the first patch"
    code = ("norm(z_L[0])", "norm(z_L[1])")

    def read(self, z):
        return super().read(z[1:])


class ShiftedPositions(Right):
    name, kind, fine = "positions shifted by one", "tokens", False
    meaning = "off by one: every token gets the position of the one after it"
    code = ("E_pos[t]", "E_pos[t + 1]")

    def positions(self):
        return self.weights.E_pos.roll(-1, dims=0)


class NoPositions(Right):
    name, kind, fine = "positions forgotten", "tokens", False
    meaning = "Eq. 1 without its last term"
    code = ("[x_class; x_p E] + E_pos", "[x_class; x_p E]")

    def positions(self):
        return torch.zeros_like(self.weights.E_pos)


class DownTheColumns(Right):
    name, kind, fine = "patches down the columns", "tokens", False
    meaning = "the second patch is the one below the first, not the one to its right"
    code = ("row * columns + column", "column * rows + row")

    def patches(self, x):
        x_p, c = super().patches(x), self.config
        return x_p.reshape(c.rows, c.columns, -1).transpose(0, 1).flatten(0, 1)


class ColoursInterleaved(Right):
    name, kind, fine = "colours interleaved", "tokens", False
    meaning = "a patch flattened pixel by pixel, where E wants channel by channel"
    code = ("permute(row, column, C, P, P)", "permute(row, column, P, P, C)")

    def patches(self, x):
        x_p, c = super().patches(x), self.config
        return x_p.reshape(c.N, c.C, -1).transpose(1, 2).flatten(1)


class OtherNormalisation(Right):
    name, kind, fine = "another model's mean and std", "tokens", False
    meaning = "pixels normalised for another family of checkpoints"
    code = ("(v - mean) / std", "(v - their mean) / their std")

    def pixels(self, x):
        def column(numbers):
            return x.new_tensor(numbers).reshape(-1, 1, 1)

        own, C = self.checkpoint.preprocessing, self.config.C
        halves, raw = ((0.5,) * C, (0.5,) * C), ((0.0,) * C, (1.0,) * C)
        imagenet = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        mean, std = halves if tuple(own.mean) != halves[0] else imagenet if C == 3 else raw
        return (x * column(own.std) + column(own.mean) - column(mean)) / column(std)


ALL = (
    PostNorm, SharedNorm, NoResidual, NormalisedResidual, NoFinalNorm,
    CausalMask, WrongAxis, RootOfD, NotDivided, HeadsInterleaved, Exchanged, NoBiases,
    HiddenWidthD, RatioForWidth, ReLU, OtherGELU, RoundedConstant, SquareForCube, SampleVariance, DefaultEps,
    FirstPatchRead, ShiftedPositions, NoPositions, DownTheColumns, ColoursInterleaved, OtherNormalisation,
)  # fmt: skip
