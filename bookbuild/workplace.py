"""One build at a time in one folder, where it can write; and only a whole site takes the place of the last one.

A build writes into a folder of its own, which becomes the site at its good end: a build that fails or is killed leaves the last good
site as it was. Sphinx keeps what it has read beside the pages, and believes it the next time; after a build that was cut off it cannot
be believed, so a build marks its folder while it is at work, and one that finds a mark starts afresh.
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
BEFORE = ".before"  # the last site, for the moment in which the next one takes its place
MADE = ("executed", "jupyter_execute")  # beside the pages: notebooks as they were run, and their pictures
PATIENCE = 3.0  # seconds for a build that was just killed to let go
ROOM = 300e6  # bytes that a whole book takes while it is made
ROOM_AGAIN = 100e6  # where one stands already, only its pages are there twice for a while
FULL = 1e6  # bytes left when something did not fit: a file that was cut off takes the rest


def begin(app: Sphinx, config) -> None:
    """Take the folder for this build.  Raises ExtensionError where another has it, or where it cannot be written."""
    site, folder = app.outdir, Path(app.outdir).parent
    lock = FileLock(folder / LOCK, timeout=PATIENCE)
    try:
        lock.acquire()
        _mark(app, folder / UNFINISHED)
    except Timeout:
        raise ExtensionError(f"another build is at work in {folder}: wait for its end, then build again") from None
    except OSError as error:
        raise ExtensionError(told(error, folder)) from None
    app.vitbook_lock, app.vitbook_site = lock, Path(site)
    app.outdir = site.with_name(f".{site.name}")
    bring_back(app.vitbook_site)
    needed, free = ROOM_AGAIN if is_whole(app.vitbook_site) else ROOM, shutil.disk_usage(folder).free
    if config.vitbook_prepare and free < needed:
        raise ExtensionError(
            f"the book takes up to {needed / 1e6:.0f} MB while it is made, and the disk of {folder} has "
            f"{free / 1e6:.0f} MB left: {ROOM_IS_SHORT}"
        )


def _mark(app: Sphinx, mark: Path) -> None:
    if mark.exists():
        log.info("the last build did not come to its end: this one starts afresh")
        (Path(app.doctreedir) / ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    mark.write_text("A build is at work here, or was cut off: the pages may be incomplete.\n", encoding="utf-8")


def lay_out(app: Sphinx) -> None:
    """Begin with nothing where everything is made afresh, and else with the site that stands, of which most will be the same."""
    made = () if not app.fresh_env_used else (Path(app.outdir).parent / name for name in MADE)
    for folder in (Path(app.outdir), *made):
        shutil.rmtree(folder, ignore_errors=True)
    if app.fresh_env_used:
        Path(app.outdir).mkdir()
    else:
        shutil.copytree(app.vitbook_site, app.outdir, symlinks=True)


def is_whole(site: Path) -> bool:
    return (site / "index.html").is_file()


def hand_over(site: Path, new: Path) -> None:
    """Put the new site in the place of the one that stands."""
    shutil.rmtree(site.with_name(BEFORE), ignore_errors=True)
    site.rename(site.with_name(BEFORE))
    new.rename(site)
    shutil.rmtree(site.with_name(BEFORE), ignore_errors=True)


def bring_back(site: Path) -> None:
    """The last site, where a build was killed in the very moment of handing over."""
    if is_whole(site.with_name(BEFORE)) and not is_whole(site):
        shutil.rmtree(site, ignore_errors=True)  # Sphinx has made an empty one
        site.with_name(BEFORE).rename(site)


def refuse_full_disk(app: Sphinx, error: Exception | None) -> None:
    """A file of the theme or of ours that finds no room is a warning to Sphinx, one each; here it is the end, in a sentence."""
    folder = Path(app.outdir).parent
    if error is None and shutil.disk_usage(folder).free < FULL:
        raise ExtensionError(told(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), folder))


def end(app: Sphinx, error: Exception | None) -> None:
    """Hand the site over and give the folder back; after a failure it keeps its mark, and what could not be written is told in words.

    Warnings that fail a build (-W --keep-going) count as one: Sphinx tells them of a page only when it reads or writes it, and it takes
    a style sheet that it could not copy for a warning too.
    """
    if error is None and not (app.keep_going and app._warncount):
        hand_over(app.vitbook_site, Path(app.outdir))
        (Path(app.outdir).parent / UNFINISHED).unlink(missing_ok=True)
    while error is not None and not (isinstance(error, OSError) and error.errno in WRITING):
        error = error.__cause__ or error.__context__
    if error is not None:
        log.error("%s", told(error, Path(app.outdir).parent))
    app.vitbook_lock.release()


def setup(app: Sphinx) -> None:
    app.connect("config-inited", begin, priority=300)  # before anything is installed or written
    app.connect("builder-inited", lay_out, priority=300)
    app.connect("build-finished", refuse_full_disk, priority=100)  # before pages are finished
    app.connect("build-finished", end, priority=900)  # after everything else
