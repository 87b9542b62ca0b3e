"""One meaning, one colour: chosen here once, for light and dark, and handed to figures, style sheets and formulas.

The hues start from the Okabe-Ito and Paul Tol sets and are moved until they read: every ink is text at 4.5:1 on both
grounds of its theme, and [class], q, k and v stay apart for protan, deutan and tritan eyes (``tests/test_palette.py``).
Colour never speaks alone: the letter, a shape or a position says it too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import cbrt, cos, hypot, radians, sin

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
    blend = (amount * i + (1 - amount) * g for i, g in zip(_channels(ink), _channels(ground), strict=True))
    return _hex(blend)


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two colours, 1 to 21."""
    dark, light = sorted(_luminance(c) for c in (one, other))
    return (light + 0.05) / (dark + 0.05)


@lru_cache
def attention_colours(theme: str = "light", count: int = 256) -> tuple[str, ...]:
    """``count`` colours for weights, from the page's ground (no attention) to the far end, in steps that look equal."""
    ground = _oklab(getattr(GROUNDS["ground"], theme))
    return _even_steps([ground, *(_from_lch(*stop) for stop in _ATTENTION[theme])], count)


@lru_cache
def diverging_colours(theme: str = "light", count: int = 256) -> tuple[str, ...]:
    """``count`` colours for numbers around zero: cool below, neutral in the middle, warm above."""
    stops = [_from_lch(*stop) for stop in _DIVERGING[theme]]
    half = count // 2
    cool, warm = _even_steps(stops[:3], half), _even_steps(stops[2:], half)
    return cool + ((_hex(_from_oklab(stops[2])),) if count % 2 else ()) + warm


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


# --- colour arithmetic: sRGB <-> linear light <-> OKLab (Ottosson 2020), in which equal distances look equal ---


def _channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def _hex(channels) -> str:
    return "#" + "".join(f"{round(255 * min(max(c, 0.0), 1.0)):02x}" for c in channels)


def _linear(colour: str) -> list[float]:
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]


def _luminance(colour: str) -> float:
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


def _dot(matrix, vector) -> list[float]:
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


_TO_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
_FROM_LAB = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.2914855480),
)
_FROM_CONES = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)


def _oklab(colour: str) -> list[float]:
    return _dot(_TO_LAB, [cbrt(c) for c in _dot(_TO_CONES, _linear(colour))])


def _from_oklab(lab) -> list[float]:
    linear = _dot(_FROM_CONES, [c**3 for c in _dot(_FROM_LAB, lab)])
    return [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in linear]


def _from_lch(lightness: float, chroma: float, hue: float) -> list[float]:
    return [lightness, chroma * cos(radians(hue)), chroma * sin(radians(hue))]


def _even_steps(stops, count: int) -> tuple[str, ...]:
    """``count`` colours along the polyline through ``stops`` (OKLab), each as far from the last as the next from it."""
    reach = [0.0]
    for a, b in pairwise(stops):
        reach.append(reach[-1] + hypot(*(y - x for x, y in zip(a, b, strict=True))))
    steps = []
    for i in range(count):
        target, leg = reach[-1] * i / (count - 1), 0
        while leg < len(stops) - 2 and reach[leg + 1] < target:
            leg += 1
        share = (target - reach[leg]) / (reach[leg + 1] - reach[leg])
        steps.append(_hex(_from_oklab([x + share * (y - x) for x, y in zip(stops[leg], stops[leg + 1], strict=True)])))
    return tuple(steps)
