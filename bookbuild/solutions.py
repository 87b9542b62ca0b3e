"""The book without its solutions, for teachers: ``vitbook_solutions: false`` in _config.yml.

The folded solutions of the exercises and the boxes of answers are left out of the pages, and of the sources and notebooks
that the pages offer for download.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from bookbuild.myst import Piece, read

SOLUTION = re.compile(r"<details>\n<summary>(?:A solution|Answers?\b[^\n]*)</summary>\n.*?\n</details>\n*", re.DOTALL)


def without_solutions(text: str) -> str:
    """A chapter, or a piece of one, without its solutions and answers."""

    def left_out(piece: Piece) -> str | None:
        answers = piece.kind == "directive" and "dropdown" in piece.classes and piece.title.startswith("Answer")
        return "" if answers else None

    return read(SOLUTION.sub("", text)).rewrite(left_out)


def leave_out(app: Sphinx, docname: str, source: list[str]) -> None:
    if not app.config.vitbook_solutions:
        source[0] = without_solutions(source[0])


def leave_out_of_downloads(app: Sphinx, error: Exception | None) -> None:
    if error or app.config.vitbook_solutions:
        return
    for path in Path(app.outdir, "_sources").rglob("*.*"):
        if path.suffix == ".ipynb":
            notebook = nbformat.read(path, as_version=4)
            for cell in notebook.cells:
                cell.source = without_solutions(cell.source) if cell.cell_type == "markdown" else cell.source
            nbformat.write(notebook, path)
        elif path.suffix in (".md", ".txt"):
            path.write_text(without_solutions(path.read_text("utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_config_value("vitbook_solutions", True, "env")
    app.connect("source-read", leave_out)
    app.connect("build-finished", leave_out_of_downloads)
