"""Figures of the first chapters: the picture, its patches, the projection, the positions.

Each function draws one message and returns a `Drawing` that shows itself and carries its alternative text.
"""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from vitbook.figures.attention import bare as unframed
from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas, diverging_map, finish
from vitbook.maps import position_similarity
from vitbook.patches import describe, place_of
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


def similarity_tiles(E_pos, config):
    """One tile a patch: how similar its position vector is to every other's (as in Fig. 7 centre of the paper)."""
    tiles = position_similarity(E_pos, config).numpy()
    height, width = config.rows, config.columns
    image = np.full((config.rows * (height + 1) - 1, config.columns * (width + 1) - 1), np.nan)
    for t in range(1, config.N + 1):
        r, c = place_of(t, config)
        image[r * (height + 1) : r * (height + 1) + height, c * (width + 1) : c * (width + 1) + width] = tiles[t - 1]
    figure, axis = canvas(height=round(620 * image.shape[0] / image.shape[1]))
    drawn = axis.imshow(image, cmap=diverging_map(), norm=Normalize(-1, 1))
    bare(axis)
    axis.set(xlabel="column of the patch", ylabel="row of the patch")
    bar = figure.colorbar(drawn, ax=axis, label="cosine similarity of position vectors", shrink=0.8)
    bar.solids.set_rasterized(True)  # it keeps its colours in the dark, as the tiles do
    alt = (
        f"{config.N} tiles in {config.rows} rows and {config.columns} columns. Each shows how similar one patch's "
        f"position vector is to all others; cosine similarities run from {np.nanmin(image):.2f} to 1."
    )
    return finish(figure, alt)


def similarity_maps(E_pos, config, tokens, titles=None):
    """A few tiles of `similarity_tiles`, large enough to read, each with its own patch framed."""
    maps = position_similarity(E_pos, config)
    figure, axes = canvas(height=260, columns=len(tokens), squeeze=False)
    for axis, token, title in zip(axes.flat, tokens, titles or [describe(t, config) for t in tokens], strict=True):
        mesh(axis, maps[token - 1], diverging_map(), Normalize(-1, 1))
        outline(axis, token, config, "position", P=1)
        axis.set_title(title, fontweight="normal", fontsize=11)
    figure.colorbar(axes.flat[0].collections[0], ax=list(axes.flat), label="cosine similarity", shrink=0.8)
    alt = (
        "Cosine similarity of a position vector with all others, for "
        + "; ".join(describe(t, config) for t in tokens)
        + ". "
        f"Lowest value shown {min(maps[t - 1].min().item() for t in tokens):.2f}."
    )
    return finish(figure, alt)


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
