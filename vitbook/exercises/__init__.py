"""Exercises that check themselves: ``vitbook.check.softmax(your_function)`` says what went right or wrong.

One module a group of exercises, each exercise a record (`record`); a reader's function is run safely (`running`), its
results are compared (`comparing`), known mistakes recognised (`naming`), and the verdict is a `Report`.
NumPy is all that is needed.
"""

from __future__ import annotations

from vitbook.exercises import attention, block, capstone, counting, embedding, maps, patches, patterns, pieces, readout
from vitbook.exercises.capstone import in_numpy
from vitbook.exercises.checks import Check, Grader
from vitbook.exercises.record import Case, Exercise, Mistake
from vitbook.exercises.report import Report

GROUPS = (patches, embedding, pieces, attention, block, readout, capstone, counting, patterns, maps)

#: Every exercise, in the order of the chapters.
EXERCISES: tuple[Exercise, ...] = tuple(exercise for group in GROUPS for exercise in group.EXERCISES)

check = Check(EXERCISES)

__all__ = ["EXERCISES", "Case", "Check", "Exercise", "Grader", "Mistake", "Report", "check", "in_numpy"]
