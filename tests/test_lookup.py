"""The map against the chapters' boxes, and the glossary against the letters and the chapters that it leads to."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pybtex.database import parse_file
from test_chapters import CHAPTERS, PAGES

from bookbuild import book_map
from bookbuild.book_map import Chapter, arcs, check_order, draw, foundations, needs_of, read_book
from bookbuild.lookup import entries as entries_of_a_map
from bookbuild.lookup import in_words, index_entries, plain_names
from bookbuild.myst import read
from vitbook.notation import LETTERS

ROOT = Path(__file__).parents[1]
BOOK = read_book(ROOT)
READ = {page: read(text) for page, text in PAGES.items()}
MAP = entries_of_a_map(next(READ["book/map"].find("directive", "book-map")).text)

# --- the map ---------------------------------------------------------------------------------------------------


def test_every_chapter_is_on_the_map_in_reading_order():
    assert [f"book/{chapter.name}" for chapter in BOOK] == CHAPTERS
    assert list(MAP) == [chapter.name for chapter in BOOK]


@pytest.mark.parametrize(
    "line",
    [
        "words",
        "- words",
        "- [A](a.md)",
        "- [A](a.md):",
        "- [A](https://a.md): b",
        "- see [A](a.md): b",
        "- [A](a.md): b\n  c",
    ],
)
def test_a_line_that_is_no_entry_is_refused(line):
    with pytest.raises(ValueError, match=r"expected '- \[short title\]\(name.md\): what it is for', got "):
        entries_of_a_map(f"- [B](b.md): b\n\n{line}")


def test_every_need_points_back():
    seen = set()
    for chapter in BOOK:
        assert set(chapter.needs) <= seen, chapter.name
        seen.add(chapter.name)
    assert sum(bool(chapter.needs) for chapter in BOOK) > 10, "the boxes were not understood"


def test_known_needs_are_read():
    needs = {chapter.name: chapter.needs for chapter in BOOK}
    assert needs["eq1"] == ("patches", "class_token", "positions")
    assert needs["positions"] == ("patches", "class_token"), "what only helps, in a second sentence, is no need"
    assert needs["appendix_a"] == () and needs["figure1"] == ()
    assert {"patches", "eq3", "positions", "all_layers"} <= set(needs["exercises"]), "named above its groups of tasks"


@pytest.mark.parametrize(
    "box, needs",
    [
        ("[one](a.md) and [two](b.md#there).", ("a", "b")),
        ("[one](a.md). [Two](b.md) helps.", ("a",)),
        ("to multiply. [Two](b.md) helps.", ()),
        ("nothing", ()),
    ],
)
def test_the_first_sentence_counts(box, needs):
    text = f"# T\n\n```{{admonition}} In this chapter\n:class: vb-contract\n**You will** [x](x.md).\n\n**You need** {box}\n```\n"
    assert needs_of(text) == needs


def test_a_page_without_a_contract_is_no_chapter():
    assert needs_of("# Glossary\n\nWords.") is None


@pytest.mark.parametrize("need", ["later", "itself", "nowhere"])
def test_a_need_that_leads_forward_is_refused(need):
    chapters = [Chapter("first", "", ()), Chapter("itself", "", (need,)), Chapter("later", "", ())]
    with pytest.raises(ValueError, match=f"itself needs {need}, which is no earlier chapter"):
        check_order(chapters)


def test_arcs_say_all_needs_and_none_twice():
    def reached(edges):
        rests_on = {chapter.name: set() for chapter in BOOK}
        for name in rests_on:
            for need, needing in edges:
                if needing == name:
                    rests_on[name] |= {need} | rests_on[need]
        return rests_on

    drawn = arcs(BOOK)
    assert reached(drawn) == foundations(BOOK)
    assert all(reached([other for other in drawn if other != arc]) != reached(drawn) for arc in drawn)


def test_the_drawing_links_to_every_chapter_and_says_what_it_is_for():
    svg = ElementTree.fromstring(draw(BOOK, MAP))
    links = list(svg.iter("a"))
    assert [link.get("data-chapter") for link in links] == [chapter.name for chapter in BOOK]
    for link in links:
        title, purpose = MAP[link.get("data-chapter")]
        assert [text.text for text in link.iter("text")] == [title, purpose]
        assert link.get("{http://www.w3.org/1999/xlink}href") == f"{link.get('data-chapter')}.html"
        assert link.get("aria-label").startswith(f"{title}: {purpose}. Needs ")
    lines = [path for path in svg.iter("path") if path.get("class").startswith("arc")]
    assert len(lines) == len(arcs(BOOK))


def test_who_is_pointed_at_keeps_exactly_the_ways_to_it():
    svg = ElementTree.fromstring(draw(BOOK, MAP))
    kept = sum("for-eq2" in path.get("class").split() for path in svg.iter("path") if "arc" in path.get("class"))
    below = foundations(BOOK)["eq2"] | {"eq2"}
    assert kept == sum(needing in below for _, needing in arcs(BOOK)) == 4
    marked = [a.get("data-chapter") for a in svg.iter("a") if "for-eq2" in a.find("g").get("class").split()]
    assert set(marked) == below == {"patches", "class_token", "positions", "eq1", "eq2"}


# --- the glossary ----------------------------------------------------------------------------------------------


def entries() -> list[tuple[list[str], str]]:
    """(terms, definition) of every entry of the glossary directives."""
    found = []
    for glossary in READ["book/glossary"].find("directive", "glossary"):
        for entry in glossary.text.strip().split("\n\n"):
            lines = entry.split("\n")
            terms = [line for line in lines if not line.startswith(" ")]
            found.append((terms, "\n".join(line.strip() for line in lines if line.startswith(" "))))
    return found


ENTRIES = entries()
TERMS = [term for terms, _ in ENTRIES for term in terms]
WORDS = ENTRIES[[terms for terms, _ in ENTRIES].index(["[class] token", "class token"]) :]
#: A symbol that is no letter of the paper's alphabet, and how a chapter writes it.
SYMBOLS = {
    "gamma (γ)": r"\gamma", "beta (β)": r"\beta", "epsilon (ε)": "epsilon", "mean (μ)": r"\mu", "variance (σ²)": r"\sigma^2",
    "Phi (Φ)": r"\Phi", "B (batch)": "B", "C′ (channels of a map)": "C'", "LN, MSA, MLP": r"\operatorname{LN}", "M (mask)": "M",
    "R (rollout)": r"R_\ell", "SA": r"\operatorname{SA}", "T (tokens)": "T", "W₁, W₂, b₁, b₂": "W_1",
}  # fmt: skip
WANTED = """[class] token, attention head, attention map, attention weights, checkpoint, class token, classification head, cosine,
entropy, equal, erratum, fine-tuning, FLOPs, float32, float64, GELU, hybrid, inductive bias, key, LayerNorm, LayerScale, ledger,
logits, mask, MLP, multi-head self-attention, multiply-add, parameter, patch, patch embedding, position embedding, post-norm,
pre-norm, pre-training, query, receptive field, representation, residual connection, residual stream, rollout, rounding noise,
score, self-attention, softmax, token, trace, value, verdict"""


def test_the_words_of_the_book_are_there_once():
    assert {term.strip() for term in WANTED.split(",")} <= set(TERMS)
    lowered = [term.lower() for term in TERMS]
    assert len(set(lowered)) == len(lowered)


def test_terms_stand_in_the_order_of_the_alphabet():
    first = [terms[0].lower() for terms, _ in WORDS[1:]]
    assert first == sorted(first)


@pytest.mark.parametrize("terms, definition", ENTRIES, ids=[terms[0] for terms, _ in ENTRIES])
def test_a_definition_is_short_and_leads_to_a_chapter_that_uses_the_word(terms, definition):
    assert len(definition.split("\n")) <= 3, "one to three sentences, one a source line"
    chapters = [link.chapter for link in read(definition).find("link") if link.chapter]
    assert chapters and all(f"book/{name}" in CHAPTERS for name in chapters)
    if terms[0] in SYMBOLS:
        formulas = " ".join(formula.text for name in chapters for formula in READ[f"book/{name}"].formulas)
        assert all(SYMBOLS[term] in formulas for term in terms)
    else:
        text = words("\n".join(PAGES[f"book/{name}"] for name in chapters))
        assert any(words(term) in text for term in terms), f"none of {terms} in {chapters}"


def words(text: str) -> str:
    """Lower case, without brackets and stops."""
    return " ".join(re.findall(r"[\w/-]+", text.lower()))


def test_symbols_and_terms_are_told_apart():
    assert {term for terms, _ in ENTRIES[: -len(WORDS)] for term in terms} == SYMBOLS.keys()


@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.code)
def test_a_letter_leads_to_a_chapter_that_uses_it(letter):
    assert f"book/{letter.chapter}" in CHAPTERS
    text = PAGES[f"book/{letter.chapter}"].replace(r"_\text{class}", "_{class}").replace(r"_{\ell-1}", r"_\ell")
    for name in letter.latex.split(", "):
        assert re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", text), name
    assert f"({letter.chapter}.md)" in in_words(letter).replace("<", "").replace(">", "")


def test_letters_in_plain_words():
    by_code = {letter.code: letter for letter in LETTERS}
    assert plain_names(by_code["z_prime[l-1]"]) == ["z'_ℓ"]
    assert plain_names(by_code["U_q, U_k, U_v"]) == ["U_qkv"]
    assert index_entries(by_code["H, W"]) == [
        "H; height and width of the picture, in pixels",
        "W; height and width of the picture, in pixels",
    ]
    assert in_words(by_code["E_pos"]).split("\n")[:2] == [
        "One learned vector a position, row 0 for [class].",
        r"Shape $(N+1) \times D$.",
    ]
    assert in_words(by_code["E_pos"]).endswith("Eq. 1 of the paper.\nRead: [Positions](positions.md).\n")
    assert "In code `heads`." in in_words(by_code["heads"]) and "code" not in in_words(by_code["P"])


def test_every_entry_of_the_index_is_another():
    written = [entry for letter in LETTERS for entry in index_entries(letter)]
    assert len(set(written)) == len(written)
    assert not any("\\" in entry or "{" in entry for entry in written)


@pytest.mark.parametrize("page", PAGES)
def test_terms_are_used_by_their_own_name_and_not_in_headings(page):
    """Another spelling would be another entry of the index."""
    chapter = READ[page]
    assert {role.goal for role in chapter.find("role", "term")} <= set(TERMS)
    assert not [heading for heading in chapter.find("heading") if [*chapter.find("role", "term", within=heading)]]


@pytest.mark.parametrize("word", ["ImageNet", "JFT", "ReLU", "stride", "decoder", "bfloat16", "pre-logits", "R²"])
def test_a_word_that_chapters_use_is_explained(word):
    assert word in TERMS


def test_the_references_say_what_each_work_is_here_for():
    works = parse_file(str(ROOT / "book" / "references.bib")).entries
    notes = [work.fields["note"] for work in works.values()]
    assert all(10 < len(note) < 110 and note[0].isupper() and note[-1] != "." for note in notes)
    assert not [note for note in notes if re.search(r"checked|memory|arXiv|download|verif", note)], "a note of editors"
    assert works["radford2018gpt"].fields["title"] == "{Improving Language Understanding by Generative Pre-Training}"


def test_the_map_has_a_way_for_each_kind_of_reader():
    ways = PAGES["book/map"].partition("## Which way is yours?")[2]
    for reader in ("You know CNNs", "You know BERT", "You want code", "You have little time"):
        steps = re.findall(r"^\d\. .*$", ways.partition(f"**{reader}")[2].partition("\n**")[0], re.M)
        assert 3 <= len(steps) <= 5 and all(re.search(r"\]\(\w+\.md\)", step) and ": " in step for step in steps)


def test_room_for_the_words():
    """What fits is held in characters by the build; this holds that the drawing's columns do not overlap."""
    assert book_map.DOT < book_map.TITLE < book_map.PURPOSE < book_map.WIDTH
