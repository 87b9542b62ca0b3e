"""The build is a gate: what a reader must not meet fails it, says where, and says what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import BUILDER, ROOT, build_book, small_book

from bookbuild import execution
from bookbuild.__main__ import main as build_here
from bookbuild.home import lend_a_home

pytestmark = pytest.mark.book

HEADER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# A page

"""


def cell(code: str) -> str:
    return f"```{{code-cell}} ipython3\n{code}\n```\n"


def test_a_failing_cell_fails_the_build_and_every_failure_is_told(tmp_path):
    pages = {
        "one": HEADER + cell("assert 1 + 1 == 3, 'arithmetic moved'"),
        "two": HEADER + cell("undefined_name"),
        "three": HEADER + cell("print('fine')"),
    }
    small_book(tmp_path, pages)
    said = build_book(tmp_path, expect=1)
    assert "2 of 3 chapters failed" in said
    assert "arithmetic moved" in said and "undefined_name" in said and "one.md" in said and "two.md" in said
    assert not (tmp_path / "_build" / "html" / "book" / "one.html").exists()
    for name in pages:
        (tmp_path / "book" / f"{name}.md").write_text(HEADER + cell(f"print('{name} is mended')"), encoding="utf-8")
    build_book(tmp_path)  # what failed leaves nothing behind that spoils the next build
    assert (tmp_path / "_build" / "html" / "book" / "one.html").is_file()


def test_warnings_fail_the_build(tmp_path):
    page = (
        HEADER
        + cell("import sys\nprint('a warning from a library', file=sys.stderr)")
        + "$$\na = b\n$$ (my-own-label)\n\n"
        + "![](assets/logo.svg)\n\n"
        + "{glue:text}`never_glued` and [a page that is not there](nowhere.md)\n"
    )
    small_book(tmp_path, {"page": page})
    said = build_book(tmp_path, expect=1)
    for complaint in ("stderr was found", "'my-own-label'", "without a text that says", "never_glued", "nowhere.md"):
        assert complaint in said, complaint


def test_a_build_says_what_a_reader_wants_and_no_more(tmp_path, monkeypatch, capsys):
    """Into a file: no codes of a terminal, no word of kernels or of a font tool; what fails is told without a traceback of ours."""
    # A kernel is forked from one that has imported nothing of the builder's, and stands where a kernel that starts by itself does.
    afresh = (
        "import os, sys, numpy\nassert '' in sys.path and not [name for name in sys.modules if 'bookbuild' in name]\n"
    )
    afresh += "assert os.getsid(0) == os.getpid() and os.environ['MPLBACKEND'].endswith('inline')\nnumpy.random.rand()"
    two = HEADER + cell("import time, numpy\ntime.sleep(1)\nnumpy.random.rand()")
    small_book(tmp_path, {"one": HEADER + cell(afresh), "two": two})

    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "bookbuild"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    versions, *greeting, running, one, two, writing, _, end = done.stdout.splitlines()
    assert versions.startswith("Python 3") and "torch" in versions and len(greeting) == 2
    assert running == "running 2 chapters, 2 at a time" or "1 at a time" in running
    assert [re.fullmatch(rf"  +{n}/2 +\d+ s  book/(one|two)", line) for n, line in ((1, one), (2, two))].count(
        None
    ) == 0
    assert writing == "writing 2 pages" and re.search(
        r"built, in \d+ s. Open _build/html/index.html, or run `make serve`", end
    )
    assert (done.returncode, done.stderr) == (0, "")
    drawn = [
        re.search(r"0\.\d{9,}", (tmp_path / "_build" / "html" / "book" / f"{name}.html").read_text())[0]
        for name in ("one", "two")
    ]
    assert len(set(drawn)) == 2, "chapters draw the same numbers by chance"
    (tmp_path / "book" / "one.md").write_text(HEADER + cell("assert 1 == 2, 'not yet'"))
    done = BUILDER.run(tmp_path, [])
    assert done.returncode == 1 and "FAILED  book/one" in done.stdout
    assert "not yet" in done.stderr and "1 of 2 chapters failed" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr and "bookbuild/" not in done.stderr
    monkeypatch.chdir(ROOT / "tests")
    monkeypatch.setattr(sys, "argv", ["bookbuild"])
    assert build_here() == 1 and "no book in" in capsys.readouterr().err


def test_cells_run_again_when_the_package_has_changed_and_only_then(monkeypatch):
    env = SimpleNamespace(found_docs={"book/intro", "book/eq1"})
    ask = lambda: execution.outdated(None, env, set(), set(), set())  # noqa: E731
    assert ask() == [] and ask() == []
    env.vitbook_digest = "of an older vitbook"
    assert sorted(ask()) == ["book/eq1", "book/intro"]
    assert ask() == []


def test_of_pages_without_cells_one_is_run_for_all(tmp_path):
    """They share one entry of the cache, and kernels that ran them side by side would trip over it."""
    texts = {
        "one": HEADER,
        "two": HEADER + cell("1"),
        "three": HEADER,
        "four": HEADER + cell("2"),
        "plain": "# No notebook",
    }
    sources = {name: tmp_path / f"{name}.md" for name in texts}
    for name, path in sources.items():
        path.write_text(texts[name], encoding="utf-8")
    assert list(execution.chapters_to_run(sources)) == ["one", "two", "four"]


@pytest.mark.skipif(sys.platform == "win32", reason="accounts are asked for as on Linux")
def test_a_user_without_a_home_is_lent_one_that_goes_again():
    """Jupyter isn't even imported without a home folder; a container's user may have no account and no HOME."""
    code = (
        "import os, pwd\n"
        "def no_account(*_): raise KeyError('no such account')\n"
        "pwd.getpwuid = no_account\n"
        "import bookbuild.extension\n"
        "from pathlib import Path\n"
        "assert Path.home().is_dir() and os.environ['HOME'] == str(Path.home())\n"
        "print(Path.home())"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lent = Path(done.stdout.strip())
    assert "vitbook-home-" in lent.name and not lent.exists()
    before = os.environ.get("HOME")
    lend_a_home()
    assert os.environ.get("HOME") == before
