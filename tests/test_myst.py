"""The reader of chapters: every piece lies where it says, nothing else moves, and all that a chapter may hold is found."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
import yaml

from bookbuild import myst
from bookbuild.myst import EXTENSIONS, Chapter, Piece, read

ROOT = Path(__file__).parents[1]
CHAPTERS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "book").glob("*.md"))}


def one(text: str, kind: str) -> Piece:
    """The only piece of its kind."""
    [piece] = read(text).find(kind)
    return piece


def test_it_reads_what_the_build_reads():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert set(config["parse"]["myst_enable_extensions"]) == EXTENSIONS


def test_the_example_holds():
    assert doctest.testmod(myst).attempted > 0 and doctest.testmod(myst).failed == 0


# --- places, in every chapter ---


def unmoved(chapter: Chapter) -> bool:
    """Whether every piece put in its own words gives the same text."""
    return chapter.rewrite(lambda piece: None if piece.parts else chapter.source(piece)) == chapter.text


@pytest.mark.parametrize("name", CHAPTERS)
def test_nothing_moves_where_nothing_changes(name):
    assert unmoved(read(CHAPTERS[name]))


@pytest.mark.parametrize("name", CHAPTERS)
def test_pieces_lie_one_after_the_other_and_one_inside_the_other(name):
    def lie_within(start: int, end: int, parts: tuple[Piece, ...]) -> None:
        for piece in parts:
            assert start <= piece.start < piece.end <= end
            lie_within(piece.start, piece.end, piece.parts)
            start = piece.end

    lie_within(0, len(CHAPTERS[name]), read(CHAPTERS[name]).parts)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_that_ends_or_begins_anywhere_is_read_all_the_same(name):
    """A cell in Lab is half written most of the time."""
    for place in range(7, len(CHAPTERS[name]), len(CHAPTERS[name]) // 12):
        for text in (CHAPTERS[name][:place], CHAPTERS[name][place : place + 2000]):
            chapter = read(text)
            assert unmoved(chapter) and len(chapter.prose()) == len(text)


@pytest.mark.parametrize(
    "text",
    ["```{note}\n---\na: [\n---\nb\n```", "```{code-cell}\n:tags: [\nb\n```", "---\na: [\n---\nb", "---\n- a\n---\nb"],
)
def test_options_that_are_no_yaml_are_none(text):
    """The build refuses them in its own words."""
    chapter = read(text)
    assert chapter.header == {} and all(box.tags == [] and box.classes == [] for box in chapter.find("directive"))


@pytest.mark.parametrize("text", ["a\r\n{x}`y`\r\n", "a\0{x}`y`", ":\t{x}`y`\n", "- a\n\n\t{x}`y`", "a\rb {x}`y`"])
def test_signs_that_markdown_it_replaces_move_nothing(text):
    chapter = read(text)
    assert [chapter.source(role) for role in chapter.find("role")] == ["{x}`y`"]


#: What the source of a piece is made of.
WRITTEN = {
    "heading": lambda piece: "#" * piece.level + f" {piece.text}",
    "role": lambda piece: f"{{{piece.name}}}`{piece.text}`",
    "math": lambda piece: f"${piece.text}$",
    "formula": lambda piece: f"$${piece.text}$$" + (f" ({piece.name})" if piece.name else ""),
    "code": lambda piece: f"`{piece.text}`",
    "tag": lambda piece: piece.text,
    "html": lambda piece: piece.text.removesuffix("\n"),
    "header": lambda piece: f"---\n{piece.text}\n---",
}


@pytest.mark.parametrize("name", CHAPTERS)
def test_each_piece_lies_where_it_says(name):
    chapter = read(CHAPTERS[name])
    for piece in chapter.walk():
        source, inside = chapter.source(piece), chapter.text[slice(*piece.inside)]
        if piece.kind in WRITTEN:
            assert source == WRITTEN[piece.kind](piece)
        elif piece.kind == "directive":
            fence = source[: len(source) - len(source.lstrip("`:"))]
            assert source.startswith(f"{fence}{{{piece.name}}}") and source.endswith(f"\n{fence}")
            assert inside == (f"{piece.text}\n" if piece.text else "")
        elif piece.kind == "link":
            assert source == f"[{inside}]({piece.name})"
        elif piece.kind == "paragraph":
            assert [line.strip() for line in source.split("\n")] == [line.strip() for line in piece.text.split("\n")]


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_cell_role_formula_and_box_of_a_chapter_is_found(name):
    """Counted in the plain text, where none of them is only spoken of."""
    text, chapter = CHAPTERS[name], read(CHAPTERS[name])
    code = [piece.text for kind in ("directive", "listing", "code") for piece in chapter.find(kind) if not piece.parts]
    assert text.count("{code-cell}") == len(chapter.cells)
    for role in ("glue:text", "math", "cite:t", "cite:p", "eq", "term", "ref"):
        spoken_of = sum(part.count(f"{{{role}}}`") for part in code)
        assert text.count(f"{{{role}}}`") - spoken_of == len([*chapter.find("role", role)]), role
    assert text.count("\n$$\n") + text.count("\n$$ (") == 2 * len([*chapter.find("formula")])
    assert text.count("{admonition}") == len([*chapter.find("directive", "admonition")])


# --- each kind ---


def test_a_cell_has_its_tags_and_its_code():
    [tagged, plain, by_yaml] = read(
        "```{code-cell} ipython3\n:tags: [remove-cell, x]\n\na = {1: 2}\n```\n\n```{code-cell} ipython3\nb\n```\n\n"
        "```{code-cell} ipython3\n---\nmystnb:\n  image: {alt: words}\ntags: [y]\n---\nc\n```"
    ).cells
    assert (tagged.tags, tagged.text, tagged.title) == (["remove-cell", "x"], "\na = {1: 2}", "ipython3")
    assert (plain.tags, plain.text) == ([], "b")
    assert (by_yaml.tags, by_yaml.text, by_yaml.options["mystnb"]) == (["y"], "c", {"image": {"alt": "words"}})


def test_boxes_lie_one_inside_the_other():
    text = "::::{grid} 2\n:::{card} See {eq}`eq-1`\n:class: a b\n:link: x\n\n- one\n- {term}`two <2>`\n:::\n::::\n"
    chapter = read(text)
    grid, card = chapter.find("directive")
    assert (card.title, card.classes, card.options["link"]) == ("See {eq}`eq-1`", ["a", "b"], "x")
    assert card in grid.parts and chapter.text[slice(*card.inside)] == "\n- one\n- {term}`two <2>`\n"
    assert [(role.words, role.goal) for role in chapter.find("role")] == [("eq-1", "eq-1"), ("two", "2")]
    assert [chapter.line(item.start) for item in chapter.find("item", within=card)] == [6, 7]


@pytest.mark.parametrize(
    "text, kind, source",
    [
        ("> - a {eq}`b`\n>   c $d$", "math", "$d$"),
        ("> - a {eq}`b`\n>   c $d$", "role", "{eq}`b`"),
        ("| a \\| b | {eq}`c` |\n|--|--|\n| | z |", "role", "{eq}`c`"),
        ("| a |\n|--|\n| a {x}`y\\|z` |", "role", "{x}`y\\|z`"),
        ("*a* **{x}``y ` z``** `code {x}`", "role", "{x}``y ` z``"),
        ("See [the [class] {x}`y`](a.md#b 'c') and more", "link", "[the [class] {x}`y`](a.md#b 'c')"),
        ("See [the [class] {x}`y`](a.md#b 'c') and more", "role", "{x}`y`"),
        ("a\n\n```{admonition} T\n```", "directive", "```{admonition} T\n```"),
        ("```{admonition} T\n:class: x\nnever closed", "directive", "```{admonition} T\n:class: x\nnever closed"),
        ("- a\n\n  ```{admonition} T\n  {x}`y`\n  ```\n", "role", "{x}`y`"),
        ("% a\n% b\n\ntext", "comment", "% a\n% b"),
        ("(place)=\n# H", "target", "(place)="),
        ("`a`{.b} and c", "attribute", "{.b}"),
        ("![a $b$](c.png)", "image", "![a $b$](c.png)"),
        ("term\n: what {x}`y` means", "role", "{x}`y`"),
        ("a  \nb {x}`y`\\\nc", "role", "{x}`y`"),
        ("- a\n\n      code\n\n\n\nb", "item", "- a\n\n      code"),
        ("    code\n\n\nb", "listing", "    code"),
        (":::{glossary}\na\n  b\n\n:::\n\nc", "directive", ":::{glossary}\na\n  b\n\n:::"),
    ],
)
def test_a_piece_is_cut_out_as_it_is_written(text, kind, source):
    assert read(text).source(one(text, kind)) == source


@pytest.mark.parametrize(
    "text",
    ["`{x}`y``", "```python\n{x}`y`\n```", "```{code-cell}\n{x}`y`\n```", "\\{x}`y`", "<!-- {x}`y` -->", "    {x}`y`"],
)
def test_a_role_in_code_is_none(text):
    assert list(read(text).find("role")) == []


@pytest.mark.parametrize(
    "name, chapter",
    [
        ("eq1.md", "eq1"),
        ("eq1.md#a-b", "eq1"),
        ("#a", ""),
        ("https://a.b/c.md", ""),
        ("assets/a.md", ""),
        ("a.png", ""),
    ],
)
def test_where_a_link_leads(name, chapter):
    link = one(f"[a]({name})", "link")
    assert (link.name, link.chapter) == (name, chapter)


def test_a_page_without_a_header_has_none():
    assert read("# T").header == {} and read("---\na: 1\n---\n# T").header == {"a": 1}


# --- other words, and prose ---


def test_other_words_leave_the_rest_as_it_is():
    text = "# A {x}`1`\n\n> [b {x}`2`](c.md)  \n> d\n\n::: {note} {x}`3`\n\n{x}`4` `{x}`\n:::\n\n$a$\t"
    words = read(text).rewrite(lambda piece: piece.text * 2 if piece.kind == "role" else None)
    assert words == "# A 11\n\n> [b 22](c.md)  \n> d\n\n::: {note} 33\n\n44 `{x}`\n:::\n\n$a$\t"


def test_words_for_a_whole_piece_ask_nothing_of_its_parts():
    asked = []
    chapter = read("[a {x}`y`](b.md) {x}`z`")
    assert (
        chapter.rewrite(lambda piece: asked.append(piece.text) or ("w" if piece.kind == "link" else None)) == "w {x}`z`"
    )
    assert "y" not in asked and "z" in asked


def test_what_a_box_holds_can_be_rewritten_alone():
    chapter = read("a {x}`1`\n\n:::{note} T {x}`2`\n:class: c\nb {x}`3`\n:::\n")
    box = next(chapter.find("directive"))
    assert chapter.rewrite(lambda piece: "w" if piece.kind == "role" else None, box) == "b w\n"


def test_prose_is_what_is_neither_code_nor_formula_nor_address():
    text = (
        "---\nh: 1\n---\n\n# Two {x}`3`\n\nfour `5` $6$ [seven](8.md) <b>nine</b> ![10](11.png) <https://12.org>\n\n"
        "```{admonition} thirteen\n:class: c14\nfifteen\n```\n\n```python\n16\n```\n\n$$\n17\n$$\n\n% 18\n\n"
        "<details>\n<summary>nineteen\n  and <b>more</b> of\nit</summary>\n\n20. twenty\n</details>\n"
    )
    prose = read(text).prose()
    assert prose.split() == "Two four seven nine thirteen fifteen nineteen and more of it twenty".split()
    assert len(prose) == len(text) and all(text[place] == char for place, char in enumerate(prose) if char != " ")


@pytest.mark.parametrize(
    "text, first",
    [
        ("One. Two.", "One."),
        ("See [a.b](c.md), that is 1.5 of it. Two.", "See [a.b](c.md), that is 1.5 of it."),
        ("`a. b` goes on. Two", "`a. b` goes on."),
        ("no stop [a](b.md)", "no stop [a](b.md)"),
        ("Really? Yes.", "Really?"),
    ],
)
def test_the_first_sentence(text, first):
    chapter = read(text)
    assert text[slice(*chapter.first_sentence(one(text, "paragraph")))] == first
