"""The chapter of exercises is what the records say, complete, and hides what it should."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

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


def test_hints_lie_one_inside_the_other():
    """Each hint opens only when the one before it is open, and all are closed before the solution begins."""
    for exercise in EXERCISES:
        depth, deepest, at_solution = 0, 0, None
        for tag in re.findall(r"<details>|</details>|<summary>A solution", tool.section(exercise)):
            if tag == "<summary>A solution":
                at_solution = depth
            depth += {"<details>": 1, "</details>": -1}.get(tag, 0)
            deepest = max(deepest, depth)
        assert (depth, deepest, at_solution) == (0, len(exercise.hints), 1), exercise.name


def test_no_solution_stands_outside_a_fold():
    open_text = re.sub(r"<details>\n<summary>A solution.*?</details>", "", SOURCE, flags=re.S)
    for exercise in EXERCISES:
        assert exercise.solution.strip() not in open_text, exercise.name


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
