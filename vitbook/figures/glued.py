"""Numbers that a cell hands over to the text, in one line: ``glue(D=config.D, worst=(error, ".1e"))``.

The text writes {glue:text}`worst`.  What is read there is made here, once: the page and the portable notebook find it in the
cell's output, JupyterLab asks the kernel for ``glue["worst"]``.
"""

from __future__ import annotations

import re
from numbers import Number
from typing import TYPE_CHECKING

from IPython import get_ipython
from IPython.display import display

if TYPE_CHECKING:
    from vitbook.weights import Checkpoint

SIZES = ("H", "W", "P", "C", "D", "L", "heads", "M", "D_h", "N", "rows", "columns")
_HIDDEN = "application/papermill.record/"  # in front of a kind of output: the page keeps it and does not show it
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def in_prose(value: object, form: str = "") -> str:
    """``value`` as prose has it: "−1.5", "3.8 × 10⁻⁶", and a list or a row of numbers as "1, 2 and 3".

    ``form`` is a format such as ".1e" or ",", and goes for each entry of a list.  A float without one stays as Python writes
    it, for the text to bring the format.  Raises ValueError where a format does not fit.
    """
    value = value.tolist() if hasattr(value, "tolist") else value  # tensors and arrays, of one number too
    if isinstance(value, list):
        *most, last = [in_prose(entry, form) for entry in value] or [""]
        return f"{', '.join(most)} and {last}" if most else last
    text = format(value, form)
    is_final = form or not isinstance(value, float)
    return typographic(text) if isinstance(value, Number) and is_final else text


def typographic(number: str) -> str:
    """A formatted number with the signs of print: "-1.5e-06" is "−1.5 × 10⁻⁶"."""
    found = re.fullmatch(r"(.*)e([+-]\d+)", number)
    digits, power = (found[1], int(found[2])) if found else (number, 0)
    return digits.replace("-", "−") + (f" × 10{str(power).translate(_RAISED)}" if power else "")


def facts(checkpoint: Checkpoint) -> dict[str, object]:
    """What nearly every chapter says of its checkpoint: ``glue(**facts(checkpoint))``.

    The names are the paper's letters for all sizes, ``tokens`` = N + 1, ``P2C`` = P² C, ``eps``, and ``checkpoint``, its name.
    """
    config = checkpoint.config
    sizes = {letter: getattr(config, letter) for letter in SIZES}
    derived = {"tokens": config.N + 1, "P2C": config.patch_numbers, "eps": (config.eps, "g")}
    return sizes | derived | {"checkpoint": checkpoint.name}


class Glue:
    """``glue(name=value)`` hands a value over, and ``glue["name"]`` is what the text then says."""

    def __init__(self):
        self.values, self.texts, self._runs = {}, {}, {}

    def __call__(self, form: str = "", /, **values: object) -> None:
        """Hand values to the text under their names, and show nothing below the cell.

        A value is anything, or ``(value, format)``; ``form`` is the format of all that bring none: ``glue(".2f", a=x, b=y)``.
        Raises ValueError for a format that does not fit, and for a name that one cell glues twice with two values.
        """
        for name, value in values.items():
            has_form = isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str)
            self._keep(name, *(value if has_form else (value, form)))

    def _keep(self, name: str, value: object, form: str) -> None:
        try:
            text = in_prose(value, form)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name}: {value!r} cannot be written as {form!r} ({error}); give a format that fits it, such as '.2f'"
            ) from error
        shell = get_ipython()
        run = shell.execution_count if shell else None  # a cell that is run again may change its mind
        if self._runs.get(name, ()) == run and self.texts[name] != text:
            raise ValueError(f"{name} is glued twice, as {self.texts[name]} and as {text}; give one another name")
        self.values[name], self.texts[name], self._runs[name] = value, text, run
        if shell:
            _hand_over(name, repr(text) if form or not isinstance(value, Number) else text)

    def __getitem__(self, key: str) -> str:
        """What the text says: ``glue["worst"]``, or ``glue["worst:.1e"]`` for a value that was glued without a format.

        Raises KeyError for a name that no cell has glued yet.
        """
        name, _, form = key.partition(":")
        if name not in self.texts:
            raise KeyError(f"{name}: no cell has glued it yet; run the cells above")
        return format(self.values[name], form) if form else self.texts[name]


def _hand_over(name: str, text: str) -> None:
    """Write it into the cell's output in the form in which Sphinx and the portable notebook look for it."""
    scrapbook = {"name": name, "mime_prefix": _HIDDEN}
    display({f"{_HIDDEN}text/plain": text}, raw=True, metadata={"scrapbook": scrapbook})


glue = Glue()
"""Values that cells hand to the text."""
