"""The chapters as JupyterLab shows them, and back again as they are written.

The extension jupyterlab-myst draws boxes and formulas, and cannot know what only the build knows: glued numbers, the paper's
equation numbers, references, other chapters. So a chapter that is opened as a notebook says these things in Lab's own words:

    {glue:text}`worst:.1e`      {eval}`glue["worst:.1e"]`, which Lab asks the kernel for each time the cell runs
    $$ ... $$ (eq-6)            :::{math} with the number 6, and one without a number where there is no label
    {cite:p}`dosovitskiy...`    a link with names and year, whose title keeps the role; so do {eq} and {term} to other chapters
    <details>                   a box that unfolds: jupyterlab-myst lets no HTML enclose other text
    {bibliography}              the list itself, under a comment that keeps the directive; so do {letters} and {book-map}
    hide-input                  the cell is folded

and a notebook that is saved says them as before: ``written(shown(text)) == text``.
The folder ``lab-settings`` tells the server to use `Chapters`.
"""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupytext import build_async_jupytext_contents_manager_class

from bookbuild.citations import Citations
from bookbuild.equations import paper_number
from vitbook.notation import LETTERS

HIDDEN = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
LONGEST = 12  # colons; no fence of a chapter has more than six
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}

_GLUE = re.compile(r"\{glue:text\}`([^`\"]+)`")
_EVAL = re.compile(r"\{eval\}`glue\[\"([^`\"]+)\"\]`")
_DOLLARS = re.compile(r"^\$\$\n(?P<tex>.*?)\n\$\$(?: \((?P<label>[\w-]+)\))?$", re.MULTILINE | re.DOTALL)
_MATH = re.compile(
    r"^:::\{math\}\n:(?:label: (?P<label>[\w-]+)\n:enumerator: \w+|enumerated: false)\n(?P<tex>.*?)\n:::$",
    re.MULTILINE | re.DOTALL,
)
_DRAWN = re.compile(
    r"^(?P<fence>:{3,}|`{3,})\{(?P<name>bibliography|letters|book-map)\}\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_KEPT = re.compile(r"^(?P<kept>(?:%\| .*\n)+)\n.*?\n\n%\.$", re.MULTILINE | re.DOTALL)
_DETAILS = re.compile(r"^<details>\n<summary>(?P<title>.*)</summary>$|^</details>$", re.MULTILINE)
_UNFOLDS = re.compile(r"^:{7,}\{admonition\} (?P<title>.*)\n:class: dropdown$|^:{7,}$", re.MULTILINE)
_ROLE = re.compile(r"\{(cite:[pt]|eq|term)\}`([^`\"]+)`")
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)\s]+ \"\{(cite:[pt]|eq|term)\} ([^\"]+)\"\)")


class Book:
    """What a chapter needs of the others: ``folder`` holds them all, and ``page`` is the one that is read."""

    def __init__(self, folder: Path, page: str):
        self.page = page
        self.citations = Citations(folder.glob("*.bib"))
        texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
        self.homes = {
            label: name for name, text in texts.items() for label in re.findall(r"^\$\$ \((.+)\)$", text, re.M)
        }

    def link(self, role: str, content: str) -> str | None:
        """A role as words and the page that they lead to, or None where Lab needs no help."""
        try:
            words, goal = getattr(self, f"_{role.partition(':')[0]}")(role, content)
        except KeyError:
            return None
        return None if goal == self.page else f'[{words}]({goal} "{{{role}}} {content}")'

    def _cite(self, role: str, content: str) -> tuple[str, str]:
        textual = role == "cite:t"
        words = [self.citations(key.strip(), textual) for key in content.split(",")]
        return ", ".join(words) if textual else f"({'; '.join(words)})", "bibliography.md"

    def _eq(self, role: str, content: str) -> tuple[str, str]:
        return f"({paper_number(content)})", self.homes[content]

    def _term(self, role: str, content: str) -> tuple[str, str]:
        return re.sub(r"\s*<.*>$", "", content), "glossary.md"

    def draw(self, directive: re.Match) -> str:
        """What the build draws, in Lab's words, below the directive as a comment."""
        kept = "".join(f"%| {line}\n" for line in directive[0].split("\n"))
        lines = {
            "bibliography": lambda: self.citations.references(),
            "letters": lambda: [f"${letter.latex}$, in code `{letter.code}`: {letter.meaning}" for letter in LETTERS],
            "book-map": lambda: re.findall(r"^- (.*)", directive["body"], re.MULTILINE),
        }[directive["name"]]()
        return "\n".join([kept, *(f"- {line}" for line in lines), "", "%."])


def shown(text: str, book: Book) -> str:
    """The text of a cell as Lab shows it."""
    text = _unfolding(_DRAWN.sub(book.draw, text))
    text = _GLUE.sub(r'{eval}`glue["\1"]`', text)
    text = _DOLLARS.sub(_numbered, text)
    return _ROLE.sub(lambda role: book.link(role[1], role[2]) or role[0], text)


def _numbered(formula: re.Match) -> str:
    label = formula["label"]
    options = f":label: {label}\n:enumerator: {paper_number(label)}" if label else ":enumerated: false"
    return f":::{{math}}\n{options}\n{formula['tex']}\n:::"


def _unfolding(text: str) -> str:
    """Details, one inside the other, as boxes: an outer one has the longer fence."""
    depth = 0

    def fence(found: re.Match) -> str:
        nonlocal depth
        opens = found["title"] is not None
        depth -= not opens
        colons = ":" * (LONGEST - depth)
        depth += opens
        return f"{colons}{{admonition}} {found['title']}\n:class: dropdown" if opens else colons

    return _DETAILS.sub(fence, text)


def _details(found: re.Match) -> str:
    return "</details>" if found["title"] is None else f"<details>\n<summary>{found['title']}</summary>"


def written(text: str) -> str:
    """The text of a cell as the chapter has it."""
    text = _EVAL.sub(r"{glue:text}`\1`", text)
    text = _MATH.sub(lambda found: f"$$\n{found['tex']}\n$$" + (f" ({found['label']})" if found["label"] else ""), text)
    text = _UNFOLDS.sub(_details, _LINK.sub(r"{\1}`\2`", text))
    return _KEPT.sub(lambda found: re.sub(r"^%\| ", "", found["kept"], flags=re.MULTILINE).rstrip("\n"), text)


def show_notebook(notebook: dict, book: Book) -> None:
    """Change a notebook that was read into what Lab shows."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = shown(cell["source"], book)
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
    """Jupytext's files, where a Markdown notebook beside a bibliography is a chapter."""

    async def get(self, path, content=True, type=None, format=None, **more):
        """The file at ``path``; a chapter comes as Lab shows it."""
        model = await super().get(path, content=content, type=type, format=format, **more)
        if content and model["type"] == "notebook" and self.is_chapter(path):
            file = self.file(path)
            show_notebook(model["content"], Book(file.parent, file.name))
        return model

    async def save(self, model, path=""):
        """Save the file at ``path``; a chapter is saved as it is written."""
        if model["type"] == "notebook" and self.is_chapter(path):
            model = deepcopy(model)
            write_notebook(model["content"])
        return await super().save(model, path)

    def file(self, path: str) -> Path:
        """The file that Lab calls ``path``."""
        return Path(self.root_dir, path.strip("/"))

    def is_chapter(self, path: str) -> bool:
        """Whether the file at ``path`` belongs to a book."""
        return path.endswith(".md") and any(self.file(path).parent.glob("*.bib"))
