"""Sentences that follow the numbers: the first case that holds is said, and a build where none holds stops."""

from __future__ import annotations


def claim(*cases: tuple[object, str]) -> str:
    """The sentence of the first case whose condition holds: ``claim((x > y, "x is larger."), (x < y, "y is larger."))``.

    A condition is anything that is true or false, a tensor of one number too.  Where no case holds the text would be wrong,
    so AssertionError names the sentences that were ready.
    """
    for condition, sentence in cases:
        if bool(condition):
            return sentence
    ready = " / ".join(sentence for _, sentence in cases)
    raise AssertionError(f"none of these sentences is true of this checkpoint; write one that is: {ready}")
