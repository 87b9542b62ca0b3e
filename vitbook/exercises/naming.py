"""Recognising a known mistake by its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from vitbook.exercises.comparing import Difference, as_array, parts_of, plain, same
from vitbook.exercises.record import Case, Exercise, Mistake
from vitbook.exercises.running import Outcome


@dataclass(frozen=True, eq=False)
class Trial:
    """One case with what was expected, what came, and why it failed (None where it did not)."""

    case: Case
    expected: Any
    outcome: Outcome
    failure: Difference | None


def quiet(function: Callable, case: Case) -> Any:
    """Our own functions, which leave their arguments alone; a known mistake may well divide by zero."""
    with np.errstate(all="ignore"):
        return function(*case.arguments)


def known_mistakes(exercise: Exercise, trials: list[Trial], most: int = 2) -> tuple[Mistake, ...]:
    """The known mistake whose results are those of the reader's function, or two that are so together, or nothing.

    First those that agree in every case; else those that agree wherever the reader's numbers are finite, since a further
    mistake shows where numbers are extreme. In either case at least one wrong value must agree.
    """
    finite = [trial for trial in trials if came_back(trial) and is_finite(trial.outcome.value)]
    groups = [trials] if len(finite) == len(trials) else [trials, finite]
    for size in range(1, most + 1):
        for group in groups:
            if any(is_wrong(trial) for trial in group):
                first = sorted(group, key=lambda trial: not is_wrong(trial))  # what is wrong excludes most at once
                for known in combinations(exercise.mistakes if size == 1 else that_show(exercise, group), size):
                    if all(agrees(exercise, known, trial) for trial in first):
                        return known
    return ()


def that_show(exercise: Exercise, trials: list[Trial]) -> list[Mistake]:
    """The mistakes that change anything in these cases."""

    def shows(known: Mistake) -> bool:
        try:
            values = [(quiet(exercise.wrong(known), trial.case), trial.expected) for trial in trials]
        except Exception:
            return True
        return not all(same(plain(value), expected, exercise.tolerance) for value, expected in values)

    return [known for known in exercise.mistakes if shows(known)]


def came_back(trial: Trial) -> bool:
    """Did the function return in time?"""
    return trial.outcome.error is None and not trial.outcome.late


def is_wrong(trial: Trial) -> bool:
    """Did it return something that is not the expected result?"""
    return came_back(trial) and trial.failure is not None and trial.failure.kind not in ("changed inputs", "wrong type")


def agrees(exercise: Exercise, known: tuple[Mistake, ...], trial: Trial) -> bool:
    """Do these mistakes leave what the reader's function left: the same values, or an error of the same type?"""
    try:
        function = exercise.wrong(*known)
    except ValueError:  # two that cannot be made together
        return False
    try:
        value = plain(quiet(function, trial.case))
    except Exception as error:
        return type(error) is type(trial.outcome.error)
    return came_back(trial) and same(trial.outcome.value, value, exercise.tolerance)


def is_finite(value: Any) -> bool:
    """Numbers or truth values only, none of them NaN or infinite?"""
    arrays = [as_array(part) for part in parts_of(value)]
    return all(a is not None and a.dtype.kind in "biuf" and np.isfinite(a).all() for a in arrays)
