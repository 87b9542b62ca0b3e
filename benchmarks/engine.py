"""The model in the page against Python, over the whole catalogue: how far apart, how fast, how large, and does the page answer.

    python benchmarks/engine.py [--pictures 9] [--again 5] [--ort package/dist]

--ort: the folder `dist` of the npm package onnxruntime-web; then both run the same weights on the same numbers in one page, in turn,
each on one thread.

One headless Chromium, the embedded checkpoint, weights over http from this machine. Times are of one thread; "blocked" is the
longest stretch of work on the page's own thread, in processor time, so that it says the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from chromium import HEADLESS, find_chromium
from conftest import _serve
from javascript import numbers
from test_engine_browser import LOOK, MAKE, differences, embedded, relative, write_site

from vitbook.model import run
from vitbook.pictures import PICTURES
from vitbook.pixels import preprocess
from vitbook.widgets.explorer.atlas import fingerprint


def longest(trace: bytes, thread: str = "CrRendererMain") -> list[float]:
    """The tasks of a kind of thread in a Chromium trace, longest first, in milliseconds of processor time."""
    events = json.loads(trace)["traceEvents"]
    names = [(e["pid"], e["tid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"]
    wanted = {(pid, tid) for pid, tid, name in names if name.startswith(thread)}
    tasks = [e.get("tdur", 0) for e in events if (e["pid"], e["tid"]) in wanted and e["name"].endswith("RunTask")]
    return sorted((task / 1000 for task in tasks), reverse=True)


ORT = """async (x) => {
  ort.env.wasm.numThreads = 1;
  window.session ??= await ort.InferenceSession.create("vit.onnx", { executionProviders: ["wasm"] });
  const input = new ort.Tensor("float32", Float32Array.from(x), [1, 3, 196, 196]);
  const start = performance.now();
  const { z } = await session.run({ x: input });
  return { running: performance.now() - start, y: Array.from(z.data.subarray(0, 384)) };
}"""


def write_ort(folder: Path, dist: Path) -> None:
    """The other runtime and the same weights as ONNX, beside the page."""
    for name in ("ort.wasm.min.js", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"):
        shutil.copy(dist / name, folder)

    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = embedded().library(torch.float32)

        def forward(self, x):
            return self.model(x).last_hidden_state

    example = (torch.zeros(1, 3, 196, 196),)
    torch.onnx.export(
        Last().eval(),
        example,
        str(folder / "vit.onnx"),
        dynamo=False,
        opset_version=17,
        input_names=["x"],
        output_names=["z"],
    )


def side_by_side(page, x: torch.Tensor, trace, again: int) -> None:
    """Both in turn, after one run each to warm up."""
    page.add_script_tag(url="ort.wasm.min.js")
    given, told = x.flatten().tolist(), {"ours": [], "onnxruntime-web": []}
    for n in range(again + 1):
        ours, other = page.evaluate(LOOK, numbers(x)), page.evaluate(ORT, given)
        if n:
            told["ours"].append(ours["running"])
            told["onnxruntime-web"].append(other["running"])
    off = float((torch.tensor(other["y"]) - trace.y).abs().max() / trace.y.abs().max())
    medians = {name: statistics.median(times) for name, times in told.items()}
    print(
        f"in turn, medians: {', '.join(f'{name} {ms:.0f} ms' for name, ms in medians.items())} (its y within {off:.1e})"
    )
    ratios = [a / b for a, b in zip(*told.values(), strict=True)]
    print(f"ours takes {statistics.median(ratios):.2f} of its time (from {min(ratios):.2f} to {max(ratios):.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=len(PICTURES))
    parser.add_argument("--again", type=int, default=5, help="runs of the last picture, for the time")
    parser.add_argument("--ort", type=Path, help="onnxruntime-web's dist folder")
    arguments = parser.parse_args()
    checkpoint = embedded()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = write_site(Path(name) / "site", checkpoint)
        size = sum(f.stat().st_size for f in (folder / "model").rglob("*.js"))
        browser = playwright.chromium.launch(
            executable_path=find_chromium(playwright, *HEADLESS), args=["--no-sandbox"]
        )
        page = browser.new_page()
        if arguments.ort:
            write_ort(folder, arguments.ort)
        server = _serve(folder)
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/page.html")
        page.evaluate(MAKE, fingerprint(checkpoint))
        categories = ["toplevel", "devtools.timeline", "__metadata"]
        browser.start_tracing(page=page, categories=categories)
        kernel = page.evaluate("load()")
        during_load = longest(browser.stop_tracing())[0]
        print(f"{size / 1e6:.1f} MB of files, kernel: {kernel}; blocked while loading: {during_load:.0f} ms")
        for picture in list(PICTURES)[: arguments.pictures]:
            x = preprocess(picture, checkpoint)
            trace = run(checkpoint, x)
            seen = page.evaluate(LOOK, numbers(x))
            worst, moved = differences(page, trace)
            print(
                f"{picture:12} A {worst:.1e}  y {relative(seen['y'], trace):.1e}  tops moved {moved:.5f}  {seen['running']:.0f} ms"
            )
        browser.start_tracing(page=page, categories=categories)
        times = [page.evaluate(LOOK, numbers(x))["running"] for _ in range(arguments.again)]
        told = browser.stop_tracing()
        worker = longest(told, "DedicatedWorker")[: arguments.again]
        print(f"a run: median {statistics.median(times):.0f} ms, fastest {min(times):.0f}")
        print(f"the page's own thread meanwhile: at most {longest(told)[0]:.0f} ms at a time")
        print(f"in processor time: median {statistics.median(worker or [float('nan')]):.0f} ms")
        if arguments.ort:
            side_by_side(page, x, trace, arguments.again)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
