"""The widget for one query: what the page works out is what the model works out, within the rounding of what it carries."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image
from test_browser import STICKS_OUT, violations
from test_pencil_widget import MODEL
from tiny import ODD, checkpoint_of, random_weights

from vitbook.attention import scores
from vitbook.figures.palette import colour
from vitbook.model import run
from vitbook.pixels import preprocess, seen
from vitbook.widgets.query.widget import LEVELS, one_query, pack

LAYER, HEAD, QUERY = 2, 1, 6
PICTURE = Image.fromarray(np.random.default_rng(3).integers(0, 255, (30, 40, 3), np.uint8))


@pytest.fixture(scope="module")
def checkpoint():
    return checkpoint_of(random_weights().to(torch.float32))


@pytest.fixture
def widget(checkpoint):
    return one_query(PICTURE, checkpoint, LAYER, HEAD, QUERY)


@pytest.fixture
def opened(visit, tmp_path):
    """A function that opens a page from disk with one widget in it, no kernel and no widget manager."""

    def coded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    def open_page(widget, width=760, theme="light"):
        state = {name: getattr(widget, name) for name in ("data", "picture", "query", "divisor")}
        held = {name: coded(getattr(widget, name)) for name in ("numbers", "tables")}
        (tmp_path / "page.html").write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Query</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{widget._css}'
            f"html{{background:{colour('ground', theme)};color:{colour('text', theme)}}}</style>"
            f'<body style="margin:12px"><main><h1 style="font-size:18px">Query</h1><div id="here"></div></main>'
            f"<script>const state = {json.dumps(state)};{MODEL}"
            f"for (const [name, text] of Object.entries({json.dumps(held)}))"
            "  state[name] = new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);"
            "</script><script type=module>"
            f'window.made = await import("data:text/javascript;base64,{coded(widget._esm.encode())}");'
            "window.close_widget = made.default.render({ model, el: document.getElementById('here') });</script></body></html>",
            encoding="utf-8",
        )
        seen_page = visit((tmp_path / "page.html").as_uri(), width=width, theme=theme, height=1000)
        seen_page.page.wait_for_selector("[data-drawn]")
        assert seen_page.troubles == []
        return seen_page.page

    return open_page


# ---------------------------------------------------------------------------------------------------- Python's side


def test_numbers_are_stored_to_half_a_step():
    for numbers in (torch.randn(7, 5, dtype=torch.float64), torch.zeros(2, 3), torch.tensor([[-4.0, 1.0]])):
        data, top = pack(numbers)
        stored = np.frombuffer(data, "<i2").reshape(numbers.shape) / LEVELS * top
        assert np.abs(stored - numbers.numpy()).max() <= top / LEVELS / 2 * (1 + 1e-9)


def test_it_carries_the_head_and_the_pixels_that_the_model_sees(widget, checkpoint):
    png = base64.b64decode(widget.picture.split(",")[1])
    assert np.array_equal(Image.open(io.BytesIO(png)), seen(PICTURE, checkpoint))
    assert len(widget.numbers) == 3 * (ODD.N + 1) * ODD.D_h * 2
    assert widget.query == QUERY and widget.divisor == ODD.D_h**0.5
    trace = run(checkpoint, preprocess(PICTURE, checkpoint))
    assert one_query(PICTURE, checkpoint, LAYER, HEAD, QUERY, trace).numbers == widget.numbers


@pytest.mark.parametrize(
    "name, value, says", [("query", ODD.N + 1, "0 to"), ("divisor", 0.5, "from 1"), ("divisor", 1e6, "from 1")]
)
def test_what_is_not_there_is_refused(widget, name, value, says):
    with pytest.raises(traitlets.TraitError, match=says):
        setattr(widget, name, value)


@pytest.mark.parametrize("where", [(0, 1, 1), (1, ODD.heads + 1, 1), (1, 1, ODD.N + 1)])
def test_no_such_layer_head_or_token(checkpoint, where):
    with pytest.raises(ValueError, match="must be"):
        one_query(PICTURE, checkpoint, *where)
    with pytest.raises(ValueError, match="load_checkpoint"):
        one_query(PICTURE, "embedded", 1, 1, 1)


# ------------------------------------------------------------------------------------------------------- the page's

FOUND = """([query, divisor]) => {
  const head = made.unpacked(made.bytesOf(state.numbers), state.data);
  const found = made.oneQuery(head, query, divisor);
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, value.length ? [...value] : value]));
}"""
TABLE = """() => [...document.querySelectorAll('.vbq-table tbody tr')].map(
  line => [...line.children].map(cell => cell.textContent))"""
BLEND = """() => { const canvas = document.querySelector('.vbq-blend');
  return [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data]; }"""


def off_by(q, k, tops) -> np.ndarray:
    """How far a score can be off: every number of q and k by half of its step, times what it is multiplied with."""
    half = [top / LEVELS / 2 for top in tops]
    return half[1] * q.abs().sum() + half[0] * k.abs().sum(-1) + q.shape[-1] * half[0] * half[1]


@pytest.mark.browser
def test_the_page_computes_what_the_model_computes(opened, widget, checkpoint):
    page = opened(widget)
    trace = run(checkpoint, preprocess(PICTURE, checkpoint))
    q, k, v = (letter[LAYER - 1][HEAD - 1].double() for letter in (trace.q, trace.k, trace.v))
    for query in range(ODD.N + 1):
        for divisor in (1.0, ODD.D_h**0.5, float(ODD.D_h)):
            found = page.evaluate(FOUND, [query, divisor])
            true = scores(q[query : query + 1], k)[0] * ODD.D_h**0.5
            error = off_by(q[query], k, widget.data["tops"])
            assert (np.abs(np.array(found["scores"]) - true.numpy()) <= error.numpy() + 1e-9).all()
            weights = torch.softmax(true / divisor, -1)
            # scores that are off by at most e change each weight by a factor of at most exp(2 e)
            factor = float(torch.exp(2 * error.max() / divisor)) - 1 + 1e-9
            assert (np.abs(np.array(found["weights"]) - weights.numpy()) <= factor * weights.numpy()).all()
            largest = v.abs().max().item()
            assert (
                np.abs(np.array(found["message"]) - (weights @ v).numpy()).max() <= factor * largest + largest / LEVELS
            )
            assert found["total"] == pytest.approx(sum(found["powers"])) and max(found["powers"]) == 1


@pytest.mark.browser
def test_a_query_moved_by_every_means_and_divided_by_every_means(opened, widget, checkpoint):
    page = opened(widget)
    frame, root = page.locator(".vbx-photo"), ODD.D_h**0.5
    weights = run(checkpoint, preprocess(PICTURE, checkpoint)).attention(LAYER, HEAD)

    def agrees(query):
        """The table shows this query's largest weights to their last digit, which rounding may have moved by one."""
        assert page.evaluate("state.query") == query
        lines, row = page.evaluate(TABLE), weights[query].sort(descending=True).values
        shown = [float(line[-1].replace("< ", "")) for line in lines]
        assert np.abs(np.array(shown[:-2]) - row[: len(shown) - 2].numpy()).max() <= 0.0011
        assert lines[-1][0] == f"all {ODD.N + 1}" and shown[-1] == 1
        assert sum("itself" in line[0] for line in lines) <= 1
        mark = page.evaluate("() => document.querySelector('.vbx-photo .vbx-asked').hidden")
        assert mark == (query == 0)

    agrees(QUERY)
    for key, query in (("ArrowRight", 7), ("ArrowDown", 11), ("Home", 9), ("c", 0), ("ArrowDown", 1)):
        frame.press(key)
        agrees(query)
    box = frame.bounding_box()
    cell = (box["width"] / ODD.columns, box["height"] / ODD.rows)
    page.mouse.move(box["x"] + 0.5 * cell[0], box["y"] + 0.5 * cell[1])
    page.mouse.down()
    page.mouse.move(box["x"] + 2.5 * cell[0], box["y"] + 1.5 * cell[1], steps=4)
    agrees(ODD.columns + 3)
    page.mouse.move(box["x"] - 50, box["y"] - 50)
    agrees(ODD.columns + 3)
    page.mouse.up()
    page.mouse.move(box["x"] + 0.5 * cell[0], box["y"] + 0.5 * cell[1])
    agrees(ODD.columns + 3)
    page.get_by_role("button", name="[class] asks").click()
    agrees(0)

    page.get_by_role("button", name="no division").click()
    assert page.evaluate("state.divisor") == 1
    assert "÷ 1" in page.locator(".vbq-table").inner_text()
    slider = page.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == "not divided"
    slider.press("End")
    assert page.evaluate("state.divisor") == pytest.approx(max(ODD.D_h, 2))
    page.get_by_role("button", name="the root").click()
    assert page.evaluate("state.divisor") == root and "as in the model" in slider.get_attribute("aria-valuetext")
    assert page.evaluate("model.saves") > 5
    page.wait_for_function("document.querySelector('[aria-live]').textContent.includes('[class] reads')")

    # the stand-in: the pixels of the patches, averaged by the weights of this query
    pixels = np.asarray(seen(PICTURE, checkpoint), float).reshape(ODD.rows, ODD.P, ODD.columns, ODD.P, 3)
    patches = pixels.transpose(0, 2, 1, 3, 4).reshape(ODD.N, -1)
    share = weights[0, 1:].double().numpy()
    blend = np.array(page.evaluate(BLEND)).reshape(-1, 4)
    assert np.abs(blend[:, :3].reshape(-1) - share / share.sum() @ patches).max() <= 1 and (blend[:, 3] == 255).all()

    page.evaluate("() => { model.set('query', 2); close_widget(); }")
    agrees(2)
    assert page.evaluate("listeners()") == 0


@pytest.mark.browser
@pytest.mark.parametrize("theme, width", [("light", 760), ("dark", 375), ("light", 320)])
def test_it_fits_its_page_and_axe_finds_nothing(opened, widget, theme, width):
    page = opened(widget, width=width, theme=theme)
    assert violations(page) == [] and page.evaluate(STICKS_OUT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if width < 400:
        heights = page.eval_on_selector_all(
            ".vbq :is(button, input)", "all => all.map(e => e.getBoundingClientRect().height)"
        )
        assert min(heights) >= 44
    sizes = page.eval_on_selector_all(".vbq *", "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))")
    assert min(sizes) >= 11
