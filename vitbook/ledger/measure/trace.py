"""What the published run printed of ViT-B/16, read off our own run of any checkpoint."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from vitbook.attention import scores as scaled_scores
from vitbook.attention import self_attention
from vitbook.encoder import ACTIVATIONS, layer_norm
from vitbook.ledger.measure.here import Here, Lacking
from vitbook.readout import top


def learned(here: Here, name: str, row: int, first: int) -> Tensor:
    """The first numbers of one row of a learned table: x_class or E_pos."""
    return getattr(here.weights, name)[row, :first]


def class_row_of_z_0(here: Here, first: int | None = None) -> Tensor:
    """x_class + E_pos[0], which is the same for every picture."""
    return (here.weights.x_class + here.weights.E_pos[:1])[0, :first]


def embedding(here: Here, patch: int, first: int) -> Tensor:
    """x_p E + b of one patch."""
    return here.trace.embeddings[patch, :first]


def tokens(here: Here, of: str, layer: int, token: int, first: int, shift: int = 0) -> Tensor:
    """One row of z_l (l from 0) or z'_l (l from 1).  shift: rows to go on from `token`."""
    stage = here.trace.z[_layer(here, layer, from_zero=True)] if of == "z" else _of_layer(here, "z_prime", layer)
    return stage[token + shift, :first]


def layernorm_of_class(here: Here, part: str, first: int | None = None) -> Any:
    """The LayerNorm before attention in layer 1, on the [class] row, part by part."""
    layer, eps, row = here.weights.layers[0], here.weights.config.eps, class_row_of_z_0(here)
    variance = row.var(correction=0)
    parts = {
        "eps": eps,
        "mean": row.mean(),
        "variance": variance,
        "std": torch.sqrt(variance + eps),
        "normalised": (row - row.mean()) / torch.sqrt(variance + eps),
        "gamma": layer.gamma_1,
        "beta": layer.beta_1,
        "result": layer_norm(row, layer.gamma_1, layer.beta_1, eps),
    }
    return parts[part] if first is None else parts[part][:first]


def scores(here: Here, layer: int, head: int, query: int, first: int) -> Tensor:
    """q k / sqrt(D_h) of one query."""
    here.trace.attention(layer, head, query)  # says so, when one of them is out of range
    q, k = (_of_layer(here, letter, layer)[head - 1] for letter in "qk")
    return scaled_scores(q[query : query + 1], k)[0, :first]


def attention(here: Here, layer: int, head: int, query: int, first: int | None = None) -> Tensor:
    """One row of A."""
    return here.trace.attention(layer, head, query)[:first]


def attention_summary(here: Here, layer: int, head: int, query: int, what: list[str]) -> list[float]:
    """Sum, max, min, the query's own weight, or the weight on all patches, of one row of A."""
    row = attention(here, layer, head, query)
    every = {"sum": row.sum(), "max": row.max(), "min": row.min(), "own": row[query], "patches": row[1:].sum()}
    return [every[name].item() for name in what]


def top_tokens(here: Here, layer: int, head: int, query: int, count: int) -> Tensor:
    """The tokens that a query reads most, the most read first."""
    return attention(here, layer, head, query).topk(count).indices


def top_weights(here: Here, layer: int, head: int, query: int, count: int) -> Tensor:
    """Their weights."""
    return attention(here, layer, head, query).topk(count).values


def self_weights(here: Here, layer: int, token: int) -> Tensor:
    """What a token gives itself, in every head."""
    return here.trace.attention(layer, query=token)[:, token]


def least_selfish_head(here: Here, layer: int, token: int) -> tuple[int, float]:
    """The head (from 1) in which a token keeps least for itself, and how much."""
    own = self_weights(here, layer, token)
    return int(own.argmin()) + 1, own.min().item()


def self_attention_row(here: Here, layer: int, head: int, token: int, first: int) -> Tensor:
    """One row of SA = A v in one head."""
    A = here.trace.attention(layer, head, token)
    return self_attention(A[None], _of_layer(here, "v", layer)[head - 1])[0, :first]


def inside_the_mlp(here: Here, part: str, layer: int, token: int, first: int | None = None) -> Tensor:
    """LN(z'), the hidden numbers before the non-linearity, or behind it, of one token."""
    weights, config = here.weights.layers[_layer(here, layer) - 1], here.weights.config
    row = _of_layer(here, "z_prime", layer)[token]
    normed = layer_norm(row, weights.gamma_2, weights.beta_2, config.eps)
    hidden = normed @ weights.W_1 + weights.b_1
    return {"normed": normed, "hidden": hidden, "gelu": ACTIVATIONS[config.activation](hidden)}[part][:first]


def positive_share(here: Here, layer: int, token: int) -> float:
    """Share of a token's hidden numbers that are positive before the non-linearity."""
    return (inside_the_mlp(here, "hidden", layer, token) > 0).float().mean().item()


def largest_values(here: Here, layers: list[int]) -> list[float]:
    """Largest absolute value in z_l."""
    return [here.trace.z[_layer(here, l)].abs().max().item() for l in layers]


def noise(
    here: Here, stages: list[str], relative: bool = False, range: bool = False, row: int | None = None
) -> list[float]:
    """Largest |ours - library's| at each stage, or its quotient with the largest value; or only the range over stages.

    row: of this token alone.
    """
    if absent := [name for name in stages if name not in here.stages]:
        raise ValueError(f"this run has no stage {', '.join(absent)}")
    out = []
    for ours, theirs in (here.stages[name] for name in stages):
        difference = (ours - theirs).abs()
        difference = (difference if row is None else difference[row]).max().item()
        out.append(difference / theirs.abs().max().item() if relative else difference)
    return [min(out), max(out)] if range else out


def noise_of_any_layer(here: Here) -> float:
    """The largest relative difference from the library after any layer."""
    return max(noise(here, [f"z_{l}" for l in range(1, here.weights.config.L + 1)], relative=True))


def last_class_moments(here: Here) -> tuple[float, float]:
    """Mean and population variance of the [class] row of z_L."""
    row = here.trace.z[-1][0]
    return row.mean().item(), row.var(correction=0).item()


def representation(here: Here, first: int) -> Tensor:
    """y."""
    return here.trace.y[:first]


def logits(here: Here, first: int) -> Tensor:
    """Class scores."""
    return _logits(here)[:first]


def top_classes(here: Here, count: int) -> list[int]:
    """Numbers of the most probable classes."""
    return [index for index, _ in top(_logits(here), count)]


def top_probabilities(here: Here, count: int) -> list[float]:
    """Their probabilities."""
    return [p for _, p in top(_logits(here), count)]


def top_labels(here: Here, count: int) -> list[str]:
    """Their names."""
    found = _logits(here)  # first, since it says so where there is no checkpoint at all
    return [name for name, _ in here.checkpoint.top(found, count)]


def head_shape(here: Here) -> tuple[int, ...]:
    """Inputs and outputs of the head, which is one linear layer or absent."""
    if here.weights.W_head is None:
        raise ValueError("this checkpoint has no head")
    return tuple(here.weights.W_head.shape)


def has_pooler(here: Here) -> bool:
    """Whether the checkpoint came with a hidden layer between y and the classes (Eq. 1 to 4 have none, so it is laid aside)."""
    from vitbook.library.names import UNUSED

    _ = here.weights
    return any(UNUSED["pooler."] in note for note in here.checkpoint.notes)


def counted_in_weights(here: Here) -> int:
    """Numbers in the checkpoint that was loaded."""
    return sum(tensor.numel() for _, tensor in here.weights.named())


def training(here: Here) -> None:
    """Pre-training on very many pictures and what it leads to: not something that a book does."""
    raise Lacking("the authors' training runs were not repeated")


def _logits(here: Here) -> Tensor:
    if here.trace.logits is None:
        raise ValueError("this checkpoint has no classification head")
    return here.trace.logits


def _layer(here: Here, layer: int, from_zero: bool = False) -> int:
    if not (0 if from_zero else 1) <= layer <= here.weights.config.L:
        raise ValueError(f"this model has {here.weights.config.L} layers, no layer {layer}")
    return layer


def _of_layer(here: Here, letter: str, layer: int) -> Tensor:
    return getattr(here.trace, letter)[_layer(here, layer) - 1]
