"""`make lab` in a browser: a double click opens each chapter as a notebook, and one runs from top to bottom."""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from pathlib import Path

import pytest
from lab import PATIENCE
from playwright.sync_api import expect
from test_pencil_widget import agrees, cell

from bookbuild.myst import read
from vitbook.studies import pencil

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
CHAPTERS = sorted(path.name for path in BOOK.glob("*.md"))
IN_FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
CURRENT = "#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current[title*='Name: {}']"
FAILED = "[data-mime-type='application/vnd.jupyter.error'], [data-mime-type='application/vnd.jupyter.stderr']"
# Every open cell has its number (a folded one shows none), or a cell has failed, after which no other runs.
RAN_OR_FAILED = """front => {
  const prompts = [...document.querySelectorAll(`${front} .jp-CodeCell .jp-InputPrompt`)].map(prompt => prompt.textContent);
  const failed = document.querySelector(`${front} [data-mime-type="application/vnd.jupyter.error"]`);
  return failed || (prompts.some(Boolean) && prompts.every(prompt => prompt === "" || /\\d/.test(prompt)));
}"""


@pytest.fixture(scope="module")
def page(browser, lab):
    """The first page that a reader of `make lab` sees."""
    address, _ = lab
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(f"{address}/lab/tree/book/intro.md?reset")
    page.locator(f"{IN_FRONT} .jp-Notebook h1").wait_for()
    yield page
    context.close()


def double_click(page, name: str) -> str:
    """Open a chapter from the list of files and return its heading, from the notebook that opens."""
    page.locator(".jp-DirListing-content").get_by_text(name, exact=True).dblclick()
    page.locator(CURRENT.format(name)).wait_for()
    heading = page.locator(f"{IN_FRONT} .jp-Notebook h1").first
    heading.wait_for()
    return heading.inner_text()


def test_the_kernel_is_the_one_that_the_build_runs(lab):
    """The build ran every chapter in the kernel `python3` of its own Python; Lab offers that one, and no other of the name."""
    offered = json.load(urllib.request.urlopen(f"{lab[0]}/api/kernelspecs"))
    python = Path(offered["kernelspecs"]["python3"]["spec"]["argv"][0])
    assert offered["default"] == "python3"
    assert not python.is_absolute() or python == Path(sys.executable)
    for name in CHAPTERS:
        assert read((BOOK / name).read_text(encoding="utf-8")).header["kernelspec"]["name"] == "python3", name


def test_a_double_click_opens_each_chapter_as_a_notebook(page):
    """What opens a file Lab decides by its name alone: asked for all of them, and tried with some."""
    opens_in = page.evaluate(
        "names => names.map(name => jupyterapp.docRegistry.defaultWidgetFactory(`book/${name}`).name)", CHAPTERS
    )
    assert set(opens_in) == {"Jupytext Notebook"}
    for name in ("exercises.md", "glossary.md", "inductive_bias.md"):
        title = next(read((BOOK / name).read_text(encoding="utf-8")).find("heading"))
        assert double_click(page, name) == title.text
    assert page.locator(".jp-FileEditor, .jp-MarkdownViewer").count() == 0 and page.errors == []


def test_a_paper_of_the_repository_opens_as_a_page(page, lab):
    """README.md is no notebook: no kernel is asked for, and nothing is written."""
    paper = lab[1] / "book" / "README.md"
    paper.write_text("# Read me\n\nWords.\n")
    page.evaluate("jupyterapp.commands.execute('filebrowser:refresh')")
    page.locator(".jp-DirListing-content").get_by_text("README.md", exact=True).dblclick()
    page.locator(".jp-MarkdownViewer h1").get_by_text("Read me").wait_for()
    kernels = json.load(urllib.request.urlopen(f"{lab[0]}/api/sessions"))
    assert page.locator(".jp-Dialog").count() == 0 and "book/README.md" not in {kernel["path"] for kernel in kernels}
    assert paper.read_text() == "# Read me\n\nWords.\n" and page.errors == []
    page.evaluate("jupyterapp.shell.currentWidget.close()")  # or Lab asks for it again when it is gone
    page.locator(".jp-MarkdownViewer").wait_for(state="detached")
    paper.unlink()


def test_a_chapter_runs_from_top_to_bottom(page, lab):
    double_click(page, "appendix_a.md")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator("#jp-mainmenu-run").get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(RAN_OR_FAILED, arg=IN_FRONT)
    notebook = page.locator(f"{IN_FRONT} .jp-Notebook")
    assert notebook.locator(FAILED).all_inner_texts() == []

    # The numbers in the text are the kernel's, and the equations have the paper's.
    way = pencil.follow(token=0, column=3)
    factors = sum(len(term) - 1 for line in way if line.operation == "products" for term in line.terms)
    page.get_by_text(f"it takes {len(way)} lines of arithmetic, with {factors} multiplications").wait_for()
    expect(notebook.locator(".jp-MarkdownCell code", has_text="glue[")).to_have_count(0, timeout=PATIENCE)
    numbers = notebook.locator(".jp-MarkdownCell").get_by_text(re.compile(r"^\([5-8]\)$"))
    assert sorted(set(numbers.all_inner_texts())) == ["(5)", "(6)", "(7)", "(8)"]

    # A number of the widget changes, and everything that follows from it.
    box = cell(page, "z", 0, 0)
    box.fill("9")
    box.press("Enter")
    changed = [[9, *pencil.Z[0][1:]], *pencil.Z[1:]]
    agrees(page, {"z": changed, "U_qkv": pencil.U_QKV, "U_msa": pencil.U_MSA})

    page.locator(f"{IN_FRONT} [data-jp-item-name=save]").click()
    page.locator(CURRENT.format("appendix_a.md") + ":not(.jp-mod-dirty)").wait_for()
    assert (lab[1] / "book" / "appendix_a.md").read_text(encoding="utf-8") == (BOOK / "appendix_a.md").read_text(
        "utf-8"
    )

    # A link to another chapter opens it as a notebook too.
    notebook.get_by_role("link", name="Equation 2").first.click()
    page.locator(CURRENT.format("eq2.md")).wait_for()
    page.locator(f"{IN_FRONT} .jp-Notebook h1").get_by_text("Equation 2").wait_for()
    assert page.errors == []
