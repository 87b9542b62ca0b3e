"""The explorer in a real Chromium, in a built book without a kernel: pixels and words are Python's numbers."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from conftest import ROOT, build_book, small_book
from test_explorer import tiny

from vitbook import load_checkpoint, preprocess, run
from vitbook.config import Preprocessing, ViTConfig
from vitbook.figures.colours import paint, paint_signed, veil
from vitbook.maps import position_similarity
from vitbook.patches import cut, describe
from vitbook.pixels import unnormalise
from vitbook.widgets.explorer import atlas
from vitbook.widgets.explorer.atlas import FOLDER, catalogue_card, fingerprint, shipped, write_atlas
from vitbook.widgets.explorer.packing import layer_stack, pack

pytestmark = pytest.mark.browser

HEADER = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n# {title}\n"
CELL = "```{code-cell} ipython3\n%s\n```\n"
START = "from vitbook.widgets.explorer.widget import AttentionExplorer"
ODD_MODELS = ("7x7", "14x10", "24x24")
PAGES = {
    "one": [f"{START}\nAttentionExplorer('embedded-checkpoint', layer=10, head=5)"],
    "two": [
        f"{START}\nAttentionExplorer('embedded-checkpoint', layer=12, head=1)",
        "AttentionExplorer('embedded-checkpoint', picture='coffee', layer=1, head=6, query=(3, 3), name='second')",
    ],
    "pick": [
        "from vitbook.widgets.pickers.widget import patch_picker, position_picker\ncheckpoint = 'embedded-checkpoint'\n"
        "patch_picker('chelsea', checkpoint, 17)",
        "position_picker(checkpoint.weights.E_pos, checkpoint.config)",
    ],
    "odd": [
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r})\nfrom test_explorer_browser import odd\n{START}",
        *(f"AttentionExplorer(odd({name!r}), picture='rocket', name={name!r})" for name in ODD_MODELS),
    ],
}


def odd(name: str):
    """One layer and one head; a tall grid after a crop; many patches."""
    H, W, P, L, heads, resize, crop = {
        "7x7": (35, 35, 5, 1, 1, (35, 35), None),
        "14x10": (70, 50, 5, 2, 3, 74, (70, 50)),
        "24x24": (96, 96, 4, 2, 1, (96, 96), None),
    }[name]
    config = ViTConfig(H=H, W=W, P=P, D=8 * heads, L=L, heads=heads, M=13)
    return tiny(config, Preprocessing(resize, (0.5,) * 3, (0.5,) * 3, crop=crop))


@pytest.fixture(scope="session")
def explorers(tmp_path_factory) -> Path:
    """A small book of explorers, built as strictly as the book and with its configuration."""
    folder = tmp_path_factory.mktemp("explorers")
    own = "__import__('vitbook').load_checkpoint('embedded')"
    pages = {
        name: HEADER.replace("{title}", name) + "".join(CELL % cell for cell in cells) for name, cells in PAGES.items()
    }
    small_book(folder, {name: text.replace("'embedded-checkpoint'", own) for name, text in pages.items()})
    attn = folder / "book" / "assets" / "attn"
    if (kept := ROOT / FOLDER).is_dir():
        shutil.copytree(kept, attn)  # what the last build wrote need not be computed again
    write_atlas(embedded(), folder=attn, say=lambda line: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "CHUNK", 20_000)  # layers of large models come in several files
        for name in ODD_MODELS:
            home = write_atlas(odd(name), ["rocket", "hopper"], folder / name, say=lambda line: None)
            shutil.move(home, attn)
    assert list(attn.rglob("2-1.js"))
    build_book(folder)
    return folder / "_build" / "html" / "book"


@cache
def embedded():
    return load_checkpoint("embedded")


@cache
def stack(checkpoint, picture: str, layer: int):
    """(the maps themselves, the maps as they travel), both (maps, N+1, N+1)."""
    A = layer_stack(trace(checkpoint, picture), layer)
    return A.astype(np.float64), pack(A)


@cache
def trace(checkpoint, picture: str):
    return run(checkpoint, preprocess(picture, checkpoint))


def figure(weight: float, step: float) -> str:
    digits = min(max(math.floor(-math.log10(step)), 2), 9) if step > 0 else 4
    text = f"{weight:.{digits}f}"
    return text.replace("-", "" if float(text) == 0 else "−")


def exact(weight: float) -> str:
    return f"{weight:.{min(max(2 - math.floor(math.log10(weight)), 0), 12)}f}" if weight > 0 else "0"


class Expected:
    """What Python says that a choice shows."""

    def __init__(self, picture, layer, head, query, show="head", direction="reads", scale="heads", checkpoint=None):
        self.checkpoint = embedded() if checkpoint is None else checkpoint
        self.config = self.checkpoint.config
        A, packed = stack(self.checkpoint, picture, 0 if show == "rollout" else layer)
        index = {"rollout": layer - 1, "mean": 0, "head": head}[show]
        peers = range(len(A)) if show == "rollout" else range(1, len(A))
        turned = (lambda S: S.swapaxes(1, 2)) if direction == "read by" else (lambda S: S)
        true, stored = turned(A), turned(packed.weights())
        self.true, self.weights = true[index, query, 1:], stored[index, query, 1:]
        self.to_class = float(stored[index, query, 0])
        self.sum = float((packed.column_sums if direction == "read by" else packed.row_sums)[index, query])
        within = true[:, :, 1:]  # tops are stored as they are
        if direction == "read by":
            within = within[:, 1:]  # [class], read far more than any patch, would dim all others
        own = float(true[index, query, 1:].max())
        shared = max(float(true[peer, query, 1:].max()) for peer in peers)
        every = max(float(within[peer].max()) for peer in peers)
        self.own = own
        self.top = np.float64(np.float32({"map": own, "heads": max(own, shared), "layer": max(own, every)}[scale]))
        exact = direction == "read by" and query == 0
        self.step = 0.0 if exact else own / 510
        self.most = int(np.argmax(self.weights))
        name = {"rollout": f"Rollout up to layer {layer}", "mean": f"Layer {layer}, mean of {self.config.heads} heads"}
        token = describe(query, self.config)
        does = f"who reads {token}" if direction == "read by" else f"what {token} reads"
        self.title = f"{name.get(show, f'Layer {layer}, head {head}')}: {does}"

    def cells(self, theme="light") -> np.ndarray:
        return paint(np.minimum(self.weights, self.top), self.top, theme)


STATE = """(n) => {
  const view = document.querySelectorAll('.vbx-view')[n ?? 0];
  const cells = canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data];
  const words = [...view.querySelectorAll('.vbx-facts div')].map(d => [...d.children].map(c => c.textContent));
  const facts = Object.fromEntries(words), problem = view.querySelector('.vbx-problem');
  const [photo, other, grid] = view.querySelectorAll('.vbx-frame canvas');
  return {title: view.querySelector('.vbx-title').textContent, facts, photo: cells(photo), grid: cells(grid),
    bar: [...view.querySelectorAll('.vbx-tick')].map(t => t.textContent), words: view.querySelector('.vbx-barwords').textContent,
    problem: problem.hidden ? '' : problem.textContent,
    chosen: [...view.querySelectorAll('.vbx-strip [aria-pressed=true]')].map(b => b.textContent)};
}"""
PLACE = """v => {
  const [f, s] = ['.vbx-photo', '.vbx-seen'].map(name => v.querySelector(name).getBoundingClientRect());
  return [s.left - f.left, s.top - f.top, s.right - f.left, s.bottom - f.top].map((d, i) => d / (i % 2 ? f.height : f.width));
}"""
ATLAS = "() => document.querySelectorAll('.vbx-atlas canvas').length === 84"
DRAWN = "n => document.querySelectorAll('.vbx-view[data-drawn]').length > (n ?? 0)"


class Page:
    """An open page with explorers, and what a reader does there."""

    def __init__(self, visit, url: str, **options):
        self.visit = visit(url, **options)
        self.page = self.visit.page
        self.page.wait_for_function(DRAWN, arg=url.count("two"))

    def state(self, n: int = 0) -> dict:
        return self.page.evaluate(STATE, n)

    def until(self, title: str, n: int = 0) -> dict:
        """The state once the title is the expected one and nothing is on its way."""
        self.page.wait_for_function(
            "([title, n]) => { const v = document.querySelectorAll('.vbx-view')[n];"
            " return v.querySelector('.vbx-title').textContent === title && !v.classList.contains('vbx-waiting'); }",
            arg=[title, n],
        )
        return self.state(n)

    def go(self, **choice) -> None:
        self.page.evaluate("hash => { location.hash = hash; }", urlencode(choice))

    def view(self, n: int = 0):
        return self.page.locator(".vbx-view").nth(n)

    def control(self, name: str, n: int = 0):
        root = self.page.locator(".vbx-explorer:not(.vbx-first)").nth(n)
        return root.locator(".jupyter-widgets", has=self.page.get_by_text(name, exact=True)).last

    def slider(self, name: str, n: int = 0):
        return self.page.locator(".vbx-explorer:not(.vbx-first)").nth(n).get_by_role("slider", name=name)

    def more(self) -> None:
        self.page.get_by_role("button", name="More choices").first.click()


def same(state: dict, expected: Expected, theme: str = "light") -> None:
    """Pixels and figures are Python's; and Python's stored numbers are the true ones to half a step."""
    grid = np.array(state["grid"]).reshape(-1, 4)
    assert (grid[:, 3] == 255).all()
    np.testing.assert_array_equal(grid[:, :3], expected.cells(theme))
    np.testing.assert_array_equal(state["photo"][3::4], veil(expected.weights, expected.weights.max())[:, 3])
    assert np.abs(expected.weights - expected.true).max() <= expected.own / 510 + 1e-12
    most = describe(expected.most + 1, expected.config)
    key = "Read most by" if "who reads" in expected.title else "Reads most"
    assert state["facts"][key] == f"{most}, {exact(float(np.float32(expected.own)))}"
    row = f"[class] {expected.to_class:.4f} + {expected.config.N} patches {expected.sum - expected.to_class:.4f}"
    assert state["facts"]["Column sum" if "who reads" in expected.title else "Row sum"].startswith(
        f"{row} = {expected.sum:.6f}"
    )
    assert state["bar"][:2] == ["0", exact(float(expected.top))]


@pytest.fixture(params=["http", "disk"])
def root(request, explorers, serve) -> str:
    return f"{serve(explorers.parent)}/book" if request.param == "http" else explorers.as_uri()


@pytest.fixture
def served(explorers, serve) -> str:
    return f"{serve(explorers.parent)}/book"


# --- the numbers ---


def choices(count: int, seed: int = 6) -> list[dict]:
    """Random choices over everything that can be chosen, in an order that loads few layers at a time."""
    draw, config = random.Random(seed), embedded().config
    pairs = [(draw.choice(shipped()), draw.randint(1, config.L)) for _ in range(count // 5)]
    return [
        {
            "picture": picture,
            "layer": layer,
            "head": draw.randint(1, config.heads),
            "query": draw.choice([0, draw.randint(1, config.N)]),
            "show": draw.choice(["head", "head", "mean", "rollout"]),
            "direction": draw.choice(["reads", "read by"]),
            "scale": draw.choice(["heads", "layer", "map"]),
        }
        for picture, layer in pairs
        for _ in range(5)
    ]


def test_a_hundred_random_choices_show_pythons_numbers(served, visit):
    page = Page(visit, f"{served}/one.html")
    for choice in choices(100):
        expected = Expected(**choice)
        page.go(**choice)
        same(page.until(expected.title), expected)
    assert page.visit.troubles == []


def test_from_a_disk_and_over_http_alike(root, visit):
    page = Page(visit, f"{root}/one.html#picture=rocket&layer=4&head=2&query=100")
    expected = Expected("rocket", 4, 2, 100)
    same(page.until(expected.title), expected)
    assert page.visit.troubles == []


def test_in_the_dark_the_colours_are_the_dark_table(served, visit):
    page = Page(visit, f"{served}/one.html", theme="dark")
    expected = Expected("chelsea", 10, 5, 0)
    same(page.until(expected.title), expected, "dark")
    page.page.evaluate("document.documentElement.dataset.theme = 'light'")
    page.page.wait_for_timeout(100)
    same(page.state(), expected, "light")


@pytest.mark.parametrize("n, name", [(0, "7x7"), (1, "14x10"), (2, "24x24")])
def test_odd_models(served, visit, n, name):
    checkpoint = odd(name)
    config = checkpoint.config
    page = Page(visit, f"{served}/odd.html")
    page.page.wait_for_function(DRAWN, arg=2)
    for layer in range(1, config.L + 1):
        for direction in ("reads", "read by"):
            choice = dict(layer=layer, head=config.heads, query=config.N - 1, direction=direction)
            expected = Expected("hopper", **choice, checkpoint=checkpoint)
            page.go(picture="hopper", explorer=name, **choice)
            same(page.until(expected.title, n), expected)
    # what the model saw is where the page says it is
    box = catalogue_card("hopper", checkpoint)["box"]
    got = page.view(n).evaluate(PLACE)
    assert got == pytest.approx(box, abs=0.005)
    sliders = page.page.locator(".vbx-explorer:not(.vbx-first)").nth(n).get_by_role("slider")
    assert sliders.count() == 1 + (config.L > 1) + (config.heads > 1), "nothing to choose, no slider"
    assert page.visit.troubles == []


def test_a_difference_is_painted_around_zero(served, visit):
    page = Page(visit, f"{served}/one.html")
    page.view().get_by_role("button", name=re.compile("^Compare")).click()
    page.view().locator(".vbx-thumb").nth(2).click()
    one, other = Expected("chelsea", 10, 2, 0), Expected("chelsea", 10, 5, 0)
    page.until(one.title)
    page.page.wait_for_timeout(100)
    state = page.state()
    d = one.weights - other.weights
    np.testing.assert_array_equal(np.array(state["grid"]).reshape(-1, 4)[:, :3], paint_signed(d, np.abs(d).max()))
    most = int(np.argmax(np.abs(d)))
    step = one.step + other.step
    assert state["facts"]["Largest difference"] == f"{figure(d[most], step)} at {describe(most + 1, one.config)}"
    moved = (np.abs(d).sum() + abs(one.to_class - other.to_class)) / 2
    assert state["facts"]["Weight that moves"] == f"{100 * moved:.1f}% of each row"
    assert state["bar"] == [figure(-np.abs(d).max(), step), "0", figure(np.abs(d).max(), step)]
    # two pictures
    page.view().get_by_role("button", name="A cup of coffee and a spoon").click()
    coffee = Expected("coffee", 10, 2, 0)
    page.page.wait_for_function(
        "t => document.querySelector('.vbx-view').querySelector('figcaption').textContent.includes(t)", arg="coffee"
    )
    d = coffee.weights - other.weights
    page.page.wait_for_function("() => !document.querySelector('.vbx-view').classList.contains('vbx-waiting')")
    state = page.state()
    np.testing.assert_array_equal(np.array(state["grid"]).reshape(-1, 4)[:, :3], paint_signed(d, np.abs(d).max()))
    page.view().get_by_role("button", name="Stop comparing").click()
    page.page.wait_for_timeout(100)
    same(page.state(), coffee)


def test_every_weight_as_a_table(served, visit):
    page = Page(visit, f"{served}/one.html")
    page.view().locator("summary").click()
    expected = Expected("chelsea", 10, 5, 0)
    page.page.wait_for_selector(".vbx-table td")
    cells = page.view().evaluate("v => [...v.querySelectorAll('.vbx-table tbody td')].map(c => c.textContent)")
    assert cells == [figure(w, expected.step) for w in expected.weights]


# --- by mouse, keyboard and touch ---


def test_every_control_by_mouse(served, visit):
    page = Page(visit, f"{served}/one.html")
    page.more()
    page.view().get_by_role("button", name="A cup of coffee and a spoon").click()
    page.until(Expected("coffee", 10, 5, 0).title)
    page.page.get_by_label("Map").first.select_option(label="mean over heads")
    same(page.until(Expected("coffee", 10, 5, 0, "mean").title), Expected("coffee", 10, 5, 0, "mean"))
    page.page.get_by_label("Map").first.select_option(label="rollout (all layers so far)")
    same(page.until(Expected("coffee", 10, 5, 0, "rollout").title), Expected("coffee", 10, 5, 0, "rollout"))
    page.page.get_by_label("Map").first.select_option(label="one head")
    page.page.get_by_label("Direction").first.select_option(label="who reads the token")
    reverse = Expected("coffee", 10, 5, 0, direction="read by")
    same(page.until(reverse.title), reverse)
    page.page.get_by_label("Direction").first.select_option(label="what the token reads")
    page.until(Expected("coffee", 10, 5, 0).title)
    page.page.get_by_label("Colours").first.select_option(label="each map its own scale")
    page.page.wait_for_function("() => document.querySelector('.vbx-barwords').textContent.includes('own scale')")
    same(page.state(), Expected("coffee", 10, 5, 0, scale="map"))
    page.page.get_by_label("Colours").first.select_option(label="one scale for all heads")

    for name, trait in (("Layer", 1), ("Head", 1), ("Token", 0)):
        track = page.slider(name).locator("xpath=ancestor::*[contains(@class,'noUi-target')]").bounding_box()
        page.page.mouse.click(track["x"] + 1, track["y"] + track["height"] / 2)
        assert page.slider(name).get_attribute("aria-valuenow") == f"{trait}.0", name
    same(page.until(Expected("coffee", 1, 1, 0).title), Expected("coffee", 1, 1, 0))

    overlay = page.slider("Darkness").locator("xpath=ancestor::*[contains(@class,'noUi-target')]").bounding_box()
    page.page.mouse.click(overlay["x"] + 1, overlay["y"] + overlay["height"] / 2)
    opacity = "() => getComputedStyle(document.querySelector('.vbx-photo .vbx-cells')).opacity"
    page.page.wait_for_function(f"{opacity.removeprefix('() => ')} === '0'")
    page.page.get_by_label("Smooth between patches").first.check()
    page.page.wait_for_function("() => document.querySelector('.vbx-barwords').textContent.includes('invented')")
    rendering = "() => getComputedStyle(document.querySelector('.vbx-grid .vbx-cells')).imageRendering"
    assert page.page.evaluate(rendering) == "auto"
    page.page.get_by_label("Smooth between patches").first.uncheck()
    page.page.wait_for_timeout(50)
    assert page.page.evaluate(rendering) == "pixelated"

    frame = page.view().locator(".vbx-photo").first
    box = frame.bounding_box()
    frame.click(position={"x": box["width"] * 3.5 / 14, "y": box["height"] * 2.5 / 14})  # row 2, column 3
    same(page.until(Expected("coffee", 1, 1, 2 * 14 + 3 + 1).title), Expected("coffee", 1, 1, 2 * 14 + 3 + 1))
    page.view().get_by_role("button", name="Read from [class], token 0").click()
    page.until(Expected("coffee", 1, 1, 0).title)

    grid = page.view().locator(".vbx-grid").bounding_box()
    page.page.mouse.move(grid["x"] + grid["width"] * 6.5 / 14, grid["y"] + grid["height"] * 9.5 / 14)
    token, expected = 9 * 14 + 6 + 1, Expected("coffee", 1, 1, 0)
    weight = expected.weights[token - 1]
    assert page.state()["facts"]["Pointed at"] == (
        f"token {token} → patch {token - 1} → row 9, column 6: {figure(weight, expected.step)}, "
        f"{weight * 197:.2f} times an even share"
    )
    page.view().get_by_role("button", name="Point at [class]").click()
    assert page.state()["facts"]["Pointed at"] == f"token 0 = [class]: {expected.to_class:.4f}"

    page.view().locator(".vbx-thumb").nth(4).click()
    same(page.until(Expected("coffee", 1, 4, 0).title), Expected("coffee", 1, 4, 0))
    page.view().locator(".vbx-thumb").nth(0).click()
    page.until(Expected("coffee", 1, 4, 0, "mean").title)
    page.view().locator(".vbx-thumb").nth(6).click()
    page.view().get_by_role("button", name="All 12 layers and 6 heads at a glance").click()
    page.page.wait_for_function(ATLAS)
    page.view().locator(".vbx-atlas .vbx-thumb").nth(7 * 7 + 6).click()
    same(page.until(Expected("coffee", 8, 6, 0).title), Expected("coffee", 8, 6, 0))
    assert page.state()["chosen"] == ["6"]
    page.page.keyboard.press("ArrowUp")
    page.until(Expected("coffee", 7, 6, 0).title)
    assert (
        page.page.evaluate(
            "() => [...document.querySelectorAll('.vbx-atlas .vbx-thumb')].indexOf(document.activeElement)"
        )
        == 48
    )
    page.page.keyboard.press("ArrowDown")
    page.until(Expected("coffee", 8, 6, 0).title)
    assert page.visit.troubles == []


def test_the_strips_show_the_maps_that_they_name(served, visit):
    page = Page(visit, f"{served}/one.html#query=77")
    page.until(Expected("chelsea", 10, 5, 77).title)
    page.view().get_by_role("button", name=re.compile("at a glance")).click()
    page.page.wait_for_function(ATLAS)
    strips = page.view().evaluate(
        """v => ['.vbx-strip', '.vbx-atlas'].map(s => [...v.querySelector(s).querySelectorAll('canvas')].map(c =>
             [...c.getContext('2d').getImageData(0, 0, 14, 14).data]))"""
    )
    heads = [Expected("chelsea", 10, max(h, 1), 77, "head" if h else "mean") for h in range(7)]
    layers = [
        Expected("chelsea", l, max(h, 1), 77, "head" if h else "mean", scale="map")
        for l in range(1, 13)
        for h in range(7)
    ]
    for got, expected in zip(strips[0], heads, strict=True):
        np.testing.assert_array_equal(np.array(got).reshape(-1, 4)[:, :3], expected.cells())
    for got, expected in zip(strips[1], layers, strict=True):
        np.testing.assert_array_equal(np.array(got).reshape(-1, 4)[:, :3], expected.cells())


def test_every_control_by_keyboard(served, visit):
    page = Page(visit, f"{served}/one.html")
    press = page.page.keyboard.press
    page.slider("Layer").focus()
    reached = []
    for _ in range(50):
        reached.append(
            page.page.evaluate("""() => { const e = document.activeElement;
          return e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent.trim().slice(0, 40); }""")
        )
        press("Tab")
        if not page.page.evaluate("() => Boolean(document.activeElement.closest('.vbx-explorer'))"):
            break
    names = " | ".join(reached)
    for wanted in ("Your picture", "A cup of coffee", "Layer", "Head", "Token", "More choices", 
                   "Read from [class]", "Arrow keys choose", "Point at [class]",
                   "Arrow keys point", "Mean of all heads", "Head 6", "All 12 layers", "Compare", "Copy a link", "table"):  # fmt: skip
        assert wanted in names, f"{wanted} is not reached by Tab: {names}"

    page.slider("Layer").focus()
    press("ArrowLeft")
    page.until(Expected("chelsea", 9, 5, 0).title)
    page.slider("Head").focus()
    press("ArrowRight")
    page.until(Expected("chelsea", 9, 6, 0).title)
    page.slider("Token").focus()
    press("End")
    same(page.until(Expected("chelsea", 9, 6, 196).title), Expected("chelsea", 9, 6, 196))

    page.view().locator(".vbx-photo").first.focus()
    outline = page.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "the focus is seen"
    for key, token in (("ArrowUp", 182), ("ArrowLeft", 181), ("Home", 169), ("End", 182), ("ArrowRight", 182), ("c", 0),
                       ("ArrowUp", 0), ("ArrowDown", 1), ("ArrowUp", 0), ("End", 196), ("ArrowDown", 196)):  # fmt: skip
        press(key)
        page.until(Expected("chelsea", 9, 6, token).title)
    page.view().locator(".vbx-grid").focus()
    press("ArrowUp")
    assert page.state()["facts"]["Pointed at"].startswith("token 182 → patch 181 → row 12, column 13")
    press("Enter")
    page.until(Expected("chelsea", 9, 6, 182).title)
    press("Escape")
    assert page.state()["facts"]["Pointed at"].startswith("nothing")

    page.page.get_by_role("button", name="More choices").focus()
    press("Enter")
    page.page.get_by_label("Map").first.focus()
    press("ArrowDown")
    page.until(Expected("chelsea", 9, 6, 182, "mean").title)
    page.view().locator(".vbx-thumb").nth(3).focus()
    press("Space")
    same(page.until(Expected("chelsea", 9, 3, 182).title), Expected("chelsea", 9, 3, 182))
    assert page.visit.troubles == []


def test_by_touch_on_a_phone(served, visit):
    page = Page(visit, f"{served}/one.html", width=375, height=800)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 375
    frame = page.view().locator(".vbx-photo").first
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    frame.tap(position={"x": box["width"] * 5.5 / 14, "y": box["height"] * 6.5 / 14})
    token = 6 * 14 + 5 + 1
    same(page.until(Expected("chelsea", 10, 5, token).title), Expected("chelsea", 10, 5, token))
    grid = page.view().locator(".vbx-grid")
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    grid.tap(position={"x": box["width"] * 0.5 / 14, "y": box["height"] * 1.5 / 14})
    assert page.state()["facts"]["Pointed at"].startswith("token 15 → patch 14 → row 1, column 0")
    page.view().locator(".vbx-thumb").nth(2).tap()
    page.until(Expected("chelsea", 10, 2, token).title)
    page.view().get_by_role("button", name="Read from [class], token 0").tap()
    page.until(Expected("chelsea", 10, 2, 0).title)
    small = page.page.evaluate("""() => [...document.querySelectorAll('.vbx-view button, .vbx-controls button, .vbx-controls select')]
      .map(e => e.getBoundingClientRect()).filter(r => r.width > 0 && (r.height < 40 || r.width < 40)).length""")
    assert small == 0, "a finger finds every button"


# --- links, several explorers, what is loaded when ---


def test_a_link_opens_what_it_names(root, visit):
    page = Page(visit, f"{root}/one.html#picture=astronaut&layer=12&head=3&query=cls")
    same(page.until(Expected("astronaut", 12, 3, 0).title), Expected("astronaut", 12, 3, 0))
    page.page.wait_for_timeout(300)
    assert page.page.evaluate("document.querySelector('.vbx-explorer').getBoundingClientRect().top < innerHeight")
    assert page.slider("Layer").get_attribute("aria-valuenow") == "12.0", "the controls follow"
    assert page.visit.troubles == []


def test_a_link_to_a_map_far_down_is_followed_at_once(served, explorers, visit):
    page = visit.blank(width=1280, height=720)
    body = (
        (explorers / "one.html").read_text(encoding="utf-8").replace("<h1>", '<div style="height:4000px"></div><h1>', 1)
    )
    page.route("**/one.html", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(f"{served}/one.html#picture=rocket&layer=2&head=3&query=cls")
    page.wait_for_selector(".vbx-view[data-drawn]", state="attached", timeout=15000)
    page.wait_for_function(
        "() => document.querySelector('.vbx-view .vbx-title').textContent.startsWith('Layer 2, head 3')"
    )
    page.wait_for_function(
        "() => Math.abs(document.querySelector('.vbx-explorer').getBoundingClientRect().top) < innerHeight"
    )


def test_a_link_in_the_text_works_as_often_as_it_is_clicked(served, visit):
    page = Page(visit, f"{served}/one.html")
    page.page.evaluate(
        "() => { const a = document.createElement('a'); a.href = '#layer=2&head=6&query=30&show=head'; a.textContent = 'there';"
        " document.querySelector('.vbx-explorer').after(a); }"
    )
    for _ in range(2):
        page.page.get_by_role("link", name="there").click()
        page.until(Expected("chelsea", 2, 6, 30).title)
        page.view().locator(".vbx-thumb").nth(1).click()
        page.until(Expected("chelsea", 2, 1, 30).title)
    assert page.visit.troubles == []


def test_a_shared_scale_says_who_sets_its_top(served, visit):
    page = Page(visit, f"{served}/one.html#layer=1&head=1")
    page.until(Expected("chelsea", 1, 1, 0).title)
    tops = [Expected("chelsea", 1, h, 0).own for h in range(1, 7)]
    assert f"; head {1 + int(np.argmax(tops))} sets its top; " in page.state()["words"]
    page.go(head=1 + int(np.argmax(tops)))
    page.until(Expected("chelsea", 1, 1 + int(np.argmax(tops)), 0).title)
    assert "sets its top" not in page.state()["words"]


def test_a_link_out_of_range_goes_to_the_nearest(served, visit):
    page = Page(visit, f"{served}/one.html#picture=nobody&layer=99&head=0&query=9999&show=everything")
    page.until(Expected("chelsea", 12, 1, 196).title)
    assert page.visit.troubles == []


def test_a_copied_link_leads_back(served, visit):
    page = Page(visit, f"{served}/one.html#picture=coffee&layer=2&head=4&query=50&direction=read+by&scale=map")
    expected = Expected("coffee", 2, 4, 50, direction="read by", scale="map")
    page.until(expected.title)
    page.page.evaluate("history.replaceState(null, '', location.pathname)")
    page.view().get_by_role("button", name="Copy a link").click()
    page.page.wait_for_function("() => location.hash.includes('layer')")
    again = Page(visit, page.page.evaluate("location.href"))
    same(again.until(expected.title), expected)


def test_two_explorers_keep_apart(served, visit):
    page = Page(visit, f"{served}/two.html#explorer=second&layer=5&head=2&query=cls")
    page.until(Expected("coffee", 5, 2, 0, direction="reads").title, 1)
    assert page.state(0)["title"] == Expected("chelsea", 12, 1, 0).title
    page.view(0).locator(".vbx-thumb").nth(3).click()
    page.until(Expected("chelsea", 12, 3, 0).title, 0)
    assert page.state(1)["title"] == Expected("coffee", 5, 2, 0).title
    same(page.state(1), Expected("coffee", 5, 2, 0))


def test_two_explorers_load_a_layer_once(served, visit):
    page = Page(visit, f"{served}/two.html")
    asked = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.evaluate("location.hash = 'picture=rocket&layer=3&query=4'")
    page.until(Expected("rocket", 3, 1, 4).title, 0)
    page.page.evaluate("location.hash = 'explorer=second&picture=rocket&layer=3&query=4'")
    page.until(Expected("rocket", 3, 6, 4).title, 1)
    assert len([url for url in asked if url.endswith("/3.js")]) == 1


def test_nothing_is_loaded_before_it_is_needed(served, visit):
    page = Page(visit, f"{served}/one.html")
    asked = page.page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    assert not [url for url in asked if "/attn/" in url and url.endswith(".js")], "the first map is on the page"
    same(page.until(Expected("chelsea", 10, 5, 0).title), Expected("chelsea", 10, 5, 0))
    page.view().hover()
    page.page.wait_for_function("() => performance.getEntriesByType('resource').some(e => e.name.endsWith('/10.js'))")
    asked = page.page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    assert len([url for url in asked if "/attn/" in url and url.endswith(".js")]) == 1


def test_weights_of_pages_and_files(explorers):
    assert (explorers / "one.html").stat().st_size < 300_000
    attn = explorers.parent / "_static" / "attn" / fingerprint(embedded())
    assert max(f.stat().st_size for f in attn.rglob("*") if f.is_file()) < 1_000_000
    assert len(list(attn.iterdir())) >= 6


def test_the_first_state_needs_no_script(served, visit):
    page = visit.blank(width=1280, height=720, java_script_enabled=False)
    page.goto(f"{served}/one.html")
    first = page.locator(".vbx-first")
    assert first.is_visible() and first.locator(".vbx-photo img").first.is_visible()
    expected = Expected("chelsea", 10, 5, 0)
    words = first.inner_text()
    assert f"[class] gets {expected.to_class:.3f}" in words and f"{expected.own:.4f}" in words


def test_the_first_state_makes_way(served, visit):
    page = Page(visit, f"{served}/two.html")
    assert page.page.locator(".vbx-first").count() == 0


def test_a_missing_file_is_said_and_tried_again(served, visit):
    page = Page(visit, f"{served}/one.html")
    page.page.route("**/attn/**/7.js", lambda route: route.fulfill(status=404))
    page.go(layer=7)
    page.page.wait_for_selector(".vbx-problem:not([hidden])")
    assert "make book" in page.state()["problem"]
    assert page.state()["title"] == Expected("chelsea", 10, 5, 0).title, "what was shown stays"
    page.page.unroute("**/attn/**/7.js")
    page.go(layer=7, head=2)
    expected = Expected("chelsea", 7, 2, 0)
    same(page.until(expected.title), expected)
    assert page.state()["problem"] == ""


def test_a_damaged_file_is_said(served, visit):
    page = Page(visit, f"{served}/one.html")
    page.page.route(
        "**/attn/**/6.js", lambda route: route.fulfill(body="vitbookAtlas.tak", content_type="text/javascript")
    )
    page.go(layer=6)
    page.page.wait_for_selector(".vbx-problem:not([hidden])")
    assert "damaged" in page.state()["problem"]


# --- for everyone ---

OPEN_ALL = """() => {
  const names = ['.vbx-more-button', '.vbx-view summary', '.vbx-view > .vbx-tools button', '.vbx-own'];
  for (const name of names) document.querySelector(name).click();
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_axe_finds_nothing_in_an_explorer_with_everything_open(served, visit, theme, width):
    from test_browser import RULES, STICKS_OUT, violations

    page, rules = Page(visit, f"{served}/one.html", theme=theme, width=width), RULES if theme == "light" else []
    assert violations(page.page, rules) == []
    page.page.evaluate(OPEN_ALL)
    page.page.wait_for_function(ATLAS)
    page.view().get_by_role("button", name=re.compile("^Compare")).click()
    page.view().locator(".vbx-thumb").nth(1).click()
    page.page.wait_for_timeout(200)
    assert violations(page.page, rules) == []
    assert page.page.evaluate(STICKS_OUT) == []


def test_the_live_region_waits_for_a_pause(served, visit):
    page = Page(visit, f"{served}/one.html")
    page.page.wait_for_timeout(900)
    page.page.evaluate("""() => { window.said = []; const live = document.querySelector('.vbx-live');
      const hear = new MutationObserver(() => window.said.push(live.textContent));
      hear.observe(live, {childList: true, characterData: true, subtree: true}); }""")
    page.view().locator(".vbx-photo").first.focus()
    for _ in range(25):
        page.page.keyboard.press("ArrowDown")
    page.page.wait_for_timeout(1500)
    said = page.page.evaluate("window.said")
    assert 1 <= len(said) <= 2 and said[-1].startswith(page.state()["title"])


def test_readers_who_want_no_motion_get_none(served, visit):
    page = Page(visit, f"{served}/one.html", reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll('.vbx-explorer *')].filter(e => {
      const s = getComputedStyle(e);
      return parseFloat(s.transitionDuration) > 0.001 || (s.animationName !== 'none' && parseFloat(s.animationDuration) > 0.001);
    }).length"""
    assert page.page.evaluate(moving) == 0


# --- the pickers ---

PICKED = """n => {
  const view = document.querySelectorAll('.vbx-view')[n], canvas = view.querySelector('figure:last-child canvas');
  const cells = [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data];
  const words = [...view.querySelectorAll('.vbx-facts div')].map(d => [...d.children].map(c => c.textContent));
  return {cells, facts: Object.fromEntries(words)};
}"""


def test_the_patch_picker_shows_the_numbers_of_x_p(served, visit):
    page = Page(visit, f"{served}/pick.html")
    config, x = embedded().config, preprocess("chelsea", embedded())
    frame = page.view(0).locator(".vbx-photo")
    for move, patch in ((None, 17), ("ArrowRight", 18), ("ArrowDown", 32), ("Home", 28)):
        if move:
            frame.press(move)
        picked = page.page.evaluate(PICKED, 0)
        row, column = divmod(patch, config.columns)
        block = x[:, row * 14 : row * 14 + 14, column * 14 : column * 14 + 14]
        assert picked["facts"]["Chosen"] == f"patch {patch} → token {patch + 1} → row {row}, column {column}"
        assert picked["facts"]["Its pixels"] == f"x[:, {row * 14}:{row * 14 + 14}, {column * 14}:{column * 14 + 14}]"
        x_p = cut(x, config.P)[patch]
        for c, name in enumerate(("red", "green", "blue")):
            start = c * config.P**2
            said = "  ".join(f"{v:.3f}".replace("-", "−") for v in x_p[start : start + 4].tolist())
            assert picked["facts"][f"{name}, from {start}"] == f"{said} …"
        pixels = unnormalise(x, embedded().preprocessing)[row * 14 : row * 14 + 14, column * 14 : column * 14 + 14]
        np.testing.assert_array_equal(np.array(picked["cells"]).reshape(14, 14, 4)[..., :3], pixels)
        assert block.shape == (3, 14, 14)
    assert page.visit.troubles == []


def test_the_position_picker_shows_the_cosines(served, visit):
    page = Page(visit, f"{served}/pick.html")
    config = embedded().config
    similarity = position_similarity(embedded().weights.E_pos, config).flatten(1).double().numpy()
    np.fill_diagonal(similarity, 0)
    top = np.abs(similarity).max()
    frame = page.view(1).locator(".vbx-grid").first
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    frame.click(position={"x": box["width"] * 2.5 / 14, "y": box["height"] * 3.5 / 14})
    patch = 3 * 14 + 2
    picked = page.page.evaluate(PICKED, 1)
    stored = (np.rint(127 * (1 + similarity[patch] / top)) / 127 - 1) * top
    assert np.abs(stored - similarity[patch]).max() <= top / 254 + 1e-9
    np.testing.assert_array_equal(np.array(picked["cells"]).reshape(-1, 4)[:, :3], paint_signed(stored, top))
    most = int(np.argmax(stored))
    assert picked["facts"]["Most alike"].startswith(f"{describe(most + 1, config)}: {figure(stored[most], top / 254)}")


def test_axe_finds_nothing_in_the_pickers(served, visit):
    from test_browser import RULES, STICKS_OUT, violations

    for rules, options in ((RULES, dict(theme="light")), ([], dict(theme="dark")), (RULES, dict(width=375))):
        page = Page(visit, f"{served}/pick.html", **options)
        assert violations(page.page, rules) == []
        assert page.page.evaluate(STICKS_OUT) == []


# --- how fast: reported, never asserted ---

TIMED = """async (keys) => {
  const frame = document.querySelector('.vbx-photo'), title = document.querySelector('.vbx-title');
  const out = {drawn: [], painted: []};
  frame.focus();
  for (let i = 0; i < keys; i++) {
    await new Promise(r => requestAnimationFrame(r));
    const before = title.textContent, start = performance.now();
    frame.dispatchEvent(new KeyboardEvent('keydown', {key: i % 2 ? 'ArrowLeft' : 'ArrowRight', bubbles: true, cancelable: true}));
    await Promise.resolve();
    out.drawn.push(performance.now() - start);
    if (title.textContent === before) throw new Error(`key ${i} drew nothing`);
    const {port1, port2} = new MessageChannel();
    await new Promise(r => requestAnimationFrame(() => { port1.onmessage = r; port2.postMessage(0); }));
    out.painted.push(performance.now() - start);
  }
  return out;
}"""


def test_how_fast_is_a_key(served, visit, record_property, capsys):
    page = Page(visit, f"{served}/one.html")
    page.view().hover()
    page.go(query=100)
    page.until(Expected("chelsea", 10, 5, 100).title)
    took = page.page.evaluate(TIMED, 100)
    medians = {name: sorted(times)[len(times) // 2] for name, times in took.items()}
    record_property("key press to pixels, ms", json.dumps(medians))
    with capsys.disabled():
        print(
            f"\n  key press -> drawn {medians['drawn']:.1f} ms, -> next frame {medians['painted']:.1f} ms (medians of 100)"
        )
