"""What may be chosen in an explorer: each check gives the value to keep, or raises a ValueError that says what may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from vitbook.checks import finite, index, whole
from vitbook.patches import check_token, token_of
from vitbook.widgets.kit.traits import one_of, unknown
from vitbook.wording import brief

SHOWS = {"head": "one head", "mean": "mean over heads", "rollout": "rollout (all layers so far)"}
DIRECTIONS = {"reads": "what the token reads", "read by": "who reads the token"}
SCALES = {"heads": "one scale for all heads", "layer": "… and for every query", "map": "each map its own scale"}
#: What `change` may name -> the changes of engine/edits.js that the explorer then offers.
CHANGES = {
    "hide": ["hide"],
    "heads": ["heads"],
    "layers": ["msa", "mlp"],
    "positions": ["positions"],
    "shuffle": ["order", "positions"],
    "paste": ["paste"],
    "mistakes": ["norm", "residual", "axis", "root"],
}
_CLASS = ("class", "cls", "[class]")


def token(value, config) -> int:
    """A token from 0 = [class] to N, "class", or the (row, column) of a patch, as a token."""
    if isinstance(value, tuple | list) and len(value) == 2:
        row, column = (index(number) for number in value)
        if row is not None and column is not None:
            return token_of(row, column, config)
    if isinstance(value, str) and value in _CLASS:
        return 0
    number = index(value)
    if number is None:
        raise ValueError(
            f"query must be a token from 0 ([class]) to {config.N}, 'class' or the (row, column) of a patch, got {brief(value)}"
        )
    return check_token(number, config)


def changes(value) -> list[str]:
    """Nothing, one name of `CHANGES`, or several -> what the panel offers."""
    if value is None:
        return []
    names = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    offered = [name for each in names for name in CHANGES[one_of(each, CHANGES, "change")]]
    return list(dict.fromkeys(offered))


def shuffled(N: int) -> list[int]:
    """Patches in the order in which an explorer shuffles them first: order[p] is the patch that goes to place p."""
    return np.random.default_rng(0).permutation(N).tolist()


def share(value, name: str) -> float:
    """A number from 0 to 1."""
    number = finite(value, name, " from 0 to 1")
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {brief(value)}")
    return number


def pinned(value, now: Mapping, pictures: list[str], config) -> dict | None:
    """A choice to compare with: what it leaves out of picture, layer, head and show is as in `now`.  An empty one is None."""
    if not isinstance(value, Mapping):
        raise ValueError(f"against must be None or a dict of {', '.join(now)}, got {brief(value)}")
    if not value:
        return None
    for key in value:
        if key not in now:
            raise ValueError(unknown(key, "against", now))
    choice = {**now, **value}
    return {
        "picture": one_of(choice["picture"], pictures, "against has picture, which"),
        "layer": whole(choice["layer"], "against has layer, which", most=config.L),
        "head": whole(choice["head"], "against has head, which", most=config.heads),
        "show": one_of(choice["show"], SHOWS, "against has show, which"),
    }
