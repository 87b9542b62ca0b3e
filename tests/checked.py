"""The run-time checker that conftest puts behind vitbook's annotations: beartype, for arrays only.

A wrong shape is what these tests must never miss. Everything else (a string where a number belongs) the functions refuse
themselves, in words of their own that other tests read, so the checker leaves those annotations alone.
"""

from __future__ import annotations

import typing

from beartype import BeartypeConf, beartype

_tower = BeartypeConf(is_pep484_tower=True)  # an int is welcome where a float is asked for


def checker(function):
    """``function`` with its array annotations checked by beartype and the others dropped."""
    hints = typing.get_type_hints(function)
    function.__annotations__ = {name: hint for name, hint in hints.items() if "jaxtyping" in repr(hint)}
    return beartype(conf=_tower)(function) if function.__annotations__ else function
