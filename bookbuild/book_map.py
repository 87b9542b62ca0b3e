"""What depends on what: read off the chapters' own boxes, and drawn with an arc from each chapter to those that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

import yaml

from bookbuild.myst import read
from vitbook.figures.svg import link, path, say, tag


@dataclass(frozen=True)
class Chapter:
    """A chapter by the name of its file. part: its caption in the table of contents. needs: chapters that its box asks for."""

    name: str
    part: str
    needs: tuple[str, ...]


def read_book(root: Path) -> tuple[Chapter, ...]:
    """Every page with a contract, in reading order.  Raises ValueError for a need that is no earlier chapter."""
    parts = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    chapters = []
    for part in parts:
        for entry in part["chapters"]:
            needs = needs_of((root / f"{entry['file']}.md").read_text(encoding="utf-8"))
            if needs is not None:
                chapters.append(Chapter(Path(entry["file"]).name, part["caption"], needs))
    check_order(chapters)
    return tuple(chapters)


def needs_of(text: str) -> tuple[str, ...] | None:
    """The chapters that the first sentence of **You need** links to; what follows may help and is not needed.

    A page of tasks may name its chapters above each group instead, in a paragraph that begins with "Read first:".
    None for a page without a contract.
    """
    page = read(text)
    contract = next((box for box in page.find("directive") if "vb-contract" in box.classes), None)
    if contract is None:
        return None
    for line in page.find("paragraph", within=contract):
        if line.text.startswith("**You need**"):
            _, end = page.first_sentence(line)
            links = [link for link in page.find("link", within=line) if link.start < end]
            if not links:
                above = [p for p in page.find("paragraph") if p.text.startswith("Read first:")]
                links = [link for paragraph in above for link in page.find("link", within=paragraph)]
            return tuple(dict.fromkeys(link.chapter for link in links if link.chapter))
    return ()


def check_order(chapters: list[Chapter]) -> None:
    """Raises ValueError unless every need stands earlier in the book, which also rules out circles."""
    seen = set()
    for chapter in chapters:
        for need in chapter.needs:
            if need not in seen:
                raise ValueError(
                    f"{chapter.name} needs {need}, which is no earlier chapter: take the link out of the first sentence "
                    f"of its **You need**, or move one of the two in _toc.yml"
                )
        seen.add(chapter.name)


def foundations(chapters: tuple[Chapter, ...]) -> dict[str, frozenset[str]]:
    """Everything that a chapter rests on, at first or at second hand."""
    rests_on = {}
    for chapter in chapters:
        rests_on[chapter.name] = frozenset(chapter.needs).union(*(rests_on[need] for need in chapter.needs))
    return rests_on


def arcs(chapters: tuple[Chapter, ...]) -> list[tuple[str, str]]:
    """(needed, needing) for every need that does not follow from the others."""
    rests_on = foundations(chapters)
    return [
        (need, chapter.name)
        for chapter in chapters
        for need in chapter.needs
        if not any(need in rests_on[other] for other in chapter.needs)
    ]


# --- the drawing: chapters run down in reading order, and each arc leads down from what is needed to what needs it -----

WIDTH, DOT, TITLE, PURPOSE = 720, 126, 146, 328
ROW, CAPTION, TOP = 30, 34, 34
LONGEST_TITLE, LONGEST_PURPOSE = 20, 60  # characters that fit


def draw(chapters: tuple[Chapter, ...], words: Mapping[str, tuple[str, str]]) -> str:
    """The map as SVG.  words: name -> (short title, purpose in one line)."""
    heights, captions, y = {}, [], TOP
    for before, chapter in zip((None, *chapters), chapters, strict=False):
        if before is None or chapter.part != before.part:
            y += CAPTION
            captions.append(say(TITLE, y - 8, escape(chapter.part), "part", "start"))
        heights[chapter.name] = y + ROW / 2
        y += ROW
    rests_on = foundations(chapters)
    title = tag("title", "A map of the book: which chapter needs which", id="vb-map-title")
    described = tag("desc", "The list below says the same in words.", id="vb-map-text")
    return tag(
        "svg", title, described, _highlights(rests_on), _key(),
        *captions,
        *(_arc(one, other, heights, rests_on) for one, other in arcs(chapters)),
        *(_station(chapter, heights[chapter.name], words, rests_on) for chapter in chapters),
        class_="vb-map", viewBox=f"0 0 {WIDTH} {y + 6}", role="group",
        aria_labelledby="vb-map-title", aria_describedby="vb-map-text",
        **{"xmlns:xlink": "http://www.w3.org/1999/xlink"},
    )  # fmt: skip


def _key() -> str:
    return (
        _mark(DOT, 16, starts=True) + say(TITLE, 20.5, "needs no other chapter", "quiet", "start")
        + _mark(PURPOSE + 6, 16, starts=False) + say(PURPOSE + 20, 20.5, "needs those that its lines come from", "quiet", "start")
    )  # fmt: skip


def _mark(x: float, y: float, starts: bool) -> str:
    """A diamond where one can start, a dot elsewhere."""
    if starts:
        return path(f"M{x},{y - 7}l7,7l-7,7l-7,-7Z", "mark")
    return tag("circle", cx=x, cy=y, r=5, class_="mark")


def _arc(needed: str, needing: str, heights: Mapping[str, float], rests_on: Mapping[str, frozenset[str]]) -> str:
    """A line between neighbours, half an ellipse between others; wide where it leads far."""
    top, bottom = heights[needed] + 9, heights[needing] - 9
    reach = bottom - top
    kind = f"arc {_for_whom(needing, rests_on)}"
    if reach < ROW + CAPTION:
        return path(f"M{DOT},{top}V{bottom}", kind)
    wide = min(12 + reach / 4.2, DOT - 6)
    return path(f"M{DOT - 6},{top - 5}A{wide:.1f} {(reach + 10) / 2:.1f} 0 0 0 {DOT - 6},{bottom + 5}", kind)


def _station(
    chapter: Chapter, y: float, words: Mapping[str, tuple[str, str]], rests_on: Mapping[str, frozenset[str]]
) -> str:
    title, purpose = words[chapter.name]
    needs = ", ".join(words[need][0] for need in chapter.needs) or "no other chapter"
    return link(
        f"{chapter.name}.html",
        tag("rect", x=DOT - 12, y=y - ROW / 2 + 1, width=WIDTH - DOT + 12, height=ROW - 2, rx=5, class_="hit"),
        tag("g", _mark(DOT, y, starts=not chapter.needs), class_=_for_whom(chapter.name, rests_on)),
        say(TITLE, y + 5, escape(title), "title", "start"),
        say(PURPOSE, y + 5, escape(purpose), "quiet", "start"),
        class_="station", data_chapter=chapter.name, aria_label=f"{title}: {purpose}. Needs {needs}.",
    )  # fmt: skip


def _for_whom(name: str, rests_on: Mapping[str, frozenset[str]]) -> str:
    """A class for the chapter itself and for each that rests on it."""
    return " ".join(f"for-{other}" for other in rests_on if other == name or name in rests_on[other])


def _highlights(rests_on: Mapping[str, frozenset[str]]) -> str:
    """Who points at a chapter, or reaches it by Tab, sees what it rests on; the rest grows faint. No script is needed."""
    chosen = ".vb-map:has([data-chapter={}]:is(:hover, :focus-visible))"
    rules = [f"{chosen.format(name)} :is(.arc, .station .mark):not(.for-{name}, .for-{name} *)" for name in rests_on]
    thick = [f"{chosen.format(name)} .arc.for-{name}" for name in rests_on]
    return tag("style", f"{', '.join(rules)} {{ opacity: 0.18 }} {', '.join(thick)} {{ stroke-width: 3.2 }}")
