"""What an exercise is made of: a statement, a signature, hints, one solution, cases, and the mistakes known for it.

The solution is source text, shown to readers as it is and executed to know what is right. A known mistake is the same
text with a fragment exchanged, so that each is one small, readable step away from the solution.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

WIDTH = 84  # characters of code that the page of the built book shows without scrolling


@dataclass(frozen=True, eq=False)
class Case:
    """One call: a few words that tell the reader what is special about it, and the arguments."""

    label: str
    arguments: tuple


@dataclass(frozen=True)
class Mistake:
    """A mistake with a name, what it means, and the exchanged fragments (old, new) that turn the solution into it."""

    name: str
    explanation: str
    edits: tuple[tuple[str, str], ...]

    def source(self, solution: str) -> str:
        """The solution with this mistake in it. Raises ValueError when a fragment does not stand there exactly once."""
        for old, new in self.edits:
            if solution.count(old) != 1:
                raise ValueError(
                    f"mistake {self.name!r}: {old!r} stands {solution.count(old)} times in the solution, not once"
                )
            solution = solution.replace(old, new)
        return solution


def mistake(name: str, explanation: str, *edits: tuple[str, str]) -> Mistake:
    """`Mistake` with the edits simply listed."""
    return Mistake(name, explanation, edits)


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise.

    name, parameters: the signature, as in ``softmax(scores)``; chapter: the name of the chapter that it belongs to.
    statement: the task in a sentence or two; shapes: what goes in and comes out, the docstring of the starter.
    hints: from a nudge to nearly everything, to be unfolded one at a time.
    solution: source text that defines a function of that name. cases(r): the calls, with r a random generator.
    tolerance: largest difference allowed, as a share of the largest expected number.
    """

    name: str
    parameters: str
    chapter: str
    statement: str
    shapes: str
    hints: tuple[str, ...]
    solution: str
    cases: Callable[[np.random.Generator], Iterable[Case]]
    mistakes: tuple[Mistake, ...]
    tolerance: float = 1e-9

    @property
    def signature(self) -> str:
        """Such as ``softmax(scores)``."""
        return f"{self.name}({self.parameters})"

    @property
    def starter(self) -> str:
        """A cell to begin with: it runs, and its check says kindly that the work is still to be done."""
        indent = dict(initial_indent="    ", subsequent_indent="    ")
        told = textwrap.fill(f'"""{self.shapes}"""', WIDTH, break_long_words=False, break_on_hyphens=False, **indent)
        return f"import numpy as np\n\n\ndef {self.signature}:\n{told}\n    ...  # your lines here\n"

    @cached_property
    def function(self) -> Callable:
        """The solution, executed."""
        return executed(self.solution, self.name)

    def wrong(self, known: Mistake) -> Callable:
        """The solution with that mistake in it, executed."""
        return executed(known.source(self.solution), self.name)

    def draw(self, seed: int = 0) -> list[Case]:
        """The cases, the same ones for the same seed."""
        return list(self.cases(np.random.default_rng(seed)))

    def described(self, case: Case) -> str:
        """The call in one line: ``layer_norm(x (5, 7), gamma (7,), beta (7,), eps=1e-06)``."""
        names = [name.split("=")[0].strip() for name in self.parameters.split(",")]
        return f"{self.name}({', '.join(shown(n, a) for n, a in zip(names, case.arguments, strict=True))})"


def shown(name: str, argument: Any) -> str:
    """An argument in a word: arrays by their shape, functions by their name, numbers as they are."""
    if isinstance(argument, np.ndarray):
        return f"{name} {argument.shape}"
    return name if callable(argument) else f"{name}={argument!r}"


def executed(source: str, name: str) -> Callable:
    """Run source text that defines a function and return that function."""
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<{name}>", "exec"), namespace)
    return namespace[name]
