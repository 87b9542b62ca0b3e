"""What stands below the drawing of Figure 1: a card for every part with its real tensor, and the same as a table. HTML."""

from __future__ import annotations

from html import escape

import numpy as np
import torch
from PIL import Image

from vitbook.figures.svg import in_html, percent, tag
from vitbook.figures.thumbnails import photo, signed_picture, thinned, weight_picture
from vitbook.maps import to_grid
from vitbook.widgets.figure1.parts import IN_EACH_LAYER, Part, numbers
from vitbook.widgets.figure1.pieces import UNIT

MOST_ROWS, MOST_COLUMNS = 52, 52  # of a tensor's small picture; more would only make the page heavier
FILTER_ROWS, FILTER_COLUMNS = 4, 8
MOST_HEADS = 12
COLUMNS = (
    "part", "shape", "parameters", "of all parameters", "multiply-adds", "of all multiply-adds", "least", "largest",
)  # fmt: skip


def chapter(part: Part) -> str:
    """The address of a part's chapter, beside the page that shows the figure."""
    return f"{part.chapter}.html"


def card(part: Part, picture: str, shown: bool) -> str:
    """Name, words, shape, cost and numbers of a part; picture: its small pictures, already HTML."""
    facts = [f"<b>{part.shape_text}</b>"]
    everywhere = " in all layers" if part.key in IN_EACH_LAYER else ""
    if part.parameters:
        facts.append(
            f"<b>{part.parameters:,}</b> parameters{everywhere} ({percent(part.parameter_share)} of the model's)"
        )
    if part.multiply_adds:
        share = percent(part.multiply_add_share)
        facts.append(f"<b>{part.multiply_adds:,}</b> multiply-adds{everywhere} ({share} of the model's)")
    return (
        f'<div class="vb-f1-card" data-part="{part.key}"{"" if shown else " hidden"}>{picture}<div class="said">'
        f'<p class="name"><span>{in_html(part.letter)}</span> {escape(part.name)}</p><p>{escape(part.words)}</p>'
        f'<p class="numbers">{" · ".join(facts)}</p>{_values(part)}'
        f'<p><a href="{chapter(part)}" data-chapter="{part.chapter}">Open its chapter</a></p></div></div>'
    )


def _values(part: Part) -> str:
    if part.tensor is None:
        return ""
    n = numbers(part.tensor)
    first = ", ".join(f"{value:.3f}" for value in n["first"])
    return (
        f'<p class="numbers">from <b>{n["min"]:.3g}</b> to <b>{n["max"]:.3g}</b>, mean {n["mean"]:.3g}, '
        f"spread {n['std']:.3g}; it begins {first}, …</p>"
    )


def small_picture(part: Part, checkpoint, trace, layer: int, uid: str) -> str:
    """What a part looks like: pixels for x, filters for E, maps for attention, and for the rest the numbers as colours."""
    if part.tensor is None:
        return ""
    if part.key == "x":
        return _shared(checkpoint.config, uid)
    if part.key == "E":
        return _filters(checkpoint)
    if part.key == "msa":
        return _heads(trace, layer)
    rows = part.tensor if part.tensor.ndim == 2 else part.tensor[None]
    values = thinned(rows.detach().double().numpy(), MOST_ROWS, MOST_COLUMNS)
    which = "a row each" if len(values) > 1 else "one row"
    return _figure(signed_picture(values), f"{which}, {values.shape[1]} of {rows.shape[1]} numbers")


def _figure(uri: str, caption: str, kind: str = "") -> str:
    return f'<figure><img src="{uri}" alt="{caption}" class="{kind}"><figcaption>{caption}</figcaption></figure>'


def _shared(config, uid: str) -> str:
    """The photograph that the drawing has already; uid: what the drawing's ids start with."""
    whole = tag("use", href=f"#{uid}-photo")
    box = f"0 0 {UNIT * config.columns} {UNIT * config.rows}"
    drawn = tag("svg", whole, viewBox=box, class_="square", role="img", aria_label="the picture")
    return f"<figure>{drawn}<figcaption>as the model gets it, but sharper</figcaption></figure>"


def _filters(checkpoint) -> str:
    """The first columns of E, each folded back to a patch and scaled to its own largest number; grey is zero."""
    c, E = checkpoint.config, checkpoint.weights.E[:, : FILTER_ROWS * FILTER_COLUMNS]
    squares = (E / E.abs().max(0).values / 2 + 0.5).T.reshape(-1, c.C, c.P, c.P)
    squares = torch.nn.functional.pad(
        squares.expand(-1, 3, -1, -1) if c.C == 1 else squares[:, :3], (0, 1, 0, 1), value=1.0
    )
    count = len(squares)
    squares = torch.cat([squares, squares.new_ones(FILTER_ROWS * FILTER_COLUMNS - count, *squares.shape[1:])])
    side = c.P + 1
    sheet = squares.reshape(FILTER_ROWS, FILTER_COLUMNS, 3, side, side).permute(0, 3, 1, 4, 2)
    pixels = (sheet.reshape(FILTER_ROWS * side, -1, 3).double().numpy() * 255).round().astype(np.uint8)
    return _figure(photo(Image.fromarray(pixels), 85), f"its first {count} columns, each as a patch")


def _heads(trace, layer: int) -> str:
    """Where [class] looks in each head of the layer, each on its own scale: most weights are small."""
    A = to_grid(trace.attention(layer, query=0), trace.config)[:MOST_HEADS].double().numpy()
    maps = "".join(
        f'<img src="{weight_picture(head, float(head.max()))}" alt="what [class] reads in head {h}">'
        for h, head in enumerate(A, start=1)
    )
    caption = "what [class] reads, each head on its own scale"
    return f'<figure class="heads"><div>{maps}</div><figcaption>{caption}</figcaption></figure>'


def table(parts: dict[str, Part], words: str) -> str:
    """All parts as a table, and the drawing in words, folded away."""
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    body = "".join(_row(part) for part in parts.values())
    return (
        '<details class="vb-f1-all"><summary>The same as a table, and in words</summary>'
        f'<p>{escape(words)}</p><div class="scroll" tabindex="0" role="region" aria-label="Parts of Figure 1">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        "<p>Norms, attention and the MLP are counted over all layers together.</p></details>"
    )


def _row(part: Part) -> str:
    least, largest = "", ""
    if part.tensor is not None:
        n = numbers(part.tensor)
        least, largest = f"{n['min']:.3g}", f"{n['max']:.3g}"
    cells = (
        part.shape_text,
        f"{part.parameters:,}",
        percent(part.parameter_share),
        f"{part.multiply_adds:,}",
        percent(part.multiply_add_share),
        least,
        largest,
    )
    link = f'<a href="{chapter(part)}" data-chapter="{part.chapter}">{escape(part.name)}</a> {in_html(part.letter)}'
    return f"<tr><td>{link}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
