"""What JupyterLab is given for a chapter, and what it gives back: the text goes to Lab and returns as it was."""

import asyncio
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from tornado.web import HTTPError
from traitlets.config.loader import PyFileConfigLoader

from bookbuild.lab import Book, Chapters, is_notebook, show_notebook, shown, written
from bookbuild.myst import read

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
CHAPTERS = sorted(path.name for path in BOOK.glob("*.md"))
SHOWN = {name: shown((BOOK / name).read_text(encoding="utf-8"), Book(BOOK, name)) for name in CHAPTERS}


def finished(coroutine):
    """What a coroutine returns, run in a thread of its own: playwright may have a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_is_shown_is_written_as_it_was(name):
    assert written(SHOWN[name]) == (BOOK / name).read_text(encoding="utf-8")


# What jupyterlab-myst draws, tried by opening it. Another name makes a red box, or a bare word: bookbuild/lab.py can put it in words.
DIRECTIVES = {"admonition", "glossary", "grid", "grid-item-card", "math"}
ROLES = {"eq", "eval", "math", "ref", "term"}


@pytest.mark.parametrize("name", CHAPTERS)
def test_nothing_is_left_that_lab_does_not_know(name):
    whole = read(SHOWN[name])
    chapter = read(whole.rewrite(lambda piece: "" if piece.kind == "comment" or piece in whole.cells else None))
    assert {directive.name for directive in chapter.find("directive")} <= DIRECTIVES
    assert {role.name for role in chapter.find("role")} <= ROLES
    assert "<details>" not in chapter.text, "HTML encloses no text in Lab, so that hints would stand open"
    assert "\n$$" not in chapter.text, "a formula that Lab would give a number of its own"
    labels = {formula.options.get("label") for formula in chapter.find("directive", "math")}
    assert {role.text for role in chapter.find("role", "eq")} <= labels
    assert name == "glossary.md" or list(chapter.find("role", "term")) == []


@pytest.fixture
def book(tmp_path):
    (tmp_path / "b.bib").write_text(
        "@article{one, author={Ann van Dyke}, title={{A}}, year={1999}, journal={J}}\n"
        "@misc{two, author={B, Bo and C, Cy and D, Di}, title={{Two \\& more}}, year={2001}, eprint={2001.00001}}\n"
    )
    (tmp_path / "here.md").write_text("$$\na\n$$ (eq-6a)\n")
    (tmp_path / "there.md").write_text("text\n\n$$\nb\n$$ (eq-2)\n")
    return Book(tmp_path, "here.md")


@pytest.mark.parametrize(
    "text, lab",
    [
        ("{glue:text}`D` and {glue:text}`w:.1e`", '{eval}`glue["D"]` and {eval}`glue["w:.1e"]`'),
        ("$$\na\nb\n$$ (eq-6a)", ":::{math}\n:label: eq-6a\n:enumerator: 6a\na\nb\n:::"),
        (
            "$$\na\n$$\n\ntext $b$\n\n$$\nc\n$$",
            ":::{math}\n:enumerated: false\na\n:::\n\ntext $b$\n\n:::{math}\n:enumerated: false\nc\n:::",
        ),
        ("{cite:p}`one`", '[(van Dyke, 1999)](bibliography.md "{cite:p} one")'),
        ("{cite:t}`one,two`", '[van Dyke (1999), B et al. (2001)](bibliography.md "{cite:t} one,two")'),
        ("{cite:p}`nobody`", "{cite:p}`nobody`"),
        ("{eq}`eq-2`, {eq}`eq-6a`", '[(2)](there.md "{eq} eq-2"), {eq}`eq-6a`'),
        ("{term}`the [class] token <token>`", '[the [class] token](glossary.md "{term} the [class] token <token>")'),
        ("{math}`a`, $b$ and ```{admonition}", "{math}`a`, $b$ and ```{admonition}"),
        (
            ":::{book-map}\n- [A](a.md): first\n\n- [B](b.md): second\n:::",
            "%| :::{book-map}\n%| - [A](a.md): first\n%| \n%| - [B](b.md): second\n%| :::\n\n"
            "- [A](a.md): first\n- [B](b.md): second\n\n%.",
        ),
        (
            "<details>\n<summary>Hint *1*</summary>\n\na\n\n<details>\n<summary>2</summary>\n\nb\n\n</details>\n</details>\n\nc\n\n"
            "<details>\n<summary>3</summary>\n\n```python\nd\n```\n\n</details>",
            f"{12 * ':'}{{admonition}} Hint *1*\n:class: dropdown\n\na\n\n{11 * ':'}{{admonition}} 2\n:class: dropdown\n\nb\n\n"
            f"{11 * ':'}\n{12 * ':'}\n\nc\n\n{12 * ':'}{{admonition}} 3\n:class: dropdown\n\n```python\nd\n```\n\n{12 * ':'}",
        ),
        (
            "A.\n\n```{bibliography}\n```\n\nB.",
            "A.\n\n%| ```{bibliography}\n%| ```\n\n- B et al. (2001). *Two & more*. "
            "[arXiv 2001.00001](https://arxiv.org/abs/2001.00001).\n- van Dyke (1999). *A*. J.\n\n%.\n\nB.",
        ),
    ],
)  # fmt: skip
def test_each_kind(book, text, lab):
    assert shown(text, book) == lab and written(lab) == text


def test_the_letters_stand_in_words(book):
    text = "## Letters\n\n:::{letters}\n:::\n"
    assert r"- $\mathbf{U}_{msa}$, in code `U_msa`: mixes the joined heads" in shown(text, book)
    assert written(shown(text, book)) == text


# ------------------------------------------------------------------------------------------------------ opened and saved


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chapters")
    shutil.copytree(BOOK, folder / "book", ignore=shutil.ignore_patterns("assets"))
    return folder


@pytest.fixture
def files(folder):
    """The files as the server of `make lab` has them."""
    settings = PyFileConfigLoader("jupyter_server_config.py", str(ROOT / "lab-settings")).load_config()
    assert settings.ServerApp.contents_manager_class == f"{Chapters.__module__}.{Chapters.__name__}"
    return Chapters(root_dir=str(folder), config=settings)


def opened(files, path, **options):
    return finished(files.get(path, **options))


@pytest.mark.parametrize("name", CHAPTERS)
@pytest.mark.slow
def test_a_chapter_that_was_run_and_saved_is_the_same_file(files, folder, name):
    model = opened(files, f"book/{name}")
    notebook = model["content"]
    nbformat.validate(notebook)
    notebook.metadata.kernelspec.display_name = "Python 3 (ipykernel)"  # what Lab does when it runs a notebook
    notebook.metadata.language_info = {"name": "python", "version": "3.13.0", "codemirror_mode": {"name": "ipython"}}
    for number, cell in enumerate(notebook.cells):
        cell.metadata.trusted = True
        if cell.cell_type == "code":
            cell.execution_count = number
            cell.outputs = [nbformat.v4.new_output("stream", text="42")]
        else:
            cell.metadata.user_expressions = [{"expression": 'glue["D"]', "result": {"status": "ok"}}]
    before = repr(notebook)
    finished(files.save({"type": "notebook", "format": "json", "content": notebook}, f"book/{name}"))
    assert (folder / "book" / name).read_text(encoding="utf-8") == (BOOK / name).read_text(encoding="utf-8")
    assert repr(notebook) == before, "what Lab holds is not changed under its hands"


def test_cells_that_the_page_hides_are_folded(files):
    cells = opened(files, "book/how_to_read.md")["content"].cells
    folded = [cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in cells]
    hidden = [bool({"remove-cell", "hide-input"} & set(cell.metadata.get("tags", []))) for cell in cells]
    assert folded == hidden and any(hidden)


def test_a_change_made_in_lab_is_written(files, folder):
    model = opened(files, "book/eq2.md")
    cell = next(cell for cell in model["content"].cells if ":enumerator: 2" in cell.source)
    cell.source += '\n\nThere are {eval}`glue["heads"]` heads.'
    finished(files.save({"type": "notebook", "format": "json", "content": model["content"]}, "book/eq2.md"))
    text = (folder / "book" / "eq2.md").read_text(encoding="utf-8")
    assert "\n\nThere are {glue:text}`heads` heads.\n" in text and ":::{math}" not in text


def test_an_editor_and_other_files_get_what_stands_in_the_file(files, folder):
    assert opened(files, "book/eq1.md", type="file")["content"] == (BOOK / "eq1.md").read_text(encoding="utf-8")
    (folder / "notes.md").write_text("{glue:text}`x`\n")
    assert opened(files, "notes.md")["content"].cells[0].source == "{glue:text}`x`"
    assert {item["name"] for item in opened(files, "")["content"]} >= {"book", "notes.md"}


def save(files, path: str, notebook) -> None:
    finished(files.save({"type": "notebook", "format": "json", "content": notebook}, path))


def test_what_is_only_read_keeps_its_time(files, folder):
    """Lab saves by itself what it takes for changed, and a kernel that was chosen is enough for that."""
    file = folder / "book" / "eq3.md"
    os.utime(file, (1, 1))
    notebook = opened(files, "book/eq3.md")["content"]
    save(files, "book/eq3.md", notebook)
    assert file.stat().st_mtime == 1
    notebook.cells[0].source += " More."
    save(files, "book/eq3.md", notebook)
    assert file.stat().st_mtime > 1


@pytest.mark.parametrize("name, text", [("README.md", "# Read me\n\nWords.\n"), ("tool.py", "print(1)\n")])
def test_text_that_is_no_notebook_is_never_written_as_one(files, folder, name, text):
    for place in (folder / name, folder / "book" / name):
        place.write_text(text)
        path = place.relative_to(folder).as_posix()
        model = opened(files, path, type="notebook")
        assert model["writable"] is False, "Lab saves by itself what may be written"
        with pytest.raises(HTTPError, match=f"{name} is no notebook, .*: to change it, use Open With > Editor"):
            save(files, path, model["content"])
        assert place.read_text() == text
        finished(files.save({"type": "file", "format": "text", "content": f"{text}\n"}, path))
        assert place.read_text() == f"{text}\n", "an editor may"
        place.unlink()


def test_lab_tells_papers_of_the_repository_from_chapters_by_their_names():
    script = (ROOT / "lab-settings/labextensions/vitbook-papers/static/remoteEntry.js").read_text()
    pattern = json.loads(script.partition("pattern: ")[2].partition(",")[0])
    papers = {path.name for path in ROOT.glob("*.md")}
    assert len(papers) > 4 and all(re.search(pattern, name) for name in papers)
    assert not any(re.search(pattern, name) for name in CHAPTERS)


def test_a_notebook_of_ones_own_can_be_made_and_saved(files, folder):
    cells = [nbformat.v4.new_markdown_cell("$$\na\n$$"), nbformat.v4.new_code_cell("1 + 1")]
    save(files, "own.md", nbformat.v4.new_notebook(cells=cells))
    model = opened(files, "own.md")
    assert model["writable"] and model["content"].cells[0].source == "$$\na\n$$", "no book lies around it"
    model["content"].cells[1].source = "2 + 2"
    save(files, "own.md", model["content"])
    assert "2 + 2" in (folder / "own.md").read_text()
    assert is_notebook(folder / "own.md") and is_notebook(folder / "another.ipynb")


def test_a_cell_that_would_come_back_otherwise_is_left_as_it_is(book):
    kept = ['a {eval}`glue["x"]` {glue:text}`y`', ":::{math}\n:enumerated: false\na\n:::\n\n$$\nb\n$$", "$$a$$ (eq-2)"]
    notebook = {"cells": [{"cell_type": "markdown", "metadata": {}, "source": text} for text in kept]}
    show_notebook(notebook, book)
    assert [cell["source"] for cell in notebook["cells"]] == kept
