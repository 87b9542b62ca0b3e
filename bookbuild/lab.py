"""The chapters as JupyterLab shows them, and back again as they are written.

The extension jupyterlab-myst draws boxes and formulas, and cannot know what only the build knows: glued numbers, the paper's
equation numbers, references, other chapters. So a chapter that is opened as a notebook says these things in Lab's own words:

    {glue:text}`worst:.1e`      {eval}`glue["worst:.1e"]`, which Lab asks the kernel for each time the cell runs
    $$ ... $$ (eq-6)            :::{math} with the number 6, and one without a number where there is no label
    {cite:p}`dosovitskiy...`    a link with names and year, whose title keeps the role; so do {eq} and {term} to other chapters
    <details>                   a box that unfolds: jupyterlab-myst lets no HTML enclose other text
    {bibliography}              the list itself, under a comment that keeps the directive; so do {letters} and {book-map}
    hide-input                  the cell is folded

and a notebook that is saved says them as before: ``written(shown(text)) == text``, and a cell of which that is not true is
shown as it is written.  The folder ``lab-settings`` tells the server to use `Chapters`.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupytext import build_async_jupytext_contents_manager_class
from jupytext.formats import read_metadata
from tornado.web import HTTPError

from bookbuild.citations import Citations, cited
from bookbuild.equations import paper_number
from bookbuild.myst import Chapter, Piece, read
from vitbook.notation import LETTERS

HIDDEN = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
LONGEST = 12  # colons of a box that unfolds, and one less for each box around it
SHORTEST = 7  # no fence of a chapter has more than six
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
KEPT, DRAWN = "| ", "."  # comments: a directive as it is written, and the end of what is drawn in its place


class Book:
    """What a chapter needs of the others: ``folder`` holds them all, and ``page`` is the one that is read."""

    def __init__(self, folder: Path, page: str):
        self.page = page
        self.citations = Citations(folder.glob("*.bib"))
        self.homes = {
            formula.name: path.name
            for path in folder.glob("*.md")
            for formula in read(path.read_text(encoding="utf-8")).find("formula")
        }

    def link(self, role: Piece) -> str | None:
        """A role as words and the page that they lead to, or None where Lab needs no help."""
        find = {"cite:p": self._cite, "cite:t": self._cite, "eq": self._equation, "term": self._term}.get(role.name)
        words, goal = find(role) if find else ("", None)
        leads_away = goal not in (None, self.page) and '"' not in role.text
        return f'[{words}]({goal} "{{{role.name}}} {role.text}")' if leads_away else None

    def _cite(self, role: Piece) -> tuple[str, str | None]:
        try:
            return cited(self.citations, role.text, textual=role.name == "cite:t"), "bibliography.md"
        except KeyError:
            return "", None

    def _equation(self, role: Piece) -> tuple[str, str | None]:
        return f"({paper_number(role.text)})", self.homes.get(role.text)

    def _term(self, role: Piece) -> tuple[str, str]:
        return role.words, "glossary.md"

    def draw(self, directive: Piece) -> list[str]:
        """What the build draws, line by line, in Lab's words."""
        if directive.name == "bibliography":
            return self.citations.references()
        if directive.name == "letters":
            return [f"${letter.latex}$, in code `{letter.code}`: {letter.meaning}" for letter in LETTERS]
        body = read(directive.text)
        return [body.source(paragraph) for paragraph in body.find("paragraph")]


def shown(text: str, book: Book) -> str:
    """The text of a cell as Lab shows it."""
    chapter = read(text)
    depth = 0

    def in_lab(piece: Piece) -> str | None:
        nonlocal depth
        source = chapter.source(piece)
        if piece.kind == "role":
            return f'{{eval}}`glue["{piece.text}"]`' if piece.name == "glue:text" else book.link(piece)
        if piece.kind == "formula":
            return _numbered(piece) if piece.text.startswith("\n") else None
        if piece.kind == "html":
            lines, depth = _unfolding(source.split("\n"), depth)
            return "\n".join(lines)
        if piece.kind == "directive" and piece.name in ("bibliography", "letters", "book-map"):
            kept = [f"%{KEPT}{line}" for line in source.split("\n")]
            return "\n".join([*kept, "", *(f"- {line}" for line in book.draw(piece)), "", f"%{DRAWN}"])
        return None

    return chapter.rewrite(in_lab)


def _numbered(formula: Piece) -> str:
    label = formula.name
    options = f":label: {label}\n:enumerator: {paper_number(label)}" if label else ":enumerated: false"
    return f":::{{math}}\n{options}{formula.text}:::"


def _unfolding(lines: list[str], depth: int) -> tuple[list[str], int]:
    """Details, one inside the other, as boxes: an outer one has the longer fence.  Also how many are open after these lines."""
    found, lines = [], lines.copy()
    while lines:
        line = lines.pop(0)
        if line == "<details>" and lines and (title := _between("<summary>", lines[0], "</summary>")) is not None:
            found += [f"{':' * (LONGEST - depth)}{{admonition}} {title}", ":class: dropdown"]
            depth += 1
            del lines[0]
        elif line == "</details>":
            depth -= 1
            found.append(":" * (LONGEST - depth))
        else:
            found.append(line)
    return found, depth


def _between(start: str, text: str, end: str) -> str | None:
    """What stands between ``start`` and ``end``, where they enclose the text."""
    if len(text) >= len(start + end) and text.startswith(start) and text.endswith(end):
        return text[len(start) : len(text) - len(end)]
    return None


def written(text: str) -> str:
    """The text of a cell as the chapter has it."""
    chapter = read(_undrawn(read(text)))

    def in_chapter(piece: Piece) -> str | None:
        source = chapter.source(piece)
        if piece.kind == "role" and piece.name == "eval":
            name = _between('glue["', piece.text, '"]')
            return name and f"{{glue:text}}`{name}`"
        if piece.kind == "link":
            role, _, text = (_between('"{', source[source.rfind('"{') : -1], '"') or "").partition("} ")
            return f"{{{role}}}`{text}`" if role in ("cite:p", "cite:t", "eq", "term") else None
        if piece.kind == "directive" and piece.name == "math":
            return _in_dollars(piece)
        if piece.kind == "directive" and source.startswith(":" * SHORTEST) and piece.options == {"class": "dropdown"}:
            inside = chapter.rewrite(in_chapter, piece)
            return f"<details>\n<summary>{piece.title}</summary>\n{inside}</details>"
        return None

    return chapter.rewrite(in_chapter)


def _in_dollars(formula: Piece) -> str | None:
    label = formula.options.get("label")
    if not label and formula.options.get("enumerated") != "false":
        return None
    return f"$$\n{formula.text}\n$$" + (f" ({label})" if label else "")


def _undrawn(chapter: Chapter) -> str:
    """The text with directives back in the place of what was drawn for them."""
    out, at, kept = [], 0, None
    for piece in chapter.find("comment"):
        if piece.text == DRAWN and kept:
            lines = chapter.source(kept).split("\n")
            out += [chapter.text[at : kept.start], "\n".join(line.removeprefix(f"%{KEPT}") for line in lines)]
            at, kept = piece.end, None
        elif piece.text.startswith(KEPT):
            kept = piece
    return "".join([*out, chapter.text[at:]])


def show_notebook(notebook: dict, book: Book) -> None:
    """Change a notebook that was read into what Lab shows."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            words = shown(cell["source"], book)
            cell["source"] = (
                words if written(words) == cell["source"] else cell["source"]
            )  # no cell is changed by reading
        elif HIDDEN & set(cell["metadata"].get("tags", [])):
            cell["metadata"]["jupyter"] = {"source_hidden": True}


def write_notebook(notebook: dict) -> None:
    """Change a notebook that Lab hands over into what the chapter has."""
    if notebook["metadata"].get("kernelspec", {}).get("name") == KERNEL["name"]:
        notebook["metadata"]["kernelspec"] = dict(KERNEL)  # Lab calls it by a longer name
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = written(cell["source"])
            cell["metadata"].pop("user_expressions", None)  # the numbers of this run
        elif HIDDEN & set(cell["metadata"].get("tags", [])):
            cell["metadata"].pop("jupyter", None)


class Chapters(build_async_jupytext_contents_manager_class(AsyncLargeFileManager)):
    """Jupytext's files: a notebook beside a bibliography is a chapter, and text that is no notebook is never written as one."""

    async def get(self, path, content=True, type=None, format=None, **more):
        """The file at ``path``; a chapter comes as Lab shows it, and text that is opened as a notebook is for reading."""
        model = await super().get(path, content=content, type=type, format=format, **more)
        if content and model["type"] == "notebook":
            file = self.file(path)
            if not is_notebook(file):
                model["writable"] = False
            elif is_chapter(file):
                show_notebook(model["content"], Book(file.parent, file.name))
        return model

    async def save(self, model, path=""):
        """Save the file at ``path``; a chapter is saved as it is written.  Text that is no notebook raises HTTPError."""
        file = self.file(path)
        if model["type"] == "notebook" and file.is_file():
            if not is_notebook(file):
                told = f"{file.name} is no notebook, and saving it as one would write a header into it"
                raise HTTPError(400, f"{told}: to change it, use Open With > Editor")
            if is_chapter(file):
                model = deepcopy(model)
                write_notebook(model["content"])
        return await super().save(model, path)

    async def _save_file(self, os_path, content, format):
        """Write a file, but not the text that stands in it already: what is only read keeps its time."""
        file = Path(os_path)
        if format != "text" or not file.is_file() or file.read_bytes() != content.encode():
            await super()._save_file(os_path, content, format)

    def file(self, path: str) -> Path:
        """The file that Lab calls ``path``."""
        return Path(self.root_dir, path.strip("/"))


def is_notebook(file: Path) -> bool:
    """Whether a file says itself that it is a notebook: by its name, or in a header of Jupytext's."""
    if file.suffix == ".ipynb":
        return True
    return bool(read_metadata(file.read_text(encoding="utf-8"), file.suffix).get("jupytext"))


def is_chapter(file: Path) -> bool:
    """Whether a file is a notebook of a book: one in Markdown, beside a bibliography."""
    return file.suffix == ".md" and is_notebook(file) and any(file.parent.glob("*.bib"))
