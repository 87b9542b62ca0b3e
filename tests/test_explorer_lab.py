"""The explorer in JupyterLab with a live kernel: the reader's own picture, restarts, runs again, nothing kept."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lab import Notebook
from PIL import Image
from test_explorer_browser import STATE, Expected, embedded, same

from vitbook import preprocess, run
from vitbook.widgets.explorer.packing import layer_stack

pytestmark = pytest.mark.lab

CELLS = [
    "import resource, ipywidgets\n"
    "from vitbook import load_checkpoint\n"
    "from vitbook.widgets.explorer.widget import AttentionExplorer\n"
    "checkpoint = load_checkpoint('embedded')",
    "explorer = AttentionExplorer(checkpoint, layer=10, head=5)\nexplorer",
    "print('CHOICE', explorer.picture, explorer.layer, explorer.head, explorer.query)",
    "print('HELD', len(ipywidgets.widgets.widget._instances), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)",
    "explorer.layer, explorer.head, explorer.query = 3, 2, (1, 4)",
]


class Shown(Notebook):
    """A notebook with an explorer."""

    def show(self) -> None:
        self.run(0)
        self.run(1)
        self.page.wait_for_selector(".vbx-view[data-drawn]")

    def until(self, title: str) -> dict:
        self.page.wait_for_function(
            "t => { const v = document.querySelector('.vbx-view'); return v && v.dataset.drawn &&"
            " v.querySelector('.vbx-title').textContent === t && !v.classList.contains('vbx-waiting'); }",
            arg=title,
        )
        return self.page.evaluate(STATE, 0)


@pytest.fixture(scope="module")
def notebook(browser, lab):
    """One notebook with one kernel: every test shows the explorer afresh, and the one that restarts it comes last."""
    opened = Shown(browser, lab, "explorer", CELLS)
    yield opened
    opened.context.close()


def test_page_and_kernel_agree_both_ways(notebook):
    notebook.show()
    same(notebook.until(Expected("chelsea", 10, 5, 0).title), Expected("chelsea", 10, 5, 0))
    notebook.page.locator(".vbx-thumb").nth(2).click()
    notebook.until(Expected("chelsea", 10, 2, 0).title)
    box = notebook.page.locator(".vbx-photo").first.bounding_box()
    notebook.page.locator(".vbx-photo").first.click(
        position={"x": box["width"] * 2.5 / 14, "y": box["height"] * 1.5 / 14}
    )
    same(notebook.until(Expected("chelsea", 10, 2, 17).title), Expected("chelsea", 10, 2, 17))
    assert "CHOICE chelsea 10 2 17" in notebook.run(2)
    notebook.run(4)
    same(notebook.until(Expected("chelsea", 3, 2, 19).title), Expected("chelsea", 3, 2, 19))
    assert notebook.page.get_by_role("slider", name="Layer").get_attribute("aria-valuenow") == "3.0"
    assert "CHOICE chelsea 3 2 19" in notebook.run(2)
    notebook.page.get_by_role("button", name="A cup of coffee and a spoon").click()
    notebook.page.wait_for_function(
        "() => document.querySelector('.vbx-view figcaption').textContent.includes('coffee')"
    )
    notebook.page.wait_for_function("() => !document.querySelector('.vbx-view').classList.contains('vbx-waiting')")
    same(notebook.page.evaluate(STATE, 0), Expected("coffee", 3, 2, 19))
    assert notebook.page.locator(".vbx-first").count() == 0 and notebook.errors == []


def test_ones_own_picture_is_shown_and_not_stored(notebook, tmp_path):
    pixels = np.random.default_rng(8).integers(0, 255, (90, 160, 3), dtype=np.uint8)
    path = tmp_path / "<b>holiday & sea.png"
    Image.fromarray(pixels).save(path)
    notebook.show()
    notebook.upload(path)
    notebook.page.wait_for_function(
        "name => document.querySelector('.vbx-view figcaption').textContent === name", arg=path.name
    )
    notebook.page.wait_for_function("() => !document.querySelector('.vbx-view').classList.contains('vbx-waiting')")
    A = layer_stack(run(embedded(), preprocess(pixels, embedded())), 10)[5, 0]
    state = notebook.page.evaluate(STATE, 0)
    assert state["facts"]["Row sum"].startswith(f"[class] {A[0]:.4f}")
    most = int(A[1:].argmax())
    assert state["facts"]["Reads most"].startswith(f"patch {most} (row {most // 14}, column {most % 14})")
    notebook.page.wait_for_function("() => document.querySelector('.vbx-photo img').naturalWidth === 160")

    address = notebook.page.get_by_label("Path or URL")
    address.fill("/no/such/cat.png")
    address.press("Enter")
    notebook.page.wait_for_selector(".vbx-problem:not([hidden])")
    assert "/no/such/cat.png" in notebook.page.locator(".vbx-problem").inner_text()
    address.fill(str(path))
    address.press("Enter")
    notebook.page.wait_for_function("() => document.querySelector('.vbx-problem').hidden")

    stored = notebook.save()
    with Image.open(path) as picture:
        assert picture.size == (160, 90)
    assert "image/webp" in stored, "the bundled picture's first state is there"
    assert path.name not in stored and len(stored) < 150_000
    assert notebook.errors == []


def test_a_hundred_changes_and_five_runs_leave_nothing_behind(notebook):
    notebook.show()
    notebook.until(Expected("chelsea", 10, 5, 0).title)
    for _ in range(2):
        notebook.run(1)
    notebook.until(Expected("chelsea", 10, 5, 0).title)
    widgets, memory = map(int, re.search(r"HELD (\d+) (\d+)", notebook.run(3)).groups())
    notebook.page.locator(".vbx-photo").first.focus()
    for i in range(100):
        notebook.page.keyboard.press("ArrowDown" if i % 2 else "c")
    for layer in range(12):
        notebook.page.get_by_role("slider", name="Layer").press("ArrowLeft" if layer < 9 else "ArrowRight")
        notebook.page.wait_for_timeout(150)
    notebook.page.wait_for_function("() => !document.querySelector('.vbx-view').classList.contains('vbx-waiting')")
    for _ in range(5):
        notebook.run(1)
    notebook.until(Expected("chelsea", 10, 5, 0).title)
    after, memory_after = map(int, re.search(r"HELD (\d+) (\d+)", notebook.run(3)).groups())
    assert after == widgets, "an explorer that is made again replaces the one before"
    assert memory_after - memory < 100, "MB at their peak: one run's trace is about 30, and three are kept"
    assert notebook.page.locator(".vbx-view").count() == 1 and notebook.errors == []


def test_a_restart_and_a_second_run(notebook):
    notebook.show()
    notebook.restart()
    notebook.page.locator(".vbx-thumb").nth(1).click()  # the page still holds this layer
    notebook.until(Expected("chelsea", 10, 1, 0).title)
    notebook.show()
    same(notebook.until(Expected("chelsea", 10, 5, 0).title), Expected("chelsea", 10, 5, 0))
    assert "CHOICE chelsea 10 5 0" in notebook.run(2)
