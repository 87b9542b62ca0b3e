"""Which room may import which: the arrows of CONTRIBUTING.md, read off the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import vitbook

PACKAGE = Path(vitbook.__file__).parent

#: room -> rooms of ours that it may import.  A room that is not here may not exist.
ARROWS = {
    "config": set(),
    "notation": set(),
    "pictures": set(),
    "numpy_block": set(),
    "wording": set(),
    "patterns": {"formulas"},
    "hybrid": {"config", "weights"},
    "bias": {"config", "patches", "weights"},
    "convolution": set(),
    "formulas": set(),
    "attention": set(),
    "embed": set(),
    "weights": {"config"},
    "patches": {"config"},
    "counting": {"config", "formulas"},
    "pixels": {"config", "pictures"},
    "encoder": {"attention", "weights"},
    "readout": {"encoder"},
    "trace": {"attention", "config", "patches", "readout", "wording"},
    "model": {"embed", "encoder", "patches", "readout", "trace"},
    "maps": {"config", "patches", "trace"},
    "finetune": {"encoder", "model", "pixels"},
    "pencil": {"attention"},
    "exercises": {"counting", "numpy_block", "pencil"},
    "publications": set(),
    "measure": set(
        "attention config counting encoder formulas library model numpy_block patches pencil pictures pixels publications "
        "readout trace weights".split()
    ),
    "verdicts": {"config", "measure", "pictures", "publications"},
    "pitfalls": {"attention", "embed", "encoder", "patches", "readout", "weights"},
    "numerics": {"config", "encoder", "model", "trace", "weights"},
}
FREE = ("library", "views", "__init__", "__main__")


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


@pytest.mark.parametrize("path", rooms(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows(path):
    room = room_of(path)
    if room in FREE:
        return
    assert room in ARROWS, (
        f"{room} is a new room: say in ARROWS what it may import, and in CONTRIBUTING.md what it holds"
    )
    ours = {name.split(".")[1] for name in imports_of(path) if name.startswith("vitbook.")}
    assert ours <= ARROWS[room] | {room}


@pytest.mark.parametrize("path", rooms(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_library_room_knows_transformers_and_only_views_draw(path):
    tops = {name.split(".")[0] for name in imports_of(path)}
    if room_of(path) not in ("library", "__main__"):
        assert "transformers" not in tops
    if room_of(path) != "views":
        assert not tops & {"matplotlib", "ipywidgets", "anywidget"}


def test_every_room_stands_in_the_table():
    table = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    missing = [room for room in [*ARROWS, "library", "views"] if f"`{room}`" not in table and f"`{room}/`" not in table]
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
        "__version__", "agree", "check", "compare", "count_parameters", "ledger", "load_checkpoint", "load_picture", "preprocess",
        "published", "run", "vit_encoder_block",
    ]  # fmt: skip
    for name in vitbook.__all__:
        assert getattr(vitbook, name).__doc__


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(AttributeError, match="load_checkpoint"):
        vitbook.load_chekpoint  # noqa: B018
