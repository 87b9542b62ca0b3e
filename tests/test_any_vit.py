"""The book runs on any plain ViT: every chapter, on checkpoints of other sizes that hold random numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import folders
import pytest
import torch

import vitbook

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(p for p in (ROOT / "book").glob("*.md") if "load_checkpoint" in p.read_text(encoding="utf-8"))
ON_PHOTOGRAPHS = [
    ROOT / "book" / f"{name}.md" for name in ("eq2", "looking_at_heads", "intro", "patches", "positions")
]  # they follow a place of a photograph; what the last three do with one head or one channel shows on many patches too
SHAPES = {
    "three heads, a 4 x 4 grid, no class head": (CHAPTERS, dict(
        head=False, image_size=[20, 20], hidden_size=24, num_hidden_layers=4, num_attention_heads=3,
    )),
    "one head, one channel, a 3 x 5 grid": ([path for path in CHAPTERS if path not in ON_PHOTOGRAPHS[2:]], dict(
        image_size=[15, 25], num_channels=1, num_hidden_layers=2, num_attention_heads=1,
    )),
    "more patches of one channel, no names of classes": (ON_PHOTOGRAPHS, dict(
        image_size=[96, 128], patch_size=8, num_channels=1, hidden_size=48, num_hidden_layers=6, num_attention_heads=4,
        id2label={i: f"LABEL_{i}" for i in range(7)},
    )),
}  # fmt: skip


def write(folder: Path, image_size: list[int], num_channels: int = 3, **changes) -> Path:
    """A random checkpoint of that shape, and how its pictures are prepared."""
    folders.write(folder, image_size=image_size, num_channels=num_channels, **changes)
    height, width = image_size
    how = {
        "size": {"height": height, "width": width},
        "image_mean": [0.4] * num_channels,
        "image_std": [0.3] * num_channels,
    }
    return folders.settings(folder, file="preprocessor_config.json", **how)


@pytest.fixture(scope="module")
def run():
    """``run(checkpoint, *chapters)``: name of a chapter -> what went wrong, where something did."""
    with subprocess.Popen(
        [sys.executable, "tests/executed.py"], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip

        def answer(checkpoint: Path | str, *chapters: Path) -> dict[str, str]:
            process.stdin.write(json.dumps([str(checkpoint), *map(str, chapters)]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield answer
        process.stdin.close()


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_every_chapter_runs_on_any_plain_vit(run, shape, tmp_path):
    pages, sizes = SHAPES[shape]
    assert run(write(tmp_path / "vit", **sizes), *pages) == {}


@pytest.mark.slow
def test_what_goes_wrong_in_a_chapter_is_found(run, tmp_path):
    cell = "```{{code-cell}} ipython3\n{}\n```\n"
    glued = cell.format("from vitbook.figures import glue\nglue(seen=1)")
    texts = {
        "fine": glued + "{glue:text}`seen`",
        "unseen": glued + "{glue:text}`unseen:.1f`",
        "fails": cell.format("1 / 0"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    wrong = run("embedded", *tmp_path.glob("*.md"))
    assert wrong.keys() == {"unseen", "fails"}
    assert wrong["unseen"] == "glued by no cell: unseen" and "line 1: ZeroDivisionError" in wrong["fails"]


def test_only_the_released_checkpoints_are_known(tmp_path):
    """Known means that a chapter may assert what training left."""
    assert not vitbook.load_checkpoint(write(tmp_path / "embedded", [20, 20])).known
    assert vitbook.load_checkpoint("embedded").known
    assert vitbook.load_checkpoint("embedded").to(torch.float64).known
