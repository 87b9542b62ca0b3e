"""How fast the explorer answers a key, beside ipywidgets.interact with matplotlib, in one JupyterLab and one run.

    python benchmarks/explorer.py [--keys 60] [--page _build/html/book/looking_at_heads.html]

Both show the same thing: what one token reads in one head, over the photograph and bare. A key is pressed on the focused
control; the clock stops when the new picture stands on the page and a frame has passed. With --page, the same key and the
time to the first map are also measured in a built page, opened from the disk, without any kernel.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from chromium import find_chromium
from lab import Notebook, running_lab

CELLS = [
    "%matplotlib inline\n"
    "import matplotlib.pyplot as plt\n"
    "from ipywidgets import IntSlider, interact\n"
    "from vitbook import load_checkpoint, preprocess, run\n"
    "from vitbook.maps import attention_map\n"
    "from vitbook.pixels import seen\n"
    "from vitbook.widgets.explorer.widget import AttentionExplorer\n"
    "checkpoint = load_checkpoint()\n"
    "trace = run(checkpoint, preprocess('chelsea', checkpoint))\n"
    "photograph = seen('chelsea', checkpoint)",
    "def show(query):\n"
    "    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.5))\n"
    "    weights = attention_map(trace, 10, 5, query)\n"
    "    left.imshow(photograph)\n"
    "    left.imshow(weights, alpha=0.6, extent=(0, checkpoint.config.W, checkpoint.config.H, 0))\n"
    "    figure.colorbar(right.imshow(weights), ax=right)\n"
    "    plt.show()\n"
    "interact(show, query=IntSlider(100, 0, checkpoint.config.N));",
    "AttentionExplorer(checkpoint, layer=10, head=5, query=100)",
]
# Press a key on `where`, and wait until `what` reads differently and a frame has passed; milliseconds.
ANSWER = """async ([where, what, key]) => {
  const target = document.querySelector(where);
  const looks = () => { const e = document.querySelector(what); return e && (e.src || e.textContent); };
  const paint = () => new Promise(done => requestAnimationFrame(() => {
    const {port1, port2} = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); }));
  target.focus();
  await paint();
  const before = looks(), start = performance.now();
  target.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  while (!looks() || looks() === before) {
    if (performance.now() - start > 20000) throw new Error('no answer in 20 s');
    await new Promise(done => setTimeout(done));
  }
  await paint();
  return performance.now() - start;
}"""
WATCH = """new MutationObserver(() => {
  const seen = document.querySelector('.vbx-first img'), living = document.querySelector('.vbx-view[data-drawn]');
  if (seen && !window.firstSeen) requestAnimationFrame(() => { window.firstSeen ??= performance.now(); });
  if (living) window.living ??= performance.now();
}).observe(document, {childList: true, subtree: true, attributes: true});"""
EXPLORER = (".vbx-photo", ".vbx-title")
INTERACT = (".widget-interact .noUi-handle", ".widget-interact .widget-output img, .widget-interact .jp-OutputArea img")


def answers(page, place: tuple[str, str], keys: int) -> list[float]:
    """Milliseconds from each of `keys` key presses to its picture."""
    page.evaluate(ANSWER, [*place, "ArrowRight"])  # the first may load what the others find
    return [page.evaluate(ANSWER, [*place, "ArrowLeft" if n % 2 else "ArrowRight"]) for n in range(keys)]


def line(what: str, times: list[float]) -> str:
    quartiles = statistics.quantiles(times, n=4)
    return f"  {what:42} median {quartiles[1]:7.1f} ms   quartiles {quartiles[0]:7.1f} to {quartiles[2]:7.1f}"


def in_lab(browser, keys: int) -> None:
    """Both widgets in one notebook, taking turns."""
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab:
        notebook = Notebook(browser, lab, "benchmark", CELLS)
        for cell in range(len(CELLS)):
            notebook.run(cell)
        page = notebook.page
        page.wait_for_selector(".vbx-view[data-drawn]")
        page.wait_for_selector(INTERACT[1])
        rounds = [(answers(page, INTERACT, keys // 4), answers(page, EXPLORER, keys // 4)) for _ in range(4)]
        theirs, ours = ([took for both in rounds for took in both[i]] for i in (0, 1))
        notebook.context.close()
    print("JupyterLab, key press to the frame with the new map:")
    print(line("interact and matplotlib", theirs))
    print(line("AttentionExplorer", ours))
    print(f"  the explorer is {statistics.median(theirs) / statistics.median(ours):.0f} times as fast")


def in_page(browser, path: Path, keys: int) -> None:
    """A built page from the disk: when something true is seen, when the explorer lives, and the same keys."""
    first, living = [], []
    for _ in range(5):
        page = browser.new_page()
        page.add_init_script(WATCH)
        page.goto(path.resolve().as_uri())
        page.wait_for_selector(".vbx-view[data-drawn]")
        first.append(page.evaluate("window.firstSeen"))
        living.append(page.evaluate("window.living"))
        if len(first) < 5:
            page.close()
    page.hover(".vbx-view")
    page.wait_for_timeout(1000)
    times = answers(page, EXPLORER, keys)
    print(f"{path.name} from the disk, no kernel ({path.stat().st_size / 1e3:.0f} kB of HTML):")
    print(
        f"  a true map is seen after {statistics.median(first):.0f} ms, the explorer lives after {statistics.median(living):.0f} ms"
    )
    print(line("key press to the frame with the new map", times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(playwright), args=["--no-sandbox"])
        in_lab(browser, options.keys)
        if options.page:
            in_page(browser, options.page, options.keys)
        browser.close()


if __name__ == "__main__":
    main()
