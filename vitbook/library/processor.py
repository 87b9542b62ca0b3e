"""What preprocessor_config.json says about pictures. A step that this book does not take is refused by name.

Where a setting is absent, the default that transformers documents for ViT holds, as it does when transformers loads it.
"""

from __future__ import annotations

from typing import Any

from vitbook.config import RESAMPLING, Preprocessing, ViTConfig
from vitbook.library.errors import CheckpointError, brief
from vitbook.library.settings import finite, is_size

FILE = "preprocessor_config.json"
FLAGS = {"do_resize": True, "do_center_crop": False, "do_rescale": True, "do_normalize": True}
HARMLESS = {"do_convert_rgb", "do_reduce_labels"}
UNKNOWN_STEPS = ("crop_pct", "pad_size", "size_divisor", "ensure_multiple_of", "rescale_offset")
PLAIN = {None, "ViTImageProcessor", "ViTFeatureExtractor", "ViTImageProcessorFast", "ViTImageProcessorPil"}
NEEDED = ("size", "resample", "image_mean", "image_std", "do_center_crop")


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
            f"{FILE} makes pictures of {comes_out[0]} x {comes_out[1]} pixels, but config.json says that "
            f"the model takes {config.H} x {config.W}; one of the two files belongs to another checkpoint"
        )
    mean, std = (0.0,) * config.C, (1.0,) * config.C  # leave every number as it is
    if do_normalize:
        mean, std = (_statistic(raw, name, config.C) for name in ("image_mean", "image_std"))
    try:
        return Preprocessing(
            resize=resize,
            mean=mean,
            std=std,
            resample=_resampling(raw),
            rescale=finite(raw.get("rescale_factor", 1 / 255), f"{FILE}: rescale_factor") if do_rescale else 1.0,
            crop=crop,
        )
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{FILE}: {error}") from None


def _check_processor(raw: dict) -> bool:
    """Refuse steps that we do not take; say whether a size given as one number means a square."""
    kind = raw.get("image_processor_type", raw.get("feature_extractor_type"))
    plain = kind in PLAIN if isinstance(kind, str | None) else False
    if not plain and (absent := [name for name in NEEDED if name not in raw]):
        raise CheckpointError(
            f"{FILE} is for {brief(kind)}, whose defaults differ from ViT's, and does not say {', '.join(absent)}"
        )
    odd = [name for name in raw if name.startswith("do_") and raw[name] and name not in FLAGS and name not in HARMLESS]
    odd += [name for name in UNKNOWN_STEPS if raw.get(name) is not None]
    if odd:
        raise CheckpointError(f"{FILE} asks for {', '.join(odd)}, steps that this book does not take")
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
        raise CheckpointError(f"{FILE}: {name} must be height and width, or shortest_edge, got {brief(raw[name])}")
    return _positive(value[0], name), _positive(value[1], name)


def _fixed(name: str, size: tuple[int, int] | int) -> tuple[int, int]:
    if isinstance(size, int):
        raise CheckpointError(
            f"{FILE}: {name} fixes only the shortest edge ({size} pixels) and no centre crop follows, so "
            "pictures would come out in different sizes; this model takes one"
        )
    return size


def _positive(value: Any, name: str) -> int:
    if not is_size(value):
        raise CheckpointError(f"{FILE}: {name} must be a positive whole number of pixels, got {brief(value)}")
    return value


def _flag(raw: dict, name: str, default: bool) -> bool:
    value = default if raw.get(name) is None else raw[name]
    if not isinstance(value, bool):
        raise CheckpointError(f"{FILE}: {name} must be true or false, got {brief(value)}")
    return value


def _resampling(raw: dict) -> str:
    code = raw.get("resample", 2)
    if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < len(RESAMPLING):
        raise CheckpointError(f"{FILE}: resample must be a code from 0 to {len(RESAMPLING) - 1}, got {brief(code)}")
    return RESAMPLING[code]


def _statistic(raw: dict, name: str, C: int) -> tuple[float, ...]:
    value = raw.get(name, 0.5)
    numbers = value if isinstance(value, list) else [value] * C
    if len(numbers) != C:
        raise CheckpointError(f"{FILE}: {name} has {len(numbers)} numbers, the model has {C} channels")
    return tuple(finite(number, f"{FILE}: {name}") for number in numbers)
