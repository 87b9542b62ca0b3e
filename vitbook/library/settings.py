"""What config.json says, in the paper's letters. Nothing is assumed that the file can say.

Where a setting is absent, the default that transformers documents for ViT holds, as it does when transformers loads it.
"""

from __future__ import annotations

import math
from typing import Any

from vitbook.config import ViTConfig
from vitbook.library.errors import CheckpointError, brief

ACTIVATION = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "relu": "relu",
}
FAMILIES = {
    "beit": "BEiT uses relative positions and LayerScale",
    "bert": "BERT reads text",
    "clip": "CLIP pairs a picture encoder with a text encoder",
    "convnext": "ConvNeXt is a convolutional network",
    "deit": "DeiT adds a distillation token",
    "dinov2": "DINOv2 adds LayerScale (the embedded checkpoint is one with LayerScale folded: source='embedded')",
    "dinov2_with_registers": "DINOv2 with registers adds register tokens and LayerScale",
    "dinov3_vit": "DINOv3 uses rotary positions and register tokens",
    "resnet": "ResNet is a convolutional network",
    "siglip": "SigLIP has no [class] token",
    "swin": "Swin attends within shifted windows",
    "vit_hybrid": "the hybrid puts a ResNet in front",
    "vit_mae": "MAE's encoder uses fixed sine and cosine positions and hides most patches",
    "vit_msn": "MSN's ViT is registered as a family of its own",
}


def refuse_other_families(raw: dict) -> None:
    """Raise CheckpointError unless config.json says model_type "vit", unquantised."""
    family = raw.get("model_type")
    if family != "vit":
        if family is None:
            timm = " (its 'architecture' shows timm's format)" if "architecture" in raw else ""
            raise CheckpointError(
                f"config.json does not say its model_type{timm}; expected 'vit', the plain Vision Transformer"
            )
        what = (FAMILIES.get(family) if isinstance(family, str) else None) or "another architecture"
        raise CheckpointError(
            f"config.json says model_type {brief(family)}, expected 'vit': {what}, and Eq. 1 to 4 describe the plain "
            "Vision Transformer; choose a ViT checkpoint such as google/vit-base-patch16-224"
        )
    if raw.get("quantization_config"):
        raise CheckpointError(
            "config.json has a quantization_config; a quantised model has to be turned back to floats first"
        )


def vit_config(raw: dict) -> ViTConfig:
    """The sizes, from config.json.  Raises CheckpointError naming the setting, what came and what was expected."""
    H, W = _sides(raw, "image_size", 224)
    P, P_across = _sides(raw, "patch_size", 16)
    if P != P_across:
        raise CheckpointError(f"config.json: patch_size is {P} x {P_across}; the paper's patches are square")
    eps = finite(raw.get("layer_norm_eps", 1e-12), "config.json: layer_norm_eps")
    if eps < 0:
        raise CheckpointError(f"config.json: layer_norm_eps must not be negative, got {eps!r}")
    act = raw.get("hidden_act", "gelu")
    if not isinstance(act, str) or act not in ACTIVATION:
        raise CheckpointError(f"config.json: hidden_act must be one of {', '.join(ACTIVATION)}, got {brief(act)}")
    qkv_bias = raw.get("qkv_bias", True)
    if not isinstance(qkv_bias, bool):
        raise CheckpointError(f"config.json: qkv_bias must be true or false, got {brief(qkv_bias)}")
    try:
        return ViTConfig(
            H=H,
            W=W,
            P=P,
            C=_whole(raw, "num_channels", 3),
            D=_whole(raw, "hidden_size", 768),
            L=_whole(raw, "num_hidden_layers", 12),
            heads=_whole(raw, "num_attention_heads", 12),
            M=_whole(raw, "intermediate_size", 3072),
            eps=eps,
            activation=ACTIVATION[act],
            qkv_bias=qkv_bias,
        )
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"config.json: {error}") from None


def read_labels(raw: dict, K: int) -> tuple[str, ...] | None:
    """K class names in the order of the logits, or None where the file has only LABEL_0, LABEL_1, ...

    Raises CheckpointError when config.json speaks of another number of classes than the head has rows.
    """
    names = raw.get("id2label")
    if names is None:
        said = raw.get("num_labels", raw.get("_num_labels", 2))  # transformers' own default is two classes
        if said != K:
            where = "says num_labels" if {"num_labels", "_num_labels"} & raw.keys() else "has no id2label, which means"
            raise CheckpointError(
                f"config.json {where} {brief(said)} classes, but the head in the file has {K}; restore id2label"
            )
        return None
    if not isinstance(names, dict):
        raise CheckpointError(f"config.json: id2label must be an object of number and name, got {type(names).__name__}")
    by_number = {_class_number(key): name for key, name in names.items()}
    if len(names) != K or by_number.keys() != set(range(K)):
        absent = sorted(set(range(K)) - by_number.keys())
        hint = f"; no name for class {absent[0]}" if absent else ""
        raise CheckpointError(
            f"config.json: id2label names {len(names)} classes, but the head in the file has {K}, "
            f"numbered 0 to {K - 1}{hint}"
        )
    labels = tuple(_label(i, by_number[i]) for i in range(K))
    return None if all(name == f"LABEL_{i}" for i, name in enumerate(labels)) else labels


def finite(value: Any, name: str) -> float:
    """A finite number out of a JSON file.  Raises CheckpointError for text, true, null, NaN, infinity and the like."""
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        pass
    raise CheckpointError(f"{name} must be a finite number, got {brief(value)}")


def is_size(value: Any) -> bool:
    """Whether a value out of a JSON file can be a size: a whole number from 1 to a billion."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**9


def _whole(raw: dict, name: str, default: int) -> int:
    value = raw.get(name, default)
    if not is_size(value):
        raise CheckpointError(f"config.json: {name} must be a positive whole number, got {brief(value)}")
    return value


def _sides(raw: dict, name: str, default: int) -> tuple[int, int]:
    value = raw.get(name, default)
    pair = value if isinstance(value, list) else [value, value]
    if len(pair) != 2 or not all(map(is_size, pair)):
        raise CheckpointError(
            f"config.json: {name} must be one or two positive whole numbers of pixels, got {brief(value)}"
        )
    return pair[0], pair[1]


def _class_number(key: str) -> int:
    if not (key.isascii() and key.isdecimal() and len(key) < 10):
        raise CheckpointError(f"config.json: id2label must be numbered 0, 1, 2, ..., got the key {brief(key)}")
    return int(key)


def _label(i: int, name: Any) -> str:
    if isinstance(name, int | float) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str):
        raise CheckpointError(f"config.json: the name of class {i} in id2label must be text, got {brief(name)}")
    return name
