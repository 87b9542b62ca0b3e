"""Lighthouse over the pages that stand for the book, served as a web host serves them (compressed), from this machine.

    python benchmarks/lighthouse.py [--site _build/html] [--runs 3] [--desktop] [PAGE ...]

Needs Node and Chromium; Lighthouse is fetched by npx in the pinned version. Prints a table in Markdown: for each page the median
of the runs. Its default is a slow phone (CPU four times slower, 1.6 Mbit/s), so run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from chromium import find_chromium
from playwright.sync_api import sync_playwright
from serve import serve

ROOT = Path(__file__).parents[1]
VERSION = "12.2.3"
PAGES = ("book/intro", "book/eq2", "book/looking_at_heads")
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
TIMES = {
    "first-contentful-paint": "first paint",
    "largest-contentful-paint": "largest paint",
    "total-blocking-time": "blocked",
    "cumulative-layout-shift": "layout shift",
}


def audit(address: str, chromium: str, desktop: bool) -> dict:
    """Lighthouse's report of one visit."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            "npx",
            "--yes",
            f"lighthouse@{VERSION}",
            address,
            "--quiet",
            "--output=json",
            f"--output-path={report}",
        ]
        command += ["--chrome-flags=--headless=new --no-sandbox", *(["--preset=desktop"] if desktop else [])]
        subprocess.run(command, check=True, env=os.environ | {"CHROME_PATH": chromium}, stdout=subprocess.DEVNULL)
        return json.loads(report.read_text())


def row(page: str, reports: list[dict]) -> str:
    scores = [round(100 * statistics.median(r["categories"][c]["score"] for r in reports)) for c in CATEGORIES]
    times = [statistics.median(r["audits"][name]["numericValue"] for r in reports) for name in TIMES]
    weight = statistics.median(r["audits"]["total-byte-weight"]["numericValue"] for r in reports)
    first, largest, blocked, shift = times
    cells = [page, *scores, f"{first / 1000:.1f} s", f"{largest / 1000:.1f} s", f"{blocked:.0f} ms", f"{shift:.3f}"]
    return "| " + " | ".join(map(str, [*cells, f"{weight / 1000:.0f} kB"])) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=PAGES, metavar="PAGE")
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--desktop", action="store_true", help="a desktop instead of a slow phone")
    asked = parser.parse_args()
    if not shutil.which("npx"):
        parser.exit(1, "This needs Node: npx was not found.\n")
    with sync_playwright() as playwright:
        chromium = find_chromium(playwright)
    server = serve(asked.site, "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("| page |", " | ".join([*CATEGORIES, *TIMES.values(), "loaded"]), "|")
    print("|---" * (len(CATEGORIES) + len(TIMES) + 2) + "|")
    for page in asked.pages:
        address = f"http://127.0.0.1:{server.server_address[1]}/{page}.html"
        print(row(page, [audit(address, chromium, asked.desktop) for _ in range(asked.runs)]), flush=True)


if __name__ == "__main__":
    main()
