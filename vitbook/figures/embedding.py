"""Parts of figures: a photograph as the model sees it, a patch outlined, a small map."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from vitbook.figures.attention import bare as unframed
from vitbook.figures.palette import colour
from vitbook.patches import place_of
from vitbook.pixels import seen


def bare(axis, title: str = "") -> None:
    """An axis without ticks and frame, as `attention.bare` leaves it, whose cells stay square: for pictures and maps."""
    unframed(axis)
    axis.set(aspect="equal", title=title)


def outline(axis, token: int, config, ink: str = "query", P: int | None = None) -> None:
    """A frame round the patch of a token: in pixels of x by default, in cells of the grid with P = 1."""
    P = config.P if P is None else P
    row, column = place_of(token, config)
    for shade, width in (("ground", 4), (ink, 2)):
        frame = Rectangle((column * P, row * P), P, P, fill=False, edgecolor=colour(shade), linewidth=width)
        axis.add_patch(frame)


def photograph(axis, picture, checkpoint, grid: bool = True) -> None:
    """The pixels that the model sees, with the patch grid on them."""
    config = checkpoint.config
    axis.imshow(_rgb(np.asarray(seen(picture, checkpoint))), extent=(0, config.W, config.H, 0))
    bare(axis)
    if grid:
        lines = dict(color="white", linewidth=0.6, alpha=0.75)
        axis.vlines(np.arange(config.P, config.W, config.P), 0, config.H, **lines)
        axis.hlines(np.arange(config.P, config.H, config.P), 0, config.W, **lines)


def mesh(axis, values, cmap, norm):
    """A small map as vector cells, row 0 at the top; returns what a colour bar needs."""
    drawn = axis.pcolormesh(np.asarray(values), cmap=cmap, norm=norm, edgecolor="face", linewidth=0.2)
    axis.invert_yaxis()
    bare(axis)
    axis.spines[:].set(visible=True, color=colour("line"))  # a map of zeros still has an edge
    return drawn


def _rgb(pixels: np.ndarray) -> np.ndarray:
    """(H, W, 1) or (H, W) -> (H, W, 3); three channels stay as they are."""
    pixels = pixels if pixels.ndim == 3 else pixels[..., None]
    return pixels.repeat(3, axis=2) if pixels.shape[2] == 1 else pixels
