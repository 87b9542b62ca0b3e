"""Links that set an explorer of the same page: a guided tour whose stops were found by measuring."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode

from vitbook.wording import brief

CHOICES = ("picture", "layer", "head", "query", "show", "direction", "scale")


class Tour:
    """A list of links; as text, the list of what they set."""

    def __init__(self, stops: Mapping[str, Mapping], name: str = ""):
        if not isinstance(stops, Mapping) or not all(isinstance(stop, Mapping) for stop in stops.values()):
            raise ValueError(f"stops must be a dict of words, each with a dict of choices, got {brief(stops)}")
        self.stops = {words: _choices(words, stop) for words, stop in stops.items()}
        self.name = name

    def _repr_html_(self) -> str:
        explorer = {"explorer": self.name} if self.name else {}
        items = "".join(
            f'<li><a href="#{escape(urlencode(explorer | stop))}">{escape(words)}</a></li>'
            for words, stop in self.stops.items()
        )
        return f'<ul class="vbx-tour">{items}</ul>'

    def __repr__(self) -> str:
        lines = (f"{words}: " + ", ".join(f"{k}={v}" for k, v in stop.items()) for words, stop in self.stops.items())
        return "\n".join(lines)


def explorer_links(stops: Mapping[str, Mapping], name: str = "") -> Tour:
    """Words -> the choices that a click on them makes in the explorer called `name`.

    A stop is a dict of picture, layer, head, query (a token, or "cls"), show, direction, scale; what it leaves out stays as
    the reader has it, except show, which is "head".  Raises ValueError for a choice that an explorer does not have.
    """
    return Tour(stops, name)


def _choices(words: str, stop: Mapping) -> dict:
    unknown = set(stop) - set(CHOICES)
    if unknown:
        raise ValueError(f"{words!r} sets {', '.join(sorted(unknown))}; an explorer has {', '.join(CHOICES)}")
    return {"show": "head"} | dict(stop)
