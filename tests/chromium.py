"""A visit to one page: open it, wait until its widgets stand, and keep account of errors and foreign requests."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOCAL_SCHEMES = ("file", "data", "blob", "about")

# Every widget view on the page is drawn, and a frame has passed since.
SETTLED = """async () => {
  const start = performance.now();
  const until = async (done) => { while (!done() && performance.now() - start < 20000) await new Promise(r => setTimeout(r, 50)); };
  window.dispatchEvent(new Event('beforeprint'));  // widgets further down would wait until they are near
  const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]').length;
  const drawn = () => document.querySelectorAll('.widget-subarea > *').length;
  await until(() => drawn() >= views);
  const frame = new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
  await Promise.race([frame, new Promise(r => setTimeout(r, 5000))]);
  return drawn() < views ? `${views} widget views and ${drawn()} drawn` : '';
}"""


def find_chromium(playwright) -> str:
    """The path of a Chromium: $VITBOOK_CHROMIUM, an installed one, or the one that playwright downloaded."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = os.environ.get("VITBOOK_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    found = found or playwright.chromium.executable_path
    if not os.path.exists(found):
        raise FileNotFoundError(
            f"no Chromium at {found}: install the package chromium, run `python -m playwright install chromium`, "
            "or set VITBOOK_CHROMIUM to one"
        )
    return found


@dataclass
class Visit:
    """What one page did: ``page`` is playwright's, the lists hold what should be empty."""

    page: object
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def troubles(self) -> list[str]:
        return [
            *(f"error: {text}" for text in self.errors),
            *(f"asked another site: {url}" for url in self.foreign),
            *(f"not found: {url}" for url in self.missing),
        ]


class Visitor:
    def __init__(self, browser):
        self.browser = browser
        self.contexts = []

    def __call__(self, url: str, width: int = 1280, height: int = 900, theme: str = "light", **options) -> Visit:
        phone = width < 500
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            is_mobile=phone,
            has_touch=phone,
            **options,
        )
        self.contexts.append(context)
        visit = Visit(context.new_page())
        page = visit.page
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.on("console", lambda said: visit.errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: None if is_local(request.url) else visit.foreign.append(request.url))
        page.on("requestfailed", lambda request: visit.missing.append(f"{request.url} {request.failure}"))
        page.on("response", lambda answer: visit.missing.append(answer.url) if answer.status >= 400 else None)
        page.goto(url, wait_until="load")
        late = page.evaluate(SETTLED)
        if late:
            visit.errors.append(late)
        return visit

    def close(self):
        for context in self.contexts:
            context.close()


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in ("127.0.0.1", "localhost")
