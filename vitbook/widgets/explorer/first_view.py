"""The explorer's first state as plain HTML: true before any script has run, and all there is where none runs."""

from __future__ import annotations

from html import escape

import numpy as np
from PIL import Image

from vitbook.figures.colours import paint, veil
from vitbook.figures.palette import THEMES
from vitbook.figures.thumbnails import data_uri, exact_picture
from vitbook.pictures import PICTURES, load_picture
from vitbook.widgets.explorer.atlas import photograph
from vitbook.widgets.kit import style

SIDE = 480  # px of the photograph on the page


def html(explorer) -> str:
    """The title, the photograph in the light of its map, the bare map and a line of figures, as widget.js will draw them."""
    view, config = explorer._view, explorer.checkpoint.config
    card = view.pictures[view.picture]
    name, weights, to_class, top = _shown(explorer)
    most = int(weights.argmax())
    words = (
        f"{name}: [class] gets {to_class:.3f}; the largest weight on a patch is {weights.max():.4f}, "
        f"at row {most // config.columns}, column {most % config.columns}."
    )
    photo = data_uri("image/webp", photograph(load_picture(PICTURES[card["name"]]), SIDE))
    left, above, right, below = (100 * v for v in card["box"])
    seen = f' style="left:{left}%;top:{above}%;width:{right - left}%;height:{below - above}%"'
    image, spoken = f'<img alt="{escape(card["alt"])}" src="{photo}">', f' role="img" aria-label="{escape(words)}"'
    cells = _cells(weights, top, config)
    dark = exact_picture(Image.fromarray(veil(weights.reshape(config.rows, config.columns), weights.max())))
    dark = f'<div class="vbx-cells" style="background-image:url({dark})"></div>'
    panels = _panel(
        "photo", card["width"] / card["height"], f'{image}<div class="vbx-seen"{seen}>{dark}</div>', card["title"]
    )
    bare = f"The {config.rows} × {config.columns} weights, bare"
    panels += _panel("grid", config.columns / config.rows, f'<div class="vbx-seen">{cells}</div>', bare, spoken)
    return (
        f'<div class="vbx-first vb-widget vbx-explorer" data-for="{view.uid}"><style>{style("explorer/widget.css")}</style>'
        '<div class="vbx-controls"><noscript>To choose other maps, allow this page its scripts.</noscript></div>'
        f'<div class="vbx-view"><p class="vbx-title">{escape(name)}</p>'
        f'<div class="vbx-stage" style="--vb-columns:{_columns(card, config)}">{panels}</div>'
        f'<p class="vbx-status">{escape(words)}</p></div></div>'
    )


def _shown(explorer) -> tuple[str, np.ndarray, float, float]:
    """The map that is chosen: its name, its weights (N,), what [class] gets, and the top of its colour scale."""
    view, config = explorer._view, explorer.checkpoint.config
    rows, to_class = _rows(view, config)
    # of a layer the mean stands first, and is no peer of its heads; a stack of rollouts has no mean
    index, first, name = {
        "rollout": (explorer.layer - 1, 0, f"Rollout up to layer {explorer.layer}"),
        "mean": (0, 1, f"Layer {explorer.layer}, mean of {config.heads} heads"),
        "head": (explorer.head, 1, f"Layer {explorer.layer}, head {explorer.head}"),
    }[explorer.show]
    top = rows[index] if explorer.scale == "map" else rows[first:]
    return name, rows[index], to_class[index], top.max()


def _cells(weights: np.ndarray, top: float, config) -> str:
    grid = weights.reshape(config.rows, config.columns)
    pictures = ((theme, exact_picture(Image.fromarray(paint(grid, top, theme)))) for theme in THEMES)
    # As backgrounds, since they are stretched to the shape of the photograph, as pictures should not be.
    return "".join(
        f'<div class="vbx-cells vbx-cells-{theme}" style="background-image:url({uri})"></div>'
        for theme, uri in pictures
    )


def _panel(kind: str, aspect: float, body: str, caption: str, spoken: str = "") -> str:
    return (
        f'<figure class="vbx-panel"><div class="vbx-head"></div><div class="vbx-frame vbx-{kind}" '
        f'style="--vb-aspect:{aspect:.4f}"{spoken}>{body}</div><figcaption>{escape(caption)}</figcaption></figure>'
    )


def _columns(card: dict, config) -> str:
    """Photograph and grid as wide as their shapes ask, as in widget.js."""
    shares = (card["width"] / card["height"], config.columns / config.rows)
    return " ".join(f"minmax(0,{min(max(share, 0.7), 1.7):.4f}fr)" for share in shares)


def _rows(view, config) -> tuple[np.ndarray, np.ndarray]:
    """The page's own rows again: weights on patches (maps, N), and on [class] (maps,)."""
    data, count = view.first_rows, len(view.first_rows) // (12 + config.N)
    _, to_class, tops = np.frombuffer(data[: 12 * count], "<f4").reshape(3, count)
    codes = np.frombuffer(data[12 * count :], np.uint8).reshape(count, config.N)
    return codes / 255 * tops[:, None].astype(np.float64), to_class
