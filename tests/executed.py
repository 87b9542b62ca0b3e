"""Runs chapters on checkpoints as the build runs them, without the build.

``python tests/executed.py`` reads lines of JSON, each a list of a checkpoint and chapters, and answers each with a line: name of the
chapter -> what went wrong; an empty object is a success. Each chapter has a process of its own, forked from one that has imported
everything.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]


def all_wrong(checkpoint: str, chapters: list[Path]) -> dict[str, str]:
    """Name of a chapter -> what went wrong, where something did."""
    found = {chapter.stem: _in_a_process_of_its_own(checkpoint, chapter) for chapter in chapters}
    return {name: words for name, words in found.items() if words}


def _in_a_process_of_its_own(checkpoint: str, chapter: Path) -> str:
    fork = get_context("fork")
    said, says = fork.Pipe(duplex=False)
    child = fork.Process(target=_run, args=(checkpoint, chapter, says))
    child.start()
    says.close()
    try:
        words = said.recv()
    except EOFError:
        words = "the process died"
    child.join()
    return words


def _run(checkpoint: str, chapter: Path, says) -> None:
    os.environ["VITBOOK_CHECKPOINT"] = checkpoint
    os.chdir(ROOT / "book")
    sys.stdout = open(os.devnull, "w")
    says.send(_wrong_with(chapter.read_text(encoding="utf-8")))


def _wrong_with(text: str) -> str:
    """Run the cells of a chapter in their order, then look for every value that its text names: "", or what went wrong."""
    from IPython.core.interactiveshell import InteractiveShell

    from bookbuild.myst import read
    from vitbook.figures import glue, plotting

    plotting.drawn = _laid_out

    chapter, shell = read(text), InteractiveShell.instance()
    shell.showtraceback = lambda *_, **__: None
    for cell in chapter.cells:
        done = shell.run_cell(cell.text, store_history=True)
        error = done.error_before_exec or done.error_in_exec
        if error and "raises-exception" not in cell.tags:
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            where = "; ".join(f"{Path(frame.filename).name}: {frame.line}" for frame in frames)
            return f"the cell at line {chapter.line(cell.start)}: {type(error).__name__}: {error} ({where})"
    names = {role.text.partition(":")[0] for role in chapter.find("role", "glue:text")}
    missing = sorted(names - set(glue.texts))
    return f"glued by no cell: {', '.join(missing)}" if missing else ""


def _laid_out(fig, alt: str) -> str:
    """In the place of a drawing: what it may fail at is its layout, and writing it down twice costs four times that."""
    if engine := fig.get_layout_engine():
        engine.execute(fig)
    return "<svg></svg>"


def import_everything() -> None:
    """What most chapters need, so that each need not load it again."""
    import matplotlib.pyplot  # noqa: F401
    import onnx  # noqa: F401
    import skimage.data  # noqa: F401
    import torch
    from transformers import ViTForImageClassification, ViTModel  # noqa: F401

    import vitbook.widgets  # noqa: F401
    from vitbook.figures.plotting import mpl_style

    torch.set_num_threads(1)  # and no thread is lost in a fork
    mpl_style()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    import_everything()
    for line in sys.stdin:
        source, *paths = json.loads(line)
        print(json.dumps(all_wrong(source, [Path(path).resolve() for path in paths])), flush=True)
