"""One build at a time in one folder, where it can write; and none goes on from what a killed one left.

Sphinx keeps what it has read beside the pages that it has written, and believes both the next time. After a build that was
cut off neither can be believed, so a build marks its folder while it is at work, and one that finds a mark starts afresh.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from filelock import FileLock, Timeout
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

from vitbook.library.errors import ROOM_IS_SHORT, WRITING, told

log = logging.getLogger(__name__)

LOCK = ".lock"  # held by the process, so that it goes with it
UNFINISHED = ".unfinished"  # there from the start of a build to its good end
MADE = ("executed", "jupyter_execute")  # beside the pages: notebooks as they were run, and their pictures
PATIENCE = 3.0  # seconds for a build that was just killed to let go
ROOM = 300e6  # bytes that a whole book takes while it is made
FULL = 1e6  # bytes left when something did not fit: a file that was cut off takes the rest


def begin(app: Sphinx, config) -> None:
    """Take the folder for this build.  Raises ExtensionError where another has it, or where it cannot be written."""
    folder = Path(app.outdir).parent
    lock = FileLock(folder / LOCK, timeout=PATIENCE)
    try:
        lock.acquire()
        _mark(app, folder / UNFINISHED)
    except Timeout:
        raise ExtensionError(f"another build is at work in {folder}: wait for its end, then build again") from None
    except OSError as error:
        raise ExtensionError(told(error, folder)) from None
    app.vitbook_lock = lock
    free = shutil.disk_usage(folder).free
    if config.vitbook_prepare and free < ROOM and not (Path(app.outdir) / "index.html").is_file():
        raise ExtensionError(
            f"the book takes up to {ROOM / 1e6:.0f} MB while it is made, and the disk of {folder} has "
            f"{free / 1e6:.0f} MB left: {ROOM_IS_SHORT}"
        )


def _mark(app: Sphinx, mark: Path) -> None:
    if mark.exists():
        log.info("the last build did not come to its end: this one starts afresh")
        (Path(app.doctreedir) / ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    mark.write_text("A build is at work here, or was cut off: the pages may be incomplete.\n", encoding="utf-8")


def empty(app: Sphinx) -> None:
    """Where everything is made afresh, nothing of an earlier build stays."""
    if not app.fresh_env_used:
        return
    for folder in (Path(app.outdir), *(Path(app.outdir).parent / name for name in MADE)):
        for entry in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def refuse_full_disk(app: Sphinx, error: Exception | None) -> None:
    """A file of the theme or of ours that finds no room is a warning to Sphinx, one each; here it is the end, in a sentence."""
    folder = Path(app.outdir).parent
    if error is None and shutil.disk_usage(folder).free < FULL:
        raise ExtensionError(told(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), folder))


def end(app: Sphinx, error: Exception | None) -> None:
    """Give the folder back; after a failure it keeps its mark, and what could not be written is told in words.

    Warnings that fail a build (-W --keep-going) count as one: Sphinx tells them of a page only when it reads or writes it, and it takes
    a style sheet that it could not copy for a warning too.
    """
    if error is None and not (app.keep_going and app._warncount):
        (Path(app.outdir).parent / UNFINISHED).unlink(missing_ok=True)
    while error is not None and not (isinstance(error, OSError) and error.errno in WRITING):
        error = error.__cause__ or error.__context__
    if error is not None:
        log.error("%s", told(error, Path(app.outdir).parent))
    app.vitbook_lock.release()


def setup(app: Sphinx) -> None:
    app.connect("config-inited", begin, priority=300)  # before anything is installed or written
    app.connect("builder-inited", empty, priority=300)
    app.connect("build-finished", refuse_full_disk, priority=100)  # before pages are finished
    app.connect("build-finished", end, priority=900)  # after everything else
