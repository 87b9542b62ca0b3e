"""The model in JavaScript, step by step against Python's: odd sizes in node and in Chromium, every kernel that each offers."""

from __future__ import annotations

import importlib.util
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import javascript
import numpy as np
import pytest
import torch
from edited import edited_run
from javascript import array, in_node, in_page, joined, numbers
from PIL import Image
from tiny import ODD, checkpoint_of, random_weights, random_x

from bookbuild import extension
from vitbook.config import RESAMPLING, Preprocessing, ViTConfig
from vitbook.model import run
from vitbook.pixels import prepare
from vitbook.readout import top
from vitbook.widgets.engine import packing

ROOT = Path(__file__).parents[1]
ENGINE = (
    "engine/run.js",
    "engine/bytes.js",
    "engine/edits.js",
    "engine/weights.js",
    "engine/pixels.js",
    "engine/readout.js",
)

#: D != N + 1, heads != L, H != W, D_h no multiple of 8; C = 1; one patch alone; a width of whole panels; every activation.
MODELS = {
    "odd": (ODD, 7),
    "one channel, no head": (ViTConfig(H=6, W=15, P=3, D=21, L=2, heads=3, M=10, C=1, activation="gelu_tanh"), None),
    "one patch": (ViTConfig(H=4, W=4, P=4, D=8, L=1, heads=4, M=5, activation="relu", eps=1e-6), 1),
    "whole panels": (ViTConfig(H=16, W=24, P=4, D=32, L=2, heads=2, M=64, qkv_bias=False), 12),
}


@pytest.fixture(params=["node", pytest.param("chromium", marks=pytest.mark.browser)], scope="module")
def javascript_of(request, tmp_path_factory):
    """A function that gives the engine's script a body and data, and returns what the body does."""
    script = joined(tmp_path_factory.mktemp("engine"), *ENGINE)
    if request.param == "node":
        if javascript.NODE is None:
            pytest.skip("there is no node here; Chromium does the same")
        yield lambda body, data, flags=(): in_node(script, body, data, flags)
    else:
        page = request.getfixturevalue("browser").new_page()
        yield lambda body, data, flags=(): in_page(page, script, body, data)
        page.close()


RUN = """
  const kernel = await chooseKernel(data.kernel ?? undefined);
  const weights = new Weights(data.manifest);
  data.manifest.chunks.forEach((chunk, n) => weights.take(bytesOfText(data.chunks[n]), chunk.tensors));
  const streamsOf = (picture) => run(weights, numbers(data.others[picture])).z;
  const trace = run(weights, numbers(data.x), data.edit && editor(data.edit, streamsOf));
  const told = (part) => (Array.isArray(part) ? part.map(told) : part && text(part.numbers));
  const { config, edited, ...parts } = trace;
  const heads = Array.from({ length: config.heads }, (_, h) => h + 1);
  parts.A = trace.q.map((_, l) => heads.map((h) => attention(trace, l + 1, h))); // what they share, a product, comes once more
  const out = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, told(part)]));
  return { kernel, ...out, best: trace.logits && top(trace.logits, 3) };
"""


def given(checkpoint, x, kernel: str | None) -> dict:
    packed = packing.chunks(checkpoint)
    return {
        "kernel": kernel,
        "manifest": packing.manifest(checkpoint, packed),
        "chunks": [packing.as_text(chunk.data) for chunk in packed],
        "x": numbers(x.float()),
    }


def flat(part) -> np.ndarray:
    return np.concatenate([flat(each) for each in part]) if isinstance(part, list) else array(part)


@pytest.mark.parametrize("kernel", ["fused", "plain", "javascript"])
@pytest.mark.parametrize("model", MODELS)
def test_every_intermediate_is_pythons(javascript_of, monkeypatch, model, kernel):
    monkeypatch.setattr(packing, "CHUNK", 3000)  # several, some of them with one tensor that is larger
    config, K = MODELS[model]
    checkpoint = checkpoint_of(random_weights(config, K).to(torch.float32))
    x = random_x(config)
    theirs = run(checkpoint.to(torch.float64), x)
    ours = javascript_of(RUN, given(checkpoint, x, kernel), ["--experimental-wasm-relaxed-simd"])
    assert ours["kernel"] in (kernel, "javascript") and (kernel == "fused" or ours["kernel"] == kernel)
    expected = {
        name: getattr(theirs, name) for name in ("x_p", "embeddings", "z", "q", "k", "v", "msa", "z_prime", "mlp")
    }
    expected |= {"A": [theirs.attention(l) for l in range(1, config.L + 1)], "y": theirs.y, "logits": theirs.logits}
    for name, there in expected.items():
        if there is None:
            assert ours[name] is None
            continue
        there = torch.stack(there) if isinstance(there, list) else there
        difference = np.abs(flat(ours[name]) - there.flatten().numpy()).max()
        assert difference <= 3e-6 * max(1, there.abs().max().item()), f"{name} is off by {difference}"
    if K:
        assert [index for index, _ in ours["best"]] == [index for index, _ in top(theirs.logits, 3)]
        assert np.allclose([p for _, p in ours["best"]], [p for _, p in top(theirs.logits, 3)], atol=1e-5)


#: One change each, and two at once.
EDITS = {
    "another order": {"order": [3, 0, 7, 1, 11, 2, 9, 4, 10, 6, 5, 8]},
    "no positions": {"positions": False},
    "neither, and a patch hidden": {"hide": [4], "order": [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0], "positions": False},
    "patches hidden": {"hide": [3, 12]},
    "heads off": {"heads": [[1, 2], [3, 1]]},
    "halves of layers off": {"msa": [2], "mlp": [1, 3]},
    "post-norm": {"norm": "after"},
    "no residual": {"residual": False},
    "softmax over the wrong axis, patch hidden": {"axis": "queries", "hide": [5]},
    "root missing, post-norm": {"root": False, "norm": "after"},
    "a token pasted": {"paste": [["other", 2, 5]]},
    "all patches, then [class], of shuffled ones": {
        "paste": [["other", 0, "patches"], ["third", 3, 0], ["third", 1, 4]],
        "order": [3, 0, 7, 1, 11, 2, 9, 4, 10, 6, 5, 8],
    },
}


@pytest.mark.parametrize("name", EDITS)
def test_a_changed_run_is_pythons(javascript_of, name):
    checkpoint = checkpoint_of(random_weights().to(torch.float32))
    x = random_x()
    others = {"other": random_x(seed=5), "third": random_x(seed=6)}
    streams = {picture: run(checkpoint.to(torch.float64), there).z for picture, there in others.items()}
    A, y, logits = edited_run(checkpoint.to(torch.float64).weights, x, EDITS[name], streams)
    data = given(checkpoint, x, None) | {"edit": EDITS[name]}
    data["others"] = {picture: numbers(there.float()) for picture, there in others.items()}
    ours = javascript_of(RUN, data, ["--experimental-wasm-relaxed-simd"])
    for theirs, there in ((flat(ours["A"]), A), (flat(ours["y"]), y), (flat(ours["logits"]), logits)):
        np.testing.assert_allclose(theirs, there.flatten(), atol=2e-5 * max(1, there.abs().max().item()))
    untouched = run(checkpoint.to(torch.float64), x)
    assert torch.allclose(edited_run(checkpoint.to(torch.float64).weights, x, {})[1], untouched.y)
    assert not torch.allclose(y, untouched.y, rtol=1e-3), "it changes something"


def test_a_product_of_any_size(javascript_of):
    """Tiles are 4 x 8: sizes on either side of that, a bias and none, the right factor held and not, one after the other."""
    rng = np.random.default_rng(3)
    sizes = [(1, 1, 1), (3, 5, 7), (4, 8, 8), (5, 1, 9), (8, 64, 16), (197, 64, 197), (2, 1000, 3)]
    cases = [[rng.normal(size=s).astype("<f4") for s in ((m, k), (k, n), (n,))] for m, k, n in sizes]
    body = """
      await chooseKernel(data.kernel);
      const matrix = ([rows, columns, n]) => new Matrix(rows, columns, numbers(n));
      const held = data.cases.map(([, B]) => hold(matrix(B)));
      const both = data.cases.flatMap(([A, B, b], n) => [product(matrix(A), held[n], numbers(b)), product(matrix(A), matrix(B))]);
      let refused = "";
      try { product(new Matrix(2, 3), new Matrix(2, 3)); } catch (error) { refused = error.message; }
      return { products: both.map((C) => [C.rows, C.columns, text(C.numbers)]), refused };
    """
    told = [[[*A.shape, numbers(A)], [*B.shape, numbers(B)], numbers(b)] for A, B, b in cases]
    for kernel in ("fused", "plain", "javascript"):
        out = javascript_of(body, {"cases": told, "kernel": kernel}, ["--experimental-wasm-relaxed-simd"])
        assert "3 columns" in out["refused"] and "2 rows" in out["refused"]
        for n, (A, B, b) in enumerate(cases):
            exact = A.astype(np.float64) @ B
            for (rows, columns, C), there in zip(out["products"][2 * n : 2 * n + 2], (exact + b, exact), strict=True):
                assert (rows, columns) == there.shape
                assert np.abs(array(C).reshape(there.shape) - there).max() < 1e-6 * (1 + len(B) ** 0.5) * 10


def test_gelu_is_as_exact_as_float32(javascript_of):
    x = np.concatenate([np.linspace(-8, 8, 4001), [0, -0.0, 40, -40, 1e-30]]).astype("<f4")
    ours = array(javascript_of("return text(numbers(data).map((x) => gelu(x)));", numbers(x)))
    exact = [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]
    assert np.abs(ours - exact).max() < 4e-6 and np.abs(ours - exact)[np.abs(x) < 5].max() < 4e-7


def test_the_halves_are_all_there(javascript_of):
    """Every number of float16 that is one, decoded as NumPy does it: subnormal ones and both zeros too."""
    codes = np.arange(65536, dtype="<u2")
    codes = codes[np.isfinite(codes.view("<f2"))]
    body = """
      await chooseKernel("javascript");
      const weights = new Weights({ config: { L: 0, H: 1, W: 1, P: 1 }, chunks: [{ tensors: data.tensors }] });
      weights.take(bytesOfText(data.bytes), data.tensors);
      return text(weights.E_pos);
    """
    data = {"tensors": [["E_pos", 1, len(codes), "float16"]], "bytes": packing.as_text(codes.tobytes())}
    ours = array(javascript_of(body, data))
    assert np.array_equal(ours.view("<u4"), codes.view("<f2").astype("<f4").view("<u4"))


# --- pixels ---


PIXELS = """
  return data.map(({ width, height, levels, how, config }) => {
    const picture = { width, height, channels: 3, levels: bytesOfText(levels) };
    return text(prepare(picture, how, config));
  });
"""


@pytest.mark.parametrize("C", [3, 1])
def test_pixels_are_those_of_preprocess_to_the_last_bit(javascript_of, C):
    rng = np.random.default_rng(5)
    cases = []
    for width, height in ((64, 48), (20, 15), (1, 1), (1, 90), (113, 7), (31, 200), (20, 31), (25, 25), (25, 26)):
        smooth = np.linspace(0, 255, width * height * 3).reshape(height, width, 3)
        pixels = (smooth + rng.normal(0, 80, smooth.shape)).clip(0, 255).astype(np.uint8)
        for resample in RESAMPLING:
            cases.append(
                (pixels, Preprocessing((15, 20), (0.485, 0.456, 0.406)[:C], (0.229, 0.224, 0.225)[:C], resample))
            )
        cases.append((pixels, Preprocessing(21, (0.5,) * C, (0.25,) * C, "bicubic", crop=(15, 20))))
    cases.append((np.full((15, 20, 3), 255, np.uint8), Preprocessing(None, (0.5,) * C, (0.5,) * C)))
    config = replace(ODD, C=C)
    data = [
        {
            "width": pixels.shape[1], "height": pixels.shape[0], "levels": packing.as_text(pixels.tobytes()),
            "how": packing.preprocessing(how), "config": {"C": C},
        }
        for pixels, how in cases
    ]  # fmt: skip
    for (pixels, how), ours in zip(cases, javascript_of(PIXELS, data), strict=True):
        theirs = prepare(Image.fromarray(pixels), how, config).numpy()
        assert np.array_equal(array(ours).reshape(theirs.shape), theirs), (pixels.shape, how)


# --- the files ---


def tool():
    spec = importlib.util.spec_from_file_location("kernel", ROOT / "tools" / "kernel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_kernel_is_what_its_script_writes():
    assert tool().FILE.read_text(encoding="utf-8") == tool().text(), "run `python tools/kernel.py`"


def test_a_chunk_holds_whole_tensors_and_no_more_than_it_may(monkeypatch):
    monkeypatch.setattr(packing, "CHUNK", 3000)
    checkpoint = checkpoint_of(random_weights().to(torch.float32))
    packed = packing.chunks(checkpoint)
    names = [name for chunk in packed for name, *_ in chunk.tensors]
    assert names == [name for name, _ in checkpoint.weights.named()]
    assert all(len(chunk.data) <= 3000 or len(chunk.tensors) == 1 for chunk in packed) and len(packed) > 3
    assert sum(len(chunk.data) for chunk in packed) == packing.size_in_page(checkpoint)


def test_nothing_is_rounded_on_the_way():
    weights = random_weights().to(torch.float32)
    assert {kind for chunk in packing.chunks(checkpoint_of(weights)) for *_, kind in chunk.tensors} == {"float32"}
    halved = replace(weights, E=weights.E.half().float())
    kinds = {name: kind for chunk in packing.chunks(checkpoint_of(halved)) for name, *_, kind in chunk.tensors}
    assert [name for name, kind in kinds.items() if kind == "float16"] == ["E"]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_build_writes_the_weights_or_takes_them_out(monkeypatch, tmp_path, wanted):
    config = SimpleNamespace(vitbook_prepare=True, vitbook_model=wanted)
    app = SimpleNamespace(config=config, builder=SimpleNamespace(format="html"), srcdir=tmp_path)
    (tmp_path / "book" / "assets" / "model" / "old").mkdir(parents=True)
    called = []
    monkeypatch.setattr(extension, "run_here", lambda _, *arguments: called.append(arguments))
    extension.write_model(app)
    assert called == ([("-m", "vitbook", "model")] if wanted else [])
    assert (tmp_path / "book" / "assets" / "model").exists() == wanted


def test_a_step_has_the_file_and_the_names_that_it_has_in_python():
    """camelCase there, snake_case here."""
    room = ROOT / "vitbook" / "widgets" / "engine"
    for step in ("patches", "embed", "attention", "encoder", "readout"):
        python = set(re.findall(r"^def (\w+)", (ROOT / "vitbook" / f"{step}.py").read_text("utf-8"), re.M))
        exported = re.findall(r"^export (?:function|const) (\w+)", (room / f"{step}.js").read_text("utf-8"), re.M)
        assert exported
        for name in exported:
            if name not in ("softmax", "erf"):  # which Python has from torch
                assert re.sub(r"[A-Z]", lambda m: f"_{m[0].lower()}", name) in python, name


def test_a_page_shows_the_files_themselves():
    """What the chapter prints is cut out of the files, whole, and runs to the end of a function."""
    from vitbook import attention
    from vitbook.widgets.engine import sources

    for file in sources.files():
        text = sources.text_of(file)
        for name in re.findall(r"(?m)^(?:export )?(?:async )?function (\w+)", text):
            body = sources.javascript(file, name)
            assert body.endswith("\n}") and body.count("{") == body.count("}") and "/**" not in body
    assert sources.javascript("attention.js", "selfAttention") == "const selfAttention = (A, v) => product(A, v);"
    assert sources.python(attention.self_attention) == "def self_attention(A, v):\n    return A @ v"
    assert set(sources.STEPS) < set(sources.files())
    assert not [
        line for file in sources.STEPS for line in sources.code_of(file) if "//" in line or line.startswith("import")
    ]
    shown = sources.beside("attention.js", "joinHeads", attention.join_heads).data
    assert shown.count("```") == 4 and shown.count("```javascript\n") == 1
    with pytest.raises(ValueError, match="no function 'nothing'"):
        sources.javascript("run.js", "nothing")
