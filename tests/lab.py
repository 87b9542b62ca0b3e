"""A JupyterLab of its own and a notebook in it, driven as a reader drives it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat

PATIENCE = 120_000  # ms: a kernel that imports torch on a busy machine

# What the kernel of the notebook in front says about itself from now on.
HEAR_STATUS = """() => {
  window.heard = [];
  jupyterapp.shell.currentWidget.sessionContext.statusChanged.connect((_, status) => heard.push(status));
}"""
HEAR_SAVED = """() => {
  window.saved = false;
  jupyterapp.shell.currentWidget.context.saveState.connect((_, state) => { saved ||= state === 'completed'; });
}"""


@contextmanager
def running_lab(folder: Path, settings: Path) -> Iterator[tuple[str, Path]]:
    """Start JupyterLab on a free port, serving `folder`, with the settings of another; (address, folder)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("jupyter"), "lab", "--allow-root", "--no-browser", f"--port={port}"]
    command += ["--ServerApp.token=", "--ServerApp.password=", f"--notebook-dir={folder}", "--LabApp.news_url=None"]
    command += ["--LabApp.expose_app_in_browser=True"]  # so that a test can ask Lab itself
    places = {f"JUPYTER_{name}_DIR": str(folder / f".{name}".lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    places["JUPYTER_CONFIG_PATH"] = str(settings)
    log = (folder / "lab.log").open("w")
    server = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | places)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=5).read()
                break
            except OSError:
                assert server.poll() is None, (folder / "lab.log").read_text()[-2000:]
                time.sleep(0.1)
        yield address, folder
    finally:
        server.terminate()
        try:
            server.wait(60)  # it ends its kernels first
        finally:
            server.kill()
            log.close()


class Notebook:
    """A notebook open in Lab, driven as a reader drives it."""

    def __init__(self, browser, lab: tuple[str, Path], name: str, cells: list[str]):
        address, self.folder = lab
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        self.path = self.folder / f"{name}.ipynb"
        nbformat.write(book, self.path)
        self.context = browser.new_context(viewport={"width": 1400, "height": 1800})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{address}/lab/tree/{name}.ipynb?reset")
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        self.idle()

    def idle(self) -> None:
        self.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()

    def run(self, cell: int) -> str:
        """Run one cell and return what it printed."""
        place = self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell)
        prompt = place.locator(".jp-InputPrompt").first
        prompt.evaluate("prompt => { prompt.textContent = ''; }")
        place.locator(".jp-InputArea-editor").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function("prompt => /\\[\\d+\\]/.test(prompt.textContent)", arg=prompt.element_handle())
        return (
            place.locator(".jp-Cell-outputArea").inner_text() if place.locator(".jp-OutputArea-output").count() else ""
        )

    def upload(self, path: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.page.get_by_role("button", name="Your picture").click()
            self.page.get_by_role("button", name="Choose a file").click()
        chooser.value.set_files(path)

    def restart(self) -> None:
        self.page.evaluate(HEAR_STATUS)
        self.page.locator(
            ".jp-NotebookPanel-toolbar [data-command='kernelmenu:restart'], [data-jp-item-name=restart] *"
        ).first.click()
        self.page.locator(".jp-Dialog button.jp-mod-warn, .jp-Dialog button.jp-mod-accept").first.click()
        self.page.wait_for_function(
            "() => heard.some(status => status.endsWith('restarting')) && heard.at(-1) === 'idle'"
        )
        self.idle()

    def save(self) -> str:
        self.page.evaluate(HEAR_SAVED)
        self.page.locator(".jp-InputArea-editor").last.click()
        self.page.keyboard.press("Control+s")
        self.page.wait_for_function("() => window.saved")
        return self.path.read_text()
