"""Citations in words, for notebooks: names and year instead of a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pybtex.database import Entry, Person, parse_file
from pybtex.richtext import Text


class Citations:
    """Names and year of the references in ``files``; called with a key.  An unknown key raises KeyError."""

    def __init__(self, files: Iterable[Path]):
        self.entries = {key: entry for file in files for key, entry in parse_file(str(file)).entries.items()}

    def __call__(self, key: str, textual: bool) -> str:
        entry = self.entries[key]
        names = [_family(person) for person in entry.persons["author"]]
        who = names[0] + (f" and {names[1]}" if len(names) == 2 else " et al." if len(names) > 2 else "")
        year = entry.fields["year"]
        return f"{who} ({year})" if textual else f"{who}, {year}"

    def references(self) -> list[str]:
        """Every reference in a line of Markdown, sorted by names and year."""
        return sorted(
            f"{self(key, True)}. *{_plain(entry.fields['title'])}*. {_place(entry)}"
            for key, entry in self.entries.items()
        )


def cited(cite: Callable[[str, bool], str], keys: str, textual: bool) -> str:
    """What a citation of ``keys``, with commas between them, says."""
    words = [cite(key.strip(), textual) for key in keys.split(",")]
    return ", ".join(words) if textual else f"({'; '.join(words)})"


def _family(person: Person) -> str:
    return _plain(" ".join([*person.prelast_names, *person.last_names]))


def _place(entry: Entry) -> str:
    fields = entry.fields
    where = next(
        (fields[name] for name in ("booktitle", "journal", "institution", "howpublished") if name in fields), ""
    )
    number = f"[arXiv {fields['eprint']}](https://arxiv.org/abs/{fields['eprint']})" if "eprint" in fields else ""
    return ", ".join(filter(None, [_plain(where), number])) + "."


def _plain(tex: str) -> str:
    return str(Text.from_latex(tex))
