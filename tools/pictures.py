"""The picture that a link to the book shows when it is sent to someone: ``book/assets/preview.png``.

    python tools/pictures.py        # draws it afresh from the embedded checkpoint

It is committed, since a preview has to be there before anything is computed. The photograph is the catalogue's default (CC0),
so the picture is under the book's licence (LICENSE-content).
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np

import vitbook
from vitbook.pixels import seen
from vitbook.views.palette import colour
from vitbook.views.plotting import attention_map, mpl_style

TARGET = Path(__file__).parents[1] / "book" / "assets" / "preview.png"
WIDTH, HEIGHT = 1200, 630  # px, what the networks ask for
SIDE = 0.66  # of the height, each of the two pictures
LAYER, HEAD = 10, 5  # counted from 1, as in the book
GAP = 4  # px between patches


def draw() -> None:
    """The photograph cut in patches and one head's map of it, under the book's name."""
    checkpoint = vitbook.load_checkpoint("embedded")
    config, picture = checkpoint.config, vitbook.PICTURES.default
    trace = vitbook.run(checkpoint, vitbook.preprocess(picture, checkpoint))
    weights = trace.attention(layer=LAYER, head=HEAD, query=0)[1:].reshape(config.rows, config.columns)
    with plt.rc_context(mpl_style()):
        figure = plt.figure(figsize=(WIDTH / 100, HEIGHT / 100), layout="none", facecolor=colour("ground"))
        figure.text(0.045, 0.86, "The Vision Transformer, Executed", size=34, weight="bold", color=colour("text"))
        words = "An Image is Worth\n16x16 Words: every\nequation, run on\na real model."
        figure.text(0.045, 0.41, words, size=16, color=colour("muted"), linespacing=1.7, va="center")
        width = SIDE * HEIGHT / WIDTH
        photo, grid = (figure.add_axes((left, 0.08, width, SIDE)) for left in (0.97 - 2 * width - 0.03, 0.97 - width))
        photo.imshow(apart(np.asarray(seen(vitbook.load_picture(picture), checkpoint)), config.P))
        grid.pcolormesh(weights, cmap=attention_map(), vmin=0, edgecolors=colour("ground"), linewidth=1.5)
        grid.invert_yaxis()
        for axes in (photo, grid):
            axes.set_axis_off()
        figure.savefig(TARGET, dpi=100, facecolor=colour("ground"))
        plt.close(figure)


def apart(pixels: np.ndarray, side: int) -> np.ndarray:
    """The picture (H, W, 3) with a white gap between its patches, drawn at twice its size."""
    large = pixels.repeat(2, axis=0).repeat(2, axis=1)
    H, W, _ = large.shape
    gaps_y, gaps_x = (np.repeat(np.arange(2 * side, size, 2 * side), GAP) for size in (H, W))
    large = np.insert(large, gaps_y, 255, axis=0)
    return np.insert(large, gaps_x, 255, axis=1)


if __name__ == "__main__":
    draw()
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
