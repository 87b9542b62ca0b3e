"""Recognising a known mistake by its results."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitbook.exercises.comparing import Difference, as_array, plain, same
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
    """Our own functions on a copy of the arguments; a known mistake may well divide by zero."""
    with np.errstate(all="ignore"):
        return function(*copy.deepcopy(case.arguments))


def known_mistake(exercise: Exercise, trials: list[Trial]) -> Mistake | None:
    """The known mistake whose results are those of the reader's function, or None.

    First the one that agrees in every case; else one that agrees wherever the reader's numbers are finite, since two
    mistakes at once are common where numbers are extreme. In either case at least one wrong value must agree.
    """
    finite = [trial for trial in trials if came_back(trial) and is_finite(trial.outcome.value)]
    for considered in (trials, finite):
        if any(is_wrong(trial) for trial in considered):
            for known in exercise.mistakes:
                if all(agrees(exercise, known, trial) for trial in considered):
                    return known
    return None


def came_back(trial: Trial) -> bool:
    """Did the function return in time?"""
    return trial.outcome.error is None and not trial.outcome.late


def is_wrong(trial: Trial) -> bool:
    """Did it return something that is not the expected result?"""
    return came_back(trial) and trial.failure is not None and trial.failure.kind != "changed inputs"


def agrees(exercise: Exercise, known: Mistake, trial: Trial) -> bool:
    """Does the known mistake leave what the reader's function left: the same values, or an error of the same type?"""
    try:
        value = plain(quiet(exercise.wrong(known), trial.case))
    except Exception as error:
        return type(error) is type(trial.outcome.error)
    return came_back(trial) and same(trial.outcome.value, value, exercise.tolerance)


def is_finite(value: Any) -> bool:
    """Numbers or truth values only, none of them NaN or infinite?"""
    parts = value if isinstance(value, tuple) else (value,)
    arrays = [as_array(part) for part in parts]
    return all(a is not None and a.dtype.kind in "biuf" and np.isfinite(a).all() for a in arrays)
