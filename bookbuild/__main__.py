"""``python -m bookbuild``: the whole book, strictly.  Every chapter runs afresh; errors and warnings fail the build."""

from __future__ import annotations

import argparse
import platform
import sys
from importlib import metadata
from pathlib import Path
from time import monotonic

from jupyter_book.sphinx import build_sphinx
from sphinx.util import console

SITE = Path("_build", "html")
TOLD = ("torch", "transformers", "matplotlib", "sphinx", "jupyter-book")


def main() -> int:
    """Build the book of this folder; 0 when all is well."""
    argparse.ArgumentParser(prog="python -m bookbuild", description=__doc__.replace("``", "")).parse_args()
    if not Path("_toc.yml").is_file():
        print(f"There is no book in {Path.cwd()}: expected _config.yml and _toc.yml.", file=sys.stderr)
        return 1
    start = monotonic()
    versions = [f"Python {platform.python_version()}", *(f"{name} {metadata.version(name)}" for name in TOLD)]
    print(", ".join(versions), flush=True)
    console.nocolor()  # Sphinx greets before it reads our extension, which then decides (bookbuild/quiet.py)
    failed = build_sphinx(
        str(Path.cwd()),
        str(SITE.absolute()),
        path_config="_config.yml",
        noconfig=True,
        confoverrides={"external_toc_path": str(Path("_toc.yml").absolute()), "latex_individualpages": False},
        freshenv=True,
        warningiserror=True,
        keep_going=True,
    )
    took = f"{monotonic() - start:.0f} s"
    if failed:
        print(f"\nThe build failed after {took}: the reason stands above.", file=sys.stderr)
        return 1
    print(f"\nThe book is built, in {took}. Open {SITE / 'index.html'}, or run `make serve`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
