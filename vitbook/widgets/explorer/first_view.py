"""The explorer's first state as plain HTML: true before any script has run, and all there is where none runs."""

from __future__ import annotations

import base64
import io
from html import escape

import numpy as np
from PIL import Image

from vitbook.figures.colours import paint
from vitbook.figures.palette import THEMES
from vitbook.pictures import PICTURES, load_picture
from vitbook.widgets.explorer.atlas import photograph
from vitbook.widgets.kit import style

SIDE = 480  # px of the photograph on the page


def html(explorer) -> str:
    """The title, the photograph under its map, the bare map and a line of figures, as widget.js will draw them."""
    view, config = explorer._view, explorer.checkpoint.config
    card = view.pictures[view.picture]
    rows, to_class = _rows(view, config)
    if explorer.show == "rollout":
        index, shared, name = explorer.layer - 1, rows.max(), f"Rollout up to layer {explorer.layer}"
    elif explorer.show == "mean":
        index, shared, name = 0, rows[1:].max(), f"Layer {explorer.layer}, mean of {config.heads} heads"
    else:
        index, shared, name = explorer.head, rows[1:].max(), f"Layer {explorer.layer}, head {explorer.head}"
    weights = rows[index].reshape(config.rows, config.columns)
    top = weights.max() if explorer.scale == "map" else shared
    most = int(weights.argmax())
    words = (
        f"{name}: [class] gets {to_class[index]:.3f}; the largest weight on a patch is {weights.max():.4f}, "
        f"at row {most // config.columns}, column {most % config.columns}."
    )
    photo = f"data:image/webp;base64,{_base64(photograph(load_picture(PICTURES[card['name']]), SIDE))}"
    left, top_edge, right, bottom = (100 * v for v in card["box"])
    box = f"left:{left}%;top:{top_edge}%;width:{right - left}%;height:{bottom - top_edge}%"
    cells = "".join(
        f'<img class="vbx-cells vbx-cells-{theme}" alt="" src="{_png(paint(weights, top, theme))}">' for theme in THEMES
    )
    return (
        f'<div class="vbx-first vb-widget vbx-explorer" data-for="{view.uid}"><style>{style("explorer/widget.css")}</style>'
        '<div class="vbx-controls"><noscript>To choose other maps, allow this page its scripts.</noscript></div>'
        '<div class="vbx-view">'
        f'<p class="vbx-title">{escape(name)}</p><div class="vbx-stage" style="--vb-columns:{_columns(card, config)}">'
        f'<figure class="vbx-panel"><div class="vbx-head"></div><div class="vbx-frame vbx-photo" '
        f'style="--vb-aspect:{card["width"] / card["height"]:.4f}">'
        f'<img alt="{escape(card["alt"])}" src="{photo}"><div class="vbx-seen" style="{box}">{cells}</div></div>'
        f"<figcaption>{escape(card['title'])}</figcaption></figure>"
        f'<figure class="vbx-panel"><div class="vbx-head"></div><div class="vbx-frame vbx-grid" '
        f'style="--vb-aspect:{config.columns / config.rows:.4f}" role="img" aria-label="{escape(words)}">'
        f'<div class="vbx-seen">{cells}</div></div>'
        f"<figcaption>The {config.rows} × {config.columns} weights, bare</figcaption></figure></div>"
        f'<p class="vbx-status">{escape(words)}</p></div></div>'
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


def _png(rgb: np.ndarray) -> str:
    out = io.BytesIO()
    Image.fromarray(rgb).save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{_base64(out.getvalue())}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
