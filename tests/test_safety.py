"""Nothing runs that is only text: no code out of files, no markup out of names; and nothing is told to anyone.

The first half reads our sources; the second sends hostile names through every view, in Python and in a browser.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
import torch
from conftest import build_book, small_book
from PIL import Image
from tiny import checkpoint_of, random_weights

from bookbuild.myst import read
from bookbuild.portable import plain
from vitbook.exercises.report import Report
from vitbook.figures import plotting
from vitbook.figures.encoder import layer_line
from vitbook.figures.numbers import parameter_shares
from vitbook.figures.svg import in_html, in_svg
from vitbook.ledger.verdicts import read_ledger
from vitbook.library.base import Checkpoint
from vitbook.library.checkpoints import CheckpointError, load_checkpoint
from vitbook.studies.formulas import Count, Term, evaluate
from vitbook.widgets.explorer import atlas, first_view
from vitbook.widgets.explorer.tour import explorer_links
from vitbook.widgets.explorer.widget import AttentionExplorer
from vitbook.widgets.figure1.widget import figure_1
from vitbook.widgets.ledger.widget import ledger_table
from vitbook.wording import one_line

ROOT = Path(__file__).parents[1]

# --- no code out of text ----------------------------------------------------------------------------------------

SCRIPTS = sorted(path for room in ("vitbook", "tools", "benchmarks") for path in (ROOT / room).rglob("*.py"))
CHAPTERS = sorted((ROOT / "book").glob("*.md"))
#: Where text is run all the same, and why that is safe.
RUN = {
    ("vitbook/exercises/record.py", "exec"): "runs a solution that is printed in this package, never a reader's text",
    (
        "vitbook/ledger/measure/__init__.py",
        "eval",
    ): "an expression of the ledger's own file, never of a reader's or a record",
}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}


def cells(chapter: Path) -> str:
    return "\n".join(cell.text for cell in read(chapter.read_text(encoding="utf-8")).cells)


def dangers(source: str) -> set[str]:
    """What in a piece of Python could run text as code."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found |= {name.split(".")[0] for name in names} & FORBIDDEN_MODULES
        if isinstance(node, ast.keyword) and node.arg == "trust_remote_code":
            found.add("trust_remote_code")
        if isinstance(node, ast.keyword) and node.arg == "shell" and not _is(node.value, False):
            found.add("shell")
        if not isinstance(node, ast.Call):
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        match node.func:
            case ast.Name(id="eval" | "exec" | "__import__" as name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="os"), attr="system" | "popen" as name):
                found.add(f"os.{name}")
            case ast.Attribute(value=ast.Name(id="torch"), attr="load") if not _is(given.get("weights_only"), True):
                found.add("torch.load")
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="load") if "allow_pickle" in given:
                found.add("np.load")
            case ast.Attribute(value=ast.Name(id="yaml"), attr="load" | "unsafe_load" | "full_load"):
                found.add("yaml.load")
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="torch"), attr="hub"), attr="load"):
                found.add("torch.hub.load")
    return found


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


DANGEROUS = """
eval(text)
exec(text)
__import__(name)
import pickle
from pickle import load
torch.load(path)
torch.load(path, weights_only=no)
torch.hub.load(repository, name)
np.load(path, allow_pickle=True)
yaml.load(text)
run(command, shell=True)
os.system(command)
AutoModel.from_pretrained(name, trust_remote_code=True)
"""


@pytest.mark.parametrize("source", DANGEROUS.strip().splitlines())
def test_the_reader_of_sources_notices(source):
    assert len(dangers(source)) == 1


def test_no_script_of_ours_runs_text_as_code():
    found = {
        (str(path.relative_to(ROOT)), what) for path in SCRIPTS for what in dangers(path.read_text(encoding="utf-8"))
    }
    assert found == set(RUN)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_chapter_runs_text_as_code(chapter):
    assert dangers(cells(chapter)) == set()


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os')",
        "N.real",
        "[N]",
        "N if N else 0",
        "'a'*N",
        "lambda: N",
        "N <",
        "1 < N < 3",
        "True",
        "min(N, key=N)",
        "1.5",
    ],
)
def test_a_formula_is_arithmetic_and_nothing_else(formula):
    with pytest.raises(ValueError, match="formula"):
        evaluate(formula, {"N": 3})


def test_a_formula_asks_for_its_letters():
    assert evaluate("floor(7/2) + max(a, -b)**2 % 5", {"a": 1, "b": -3}) == 7
    with pytest.raises(NameError, match="no letter c in 'a \\+ c'; there are a, b"):
        evaluate("a + c", {"a": 1, "b": 2})


# --- no markup out of text, and nobody is told -------------------------------------------------------------------

JAVASCRIPT = sorted([*(ROOT / "vitbook").rglob("*.js"), *(ROOT / "book" / "assets").glob("*.js")])
NO_MARKUP = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|eval)\b|document\.write|new Function"
    r"|\bFunction\(|javascript:|setTimeout\(\s*[\"'`]|setInterval\(\s*[\"'`]|setAttribute\(\s*[\"'`]on"
)
NO_NETWORK = re.compile(
    r"\bfetch\(|XMLHttpRequest|sendBeacon|WebSocket|EventSource|\bimport\(|https?://(?!www\.w3\.org/)"
)


# Whether a file of the book's own folder answers, after it could not be loaded; the policy allows no other host.
ASKS = {"model.js": ["fetch("]}


@pytest.mark.parametrize("path", JAVASCRIPT, ids=lambda path: path.name)
def test_scripts_of_the_page_put_text_there_as_text_and_ask_no_other_host(path):
    text = re.sub(r"^\s*(?://|\*|/\*).*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert NO_MARKUP.findall(text) == []
    assert NO_NETWORK.findall(text) == ASKS.get(path.name, [])


def committed() -> list[Path]:
    """Every text that is in the repository, apart from what is vendored."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name and not name.startswith("book/assets/vendor/")]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()]


SECRET = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|hf_[A-Za-z]{30,}|AKIA[A-Z0-9]{16}|xox[abpr]-[\w-]{10,}|pypi-[\w-]{40,}"
    r"|sk-[A-Za-z0-9-]{20,})|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s:@{$]+@"
)
TELLS = re.compile(
    r"google-analytics|googletagmanager|\bgtag\(|plausible\.io|matomo|posthog|sentry_sdk|segment\.io|hotjar|mixpanel|statcounter",
    re.I,
)


def test_the_patterns_find_what_they_look_for():
    assert SECRET.search("token = 'ghp_" + "a1B2" * 9 + "'") and SECRET.search("https://me:" + "secret@example.org")
    assert NO_MARKUP.search("element.inner" + "HTML = label") and NO_NETWORK.search("fet" + "ch(address)")


def test_no_secret_and_no_telemetry_is_committed():
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in committed() if path != Path(__file__)}
    assert len(texts) > 150, "the repository's texts are all there"
    made_up = "tests/test_pictures_web.py"  # addresses with a password, which are refused
    assert {str(name) for name, text in texts.items() if SECRET.search(text)} == {made_up}
    assert {str(name) for name, text in texts.items() if TELLS.search(text)} == set()


# --- hostile names ----------------------------------------------------------------------------------------------

HOSTILE = {
    "tag": "<img src=x onerror=alert(1)>",
    "closing": "</script></style></title></svg><script>alert(1)</script>",
    "quotes": '"\'` onmouseover="alert(1)" x=\'',
    "comment": "--><!--<script>",
    "turned": "\u202egnp.tac\u202c \u2067<b>\u2069",
    "lines": "one\n\n# two\r\n- three\x00\x1b[31m\u2028four",
    "maths": "$\\input{x}$ and $\\frac",
    "markdown": "[a](javascript:alert(1)) | `b` ![c](x) &lt;i&gt;",
    "undecodable": "caf\udce9",
    "long": "W<" * 4000,
    "nothing": "\u200f \n",
}
TAME = "a cat"


@pytest.fixture(params=HOSTILE, scope="module")
def word(request) -> str:
    return HOSTILE[request.param]


@pytest.fixture(params=[name for name in HOSTILE if name != "undecodable"], scope="module")
def text(request) -> str:
    """A word that a page can hold; half a surrogate pair only comes from names of files and classes."""
    return HOSTILE[request.param]


def skeleton(html: str) -> set[tuple[str, tuple[str, ...]]]:
    """Every kind of element of a page with the names of its attributes: what words must not change."""
    found = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.add((tag, tuple(sorted(name for name, _ in attributes))))
            assert not [name for name, _ in attributes if name.startswith("on")]
            assert not [value for _, value in attributes if value and value.strip().lower().startswith("javascript:")]

        def handle_comment(self, data):
            found.add(("comment", ()))

    Reader(convert_charrefs=True).feed(html)
    html.encode("utf-8")  # a page can hold it
    return found


def checkpoint(word: str) -> Checkpoint:
    """A tiny checkpoint all of whose classes are called by that word."""
    return checkpoint_of(random_weights(K=7), (word,) * 7)


def file_name(word: str) -> str:
    """As much of it as a file may be called."""
    return re.sub(r"[/\0]", "", word)[:60]


def test_one_line_is_one_readable_line(word):
    line = one_line(word)
    assert len(line) <= 80 and line.splitlines() in ([line], [])
    assert not re.search("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", line)
    line.encode("utf-8")
    assert one_line("  a \t cat\n") == "a cat" and one_line("خروف 猫 naïve 👩‍🔬") == "خروف 猫 naïve 👩‍🔬", (
        "letters stay"
    )
    assert one_line("abcdef", 4) == "abc…" and one_line("abcd", 4) == "abcd"


def test_classes_in_figure_1(word):
    page = figure_1(checkpoint(word))._repr_html_()
    assert skeleton(page) <= skeleton(figure_1(checkpoint(TAME))._repr_html_())
    shown = one_line(word) or "class "
    assert shown in unescape(page), "the reader sees the name as it is"


def test_classes_in_a_figure(word):
    """As the chapter on Equation 4 names the most probable classes."""
    name, _ = checkpoint(word).top(torch.arange(7.0), 1)[0]
    figure, axis = plotting.canvas(height=100)
    axis.text(0, 0, plotting.literal(name, 40))
    svg, _ = plotting.carried(plotting.finish(figure, name).svg)
    tags = {element.tag for element in ElementTree.fromstring(svg).iter()}
    assert not [tag for tag in tags if "script" in tag or "foreign" in tag]
    assert (one_line(word) or "class ") in unescape(svg)
    svg.encode("utf-8")


def test_names_of_checkpoints_in_figures_and_tables(text):
    terms, letters = [Term("mlp", text, "2*D"), Term("head", "the head", "D")], {"D": 3}
    count = Count.of(text, terms, letters)
    assert skeleton(count._repr_html_()) == skeleton(
        Count.of(TAME, [Term("mlp", TAME, "2*D"), terms[1]], letters)._repr_html_()
    )
    for drawn in (parameter_shares({text: count}), layer_line({text: [1.0, 2.0]}, "bits")):
        ElementTree.fromstring(drawn.svg)
        drawn.svg.encode("utf-8")
    for letter in (in_html(text), in_svg(text)):
        assert skeleton(letter) <= {("b", ()), ("tspan", ("class",))}


def test_names_of_folders(word, tmp_path_factory):
    import folders

    name = file_name(word)
    try:
        place = folders.write(tmp_path_factory.mktemp("named") / name, id2label=dict.fromkeys(range(7), word))
    except OSError as error:
        pytest.skip(f"this file system takes no such name: {error.strerror}")
    try:
        found = load_checkpoint(place)
    except CheckpointError as error:  # safetensors opens no path that is not UTF-8
        assert "UTF-8" in str(error).encode("utf-8").decode() and "\udce9" in name
        return
    assert found.name == one_line(name) or found.name == "/"
    assert found.labels == (word,) * 7, "data stays data"
    assert one_line(repr(found), 10**6) == repr(found)


@pytest.fixture(scope="module")
def whole():
    return read_ledger()


def test_the_ledger(text, whole):
    row = whole.rows[0]
    entry = replace(row.entry, quantity=text, where=text, name=text, erratum=text, sum=text)
    changed = replace(whole, rows=(replace(row, entry=entry),), on=text)
    tame = replace(row.entry, quantity=TAME, where=TAME, name=TAME, erratum=TAME, sum=TAME)
    expected = replace(whole, rows=(replace(row, entry=tame),), on=TAME)
    assert skeleton(ledger_table(changed)._repr_html_()) == skeleton(ledger_table(expected)._repr_html_())


def test_titles_of_pictures_in_the_explorer(text):
    explorer = AttentionExplorer(checkpoint(TAME), layer=2)
    view = explorer._view
    explorer._put_first()
    tame = skeleton(first_view.html(explorer))
    view.pictures = [card | {"title": text, "alt": text} for card in view.pictures]
    assert skeleton(first_view.html(explorer)) == tame
    explorer.close()


def test_names_of_files_in_the_explorer(word, tmp_path):
    explorer = AttentionExplorer(checkpoint(TAME))
    pixels = np.random.default_rng(0).integers(0, 255, (15, 20, 3), np.uint8)
    path = tmp_path / f"{file_name(word)}.png"
    Image.fromarray(pixels).save(path)
    upload = {"name": word, "type": "image/png", "size": path.stat().st_size, "content": memoryview(path.read_bytes())}
    for source, name in ((path, path.name), ((upload,), word)):
        explorer.picture = source
        card = explorer._view.pictures[-1]
        assert card["title"] == (one_line(name) or "your picture") or len(explorer._pictures.own) == 1, (
            "the same pixels again"
        )
        assert re.fullmatch(r"[A-Za-z0-9-]+", card["key"])
        json.dumps(card).encode("utf-8")
        explorer._pictures.own.clear()
    explorer.close()


def test_words_of_a_tour_and_of_a_report(text):
    for build in (
        lambda w: explorer_links({w: {"picture": w}}, name=w),
        lambda w: Report(w, "error", (w,), call=w, mistake=w, explanation=w, traceback=w),
    ):
        assert skeleton(build(text)._repr_html_()) == skeleton(build(TAME)._repr_html_())


def test_names_in_the_atlas(word):
    picture = Image.new("RGB", (20, 15))
    card = atlas.card(word, picture, checkpoint(TAME), word, word)
    assert re.fullmatch(r"[A-Za-z0-9-]+", card["key"]), "it becomes a folder and an address"
    for text in atlas.scripts(f"0123456789ab/{card['key']}/1", b"packed").values():
        assert re.fullmatch(r'vitbookAtlas\.take\("[\w/-]+",0,1,"[\w+/=]+"\);\n', text)


def test_glued_words_in_a_notebook_are_no_markup(word):
    from markdown_it import MarkdownIt

    from bookbuild.address import Address

    shown = one_line(word)
    text = plain("It is {glue:text}`name`, it says.", {"name": shown}, lambda *_: "", Address(), "book")
    assert skeleton(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)) <= {("p", ())}
    assert "$" not in text, "and no formula"


# --- the same in a browser --------------------------------------------------------------------------------------

TRAP = "<img src=x onerror=window.hit=1>"
FILE = f'"><!--<script>{TRAP}\u202e.png'
PAGE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# A page

```{code-cell} ipython3
:tags: [remove-cell]
import vitbook
from vitbook import figures, widgets
from vitbook.figures import glue

checkpoint = vitbook.load_checkpoint(FOLDER)
picture = vitbook.load_picture("chelsea")
trace = vitbook.run(checkpoint, vitbook.preprocess(picture, checkpoint))
glue(checkpoint=checkpoint.name, best=checkpoint.top(trace.logits, 1)[0][0])
```

This page is about {glue:text}`checkpoint`, which says {glue:text}`best`.

```{code-cell} ipython3
print(checkpoint, checkpoint.top(trace.logits, 2))
```

```{code-cell} ipython3
explorer = vitbook.AttentionExplorer(checkpoint, picture=FILE)
explorer.picture = "chelsea"
explorer
```

```{code-cell} ipython3
widgets.figure_1(checkpoint)
```

```{code-cell} ipython3
drawn, axis = figures.canvas(height=200)
axis.set(ylim=(-1, 5))
for row, (name, p) in enumerate(checkpoint.top(trace.logits, 5)):
    axis.text(0, row, figures.plotting.literal(name, 40))
figures.show(drawn, f"The most probable classes: {checkpoint.top(trace.logits, 2)}")
```

```{code-cell} ipython3
count = vitbook.count_parameters(checkpoint.config, classes=7)
figures.parameter_shares({checkpoint.name: count})
```
"""


@pytest.mark.browser
def test_hostile_names_stay_words_on_a_built_page(tmp_path, serve, visit):
    import folders

    folder, file = tmp_path / TRAP, tmp_path / FILE
    names = (f"{TRAP} $\\frac$", "</SCRIPT><script>window.hit=2</script>")
    folders.write(folder, id2label={i: names[i % 2] for i in range(7)})
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (30, 40, 3), np.uint8)).save(file, "PNG")
    page = PAGE.replace("(FOLDER)", f"({str(folder)!r})").replace("picture=FILE", f"picture={str(file)!r}")
    book = tmp_path / "book of names"
    book.mkdir()
    small_book(book, {"names": page})
    build_book(book)

    # Without the policy, which would only hide a hole.
    seen = visit(f"{serve(book / '_build' / 'html')}/book/names.html", bypass_csp=True).page
    seen.wait_for_selector(".vbx-view[data-drawn]")
    assert seen.evaluate("window.hit") is None
    assert seen.locator("img[src='x']").count() == 0
    article = seen.locator("article")
    assert f"This page is about {TRAP}, which says" in article.inner_text()
    shown = [button.get_attribute("title") for button in seen.locator(".vbx-picture").all()]
    assert shown[-1].replace("\xa0", " ") == FILE.replace("\u202e", ""), (
        "the file is called by its name, without what turns it"
    )
    described = seen.locator("meta[name=description]").get_attribute("content")
    assert described.startswith(f"This page is about {TRAP}")
    in_figure = seen.locator(".vb-figure1 [data-part=class]").all_text_contents()
    assert any("<img src=x" in text or "<script>window.hit" in text for text in in_figure), in_figure

    notebook = nbformat.read(next(book.glob("_build/html/_sources/**/names.ipynb")), as_version=4)
    told = next(cell.source for cell in notebook.cells if "This page is about" in cell.source)
    assert "<img" not in told and "&#60;img" in told
