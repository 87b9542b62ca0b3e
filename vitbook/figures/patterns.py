"""Figures of the related work: a mask, pictures side by side, pictures in few colours."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.colors import Normalize, to_rgb
from matplotlib.patches import Rectangle

from vitbook.figures.attention import square
from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas, diverging_map, finish

SMALL = 10  # points, 13 px: titles of small panels


def mask_picture(axis, mask: np.ndarray, query: int | None = None, ink: str = "key") -> None:
    """A mask with ink where a query may read a key, clear elsewhere; the query's row between two lines."""
    picture = np.zeros((*mask.shape, 4))
    picture[..., :3], picture[..., 3] = to_rgb(colour(ink)), mask
    axis.imshow(picture, interpolation="nearest" if len(mask) < 80 else "antialiased", interpolation_stage="rgba")
    square(axis)
    axis.add_patch(
        Rectangle(
            (-0.5, -0.5),
            mask.shape[1],
            mask.shape[0],
            fill=False,
            edgecolor=colour("line"),
            linewidth=0.8,
            clip_on=False,
        )
    )
    if query is not None:
        axis.axhspan(query - 1.5, query + 1.5, facecolor="none", edgecolor=colour("query"), linewidth=1.2)


def pictures_in_a_row(pictures: Mapping[str, np.ndarray], alt: str, height: int = 230):
    """Pixels side by side, each under its words: (H, W, 3) as a photograph, 0..1 or bytes; (H, W) as numbers around zero.

    All arrays of numbers share one scale, symmetric about zero.
    """
    numbers = [abs(values).max() for values in pictures.values() if values.ndim == 2]
    norm = Normalize(-max(numbers), max(numbers)) if numbers else None
    figure, axes = canvas(height=height, columns=len(pictures))
    for axis, (words, values) in zip(np.atleast_1d(axes), pictures.items(), strict=True):
        if values.ndim == 2:
            axis.pcolormesh(values, cmap=diverging_map(), norm=norm)
            axis.invert_yaxis()
        else:
            axis.imshow(values, interpolation="nearest")
        square(axis)
        axis.set_title(words, fontsize=SMALL)
    return finish(figure, alt)


def with_few_colours(picture, side: int, colours: int = 512, rounds: int = 8) -> np.ndarray:
    """The picture at side × side pixels in so many colours at most, found by k-means on its own pixels: (side, side, 3) uint8.

    A colour that no pixel is nearest to stays where it was.
    """
    pixels = np.asarray(picture.convert("RGB").resize((side, side))).reshape(-1, 3).astype(float)
    start = np.random.default_rng(0).choice(len(pixels), min(colours, len(pixels)), replace=False)
    palette = pixels[start]
    for _ in range(rounds):
        nearest = ((pixels[:, None] - palette[None]) ** 2).sum(2).argmin(1)
        members = np.bincount(nearest, minlength=len(palette))
        sums = np.stack([np.bincount(nearest, pixels[:, c], minlength=len(palette)) for c in range(3)], axis=1)
        palette = np.where(members[:, None] > 0, sums / np.maximum(members, 1)[:, None], palette)
    return palette[nearest].round().astype(np.uint8).reshape(side, side, 3)
