"""What an exercise is made of: a statement, a signature, hints, one solution, cases, and the mistakes known for it.

The solution is source text, shown to readers as it is and executed to know what is right. A known mistake is the same
text with a fragment exchanged, so that each is one small, readable step away from the solution.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import numpy as np

NEVER = "\0"  # a space at which no line is broken
WIDTH = 84  # characters of code that the page of the built book shows without scrolling


@dataclass(frozen=True, eq=False)
class Case:
    """One call: a few words that tell the reader what is special about it, and the arguments."""

    label: str
    arguments: tuple


@dataclass(frozen=True)  # compared by what it holds, so that a mistake that two exercises share is one
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


def borrowed(solution: str, mistakes: Iterable[Mistake], without: Iterable[str] = ()) -> tuple[Mistake, ...]:
    """Those of an easier exercise's mistakes that can be made in this solution too, because it holds the same lines."""
    fitting = (each for each in mistakes if all(solution.count(old) == 1 for old, _ in each.edits))
    return tuple(each for each in fitting if each.name not in without)


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise.

    name, parameters: the signature, as in ``softmax(scores)``; chapter: the name of the chapter that it belongs to.
    statement: the task in a sentence or two; shapes: what goes in and comes out, the docstring of the starter.
    hints: from a nudge to nearly everything, to be unfolded one at a time.
    minutes, difficulty: how long it may take somebody who has read the chapter, and "easy", "medium" or "hard".
    solution: source text that defines a function of that name. cases(r): the calls, with r a random generator.
    tolerance: largest difference allowed, as a share of the largest expected number. double: whether float64 is asked for.
    locate(exercise, attempt): sentences that say which part is wrong, where no mistake has been recognised;
    ``attempt(cases)`` runs the reader's function on more cases.
    pairs: whether two mistakes at once are looked for; not where a result cannot tell two from another one, as in a sum.
    """

    name: str
    parameters: str
    chapter: str
    statement: str
    shapes: str
    hints: tuple[str, ...]
    minutes: int
    difficulty: str
    solution: str
    cases: Callable[[np.random.Generator], Iterable[Case]]
    mistakes: tuple[Mistake, ...]
    tolerance: float = 1e-9
    double: bool = False
    locate: Callable[[Exercise, Callable[[list[Case]], list]], tuple[str, ...]] | None = None
    pairs: bool = True

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [name.strip() for name in self.parameters.split(",")]

    @property
    def signature(self) -> str:
        """Such as ``softmax(scores)``."""
        return f"{self.name}({self.parameters})"

    @property
    def starter(self) -> str:
        """A cell to begin with: it runs, and its check says kindly that the work is still to be done."""
        lines = [*f'"""{self.shapes}"""'.split("\n")]
        if len(lines) == 1 and len(lines[0]) > WIDTH - 4:
            lines = lines[0].replace(" -> ", "\n-> ").split("\n")
        told = "\n".join(map(wrapped, lines))
        return f"{self.header}\n{told}\n    ...  # your lines here\n"

    @property
    def header(self) -> str:
        """The imports and the ``def`` line, with the types that the first case shows."""
        arguments = self.draw()[0].arguments
        typed = [n + (f": {type_of(a)}" if type_of(a) else "") for n, a in zip(self.names, arguments, strict=True)]
        end = f" -> {type_of(self.function(*arguments))}:"
        line = f"def {self.name}({', '.join(typed)}){end}"
        if len(line) > WIDTH:
            line = f"def {self.name}(\n{wrapped(', '.join(each.replace(' ', NEVER) for each in typed))}\n){end}"
        imports = ["from collections.abc import Callable\n"] if "Callable" in line else []
        return "\n".join([*imports, "import numpy as np\n\n", line])

    @cached_property
    def function(self) -> Callable:
        """The solution, executed."""
        return executed(self.solution, self.name)

    def wrong(self, *known: Mistake) -> Callable:
        """The solution with these mistakes in it, executed.  Raises ValueError where they exclude each other."""
        return made(self, known)

    def draw(self, seed: int = 0) -> list[Case]:
        """The cases, the same ones for the same seed."""
        return list(self.cases(np.random.default_rng(seed)))

    def described(self, case: Case) -> str:
        """The call in one line: ``layer_norm(x (5, 7), gamma (7,), beta (7,), eps=1e-06)``."""
        return f"{self.name}({', '.join(shown(n, a) for n, a in zip(self.names, case.arguments, strict=True))})"


@lru_cache(maxsize=8192)  # a search for two mistakes at once tries thousands
def made(exercise: Exercise, known: tuple[Mistake, ...]) -> Callable:
    source = exercise.solution
    for each in known:
        source = each.source(source)
    return executed(source, exercise.name)


def shown(name: str, argument: Any) -> str:
    """An argument in a word: arrays by their shape, functions by their name, numbers as they are."""
    if isinstance(argument, np.ndarray):
        return f"{name} {argument.shape}"
    return f"{name}={argument!r}" if isinstance(argument, int | float | tuple) else name


def wrapped(line: str) -> str:
    """An indented line in as many as it takes; no shape such as (N, D) is broken."""
    line = re.sub(r"\([^()]*\)", lambda shape: shape[0].replace(" ", NEVER), line)
    how = dict(initial_indent="    ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return textwrap.fill(line, WIDTH, **how).replace(NEVER, " ")


def type_of(value: Any) -> str:
    """The annotation for such a value, or nothing where it would not help."""
    if isinstance(value, tuple):
        return f"tuple[{', '.join(map(type_of, value))}]"
    if callable(value):
        return "Callable"
    return {np.ndarray: "np.ndarray", int: "int", float: "float", dict: "dict"}.get(type(value), "")


def executed(source: str, name: str) -> Callable:
    """Run source text that defines a function and return that function."""
    namespace: dict[str, Any] = {}
    for part in source.split("\n\n\n"):  # function by function: two wrong solutions have most of theirs in common
        exec(compiled(part, f"<{name}>"), namespace)
    return namespace[name]


@lru_cache(maxsize=4096)
def compiled(source: str, name: str) -> CodeType:
    return compile(source, name, "exec")
