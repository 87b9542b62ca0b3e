"""The model in the page against Python, over the whole catalogue: how far apart, how fast, how large, and does the page answer.

    python benchmarks/engine.py [--pictures 9] [--again 5]

One headless Chromium on this machine, the embedded checkpoint, weights from the disk. Times are of one thread; "blocked" is
the longest stretch of work on the page's own thread, in processor time, so that it says the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from chromium import HEADLESS, find_chromium
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=len(PICTURES))
    parser.add_argument("--again", type=int, default=5, help="runs of the last picture, for the time")
    arguments = parser.parse_args()
    checkpoint = embedded()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = write_site(Path(name) / "site", checkpoint)
        size = sum(f.stat().st_size for f in (folder / "model").rglob("*.js"))
        browser = playwright.chromium.launch(
            executable_path=find_chromium(playwright, *HEADLESS), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto((folder / "page.html").as_uri())
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
        browser.close()


if __name__ == "__main__":
    main()
