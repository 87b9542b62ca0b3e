"""Running a reader's function on every case of an exercise, and naming the mistake where it is a known one."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vitbook.exercises.comparing import Difference, difference, kind_of, plain
from vitbook.exercises.naming import Trial, known_mistake, quiet
from vitbook.exercises.record import Case, Exercise
from vitbook.exercises.report import Report
from vitbook.exercises.running import Outcome, call
from vitbook.exercises.telling import error_words, is_empty, sentence, traceback_of

SECONDS = 10.0  # for all cases of one check together; the solutions need well under one


@np.errstate(all="ignore")  # what the reader has told NumPy about overflow is no part of the task
def grade(exercise: Exercise, function: Any, seconds: float = SECONDS, seed: int = 0) -> Report:
    """Run the function on every case; report that it passed, or the first case that failed and why.

    Never raises on account of the function, whatever it does; the reader's own interrupt passes through.
    """
    if not callable(function):
        words = (f"Hand over the function itself: check.{exercise.name}({exercise.name}), without calling it.",)
        return Report(exercise.name, "not a function", (f"What came is {kind_of(function)}, not a function.", *words))
    cases = exercise.draw(seed)
    misfit = signature_misfit(exercise, function, cases[0])
    if misfit:
        return Report(exercise.name, "signature", (misfit,))
    trials = try_all(exercise, function, cases, seconds)
    failed = next((trial for trial in trials if trial.failure), None)
    if failed is None:
        return passed(exercise, trials)
    return failing_report(exercise, function, trials, failed)


def signature_misfit(exercise: Exercise, function: Callable, case: Case) -> str:
    """Why the function cannot be called with the exercise's arguments, or an empty string."""
    try:
        signature = inspect.signature(function)
    except Exception:  # some functions written in C show no signature; then the call itself decides
        return ""
    try:
        signature.bind(*case.arguments)
    except TypeError as error:
        return f"The check calls {exercise.signature}, but your function takes {signature}: {error}."
    return ""


def try_all(exercise: Exercise, function: Callable, cases: list[Case], seconds: float) -> list[Trial]:
    """Every case in turn, until the time is up. A failure does not end it: the other cases help to name the mistake."""
    end, trials = time.monotonic() + seconds, []
    for case in cases:
        expected = quiet(exercise.function, case)
        given = copy.deepcopy(case.arguments)
        outcome = call(function, given, max(end - time.monotonic(), 0.0))
        trials.append(judged(exercise, case, expected, given, outcome, seconds))
        if outcome.late or isinstance(outcome.error, NotImplementedError):
            break
    return trials


def judged(exercise: Exercise, case: Case, expected: Any, given: tuple, outcome: Outcome, seconds: float) -> Trial:
    """The trial of one case; its outcome's value has become plain arrays and numbers."""
    if outcome.late:
        return Trial(case, expected, outcome, too_slow(outcome, seconds))
    if outcome.error is not None:
        kind = "open" if isinstance(outcome.error, NotImplementedError) else "error"
        return Trial(case, expected, outcome, Difference(kind, ""))
    if outcome.value is None or outcome.value is Ellipsis or outcome.value is NotImplemented:
        words = f"Your function returned {outcome.value}; is a return missing?"
        return Trial(case, expected, outcome, Difference("wrong type", words))
    try:
        value = plain(outcome.value)
        failure = difference(value, expected, exercise.tolerance)
    except Exception as error:  # an object whose conversion to an array fails
        words = f"your result, {kind_of(outcome.value)}, cannot be read as numbers: {error}"
        value, failure = None, Difference("wrong type", words)
    if inspect.iscoroutine(outcome.value):
        outcome.value.close()
    failure = failure or changed_inputs(exercise, case, given)
    return Trial(case, expected, Outcome(value=value, seconds=outcome.seconds), failure)


def too_slow(outcome: Outcome, seconds: float) -> Difference:
    words = f"Your function was still running after {seconds:g} seconds"
    if not outcome.still_running:
        return Difference("too slow", f"{words} and has been stopped; does a loop never end?")
    leftover = "It goes on in the background and slows everything down until it ends; restarting the kernel ends it."
    return Difference("too slow", f"{words} and could not be stopped. {leftover}")


def changed_inputs(exercise: Exercise, case: Case, given: tuple) -> Difference | None:
    """Were arrays changed that belong to the caller?"""
    names = [name.strip() for name in exercise.parameters.split(",")]
    for name, before, after in zip(names, case.arguments, given, strict=True):
        if isinstance(before, np.ndarray) and not np.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
            words = f"The result is right, but your function changed its input {name}. Work on a copy: {name}.copy()."
            reason = "An operation such as -= or /= writes into the array it stands at."
            return Difference("changed inputs", f"{words} {reason}")
    return None


def passed(exercise: Exercise, trials: list[Trial]) -> Report:
    words = [f"{len(trials)} cases agree with the solution, unusual sizes and extreme numbers among them."]
    if any(getattr(trial.outcome.value, "dtype", None) == np.float32 for trial in trials):
        words.append("Your numbers are float32, so they were compared to about five digits only.")
    return Report(exercise.name, "passed", tuple(words))


def failing_report(exercise: Exercise, function: Callable, trials: list[Trial], failed: Trial) -> Report:
    if failed.failure.kind == "open" or (failed is trials[0] and is_empty(function)):
        words = (
            "Nothing is wrong: the function has no lines yet.",
            f"A first hint: vitbook.check.{exercise.name}.hint()",
        )
        return Report(exercise.name, "open", words)
    words, trace, known = failed.failure.words, "", known_mistake(exercise, trials)
    if failed.outcome.error is not None:
        words, trace = error_words(failed.outcome.error, function), traceback_of(failed.outcome.error)
    return Report(
        exercise.name,
        failed.failure.kind,
        (f"Case {trials.index(failed) + 1}: {failed.case.label}.", sentence(words)),
        call=exercise.described(failed.case),
        mistake=known.name if known else None,
        explanation=known.explanation if known else "",
        arguments=failed.case.arguments,
        expected=failed.expected,
        got=failed.outcome.value,
        traceback=trace,
    )
