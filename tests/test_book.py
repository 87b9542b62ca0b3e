"""The built book as files: only what the toc lists, nothing of the machine that built it, every cell run, no page too heavy."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from bookbuild.myst import read

pytestmark = pytest.mark.book

ROOT = Path(__file__).parents[1]
MADE_BY_SPHINX = {"genindex.html", "search.html", "index.html", "404.html"}
PAGE_LIMIT = 1_000_000  # bytes of HTML
SITE_LIMIT = 180_000_000  # bytes in all: the explorer's data and the model's weights (59 MB) too; a reader loads only what is opened


def listed(entry) -> list[str]:
    """Every document that a piece of _toc.yml names, in reading order."""
    if isinstance(entry, list):
        return [name for part in entry for name in listed(part)]
    if not isinstance(entry, dict):
        return []
    own = [entry[key] for key in ("root", "file") if key in entry]
    return own + [name for key in ("parts", "chapters", "sections") for name in listed(entry.get(key, []))]


def chapters() -> list[str]:
    return [name.removesuffix(".md") for name in listed(yaml.safe_load((ROOT / "_toc.yml").read_text()))]


def pages(site: Path) -> list[Path]:
    """Every page of the site; the themes' own templates in _static are none."""
    return sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)


SOURCES = {tag: "src" for tag in ("script", "img", "iframe", "source", "video", "audio")} | {"object": "data"}


class Loads(HTMLParser):
    """The addresses that a page loads by itself when it is opened (links to click on are another matter)."""

    def __init__(self, html: str):
        super().__init__()
        self.addresses = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        address = attrs.get(SOURCES.get(tag, ""))
        if tag == "link" and {"stylesheet", "preload", "icon", "manifest"} & set((attrs.get("rel") or "").split()):
            address = attrs.get("href")
        if address:
            self.addresses.append(address)


def test_the_toc_and_the_site_hold_the_same_pages(site):
    built = {page.relative_to(site).as_posix() for page in pages(site)}
    wanted = {f"{name}.html" for name in chapters()}
    assert len(wanted) == len(chapters()), "a chapter is listed twice"
    assert built - MADE_BY_SPHINX == wanted


def test_every_page_loads_from_the_site_itself(site):
    foreign, missing = [], []
    for page in pages(site):
        for address in Loads(page.read_text(encoding="utf-8")).addresses:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                foreign.append(f"{page.name}: {address}")
            elif not (page.parent / parts.path).is_file():
                missing.append(f"{page.name}: {address}")
    assert foreign == [] and missing == []


def test_style_sheets_load_from_the_site_itself(site):
    foreign = [
        f"{sheet.name}: {address}"
        for sheet in (site / "_static").rglob("*.css")
        for address in re.findall(
            r"(?:@import\s+|url\()\s*[\"']?((?:https?:)?//[^\"')]+)", sheet.read_text(encoding="utf-8")
        )
    ]
    assert foreign == []


def test_code_has_its_colours_in_both_themes(site):
    """The theme writes them at the end of the build, and the sheet that the pages load is joined after that."""
    written, loaded = ((site / "_static" / name).read_text(encoding="utf-8") for name in ("pygments.css", "sheets.css"))
    pages = "".join(path.read_text(encoding="utf-8") for path in (site / "book").glob("*.html"))
    coloured = r'html\[data-theme="light"\] \.highlight \.(\w+) \{ *color:'
    kinds = set(re.findall(r'<span class="(\w+)">', pages)) & set(re.findall(coloured, written))
    assert len(kinds) > 10
    for theme in ("light", "dark"):
        for kind in kinds:
            rule = rf'html\[data-theme="{theme}"\] \.highlight \.{kind} \{{ *(color: #\w+)'
            assert re.search(rule, loaded)[1] == re.search(rule, written)[1]


# What a careless cell leaves behind: a path of the machine that built the page, a progress bar, a warning, a memory address.
DEBRIS = {
    "a path of the machine that built it": re.compile(
        r"(?<![\w/.:-])/(?:home|Users|root|tmp|var|mnt|opt|usr/lib|work)/[\w.-]+"
    ),
    "the folder it was built in": re.compile(re.escape(str(ROOT))),
    "a Windows path": re.compile(r"\b[A-Z]:\\Users\\"),
    "a progress bar": re.compile(r"\d+%\|[█▏▎▍▌▋▊▉ #]*\||it/s\]|\bs/it\b"),
    "a widget that was not drawn": re.compile(
        r"(?:HBox|VBox|FloatProgress|IntSlider|Dropdown)\((?:children|value|description)="
    ),
    "an address in memory": re.compile(r"&lt;[\w.]+ (?:object )?at 0x[0-9a-f]{6,}"),
    "a traceback": re.compile(r"Traceback \(most recent call last\)"),
    "a warning": re.compile(r"\b(?:User|Future|Deprecation|Runtime)Warning\b: "),
}


@pytest.mark.parametrize("kind", DEBRIS)
def test_pages_carry_no_debris(site, kind):
    found = [
        f"{page.name}: {match[0]}"
        for page in pages(site)
        for match in DEBRIS[kind].finditer(page.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "kind, text",
    [
        ("a path of the machine that built it", "saved to /home/ada/.cache/model.safetensors"),
        ("a progress bar", "100%|██████████| 12/12 [00:01<00:00]"),
        ("a progress bar", "3.1it/s]"),
        ("a widget that was not drawn", "HBox(children=(IntSlider(value=1),))"),
        ("an address in memory", "&lt;vitbook.trace.Trace object at 0x7f90c61e1d40&gt;"),
        ("a warning", "FutureWarning: this will change"),
    ],
)
def test_debris_would_be_noticed(kind, text):
    assert DEBRIS[kind].search(text)


def test_every_chapter_was_executed_to_its_end(site):
    """The notebooks that the build ran lie beside the site; each cell has its number, and none has an error."""
    executed = site.parent / "executed"
    for name in chapters():
        wanted = len(read((ROOT / f"{name}.md").read_text(encoding="utf-8")).cells)
        if not wanted:
            continue
        notebook = json.loads((executed / f"{name}.ipynb").read_text(encoding="utf-8"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]
        assert len(cells) == wanted, f"{name}: {wanted} cells in the source, {len(cells)} in the notebook"
        numbers = [cell["execution_count"] for cell in cells]
        assert numbers == list(range(1, len(cells) + 1)), f"{name}: cells were run as {numbers}"
        outputs = [output for cell in cells for output in cell["outputs"]]
        assert not [output for output in outputs if output["output_type"] == "error"], name
        assert not [output for output in outputs if output.get("name") == "stderr"], name


def test_every_number_in_the_text_was_glued(site):
    """A missing or unprintable glued value leaves an empty place where a number belongs."""
    empty = re.compile(r'<span class="pasted-(?:text|inline)">\s*</span>')
    assert [page.name for page in pages(site) if empty.search(page.read_text(encoding="utf-8"))] == []


def test_every_picture_says_what_it_shows(site):
    """A layer that a widget lays over its picture may be silent on purpose: its alt is there, and empty."""
    silent = []
    for page in pages(site):
        article = page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        for tag in re.findall(r"<img\b[^>]*>", article):
            alt = re.search(r'alt="([^"]*)"', tag)
            if alt and not alt[1] and 'src="data:' in tag:
                continue
            if not alt or len(alt[1].strip()) < 15 or alt[1].startswith(("_images", "../_images")):
                silent.append(f"{page.name}: {tag[:120]}")
    assert silent == []


def test_no_page_is_too_heavy(site, record_property):
    weights = {page.relative_to(site).as_posix(): page.stat().st_size for page in pages(site)}
    total = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    for name, weight in sorted(weights.items(), key=lambda row: -row[1]):
        print(f"{weight:>10,} bytes  {name}")
    print(f"{total:>10,} bytes  the whole site")
    assert {name: weight for name, weight in weights.items() if weight > PAGE_LIMIT} == {}
    assert total < SITE_LIMIT
