"""From a picture to the numbers that a checkpoint takes, and back to where those numbers came from."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from vitbook.checks import part
from vitbook.config import RESAMPLING, Preprocessing, ViTConfig
from vitbook.pictures import MAX_PIXELS, load_picture


def preprocess(picture, checkpoint) -> Float[Tensor, "C H W"]:
    """Any picture -> x, as the checkpoint's own processor (the PIL backend of transformers) makes it.

    picture: whatever `load_picture` takes.  The steps and their constants are the checkpoint's: resize, crop, rescale to
    0..1, then (v - mean) / std per channel.  Returns float32.
    Raises PictureError for a picture that cannot be read, ValueError where checkpoint is none, or wants a size that its
    own preprocessing does not make.
    """
    return prepare(picture, *_wants(checkpoint))


def prepare(picture, how: Preprocessing, config: ViTConfig) -> Float[Tensor, "C H W"]:
    """`preprocess` where there is no checkpoint at hand, only its preprocessing and its sizes."""
    pixels = np.asarray(_fitted(picture, how, config), np.float64)  # (H, W, 3), or (H, W) for one channel
    # in float64 until here, as transformers' processor does it, so that not even the last digit differs
    scaled = (pixels.reshape(config.H, config.W, config.C) * how.rescale).astype(np.float32)
    x = torch.from_numpy(scaled).permute(2, 0, 1)  # (H, W, C) -> (C, H, W)
    mean, std = (torch.tensor(v, dtype=x.dtype, device=x.device).reshape(-1, 1, 1) for v in (how.mean, how.std))
    return ((x - mean) / std).contiguous()  # permute only relabels the axes; this puts the numbers in their order


def seen(picture, checkpoint) -> Image.Image:
    """The resized and cropped picture, before it becomes numbers: exactly the pixels that the model sees."""
    return _fitted(picture, *_wants(checkpoint))


def _wants(checkpoint) -> tuple[Preprocessing, ViTConfig]:
    return part(checkpoint, "preprocessing", Preprocessing), part(checkpoint, "config", ViTConfig)


def _fitted(picture, how: Preprocessing, config: ViTConfig) -> Image.Image:
    picture = load_picture(picture)
    if config.C == 1:
        picture = picture.convert("L")  # brightness as the eye weighs colours, not their mean
    elif config.C != 3:
        raise ValueError(f"this checkpoint takes C = {config.C} channels; a picture has 3 (or 1, as grey)")
    size, (left, top) = _geometry(picture.size, how)
    if size[0] * size[1] > MAX_PIXELS:  # a strip one pixel high, its shortest edge enlarged, would be enormous
        raise ValueError(
            f"resizing this picture of {picture.width} x {picture.height} pixels to a shortest edge of {how.resize} makes "
            f"{size[0] * size[1]:,} pixels, more than {MAX_PIXELS:,}; cut a less narrow part out of it"
        )
    resized = picture.resize(size, RESAMPLING.index(how.resample)) if how.resize is not None else picture
    if how.crop is not None:
        # Pillow fills with black what of the crop lies outside the picture
        resized = resized.crop((left, top, left + how.crop[1], top + how.crop[0]))
    if resized.size != (config.W, config.H):
        raise ValueError(
            f"the preprocessing turns this picture into {resized.height} x {resized.width} pixels, but the checkpoint "
            f"takes {config.H} x {config.W}; its preprocessor_config.json does not fit its config.json"
        )
    return resized


def view_box(picture_size: tuple[int, int], how: Preprocessing) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) of what the model sees, in pixels of the original picture: where an overlay belongs.

    picture_size: (width, height) as PIL gives it.  Without a crop this is the whole picture, whatever its shape.
    """
    (width, height), (left, top) = _geometry(picture_size, how)
    x_scale, y_scale = picture_size[0] / width, picture_size[1] / height
    high, wide = how.crop or (height, width)
    return left * x_scale, top * y_scale, (left + wide) * x_scale, (top + high) * y_scale


def unnormalise(x: Float[Tensor, "C H W"], how: Preprocessing) -> np.ndarray:
    """x -> (H, W, C) uint8, the inverse of rescaling and normalising: the picture as the model saw it."""
    mean, std = (torch.tensor(v, dtype=x.dtype, device=x.device).reshape(-1, 1, 1) for v in (how.mean, how.std))
    values = (x * std + mean) / how.rescale
    return values.round().clamp(0, 255).to(torch.uint8).permute(1, 2, 0).cpu().numpy()  # (C, H, W) -> (H, W, C)


def _geometry(picture_size: tuple[int, int], how: Preprocessing) -> tuple[tuple[int, int], tuple[int, int]]:
    """((width, height) after resizing, (left, top) of the crop in it)."""
    width, height = picture_size
    if isinstance(how.resize, tuple):
        height, width = how.resize
    elif how.resize is not None:
        # the longer side is cut off to whole pixels, not rounded, as transformers does it
        short, long = how.resize, int(how.resize * max(width, height) / min(width, height))
        width, height = (short, long) if width <= height else (long, short)
    crop_height, crop_width = how.crop or (height, width)
    return (width, height), ((width - crop_width) // 2, (height - crop_height) // 2)
