"""Tensors and photographs as small pictures inside a page: data URIs that look right on a light and on a dark ground."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from vitbook.figures.palette import attention_colours, diverging_colours

_STEPS = 24  # shades to each side of zero; more cannot be told apart and pack worse
# From the middle of the dark maps: light enough for a dark ground, strong enough for a white one.
COOL, WARM = (diverging_colours("dark", 257)[i] for i in (64, 192))
_GLOW = attention_colours("dark", 256)[110]


def signed_picture(values: np.ndarray, top: float | None = None) -> str:
    """Numbers around zero, (rows, columns) -> a PNG data URI: cool below zero, warm above, clear at zero.

    top: the size at which the ink is full; by default the 99th percentile of |values|, so that one giant does not
    leave all others blank. Raises ValueError unless values is a finite matrix.
    """
    values = _matrix(values)
    if top is None:
        top = float(np.percentile(np.abs(values), 99))
    level = np.rint(np.clip(values / (top or 1.0), -1, 1) * _STEPS).astype(int) + _STEPS  # 0 .. 2 * _STEPS
    alpha = np.abs(np.arange(2 * _STEPS + 1) - _STEPS) * 255 // _STEPS
    colours = [COOL if i < _STEPS else WARM for i in range(2 * _STEPS + 1)]
    return _palette_png(level, colours, alpha)


def weight_picture(weights: np.ndarray, top: float | None = None) -> str:
    """Weights from 0, (rows, columns) -> a PNG data URI: clear at 0, full ink at `top` (by default the largest weight)."""
    weights = _matrix(weights)
    top = float(weights.max()) if top is None else top
    level = np.rint(np.clip(weights / (top or 1.0), 0, 1) * 2 * _STEPS).astype(int)
    return _palette_png(level, [_GLOW] * (2 * _STEPS + 1), np.arange(2 * _STEPS + 1) * 255 // (2 * _STEPS))


def photo(picture: Image.Image, quality: int = 88) -> str:
    """An RGB picture -> a JPEG data URI."""
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=quality, optimize=True)
    return data_uri("image/jpeg", out.getvalue())


def exact_picture(picture: Image.Image) -> str:
    """A picture -> a PNG data URI, every pixel as it is."""
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return data_uri("image/png", out.getvalue())


def data_uri(kind: str, data: bytes) -> str:
    """Bytes of a kind such as "image/webp" as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def thinned(values: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """At most so many rows and columns of a matrix, evenly picked and never averaged; all of them where they fit."""
    values = _matrix(values)
    most = zip(values.shape, (rows, columns), strict=True)
    return values[np.ix_(*(np.linspace(0, n - 1, min(n, m)).round().astype(int) for n, m in most))]


def _matrix(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"expected a matrix of finite numbers, got shape {values.shape}")
    return values


def _palette_png(level: np.ndarray, colours, alpha: np.ndarray) -> str:
    picture = Image.fromarray(level.astype(np.uint8), mode="P")
    picture.putpalette([int(c[i : i + 2], 16) for c in colours for i in (1, 3, 5)])
    out = io.BytesIO()
    picture.save(out, "PNG", transparency=bytes(int(a) for a in alpha), optimize=True)
    return data_uri("image/png", out.getvalue())
