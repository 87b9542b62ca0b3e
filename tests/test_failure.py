"""Failure on purpose: what is cut off, full, locked, hung, dead or damaged ends in words, and the next build is clean."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest
from conftest import BUILDER, ROOT, build_book, small_book
from sphinx.errors import ExtensionError
from test_build import HEADER, cell
from tiny import checkpoint_of, random_weights

from bookbuild import workplace
from vitbook import __main__ as command
from vitbook.library.errors import told
from vitbook.widgets.explorer import atlas

pytestmark = pytest.mark.spread
LIMIT = 5  # seconds a cell, in these books
OPTIONS = ["-W", "--keep-going"]
PLAIN = HEADER + cell("print(6 * 7)")
posix = pytest.mark.skipif(os.name != "posix", reason="signals, limits and permissions of POSIX")


def book(folder: Path, **pages: str) -> Path:
    """A small book whose cells may take LIMIT seconds."""
    small_book(folder, pages)
    config = folder / "_config.yml"
    config.write_text(config.read_text().replace("timeout: 300", f"timeout: {LIMIT}"))
    return folder


def write_page(folder: Path, name: str, text: str) -> None:
    (folder / "book" / f"{name}.md").write_text(text, encoding="utf-8")


@contextmanager
def building(folder: Path):
    """A build in a session of its own, of which nothing outlives the block."""
    process = BUILDER.start(folder, OPTIONS, folder / "build.log")
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(what, seconds: float = 30.0):
    """Poll until `what()` is true, and return it; fails when it never is."""
    end = monotonic() + seconds
    while not (value := what()):
        assert monotonic() < end, "it never came"
        sleep(0.02)
    return value


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")  # one that has ended, and that nobody has asked for, is no longer at work
    return not (status.is_file() and "\nState:\tZ" in status.read_text())


def without_kernels(folder: Path) -> None:
    """Every cell below noted its kernel's number; all of them end by themselves."""
    pids = [int(path.read_text()) for path in (folder / "book").glob("*.pid")]
    assert pids, "no kernel has said that it started"
    wait_for(lambda: not any(map(alive, pids)), 10)


def noting(code: str) -> str:
    """A page whose cell notes the number of its kernel, then does something."""
    note = "import os, pathlib, time\npathlib.Path(f'{os.getpid()}.pid').write_text(str(os.getpid()))"
    return HEADER + cell("1 + 1") + cell(f"{note}\n{code}")


def pages_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in (folder / "_build" / "html" / "book").glob("*.html")}


def whole_site(folder: Path) -> dict[Path, bytes]:
    site = folder / "_build" / "html"
    return {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}


# --- chapters that hang or die ----------------------------------------------------------------------------------------


@pytest.mark.book
@posix
def test_a_chapter_that_hangs_one_that_dies_and_one_that_fails_are_all_told_and_leave_nobody_behind(tmp_path):
    book(
        tmp_path,
        hangs=noting("while True: time.sleep(0.1)"),
        dies=noting("os._exit(9)"),
        fails=noting("undefined_name"),
        fine=PLAIN,
    )
    said = build_book(tmp_path, expect=1)
    assert "3 of 4 chapters failed (book/dies, book/fails, book/hangs)" in said
    for name, words in (
        ("hangs", f"ran longer than {LIMIT} seconds.*while True.*raise execute: timeout: in _config.yml"),
        ("dies", r"the kernel died in this cell.*os\._exit\(9\).*memory"),
        ("fails", "undefined_name"),
    ):
        line = (tmp_path / "book" / f"{name}.md").read_text().splitlines().index("import os, pathlib, time")
        assert re.search(rf"{name}\.md:{line}: .*{words}", said, re.DOTALL), name
    without_kernels(tmp_path)
    for name in ("hangs", "dies", "fails"):
        write_page(tmp_path, name, HEADER + cell(f"print('{name} no more')"))
    build_book(tmp_path)
    assert len(pages_of(tmp_path)) == 4 and "hangs no more" in pages_of(tmp_path)["hangs.html"]


# --- builds that are killed -------------------------------------------------------------------------------------------


SLOW = """word = pathlib.Path('word').read_text()
time.sleep(60 if word == 'old' else 0)
print('a word that is', word)"""


@pytest.mark.book
@posix
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_build_that_is_killed_while_chapters_run_takes_its_kernels_along(tmp_path, how):
    """And the next one, in the same second, gets the folder, and takes no output of theirs for the same cells."""
    small_book(tmp_path, {name: noting(SLOW + f"  # {name}") for name in ("a", "b", "c", "d")})
    (tmp_path / "book" / "word").write_text("old")
    with building(tmp_path) as process:
        wait_for(lambda: list((tmp_path / "book").glob("*.pid")))
        process.send_signal(how)
        process.wait(10)
    assert process.returncode
    if how == signal.SIGKILL:
        (tmp_path / "book" / "word").write_text("new")
        assert "did not come to its end" in build_book(tmp_path)
        assert [html.count("a word that is new") for html in pages_of(tmp_path).values()] == [1] * 4
    without_kernels(tmp_path)


KILLER = '''
"""In the place of a power cut: the build is gone in the middle of a page, of one stage or another."""
import os, pathlib, signal

WRITE = pathlib.Path.write_text

def at_writing(app, *_):
    page = pathlib.Path(app.outdir, "book", "a.html")
    if page.exists():  # the theme has written it: half of it arrived
        page.write_bytes(page.read_bytes()[:3000])
        os.kill(os.getpid(), signal.SIGKILL)

def at_finishing(app, error):
    def half(path, text, **options):
        if path.name != "sheets.css":
            return WRITE(path, text, **options)
        WRITE(path, text[: len(text) // 2], **options)
        os.kill(os.getpid(), signal.SIGKILL)
    pathlib.Path.write_text = half

def setup(app):
    stage = os.environ.get("KILLED_AT")
    if stage == "writing":
        app.connect("html-page-context", at_writing, priority=999)
    if stage == "finishing":
        app.connect("build-finished", at_finishing, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
'''


@pytest.mark.book
@posix
def test_no_half_written_file_is_believed_by_the_next_build(tmp_path):
    """A plain `jupyter-book build .`, which writes only what it takes for outdated.  And the last good site stands as it was.

    First a limit on the size of files stands for a full disk: it, too, strikes in the middle of a file.
    """
    book(tmp_path, a=PLAIN, b=PLAIN.replace("6 * 7", "6 * 8"))
    (tmp_path / "killer.py").write_text(KILLER)
    config = tmp_path / "_config.yml"
    config.write_text(config.read_text().replace("    extensions:\n", "    extensions:\n    - killer\n"))

    def build(killed_at: str = "", **options) -> subprocess.CompletedProcess:
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "KILLED_AT": killed_at}
        done = BUILDER.run(tmp_path, OPTIONS, environment=environment, **options)
        assert (tmp_path / "_build" / workplace.UNFINISHED).exists() == (done.returncode != 0)
        return done

    done = build(largest=600_000)
    assert done.returncode == 1 and re.search("Failed to copy.*File too large", done.stdout), done.stdout[-3000:]
    whole = None
    for stage in ("writing", "finishing", "nothing"):
        done = build()
        assert done.returncode == 0 and "starts afresh" in done.stdout, done.stdout[-2000:]
        whole = whole or pages_of(tmp_path)["a.html"]
        assert pages_of(tmp_path)["a.html"] == whole
        if stage == "nothing":
            break
        write_page(tmp_path, "b", PLAIN.replace("6 * 7", f"'{stage}'"))
        before = whole_site(tmp_path)
        assert build(stage).returncode == -signal.SIGKILL
        cut = tmp_path / "_build" / ".html" / {"writing": "book/a.html", "finishing": "_static/sheets.css"}[stage]
        assert 0 < cut.stat().st_size < len(before[cut.relative_to(tmp_path / "_build" / ".html")]), "nothing was cut"
        assert whole_site(tmp_path) == before
    assert "finishing" in pages_of(tmp_path)["b.html"]


# --- two builds at once ------------------------------------------------------------------------------------


@pytest.mark.book
@posix
def test_a_second_build_in_the_same_folder_ends_at_once_and_the_first_does_not_mind(tmp_path):
    small_book(tmp_path, {"slow": noting("while not pathlib.Path('go on').exists(): time.sleep(0.1)")})
    with building(tmp_path) as first:
        wait_for(lambda: (tmp_path / "_build" / workplace.UNFINISHED).exists())
        said = build_book(tmp_path, expect=1)
        assert "another build is at work in" in said and str(tmp_path / "_build") in said
        (tmp_path / "book" / "go on").touch()
        assert first.wait(120) == 0, (tmp_path / "build.log").read_text()[-3000:]
    assert list(pages_of(tmp_path)) == ["slow.html"]


# --- the same, without a build ----------------------------------------------------------------------------------------


CHECKPOINT = checkpoint_of(random_weights(K=None))


class Application:
    """As much of Sphinx as `workplace` looks at."""

    fresh_env_used = True

    def __init__(self, folder: Path, prepare: bool = False):
        self.outdir, self.doctreedir = folder / "html", folder / ".doctrees"
        self.vitbook_prepare = prepare
        for path in (self.outdir, self.doctreedir):
            path.mkdir(parents=True, exist_ok=True)


def begin(folder: Path, **options) -> Application:
    app = Application(folder, **options)
    workplace.begin(app, app)
    return app


def test_a_full_disk_is_told_before_the_build(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(workplace.shutil, "disk_usage", lambda _: usage._replace(free=12_000_000))
    with pytest.raises(ExtensionError, match=r"takes up to 300 MB.*has 12 MB left: make room"):
        begin(tmp_path, prepare=True)
    (tmp_path / "html" / "index.html").write_text("a book that stands there already: only its pages are there twice")
    with pytest.raises(ExtensionError, match=r"takes up to 100 MB.*has 12 MB left"):
        begin(tmp_path, prepare=True)
    monkeypatch.setattr(workplace.shutil, "disk_usage", lambda _: usage._replace(free=120_000_000))
    begin(tmp_path, prepare=True)


def test_a_disk_that_is_full_at_the_end_is_no_end(tmp_path, monkeypatch):
    """What Sphinx could not copy, it only warns of; without -W the build would be taken for a good one."""
    app, usage = begin(tmp_path), shutil.disk_usage(tmp_path)
    workplace.refuse_full_disk(app, None)
    monkeypatch.setattr(workplace.shutil, "disk_usage", lambda _: usage._replace(free=4096))
    with pytest.raises(ExtensionError, match=r"No space left on device.*make room"):
        workplace.refuse_full_disk(app, None)
    workplace.refuse_full_disk(app, ValueError("something else went wrong before, and is told"))


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_is_told_with_what_to_do(tmp_path, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number), str(tmp_path / ".lock"))

    monkeypatch.setattr(workplace.FileLock, "acquire", refuse)
    with pytest.raises(ExtensionError, match=rf"\.lock cannot be written \({os.strerror(number)}\): (make|copy)"):
        begin(tmp_path)


def test_what_could_not_be_written_is_found_behind_other_errors(tmp_path, caplog):
    app, full = begin(tmp_path), OSError(errno.ENOSPC, "No space left on device")
    outer = ExtensionError("a handler threw an exception")
    outer.__cause__ = full
    workplace.end(app, outer)
    assert f"a file in {tmp_path} cannot be written (No space left on device): make room" in caplog.text
    assert (tmp_path / workplace.UNFINISHED).exists(), "a failed build is no finished one"
    begin(tmp_path)  # and it has given the folder back


def test_only_a_build_that_starts_afresh_begins_with_nothing_and_none_touches_the_site(tmp_path):
    (tmp_path / "html" / "old").mkdir(parents=True)
    (tmp_path / "html" / "old" / "page.html").write_text("old")
    (tmp_path / "html" / "link").symlink_to(tmp_path)
    site = sorted((tmp_path / "html").rglob("*"))
    app = begin(tmp_path)
    made = [tmp_path / name / "picture.svg" for name in workplace.MADE]
    for path in made:
        path.parent.mkdir()
        path.write_text("old")
    app.fresh_env_used = False
    workplace.lay_out(app)
    assert app.outdir == tmp_path / ".html" and all(path.exists() for path in made)
    assert [path.relative_to(app.outdir) for path in sorted(app.outdir.rglob("*"))] == [
        path.relative_to(tmp_path / "html") for path in site
    ]
    app.fresh_env_used = True
    workplace.lay_out(app)
    assert not any(path.exists() for path in made) and not list(app.outdir.iterdir())
    assert (
        sorted((tmp_path / "html").rglob("*")) == site
        and (tmp_path / "html" / "old" / "page.html").read_text() == "old"
    )
    assert (tmp_path / workplace.UNFINISHED).exists()


def test_a_whole_site_takes_the_place_of_the_last_one_and_nothing_else_does(tmp_path):
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "index.html").write_text("the last good one")
    for error, warnings, stands in (
        (ValueError("no"), 0, "the last good one"),
        (None, 1, "the last good one"),
        (None, 0, "new"),
    ):
        app = begin(tmp_path)
        workplace.lay_out(app)
        (app.outdir / "index.html").write_text("new")
        app.keep_going, app._warncount = True, warnings
        workplace.end(app, error)
        assert (tmp_path / "html" / "index.html").read_text() == stands
        assert (tmp_path / workplace.UNFINISHED).exists() == (stands != "new")
    assert not (tmp_path / ".html").exists() and not (tmp_path / workplace.BEFORE).exists()
    (tmp_path / "html").rename(tmp_path / workplace.BEFORE)  # killed in the moment between
    begin(tmp_path)
    assert (tmp_path / "html" / "index.html").read_text() == "new"


def read_only(folder: Path, *arguments, **options) -> subprocess.CompletedProcess:
    """Run a command while the folder cannot be written: by its permissions, or for root by a mount of its own."""
    options |= {"cwd": folder, "capture_output": True, "text": True}
    if os.getuid() == 0:
        if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            pytest.skip("root may write everywhere, and cannot mount anything here")
        mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
        return subprocess.run(["unshare", "-m", "sh", "-c", mount, str(folder), *map(str, arguments)], **options)
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*")) if path.is_dir()}
    for path in modes:
        path.chmod(0o555)
    try:
        return subprocess.run(list(map(str, arguments)), **options)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@posix
@pytest.mark.skipif(not shutil.which("make"), reason="no make")
@pytest.mark.parametrize("built", [False, True])
def test_make_book_in_a_read_only_checkout_says_so_before_it_starts(tmp_path, built):
    shutil.copy(ROOT / "Makefile", tmp_path)
    if built:
        (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-embedded.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / ".venv" / ".installed").touch()
    tool = tmp_path / ".venv" / "bin" / "python"
    tool.write_text('#!/bin/sh\necho "$*" was run\n')
    tool.chmod(0o755)
    done = read_only(tmp_path, "make", "book")
    assert done.returncode and "bookbuild was run" not in done.stdout
    assert "nothing can be written: copy it to a folder of yours" in done.stderr
    done = subprocess.run(["make", "book"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "-m bookbuild was run" in done.stdout


@posix
@pytest.mark.slow
def test_an_atlas_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "book" / "assets").mkdir(parents=True)
    code = (
        "import sys, test_failure\nfrom vitbook.widgets.explorer import atlas\nfrom vitbook.__main__ import main\n"
        "atlas.load_checkpoint = lambda *_: test_failure.CHECKPOINT\nsys.exit(main(['atlas']))"
    )
    done = read_only(
        tmp_path, sys.executable, "-c", code, env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.search(r"^vitbook: \S*attn\S* cannot be written \(.*\): .*copy the book to a folder", done.stderr, re.M)


# --- what outlives a build, damaged -----------------------------------------------------------------------------------


@pytest.fixture
def maps(tmp_path, monkeypatch) -> Path:
    """The atlas of one picture, each layer in several files."""
    monkeypatch.setattr(atlas, "CHUNK", 400)
    write_maps(tmp_path)
    return next(next(tmp_path.iterdir()).iterdir())


def write_maps(folder: Path) -> str:
    said = []
    atlas.write_atlas(CHECKPOINT, ["chelsea"], folder, say=said.append)
    return "".join(said)


DAMAGE = {
    "cut short": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "another letter": lambda data: data[:200] + (b"A" if data[200:201] != b"A" else b"B") + data[201:],
    "a flipped bit": lambda data: data[:200] + bytes([data[200] ^ 128]) + data[201:],
    "of another layer": lambda data: data.replace(b"/2", b"/1", 1),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", ["2.js", "2-1.js", "picture.webp"])
def test_damage_in_the_explorers_data_is_seen_and_mended_by_the_next_build(maps, name, how):
    whole = {path.name: path.read_bytes() for path in maps.iterdir()}
    damaged = DAMAGE[how](whole[name])
    if damaged == whole[name]:
        pytest.skip("a picture holds no layer's name")
    (maps / name).write_bytes(damaged)
    assert "files written" in write_maps(maps.parents[1])
    assert {path.name: path.read_bytes() for path in maps.iterdir()} == whole
    assert "in its place" in write_maps(maps.parents[1])


def test_a_disk_that_fills_while_the_explorers_data_are_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "assets").mkdir()
    folder, calls = tmp_path / "assets" / "attn", []

    def fills(number):
        calls.append(number)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fills)
        patch.setattr(atlas, "load_checkpoint", lambda *_: CHECKPOINT)
        patch.setattr(atlas, "FOLDER", folder)
        assert command.main(["atlas"]) == 1
    said = capsys.readouterr().err
    assert re.search(r"vitbook: \S+/1\.js cannot be written \(No space left on device\): make room", said)
    assert not [path for path in folder.rglob("*") if path.name.endswith(".part")]
    whole = [path for path in folder.rglob("*") if path.is_file()]
    assert len(whole) == 2
    write_maps(folder)
    assert all(path.is_file() for path in whole)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_an_error_of_the_disk_is_one_line(number, tmp_path):
    line = told(OSError(number, os.strerror(number), "some/file"), tmp_path)
    assert line.startswith("some/file cannot be ") and os.strerror(number) in line and "\n" not in line
    assert ("nothing half-written" in line) == (number != errno.EIO)
