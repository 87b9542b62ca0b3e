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
  for (const sign of ['beforeprint', 'afterprint']) window.dispatchEvent(new Event(sign));  // widgets further down would wait
  const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]').length;
  const drawn = () => document.querySelectorAll('.widget-subarea > *').length;
  await until(() => drawn() >= views);
  const frame = new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
  await Promise.race([frame, new Promise(r => setTimeout(r, 5000))]);
  return drawn() < views ? `${views} widget views and ${drawn()} drawn` : '';
}"""

FORGET = (
    "() => { try { localStorage.clear(); sessionStorage.clear(); } catch { /* a page without an address has none */ } }"
)


HEADLESS = (
    "chromium-headless-shell",
    "chrome-headless-shell",
)  # the same engine without the windows around it: a third faster


def find_chromium(playwright, *first: str) -> str:
    """The path of a Chromium: $VITBOOK_CHROMIUM, an installed one (of these names first), or the one that playwright downloaded."""
    names = (*first, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
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


class Contexts:
    """One context for all pages of a kind, so that they share what they load."""

    def __init__(self, browser):
        self.browser = browser
        self.opened = {}

    def __call__(self, **options):
        key = repr(sorted(options.items()))
        if key not in self.opened:
            self.opened[key] = self.browser.new_context(**options)
        return self.opened[key]

    def close_other(self, context):
        if context not in self.opened.values():
            context.close()

    def close(self):
        for context in self.opened.values():
            context.close()


class Visitor:
    def __init__(self, contexts: Contexts):
        self.contexts = contexts
        self.pages = []

    def blank(
        self,
        width: int,
        height: int,
        theme: str = "light",
        reduced_motion: str = "no-preference",
        first_time: bool = False,
        **options,
    ):
        """An empty page of that size, which the visitor closes; for the first time: nothing that it loads has been loaded before."""
        page = (self.contexts.browser.new_context if first_time else self.contexts)(**options).new_page()
        self.pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion=reduced_motion)
        return page

    def __call__(self, url: str, width: int = 1280, height: int = 900, **options) -> Visit:
        phone = width < 500
        page = self.blank(width, height, is_mobile=phone, has_touch=phone, **options)
        visit = Visit(page)
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
        for page in self.pages:
            page.evaluate(FORGET)  # what it has stored, the next page of this context must not find
            page.close()
            self.contexts.close_other(page.context)


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in ("127.0.0.1", "localhost")
