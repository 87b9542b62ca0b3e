"""Which room may import which: the arrows of CONTRIBUTING.md, read off the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import vitbook

PACKAGE = Path(vitbook.__file__).parent

#: room -> rooms of ours that it may import.  A room that is not here may not exist.  The model first, one file a step.
ARROWS = {
    "checks": {"wording"},
    "config": {"checks", "wording"},
    "notation": set(),
    "wording": set(),
    "attention": set(),
    "embed": set(),
    "weights": {"checks", "config", "wording"},
    "patches": {"checks", "config"},
    "pixels": {"checks", "config", "pictures"},
    "encoder": {"attention", "weights"},
    "kernels": {"attention", "encoder", "weights"},
    "readout": {"checks", "encoder"},
    "trace": {"attention", "checks", "config", "patches", "wording"},
    "edits": {"attention", "checks", "config", "encoder", "weights", "wording"},
    "model": {"checks", "edits", "embed", "kernels", "patches", "readout", "trace", "weights"},
    "maps": {"config", "patches", "trace"},
}
ROOT = set(ARROWS)
ARROWS |= {
    "pictures": {"wording"},
    "library": ROOT | {"pictures"},
    "commands": ROOT | {"library", "pictures"},
    "exercises": {"checks", "studies"},
    "studies": ROOT,
    "ledger": ROOT | {"library", "pictures", "studies"},
    "figures": ROOT | {"ledger", "pictures", "studies"},
    "widgets": ROOT | {"figures", "ledger", "library", "pictures", "studies"},
}
#: The same inside studies/, where no study knows another but for these.
STUDIES = {
    "bias": {"config", "patches", "weights"},
    "convolution": {"checks"},
    "counting": {"checks", "config", "studies.formulas", "wording"},
    "few_shot": {"checks"},
    "formulas": set(),
    "hybrid": {"checks", "weights"},
    "initialisation": set(),
    "numerics": set(),
    "numpy_block": {"checks"},
    "patterns": {"checks", "studies.formulas"},
    "pencil": {"attention", "checks"},
    "pitfalls": {"attention", "embed", "encoder", "patches", "readout", "weights"},
}
DOORS = ("__init__", "__main__")


def rooms():
    return sorted(p for p in PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, at any depth of its code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def ours(path: Path) -> set[str]:
    """What a file imports of vitbook, without the package's own name: "config", "studies.formulas.Count"."""
    return {name.removeprefix("vitbook.") for name in imports_of(path) if name.startswith("vitbook.")}


@pytest.mark.parametrize("path", rooms(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows(path):
    room = room_of(path)
    if room in DOORS:
        return
    assert room in ARROWS, (
        f"{room} is a new room: say in ARROWS what it may import, and in CONTRIBUTING.md what it holds"
    )
    assert {name.split(".")[0] for name in ours(path)} <= ARROWS[room] | {room}


@pytest.mark.parametrize(
    "study",
    sorted(
        {p.relative_to(PACKAGE / "studies").with_suffix("").parts[0] for p in rooms() if room_of(p) == "studies"}
        - {"__init__"}
    ),
)
def test_arrows_of_a_study(study):
    home = PACKAGE / "studies" / study
    names = set().union(*map(ours, sorted(home.rglob("*.py")) if home.is_dir() else [home.with_suffix(".py")]))
    known = {".".join(name.split(".")[:2]) if name.startswith("studies.") else name.split(".")[0] for name in names}
    assert known <= STUDIES[study] | {f"studies.{study}"}


@pytest.mark.parametrize("path", rooms(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_library_room_knows_transformers_and_only_figures_and_widgets_draw(path):
    tops = {name.split(".")[0] for name in imports_of(path)}
    if room_of(path) not in ("library", "__main__"):
        assert "transformers" not in tops
    if room_of(path) not in ("figures", "widgets"):
        assert not tops & {"matplotlib", "ipywidgets", "anywidget"}
    assert not tops & {"bookbuild", "sphinx", "docutils", "jupyter_book", "jupyter_server", "jupytext", "myst_nb"}


def test_no_chapter_knows_how_it_is_built():
    for chapter in sorted((PACKAGE.parent / "book").glob("*.md")):
        assert "bookbuild" not in chapter.read_text(encoding="utf-8"), chapter.name


def test_every_room_stands_in_the_table():
    table = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    missing = [
        room for room in [*ARROWS, *STUDIES, "bookbuild"] if f"`{room}`" not in table and f"`{room}/`" not in table
    ]
    assert not missing


def test_import_is_light():
    heavy = ("torch", "transformers", "matplotlib", "numpy")
    code = f"import sys, vitbook, vitbook.config; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_surface():
    """Every public name loads, is documented, and the list is the one that readers were promised."""
    assert vitbook.__all__ == [
        "AttentionExplorer", "Checkpoint", "CheckpointError", "PICTURES", "PictureError", "Trace", "VARIANTS", "ViTConfig", "Weights",
        "__version__", "agree", "check", "compare", "count_parameters", "from_transformers", "load_checkpoint",
        "load_picture", "preprocess",
        "published", "read_ledger", "run", "vit_encoder_block",
    ]  # fmt: skip
    for name in vitbook.__all__:
        assert getattr(vitbook, name).__doc__


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(AttributeError, match="load_checkpoint"):
        vitbook.load_chekpoint  # noqa: B018
