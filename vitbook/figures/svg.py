"""The few strokes that our own drawings are made of: elements, words, letters of the paper, boxes, paths."""

from __future__ import annotations

import re
from html import escape

STAR = "M0,-9 L2.6,-3.1 9,-2.6 4.1,1.5 5.6,7.8 0,4.4 -5.6,7.8 -4.1,1.5 -9,-2.6 -2.6,-3.1 Z"
_UPRIGHT = ("LN", "MSA", "MLP", "head", "class")
_LETTER = re.compile(r"([A-Za-z])('?)(?:_([A-Za-z0-9]+?))?(E?)")


def tag(_name: str, *body: str, **attributes) -> str:
    """One SVG element; a trailing underscore in an attribute's name is dropped, others become hyphens; None is left out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{_name}{said}>{''.join(body)}</{_name}>" if body else f"<{_name}{said}/>"


def _short(value) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def say(x: float, y: float, body: str, kind: str = "label", anchor: str = "middle", **attributes) -> str:
    """One line of text whose baseline is at y; body is already escaped."""
    return tag("text", body, x=x, y=y, class_=kind, text_anchor=anchor, **attributes)


def link(address: str, *body: str, **attributes) -> str:
    """A link. It says xlink:href, since JupyterLab takes every <a href> for HTML's and breaks on SVG's.

    Without an href it has to say that it is a link, or nobody may give it a name.
    """
    opening = f'<a role="link" xlink:href="{escape(address, quote=True)}" '
    return tag("a", *body, **attributes).replace("<a ", opening, 1)


def box(x: float, y: float, width: float, height: float, ink: str, radius: float = 6, **attributes) -> str:
    """A rounded rectangle in the colour of an ink."""
    return tag("rect", x=x, y=y, width=width, height=height, rx=radius, class_=f"box {ink}", **attributes)


def path(d: str, kind: str, **attributes) -> str:
    """A path with a class."""
    return tag("path", d=d, class_=kind, **attributes)


def plus(x: float, y: float, size: float) -> str:
    """A plus sign around (x, y)."""
    return path(f"M{x - size},{y}H{x + size}M{x},{y - size}V{y + size}", "plus")


def star(x: float, y: float) -> str:
    """The star of [class] around (x, y)."""
    return tag("g", path(STAR, "star"), transform=f"translate({x},{y})")


def letter_parts(letter: str) -> tuple[str, str, str, str] | None:
    """``z'_1`` -> ("z", "'", "1", ""): base, prime, subscript, and the E of x_pE; None for words such as LN."""
    found = None if letter in _UPRIGHT else _LETTER.fullmatch(letter)
    if not found:
        return None
    base, prime, below, after = found.groups()
    return base, "′" if prime else "", below or "", after


def in_svg(letter: str) -> str:
    """A letter of the paper as tspans: bold, with its subscript; words stay upright."""
    parts = letter_parts(letter)
    if parts is None:
        return escape(letter)
    base, prime, below, after = parts
    out = tag("tspan", base, class_="m") + prime
    if below:
        out += tag("tspan", below, class_="sub", dy=3) + tag("tspan", "\u200b", dy=-3)
    return out + (tag("tspan", after, class_="m") if after else "")


def in_html(letter: str) -> str:
    """The same letter as HTML."""
    parts = letter_parts(letter)
    if parts is None:
        return f"<b>{escape(letter)}</b>"
    base, prime, below, after = parts
    return (
        f'<b class="m">{base}{prime}</b>'
        + (f"<sub>{below}</sub>" if below else "")
        + (f'<b class="m">{after}</b>' if after else "")
    )


def percent(share: float) -> str:
    """A share from 0 to 1 for a reader: 98.6%, 0.042%, or 0."""
    value = 100 * share
    if not value:
        return "0"
    return f"{value:.1f}%" if value >= 0.1 else f"{value:.2g}%" if value >= 0.001 else "under 0.001%"


def fitted(text: str, width: int, lines: int) -> list[str]:
    """Words broken into at most so many lines of so many characters, with … where something was left out."""
    out = [""]
    for word in text.split():
        if out[-1] and len(out[-1]) + 1 + len(word) > width:
            out.append("")
        out[-1] = f"{out[-1]} {word}".strip()
    out = [line if len(line) <= width else f"{line[: width - 1]}…" for line in out]
    return out if len(out) <= lines else [*out[: lines - 1], f"{out[lines - 1][: width - 1]}…"]
