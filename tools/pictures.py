"""The pictures outside the chapters: what a link to the book shows, and the explorer in motion for the README.

    python tools/pictures.py preview           # book/assets/preview.png, drawn afresh from the embedded checkpoint
    python tools/pictures.py explorer [SITE]   # book/assets/explorer.webp, taken from the built book in Chromium

Both are committed, since they have to be there before anything is computed. The photographs are the catalogue's (CC0), so the
pictures are under the book's licence (LICENSE-content).
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import vitbook
from vitbook.figures.palette import colour
from vitbook.figures.plotting import attention_map, mpl_style
from vitbook.pixels import seen

ROOT = Path(__file__).parents[1]
PREVIEW = ROOT / "book" / "assets" / "preview.png"
EXPLORER = ROOT / "book" / "assets" / "explorer.webp"
WIDTH, HEIGHT = 1200, 630  # px, what the networks ask for
SIDE = 0.66  # of the height, each of the two pictures
LAYER, HEAD = 10, 5  # counted from 1, as in the book
GAP = 4  # px between patches


def preview() -> None:
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
        figure.savefig(PREVIEW, dpi=100, facecolor=colour("ground"))
        plt.close(figure)


def apart(pixels: np.ndarray, side: int) -> np.ndarray:
    """The picture (H, W, 3) with a white gap between its patches, drawn at twice its size."""
    large = pixels.repeat(2, axis=0).repeat(2, axis=1)
    H, W, _ = large.shape
    gaps_y, gaps_x = (np.repeat(np.arange(2 * side, size, 2 * side), GAP) for size in (H, W))
    large = np.insert(large, gaps_y, 255, axis=0)
    return np.insert(large, gaps_x, 255, axis=1)


# What the animation goes through: (picture, layer, head, query), and how long each stands, in ms.
SCENES = [
    *((("chelsea", layer, 5, "cls"), 450) for layer in (1, 3, 5, 7, 9, 10)),
    (("chelsea", 10, 5, "cls"), 900),
    *((("chelsea", 10, head, "cls"), 450) for head in (1, 2, 3, 4, 6)),
    *((("chelsea", 3, 4, query), 450) for query in (60, 61, 62, 76, 90, 104)),
    *((("coffee", layer, 1, "cls"), 600) for layer in (10, 11, 12)),
]
ACROSS = 760  # px


def explorer(site: Path) -> None:
    """Go through the scenes in a browser and keep each as a frame."""
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, str(ROOT / "tests"))
    from chromium import Contexts, Visitor, find_chromium

    frames = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(playwright), args=["--no-sandbox"])
        page = Visitor(Contexts(browser))(
            (site / "book" / "looking_at_heads.html").as_uri(), width=ACROSS + 60, height=1000
        ).page
        view = page.locator(".vbx-explorer:not(.vbx-first)").first
        view.scroll_into_view_if_needed()
        for (picture, layer, head, query), _ in SCENES:
            page.evaluate(
                "hash => { location.hash = hash; }",
                f"explorer=heads&picture={picture}&layer={layer}&head={head}&query={query}",
            )
            page.wait_for_timeout(400)
            box = view.locator(".vbx-view").bounding_box()
            below = view.get_by_role("button", name="at a glance").first.bounding_box()
            shown = {**box, "height": below["y"] - box["y"] - 10}
            frames.append(Image.open(io.BytesIO(page.screenshot(clip=shown))).convert("RGB"))
        browser.close()
    height = max(frame.height for frame in frames)
    still = [Image.new("RGB", (frames[0].width, height), "white") for _ in frames]
    for canvas, frame in zip(still, frames, strict=True):
        canvas.paste(frame)
    durations = [duration for _, duration in SCENES]
    still[0].save(EXPLORER, save_all=True, append_images=still[1:], duration=durations, loop=0, quality=70, method=6)


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "preview":
        preview()
        written = PREVIEW
    elif what == "explorer":
        explorer(Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "_build" / "html").resolve())
        written = EXPLORER
    else:
        sys.exit(__doc__)
    print(f"{written.name}: {written.stat().st_size:,} bytes")
