"""The model in the page, in Chromium: the numbers are Python's, and loading goes on, stops, fails and is taken up again in words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import javascript
import numpy as np
import pytest
import torch
from javascript import array, numbers
from PIL import Image
from tiny import checkpoint_of, random_weights

from bookbuild.pages import policy
from vitbook.config import ViTConfig
from vitbook.library.checkpoints import load_checkpoint
from vitbook.model import run
from vitbook.pictures import load_picture
from vitbook.pixels import preprocess
from vitbook.widgets.engine import packing
from vitbook.widgets.explorer.atlas import fingerprint

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>model</title>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<script src="page.js"></script><body></body></html>"""

A_WITHIN, Y_WITHIN = 1e-4, 1e-4  # absolute; relative to y's largest number


@cache
def embedded():
    return load_checkpoint("embedded")


@cache
def tiny():
    return checkpoint_of(random_weights().to(torch.float32))


def write_site(folder: Path, checkpoint) -> Path:
    """A folder with a page that has the model at hand, under the policy of the book's pages."""
    folder.mkdir(exist_ok=True)
    (folder / "page.js").write_text(javascript.joined(folder, "engine/model.js"), encoding="utf-8")
    (folder / "page.html").write_text(PAGE.replace("{policy}", policy()), encoding="utf-8")
    packing.write_model(checkpoint, folder / "model")
    return folder


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Path:
    return write_site(tmp_path_factory.mktemp("real"), embedded())


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "CHUNK", 6000)
        folder = write_site(tmp_path_factory.mktemp("small"), tiny())
    assert len(list((folder / "model").rglob("[0-9]*.js"))) > 4
    return folder


@cache
def sharp():
    """Pictures as the embedded checkpoint takes them, and next to no model."""
    config = ViTConfig(H=196, W=196, P=14, D=4, L=1, heads=2, M=3)
    return checkpoint_of(random_weights(config).to(torch.float32), preprocessing=embedded().preprocessing)


@pytest.fixture(scope="module")
def seeing(tmp_path_factory) -> Path:
    return write_site(tmp_path_factory.mktemp("seeing"), sharp())


MAKE = """(fingerprint) => {
  window.model = new ModelInPage({ fingerprint, folder: `model/${fingerprint}/` });
  window.progress = [];
  window.load = (more) => model.load({ progress: (share) => progress.push(share), ...more })
    .then(() => model.kernel, (error) => `${error.name}: ${error.message}`);
}"""


def opened(page, address: str, checkpoint):
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    page.evaluate(MAKE, fingerprint(checkpoint))
    return page


def weight_files(page) -> list[str]:
    return [url.rpartition("/")[2] for url in page.asked if "/model/" in url]


# --- the numbers ---


LAYER = f"(layer) => (async () => {{ {javascript.HELP} return text(await model.ask('layer', {{ layer }})); }})()"
LOOK = f"""(x) => (async () => {{ {javascript.HELP}
  const {{ y, running, preparing, picture }} = await model.ask("look", {{ x: numbers(x) }});
  return {{ y: text(y), running, preparing, picture }};
}})()"""


def differences(page, trace) -> tuple[float, float]:
    """The largest difference in any weight of any A after the last look, and the share of rows whose largest weight moved."""
    worst, moved = 0.0, []
    for l in range(1, trace.config.L + 1):
        theirs = trace.attention(l).numpy()
        ours = array(page.evaluate(LAYER, l)).reshape(theirs.shape)
        worst = max(worst, float(np.abs(ours - theirs).max()))
        moved.append((ours.argmax(-1) != theirs.argmax(-1)).mean())
    return worst, float(np.mean(moved))


def relative(y: str, trace) -> float:
    return float(np.abs(array(y) - trace.y.numpy()).max() / trace.y.abs().max())


def test_every_weight_of_a_real_model_is_pythons(real, serve, visit, record_property, capsys):
    """On identical pixels: two photographs here, the whole catalogue in benchmarks/engine.py."""
    page = opened(visit.blank(800, 600), f"{serve(real)}/page.html", embedded())
    assert weight_files(page) == [], "nothing before the reader asks"
    assert page.evaluate("load()") in ("fused", "plain")
    assert page.evaluate("progress.at(-1)") == 1 and page.evaluate(
        "progress.every((p, i, all) => !i || p > all[i - 1])"
    )
    for name in ("chelsea", "rocket"):
        x = preprocess(name, embedded())
        trace = run(embedded(), x)
        seen = page.evaluate(LOOK, numbers(x))
        worst, moved = differences(page, trace)
        off = relative(seen["y"], trace)
        record_property(f"{name}: A, y, ms", f"{worst:.1e} {off:.1e} {seen['running']:.0f}")
        with capsys.disabled():
            print(
                f"\n  {name}: A within {worst:.1e}, y within {off:.1e}, {moved:.5f} of the tops moved; {seen['running']:.0f} ms"
            )
        assert worst < A_WITHIN and off < Y_WITHIN and moved < 1e-3
    told = page.evaluate("model.test()")
    assert told["A"] < A_WITHIN and told["y"] < Y_WITHIN and told["title"]
    assert [url for url in page.asked if "127.0.0.1" not in url and not url.startswith("blob:")] == []


def test_from_a_disk(real, visit):
    page = opened(visit.blank(800, 600), (real / "page.html").as_uri(), embedded())
    assert page.evaluate("load()") in ("fused", "plain")
    told = page.evaluate("model.test()")
    assert 0 < told["A"] < A_WITHIN and told["y"] < Y_WITHIN
    assert [url for url in page.asked if not url.startswith(("file:", "blob:"))] == []


# --- pictures ---


FROM_FILE = f"""([bytes, type]) => (async () => {{ {javascript.HELP}
  const file = new Blob([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], {{ type }});
  try {{ return text(await model.ask("pixels", {{ file }})); }} catch (error) {{ return {{ problem: error.message }}; }}
}})()"""


def in_file(image: Image.Image, kind: str, **options) -> bytes:
    import io

    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def noisy(width: int, height: int, mode: str = "RGB") -> Image.Image:
    rng = np.random.default_rng(width * height)
    bands = len(Image.new(mode, (1, 1)).getbands())
    smooth = np.linspace(0, 255, width * height).reshape(height, width, 1).repeat(bands, 2)
    pixels = (smooth + rng.normal(0, 60, smooth.shape)).clip(0, 255).astype(np.uint8)
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels, mode)


def rotated() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return in_file(noisy(60, 40), "JPEG", quality=95, exif=exif)


#: name -> (bytes, type, how far a pixel may be off, in grey levels)
FILES = {
    "png": lambda: (in_file(noisy(113, 70), "PNG"), "image/png", 0),
    "grey png": lambda: (in_file(noisy(40, 70, "L"), "PNG"), "image/png", 0),
    "palette png": lambda: (in_file(noisy(40, 70).quantize(17), "PNG"), "image/png", 0),
    "transparent png": lambda: (in_file(noisy(50, 41, "RGBA"), "PNG"), "image/png", 1),
    "tiny": lambda: (in_file(noisy(1, 1), "PNG"), "image/png", 0),
    "a strip": lambda: (in_file(noisy(3, 900), "PNG"), "image/png", 0),
    "a wide strip": lambda: (in_file(noisy(5000, 2), "PNG"), "image/png", 0),
    "huge": lambda: (in_file(noisy(2600, 2300), "PNG", compress_level=1), "image/png", 0),
    "jpeg": lambda: (in_file(noisy(90, 61), "JPEG", quality=95, subsampling=0), "image/jpeg", 1),
    "jpeg with less colour": lambda: (in_file(load_picture("chelsea"), "JPEG", quality=90), "image/jpeg", 2),
    "jpeg turned by its camera": lambda: (rotated(), "image/jpeg", 2),
}


def test_pixels_of_files_are_those_of_preprocess(seeing, serve, visit, capsys):
    page = opened(visit.blank(800, 600), f"{serve(seeing)}/page.html", sharp())
    assert page.evaluate("load()") in ("fused", "plain")
    std = np.array(sharp().preprocessing.std).reshape(3, 1, 1)
    told = []
    for name, make in FILES.items():
        data, kind, within = make()
        theirs = preprocess(data, sharp()).numpy()
        ours = array(page.evaluate(FROM_FILE, [packing.as_text(data), kind])).reshape(theirs.shape)
        levels = np.abs((ours - theirs) * std * 255).max()
        told.append(f"{name} {levels:.0f}")
        assert np.array_equal(ours, theirs) if within == 0 else levels < within + 0.01, f"{name}: {levels} grey levels"
    with capsys.disabled():
        print(f"\n  largest difference in grey levels: {', '.join(told)}")
    for data in (b"no picture", b""):
        assert "cannot read that file" in page.evaluate(FROM_FILE, [packing.as_text(data), "image/png"])["problem"]


# --- loading ---


def test_stop_and_go_on(small, serve, visit):
    page = opened(visit.blank(800, 600, first_time=True), f"{serve(small)}/page.html", tiny())
    stopped = page.evaluate(
        """() => {
          const stop = new AbortController();
          return load({ signal: stop.signal, progress: (share) => { progress.push(share); if (share > 0.3) stop.abort(); } });
        }"""
    )
    assert stopped.startswith("AbortError"), stopped
    taken = page.evaluate("model.taken")
    before = weight_files(page)
    assert 0 < taken < page.evaluate("model.manifest.chunks.length")
    assert page.evaluate("load()") in ("fused", "plain")
    assert not set(before[2:]) & set(weight_files(page)[len(before) :]), "what was there is not loaded again"
    assert page.evaluate("model.test()")["A"] < 1e-5


OTHER = """async (act) => {
  const [cache, old] = [await caches.open("vitbook-model"), `${model.folder.replace(/[0-9a-f]{12}/, "0".repeat(12))}1`];
  if (act === "put") await cache.put(old, new Response(""));
  return (await cache.match(old)) !== undefined;
}"""


def test_the_browser_keeps_them_for_the_next_page(small, serve, visit):
    page = opened(visit.blank(800, 600, first_time=True), f"{serve(small)}/page.html", tiny())
    page.evaluate("load()")
    first = weight_files(page)
    assert page.evaluate(OTHER, "put")
    page.reload()
    page.asked.clear()
    page.evaluate(MAKE, fingerprint(tiny()))
    assert page.evaluate("load()") in ("fused", "plain")
    assert len(first) > 5 and weight_files(page) == ["manifest.js", "worker.js", "pictures.js"]
    assert page.evaluate("model.test()")["A"] < 1e-5
    assert not page.evaluate(OTHER, "look"), "a model that the book had before is not kept"


def test_a_damaged_part_is_asked_for_again_and_then_told(small, serve, visit):
    page = visit.blank(800, 600, first_time=True)

    def spoil(route):
        body = route.fetch().text()
        route.fulfill(body=body.replace("A", "B"), content_type="text/javascript")

    page.route("**/2.js", spoil)
    opened(page, f"{serve(small)}/page.html", tiny())
    assert page.evaluate("load()") in ("fused", "plain"), "the second time it came whole"
    page.route("**/2.js*", lambda route: route.continue_() if route.request.method == "HEAD" else spoil(route))
    page.evaluate("caches.delete('vitbook-model')")
    page.reload()
    page.evaluate(MAKE, fingerprint(tiny()))
    said = page.evaluate("load()")
    assert "Part 2 of" in said and "missing or damaged" in said
    page.unroute("**/2.js*")
    assert page.evaluate("load()") in ("fused", "plain"), "and goes on from there"


def test_a_book_without_weights_says_so(small, serve, visit):
    page = visit.blank(800, 600)
    page.route("**/manifest.js", lambda route: route.fulfill(status=404))
    opened(page, f"{serve(small)}/page.html", tiny())
    assert "built without the weights" in page.evaluate("load()")


def test_too_little_memory_is_said_before_anything_is_loaded(small, serve, visit):
    page = visit.blank(800, 600)
    grown = lambda route: route.fulfill(  # noqa: E731
        body=route.fetch().text().replace('["b_E", 1,', '["b_E", 4000000000,'), content_type="text/javascript"
    )
    page.route("**/manifest.js", grown)
    opened(page, f"{serve(small)}/page.html", tiny())
    assert "too little memory" in page.evaluate("load()") and weight_files(page) == ["manifest.js", "worker.js"]


@pytest.mark.parametrize("kernel", ["plain", "javascript"])
def test_with_less_than_the_newest_browser(small, serve, visit, kernel):
    page = opened(visit.blank(800, 600), f"{serve(small)}/page.html", tiny())
    assert page.evaluate(f"load({{ kernel: '{kernel}' }})") == kernel
    assert page.evaluate("model.test()")["A"] < 1e-5


# --- what stands in a book ---


def test_the_files_are_written_once_and_mended(tmp_path):
    home = packing.write_model(tiny(), tmp_path / "model")
    files = {path.name: path.stat().st_mtime_ns for path in home.iterdir()}
    assert {"manifest.js", "test.js", "1.js"} <= set(files)
    (home / "1.js").write_text("vitbookModel.take(")
    (home / "old.part").touch()
    (tmp_path / "model" / "of-another-model").mkdir()
    packing.write_model(tiny(), tmp_path / "model")
    again = {path.name: path.stat().st_mtime_ns for path in home.iterdir()}
    assert again.keys() == files.keys() and [name for name in files if again[name] != files[name]] == ["1.js"]
    assert [path.name for path in (tmp_path / "model").iterdir()] == [fingerprint(tiny())]


def test_a_model_that_is_too_large_is_left_out(tmp_path, monkeypatch, capsys):
    packing.write_model(tiny(), tmp_path / "model")
    monkeypatch.setattr(packing, "LIMIT", 1000)
    monkeypatch.setattr(packing, "load_checkpoint", lambda _: tiny())
    assert packing.main(None, tmp_path / "model") == 0
    assert "more than the 0 MB" in capsys.readouterr().out and not (tmp_path / "model").exists()
