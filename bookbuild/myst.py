"""The one reader of chapters: MyST Markdown as a tree whose pieces know their place in the source.

markdown-it-py reads, with the plugins that the build itself reads with, and says of a block its lines and of a role or a link
nothing. Here each has a place to the character, also inside a box, so that a piece can be put in other words while everything
around it stays byte for byte. What a piece holds:

    kind         name            text                   title           level   parts
    header                       YAML between dashes
    heading                                                             1 to 6  of its words
    paragraph                                                                   of its words; a cell of a table is one too
    item                                                                        blocks
    directive    admonition      its body               its argument            of title and body; see OPAQUE
    listing      python          code of a plain fence
    formula      eq-6 or empty   TeX set on a line of its own
    math                         TeX in a line
    role         term            what stands in the backticks
    link         where it leads                         title in quotes         of its words
    image        address         what it shows
    code                         code in a line
    html                         tags and words                                 words: what stands between the tags
    comment                      lines after %
    target       name in ()=

>>> chapter = read("Eq. {eq}`eq-6` and ``{eq}`eq-7` ``.")
>>> [chapter.source(role) for role in chapter.find("role")]
['{eq}`eq-6`']
>>> chapter.rewrite(lambda piece: "(6)" if piece.kind == "role" else None)
'Eq. (6) and ``{eq}`eq-7` ``.'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

EXTENSIONS = {
    "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist", "html_image", "smartquotes",
    "substitution", "tasklist",
}  # fmt: skip
#: Directives whose body is no Markdown, and whose argument is no prose.
OPAQUE = {
    "bibliography", "code", "code-block", "code-cell", "eval-rst", "image", "letters", "literalinclude", "math", "raw",
    "raw-cell", "toctree",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of a chapter, at ``start`` to ``end`` of the source; what it holds stands at ``inside`` (title and fences do not)."""

    kind: str
    start: int
    end: int
    name: str = ""
    text: str = ""
    title: str = ""
    level: int = 0
    options: dict = field(default_factory=dict)
    inside: tuple[int, int] = (0, 0)
    parts: tuple[Piece, ...] = ()

    @property
    def classes(self) -> list[str]:
        """The classes of a directive."""
        return str(self.options.get("class", "")).split()

    @property
    def tags(self) -> list[str]:
        """The tags of a cell."""
        tags = self.options.get("tags", [])
        tags = _yaml(tags) if isinstance(tags, str) else tags
        return tags if isinstance(tags, list) else []

    @property
    def chapter(self) -> str:
        """The chapter that a link leads to: ``eq1`` for ``eq1.md#shapes``; empty where it leads elsewhere."""
        page = self.name.partition("#")[0]
        return page.removesuffix(".md") if page.endswith(".md") and "/" not in page else ""

    @property
    def words(self) -> str:
        """What a reference says: ``attention map`` of ``attention map <map>``."""
        return self.text.rpartition("<")[0].strip() if self.text.endswith(">") else self.text

    @property
    def goal(self) -> str:
        """Where a reference leads: ``map`` of ``attention map <map>``."""
        return self.text.rpartition("<")[2].removesuffix(">") if self.text.endswith(">") else self.text


Change = Callable[[Piece], str | None]


@dataclass(frozen=True, eq=False)
class Chapter:
    """A chapter that was read, or a part of one."""

    text: str
    parts: tuple[Piece, ...]

    @property
    def header(self) -> dict:
        """What stands above the chapter between dashes; empty where nothing does."""
        header = _yaml(next((piece.text for piece in self.find("header")), ""))
        return header if isinstance(header, dict) else {}

    @property
    def cells(self) -> list[Piece]:
        """The code cells."""
        return list(self.find("directive", "code-cell"))

    @property
    def formulas(self) -> list[Piece]:
        """Every formula, in a line or on lines of its own, whichever way it is written."""
        boxes = [*self.find("formula"), *self.find("directive", "math")]
        return sorted([*boxes, *self.find("math"), *self.find("role", "math")], key=lambda piece: piece.start)

    def walk(self, within: Piece | None = None) -> Iterator[Piece]:
        """Every piece, and then what it holds, in the order of the source."""
        for piece in (within or self).parts:
            yield piece
            yield from self.walk(piece)

    def find(self, kind: str, *names: str, within: Piece | None = None) -> Iterator[Piece]:
        """The pieces of a kind; those of ``names``, if any are given."""
        return (piece for piece in self.walk(within) if piece.kind == kind and (not names or piece.name in names))

    def source(self, piece: Piece) -> str:
        """A piece as it is written."""
        return self.text[piece.start : piece.end]

    def line(self, place: int) -> int:
        """The line of a place, counted from 1."""
        return self.text.count("\n", 0, place) + 1

    def rewrite(self, change: Change, within: Piece | None = None) -> str:
        """The source, or what a piece holds, with each piece in the words that ``change`` has for it.

        Where it has None, the parts of the piece are asked.
        """
        start, end = within.inside if within else (0, len(self.text))
        out, at = [], start
        for piece, words in _changes(within or self, change):
            if piece.start >= start:
                out += [self.text[at : piece.start], words]
                at = piece.end
        return "".join([*out, self.text[at:end]])

    def prose(self, within: Piece | None = None) -> str:
        """The source with a space for everything that is not prose: no place and no line moves.

        Code, formulas, roles, addresses, options and tags are no prose; titles of boxes are.
        """
        kept = bytearray(len(self.text))
        for piece in [within, *self.walk(within)] if within else self.walk():
            start, end = piece.start, piece.end
            if piece.kind in ("paragraph", "heading", "words"):
                kept[slice(*piece.inside)] = b"\1" * (piece.inside[1] - piece.inside[0])
            elif piece.kind == "link":
                kept[start : piece.inside[0]] = bytes(piece.inside[0] - start)
                kept[piece.inside[1] : end] = bytes(end - piece.inside[1])
            elif piece.kind in _NO_PROSE:
                kept[start:end] = bytes(end - start)
        return "".join(char if keep or char == "\n" else " " for char, keep in zip(self.text, kept, strict=True))

    def first_sentence(self, within: Piece) -> tuple[int, int]:
        """The place of the first sentence of a paragraph: up to a stop before a space."""
        start, end = within.inside
        prose = self.prose(within)[:end] + " "
        stops = [place for place in range(start, end) if prose[place] in ".?!" and prose[place + 1].isspace()]
        return start, (stops[0] + 1 if stops else end)


_NO_PROSE = {"role", "math", "code", "image", "html", "tag", "attribute"}


def _changes(within: Chapter | Piece, change: Change) -> Iterator[tuple[Piece, str]]:
    for piece in within.parts:
        words = change(piece)
        if words is None:
            yield from _changes(piece, change)
        else:
            yield piece, words


@lru_cache(maxsize=512)
def read(text: str) -> Chapter:
    """Read a chapter, a cell of one, or a few words of MyST."""
    lines, place = [], 0
    for line in text.split("\n"):
        lines.append((place, line.replace("\r", " ").replace("\0", " ")))  # markdown-it would put other signs there
        place += len(line) + 1
    return Chapter(text, _Blocks(text, lines).parts())


def _recorded(rule):
    """A rule that leaves on each token the part of the text that it was read from."""

    def read(state, silent: bool) -> bool:
        start, known, pending = state.pos, len(state.tokens), len(state.pending)
        found = rule(state, silent)
        if found and not silent:
            if (len(state.tokens), len(state.pending)) == (known, pending):  # {.class} after a piece
                state.push("attribute", "", 0)
            for token in state.tokens[known:]:
                token.meta.setdefault("place", (start, state.pos))
        return found

    return read


def _parser() -> MarkdownIt:
    parser = create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)
    rules = parser.inline.ruler
    for name, rule in zip(rules.get_active_rules(), rules.getRules(""), strict=True):
        rules.at(name, _recorded(rule))
    return parser


_PARSER = _parser()
_BLOCKS = {
    "front_matter": "header", "myst_target": "target", "myst_line_comment": "comment", "math_block": "formula",
    "math_block_label": "formula", "code_block": "listing", "html_block": "html", "fence": "listing", "colon_fence": "listing",
}  # fmt: skip
_IN_LINE = {
    "myst_role": "role", "math_inline": "math", "math_inline_double": "math", "code_inline": "code", "image": "image",
    "html_inline": "tag", "attribute": "attribute",
}  # fmt: skip


class _Blocks:
    """Reads lines of a text, each with its place: all of them, or those inside a box."""

    def __init__(self, text: str, lines: list[tuple[int, str]]):
        self.text, self.lines = text, lines
        self.columns = {}  # number of a line -> where its next cell may begin, if it is a row of a table

    def parts(self) -> tuple[Piece, ...]:
        tokens = _PARSER.parse("\n".join(line for _, line in self.lines))
        found, around = [], []
        for opening, token in zip([None, *tokens], tokens, strict=False):
            if token.type == "list_item_open":
                around.append((found, self.span(token)))
                found = []
            elif token.type == "list_item_close":
                item, (found, span) = tuple(found), around.pop()
                found.append(Piece("item", *span, parts=item))
            elif token.type == "inline" and token.content:  # a cell of a table may be empty
                found.append(self.words(token, opening))
            elif kind := _BLOCKS.get(token.type):
                found.append(self.block(kind, token))
        return tuple(found)

    def block(self, kind: str, token: Token) -> Piece:
        info = token.info.strip()
        if kind == "listing" and info.startswith("{") and "}" in info:
            return self.directive(token, *info[1:].split("}", 1))
        text, name = token.content, info
        if kind == "target":
            text, name = "", text
        parts = tuple(self.words_between(token)) if kind == "html" else ()
        return Piece(kind, *self.span(token), name=name, text=text, parts=parts)

    def directive(self, token: Token, name: str, title: str) -> Piece:
        title, first = title.strip(), token.map[0] + 1
        options, skipped = _options(token.content)
        content = self.content(token, first)
        body, inside = content[skipped:], (self.place(first + skipped), self.place(first + len(content)))
        parts = ()
        if name not in OPAQUE:
            place, line = self.lines[token.map[0]]
            above = _Blocks(self.text, [(place + line.rindex(title), title)]).parts() if title else ()
            parts = (*above, *_Blocks(self.text, body).parts())
        return Piece(
            "directive", *self.span(token), name=name, text="\n".join(line for _, line in body), title=title,
            options=options, inside=inside, parts=parts,
        )  # fmt: skip

    def words(self, token: Token, opening: Token) -> Piece:
        places = self.places(token, in_table=opening.type in ("th_open", "td_open"))
        inside, parts = (places[0], places[-1]), self.in_line(iter(token.children), places)
        if opening.type == "heading_open":
            return Piece(
                "heading", *self.span(token), text=token.content, level=int(opening.tag[1:]), inside=inside, parts=parts
            )
        return Piece("paragraph", *inside, text=token.content, inside=inside, parts=parts)

    def in_line(self, tokens: Iterator[Token], places: list[int]) -> tuple[Piece, ...]:
        """The pieces among words, up to the end of the link that holds them."""
        found = []
        for token in tokens:
            if token.type == "link_close":
                break
            if token.type == "link_open":
                start, end = self.span_in_line(token, places)
                parts = self.in_line(tokens, places)
                words_end = self.text.rfind("](", start, end)
                inside = (start + 1, words_end) if words_end > 0 else (start, start)  # <https://...> has no words
                more = {"name": token.attrs["href"], "title": token.attrs.get("title", ""), "inside": inside}
                found.append(Piece("link", start, end, parts=parts, **more))
            elif kind := _IN_LINE.get(token.type):
                span = self.span_in_line(token, places)
                name = token.meta.get("name") or token.attrs.get("src", "")
                text = self.quoted(*span) if kind == "role" else token.content
                found.append(Piece(kind, *span, name=name, text=text))
        return tuple(found)

    def words_between(self, token: Token) -> Iterator[Piece]:
        """What stands between the tags of HTML."""
        content = self.content(token, token.map[0])
        for line, column, words in _Words(token.content).found:
            for number, part in enumerate(words.split("\n")):
                place = content[line + number][0] + (0 if number else column) if part.strip() else 0
                if part.strip():
                    yield Piece("words", place, place + len(part), text=part, inside=(place, place + len(part)))

    # --- places ------------------------------------------------------------------------------------------------

    def place(self, number: int) -> int:
        """Where a line begins; behind the last one, where that ends."""
        place, line = self.lines[min(number, len(self.lines) - 1)]
        return place if number < len(self.lines) else place + len(line)

    def span(self, token: Token) -> tuple[int, int]:
        """From the first character of a block to its last, without the end of the line."""
        first, last = token.map[0], token.map[1] - 1
        while last > first and not self.lines[last][1].strip():
            last -= 1
        place, line = self.lines[last]
        return self.lines[first][0], place + len(line)

    def span_in_line(self, token: Token, places: list[int]) -> tuple[int, int]:
        start, end = token.meta["place"]
        return places[start], places[end - 1] + 1

    def quoted(self, start: int, end: int) -> str:
        """What stands in the backticks of a role, as it is written."""
        quoted = self.text[start:end].partition("}")[2]
        ticks = len(quoted) - len(quoted.lstrip("`"))
        return quoted[ticks:-ticks]

    def content(self, token: Token, first: int) -> list[tuple[int, str]]:
        """The lines of a block's content, which begins at the line ``first``, each with its place."""
        inner = token.content.removesuffix("\n").split("\n") if token.content else []
        outer = self.lines[first : first + len(inner)]
        return [(place + len(line) - len(part), part) for (place, line), part in zip(outer, inner, strict=True)]

    def places(self, token: Token, in_table: bool) -> list[int]:
        """The place in the source of each character of a block's words, and of what follows them."""
        places = []
        for number, words in enumerate(token.content.split("\n"), token.map[0]):
            start, line = self.lines[number]
            column = self.columns.get(number, 0)
            if not in_table:  # markdown-it writes a tab in front as spaces
                column = line.rfind(words.strip()) - len(words) + len(words.lstrip())
            for char in words:
                while in_table and column < len(line) - 1 and line[column] != char:  # "\|" stands for "|"
                    column += 1
                places.append(start + min(max(column, 0), len(line)))
                column += 1
            places.append(start + min(max(column, 0), len(line)))
            self.columns[number] = column
        return places


def _options(content: str) -> tuple[dict, int]:
    """The options at the top of a directive's content, and how many lines they take."""
    lines = content.split("\n")
    if lines[0] == "---" and "---" in lines[1:]:
        end = lines.index("---", 1)
        options = _yaml("\n".join(lines[1:end]))
        return options if isinstance(options, dict) else {}, end + 1
    options = {}
    for line in lines:
        name, colon, value = line[1:].partition(":")
        if not (line.startswith(":") and name and colon):
            break
        options[name] = value.strip()
    return options, len(options)


def _yaml(text: str) -> object:
    """What is written, or None where it is no YAML: the build says so, and a reader goes on."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


class _Words(HTMLParser):
    """What stands between tags: (number of the line, column, words)."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=False)
        self.found = []
        self.feed(html)
        self.close()

    def handle_data(self, words: str) -> None:
        line, column = self.getpos()
        self.found.append((line - 1, column, words))
