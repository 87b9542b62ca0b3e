"""Arrays and tensors: which axis is which, and which numbers mean black and white.

An array carries neither answer, so each guess that could be wrong is either warned about (`PictureWarning`) or refused.

Layouts, with C = 1, 3 or 4: (H, W), (H, W, C), (C, H, W), and each of them as a batch of one. Where both ends could be
channels, a tensor is taken as (C, H, W) and any other array as (H, W, C), with a warning.

Ranges: booleans are black and white. Integers are 0..255; unsigned 16-bit ones 0..65535. Floats are 0..1 or 0..255,
told apart by the largest. Negative numbers, NaN and infinity are refused, and so are floats with a largest value from
1 to 4: that is what dividing by a standard deviation leaves (at most 2.64 with ImageNet's), and processing a picture
twice would be silent damage.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from .refusal import PictureError, note

SLACK = 1e-3  # a float may miss its range by this much: a quarter of one of the 255 steps, as rounding leaves behind
_CHANNELS = (1, 3, 4)


def is_array(source: Any) -> bool:
    """Whether `source` offers its numbers the way NumPy, torch, JAX and the others do."""
    return not isinstance(source, type) and any(
        hasattr(source, name) for name in ("__array__", "__array_interface__", "__dlpack__")
    )


def array_to_image(source: Any, max_pixels: int) -> Image.Image:
    """An array or tensor as an L, RGB or RGBA image of 8-bit levels.

    Accepts what the module's text lists; raises `PictureError` naming shape, dtype or range otherwise, and where there
    are more than `max_pixels` pixels.
    """
    name = f"{'A tensor' if hasattr(source, 'detach') else 'An array'} of shape {_shape(source)}"
    values = _channels_last(_numbers(source, name), name, tensor=hasattr(source, "detach"))
    if values.shape[0] * values.shape[1] > max_pixels:
        raise PictureError(f"{name} has more than {max_pixels:,} pixels. Pass a smaller copy, such as x[::4, ::4].")
    eight_bit = levels(values, f"{name} and dtype {values.dtype}")
    return Image.fromarray(np.ascontiguousarray(eight_bit[..., 0] if eight_bit.shape[-1] == 1 else eight_bit))


def _shape(source: Any) -> str:
    return str(tuple(getattr(source, "shape", ())))


def _numbers(source: Any, name: str) -> np.ndarray:
    """The numbers as NumPy sees them, brought off the accelerator and out of the dtypes that NumPy lacks."""
    try:
        if hasattr(source, "detach"):
            source = source.detach().cpu()
            source = source.float() if str(source.dtype).rsplit(".")[-1].startswith(("bfloat", "float8")) else source
        values = np.asarray(source)
    except Exception as error:  # each array library has failures of its own
        raise PictureError(f"{name} can't be read as numbers ({error}). Pass a NumPy array on the CPU.") from error
    if np.ma.is_masked(source):
        raise PictureError(f"{name} has masked pixels. Fill them first: x.filled(255).")
    return values


def _channels_last(values: np.ndarray, name: str, tensor: bool) -> np.ndarray:
    """Any accepted layout -> (H, W, C) with C = 1, 3 or 4."""
    if values.size == 0:
        raise PictureError(f"{name} has no pixels. A picture has at least one row and one column.")
    if values.ndim == 4:
        if len(values) != 1:
            raise PictureError(f"{name} is a batch of {len(values)} pictures. Pass one of them: x[0].")
        values = values[0]
    if values.ndim == 2:
        return values[:, :, None]
    if values.ndim != 3:
        hint = " Bytes of a picture file go in as bytes: x.tobytes()." if values.ndim == 1 else ""
        raise PictureError(f"{name} has no picture's layout: (H, W), (H, W, C) or (C, H, W) was expected.{hint}")
    front, back = values.shape[0] in _CHANNELS, values.shape[2] in _CHANNELS
    if not back and 2 in (values.shape[0], values.shape[2]):
        raise PictureError(
            f"{name} has two channels. If they are grey and alpha, pass Image.fromarray(x, 'LA'); "
            "if it is one picture and something else, pass the picture alone."
        )
    if not front and not back:
        raise PictureError(f"{name} has no axis of channels: the first or the last must be 1, 3 or 4 long.")
    first = front and (tensor or not back)
    if front and back:
        layout, other = ("(C, H, W)", "(H, W, C)") if first else ("(H, W, C)", "(C, H, W)")
        note(f"{name} could be either layout; it was read as {layout}. If it is {other}, move the axis before.")
    return np.moveaxis(values, 0, 2) if first else values  # (C, H, W) -> (H, W, C)


def levels(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers of any accepted dtype and range -> uint8 levels 0..255, same shape. See the module's text."""
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if kind in "iu":
        return _integer_levels(values, name)
    if kind == "f":
        return _float_levels(values, name)
    raise PictureError(f"{name} doesn't hold plain real numbers. Pass integers 0..255 or floats 0..1.")


def sixteen_bit_levels(values: np.ndarray, white: int = 65535) -> np.ndarray:
    """Integers 0..white -> uint8 levels, scaled and rounded: no value is clipped, white stays white."""
    return ((values.astype(np.uint32) * 255 + white // 2) // white).astype(np.uint8)


def _integer_levels(values: np.ndarray, name: str) -> np.ndarray:
    low, high = int(values.min()), int(values.max())
    sixteen_bit = values.dtype.kind == "u" and values.dtype.itemsize == 2
    if low < 0:
        raise PictureError(f"{name} goes down to {low}. Integers 0..255 were expected; undo any shift first.")
    if high > 255 and not sixteen_bit:
        raise PictureError(
            f"{name} goes up to {high}; integers are 0..255, or 0..65535 in 16 bits. Pass x.astype(numpy.uint16) for "
            "the latter, or x / white, with the value that means white."
        )
    if high > 255:
        return sixteen_bit_levels(values)
    if high == 1:
        note(f"{name} holds only 0 and 1; read as levels of 0..255 that is all but black. For a mask pass x > 0.")
    elif sixteen_bit and high > 0:
        note(f"{name} stays below 256, so it was read as 0..255. If it is a dark 16-bit picture, pass x / 65535.")
    return values.astype(np.uint8)


def _float_levels(values: np.ndarray, name: str) -> np.ndarray:
    finite = np.isfinite(values)
    if not finite.all():
        count = int(values.size - finite.sum())
        raise PictureError(f"{name} has {count:,} values that are NaN or infinite. Fill them first: numpy.nan_to_num.")
    low, high = float(values.min()), float(values.max())
    reach = f"{name} reaches from {low:.4g} to {high:.4g}"
    if low < -SLACK:
        raise PictureError(
            f"{reach}: it looks normalised already. Pass the picture itself, or undo it: x * std + mean."
        )
    if 1 + SLACK < high <= 4:
        raise PictureError(f"{reach}: neither 0..1 nor 0..255, as after normalising. Undo that, or pass x / x.max().")
    if high > 255 + SLACK:
        raise PictureError(f"{reach}, expected 0..1 or 0..255. Pass x / white, with the value that means white.")
    if high > 1 + SLACK:
        return np.rint(values).clip(0, 255).astype(np.uint8)
    if high > 0 and (high - low < 0.1 or np.isin(values, (0, 1)).all()):
        note(f"{reach}; it was read as 0..1. If it is an all but black picture of 0..255, pass x / 255.")
    return np.rint(values * 255).clip(0, 255).astype(np.uint8)
