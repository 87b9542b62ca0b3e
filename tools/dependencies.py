"""Write DEPENDENCIES.md: what the requirements files ask for, under which licence, and why.

    python tools/dependencies.py            # rewrite the table from requirements*.txt and the installed packages
    python tools/dependencies.py --check    # only compare what is committed with what would be written
    python tools/dependencies.py --audit    # every installed package that these bring along: is its licence a permissive one?

``tests/test_dependencies.py`` holds the table in step. What the pages load has a table of its own, with a hash for every
file: book/assets/vendor/VERSIONS.toml.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "DEPENDENCIES.md"
FILES = {
    "requirements.txt": "The book",
    "requirements-dev.txt": "Its tests",
    "requirements-embedded.txt": "The embedded checkpoint (one file, fixed by its hash; its dependencies stay out)",
}
HEAD = """# Dependencies

Written by `tools/dependencies.py` from the requirements files and from what the installed packages say of themselves.
Every version is pinned; none of these packages is copied into this repository.
The scripts that the pages load are, and stand with licences and hashes in `book/assets/vendor`.
The font of the formulas stands with its licence in `bookbuild/fonts`.
PyTorch's build for CUDA brings NVIDIA's libraries along under NVIDIA's terms, which bind whoever passes them on, as in an image.
`python tools/dependencies.py --audit` looks at the licence of everything that comes along; CI does once a week, with pip-audit.
"""
PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[\w.]+)(?P<hash> --hash=\S+)?(?: +# (?P<why>.+))?$")
PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|Zlib|CC0|CNRI|BSL-1\.0|HPND|Unlicense|Public Domain",
    re.I,
)
#: What is not permissive, or does not say so, and why it is here all the same.
KNOWN = {
    "docutils": "in the public domain and BSD; only an Emacs mode in it is under the GPL",
    "nvidia-": "PyTorch's build for CUDA brings it; NVIDIA's own terms hold for whoever passes it on, such as in an image",
    "cuda-": "the same",
}

#: What was tried in the place of our own code and did not pass the tests that stand: library, what it would do, why ours stays.
TRIED = {
    (
        "sphinxext-opengraph 0.13.0",
        "previews",
    ): "cuts a description in the middle of a word and keeps `[ Name et al., 2021]` in it; "
    "says nothing of the search, the index and the front page, and names no picture where the book has no address",
    (
        "sphinx-sitemap 2.9.0",
        "the sitemap",
    ): "lists only the pages that this build wrote, so a build of one changed chapter loses the "
    "others; warns, and so fails the build, where the book has no address; brings a reader of the git history along",
    (
        "sphinx-notfound-page 1.1.0",
        "404.html",
    ): "works; replaces five of Sphinx's functions where one line (`<base href>`) does",
    (
        "jupyter-cache's local-parallel",
        "running chapters",
    ): "kernels outlive a build that is killed, Ctrl-C waits for chapters, "
    "a cell that runs too long is not named, and several processes write one cache",
    (
        "Sphinx's parallel reading",
        "running chapters",
    ): "sphinx_multitoc_numbering, which jupyter-book loads, forbids it: chapters run "
    "one after another; and either the first failure ends the build or none says its line",
    (
        "pip-licenses 5.5.5",
        "licences in this table",
    ): "says the same of 183 of 185 packages, but UNKNOWN where only a licence file "
    "tells (axe-playwright-python); needs two more packages",
    (
        "hf_hub_download of huggingface_hub 2.4.0",
        "the reference checkpoint's download",
    ): "compares the size of what arrived, never its hash, and puts it in place before anyone could; damage in the cache stays",
    (
        "pooch 1.9.0",
        "pictures of the catalogue",
    ): "the pictures come inside scikit-image's wheel; the one that is downloaded goes on where it broke off, and pooch "
    "begins anew",
    (
        "ImageOps.exif_transpose of pillow",
        "turning photographs upright",
    ): "its copy has lost the file's tags (bits per sample, white is zero), which come after it: five tests of TIFFs fail",
    (
        "pytest-playwright 0.10.0",
        "the browser of the tests",
    ): "opens a new context for every test; ours share one a worker, which the gate's time needs",
}


def direct(file: str) -> list[dict[str, str]]:
    """The pinned packages of a requirements file: name, version, why.  Raises ValueError for a line that pins nothing."""
    rows, reasons = [], []
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reasons.append(line.strip("# "))
        elif line.strip() and not line.startswith("-e ."):
            found = PINNED.match(line)
            if not found or not (found["why"] or found["hash"]):
                raise ValueError(f"{file}: {line!r} needs ==, and a reason behind # or a hash")
            rows.append({"name": found["name"], "version": found["version"], "why": found["why"] or reasons[0]})
    return rows


def licence(package: str) -> str:
    """What an installed package says its licence is: its expression, else its classifiers, its field, its file's first line."""
    found = metadata.distribution(package)
    about = found.metadata
    classified = [c.split(" :: ")[-1] for c in about.get_all("Classifier") or [] if c.startswith("License :: ")]
    classified = [name for name in classified if name != "OSI Approved"]
    texts = (file.read_text() for file in found.files or [] if "LICENSE" in file.name.upper())
    said = about.get("License-Expression") or " and ".join(classified) or about.get("License") or next(texts, "")
    lines = said.strip().splitlines()
    return lines[0] if lines else "not stated"


def closure(packages: list[str]) -> set[str]:
    """These packages and everything installed that they ask for on this machine."""
    seen, waiting = set(), [canonicalize_name(name) for name in packages]
    while waiting:
        name = waiting.pop()
        try:
            asked = [] if name in seen else metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        seen.add(name)
        wanted = (Requirement(text) for text in asked)
        waiting += [canonicalize_name(r.name) for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""})]
    return seen


def strict(package: str, said: str) -> bool:
    """Whether a licence asks for more than a notice, as far as its name tells; a package in `KNOWN` was looked at."""
    if any(package.startswith(known) for known in KNOWN):
        return False
    parts = re.split(r"\bAND\b|\band\b", said)
    return not all(any(map(PERMISSIVE.search, part.split(" OR "))) for part in parts)


def table() -> str:
    """DEPENDENCIES.md as it should be."""
    text = HEAD
    for file, title in FILES.items():
        text += f"\n## {title}: `{file}`\n\n| package | version | licence | why |\n|---|---|---|---|\n"
        for row in direct(file):
            text += f"| {row['name']} | {row['version']} | {licence(row['name'])} | {row['why']} |\n"
    text += "\n## What we tried and kept our own\n\n| library | what it would do | why ours stays |\n|---|---|---|\n"
    return text + "".join(f"| {library} | {task} | {why} |\n" for (library, task), why in TRIED.items())


def main() -> int:
    if "--audit" in sys.argv[1:]:
        packages = sorted(closure([row["name"] for file in FILES for row in direct(file)]))
        found = {name: licence(name) for name in packages}
        doubtful = {name: said for name, said in found.items() if strict(name, said)}
        print(
            "\n".join(f"{name}: {said}" for name, said in doubtful.items()) or f"{len(found)} packages, all permissive"
        )
        return 1 if doubtful else 0
    if "--check" not in sys.argv[1:]:
        TABLE.write_text(table(), encoding="utf-8")
    elif not TABLE.is_file() or TABLE.read_text(encoding="utf-8") != table():
        print(f"{TABLE.name} is not what the requirements say: run python tools/dependencies.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
