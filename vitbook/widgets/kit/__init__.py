"""What every widget carries to a page: its script, its style sheet, the palette's colours, each as small as it can travel.

A script says what it needs by `import` lines and a style sheet by `@import` lines; here they become one text, each file
once and before those that need it.  So a widget carries of this kit what it uses, and needs no bundler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from vitbook.figures import palette
from vitbook.figures.colours import signed_table, weight_table

ROOM = Path(__file__).parents[1]
#: Where each theme holds: a built page's, JupyterLab's and VS Code's way to say "dark".
_WHERE = (":root", 'html[data-theme="dark"],body[data-jp-theme-light="false"],body.vscode-dark')
_IMPORT = re.compile(r'^(?:import \{[^}]*\} from|@import) "(\.[^"]+)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.M)
_COMMENT = re.compile(r"^\s*/\*.*?\*/\s*$|^\s*//.*?$", re.M | re.S)


class AsHtml:
    """What a notebook shows as the HTML of `_repr_html_`, and as its `repr` where it shows none."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def script(name: str) -> str:
    """A script of this room, such as "pencil/widget.js", and all that it imports, as one module."""
    return _gathered(ROOM / name, set())


def classic(text: str) -> str:
    """A module as a script that a worker of a page on a disk can be made of: what it exports are its names."""
    return _EXPORT.sub("", text)


def style(name: str, rules: str = "", **more: Sequence[str]) -> str:
    """A style sheet of this room and all that it imports, after the colours that it names as ``var(--vb-...)``.

    rules: further rules, of Python's making.  more: further colours, name -> (light, dark).
    """
    text = _gathered(ROOM / name, set()) + rules
    return colours(re.findall(r"var\(--vb-([a-z-]+)", text), **more) + text


def colours(names: Iterable[str], **more: Sequence[str]) -> str:
    """The palette's colours of these names, and more (name -> (light, dark)), as CSS custom properties of both themes.

    They weigh nothing (`:where`), so where a page has them, as the book's pages do, its own stand.
    """
    inks = [name for name in palette.names() if name in set(names)]
    blocks = []
    for n, (theme, where) in enumerate(zip(palette.THEMES, _WHERE, strict=True)):
        values = {name: palette.colour(name, theme) for name in inks} | {name: pair[n] for name, pair in more.items()}
        said = "".join(f"--vb-{name}:{value};" for name, value in values.items())
        blocks.append(f":where({where}){{--vb-scheme:{theme};{said}}}\n")
    return "".join(blocks)


def colour_tables() -> bytes:
    """The colours of weights (256) and of signed numbers (255), light then dark, three bytes each."""
    return b"".join(t.tobytes() for theme in palette.THEMES for t in (weight_table(theme), signed_table(theme)))


def _gathered(path: Path, seen: set[Path]) -> str:
    """A file after those that it imports, none of them twice."""
    if path in seen:
        return ""
    seen.add(path)
    text = path.read_text(encoding="utf-8")
    before = "".join(_gathered((path.parent / other).resolve(), seen) for other in _IMPORT.findall(text))
    return before + _lean(_IMPORT.sub("", text))


def _lean(text: str) -> str:
    """A script or a style sheet as it travels with a page: its comments and indents stay at home."""
    return re.sub(r"(?m)^\s+", "", _COMMENT.sub("", text))
