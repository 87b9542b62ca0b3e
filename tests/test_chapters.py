"""The chapter contract of CONTRIBUTING.md, read off the sources."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from bookbuild.myst import read

ROOT = Path(__file__).parents[1]
WIDEST = 88  # characters of a code line that fit the page


def toc() -> list[str]:
    """Every page of the book, in reading order."""
    content = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [content["root"], *(chapter["file"] for part in content["parts"] for chapter in part["chapters"])]


PAGES = {page: (ROOT / f"{page}.md").read_text(encoding="utf-8") for page in toc()}
LOOKED_UP = {"book/intro", "book/map", "book/glossary", "book/bibliography"}  # no chapters: nobody reads them through
READ = {page: read(text) for page, text in PAGES.items()}
CHAPTERS = [page for page in PAGES if page not in LOOKED_UP]


def shown_cells(page: str) -> list[str]:
    """The code cells that a reader sees."""
    hidden = {"remove-cell", "remove-input", "hide-input"}
    return [cell.text for cell in READ[page].cells if not hidden & set(cell.tags)]


def test_every_source_is_in_the_table_of_contents():
    assert {f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")} == set(PAGES)


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_contract(page):
    """What it is for, what it takes, what to keep, what to try, and where to go, in this order."""
    chapter = READ[page]
    boxes = {name: box for box in chapter.find("directive") for name in box.classes}
    kept = [boxes["vb-contract"], boxes["vb-takeaways"]]
    if page != CHAPTERS[-1]:  # the exercises themselves, and nothing follows them
        kept += [boxes["vb-exercise"], *next_of(page)]
    places = [piece.start for piece in kept]
    assert places == sorted(places)
    title, box = next(chapter.find("heading")), next(chapter.find("directive"))
    opening = chapter.prose()[title.start : box.start]
    assert len(opening.split()) > 15, "the chapter opens without saying why one should care"
    promises = [line.text for line in chapter.find("paragraph", within=boxes["vb-contract"])]
    for promise in ("**You will** ", "**You will learn** ", "**You need** "):
        assert sum(line.startswith(promise) for line in promises) == 1


@pytest.mark.parametrize("page", [page for page in CHAPTERS if page not in ("book/how_to_read", "book/exercises")])
def test_a_question_is_answered_in_the_page(page):
    """One, after what is to be kept and before what is to be computed; the exercises are questions themselves."""
    boxes = {name: box for box in READ[page].find("directive") for name in box.classes}
    asked = [cell for cell in READ[page].cells if "import ask\n" in cell.text]
    assert len(asked) == 1 and "remove-input" in asked[0].tags
    assert boxes["vb-takeaways"].start < asked[0].start < boxes["vb-exercise"].start


def next_of(page: str) -> list:
    """The line that leads to the next chapter."""
    return [line for line in READ[page].find("paragraph") if line.text.startswith("**Next:**")]


@pytest.mark.parametrize("page, following", list(pairwise(CHAPTERS)))
def test_each_chapter_leads_to_the_next(page, following):
    [line] = next_of(page)
    assert next(READ[page].find("link", within=line)).name == f"{following.removeprefix('book/')}.md"


@pytest.mark.parametrize("page", PAGES)
def test_it_opens_as_a_notebook(page):
    header = READ[page].header
    assert (
        header["jupytext"]["text_representation"]["format_name"] == "myst" and header["kernelspec"]["name"] == "python3"
    )


@pytest.mark.parametrize("page", PAGES)
def test_code_fits_the_page(page):
    assert [line for cell in shown_cells(page) for line in cell.splitlines() if len(line) > WIDEST] == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_one_heading_per_level_and_no_jump(page):
    levels = [heading.level for heading in READ[page].find("heading")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
