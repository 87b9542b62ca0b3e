"""A home folder for a user who has none, as in a container that runs under a number without an account."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def lend_a_home() -> None:
    """Where nobody has a home folder, put one into $HOME that goes with this process: Jupyter isn't even imported without."""
    try:
        Path.home()
    except RuntimeError:
        home = tempfile.mkdtemp(prefix="vitbook-home-")
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        os.environ["HOME"] = home
