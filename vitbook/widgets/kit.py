"""What the grid widgets carry to a page: script, style sheet and colours, each as small as it can travel."""

from __future__ import annotations

import re
from pathlib import Path

from vitbook.figures import palette
from vitbook.figures.colours import signed_table, weight_table

HERE = Path(__file__).parent
_INKS = ("ground", "surface", "line", "text", "muted", "class", "class-wash", "query", "query-wash", "stream-soft")


def script(*names: str) -> str:
    """A widget's files in their order, with the parts that all grid widgets share before them, as one module."""
    return "".join(map(lean, ("grid_parts.js", *names)))


def style() -> str:
    """The style sheet with the palette's colours for both themes, for pages that do not carry them."""
    dark = 'html[data-theme="dark"] .vbx-explorer, body[data-jp-theme-light="false"] .vbx-explorer'
    blocks = []
    for theme, where in zip(palette.THEMES, (".vbx-explorer", dark), strict=True):
        inks = "".join(f"--vb-{name}:{palette.colour(name, theme)};" for name in _INKS)
        blocks.append(f"{where}{{color-scheme:{theme};{inks}--vb-control:{palette.colour('muted', theme)};}}\n")
    return "".join(blocks) + lean("explorer/widget.css")


def lean(name: str) -> str:
    """A script or style sheet of this folder as it travels with a page: its comments and indents stay at home."""
    text = (HERE / name).read_text(encoding="utf-8")
    return re.sub(r"(?m)^\s+", "", re.sub(r"(?ms)^\s*/\*.*?\*/\s*$|^\s*//.*?$", "", text))


def colour_tables() -> bytes:
    """The colours of weights (256) and of signed numbers (255), light then dark, three bytes each."""
    return b"".join(t.tobytes() for theme in palette.THEMES for t in (weight_table(theme), signed_table(theme)))
