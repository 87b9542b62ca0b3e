"""Shapes are checked while the tests run; the built book is opened in a real browser that can reach nobody else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from jaxtyping import install_import_hook

ROOT = Path(__file__).parents[1]


def rooms_with_shapes() -> list[str]:
    """The modules that annotate an array: all others mean what they say without a checker, and load faster."""
    files = sorted(
        path for path in (ROOT / "vitbook").rglob("*.py") if "from jaxtyping import" in path.read_text("utf-8")
    )
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]


# Before anything imports vitbook: every annotated shape is now compared with what really comes and goes.
install_import_hook(rooms_with_shapes(), "checked.checker")

from builds import Builder  # noqa: E402  (after the hook, like every import of ours)
from chromium import HEADLESS, Contexts, Visitor, find_chromium  # noqa: E402

POLL = 0.01  # seconds until a server of a test notices that it is to stop


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """For `--dist loadgroup`: a file's tests share what they set up, so they stay together; visits to pages share nothing.

    What takes long comes first and what may be spread comes last, so that all workers end at the same time.
    """
    for item in items:
        if not item.get_closest_marker("spread"):
            group = "lab" if item.get_closest_marker("lab") else item.path.stem
            item.add_marker(pytest.mark.xdist_group(group))
    files = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(key=lambda item: when(item, item.path in files))


def when(item, in_a_browser: bool) -> int:
    """JupyterLab and all chapters on other models, which take longest; files that open pages; other files; then what shares nothing:
    first builds and what is slow, then visits to pages."""
    marked = lambda name: bool(item.get_closest_marker(name))  # noqa: E731
    if marked("spread"):
        return 3 if marked("book") or marked("slow") else 4
    return 0 if marked("lab") or item.path.stem == "test_any_vit" else 1 if in_a_browser else 2


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built book. `make test` sets VITBOOK_SITE, and then a missing book is an error."""
    promised = os.environ.get("VITBOOK_SITE")
    folder = (ROOT / (promised or "_build/html")).resolve()
    if (folder / "index.html").is_file():
        return folder
    if promised:
        pytest.fail(f"VITBOOK_SITE promises a built book in {folder}, and there is none", pytrace=False)
    pytest.skip(f"no built book in {folder}: run `make book` first, or `make test` for everything")


@pytest.fixture(scope="session")
def sample_site(tmp_path_factory) -> Path:
    """tests/sample/style.md, one of each style, built as strictly as the book and with its configuration: once for all workers."""
    folder, worker = tmp_path_factory.getbasetemp(), os.environ.get("PYTEST_XDIST_WORKER")
    folder = (folder.parent if worker else folder) / "sample"
    with FileLock(f"{folder}.lock"):
        if not (folder / "built").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            small_book(folder, {"style": (ROOT / "tests" / "sample" / "style.md").read_text(encoding="utf-8")})
            build_book(folder)
            (folder / "built").touch()
    return folder / "_build" / "html"


def small_book(folder: Path, pages: dict[str, str], repository: str = "") -> None:
    """A book of these pages (name -> MyST text) with the configuration and the assets of ours, at an address if one is given."""
    shutil.copytree(
        ROOT / "book" / "assets", folder / "book" / "assets", ignore=shutil.ignore_patterns("attn", "model")
    )
    shutil.copy(ROOT / "book" / "references.bib", folder / "book")
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    config["sphinx"]["config"]["vitbook_prepare"] = False
    config["repository"]["url"] = repository
    config["sphinx"]["local_extensions"] = {"bookbuild.extension": str(ROOT)}
    (folder / "_config.yml").write_text(yaml.safe_dump(config, sort_keys=False))  # scripts load in their order
    for name, text in pages.items():
        (folder / "book" / f"{name}.md").write_text(text, encoding="utf-8")
    first, *others = pages
    toc = {"format": "jb-book", "root": f"book/{first}", "chapters": [{"file": f"book/{name}"} for name in others]}
    (folder / "_toc.yml").write_text(yaml.safe_dump({key: value for key, value in toc.items() if value}))


def build_book(folder: Path, expect: int | None = 0, **how) -> str:
    """Run the strict build in ``folder`` and return what it said; another exit code than expected (None: a failure) is one."""
    done = BUILDER.run(folder, ["--all", "-W", "--keep-going"], **how)
    assert done.returncode == expect or (expect is None and done.returncode), done.stdout[-4000:]
    return done.stdout


BUILDER = Builder()


def pytest_unconfigure():
    BUILDER.close()


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing, keeps connections open, and lets files be kept for as long as a run of the tests takes."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # a page that is closed while it loads
            super().handle_error(request, client_address)


def _serve(folder: Path, handler: type[Quiet] = Quiet):
    server = Server(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    return server


@pytest.fixture(scope="session")
def serve():
    """A function that serves a folder on a free port of this machine and returns its address."""
    servers = {}

    def address(folder: Path) -> str:
        if folder not in servers:
            servers[folder] = _serve(folder)
        return f"http://127.0.0.1:{servers[folder].server_address[1]}"

    yield address
    for server in servers.values():
        server.shutdown()


@pytest.fixture
def serve_like_a_host():
    """``serve_like_a_host(folder, "/name")``: the site below a path, and its 404.html for every address that is not there."""
    servers = []

    def address(folder: Path, below: str) -> str:
        class Host(Quiet):
            def translate_path(self, path):
                return super().translate_path(path.removeprefix(below) if path.startswith(f"{below}/") else "/no such")

            def send_error(self, code, *_):
                body = (folder / "404.html").read_bytes()
                self.send_response(code)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        servers.append(_serve(folder, Host))
        return f"http://127.0.0.1:{servers[-1].server_address[1]}{below}"

    yield address
    for server in servers:
        server.shutdown()


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """JupyterLab beside a copy of the book, with the settings that `make lab` installs: its address and its folder."""
    from lab import running_lab

    folder, prefix = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("prefix")
    subprocess.run(["make", "-s", "lab-settings", f"VENV={prefix}"], cwd=ROOT, check=True)
    shutil.copytree(ROOT / "book", folder / "book", ignore=shutil.ignore_patterns("assets"))
    with running_lab(folder, prefix / "etc" / "jupyter") as running:
        yield running


# How near a figure is when it is loaded: the browser that people use decides so, and the one without windows is to do as it does.
LAZY = "lazyLoadingImageMarginPxUnknown=1250,lazyLoadingImageMarginPx4G=1250"


@pytest.fixture(scope="session")
def browser():
    """Chromium, unable to resolve any host but this machine."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(playwright, *HEADLESS),
            args=[
                "--no-sandbox",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                f"--blink-settings={LAZY}",
                "--renderer-process-limit=1",  # a page needs no new one when the last has left
            ],
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def contexts(browser):
    """Few browser contexts for all visits of a worker: what one page has loaded, the next need not load again."""
    opened = Contexts(browser)
    yield opened
    opened.close()


@pytest.fixture
def visit(contexts):
    """``visit(url, width=, theme=, ...)`` opens a page, waits until it has settled, and keeps account of what it did."""
    visitor = Visitor(contexts)
    yield visitor
    visitor.close()
