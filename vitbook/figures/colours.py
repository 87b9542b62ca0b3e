"""Numbers -> colours, as pure functions on arrays; the explorer's script does the same arithmetic in the page."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vitbook.figures.palette import attention_colours, diverging_colours

STAGE = (12, 14, 20)  # a photograph stands on a dark stage in both themes
CURVE = 0.6  # light = (weight / largest weight) ** CURVE, so that half of the largest weight is still seen
SIGNED_STEPS = 255  # an odd number, so that zero has a colour of its own


@lru_cache
def weight_table(theme: str = "light") -> np.ndarray:
    """(256, 3) uint8: the colour of 0 first, of the top of the scale last."""
    return _table(attention_colours(theme, 256))


@lru_cache
def signed_table(theme: str = "light") -> np.ndarray:
    """(255, 3) uint8: the colour of -top first, of 0 in the middle, of +top last."""
    return _table(diverging_colours(theme, SIGNED_STEPS))


def paint(weights: np.ndarray, top: float, theme: str = "light") -> np.ndarray:
    """Weights (...,) >= 0 -> RGB (..., 3) uint8 on a scale from 0 to top; a top of 0 paints everything as 0.

    Raises ValueError when a weight lies beyond the scale: nothing is clipped silently.
    """
    return weight_table(theme)[_steps(weights, top, 0.0, len(weight_table(theme)) - 1)]


def paint_signed(numbers: np.ndarray, top: float, theme: str = "light") -> np.ndarray:
    """Numbers (...,) -> RGB (..., 3) uint8 on a scale from -top to top.  Raises ValueError beyond it."""
    half = SIGNED_STEPS // 2
    return signed_table(theme)[half + _steps(numbers, top, -top, half)]


def veil(weights: np.ndarray, top: float) -> np.ndarray:
    """Weights (...,) >= 0 -> RGBA (..., 4) uint8 to lie on a photograph: the more of a patch is read, the less dark it is."""
    light = (np.asarray(weights, np.float64) / top).clip(0, 1) ** CURVE if top > 0 else np.zeros(np.shape(weights))
    alpha = np.floor(255 * (1 - light) + 0.5)[..., None]
    return np.concatenate([np.broadcast_to(STAGE, (*alpha.shape[:-1], 3)), alpha], -1).astype(np.uint8)


def _steps(numbers: np.ndarray, top: float, bottom: float, steps: int) -> np.ndarray:
    numbers = np.asarray(numbers, np.float64)
    if not (np.isfinite(numbers).all() and (numbers <= top).all() and (numbers >= bottom).all()):
        raise ValueError(
            f"the scale runs from {bottom:g} to {top:g}, the numbers from {numbers.min():g} to {numbers.max():g}"
        )
    # floor(x + 1/2), not rint: the page's Math.round does the same at halves
    return np.floor(numbers * steps / top + 0.5).astype(int) if top > 0 else np.zeros(numbers.shape, int)


def _table(colours: tuple[str, ...]) -> np.ndarray:
    return np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours], np.uint8)
