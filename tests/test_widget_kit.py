"""The widget kit: how scripts and styles come together, that its parts exist once, and that JavaScript stays in small pieces."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from vitbook.figures import palette
from vitbook.widgets import kit

ROOM = Path(kit.__file__).parents[1]
SCRIPTS = sorted(ROOM.glob("*/*.js"))
WIDGETS = sorted(path.parent.name for path in ROOM.glob("*/widget.js"))
LONGEST_FUNCTION, LONGEST_CLASS = 40, 150
NODE = shutil.which("node")


def short(path: Path) -> str:
    return path.relative_to(ROOM).as_posix()


# --- scripts and styles ---


def test_a_file_comes_once_and_after_what_it_needs(monkeypatch, tmp_path):
    for name, text in {
        "a.js": 'import { b } from "./b.js";\nimport { c } from "./kit/c.js";\nexport const a = b + c;\n',
        "b.js": '// what b is\nimport { c } from "./kit/c.js";\n/** One\n * more. */\nexport const b = c;\n',
        "kit/c.js": "export const c = 1; // stays\n",
        "a.css": '@import "./kit/c.css";\n/* gone */\n.a { color: var(--vb-query); }\n',
        "kit/c.css": ".c {\n  color: var(--vb-key-wash); }\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(kit, "ROOM", tmp_path)
    lines = [line for line in kit.script("a.js").splitlines() if line]
    assert lines == ["export const c = 1; // stays", "export const b = c;", "export const a = b + c;"]
    style = kit.style("a.css", more=("#fff", "#000"))
    assert style.endswith(".c {\ncolor: var(--vb-key-wash); }\n.a { color: var(--vb-query); }\n")
    light, dark = style.splitlines()[:2]
    assert (
        light.startswith(":where(:root){--vb-scheme:light;")
        and "--vb-more:#fff;" in light
        and "--vb-more:#000;" in dark
    )
    for theme, line in (("light", light), ("dark", dark)):
        assert f"--vb-query:{palette.colour('query', theme)};--vb-key-wash:{palette.colour('key-wash', theme)};" in line
        assert "--vb-value" not in line, "only what is used"


@pytest.mark.parametrize("path", SCRIPTS, ids=short)
def test_an_import_names_what_is_there_and_is_used(path):
    text = path.read_text(encoding="utf-8")
    imports = re.findall(r'^import \{ ([^}]*) \} from "([^"]+)";$', text, re.M)
    assert len(imports) == len(re.findall(r"^import\b", text, re.M)), "one line, one file, no other way of importing"
    body = re.sub(r"^import .*$", "", text, flags=re.M)
    for names, other in imports:
        exported = (path.parent / other).read_text(encoding="utf-8")
        for name in names.split(", "):
            assert re.search(rf"^export (async )?(function|const|class) {name}\b", exported, re.M), f"{name} of {other}"
            assert re.search(rf"\b{name}\b", body), f"{name} is not used"


@pytest.mark.parametrize("path", SCRIPTS, ids=short)
def test_what_is_exported_is_asked_for(path):
    tests = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("test_*.py"))
    others = "".join(p.read_text(encoding="utf-8") for p in SCRIPTS if p != path)
    for name in re.findall(
        r"^export (?:async )?(?:function|const|class) (\w+)", path.read_text(encoding="utf-8"), re.M
    ):
        asked = re.search(rf"^import \{{[^}}]*\b{name}\b[^}}]*\}} from", others, re.M) or re.search(
            rf"\.{name}\b", tests
        )
        assert asked, f"nobody asks for {name}"


@pytest.mark.skipif(NODE is None, reason="needs node, the JavaScript engine on the command line")
@pytest.mark.parametrize("widget", WIDGETS)
def test_together_they_are_one_module(widget, tmp_path):
    (tmp_path / "whole.mjs").write_text(kit.script(f"{widget}/widget.js"), encoding="utf-8")
    done = subprocess.run([NODE, "--check", tmp_path / "whole.mjs"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # two names that are the same, for example


@pytest.mark.parametrize("widget", WIDGETS)
def test_every_colour_that_a_widget_asks_for_comes_with_it(widget):
    from vitbook.widgets.calculator.widget import Calculator
    from vitbook.widgets.figure1.widget import _style
    from vitbook.widgets.pencil.widget import PencilWidget

    made = {"calculator": lambda: Calculator()._css, "pencil": lambda: PencilWidget()._css, "figure1": _style}
    style = made.get(widget, lambda: kit.style(f"{widget}/widget.css"))()
    texts = style + kit.script(f"{widget}/widget.js")
    asked = set(re.findall(r"var\(--vb-([a-z-]+)\)", texts))  # without a value of its own to fall back on
    set_here = set(re.findall(r"--vb-([a-z-]+)[:\"]", texts))
    assert asked <= set_here, asked - set_here
    inks = set(re.findall(r'\bink\("([a-z-]+)"\)', texts))
    assert inks <= set_here, "what a canvas is painted with"


# --- each part of the kit exists once ---


@pytest.mark.parametrize(
    "what, home",
    [
        (r"createElement\(", {"kit/dom.js", "explorer/source.js"}),  # the latter loads a script
        (r"attributeFilter", {"kit/dom.js"}),
        (r"jpThemeLight", {"kit/dom.js"}),
        (r"\bDecompressionStream\b", {"explorer/source.js"}),
        (r"toLocaleString", {"kit/words.js"}),
        (r"\beval\(|new Function", set()),
        (r'"ArrowLeft"|ArrowLeft:', {"kit/grid.js", "pencil/typing.js", "figure1/widget.js"}),
    ],
)
def test_one_way_for_each_thing(what, home):
    assert {short(path) for path in SCRIPTS if re.search(what, path.read_text(encoding="utf-8"))} == home


def test_one_way_from_the_palette_to_css():
    found = {
        short(p)
        for p in ROOM.rglob("*.py")
        if re.search(r"palette\.colour\(|data-jp-theme-light", p.read_text("utf-8"))
    }
    assert found == {"kit/__init__.py"}


# --- JavaScript in pieces as short as Python's ---


def pieces(text: str):
    """(kind, name, lines) of every class, method and function that begins a line, by the indent at which it ends."""
    lines = text.splitlines()
    for n, line in enumerate(lines):
        head = re.match(
            r"( *)(?:export )?(?:async )?(?:(class|function) (\w+)|(?:get |async )?(\w+)\(.*\) \{$|const (\w+) = .*=> \{$)",
            line,
        )
        if not head or not line.endswith("{") or head[4] in ("if", "for", "while", "switch"):
            continue
        end = next(m for m in range(n + 1, len(lines)) if re.match(rf"{head[1]}\}}", lines[m]))
        yield head[2] or "function", head[3] or head[4] or head[5], end - n + 1


def test_the_measure_finds_long_pieces():
    text = "class A {\n  b() {\n    c();\n  }\n}\nfunction d() {\n}\n"
    assert list(pieces(text)) == [("class", "A", 5), ("function", "b", 3), ("function", "d", 2)]


@pytest.mark.parametrize("path", [p for p in SCRIPTS if p.parent.name not in ("ledger", "figure1")], ids=short)
def test_no_function_and_no_class_is_long(path):
    limits = {"function": LONGEST_FUNCTION, "class": LONGEST_CLASS}
    long = [
        (kind, name, lines) for kind, name, lines in pieces(path.read_text(encoding="utf-8")) if lines > limits[kind]
    ]
    assert long == []


# --- the page's own colours stand ---


@pytest.mark.browser
@pytest.mark.parametrize(
    "html, own, expected",
    [
        ('<html data-theme="light">', "", "light"),
        ('<html data-theme="dark">', "", "dark"),
        ('<html><body data-jp-theme-light="false">', "", "dark"),
        ('<html data-theme="dark">', ":root { --vb-text: #123456; }", "own"),
    ],
)
def test_colours_follow_the_theme_and_the_book(browser, html, own, expected):
    page = browser.new_page()
    style = kit.style("calculator/widget.css")
    body = "" if "<body" in html else "<body>"
    page.set_content(
        f"<!doctype html>{html}<style>{own}</style>{body}<style>{style}</style><p class='vb-widget' id=p>words</p>"
    )
    ink = page.evaluate("getComputedStyle(p).getPropertyValue('--vb-text').trim()")
    assert ink == ("#123456" if expected == "own" else palette.colour("text", expected))
    if expected != "own":
        assert page.evaluate("getComputedStyle(p).colorScheme") == expected
    page.close()
