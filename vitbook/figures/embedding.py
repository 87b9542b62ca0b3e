"""Figures of the first chapters: the picture, its patches, the projection, the positions.

Each function draws one message and returns a `Drawing` that shows itself and carries its alternative text.
"""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.colors import CenteredNorm
from matplotlib.patches import Rectangle

from vitbook.figures.attention import bare as unframed
from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas, diverging_map, finish
from vitbook.patches import assemble, box_of, cut, describe, place_of
from vitbook.pixels import seen, unnormalise


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


def patch_grid(picture, checkpoint, mark: int = 0):
    """The photograph under its grid, and the same patches apart; patch `mark` framed in both."""
    config = checkpoint.config
    token = mark + 1
    row, column = place_of(token, config)
    figure, (left, right) = canvas(height=round(350 * config.H / config.W) + 50, columns=2)
    photograph(left, picture, checkpoint)
    outline(left, token, config, "picture")
    left.set_title(f"{config.H} × {config.W} pixels", fontweight="normal")

    gap = max(2, config.P // 4)
    pitch = config.P + gap
    apart = np.zeros((config.rows * pitch - gap, config.columns * pitch - gap, 4), np.uint8)
    pixels = _rgb(np.asarray(seen(picture, checkpoint)))
    for t in range(1, config.N + 1):
        r, c = place_of(t, config)
        cell = apart[r * pitch : r * pitch + config.P, c * pitch : c * pitch + config.P]
        cell[..., :3], cell[..., 3] = pixels[box_of(t, config)], 255
    right.imshow(apart)
    bare(right)
    frame = (column * pitch - gap / 2, row * pitch - gap / 2)
    right.add_patch(Rectangle(frame, pitch, pitch, fill=False, edgecolor=colour("picture"), linewidth=2))
    right.set_title(f"{config.N} patches; framed: patch {mark}", fontweight="normal")
    alt = (
        f"The photograph, {config.H} by {config.W} pixels, under a grid of {config.rows} by {config.columns} "
        f"patches, and beside it the same {config.N} patches pulled apart. Framed in both: {describe(token, config)}."
    )
    return finish(figure, alt)


def one_patch(x, checkpoint, patch: int):
    """One patch as a picture, as C channels of numbers, and as the row of P²C numbers that the model gets."""
    config, token = checkpoint.config, patch + 1
    pixels = x[:, *box_of(token, config)]
    row = cut(x, config.P)[patch]
    norm = CenteredNorm(halfrange=row.abs().max().item())
    names = ("red", "green", "blue") if config.C == 3 else tuple(f"channel {c}" for c in range(config.C))
    figure, axes = canvas(height=290, mosaic=[["picture", *names], ["row"] * (config.C + 1)], height_ratios=[4, 1])
    whole = unnormalise(x, checkpoint.preprocessing)[box_of(token, config)]
    axes["picture"].imshow(_rgb(whole))
    bare(axes["picture"])
    axes["picture"].set_title(f"patch {patch}", fontweight="normal")
    for name, channel in zip(names, pixels, strict=True):
        axes[name].pcolormesh(channel.flip(0), cmap=diverging_map(), norm=norm)
        bare(axes[name])
        axes[name].set_title(name, fontweight="normal")
    strip = axes["row"].pcolormesh(row[None], cmap=diverging_map(), norm=norm)
    axes["row"].set(
        yticks=[], xticks=[c * config.P**2 for c in range(config.C + 1)], xlabel=f"its row of {len(row)} numbers"
    )
    axes["row"].spines[:].set_visible(False)
    figure.colorbar(strip, ax=list(axes.values()), label="value after normalising", shrink=0.8)
    alt = (
        f"Patch {patch} enlarged, its {config.C} channels as maps of numbers around zero, and the row of {len(row)} numbers that the "
        f"model gets, one channel after the other. The values run from {row.min():.2f} to {row.max():.2f}."
    )
    return finish(figure, alt)


def filters(E, config, count: int = 28):
    """The first principal components of E as small pictures, the strongest first (as in Fig. 7 left of the paper)."""
    U, _, _ = torch.linalg.svd((E - E.mean(1, keepdim=True)).double(), full_matrices=False)
    columns = min(7, count)
    rows = -(-count // columns)
    figure, axes = canvas(height=round(rows * 700 / columns), columns=columns, rows=rows, squeeze=False)
    for index, axis in enumerate(axes.flat):
        bare(axis)
        if index < min(count, U.shape[1]):
            tile = assemble(U[None, :, index], 1, 1, config.C).permute(1, 2, 0).numpy()
            axis.imshow(_rgb(0.5 + tile / (2 * np.abs(tile).max())))
            # not plain white, which is the page's ground and dark in the dark
            axis.text(0.03, 0.95, str(index + 1), transform=axis.transAxes, va="top", color="#fefefe", fontsize=8,
                      bbox=dict(facecolor="black", alpha=0.45, linewidth=0, pad=1.5))  # fmt: skip
    alt = (
        f"The {min(count, U.shape[1])} strongest principal components of E as small pictures of {config.P} by {config.P} pixels, "
        "numbered from the strongest."
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
