"""One meaning, one colour: chosen here once, for light and dark, and handed to figures, style sheets and formulas.

The hues start from the Okabe-Ito and Paul Tol sets and are moved until they read: every ink is text at 4.5:1 on both
grounds of its theme, and [class], q, k and v stay apart for protan, deutan and tritan eyes (``tests/test_palette.py``).
Colour never speaks alone: the letter, a shape or a position says it too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from coloraide import Color, stop

THEMES = ("light", "dark")
_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")


@dataclass(frozen=True)
class Ink:
    """A colour with a meaning: ``light`` and ``dark`` are its ``#rrggbb`` in the two themes."""

    meaning: str
    light: str
    dark: str


INKS = {
    "picture": Ink("the picture, its pixels and patches x_p", "#646d79", "#98a2af"),
    "class": Ink("the [class] token and everything about it", "#ad3505", "#ff8a5c"),
    "embedding": Ink("E, the linear projection of the patches", "#ad1457", "#ff7fc0"),
    "position": Ink("E_pos, the position embeddings", "#11748a", "#62cfdd"),
    "query": Ink("q, what a token asks for", "#1a4f9c", "#6ea3f7"),
    "key": Ink("k, what a token offers to be found by", "#0f7853", "#46e0a4"),
    "value": Ink("v, what a token hands over", "#8a45d3", "#d7b8ff"),
    "stream": Ink("z, the residual stream", "#3a4553", "#c3ccd8"),
    "mlp": Ink("the MLP and its GELU", "#566a0c", "#a8bd4a"),
    "erratum": Ink("an erratum, and nothing else", "#8a5a00", "#f5c451"),
    "text": Ink("words", "#1f2630", "#dfe4ea"),
    "muted": Ink("quiet words: captions, units, axes", "#59626e", "#a3adb9"),
}
GROUNDS = {
    "ground": Ink("the page", "#ffffff", "#14181e"),
    "surface": Ink("panels: code, outputs, cards", "#f6f5f2", "#1c222a"),
    "line": Ink("rules and borders", "#dcdad4", "#3a434f"),
}
# How much ink a tint keeps; the rest is the page's ground.
TINTS = {"wash": 0.10, "soft": 0.30}

# Attention runs from the page's ground to the far end: (lightness, chroma, hue in degrees) in OKLCH, light theme first.
_ATTENTION = {
    "light": ((0.90, 0.075, 84), (0.73, 0.145, 52), (0.54, 0.185, 22), (0.37, 0.130, 350), (0.21, 0.060, 320)),
    "dark": ((0.33, 0.090, 330), (0.48, 0.165, 5), (0.65, 0.170, 34), (0.82, 0.120, 70), (0.97, 0.045, 100)),
}
# Zero-centred numbers: below zero one end, above zero the other, neutral in the middle.
_DIVERGING = {
    "light": ((0.40, 0.115, 250), (0.68, 0.090, 245), (0.965, 0.0, 0), (0.70, 0.105, 45), (0.43, 0.120, 35)),
    "dark": ((0.82, 0.095, 240), (0.56, 0.100, 248), (0.27, 0.0, 0), (0.58, 0.115, 40), (0.84, 0.090, 55)),
}


def colour(name: str, theme: str = "light") -> str:
    """The ``#rrggbb`` of an ink or a ground; ``name`` may carry a tint, as in ``"query-wash"``."""
    base, _, tint = name.partition("-")
    known = INKS | GROUNDS
    if base not in known or theme not in THEMES or (tint and tint not in TINTS):
        raise ValueError(
            f"no colour {name!r} in the {theme!r} theme: the names are {', '.join(known)}, "
            f"with -{' or -'.join(TINTS)} behind them for a tint, and the themes {' and '.join(THEMES)}"
        )
    ink = getattr(known[base], theme)
    return mix(ink, getattr(GROUNDS["ground"], theme), TINTS[tint]) if tint else ink


def names() -> list[str]:
    """Every name that ``colour`` knows, tints included."""
    return [*GROUNDS, *INKS, *(f"{ink}-{tint}" for ink in INKS for tint in TINTS)]


def mix(ink: str, ground: str, amount: float) -> str:
    """``amount`` of ink over the rest of ground, as a browser blends opacity (sRGB)."""
    return _hex(Color(ground).mix(ink, amount, space="srgb"))


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two colours, 1 to 21."""
    return Color(one).contrast(other, method="wcag21")


@lru_cache
def attention_colours(theme: str = "light", count: int = 256) -> tuple[str, ...]:
    """``count`` colours for weights, from the page's ground (no attention) to the far end, in steps that look equal."""
    return _even_steps([Color(getattr(GROUNDS["ground"], theme)), *_stops(_ATTENTION[theme])], count)


@lru_cache
def diverging_colours(theme: str = "light", count: int = 256) -> tuple[str, ...]:
    """``count`` colours for numbers around zero: cool below, neutral in the middle, warm above."""
    stops = _stops(_DIVERGING[theme])
    half = count // 2
    cool, warm = _even_steps(stops[:3], half), _even_steps(stops[2:], half)
    return cool + ((_hex(stops[2]),) if count % 2 else ()) + warm


def css() -> str:
    """Every colour as a CSS custom property (``--vb-query``, ``--vb-query-wash``, ...) and a class for letters in formulas."""
    blocks = []
    for theme in THEMES:
        lines = [f"  --vb-{name}: {colour(name, theme)};" for name in names()]
        stops = ", ".join(attention_colours(theme, 9))
        lines.append(f"  --vb-attention: linear-gradient(to right, {stops});")
        selector = ":root" if theme == "light" else 'html[data-theme="dark"]'
        blocks.append("\n".join([f"{selector} {{", f"  color-scheme: {theme};", *lines, "}"]))
    blocks += [f".vb-ink-{name} {{ color: var(--vb-{name}); }}" for name in INKS]
    return "\n".join(["/* Written by the build from vitbook/figures/palette.py. */", *blocks, ""])


def darkened(svg: str) -> str:
    """The dark twin of a figure drawn in the light palette: each of our colours becomes its counterpart, the rest stays."""
    twins = _twins()
    return _HEX.sub(lambda found: twins.get(found[0].lower(), found[0]), svg)


@lru_cache
def _twins() -> dict[str, str]:
    pairs = {}
    for maps in (diverging_colours, attention_colours):
        pairs |= zip(maps("light"), maps("dark"), strict=True)
    return pairs | {colour(name, "light"): colour(name, "dark") for name in names()}


# --- in OKLab (Ottosson 2020) equal distances look equal ---


def _stops(places) -> list[Color]:
    return [Color("oklch", place) for place in places]


def _even_steps(stops: list[Color], count: int) -> tuple[str, ...]:
    """``count`` colours along the polyline through ``stops``, each as far from the last as the next from it."""
    reach = list(accumulate((a.distance(b, space="oklab") for a, b in pairwise(stops)), initial=0.0))
    path = Color.interpolate([stop(c, at / reach[-1]) for c, at in zip(stops, reach, strict=True)], space="oklab")
    return tuple(_hex(path(i / (count - 1))) for i in range(count))


def _hex(colour: Color) -> str:
    """The ``#rrggbb`` of a colour; what a screen cannot show is cut off."""
    return colour.convert("srgb").clip().to_string(hex=True)
