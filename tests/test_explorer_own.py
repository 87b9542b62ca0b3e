"""The reader's own picture in the explorer: the model runs in the page, and what is seen and saved are Python's numbers."""

from __future__ import annotations

import base64
import csv
import io
import json
from functools import cache
from pathlib import Path

import javascript
import numpy as np
import pytest
import torch
from edited import edited_run
from PIL import Image
from test_browser import STICKS_OUT, violations
from test_explorer_browser import STATE
from test_pencil_widget import MODEL
from tiny import ODD, checkpoint_of, random_weights

from bookbuild.pages import policy
from vitbook.figures.attention import lit
from vitbook.figures.palette import colour
from vitbook.model import run
from vitbook.patches import describe
from vitbook.pixels import preprocess
from vitbook.widgets import kit
from vitbook.widgets.engine import packing
from vitbook.widgets.explorer.atlas import write_atlas
from vitbook.widgets.explorer.packing import layer_stack
from vitbook.widgets.explorer.widget import AttentionExplorer

pytestmark = pytest.mark.browser

TESTED = "section[aria-label='Your picture'] .vbx-tested"


@cache
def tiny():
    return checkpoint_of(random_weights().to(torch.float32))


def write_page(
    folder: Path, checkpoint, theme="light", content_root='data-content_root="./"', model=True, **first
) -> Path:
    """A page of a book with one explorer's view in it, no widget manager, under the policy of the book's pages."""
    explorer = AttentionExplorer(checkpoint, **first)
    explorer._put_first()
    view = explorer._view
    state = {name: value for name in view.trait_names(sync=True) if not isinstance(value := getattr(view, name), bytes)}
    state = {
        name: value
        for name, value in state.items()
        if not name.startswith("_") and name not in ("layout", "tabbable", "tooltip")
    }
    binary = {name: base64.b64encode(getattr(view, name)).decode() for name in ("tables", "first_rows")}
    (folder / "page.js").write_text(
        f"const state = {json.dumps(state)};{MODEL}"
        f"for (const [name, text] of Object.entries({json.dumps(binary)}))"
        " state[name] = new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);"
        f"{kit.classic(view._esm).replace('export default', 'window.made =')}"
        "const begin = () => (window.closeView = made.render({ model, el: document.getElementById('here') }));"
        "addEventListener('DOMContentLoaded', begin);",
        encoding="utf-8",
    )
    (folder / "page.html").write_text(
        f'<!doctype html><html lang="en" data-theme="{theme}" {content_root}><meta charset="utf-8"><title>Model</title>'
        '<link rel="icon" href="data:,">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{view._css}'
        f"html{{background:{colour('ground', theme)};color:{colour('text', theme)}}}</style>"
        '<body style="margin:12px"><main><h1 style="font-size:18px">Model</h1>'
        '<div class="vb-widget vbx-explorer"><div id="here"></div></div></main><script src="page.js"></script></body></html>',
        encoding="utf-8",
    )
    write_atlas(checkpoint, ["chelsea", "rocket"], folder / "_static" / "attn", say=lambda line: None)
    if model:
        packing.write_model(checkpoint, folder / "_static" / "model")
    explorer.close()
    return folder / "page.html"


def picture_file(size=(90, 61), seed=2) -> bytes:
    width, height = size
    ramp = np.linspace(0, 255, width * height * 3).reshape(height, width, 3)
    pixels = (ramp + np.random.default_rng(seed).normal(0, 50, ramp.shape)).clip(0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(out := io.BytesIO(), "PNG")
    return out.getvalue()


def give(page, *files: tuple[str, bytes]) -> None:
    page.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": "image/png", "buffer": data} for name, data in files]
    )


def until(page, caption: str, title: str = "") -> dict:
    """The state once this picture (and this map) is drawn."""
    page.wait_for_function(
        """([caption, title]) => { const view = document.querySelector('.vbx-view');
          return view.querySelector('figcaption').textContent.startsWith(caption) && !view.classList.contains('vbx-waiting')
            && view.querySelector('.vbx-title').textContent.startsWith(title); }""",
        arg=[caption, title],
    )
    return page.evaluate(STATE, 0)


def choose(page, **choice) -> None:
    page.evaluate("(choice) => Object.entries(choice).forEach(([name, value]) => model.set(name, value))", choice)


def load(page) -> None:
    page.get_by_role("button", name="Your picture").click()
    page.get_by_role("button", name="Load the model").click()
    page.wait_for_selector(f"{TESTED}:not([hidden])")


def numbers(page, button="Save its numbers") -> np.ndarray:
    """What a click on "Save its numbers" writes: a weight a token."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [int(row["token"]) for row in rows] == list(range(len(rows)))
    places = [(int(row["row"]), int(row["column"])) for row in rows[1:]]
    assert places == [divmod(n, tiny().config.columns) for n in range(len(rows) - 1)]
    return np.array([float(row["weight"]) for row in rows])


@pytest.mark.parametrize("where", ["served", "disk"])
def test_all_that_the_explorer_does_works_on_a_picture_of_ones_own(visit, serve, tmp_path, where):
    path = write_page(tmp_path, tiny(), layer=2, head=2)
    page = visit.blank(760, 900, first_time=True)
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(path.as_uri() if where == "disk" else f"{serve(tmp_path)}/page.html")
    page.get_by_role("button", name="Your picture").click()
    size = f"{packing.size_of_files(tiny()) / 1e6:.0f} MB"
    assert (
        size in page.locator(".vbx-loadwords").inner_text()
        and page.get_by_role("button", name=f"({size})").is_visible()
    )
    assert not [url for url in asked if "/model/" in url], "nothing before the reader asks"
    page.get_by_role("button", name="Load the model").click()
    page.wait_for_selector(f"{TESTED}:not([hidden])")
    assert page.locator(TESTED).inner_text().startswith("Checked in your browser")
    assert "no link names it" in page.locator(".vbx-ways").first.inner_text()
    assert page.get_by_role("button", name="Use the camera").count() == (where == "served")
    before = len(asked)

    data = picture_file()
    give(page, ("my secret.png", data))
    until(page, "my secret.png")
    x = preprocess(data, tiny())
    trace = run(tiny(), x)
    frame = page.locator(".vbx-photo").first
    frame.focus()
    for key, query in (("ArrowDown", 1), ("ArrowRight", 2), ("End", 4)):
        page.keyboard.press(key)
        told = until(page, "my secret", f"Layer 2, head 2: what {describe(query, tiny().config)} reads")
        weights = trace.attention(2, 2, query).numpy()
        assert told["facts"]["Reads most"].startswith(f"{describe(int(weights[1:].argmax()) + 1, tiny().config)}, ")
    expected = {
        "Layer 3, head 1: what": (dict(layer=3, head=1, query=4), trace.attention(3, 1).numpy()[4]),
        "Layer 3, head 1: who": (dict(direction=1), trace.attention(3, 1).numpy()[:, 4]),
        "Rollout up to layer 3: who": (dict(show=2), layer_stack(trace, 0)[2][:, 4]),
        "Rollout up to layer 2: what": (dict(direction=0, layer=2), layer_stack(trace, 0)[1][4]),
        "Layer 2, mean": (dict(show=1), layer_stack(trace, 2)[0][4]),
    }
    for title, (choice, weights) in expected.items():
        choose(page, **choice)
        until(page, "my secret", title)
        np.testing.assert_allclose(numbers(page), weights, atol=1e-5)
    choose(page, show=0, scale=1)
    page.get_by_role("button", name="at a glance").click()
    page.wait_for_function("() => document.querySelectorAll('.vbx-atlas canvas').length === 9")
    page.locator("summary").click()
    page.locator(".vbx-table tbody td").first.wait_for()  # a table is filled when its fold says that it opened
    cells = page.locator(".vbx-table tbody td").all_inner_texts()
    np.testing.assert_allclose([float(c) for c in cells], trace.attention(2, 1, 4)[1:], atol=1e-5)

    # several side by side, compared, and taken away again
    give(page, ("second.png", picture_file((40, 60), 5)), ("third.png", picture_file((50, 50), 6)))
    until(page, "third.png")
    assert page.locator(".vbx-picture").count() == len(page.evaluate("state.pictures")) + 3
    page.get_by_role("button", name="my secret.png", exact=True).click()
    until(page, "my secret")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("button", name="second.png", exact=True).click()
    until(page, "A: second.png")
    page.get_by_role("button", name="Take away my secret.png").click()
    until(page, "second.png")
    assert page.get_by_role("button", name="my secret.png").count() == 0 and page.locator(".vbx-away").count() == 2
    page.get_by_role("button", name="Copy a link").click()
    page.wait_for_function("() => location.hash.includes('layer')")
    assert "second" not in page.evaluate("location.href") and "picture" not in page.evaluate("location.hash")

    # the book's own pictures come from the model too, and saving works for them
    rocket = run(tiny(), preprocess("rocket", tiny())).attention(2, 1, 4).numpy()
    page.locator(".vbx-picture").nth([c["name"] for c in page.evaluate("state.pictures")].index("rocket")).click()
    until(page, page.evaluate("state.pictures[state.picture].title"))
    np.testing.assert_allclose(numbers(page), rocket, atol=1e-5)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as PNG").click()
    saved = Image.open(download.value.path())
    assert download.value.suggested_filename == "rocket-layer-2-head-1-token-4.png" and saved.width > saved.height / 2
    rest = [url for url in asked[before:] if not url.startswith("blob:")]
    assert all(url.endswith("picture.webp") for url in rest), "the picture goes nowhere, and nothing more is loaded"
    assert errors == []
    page.evaluate("closeView()")
    assert page.evaluate("listeners()") == 0


DROP = """([bytes, kind]) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], `${kind}.png`, { type: "image/png" }));
  const event = kind === "drop" ? new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true })
    : new ClipboardEvent(kind, { clipboardData: data, bubbles: true });
  document.querySelector(kind === "drop" ? ".vbx-view" : "body").dispatchEvent(event);
}"""


def test_dropped_and_pasted_before_the_model_is_there(visit, serve, tmp_path):
    write_page(tmp_path, tiny())
    page = visit.blank(760, 900)
    page.goto(f"{serve(tmp_path)}/page.html")
    page.wait_for_selector("[data-drawn]")
    text = base64.b64encode(picture_file((40, 31))).decode()
    page.evaluate(DROP, [text, "paste"])
    assert page.locator(".vbx-yours").first.is_hidden(), "the explorer has no focus"
    page.evaluate(DROP, [text, "drop"])
    page.get_by_role("button", name="Load the model").click()
    until(page, "drop.png")
    page.locator(".vbx-photo").first.focus()
    page.evaluate(DROP, [text, "paste"])
    until(page, "paste.png")
    page.locator("input[type=file]").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"words"})
    page.get_by_text("cannot read that file as a picture").wait_for()
    assert violations(page) == [] and page.evaluate(STICKS_OUT) == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.set_viewport_size({"width": 375, "height": 800})
    assert page.evaluate(STICKS_OUT) == []


def test_what_goes_wrong_is_said_in_words(visit, serve, tmp_path):
    """A browser that computes something else, a connection that is lost, a book without the model, a notebook."""
    write_page(tmp_path, tiny())
    page = visit.blank(760, 900, first_time=True)
    test = next((tmp_path / "_static" / "model").rglob("test.js")).read_text()
    row = test.index('"rows": "') + len('"rows": "')
    ones = base64.b64encode(np.ones(3, "<f4").tobytes()).decode()
    page.route(
        "**/test.js",
        lambda route: route.fulfill(body=f"{test[:row]}{ones}{test[row + 16 :]}", content_type="text/javascript"),
    )
    page.goto(f"{serve(tmp_path)}/page.html")
    load(page)
    assert page.locator(TESTED).inner_text().startswith("Do not trust what you see here")

    page.unroute("**/test.js")
    page.evaluate("caches.delete('vitbook-model')")
    page.reload()
    page.wait_for_selector("[data-drawn]")
    page.route("**/1.js*", lambda route: route.abort())
    page.get_by_role("button", name="Your picture").click()
    page.get_by_role("button", name="Load the model").click()
    page.get_by_text("The connection is lost").wait_for()
    choose(page, layer=1)
    page.locator(".vbx-problem", has_text="The connection is lost").wait_for()
    assert page.evaluate(STATE, 0)["title"].startswith("Layer 3"), "what was shown stays"
    page.unroute("**/1.js*")
    page.get_by_role("button", name="Try again").click()
    until(page, "", "Layer 1, head 1")
    page.get_by_role("button", name="Go on loading").click()
    page.wait_for_selector(f"{TESTED}:not([hidden])")

    page.route("**/manifest.js", lambda route: route.fulfill(status=404))
    page.reload()
    page.get_by_role("button", name="Your picture").click()
    page.get_by_role("button", name="Load the model").click()
    page.get_by_text("built without the weights").wait_for()
    page.unroute("**/manifest.js")
    page.reload()
    choose(page, weight=0)
    page.get_by_role("button", name="Your picture").click()
    page.get_by_text("too large to travel").wait_for()

    write_page(tmp_path, tiny(), content_root="", model=False)
    page.goto(f"{serve(tmp_path)}/page.html?lab")
    page.evaluate(
        "() => { model.send = ({ own }, _, buffers) => own && (window.sent = [own.name, buffers[0].byteLength]); }"
    )
    page.get_by_role("button", name="Your picture").click()
    assert "notebook’s kernel" in page.locator(".vbx-ways").first.inner_text()
    give(page, ("mine.png", picture_file()))
    page.wait_for_function("window.sent")
    assert page.evaluate("sent") == ["mine.png", len(picture_file())]


def changed(page) -> None:
    """Wait until what is told of y is about what is changed now."""
    page.wait_for_function(
        """() => { const { told } = document.querySelector('section[aria-label="Change the model"]').dataset;
          const list = document.querySelectorAll('.vbx-changed li').length;
          return !document.querySelector('.vbx-waiting') && (list ? told && told !== window.toldBefore : true); }"""
    )
    page.evaluate(
        """() => { window.toldBefore = document.querySelector('section[aria-label="Change the model"]').dataset.told; }"""
    )


def test_the_model_is_changed_by_hand(visit, serve, tmp_path):
    """Maps and y of changed runs are those of the same changes in Python; two at once, undone, and as a difference."""
    path = write_page(tmp_path, tiny(), layer=2, head=2, query=3)
    page = visit.blank(760, 900)
    page.goto(path.as_uri())
    page.get_by_role("button", name="Change the model").click()
    page.get_by_role("button", name="Load the model").click()
    page.get_by_role("button", name="Hide patch").wait_for()
    weights, x = tiny().weights, preprocess("chelsea", tiny())
    untouched = run(tiny(), x)
    panel = page.get_by_role("region", name="Change the model")

    def same(edit: dict, place=None) -> None:
        changed(page)
        A, y, _ = edited_run(weights, x, edit)
        expected = A[1, 1].numpy() if place is None else A[1, 1].numpy()[np.ix_(place, place)]
        np.testing.assert_allclose(numbers(page), expected[3], atol=1e-4)
        cosine = torch.cosine_similarity(y, untouched.y, dim=0).item()
        told = panel.locator("dd").first.inner_text()
        assert float(told.rpartition(": ")[2]) == pytest.approx(cosine, abs=2e-4)

    def press(name: str) -> None:
        panel.get_by_role("button", name=name, exact=True).click()

    press(f"Hide {describe(3, tiny().config)}")
    same({"hide": [3]})
    press("Switch off head 2 of layer 2")
    same({"hide": [3], "heads": [[2, 2]]})
    press(f"Undo: {describe(3, tiny().config)} hidden")
    press("Switch off the MLP of layer 2")
    same({"heads": [[2, 2]], "mlp": [2]})
    press("Reset")
    changed(page)
    np.testing.assert_allclose(numbers(page), untouched.attention(2, 2)[3], atol=1e-5)
    for name, edit in (("LayerNorm after the sum", {"norm": "after"}), ("No residual", {"residual": False})):
        press(name)
        same(edit)
        press(name)
    press("Softmax over the wrong axis")
    press("No root under the scores")
    same({"axis": "queries", "root": False})
    press("changed − untouched")
    until(page, "A: ")
    A, _, _ = edited_run(weights, x, {"axis": "queries", "root": False})
    np.testing.assert_allclose(numbers(page), (A[1] - untouched.attention(2))[1, 3], atol=1e-4)
    press("changed")
    press("Reset")

    donor = run(tiny(), preprocess("rocket", tiny()))
    pasting = {"paste": [["donor", 1, 3], ["donor", 1, "patches"]]}
    choose(page, layer=1)
    donors = panel.get_by_role("combobox", name="The picture to paste from")
    donors.select_option(label=next(words for words in donors.inner_text().splitlines() if "Falcon" in words))
    press(f"{describe(3, tiny().config)} after layer 1")
    changed(page)
    press("all patches after layer 1")
    changed(page)
    choose(page, layer=2)
    until(page, "", "Layer 2, head 2 of the changed model")
    A, y, _ = edited_run(weights, x, pasting, {"donor": donor.z})
    np.testing.assert_allclose(numbers(page), A[1, 1, 3], atol=1e-4)
    theirs = torch.cosine_similarity(y, donor.y, dim=0).item()
    told = panel.locator("dd").nth(1).inner_text()
    assert f": {theirs:.4f};" in told and told.startswith("with the y of")
    press("Reset")
    changed(page)

    press("Shuffle the patches")
    changed(page)
    order = page.evaluate(
        """() => JSON.parse(document.querySelector('section[aria-label="Change the model"]').dataset.told)[1].order"""
    )
    place = [0, *(1 + np.argsort(order))]  # where the token of each patch stood
    page.evaluate("window.toldBefore = ''")
    same({"order": order}, place)
    press("Take the positions away")
    same({"order": order, "positions": False}, place)
    assert panel.locator("dd").nth(1).inner_text().endswith(": 1.0000"), "without positions the order is nothing to y"
    assert panel.locator(".vbx-order").is_visible()
    assert violations(page) == [] and page.evaluate(STICKS_OUT) == []


def test_what_was_pasted_from_a_picture_goes_with_it(visit, tmp_path):
    path = write_page(tmp_path, tiny(), layer=2, head=2, query=3)
    page = visit.blank(760, 900)
    page.goto(path.as_uri())
    load(page)
    give(page, ("second.png", picture_file((40, 60), 5)))
    until(page, "second.png")
    choose(page, picture=0)
    page.get_by_role("button", name="Change the model").click()
    donors = page.get_by_role("combobox", name="The picture to paste from")
    donors.focus()
    donors.select_option(label="second.png")
    assert donors.evaluate("(e) => e === document.activeElement"), "the focus stays where the reader is"
    page.get_by_role("button", name="all patches after layer 2").click()
    changed(page)
    assert page.locator(".vbx-changed li").count() == 2
    assert page.get_by_role("combobox", name="The picture to paste from").evaluate("(e) => e.value.startsWith('own')")
    page.get_by_role("button", name="Take away second.png").click()
    page.locator(".vbx-changed").wait_for(state="hidden")
    assert page.evaluate("document.querySelectorAll('.vbx-problem:not([hidden])').length") == 0


def test_a_chapter_may_show_some_of_the_changes():
    from vitbook.widgets import shuffle

    explorer = shuffle(tiny(), layer=2)
    assert explorer._view.change == ["order", "positions"] and sorted(explorer._view.order) == list(range(12))
    assert AttentionExplorer(tiny())._view.change == [] == AttentionExplorer(tiny())._view.order
    several = AttentionExplorer(tiny(), change=["mistakes", "positions", "shuffle"])._view.change
    assert several == ["norm", "residual", "axis", "root", "positions", "order"]
    with pytest.raises(ValueError, match="change must be one of hide"):
        AttentionExplorer(tiny(), change="everything")


def test_light_is_that_of_the_figures(visit, tmp_path):
    """The same photograph and weights, pixel for pixel but for rounding."""
    photo = Image.open(io.BytesIO(picture_file(size=(80, 60)))).convert("RGB")
    weights = np.random.default_rng(4).random(ODD.N + 1).astype("<f4")
    theirs = lit(photo, weights, ODD, size=(80, 60)).astype(int)
    script = javascript.joined(tmp_path, "kit/light.js")
    page = visit.blank(300, 300)
    body = """
      const data = new Uint8ClampedArray(data_.photo);
      return [...lit({ width: 80, height: 60, data }, data_.weights, Math.max(...data_.weights), { rows: 3, columns: 4 })];
    """.replace("data_", "given")
    given = {"photo": np.asarray(photo.convert("RGBA")).ravel().tolist(), "weights": weights[1:].tolist()}
    ours = np.array(page.evaluate(f"(given) => {{ {script} {body} }}", given)).reshape(60, 80, 4)
    assert np.abs(ours[..., :3] - theirs).max() <= 3 and (ours[..., 3] == 255).all()
