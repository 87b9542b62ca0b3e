"""The widget with the model in it: the reader's own picture, and the numbers that Python has for the same file."""

from __future__ import annotations

import base64
import io
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import traitlets
from conftest import build_book, small_book
from PIL import Image
from test_browser import STICKS_OUT, violations
from test_pencil_widget import MODEL
from tiny import ODD, checkpoint_of, random_weights

from bookbuild.pages import policy
from vitbook.figures.attention import lit
from vitbook.figures.palette import colour
from vitbook.model import run
from vitbook.pixels import preprocess
from vitbook.widgets import kit, model_in_page
from vitbook.widgets.engine import packing
from vitbook.widgets.explorer.atlas import fingerprint

GIVEN = ("worker", "sizes", "fingerprint", "weight", "layer", "head", "query")


@cache
def tiny():
    return checkpoint_of(random_weights().to(torch.float32))


def write_page(
    folder: Path, checkpoint, theme: str = "light", content_root: str = 'data-content_root="./"', **first
) -> Path:
    """A page of a book with one widget in it, under the policy of the book's pages."""
    widget = model_in_page(checkpoint, **first)
    state = {name: getattr(widget, name) for name in GIVEN}
    tables = base64.b64encode(widget.tables).decode()
    script = (
        f"const state = {json.dumps(state)};{MODEL}"
        f"state.tables = new DataView(Uint8Array.from(atob('{tables}'), (c) => c.charCodeAt(0)).buffer);"
        f"{kit.classic(widget._esm).replace('export default', 'window.made =')}"
        "const begin = () => (window.closeWidget = made.render({ model, el: document.getElementById('here') }));"
        "addEventListener('DOMContentLoaded', begin);"
    )
    (folder / "page.js").write_text(script, encoding="utf-8")
    (folder / "page.html").write_text(
        f'<!doctype html><html lang="en" data-theme="{theme}" {content_root}><meta charset="utf-8"><title>Model</title>'
        '<link rel="icon" href="data:,">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{widget._css}'
        f"html{{background:{colour('ground', theme)};color:{colour('text', theme)}}}</style>"
        f'<body style="margin:12px"><main><h1 style="font-size:18px">Model</h1><div id="here"></div></main>'
        '<script src="page.js"></script></body></html>',
        encoding="utf-8",
    )
    packing.write_model(checkpoint, folder / "_static" / "model")
    return folder / "page.html"


def picture_file(kind: str = "PNG", size=(90, 61)) -> bytes:
    width, height = size
    ramp = np.linspace(0, 255, width * height * 3).reshape(height, width, 3)
    pixels = (ramp + np.random.default_rng(2).normal(0, 50, ramp.shape)).clip(0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(out := io.BytesIO(), kind)
    return out.getvalue()


def load(page):
    page.get_by_role("button", name="Load the model").click()
    page.wait_for_selector("[data-drawn]")


def facts(page) -> dict[str, str]:
    return dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True))


@pytest.mark.browser
@pytest.mark.parametrize("where", ["served", "disk"])
def test_a_picture_of_ones_own(visit, serve, tmp_path, where):
    path = write_page(tmp_path, tiny(), layer=2, head=2)
    page = visit.blank(760, 900, first_time=True)
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(path.as_uri() if where == "disk" else f"{serve(tmp_path)}/page.html")
    assert not [url for url in asked if "/model/" in url], "nothing before the reader asks"
    assert f"{packing.size_of_files(tiny()) / 1e6:.0f} MB" in page.locator(".vbp-words").first.inner_text()
    load(page)
    assert "Checked in your browser" in page.locator(".vbp-tested").inner_text()
    before = len(asked)

    data = picture_file()
    page.locator("input[type=file]").set_input_files({"name": "mine.png", "mimeType": "image/png", "buffer": data})
    page.wait_for_selector('[data-drawn="2 2 0 1"]')
    trace = run(tiny(), preprocess(data, tiny()))
    frame = page.locator(".vbx-photo")
    frame.focus()
    for key, query in (("ArrowDown", 1), ("ArrowRight", 2), ("End", 4)):
        page.keyboard.press(key)
        page.wait_for_selector(f'[data-drawn="2 2 {query} 1"]')
        weights = trace.attention(2, 2, query).numpy()
        most, told = int(weights[1:].argmax()), facts(page)
        where, _, weight = told["Most read patch"].rpartition(", ")
        assert where.startswith(f"patch {most} (")
        assert [float(weight), float(told["Weight on [class]"])] == pytest.approx(
            [weights[most + 1], weights[0]], rel=6e-3
        )
    assert page.evaluate("state.query") == 4
    page.get_by_label("Layer", exact=True).select_option("3")
    page.get_by_label("Head", exact=True).select_option("1")
    page.wait_for_selector('[data-drawn="3 1 4 1"]')
    assert f"patch {int(trace.attention(3, 1, 4)[1:].argmax())} (" in facts(page)["Most read patch"]
    assert "mine.png" in page.locator("figcaption").first.inner_text()
    assert len(asked) == before or all(url.startswith("blob:") for url in asked[before:]), "the picture goes nowhere"
    assert errors == []
    page.evaluate("closeWidget()")
    assert page.evaluate("listeners()") == 0


@pytest.mark.browser
def test_a_browser_that_computes_something_else_is_told(visit, serve, tmp_path):
    write_page(tmp_path, tiny())
    page = visit.blank(760, 900, first_time=True)
    test = next((tmp_path / "_static" / "model").rglob("test.js")).read_text()
    row = test.index('"rows": "') + len('"rows": "')
    spoilt = (
        f"{test[:row]}{base64.b64encode(np.ones(3, '<f4').tobytes()).decode()}{test[row + 16 :]}"  # three weights are 1
    )
    page.route("**/test.js", lambda route: route.fulfill(body=spoilt, content_type="text/javascript"))
    page.goto(f"{serve(tmp_path)}/page.html")
    load(page)
    assert page.locator(".vbp-tested").inner_text().startswith("Do not trust what you see here")


@pytest.mark.browser
def test_dropped_and_pasted(visit, serve, tmp_path):
    write_page(tmp_path, tiny())
    page = visit.blank(760, 900)
    page.goto(f"{serve(tmp_path)}/page.html")
    load(page)
    give = """([bytes, kind]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], `${kind}.png`, { type: "image/png" }));
      const event = kind === "drop" ? new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true })
        : new ClipboardEvent(kind, { clipboardData: data, bubbles: true });
      document.querySelector(kind === "drop" ? ".vbp-drop" : "body").dispatchEvent(event);
    }"""
    for turn, kind in ((1, "drop"), (2, "paste")):
        page.evaluate(give, [base64.b64encode(picture_file(size=(40, 30 + turn))).decode(), kind])
        page.wait_for_selector(f'[data-drawn$=" {turn}"]')
        assert page.locator("figcaption").first.inner_text() == f"{kind}.png"
    page.locator("input[type=file]").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"words"})
    page.get_by_text("cannot read that file as a picture").wait_for()


@pytest.mark.browser
def test_light_is_that_of_the_figures(visit, tmp_path):
    """The same photograph and weights, pixel for pixel but for rounding."""
    photo = Image.open(io.BytesIO(picture_file(size=(80, 60)))).convert("RGB")
    weights = np.random.default_rng(4).random(ODD.N + 1).astype("<f4")
    theirs = lit(photo, weights, ODD, size=(80, 60)).astype(int)
    import javascript

    script = javascript.joined(tmp_path, "kit/light.js")
    page = visit.blank(300, 300)
    body = """
      const data = new Uint8ClampedArray(data_.photo);
      return [...lit({ width: 80, height: 60, data }, data_.weights, Math.max(...data_.weights), { rows: 3, columns: 4 })];
    """.replace("data_", "given")
    given = {"photo": np.asarray(photo.convert("RGBA")).ravel().tolist(), "weights": weights[1:].tolist()}
    ours = np.array(page.evaluate(f"(given) => {{ {script} {body} }}", given)).reshape(60, 80, 4)
    assert np.abs(ours[..., :3] - theirs).max() <= 3 and (ours[..., 3] == 255).all()


@pytest.mark.browser
def test_where_no_book_is_around_and_where_the_weights_are_too_many(visit, tmp_path, monkeypatch):
    page = visit.blank(760, 900)
    page.goto(write_page(tmp_path, tiny(), content_root="").as_uri())
    assert "AttentionExplorer" in page.locator(".vbp-words").inner_text()
    from vitbook.widgets.in_page import widget

    monkeypatch.setattr(widget, "LIMIT", 10)
    page.goto(write_page(tmp_path, tiny()).as_uri())
    assert "too large to travel" in page.locator(".vbp-words").inner_text() and page.get_by_role("button").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("look", [dict(theme="light"), dict(theme="dark"), dict(width=375)], ids=str)
def test_it_reads_in_both_themes_and_on_a_phone(visit, tmp_path, look):
    page = visit.blank(look.get("width", 760), 900)
    page.goto(write_page(tmp_path, tiny(), theme=look.get("theme", "light")).as_uri())
    for _ in ("before", "after"):
        assert violations(page) == [] and page.evaluate(STICKS_OUT) == []
        if page.locator("[data-drawn]").count() == 0:
            load(page)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("where", ["served", "disk"])
def test_in_a_built_book(in_a_book, visit, serve, where):
    """With the book's own policy, its widget manager and its folders."""
    page = "model.html"
    seen = visit(f"{serve(in_a_book)}/book/{page}" if where == "served" else (in_a_book / "book" / page).as_uri())
    seen.page.evaluate("document.querySelector('.widget-subarea').scrollIntoView()")
    load(seen.page)
    assert "Checked in your browser" in seen.page.locator(".vbp-tested").inner_text()
    data = picture_file()
    seen.page.locator(".vbp-drop input").set_input_files({"name": "mine.png", "mimeType": "image/png", "buffer": data})
    seen.page.wait_for_selector('[data-drawn$=" 0 1"]')
    weights = run(tiny(), preprocess(data, tiny())).attention(3, 1, 0).numpy()
    assert facts(seen.page)["Most read patch"].startswith(f"patch {int(weights[1:].argmax())} (")
    assert seen.troubles == []


@pytest.fixture(scope="module")
def in_a_book(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    cell = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import torch\nfrom tiny import checkpoint_of, random_weights\nfrom vitbook.widgets import model_in_page\n"
        "model_in_page(checkpoint_of(random_weights().to(torch.float32)))"
    )
    header = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n# A page\n"
    small_book(folder, {"model": f"{header}```{{code-cell}} ipython3\n{cell}\n```\n"})
    packing.write_model(tiny(), folder / "book" / "assets" / "model")
    build_book(folder)
    return folder / "_build" / "html"


def test_what_it_cannot_show_is_refused():
    for wrong in (dict(layer=4), dict(head=0), dict(query=13)):
        with pytest.raises((traitlets.TraitError, ValueError), match=next(iter(wrong)).replace("query", "token|query")):
            model_in_page(tiny(), **wrong)
    with pytest.raises(ValueError, match="load_checkpoint"):
        model_in_page("embedded")
    loaded = sum(len(text) for name, text in packing.scripts(tiny()).items() if name[0].isdigit())
    assert model_in_page(tiny()).weight == pytest.approx(loaded, abs=100), "what is said is what is loaded"
    assert model_in_page(tiny()).layer == 3 and model_in_page(tiny()).fingerprint == fingerprint(tiny())
