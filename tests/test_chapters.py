"""The chapter contract of CONTRIBUTING.md, read off the sources."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WIDEST = 88  # characters of a code line that fit the page


def toc() -> list[str]:
    """Every page of the book, in reading order."""
    content = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [content["root"], *(chapter["file"] for part in content["parts"] for chapter in part["chapters"])]


PAGES = {page: (ROOT / f"{page}.md").read_text(encoding="utf-8") for page in toc()}
LOOKED_UP = {"book/intro", "book/map", "book/glossary", "book/bibliography"}  # no chapters: nobody reads them through
CHAPTERS = [page for page in PAGES if page not in LOOKED_UP]


def shown_cells(text: str) -> list[str]:
    """The code cells that a reader sees."""
    cells = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```", text, re.M | re.S)
    return [cell for cell in cells if not re.search(r"tags:.*(remove-cell|remove-input|hide-input)", cell)]


def test_every_source_is_in_the_table_of_contents():
    assert {f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")} == set(PAGES)


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_contract(page):
    """What it is for, what it takes, what to keep, what to try, and where to go, in this order."""
    text = PAGES[page]
    kept = ["vb-contract", "vb-takeaways", "vb-exercise", "**Next:**"]
    if page == CHAPTERS[-1]:  # the exercises themselves, and nothing follows them
        kept = kept[:2]
    marks = [text.rfind(mark) for mark in kept]
    assert -1 not in marks and marks == sorted(marks)
    opening = text.split("# ", 1)[1].split("```", 1)[0]
    assert len(opening.split()) > 15, "the chapter opens without saying why one should care"
    for promise in ("**You will**", "**You will learn**", "**You need**"):
        assert promise in text


@pytest.mark.parametrize("page, following", list(pairwise(CHAPTERS)))
def test_each_chapter_leads_to_the_next(page, following):
    goal = PAGES[page].split("**Next:**")[1].split("](")[1].split(")")[0]
    assert goal == f"{following.removeprefix('book/')}.md"


@pytest.mark.parametrize("page", PAGES)
def test_it_opens_as_a_notebook(page):
    header = yaml.safe_load(PAGES[page].split("---")[1])
    assert (
        header["jupytext"]["text_representation"]["format_name"] == "myst" and header["kernelspec"]["name"] == "python3"
    )


@pytest.mark.parametrize("page", PAGES)
def test_code_fits_the_page(page):
    assert [line for cell in shown_cells(PAGES[page]) for line in cell.splitlines() if len(line) > WIDEST] == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_one_heading_per_level_and_no_jump(page):
    body = re.sub(r"^```.*?^```", "", PAGES[page].split("---", 2)[2], flags=re.M | re.S)
    levels = [len(mark) for mark in re.findall(r"^(#+) ", body, re.M)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
