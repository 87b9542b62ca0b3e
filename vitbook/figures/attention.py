"""Attention as light: the photograph is dimmed, and what a query reads comes up in full contrast.  Chapters: Equation 2, heads."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle
from PIL import Image, ImageFilter

from vitbook.config import ViTConfig
from vitbook.figures.colours import CURVE, STAGE
from vitbook.figures.palette import colour
from vitbook.figures.plotting import PHONE_WIDTH, canvas
from vitbook.pixels import seen, unnormalise, view_box

FADED = 0.6  # of the way from the stage to the grey photograph, where nothing is read: it is still seen when projected
GLOW = 24  # levels of 255 that full light adds, so that a dark patch is seen too


def tokens_in(box: tuple[float, float, float, float], photo: Image.Image, checkpoint) -> list[int]:
    """The tokens of the patches under a box of the photograph, at least one.

    box: (left, top, right, bottom) as parts of the photograph's width and height, whatever grid the checkpoint cuts.
    """
    config = checkpoint.config
    left, top, right, bottom = view_box(photo.size, checkpoint.preprocessing)

    def span(low, high, start, end, size, count):
        first, last = (round((part * size - start) / (end - start) * count) for part in (low, high))
        first = min(max(first, 0), count - 1)
        return range(first, min(max(last, first + 1), count))

    rows = span(box[1], box[3], top, bottom, photo.height, config.rows)
    columns = span(box[0], box[2], left, right, photo.width, config.columns)
    return [row * config.columns + column + 1 for row in rows for column in columns]


def lit(
    photo: Image.Image, weights, config: ViTConfig, size: tuple[int, int] = (690, 460), dim: float = 1.0
) -> np.ndarray:
    """The photograph (height, width, 3) in which a patch is the lighter the more of it is read; weights (N+1,) of one query.

    Full light is the largest weight on a patch of this row.  dim: how light the grey scene stays where nothing is read.
    """
    grid = np.asarray(weights[1:], np.float64).reshape(config.rows, config.columns)
    light = Image.fromarray(np.uint8(255 * (grid / max(grid.max(), 1e-12)) ** CURVE)).resize(size, Image.NEAREST)
    base = photo.convert("RGB").resize(size, Image.LANCZOS)
    grey = Image.blend(Image.new("RGB", size, STAGE), base.convert("L").convert("RGB"), FADED)
    share = np.asarray(light)[..., None] / 255
    return (np.asarray(grey) * (1 - share) * dim + (np.asarray(base) * 1.1 + GLOW) * share).clip(0, 255).astype("uint8")


def as_figure_6(weights, config: ViTConfig) -> np.ndarray:
    """The mask (H, W) from 0 to 1 that the paper's authors lay on a photograph in Figures 6 and 14; weights (N+1,) of one query.

    Their recipe (google-research/vision_transformer, issue 27): the largest weight is set to 1, the grid is enlarged with the
    Lanczos filter, rounded to grey levels, blurred with a radius of P pixels, and stretched from 0 to 1.
    """
    grid = np.asarray(weights[1:], np.float32).reshape(config.rows, config.columns)
    mask = Image.fromarray(grid / grid.max() * 255).resize((config.W, config.H), Image.LANCZOS).convert("L")
    mask = np.asarray(mask.filter(ImageFilter.GaussianBlur(config.P)), np.float64)
    return (mask - mask.min()) / max(mask.max() - mask.min(), 1)


def frame(axis, tokens, config: ViTConfig, size, ink: str, width: float = 2.0, style="-") -> None:
    """A frame round a rectangle of tokens, on a picture of that size (width, height)."""
    rows, columns = [(t - 1) // config.columns for t in tokens], [(t - 1) % config.columns for t in tokens]
    w, h = size[0] / config.columns, size[1] / config.rows
    wide, high = (max(columns) - min(columns) + 1) * w, (max(rows) - min(rows) + 1) * h
    axis.add_patch(
        Rectangle(
            (min(columns) * w, min(rows) * h), wide, high, fill=False, edgecolor=ink, linewidth=width, linestyle=style
        )
    )


def spotlight(
    axis, photo, weights, config: ViTConfig, query=None, boxes=(), size=(690, 460), title: str = "", dim: float = 1.0
) -> None:
    """What a query reads, as light on the photograph; the query framed in its colour, other places (lists of tokens) dashed."""
    axis.imshow(lit(photo, weights, config, size, dim))
    if query:
        frame(axis, [query], config, size, colour("query", "dark"), 2.4)
    for tokens in boxes:
        frame(axis, tokens, config, size, "#f4f4f4", 1.2, (0, (3, 2)))
    bare(axis)
    axis.set(anchor="NW")
    axis.set_title(title, fontsize=10.5, fontweight="normal")


def bare(axis) -> None:
    """No ticks and no border."""
    axis.set(xticks=[], yticks=[])
    axis.minorticks_off()  # those of a logarithmic axis would stay
    axis.spines[:].set_visible(False)


def square(axis, title: str = "") -> None:
    """No ticks and no border, and cells that stay square: for pictures and maps."""
    bare(axis)
    axis.set(aspect="equal", title=title)


def thumbnails(photo: Image.Image, checkpoint) -> np.ndarray:
    """(N, P, P, 3) uint8: the patches as the model sees them, before they become numbers."""
    config = checkpoint.config
    pixels = np.asarray(seen(photo, checkpoint).convert("RGB"))
    squares = pixels.reshape(config.rows, config.P, config.columns, config.P, 3)
    return squares.transpose(0, 2, 1, 3, 4).reshape(config.N, config.P, config.P, 3)


def ranking(axis, weights, patches: np.ndarray, names, count: int = 6) -> None:
    """The largest weights of a row as bars, each with its patch and its name; names: token -> words."""
    top = weights.argsort(descending=True)[:count].tolist()
    count = len(top)
    axis.barh(range(count), weights[top], color=colour("query"), height=0.62)
    for y, token in enumerate(top):
        axis.text(float(weights[token]) + 0.008, y, f"{weights[token]:.3f}  {names(token)}", va="center", fontsize=10.5)
        if token:
            inset = axis.inset_axes([-0.115, 1 - (y + 0.93) / count, 0.1, 0.86 / count])
            inset.imshow(patches[token - 1])
            inset.axis("off")
        else:
            axis.text(-0.02, y, "★", color=colour("class"), fontsize=15, ha="right", va="center")
    axis.set(ylim=(count - 0.5, -0.5), xlim=(0, 1.25 * max(float(weights.max()), 0.2)))
    bare(axis)


def as_photo(x, checkpoint) -> Image.Image:
    """A changed picture x (C, H, W) as the model sees it, to be drawn like a photograph."""
    pixels = unnormalise(x, checkpoint.preprocessing)
    return Image.fromarray(pixels.squeeze()).convert("RGB")


def lay_out(patches: np.ndarray, config: ViTConfig) -> np.ndarray:
    """(N, P, P, 3) -> (H, W, 3): patches in their order, row by row."""
    grid = patches.reshape(config.rows, config.columns, config.P, config.P, 3)
    return grid.transpose(0, 2, 1, 3, 4).reshape(config.H, config.W, 3)


#: The boxes of Equation 2 from top to bottom: (x, y, width), ink, words, step of the chapter; shapes are filled in.
_BOXES = {
    "z": ((31, 108, 38), "stream", "tokens z", None),
    "n": ((31, 90, 38), "muted", "LayerNorm: n", 4),
    "q": ((0.5, 71, 31), "query", "queries q", 5),
    "k": ((34.5, 71, 31), "key", "keys k", 5),
    "v": ((68.5, 71, 31), "value", "values v", 5),
    "A": ((0.5, 52, 65), "query", "A = softmax(q kᵀ/√D_h)", 6),
    "sa": ((31, 34, 38), "value", "messages A v", 3),
    "msa": ((31, 17, 38), "muted", "joined · U_msa", 7),
    "out": ((31, 0.5, 38), "stream", "sum: z′", 8),
}
_ARROWS = (
    ((50, 108), (50, 101)),
    *(((50, 90), (50, 86.5), (x, 86.5), (x, 82)) for x in (16, 50, 84)),
    ((16, 71), (16, 63)),
    ((50, 71), (50, 63)),
    ((50, 52), (50, 45)),
    ((84, 71), (84, 39.5), (69, 39.5)),
    ((50, 34), (50, 28)),
    ((50, 17), (50, 11.5)),
    ((31, 113.5), (-6, 113.5), (-6, 6), (31, 6)),  # the residual line
)


def flow_of_equation_2(config: ViTConfig):
    """Equation 2 as boxes and arrows with the shapes of this config; the steps are those of the chapter."""
    tokens = config.N + 1
    rows, heads = f"{tokens} × {config.D}", f"{config.heads} × {tokens} × {config.D_h}"
    shapes = dict.fromkeys(("z", "n", "msa", "out"), rows) | dict.fromkeys(("q", "k", "v", "sa"), heads)
    shapes["A"] = f"{config.heads} × {tokens} × {tokens}"
    figure, axis = canvas(height=480, width=PHONE_WIDTH)
    axis.set(xlim=(-8, 101), ylim=(0, 120))
    axis.axis("off")
    for name, ((x, y, wide), ink, words, step) in _BOXES.items():
        axis.add_patch(Rectangle((x, y), wide, 11, facecolor=colour(ink), alpha=0.13, edgecolor="none"))
        axis.add_patch(Rectangle((x, y), wide, 11, fill=False, edgecolor=colour(ink), linewidth=1.3))
        middle = {"x": x + wide / 2, "ha": "center", "va": "center"}
        axis.text(y=y + 7.6, s=words, fontsize=10, **middle)
        axis.text(y=y + 3, s=shapes[name], fontsize=9.8, color=colour("muted"), **middle)
        if step and name not in "qkvA":
            at, side = (x - 2, "right") if name == "sa" else (x + wide + 2, "left")
            axis.text(at, y + 7.6, f"step {step}", fontsize=9.8, color=colour("muted"), va="center", ha=side)
    axis.text(101, 89.6, "step 5", fontsize=9.8, color=colour("muted"), va="center", ha="right")
    axis.text(68, 57.5, "step 6", fontsize=9.8, color=colour("muted"), va="center")
    for points in _ARROWS:
        axis.plot(*zip(*points, strict=True), color=colour("muted"), linewidth=1.2)
        head = {"arrowstyle": "->", "color": colour("muted"), "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", points[-1], points[-2], arrowprops=head)
    axis.text(6, 8.8, "+ z", fontsize=10, color=colour("muted"), ha="center")
    return figure
