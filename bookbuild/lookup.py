"""What helps a reader to find things: letters in the glossary, an index that leads to the chapters, a map of the book."""

from __future__ import annotations

import posixpath
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_id

from bookbuild.book_map import LONGEST_PURPOSE, LONGEST_TITLE, Chapter, draw, read_book
from bookbuild.myst import read
from vitbook.ledger.publications import file
from vitbook.notation import LETTERS, Letter


class _Written(SphinxDirective):
    """A directive that reads some Markdown of its own making."""

    def read(self, markdown: str) -> list[nodes.Node]:
        holder = nodes.Element()
        lines = StringList(markdown.split("\n"), self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children


class Letters(_Written):
    """``letters``: the paper's alphabet as a glossary, from `vitbook.notation`; each letter stands in the index."""

    def run(self) -> list[nodes.Node]:
        items = (self.item(letter) for letter in LETTERS)
        return [nodes.definition_list("", *items, classes=["simple", "glossary", "vb-letters"])]

    def item(self, letter: Letter) -> nodes.definition_list_item:
        place = make_id(self.env, self.state.document, "letter", letter.code)
        index = addnodes.index(entries=[("single", entry, place, "main", None) for entry in index_entries(letter)])
        term = nodes.term("", "", nodes.math(letter.latex, letter.latex), index, ids=[place])
        return nodes.definition_list_item("", term, nodes.definition("", *self.read(in_words(letter))))


def plain_names(letter: Letter) -> list[str]:
    r"""How the letters of one line are written without TeX: ``\mathbf{z}'_\ell`` is ``z'_ℓ``."""
    plain = letter.latex.replace(r"\mathbf", "").replace(r"\ell", "ℓ")
    return plain.replace("{", "").replace("}", "").split(", ")


def index_entries(letter: Letter) -> list[str]:
    """One entry a letter, with the first clause of its meaning below it."""
    clause = letter.meaning
    for stop in ";:(":
        clause = clause.partition(stop)[0]
    return [f"{name}; {clause.strip()}" for name in plain_names(letter)]


def in_words(letter: Letter) -> str:
    """The meaning of a letter, its shape, its name in code where that is another, its place and chapter, as Markdown."""
    sizes = letter.shape.replace("²", "^2").replace("N+1", "(N+1)").split(", ")
    shape = r" \times ".join(sizes)
    sentences = [
        letter.meaning[0].upper() + letter.meaning[1:],
        f"Shape ${shape}$" if shape else "",
        f"In code `{letter.code}`" if plain_names(letter) != letter.code.split(", ") else "",
        f"{letter.where} of the paper",
        f"Read: [{file()['chapters'][letter.chapter][1]}]({letter.chapter}.md)",
    ]
    return "".join(f"{sentence}.\n" for sentence in sentences if sentence)


class BookMap(_Written):
    """``book-map``: its body lists every chapter, ``- [short title](name.md): what it is for``; needs come from their boxes.

    It becomes a drawing, and the same list with the needs in words.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            chapters = read_book(Path(self.env.srcdir))
            words = self.words(chapters)
        except ValueError as error:
            raise self.error(str(error)) from None
        for chapter in chapters:
            self.env.note_dependency(f"book/{chapter.name}.md")
        drawing = nodes.raw("", draw(chapters, words), format="html")
        frame = nodes.container("", drawing, classes=["vb-map-frame"])
        return [frame, *self.read(as_list(chapters, words))]

    def words(self, chapters: tuple[Chapter, ...]) -> dict[str, tuple[str, str]]:
        """Name -> (short title, purpose).  Raises ValueError for too long a line, or another order than the book's."""
        words = entries("\n".join(self.content))
        for name, (title, purpose) in words.items():
            if len(title) > LONGEST_TITLE or len(purpose) > LONGEST_PURPOSE:
                raise ValueError(
                    f"{name}: a title of {LONGEST_TITLE} and a purpose of {LONGEST_PURPOSE} characters fit, got "
                    f"{len(title)} and {len(purpose)}"
                )
        if list(words) != [chapter.name for chapter in chapters]:
            raise ValueError(
                "the map lists other chapters than the book, or in another order: "
                f"{', '.join(words)} against {', '.join(chapter.name for chapter in chapters)}"
            )
        return words


def entries(text: str) -> dict[str, tuple[str, str]]:
    """Name -> (short title, purpose) for the lines of a map.  Raises ValueError for a line that is no entry."""
    found = {}
    body = read(text)
    for item in body.parts:
        line, link = body.source(item), next(body.find("link", within=item), None)
        purpose = body.text[link.end : item.end] if link and link.chapter and line.startswith("- [") else ""
        if not purpose.startswith(": ") or "\n" in line:
            raise ValueError(f"expected '- [short title](name.md): what it is for', got {line!r}")
        found[link.chapter] = (body.text[slice(*link.inside)], purpose.removeprefix(": ").removesuffix("."))
    return found


def as_list(chapters: tuple[Chapter, ...], words: dict[str, tuple[str, str]]) -> str:
    """The map for those who do not see it, part by part."""
    lines, part = [], None
    for chapter in chapters:
        if chapter.part != part:
            part = chapter.part
            lines += ["", f"**{part}**", ""]
        title, purpose = words[chapter.name]
        needs = ", ".join(f"[{words[need][0]}]({need}.md)" for need in chapter.needs)
        lines.append(f"- [{title}]({chapter.name}.md): {purpose}. Needs {needs or 'no other chapter'}.")
    return "\n".join(lines)


class IndexTerms(SphinxTransform):
    """Put each chapter under the terms that it refers to: the first place of each leads there from the index."""

    default_priority = 602

    def apply(self, **kwargs) -> None:
        title = next(self.document.findall(nodes.title), None)
        if title is None or next(self.document.findall(addnodes.glossary), None):
            return
        seen = set()
        for reference in list(self.document.findall(addnodes.pending_xref)):
            term = reference.get("reftarget")
            if reference.get("reftype") != "term" or term in seen:
                continue
            seen.add(term)
            place = nodes.make_id(f"use-of-{term}")
            reference[0]["ids"].append(place)
            entry = ("single", f"{term}; {title.astext()}", place, "", None)
            reference.parent.insert(reference.parent.index(reference), addnodes.index(entries=[entry]))


class IndexInSidebar(SphinxTransform):
    """The general index ends the table of contents; it is no source, so _toc.yml cannot name it."""

    default_priority = 101  # right after sphinx_external_toc has put the tables of contents into the first page

    def apply(self, **kwargs) -> None:
        toctrees = list(self.document.findall(addnodes.toctree))
        if toctrees and self.env.docname == self.config.root_doc:
            toctrees[-1]["entries"].append((None, "genindex"))


def lead_to_chapters(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Below each term of the general index: the chapters that its definition in the glossary leads to."""
    if pagename != "genindex":
        return
    chapters = explained_in(app)
    for _, entries in context["genindexentries"]:
        for _, (links, places, _) in entries:
            known = dict(places)
            for title, address in (pair for _, uri in links for pair in chapters.get(uri, ())):
                known.setdefault(title, []).insert(0, ("main", address))
            places[:] = sorted(known.items(), key=lambda place: not any(main for main, _ in place[1]))


def explained_in(app: Sphinx) -> dict[str, list[tuple[str, str]]]:
    """Address of a term in a glossary -> title and address of every chapter that its definition links to."""
    objects = app.env.get_domain("std").objects
    found = {}
    for docname in sorted({place[0] for (kind, _), place in objects.items() if kind == "term"}):
        page, folder = f"{docname}{app.builder.out_suffix}", posixpath.dirname(docname)
        for item in app.env.get_and_resolve_doctree(docname, app.builder).findall(nodes.definition_list_item):
            addresses = [
                posixpath.join(folder, link["refuri"])
                for link in item.findall(nodes.reference)
                if link.get("internal") and not link.get("refuri", "#").startswith("#")
            ]
            places = [(_title(app, address), address) for address in addresses]
            for term in item.findall(nodes.term):
                found |= {f"{page}#{place}": places for place in term["ids"]}
    return found


def _title(app: Sphinx, address: str) -> str:
    return app.env.titles[address.partition("#")[0].removesuffix(app.builder.out_suffix)].astext()


def setup(app: Sphinx) -> None:
    app.add_directive("letters", Letters)
    app.add_directive("book-map", BookMap)
    app.add_transform(IndexTerms)
    app.add_transform(IndexInSidebar)
    app.connect("html-page-context", lead_to_chapters)
