"""What config.json says, in the paper's letters. Nothing is assumed that the file can say.

Where a setting is absent, the default that transformers documents for ViT holds, as it does when transformers loads it.
"""

from __future__ import annotations

from typing import Any

from vitbook.checks import finite, flag, whole
from vitbook.config import ViTConfig
from vitbook.library.errors import CheckpointError
from vitbook.wording import brief

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
#: Letter -> its name in config.json, and what transformers takes where that is absent.
SIZES = {
    "C": ("num_channels", 3),
    "D": ("hidden_size", 768),
    "L": ("num_hidden_layers", 12),
    "heads": ("num_attention_heads", 12),
    "M": ("intermediate_size", 3072),
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
    if raw.get("quantization_config") is not None:
        raise CheckpointError(
            "config.json has a quantization_config; a quantised model has to be turned back to floats first"
        )


def vit_config(raw: dict) -> ViTConfig:
    """The sizes, from config.json.  Raises ValueError naming the setting, what came and what was expected."""
    H, W = _sides(raw, "image_size", 224)
    P, P_across = _sides(raw, "patch_size", 16)
    if P != P_across:
        raise ValueError(f"patch_size is {P} x {P_across}; the paper's patches are square")
    act = raw.get("hidden_act", "gelu")
    if not isinstance(act, str) or act not in ACTIVATION:
        raise ValueError(f"hidden_act must be one of {', '.join(ACTIVATION)}, got {brief(act)}")
    sizes = {letter: whole(raw.get(name, default), name) for letter, (name, default) in SIZES.items()}
    eps = finite(raw.get("layer_norm_eps", 1e-12), "layer_norm_eps")
    if eps < 0:
        raise ValueError(f"layer_norm_eps must not be negative, got {eps!r}")
    if raw.get("head_dim", sizes["D"] // sizes["heads"]) != sizes["D"] // sizes["heads"]:
        raise ValueError(
            f"head_dim is {brief(raw['head_dim'])}; in the paper it is D / heads = {sizes['D'] / sizes['heads']:g}"
        )
    qkv_bias = flag(raw.get("qkv_bias", True), "qkv_bias")
    return ViTConfig(H=H, W=W, P=P, **sizes, eps=eps, activation=ACTIVATION[act], qkv_bias=qkv_bias)


def read_labels(raw: dict, K: int) -> tuple[str, ...] | None:
    """K class names in the order of the logits, or None where the file has only LABEL_0, LABEL_1, ...

    Raises CheckpointError when config.json speaks of another number of classes than the head has rows.
    """
    names = raw.get("id2label")
    if names is not None and raw.get("num_labels", K) != K:
        raise CheckpointError(
            f"config.json says num_labels {brief(raw['num_labels'])}, but the head in the file has {K} classes; mend one of them"
        )
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


def _sides(raw: dict, name: str, default: int) -> tuple[int, int]:
    value = raw.get(name, default)
    pair = value if isinstance(value, list) and len(value) == 2 else [value, value]
    return tuple(whole(side, name, note=" of pixels, or two of them") for side in pair)


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
