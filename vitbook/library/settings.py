"""What config.json and preprocessor_config.json say, in the paper's letters. Nothing is assumed that a file can say.

Where a setting is absent, the default that transformers documents for ViT holds, as it does when transformers loads it.
"""

from __future__ import annotations

import math
from typing import Any

from vitbook.config import RESAMPLING, Preprocessing, ViTConfig
from vitbook.library.base import CheckpointError

ABSENT = object()
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
        what = FAMILIES.get(family, "that is another architecture") if isinstance(family, str) else "that is no name"
        raise CheckpointError(
            f"config.json says model_type {family!r}, expected 'vit': {what}, and Eq. 1 to 4 describe the plain "
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
    eps = raw.get("layer_norm_eps", 1e-12)
    if isinstance(eps, bool) or not isinstance(eps, int | float) or not math.isfinite(eps) or eps < 0:
        raise CheckpointError(f"config.json: layer_norm_eps must be a finite number >= 0, got {eps!r}")
    act = raw.get("hidden_act", "gelu")
    if not isinstance(act, str) or act not in ACTIVATION:
        raise CheckpointError(f"config.json: hidden_act must be one of {', '.join(ACTIVATION)}, got {act!r}")
    qkv_bias = raw.get("qkv_bias", True)
    if not isinstance(qkv_bias, bool):
        raise CheckpointError(f"config.json: qkv_bias must be true or false, got {qkv_bias!r}")
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
            eps=float(eps),
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
                f"config.json {where} {said!r} classes, but the head in the file has {K}; restore id2label"
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


def read_preprocessing(raw: dict | None, config: ViTConfig) -> Preprocessing:
    """The steps from picture to x.  raw: preprocessor_config.json, or None for the defaults documented for ViT.

    Raises CheckpointError naming every setting that this book cannot follow, or that contradicts the model.
    """
    raw = {} if raw is None else raw
    square_by_default = _check_processor(raw)
    do_resize, do_center_crop, do_rescale, do_normalize = (_flag(raw, name, default) for name, default in FLAGS.items())
    size = _read_size(raw, "size", square_by_default) if "size" in raw else (config.H, config.W)
    resize = size if do_resize else None
    crop = None
    if do_center_crop:
        crop = _fixed("crop_size", _read_size(raw, "crop_size", True) if "crop_size" in raw else size)
    comes_out = crop or (None if resize is None else _fixed("size", resize))
    if comes_out not in (None, (config.H, config.W)):
        raise CheckpointError(
            f"preprocessor_config.json makes pictures of {comes_out[0]} x {comes_out[1]} pixels, but config.json says that "
            f"the model takes {config.H} x {config.W}; one of the two files belongs to another checkpoint"
        )
    mean, std = (_statistic(raw, name, config.C) for name in ("image_mean", "image_std"))
    try:
        return Preprocessing(
            resize=resize,
            mean=mean if do_normalize else (0.0,) * config.C,
            std=std if do_normalize else (1.0,) * config.C,
            resample=_resampling(raw),
            rescale=_finite(raw.get("rescale_factor", 1 / 255), "rescale_factor") if do_rescale else 1.0,
            crop=crop,
        )
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"preprocessor_config.json: {error}") from None


FLAGS = {"do_resize": True, "do_center_crop": False, "do_rescale": True, "do_normalize": True}
HARMLESS = {"do_convert_rgb", "do_reduce_labels"}
UNKNOWN_STEPS = ("crop_pct", "pad_size", "size_divisor", "ensure_multiple_of", "rescale_offset")
PLAIN = {None, "ViTImageProcessor", "ViTFeatureExtractor", "ViTImageProcessorFast", "ViTImageProcessorPil"}
NEEDED = ("size", "resample", "image_mean", "image_std", "do_center_crop")


def _check_processor(raw: dict) -> bool:
    """Refuse steps that we do not take; say whether a size given as one number means a square."""
    kind = raw.get("image_processor_type", raw.get("feature_extractor_type"))
    plain = kind in PLAIN if isinstance(kind, str | None) else False
    if not plain and (absent := [name for name in NEEDED if name not in raw]):
        raise CheckpointError(
            f"preprocessor_config.json is for {kind}, whose defaults differ from ViT's, and does not say {', '.join(absent)}"
        )
    odd = [name for name in raw if name.startswith("do_") and raw[name] and name not in FLAGS and name not in HARMLESS]
    odd += [name for name in UNKNOWN_STEPS if raw.get(name) is not None]
    if odd:
        raise CheckpointError(f"preprocessor_config.json asks for {', '.join(odd)}, steps that this book does not take")
    return plain


def _read_size(raw: dict, name: str, square: bool) -> tuple[int, int] | int:
    value = raw[name]
    if isinstance(value, dict):
        keys = {key for key, number in value.items() if number is not None}
        if keys == {"height", "width"}:
            value = [value["height"], value["width"]]
        elif keys == {"shortest_edge"}:
            return _positive(value["shortest_edge"], name)
    elif isinstance(value, int) and square:
        value = [value, value]
    if not isinstance(value, list) or len(value) != 2:
        raise CheckpointError(
            f"preprocessor_config.json: {name} must be height and width, or shortest_edge, got {raw[name]!r}"
        )
    return _positive(value[0], name), _positive(value[1], name)


def _fixed(name: str, size: tuple[int, int] | int) -> tuple[int, int]:
    if isinstance(size, int):
        raise CheckpointError(
            f"preprocessor_config.json: {name} fixes only the shortest edge ({size} pixels) and no centre crop follows, so "
            "pictures would come out in different sizes; this model takes one"
        )
    return size


def _positive(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CheckpointError(
            f"preprocessor_config.json: {name} must be a positive whole number of pixels, got {value!r}"
        )
    return value


def _flag(raw: dict, name: str, default: bool) -> bool:
    value = default if raw.get(name) is None else raw[name]
    if not isinstance(value, bool):
        raise CheckpointError(f"preprocessor_config.json: {name} must be true or false, got {value!r}")
    return value


def _resampling(raw: dict) -> str:
    code = raw.get("resample", 2)
    if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < len(RESAMPLING):
        raise CheckpointError(
            f"preprocessor_config.json: resample must be a code from 0 to {len(RESAMPLING) - 1}, got {code!r}"
        )
    return RESAMPLING[code]


def _statistic(raw: dict, name: str, C: int) -> tuple[float, ...]:
    value = raw.get(name, 0.5)
    numbers = value if isinstance(value, list) else [value] * C
    if len(numbers) != C:
        raise CheckpointError(
            f"preprocessor_config.json: {name} has {len(numbers)} numbers, the model has {C} channels"
        )
    return tuple(_finite(number, name) for number in numbers)


def _finite(number: Any, name: str) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise CheckpointError(f"preprocessor_config.json: {name} must be a finite number, got {number!r}")
    return float(number)


def _whole(raw: dict, name: str, default: int) -> int:
    value = raw.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CheckpointError(f"config.json: {name} must be a positive whole number, got {value!r}")
    return value


def _sides(raw: dict, name: str, default: int) -> tuple[int, int]:
    value = raw.get(name, default)
    pair = value if isinstance(value, list) else [value, value]
    if len(pair) != 2 or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in pair):
        raise CheckpointError(f"config.json: {name} must be one or two positive whole numbers of pixels, got {value!r}")
    return pair[0], pair[1]


def _class_number(key: str) -> int:
    if not (key.isascii() and key.isdecimal()):
        raise CheckpointError(f"config.json: id2label must be numbered 0, 1, 2, ..., got the key {key!r}")
    return int(key)


def _label(i: int, name: Any) -> str:
    if isinstance(name, int | float) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str):
        raise CheckpointError(f"config.json: the name of class {i} in id2label must be text, got {name!r}")
    return name
