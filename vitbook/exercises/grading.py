"""Running a reader's function on every case of an exercise, and naming the mistake where it is a known one."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from vitbook.exercises.comparing import FLOAT32, Difference, difference, gap, is_single, kind_of, parts_of, plain
from vitbook.exercises.naming import Trial, known_mistakes, quiet
from vitbook.exercises.record import Case, Exercise, Mistake
from vitbook.exercises.report import Report
from vitbook.exercises.running import Outcome, call
from vitbook.exercises.telling import error_words, is_empty, sentence, traceback_of

SECONDS = 10.0  # for all cases of one check together; the solutions need well under one


@np.errstate(all="ignore")  # what the reader has told NumPy about overflow is no part of the task
def grade(
    exercise: Exercise, function: Any, seconds: float = SECONDS, seed: int = 0, cases: list[Case] | None = None
) -> Report:
    """Run the function on every case; report that it passed, or the first case that failed and why.

    cases: other ones than the exercise's own; then no mistake is looked for by name, since they may take long.
    Never raises on account of the function, whatever it does; the reader's own interrupt passes through.
    """
    if not callable(function):
        words = (f"Hand over the function itself: check.{exercise.name}({exercise.name}), without calling it.",)
        return Report(exercise.name, "not a function", (f"What came is {kind_of(function)}, not a function.", *words))
    given = cases or exercise.draw(seed)
    misfit = signature_misfit(exercise, function, given[0])
    if misfit:
        return Report(exercise.name, "signature", (misfit,))
    trials = try_all(exercise, function, given, seconds)
    failed = next((trial for trial in trials if trial.failure), None)
    if failed is None:
        return passed(exercise, trials, own=cases is not None)
    return failing_report(exercise, function, trials, failed, search=cases is None)


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
        single = is_single(value)
        failure = difference(value, expected, max(exercise.tolerance, single and noise(exercise, case, expected)))
        if single and exercise.double and not (failure and failure.kind == "wrong shape"):
            words = f"your result holds {getattr(value, 'dtype', 'float32')}; this task asks for float64, which is what came in"
            failure = Difference("wrong type", f"{words}. Look for float32 or dtype= in your lines")
        elif single and failure and failure.kind == "wrong numbers":
            words = "Your numbers are float32 or shorter; compute in float64 to rule out rounding"
            failure = Difference(failure.kind, f"{failure.words}. {words}")
    except Exception as error:  # an object whose conversion to an array fails
        words = f"your result, {kind_of(outcome.value)}, cannot be read as numbers: {error}"
        value, failure = None, Difference("wrong type", words)
    if inspect.iscoroutine(outcome.value):
        outcome.value.close()
    failure = failure or changed_inputs(exercise, case, given)
    return Trial(case, expected, Outcome(value=value, seconds=outcome.seconds), failure)


def noise(exercise: Exercise, case: Case, expected: Any) -> float:
    """How far off the solution itself may be when it is given float32, with room for another order of the same steps."""
    try:
        value = plain(quiet(exercise.function, Case(case.label, tuple(map(in_single, case.arguments)))))
    except Exception:
        return 0.0
    return min(20 * gap(in_single(value), expected), 0.05)


def in_single(value: Any) -> Any:
    """The same with float32 in place of float64, in every part."""
    if isinstance(value, tuple | list):
        return tuple(map(in_single, value))
    if isinstance(value, dict | SimpleNamespace):
        parts = value if isinstance(value, dict) else vars(value)
        return type(value)(**{name: in_single(part) for name, part in parts.items()})
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def too_slow(outcome: Outcome, seconds: float) -> Difference:
    words = f"Your function was still running after {seconds:g} seconds"
    if not outcome.still_running:
        return Difference("too slow", f"{words} and has been stopped; does a loop never end?")
    leftover = "It goes on in the background and slows everything down until it ends; restarting the kernel ends it."
    return Difference("too slow", f"{words} and could not be stopped. {leftover}")


def changed_inputs(exercise: Exercise, case: Case, given: tuple) -> Difference | None:
    """Were arrays changed that belong to the caller?"""
    for name, before, after in zip(exercise.names, case.arguments, given, strict=True):
        if isinstance(before, np.ndarray) and not np.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
            words = f"The result is right, but your function changed its input {name}. Work on a copy: {name}.copy()."
            reason = "An operation such as -= or /= writes into the array it stands at."
            return Difference("changed inputs", f"{words} {reason}")
    return None


def passed(exercise: Exercise, trials: list[Trial], own: bool) -> Report:
    words = [f"{len(trials)} cases agree with the solution."]
    if own:
        parts, furthest = parts_of(trials[0].expected), gap(trials[0].outcome.value, trials[0].expected)
        agree = f"all {len(parts)} parts of your result agree" if len(parts) > 1 else "your result agrees"
        words = [f"On your own call, too, {agree}. The largest difference is {furthest:.0e} of the largest number."]
    if any(is_single(trial.outcome.value) for trial in trials):
        words.append("Your numbers are float32, so they were compared to about five digits only.")
    return Report(exercise.name, "passed", tuple(words))


def failing_report(exercise: Exercise, function: Callable, trials: list[Trial], failed: Trial, search: bool) -> Report:
    if failed.failure.kind == "open" or (failed is trials[0] and is_empty(function)):
        words = (
            "Nothing is wrong: the function has no lines yet.",
            f"A first hint: vitbook.check.{exercise.name}.hint()",
        )
        return Report(exercise.name, "open", words)
    words, trace = [f"Case {trials.index(failed) + 1}: {failed.case.label}.", sentence(failed.failure.words)], ""
    if failed.outcome.error is not None:
        words[1], trace = sentence(error_words(failed.outcome.error, function)), traceback_of(failed.outcome.error)
    known = known_mistakes(exercise, trials, most=2 if exercise.pairs and not exercise.locate else 1) if search else ()
    if not known and only_rounding(exercise, trials):
        known = (FLOAT32_INSIDE,)
    if not known and search and exercise.locate and failed.failure.kind in ("wrong numbers", "not finite"):
        words += exercise.locate(exercise, lambda cases: try_all(exercise, function, cases, SECONDS))
    return Report(
        exercise.name,
        failed.failure.kind,
        tuple(words),
        call=exercise.described(failed.case),
        mistake=" + ".join(each.name for each in known) or None,
        explanation=" ".join(sentence(each.explanation) if len(known) > 1 else each.explanation for each in known),
        arguments=failed.case.arguments,
        expected=failed.expected,
        got=failed.outcome.value,
        traceback=trace,
    )


FLOAT32_INSIDE = Mistake(
    "float32 inside",
    "your numbers are right to about the digits that float32 keeps. Look for float32 in your lines, or for a constant"
    " that was written with too few digits.",
    (),
)


def only_rounding(exercise: Exercise, trials: list[Trial]) -> bool:
    """Do all results that came differ no more than float32 would make them?"""
    wrong = [trial for trial in trials if trial.failure]
    return all(
        trial.failure.kind == "wrong numbers"
        and gap(trial.outcome.value, trial.expected) <= max(FLOAT32, noise(exercise, trial.case, trial.expected))
        for trial in wrong
    )
