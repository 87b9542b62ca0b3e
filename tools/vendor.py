"""Fetch the JavaScript that the built book serves itself, so that no page ever asks another site for anything.

    python tools/vendor.py            # rewrite book/assets/vendor from npm and the installed anywidget (needs Node)
    python tools/vendor.py --check    # only compare what is committed with VERSIONS.toml (no network, no Node)

The files are committed: a reader needs neither Node nor npm. Run this only to move to another version.
``tests/test_vendor.py`` holds the table in step with the files and with the installed Python packages.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENDOR = ROOT / "book" / "assets" / "vendor"
FONTS = ROOT / "vitbook" / "figures" / "fonts"
TABLE = VENDOR / "VERSIONS.toml"

# Latin, Greek, punctuation, super- and subscripts, arrows, mathematical operators, shapes.
FIGURE_LETTERS = [(0x20, 0x17F), (0x370, 0x3FF), (0x2010, 0x209F), (0x2190, 0x22FF), (0x25A0, 0x25FF), (0x2600, 0x266F)]
# Written by hand and kept: our own glue, the notices, and the licence texts that the packages above leave out.
OURS = {"VERSIONS.toml", "README.md"}
# What widgets.js is bundled from: sources of ours, and npm packages pinned with their hashes in package-lock.json.
WIDGETS = ROOT / "tools" / "widgets"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def vendored_files() -> list[Path]:
    """Every file below vendor/ that came from somewhere else, in a fixed order."""
    files = (path for path in VENDOR.rglob("*") if path.is_file())
    return sorted(path for path in files if path.relative_to(VENDOR).as_posix() not in OURS)


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def unpack(name: str, scratch: Path) -> Path:
    """Download one package with npm, which verifies its integrity, and return the folder of what is in it."""
    folder = scratch / name.replace("/", "+")
    folder.mkdir()
    subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


def figure_fonts(scratch: Path) -> None:
    """Inter for pages and for matplotlib, which reads TrueType: npm's web fonts, unpacked and cut down to our letters."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    package = unpack("inter-ui@3.19.3", scratch)
    FONTS.mkdir(parents=True, exist_ok=True)
    copy(package / "LICENSE.txt", FONTS / "LICENSE.txt")
    for weight in ("Regular", "SemiBold"):
        font = TTFont(package / "Inter (web)" / f"Inter-{weight}.woff", recalcTimestamp=False)
        font.flavor = None
        cut = Subsetter(Options(layout_features=["kern", "mark", "mkmk", "tnum"], name_IDs=["*"], notdef_outline=True))
        cut.populate(unicodes=[letter for first, last in FIGURE_LETTERS for letter in range(first, last + 1)])
        cut.subset(font)
        if weight == "SemiBold":  # the bold of one family, which is how matplotlib looks for it
            font["name"].setName("Inter", 1, 3, 1, 0x409)
            font["name"].setName("Bold", 2, 3, 1, 0x409)
            font["OS/2"].usWeightClass = 700
        font.save(FONTS / f"Inter-{weight}.ttf")


def installed(package: str, inside: str) -> Path:
    """The path of a file that an installed Python package carries."""
    return Path(importlib.metadata.distribution(package).locate_file(inside))


def licence_of(package: str) -> Path:
    files = importlib.metadata.distribution(package).files or []
    return Path(next(file for file in files if file.name == "LICENSE").locate())


def bundle_widgets(scratch: Path) -> None:
    """One script with the widgets of ipywidgets and anywidget, and their style sheet, from the sources in tools/widgets.

    anywidget's front end ships in its Python package; taking it from there keeps the two in step.
    """
    shutil.copytree(WIDGETS, scratch / "widgets", ignore=shutil.ignore_patterns("node_modules"))
    folder = scratch / "widgets"
    run = partial(subprocess.run, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run(["npm", "ci", "--silent", "--ignore-scripts"])
    copy(installed("anywidget", "anywidget/nbextension/index.js"), folder / "built" / "anywidget.js")
    esbuild = ["node_modules/.bin/esbuild", "--bundle", "--minify", "--log-level=warning", "--legal-comments=none"]
    run([*esbuild, "styles.css", "--outfile=built/widgets.css"])
    aliases = ["--alias:anywidget.js=./built/anywidget.js", "--alias:sanitize-html=./escape.js"]
    options = ["--format=iife", "--inject:./amd.js", "--metafile=built/meta.json"]
    run([*esbuild, "entry.js", *options, *aliases, "--outfile=built/widgets.js"])
    for name in ("widgets.js", "widgets.css"):
        copy(folder / "built" / name, VENDOR / name)
    bundled = licences(folder, json.loads((folder / "built" / "meta.json").read_text())["inputs"])
    (VENDOR / "licences").mkdir(parents=True, exist_ok=True)
    (VENDOR / "licences" / "widgets.txt").write_text(bundled, encoding="utf-8")


def licences(folder: Path, inputs: Iterable[str]) -> str:
    """Name, version and licence text of every package that went into a bundle."""
    packages = {found[1] for path in inputs if (found := re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", path))}
    texts = [f"anywidget {importlib.metadata.version('anywidget')}\n\n{licence_of('anywidget').read_text()}"]
    for name in sorted(packages):
        home = folder / "node_modules" / name
        about = json.loads((home / "package.json").read_text())
        files = sorted(file for file in home.iterdir() if re.match(r"(?i)licen[cs]e", file.name))
        text = files[0].read_text(encoding="utf-8") if files else f"Licence: {about['license']}"
        texts.append(f"{name} {about['version']}\n\n{text}")
    return "\n\n----\n\n".join(text.strip() for text in texts) + "\n"


def write_table() -> None:
    lines = ["# Written by tools/vendor.py: what this folder holds, from where, and the hash of every file.", ""]
    pinned = json.loads((WIDGETS / "package.json").read_text())["dependencies"]
    rows = [(name, version, "npm", "BSD-3-Clause") for name, version in pinned.items()]
    rows.append(("anywidget", importlib.metadata.version("anywidget"), "Python package", "MIT"))
    for name, version, origin, licence in rows:
        lines += [f'[packages."{name}"]', f'version = "{version}"', f'from = "{origin}"', f'licence = "{licence}"', ""]
    lines.append("[sha256]")
    lines += [f'"{path.relative_to(VENDOR).as_posix()}" = "{sha256(path)}"' for path in vendored_files()]
    TABLE.write_text("\n".join(lines) + "\n")


def problems() -> list[str]:
    """What differs between the table and the folder; an empty list when they agree."""
    wanted = tomllib.loads(TABLE.read_text())["sha256"]
    found = {path.relative_to(VENDOR).as_posix(): sha256(path) for path in vendored_files()}
    return [
        *(f"{name}: listed but missing" for name in sorted(wanted.keys() - found.keys())),
        *(f"{name}: present but not listed" for name in sorted(found.keys() - wanted.keys())),
        *(f"{name}: changed" for name in sorted(wanted.keys() & found.keys()) if wanted[name] != found[name]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the committed files with VERSIONS.toml and stop")
    if not parser.parse_args().check:
        for path in vendored_files():
            path.unlink()
        with tempfile.TemporaryDirectory() as scratch:
            bundle_widgets(Path(scratch))
            figure_fonts(Path(scratch))
        write_table()
    for problem in problems():
        print(problem, file=sys.stderr)
    return 1 if problems() else 0


if __name__ == "__main__":
    raise SystemExit(main())
