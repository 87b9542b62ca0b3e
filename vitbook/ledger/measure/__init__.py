"""Computing again what a document published: one function for each kind of quantity in `published.toml`.

A function takes the arguments of its row and returns a number, a word, or a sequence of them in the order of print.
Those in `trace` and `pixels` also take `here`, the checkpoint and the picture of this build.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType
from typing import Any

from vitbook.ledger.measure import examples, numerics, pixels, printed, sizes, trace
from vitbook.ledger.measure.here import Here, Lacking
from vitbook.ledger.publications import Entry

__all__ = ["Here", "Lacking", "functions", "measured"]


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Name -> function, for the `measure` of a row."""
    found: dict[str, Callable[..., Any]] = {}
    for module in (sizes, pixels, trace, examples, numerics, printed):
        for name, function in _public(module):
            assert name not in found, f"two functions are called {name}"
            found[name] = function
    return found


def measured(entry: Entry, here: Here) -> tuple[Any, ...]:
    """What the row's function gives here, flattened to one value for each printed token.

    Raises Lacking where the checkpoint or the picture that the function reads is absent, ValueError where the row asks
    a model for what it does not have (a thirteenth layer, classes without a head) or names no function of ours.
    """
    function = functions().get(entry.measure or "")
    if function is None:
        raise ValueError(f"{entry.name}: no function {entry.measure!r} in vitbook.ledger.measure")
    arguments = dict(entry.args)
    if "here" in inspect.signature(function).parameters:
        arguments["here"] = here
    return tuple(_flat(function(**arguments)))


def _public(module: ModuleType) -> Iterable[tuple[str, Callable[..., Any]]]:
    return (
        (name, thing)
        for name, thing in vars(module).items()
        if inspect.isfunction(thing) and thing.__module__ == module.__name__ and not name.startswith("_")
    )


def _flat(value: Any) -> Iterable[Any]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        for part in value:
            yield from _flat(part)
    else:
        yield value
