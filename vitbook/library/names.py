"""The names of tensors in checkpoint files, and the letters of the paper that they stand for.

Files on the hub carry the names of transformers before 5.9; transformers since 5.9 shows newer ones in memory.
Both are understood, with or without the `vit.` in front. Every such name of the book stands in this folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from vitbook.config import ViTConfig
from vitbook.library.errors import CheckpointError
from vitbook.weights import LayerWeights, Weights

#: Old -> new, tried in this order (the third of the `dense` layers would match the end of the first).
OLD_TO_NEW = (
    ("encoder.layer.", "layers."),
    (".attention.attention.query.", ".attention.q_proj."),
    (".attention.attention.key.", ".attention.k_proj."),
    (".attention.attention.value.", ".attention.v_proj."),
    (".attention.output.dense.", ".attention.o_proj."),
    (".intermediate.dense.", ".mlp.fc1."),
    (".output.dense.", ".mlp.fc2."),
)

#: Letter -> new name, outside the layers and inside one.
OUTSIDE = {
    "E": "embeddings.patch_embeddings.projection.weight",
    "b_E": "embeddings.patch_embeddings.projection.bias",
    "x_class": "embeddings.cls_token",
    "E_pos": "embeddings.position_embeddings",
    "gamma": "layernorm.weight",
    "beta": "layernorm.bias",
}
HEAD = {"W_head": "classifier.weight", "b_head": "classifier.bias"}
LAYER = {
    "gamma_1": "layernorm_before.weight",
    "beta_1": "layernorm_before.bias",
    "U_q": "attention.q_proj.weight",
    "U_k": "attention.k_proj.weight",
    "U_v": "attention.v_proj.weight",
    "b_q": "attention.q_proj.bias",
    "b_k": "attention.k_proj.bias",
    "b_v": "attention.v_proj.bias",
    "U_msa": "attention.o_proj.weight",
    "b_msa": "attention.o_proj.bias",
    "gamma_2": "layernorm_after.weight",
    "beta_2": "layernorm_after.bias",
    "W_1": "mlp.fc1.weight",
    "b_1": "mlp.fc1.bias",
    "W_2": "mlp.fc2.weight",
    "b_2": "mlp.fc2.bias",
}
QKV_BIASES = ("b_q", "b_k", "b_v")

#: Parts of a checkpoint that Eq. 1 to 4 do not use, and what they are for.
UNUSED = {
    "pooler.": "a pooler (a linear layer and a tanh on the [class] output, kept from pre-training)",
    "embeddings.mask_token": "a mask token, used only in masked pre-training",
    "decoder.": "a decoder, used only in masked pre-training",
}


def new_name(key: str) -> str:
    """The name that transformers since 5.9 gives to a tensor, without the `vit.` in front."""
    key = key if key.startswith("vit.classifier.") else key.removeprefix("vit.")
    for old, new in OLD_TO_NEW:
        key = key.replace(old, new)
    return key


def new_names(keys: Iterable[str]) -> dict[str, str]:
    """New name -> name in the file.  Raises CheckpointError when two tensors claim one place."""
    places: dict[str, str] = {}
    for key in keys:
        if (other := places.setdefault(new_name(key), key)) != key:
            raise CheckpointError(
                f"the file holds the same tensor twice, as {other!r} and as {key!r}; keep one of them"
            )
    return places


def as_in_files(name: str, keys: Iterable[str]) -> str:
    """A new name in the style of the names of a file, so that a reader finds it there."""
    keys = list(keys)
    if any("encoder.layer." in key for key in keys):
        for old, new in OLD_TO_NEW:
            name = name.replace(new, old)
    prefixed = any(key.startswith("vit.") for key in keys) and not name.startswith("classifier.")
    return f"vit.{name}" if prefixed else name


def layer_name(l: int, letter: str) -> str:
    """The new name of a tensor of layer l, counted from 1; the files count from 0."""
    return f"layers.{l - 1}.{LAYER[letter]}"


def is_ours(new: str) -> bool:
    """Whether a new name is that of a tensor which Eq. 1 to 4 use, in any layer."""
    inside = new.split(".", 2)[-1] if new.startswith("layers.") else None
    return inside in LAYER.values() or new in (*OUTSIDE.values(), *HEAD.values())


def expected_shapes(config: ViTConfig, K: int | None) -> dict[str, tuple[int, ...]]:
    """New name -> shape as transformers stores it: (outputs, inputs) for a matrix, the reverse of the equations."""
    c = config
    out = {
        OUTSIDE["E"]: (c.D, c.C, c.P, c.P),
        OUTSIDE["b_E"]: (c.D,),
        OUTSIDE["x_class"]: (1, 1, c.D),
        OUTSIDE["E_pos"]: (1, c.N + 1, c.D),
    }
    shapes = {letter: shape[::-1] for letter, shape in LayerWeights.shapes(c).items()}
    for l in range(1, c.L + 1):
        for letter, shape in shapes.items():
            if c.qkv_bias or letter not in QKV_BIASES:
                out[layer_name(l, letter)] = shape
    out |= {OUTSIDE["gamma"]: (c.D,), OUTSIDE["beta"]: (c.D,)}
    return out if K is None else out | {HEAD["W_head"]: (K, c.D), HEAD["b_head"]: (K,)}


def to_weights(state: dict[str, Tensor], config: ViTConfig, dtype: torch.dtype = torch.float32) -> Weights:
    """The paper's letters from tensors under their new names, already checked against `expected_shapes`.

    `state` is emptied on the way, so that a large checkpoint is not in memory twice.
    """

    def take(name: str) -> Tensor:
        return state.pop(name).to(dtype)

    def letter(letter: str, name: str) -> Tensor:
        if letter in QKV_BIASES and not config.qkv_bias:
            return torch.zeros(config.D, dtype=dtype)
        tensor = take(name)
        return tensor.T.contiguous() if tensor.ndim == 2 else tensor.clone()

    E = take(OUTSIDE["E"]).flatten(1).T.contiguous()  # (D, C, P, P) -> (P²C, D): channel, row, column
    layers = tuple(
        LayerWeights(**{name: letter(name, layer_name(l, name)) for name in LAYER}) for l in range(1, config.L + 1)
    )
    head = {name: letter(name, key) for name, key in HEAD.items() if key in state}
    return Weights(
        config=config,
        E=E,
        b_E=letter("b_E", OUTSIDE["b_E"]),
        x_class=take(OUTSIDE["x_class"])[0].clone(),
        E_pos=take(OUTSIDE["E_pos"])[0].clone(),
        layers=layers,
        gamma=letter("gamma", OUTSIDE["gamma"]),
        beta=letter("beta", OUTSIDE["beta"]),
        **head,
    )


def count_layers(places: Mapping[str, str]) -> int:
    """How many layers the names speak of."""
    numbers = {name.split(".")[1] for name in places if name.startswith("layers.")}
    return max((int(n) + 1 for n in numbers if n.isdecimal() and n.isascii()), default=0)
