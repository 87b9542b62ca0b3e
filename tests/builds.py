"""`jupyter-book build` without the seconds that its imports take: a process that has imported all of it forks a build at a time.

A build is then a process of its own, in a session of its own, that does what the command does and may be killed like it.
The command itself runs at least once as well (tests/test_site.py, an address that is none).
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from hashlib import sha256
from importlib import import_module, metadata
from pathlib import Path
from time import monotonic, sleep

import jinja2

ROOT = Path(__file__).parents[1]
# What a build imports, most of it by the names in its configuration.
NEEDED = """jupyter_book.cli.main jupyter_book.sphinx jupyter_book.pdf sphinx.builders.html myst_nb sphinx_thebe
sphinx_togglebutton sphinx_copybutton sphinx_comments sphinx_external_toc sphinx_design sphinx_book_theme sphinxcontrib.bibtex
sphinx_jupyterbook_latex sphinx_multitoc_numbering sphinx.directives.code bookbuild.extension matplotlib.font_manager"""
# The largest style sheets of a page, below the packages' folder or here.
SHEETS = {
    "pydata_sphinx_theme/theme/pydata_sphinx_theme/static": "styles/pydata-sphinx-theme.css",
    "sphinx_book_theme/theme/sphinx_book_theme/static": "styles/sphinx-book-theme.css",
    "sphinx_design/static": "sphinx-design.min.css",
    ROOT / "book" / "assets": "vendor/widgets.css book.css",
}


class Build:
    """A build that has been started: as much of a `Popen` as is asked for."""

    def __init__(self, ask, pid: int):
        self._ask, self.pid, self.returncode = ask, pid, None

    def wait(self, seconds: float = 600) -> int:
        if self.returncode is None:
            self.returncode = self._ask(pid=self.pid, seconds=seconds)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("jupyter-book build", seconds)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Builder:
    """The process that forks them, started with the first."""

    def __init__(self):
        self.process = None

    def _ask(self, **request):
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, folder: Path, options: list[str], out, errors=None, environment=None, largest: int = 0) -> Build:
        """`jupyter-book build . OPTIONS` in a folder, or with no options `python -m bookbuild`.

        What it says goes to the file `out`, and complaints to `errors`, if given; no file may grow beyond `largest` bytes, if that is
        not 0.
        """
        where = {"folder": str(folder), "out": str(out), "errors": str(errors or out)}
        how = {"options": options, "environment": dict(environment or os.environ), "largest": largest}
        return Build(self._ask, self._ask(**where, **how))

    def run(self, folder: Path, options: list[str], command: bool = False, **more) -> subprocess.CompletedProcess:
        """The same, to its end: exit code, and in `stdout` all that it said.  command: the command itself, nothing forked."""
        if command or not hasattr(os, "fork"):
            called = [Path(sys.executable).with_name("jupyter-book"), "build", ".", *options]
            return subprocess.run(called, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with tempfile.NamedTemporaryFile("r", suffix=".log") as out, tempfile.NamedTemporaryFile("r") as errors:
            apart = {} if options else {"errors": errors.name}
            code = self.start(folder, options, out.name, **apart, **more).wait()
            return subprocess.CompletedProcess("jupyter-book build", code, out.read(), errors.read())

    def close(self) -> None:
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(60)


# --- in the process that forks ------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer a line with a line."""
    sys.path.insert(1, str(ROOT))
    for name in NEEDED.split():
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        remember(Path(folder))
        gc.collect()
        gc.freeze()
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps(ended(**request) if "pid" in request else fork(**request)), flush=True)


def remember(folder: Path) -> None:
    """What builds make alike is made once for all of them: the theme's style sheets read, its templates compiled, fonts cut."""
    from bookbuild import leaner, maths_font, text_font

    packages = Path(metadata.distribution("sphinx-book-theme").locate_file(""))
    for static, names in SHEETS.items():
        for name in names.split():
            leaner.parsed(leaner.whole(packages / static / name, packages / static))

    def with_cache(environment, *arguments, **options):
        begin(environment, *arguments, **options)
        environment.bytecode_cache = compiled

    begin, compiled = jinja2.Environment.__init__, jinja2.FileSystemBytecodeCache(str(folder))
    jinja2.Environment.__init__ = with_cache

    def kept(make):
        def made(*arguments):
            given = repr([sorted(value) if isinstance(value, set) else value for value in arguments])
            known = folder / sha256(f"{make.__module__} {make.__name__} {given}".encode()).hexdigest()
            if not known.exists():
                part = known.with_suffix(f".{os.getpid()}")
                part.write_text(make(*arguments))
                part.rename(known)
            return known.read_text()

        return made

    text_font.font_face, maths_font.font_face = kept(text_font.font_face), kept(maths_font.font_face)


def ended(pid: int, seconds: float) -> int | None:
    """The exit code of a build (negative: the signal that ended it), or None when it takes longer than that."""
    end = monotonic() + seconds
    while monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        sleep(0.01)
    return None


def fork(**request) -> int:
    """Start a build; returns the number of its process."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = build(**request)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def build(folder: str, options: list[str], out: str, errors: str, environment: dict, largest: int) -> int:
    from jupyter_book.cli.main import main

    import bookbuild.__main__

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, file in ((1, out), (2, errors)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    if largest:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    try:
        if not options:
            sys.argv = ["bookbuild"]
            return bookbuild.__main__.main()
        main(["build", ".", *options])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    serve()
