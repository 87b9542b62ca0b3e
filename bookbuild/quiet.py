"""What a build says: a line a chapter, warnings, and where the book is.  ``jupyter-book build -v`` says everything."""

from __future__ import annotations

import sys
from logging import WARNING, LogRecord, getLogger

from sphinx.application import Sphinx
from sphinx.util import console, logging

log = logging.getLogger(__name__)

OURS = "sphinx.bookbuild"  # Sphinx puts its own name before that of a module


def only_ours(record: LogRecord) -> bool:
    """Whether a reader of the build wants this line: what the book's own builder says, and every warning."""
    return record.levelno >= WARNING or record.name.startswith(OURS)


def say_that_it_goes_on(app: Sphinx, env) -> None:
    log.info("writing %d pages", len(env.found_docs))


def setup(app: Sphinx) -> None:
    if not (console.color_terminal() and sys.stderr.isatty()):
        console.nocolor()  # or a file would hold the terminal's codes
    getLogger("fontTools").setLevel(WARNING)
    if not app.verbosity:
        for handler in getLogger("sphinx").handlers:
            handler.addFilter(only_ours)
    app.connect("env-updated", say_that_it_goes_on)
