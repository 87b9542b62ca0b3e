"""What a processor's file says about pictures, read as transformers reads it. What is not read is refused by name.

A key that is absent has the default of the processor's class. A key that is null does not: transformers then takes the
null itself, which switches a step off.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vitbook.checks import finite, flag, whole
from vitbook.config import RESAMPLING, Preprocessing, ViTConfig, positive
from vitbook.library.errors import CheckpointError
from vitbook.library.files import read_json
from vitbook.wording import brief

PREPROCESSOR, PROCESSOR = "preprocessor_config.json", "processor_config.json"
_224, _256 = ({"height": side, "width": side} for side in (224, 256))
#: What ViT's own processor does where its file is silent, and with it every other one, except for what `CLASSES` says.
ABSENT: dict[str, Any] = {
    "do_resize": True,
    "size": _224,
    "default_to_square": True,
    "resample": 2,
    "do_center_crop": None,
    "crop_size": None,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "do_convert_rgb": None,
}
_CLIP = {
    "size": {"shortest_edge": 224},
    "default_to_square": False,
    "resample": 3,
    "do_center_crop": True,
    "crop_size": _224,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "do_convert_rgb": True,
}
#: The processors whose steps are resize, crop, rescale and normalise, in this order and no other.
CLASSES: dict[str, dict[str, Any]] = {
    "ViTImageProcessor": {},
    "DeiTImageProcessor": {"size": _256, "resample": 3, "do_center_crop": True, "crop_size": _224},
    "BitImageProcessor": _CLIP,
    "CLIPImageProcessor": _CLIP,
    "SiglipImageProcessor": {"default_to_square": False, "resample": 3, "do_convert_rgb": True},
}
#: Keys that change no pixel, whatever stands there; and keys with the values that change none.
HARMLESS = set(
    "image_processor_type feature_extractor_type processor_class _processor_class _valid_processor_keys "
    "_valid_kwargs_names device disable_grouping do_reduce_labels image_seq_length pad_size return_tensors".split()
)
WITHOUT_EFFECT = {"data_format": "channels_first"}
#: The note of a checkpoint whose processor is not described.
WITHOUT_A_FILE = (
    f"it has no {PREPROCESSOR}; the defaults documented for ViT are used: a straight resize to the model's own picture "
    "size, bilinear, mean and standard deviation 0.5"
)


def preprocessing_of(folder: Path, raw: dict, config: ViTConfig) -> Preprocessing | None:
    """What the processor's file says, or None where there is none."""
    file, said = _read_preprocessor(folder)
    if said is None:
        return None
    if not (said.get("image_processor_type") or said.get("feature_extractor_type")):  # then config.json may name it
        said = said | {"image_processor_type": raw.get("image_processor_type")}
    try:
        return read_preprocessing(said, config)
    except ValueError as error:
        raise CheckpointError(f"{file}: {error}") from None


def _read_preprocessor(folder: Path) -> tuple[str, dict | None]:
    """The file that transformers would take, and what it says: image_processor in processor_config.json goes first."""
    if (folder / PROCESSOR).exists() and (part := read_json(folder / PROCESSOR).get("image_processor")) is not None:
        if not isinstance(part, dict):
            raise CheckpointError(f"{PROCESSOR}: image_processor must be an object of settings, got {brief(part)}")
        return PROCESSOR, part
    return PREPROCESSOR, read_json(folder / PREPROCESSOR) if (folder / PREPROCESSOR).exists() else None


def read_preprocessing(raw: dict, config: ViTConfig) -> Preprocessing:
    """The steps from picture to x.  raw: what the processor's file says.

    Raises ValueError naming every setting that this book cannot follow, or that contradicts the model.
    """
    kind = _class_of(raw)
    said = ABSENT | CLASSES[kind] | raw
    _refuse_other_keys(said)
    steps = {name: said[name] is not None and flag(said[name], name) for name in ABSENT if name.startswith("do_")}
    resize = _size(said["size"], "size", said["default_to_square"]) if steps["do_resize"] else None
    crop = _size(said["crop_size"], "crop_size", True) if steps["do_center_crop"] else None
    decides = "size" if crop is None else "crop_size"
    origin = decides if decides in raw else f"{decides}, as {kind} has it where the file says nothing"
    _check_what_comes_out(resize if crop is None else crop, origin, config)
    if steps["do_convert_rgb"] and config.C != 3:
        raise ValueError(f"do_convert_rgb makes 3 channels of every picture, but config.json says {config.C}")
    mean, std = (0.0,) * config.C, (1.0,) * config.C  # leave every number as it is
    if steps["do_normalize"]:
        mean = _statistic(said["image_mean"], "image_mean", config.C, finite)
        std = _statistic(said["image_std"], "image_std", config.C, positive)
    return Preprocessing(
        resize=resize,
        mean=mean,
        std=std,
        resample=_resampling(said["resample"], resize is not None),
        rescale=positive(said["rescale_factor"], "rescale_factor") if steps["do_rescale"] else 1.0,
        crop=crop,
    )


def defaults_for(config: ViTConfig) -> Preprocessing:
    """What is done where no file says anything: ViT's own way, at the model's own size and for its channels."""
    return Preprocessing((config.H, config.W), (0.5,) * config.C, (0.5,) * config.C)


def _class_of(raw: dict) -> str:
    """The name of the processor's class, without the marks of its variants."""
    named = raw.get("image_processor_type")
    if named is None:
        named = raw.get("feature_extractor_type") or "ViTImageProcessor"
        named = named.replace("FeatureExtractor", "ImageProcessor") if isinstance(named, str) else named
    plain = named.removesuffix("Fast").removesuffix("Pil") if isinstance(named, str) else None
    if plain not in CLASSES:
        raise ValueError(f"the processor must be one of {', '.join(CLASSES)}, got {brief(named)}")
    return plain


def _refuse_other_keys(said: dict) -> None:
    known = ABSENT.keys() | HARMLESS
    odd = [
        key
        for key, value in said.items()
        if key not in known and value is not None and value is not False and WITHOUT_EFFECT.get(key, ...) != value
    ]
    if odd:
        raise ValueError(
            f"it asks for {', '.join(map(brief, odd))}, which this book does not follow; "
            "remove them from a copy of the file if they change no pixel"
        )


def _size(value: Any, name: str, square: Any) -> tuple[int, int] | int:
    """(height, width), or the shortest edge.  square: whether one number alone means both sides."""
    if isinstance(value, dict) and value.keys() == {"height", "width"}:
        value = [value["height"], value["width"]]
    elif isinstance(value, dict) and value.keys() == {"shortest_edge"}:
        return whole(value["shortest_edge"], f"{name}: shortest_edge")
    elif isinstance(value, int):
        if square is None or not flag(square, "default_to_square"):
            return whole(value, name)
        value = [value, value]
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{name} must be height and width, or shortest_edge, got {brief(value)}")
    return whole(value[0], f"{name}: height"), whole(value[1], f"{name}: width")


def _resampling(code: Any, used: bool) -> str:
    code = ABSENT["resample"] if code is None and not used else code
    return RESAMPLING[whole(code, "resample", 0, len(RESAMPLING) - 1, ", a code of Pillow's")]


def _check_what_comes_out(size: tuple[int, int] | int | None, origin: str, config: ViTConfig) -> None:
    if isinstance(size, int):
        raise ValueError(
            f"it fixes only the shortest edge ({size} pixels, by {origin}) and no centre crop follows, "
            "so pictures would come out in different sizes; this model takes one"
        )
    if size not in (None, (config.H, config.W)):
        raise ValueError(
            f"it makes pictures of {size[0]} x {size[1]} pixels (by {origin}), but config.json says that "
            f"the model takes {config.H} x {config.W}; one of the two files belongs to another checkpoint"
        )


def _statistic(value: Any, name: str, C: int, check: Callable[[Any, str], float]) -> tuple[float, ...]:
    numbers = value if isinstance(value, list) else [value] * C
    if len(numbers) != C:
        raise ValueError(f"{name} has {len(numbers)} numbers, the model has {C} channels")
    return tuple(check(number, name) for number in numbers)
