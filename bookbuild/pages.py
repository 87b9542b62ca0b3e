"""What stands in a page besides its chapter: the policy, scripts that wait, one style sheet.  The templates lie in ``theme``."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from bookbuild import leaner, maths_font, text_font

# What a page may load: its own files (file: for a book opened from a disk), pictures and widget code that it holds itself
# (data:, blob:), and the inline scripts that are named by their hash. Nothing may be evaluated from text but WebAssembly, which
# sees only the numbers that it is handed (the matrix product of the model in the page). Nothing comes from another host, and no
# page may be put in a foreign frame's place by a changed base.
POLICY = {
    "default-src": "'self' file:",
    "script-src": "'self' file: blob: 'wasm-unsafe-eval'",
    "style-src": "'self' file: 'unsafe-inline'",
    "img-src": "'self' file: data: blob:",
    "font-src": "'self' file: data:",
    "connect-src": "'self' file: data: blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self' file:",
}
RUN = ("text/javascript", "module")  # types of script elements that run; others carry data, such as a widget's state
# The theme's templates ask for these two by themselves, before all that is listed.
THEME_SHEETS = ("styles/theme.css", "styles/pydata-sphinx-theme.css")
OPTIONS = (
    "_static/documentation_options.js"  # the template writes it into the page: one question less before the first words
)


def policy(scripts: Iterable[str] = (), handlers: Iterable[str] = ()) -> str:
    """The policy of a page with these inline scripts and handlers (``onclick``), which allows no others."""
    allowed = [POLICY["script-src"], *sorted(map(_hashed, set(scripts)))]
    if handlers:
        allowed += ["'unsafe-hashes'", *sorted(map(_hashed, handlers))]
    return "; ".join(f"{name} {value}" for name, value in {**POLICY, "script-src": " ".join(allowed)}.items())


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class InlineScripts(HTMLParser):
    """The inline scripts of some HTML: the widgets that work without a kernel bring theirs along, in what a cell put out."""

    def __init__(self, html: str):
        super().__init__()
        self.found, self.within = [], False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        attributes = dict(attrs)
        self.within = tag == "script" and "src" not in attributes and attributes.get("type", RUN[0]) in RUN
        if self.within:
            self.found.append("")

    def handle_data(self, data: str) -> None:
        if self.within:
            self.found[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.within = False


def use_our_templates(app: Sphinx, config) -> None:
    config.templates_path.append(str(Path(__file__).parent / "theme"))


def dress(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Give the templates what they write: settings as one script, the handlers of buttons, and scripts that wait."""
    scripts = sorted(context["script_files"], key=lambda script: script.priority)
    context["settings"] = [script.attributes["body"] for script in scripts if _is_setting(script)]
    context["script_files"] = [script for script in scripts if not _is_setting(script) and script.filename != OPTIONS]
    for script in context["script_files"]:
        if script.filename:
            script.attributes.setdefault("defer", "defer")
        elif (
            "body" in script.attributes
        ):  # no words in a widget's state, such as a file's name, may end or hide its element
            script.attributes["body"] = script.attributes["body"].replace("<", r"\u003c")
    buttons = [each for button in context.get("header_buttons", ()) for each in (button, *button.get("buttons", ()))]
    context["handlers"] = {button["javascript"] for button in buttons if button["type"] == "javascript"}
    context["inline"] = InlineScripts(context.get("body", "")).found
    context["policy"] = policy
    sheets = [str(sheet.filename) for sheet in sorted(context["css_files"], key=lambda sheet: sheet.priority)]
    app.vitbook_sheets = (*THEME_SHEETS, *(name.removeprefix("_static/") for name in sheets))
    context["sheets_version"] = sheets_version(app)


def _is_setting(script) -> bool:
    """Whether a script has no file, and is no data such as a widget's state."""
    return not script.filename and script.attributes.get("type", RUN[0]) in RUN


def sheets_version(app: Sphinx) -> str:
    """A short hash of the style sheets that are joined: a browser asks again when they have changed."""
    if not hasattr(app, "vitbook_version"):
        files = (Path(app.outdir, "_static", name) for name in app.vitbook_sheets)
        texts = (file.read_bytes() for file in files if file.is_file())  # one comes later, named by its own hash
        app.vitbook_version = hashlib.sha256(b"".join([*map(str.encode, app.vitbook_sheets), *texts])).hexdigest()[:8]
    return app.vitbook_version


class Translator(HTML5Translator):
    """Writes three things otherwise than docutils does."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.meta = [tag for tag in self.meta if "viewport" not in tag]  # which the theme's page says by itself

    def starttag(self, node, tagname, suffix="\n", empty=False, **attributes):
        # The bibliography's entries are list items; the role that docutils gives them was withdrawn in ARIA 1.2.
        if attributes.get("role") == "doc-biblioentry":
            attributes["role"] = "listitem"
        # Sizes as attributes leave room for a figure that is not loaded yet, at any width; as a style they fix its width.
        if isinstance(node, nodes.image) and "vb-figure" in node["classes"] and "width" in node:
            del attributes["style"]
            attributes |= {side: node[side].removesuffix("px") for side in ("width", "height")}
        return super().starttag(node, tagname, suffix, empty, **attributes)


def finish_static(app: Sphinx, error: Exception | None) -> None:
    """Leave out of the theme's files what no page holds; this alone has to wait until all pages are written, and changes none."""
    if error or not hasattr(app, "vitbook_sheets"):  # or no page was written
        return
    outdir = Path(app.outdir)
    pages = [
        path.read_text("utf-8") for path in outdir.rglob("*.html") if "_static" not in path.relative_to(outdir).parts
    ]
    for font in (maths_font, text_font):
        font.write_font(outdir / "_static", pages)
    leaner.lean(outdir / "_static", app.vitbook_sheets, pages)


def setup(app: Sphinx) -> None:
    app.set_translator("html", Translator)
    app.connect("config-inited", use_our_templates)
    app.connect("html-page-context", dress, priority=900)  # after all others
    app.connect("build-finished", finish_static, priority=600)  # after the theme has written its colours for code
