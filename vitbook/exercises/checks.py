"""`check`: one grader an exercise, found by completion."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from html import escape
from typing import Any

from vitbook.checks import finite, whole
from vitbook.exercises.grading import SECONDS, grade
from vitbook.exercises.record import Case, Exercise
from vitbook.exercises.report import Report


class Grader:
    """Checks one exercise: call it with your function. ``exercise`` holds the statement, the hints and the solution."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.__name__ = exercise.name
        self.__doc__ = f"{exercise.signature}\n\n{exercise.statement}\n\n{exercise.shapes}"
        self._shown = 0

    def __call__(self, function: Any, *, seconds: float = SECONDS, seed: int = 0) -> Report:
        """Run your function on fixed and random cases and say what came of it.

        seconds: time for all cases together; seed: another whole number from 0 draws other random cases.
        Raises ValueError for a time that is no positive number, or another seed.
        """
        if finite(seconds, "seconds", " above 0") <= 0:
            raise ValueError(f"seconds must be a finite number above 0, got {seconds!r}")
        return grade(self.exercise, function, seconds=float(seconds), seed=whole(seed, "seed", 0))

    def on(self, function: Any, *arguments: Any, seconds: float = 60.0) -> Report:
        """Check your function as always, and then on one call of your own, such as a real picture.

        Raises ValueError where the number of arguments is not the task's.
        """
        if len(arguments) != len(self.exercise.names):
            raise ValueError(
                f"{self.exercise.signature} takes {len(self.exercise.names)} arguments, got {len(arguments)}"
            )
        report = self(function)
        return grade(self.exercise, function, seconds, cases=[Case("your own call", arguments)]) if report else report

    def hint(self, number: int | None = None) -> None:
        """Print the next hint, or the one of that number (from 1)."""
        hints = self.exercise.hints
        number = None if number is None else whole(number, f"the hint of {self.exercise.name}", 1, len(hints))
        self._shown = number or min(self._shown + 1, len(hints))
        print(f"Hint {self._shown} of {len(hints)}: {hints[self._shown - 1]}")

    def starter(self) -> None:
        """Print a cell to begin with."""
        print(self.exercise.starter)

    def solution(self) -> None:
        """Print a solution. Yours may look quite different."""
        print(self.exercise.solution)

    def __repr__(self) -> str:
        e = self.exercise
        return f"check.{e.signature} ({e.difficulty}, about {e.minutes} minutes)\n{e.statement}\n{e.shapes}"


class Check:
    """The graders of all exercises as attributes: ``check.softmax(your_function)`` returns a `Report`.

    Each also has ``.hint()``, ``.starter()`` and ``.solution()``; ``check`` alone lists them by chapter.
    """

    def __init__(self, exercises: Iterable[Exercise]) -> None:
        self._graders = {exercise.name: Grader(exercise) for exercise in exercises}
        vars(self).update(self._graders)

    def __getattr__(self, name: str) -> Grader:
        if name.startswith("_"):
            raise AttributeError(name)
        near = difflib.get_close_matches(name, self._graders, n=1)
        hint = f"did you mean {near[0]}?" if near else "type check. and Tab, or look at check, to see all of them"
        raise AttributeError(f"there is no exercise {name!r}; {hint}")

    def __call__(self, *_: Any, **__: Any) -> Report:
        """Raise TypeError: each exercise has a check of its own."""
        raise TypeError(
            "each exercise has a check of its own: check.softmax(your_function); look at check to see all of them"
        )

    def __dir__(self) -> list[str]:
        return sorted(self._graders)

    def __iter__(self):
        return iter(self._graders.values())

    def __len__(self) -> int:
        return len(self._graders)

    def __repr__(self) -> str:
        lines = [f"{len(self)} exercises; check.<name>(your_function) looks at yours, check.<name>.hint() helps"]
        for grader in self:
            e = grader.exercise
            lines.append(f"  {e.signature:58} {e.minutes:2} min, {e.difficulty:6}  {e.chapter}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{escape(g.exercise.signature)}</code></td><td>{escape(g.exercise.chapter)}</td>"
            f"<td>{g.exercise.difficulty}, {g.exercise.minutes} min</td><td>{escape(g.exercise.statement)}</td></tr>"
            for g in self
        )
        return (
            "<table><thead><tr><th>check.</th><th>chapter</th><th>difficulty</th><th>task</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
