"""The switch for teachers: no solution and no answer is left, and nothing else is lost."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from bookbuild import solutions
from bookbuild.myst import read
from bookbuild.solutions import without_solutions
from vitbook.exercises import EXERCISES

BOOK = Path(__file__).parents[1] / "book"
CHAPTERS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(BOOK.glob("*.md"))}


@pytest.mark.parametrize("name", CHAPTERS)
def test_only_solutions_and_answers_go(name):
    whole, rest = read(CHAPTERS[name]), read(without_solutions(CHAPTERS[name]))
    assert [cell.text for cell in rest.cells] == [cell.text for cell in whole.cells]
    assert [heading.text for heading in rest.find("heading")] == [heading.text for heading in whole.find("heading")]
    gone = [box for box in whole.find("directive") if "dropdown" in box.classes and box.title.startswith("Answer")]
    assert sum(1 for _ in rest.find("directive")) == sum(1 for _ in whole.find("directive")) - len(gone)
    assert "<summary>A solution" not in rest.text and not any(box.text in rest.text for box in gone)
    assert "vb-exercise" not in whole.text or "vb-exercise" in rest.text


def test_tasks_and_hints_stay():
    rest = without_solutions(CHAPTERS["exercises"])
    for exercise in EXERCISES:
        assert exercise.starter.strip() in rest and exercise.solution.strip() not in rest
    assert rest.count("<details>") == rest.count("</details>") == sum(len(exercise.hints) for exercise in EXERCISES)


@pytest.mark.parametrize("kept", [True, False])
def test_the_switch_reaches_pages_and_downloads(kept, tmp_path):
    app = SimpleNamespace(config=SimpleNamespace(vitbook_solutions=kept), outdir=tmp_path)
    source = [CHAPTERS["exercises"]]
    solutions.leave_out(app, "book/exercises", source)
    (tmp_path / "_sources").mkdir()
    text, notebook = tmp_path / "_sources" / "exercises.md", tmp_path / "_sources" / "exercises.ipynb"
    text.write_text(CHAPTERS["exercises"], encoding="utf-8")
    folded = "<details>\n<summary>Answers to the first two</summary>\n\nFive.\n\n</details>"
    cells = [nbformat.v4.new_markdown_cell(f"Count.\n\n{folded}"), nbformat.v4.new_code_cell("1 + 1")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebook)
    solutions.leave_out_of_downloads(app, None)
    for words in (source[0], text.read_text(encoding="utf-8")):
        assert ("A solution" in words) == kept and "Hint 1" in words
    assert ("Five" in notebook.read_text()) == kept and "1 + 1" in notebook.read_text()
