"""The chapter of exercises is what the records say, complete, and hides what it should."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from bookbuild.myst import Chapter, Piece, read
from vitbook.exercises import EXERCISES

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("exercises_chapter", ROOT / "tools" / "exercises_chapter.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
SOURCE = tool.CHAPTER.read_text(encoding="utf-8")


def test_the_committed_chapter_is_what_the_records_say():
    assert tool.chapter() == SOURCE, "run python tools/exercises_chapter.py"


def test_every_exercise_is_there_with_all_its_parts():
    assert len(EXERCISES) >= 12 and set(tool.TITLES) == {exercise.name for exercise in EXERCISES}
    for exercise in EXERCISES:
        part = tool.section(exercise)
        assert part in SOURCE
        assert exercise.starter.strip() in part and exercise.solution.strip() in part
        assert f"vitbook.check.{exercise.name}({exercise.name})" in part
        assert part.count("<summary>Hint") == len(exercise.hints)


def folded(chapter: Chapter) -> list[tuple[list[str], Piece]]:
    """Every piece with the titles of the folds around it; None ends the list, where all folds should be closed."""
    found, titles = [], []
    for piece in chapter.walk():
        for line in piece.text.splitlines() if piece.kind == "html" else ():
            if line.startswith("<summary>"):
                titles = [*titles, line.removeprefix("<summary>").removesuffix("</summary>")]
            elif line == "</details>":
                titles = titles[:-1]
        found.append((titles, piece))
    return [*found, (titles, None)]


def test_hints_lie_one_inside_the_other():
    """Each hint opens only when the one before it is open, and all are closed before the solution begins."""
    for exercise in EXERCISES:
        chapter = read(tool.section(exercise))
        folds = [titles for titles, _ in folded(chapter)]
        assert chapter.text.count("<details>") == chapter.text.count("</details>") == chapter.text.count("<summary>")
        assert folds[-1] == [] and max(map(len, folds)) == len(exercise.hints), exercise.name
        solutions = [titles for titles in folds if any(title.startswith("A solution") for title in titles)]
        assert solutions and all(len(titles) == 1 for titles in solutions), exercise.name


def test_no_solution_stands_outside_a_fold():
    chapter = read(SOURCE)
    unfolded = [
        chapter.source(piece)
        for titles, piece in folded(chapter)
        if piece and not any(title.startswith("A solution") for title in titles)
    ]
    for exercise in EXERCISES:
        assert exercise.solution.strip() not in "\n\n".join(unfolded), exercise.name


@pytest.mark.parametrize(
    "text, markdown",
    [
        ("First A[1:, 1:] drops [class]. Then more.", "First `A[1:, 1:]` drops [class].\nThen more."),
        ("np.split(U, heads, axis=1) cuts.", "`np.split(U, heads, axis=1)` cuts."),
        ("Whole division // and %, both.", "Whole division `//` and `%`, both."),
        ("divided by √D_h, U_qkv stays", "divided by √D_h, `U_qkv` stays"),
        ("r[:, None] - r[None, :] holds", "`r[:, None] - r[None, :]` holds"),
        ("a plain sentence, e.g. this one.", "a plain sentence, e.g. this one."),
    ],
)
def test_code_in_a_sentence(text, markdown):
    assert tool.marked(text) == markdown


def test_check_notices_a_change(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "CHAPTER", tmp_path / "exercises.md")
    monkeypatch.setattr("sys.argv", ["tool"])
    assert tool.main() == 0 and tool.CHAPTER.read_text(encoding="utf-8") == SOURCE
    monkeypatch.setattr("sys.argv", ["tool", "--check"])
    assert tool.main() == 0
    tool.CHAPTER.write_text(SOURCE + "x", encoding="utf-8")
    assert tool.main() == 1 and "run python tools/exercises_chapter.py" in capsys.readouterr().err
