"""Run the chapters side by side before Sphinx reads them, each afresh, and hand the outputs over through an empty cache.

Sphinx alone runs one chapter after another, and most of a chapter's time is one core importing torch. The cache is
keyed on the cells alone, so it is emptied first: what the pages show was computed by this build.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from hashlib import sha256
from multiprocessing import active_children, parent_process
from pathlib import Path
from socket import socket
from threading import Thread
from time import monotonic

import nbformat
import zmq
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_client.provisioning import LocalProvisioner
from myst_nb.core.read import is_myst_markdown_notebook
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert.filters.ansi import strip_ansi
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from traitlets.config import Config

import vitbook
from bookbuild.nursery import Kernel, nursery

log = logging.getLogger(__name__)

READER = {"name": "myst_nb_md", "type": "plugin"}
EXECUTED = "executed"  # beside html in _build
MOST_AT_ONCE = 4  # kernels, each of which may hold a model
LAUNCHER = [sys.executable, "-m", "ipykernel_launcher"]
# What chapters that import the package come to import later, in a function of ours.
LATER = """torch matplotlib.pyplot vitbook.figures.plotting vitbook.widgets anywidget onnx
transformers.models.vit.modeling_vit""".split()
MANY = 4  # chapters that import the package, from which on all of that is imported once
# Without it each kernel warns that others on this machine could read along.
ENCRYPTED = Config({"KernelManager": {"transport_encryption": "auto"}} if zmq.has("curve") else {})
ENDED = {
    CellTimeoutError: (
        "this cell ran longer than {} seconds and was ended",
        "Give it less to do, or raise execute: timeout: in _config.yml.",
    ),
    DeadKernelError: (
        "the kernel died in this cell",
        "Most often the memory did not suffice: close other programs, then build again.",
    ),
}


def run_chapters(app: Sphinx, env, docnames: list[str]) -> None:
    """Execute every notebook among the documents that Sphinx is about to read.  Raises when one of them fails, naming all."""
    if env.mystnb_config.execution_mode != "cache":
        return
    cache_path = Path(env.mystnb_config.execution_cache_path)
    if cache_path.exists():
        shutil.rmtree(cache_path)
    chapters = chapters_to_run({docname: Path(env.doc2path(docname)) for docname in docnames})
    if not chapters:
        return

    cache = get_cache(str(cache_path))
    records = {cache.add_nb_to_project(str(path), read_data=READER).pk: name for name, path in chapters.items()}
    failed = _execute(cache, records, env.mystnb_config.execution_timeout)
    if failed:
        reports = [problem.strip()[-3000:] for _, problem in sorted(failed.items())]
        log.error("%s", "\n\n".join(["", *reports, ""]))  # once, since what is raised is printed more than once
        raise ExtensionError(
            f"{len(failed)} of {len(chapters)} chapters failed ({', '.join(sorted(failed))}): see above"
        )
    keep_notebooks(cache, records, Path(app.outdir).parent / EXECUTED)


def chapters_to_run(sources: dict[str, Path]) -> dict[str, Path]:
    """The notebooks among the sources; of pages without cells only the first.

    The cache is keyed on cells, so that all pages without any share one entry, and two kernels would trip over it.
    """
    texts = {name: path.read_text("utf-8") for name, path in sources.items()}
    notebooks = {name: path for name, path in sources.items() if is_myst_markdown_notebook(texts[name])}
    bare = [name for name in notebooks if "{code-cell}" not in texts[name]]
    return {name: path for name, path in notebooks.items() if name not in bare[1:]}


def keep_notebooks(cache, records: dict[int, str], folder: Path) -> None:
    """Write each chapter as the notebook that was run, with its outputs, for those who check or take it along."""
    for pk, name in records.items():
        _, notebook = cache.merge_match_into_notebook(cache.get_project_notebook(pk).nb)
        target = folder / f"{name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)


def executed_notebook(app: Sphinx, name: str) -> nbformat.NotebookNode | None:
    """The notebook of a page as it was run, or None for a page without cells."""
    path = Path(app.outdir).parent / EXECUTED / f"{name}.ipynb"
    return nbformat.read(path, as_version=4) if path.is_file() else None


def _execute(cache, records: dict[int, str], timeout: int) -> dict[str, str]:
    """Run the recorded notebooks, at most as many at once as there are cores; what failed, and why."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = max(1, min(cores, len(records), MOST_AT_ONCE))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // workers)))  # kernels that share cores share threads
    log.info("running %d chapters, %d at a time", len(records), workers)
    # Writes matplotlib's list of fonts where there is none: in a cell, the notice that it takes a while would be a warning.
    import matplotlib.font_manager  # noqa: F401

    failed = {}
    with (
        kernels_for([cache.get_project_notebook(pk).nb for pk in records]) as kernels,
        ProcessPoolExecutor(workers, initializer=_begin, initargs=[kernels]) as pool,
    ):
        jobs = {pool.submit(run_chapter, cache, pk, timeout): name for pk, name in records.items()}
        try:
            for done, job in enumerate(as_completed(jobs), 1):
                problem = _keep(cache, job, jobs[job])
                time = "FAILED" if problem else f"{job.result().data['execution_seconds']:.0f} s"
                log.info("  %2d/%d  %7s  %s", done, len(jobs), time, jobs[job])
                if problem:
                    failed[jobs[job]] = problem
        except BaseException:  # Ctrl-C: the pool would first run what is waiting
            for worker in active_children():
                worker.kill()
            raise
    return failed


def kernels_for(chapters: list[nbformat.NotebookNode]):
    """Where kernels come from: a process that has imported what several of these chapters import, or nowhere."""
    if sys.platform != "linux" or len(chapters) < 2:
        return nullcontext()
    asked = Counter(name for chapter in chapters for name in imported(chapter))
    shared = sorted(name for name, times in asked.items() if times > 1)
    return nursery(["ipykernel.kernelapp", *shared, *(LATER if asked["vitbook"] >= MANY else ())])


def imported(chapter: nbformat.NotebookNode) -> set[str]:
    """The modules that the cells of a notebook import."""
    names = set()
    for cell in chapter.cells:
        try:
            lines = ast.walk(ast.parse(cell.source if cell.cell_type == "code" else ""))
        except SyntaxError:  # IPython's own words, or a mistake that running the cell will tell
            continue
        for line in lines:
            names |= {alias.name for alias in line.names} if isinstance(line, ast.Import) else set()
            names |= {line.module} if isinstance(line, ast.ImportFrom) and line.module and not line.level else set()
    return names


class ChapterFailed(Exception):
    """A cell of a chapter that did not come to its end: where, and why."""


class Forked(LocalProvisioner):
    """A kernel of the nursery in the place of one that starts by itself."""

    async def launch_kernel(self, cmd, **how):
        if cmd[: len(LAUNCHER)] != LAUNCHER:
            return await super().launch_kernel(cmd, **how)
        self.process = Kernel(_kernels, cmd[len(LAUNCHER) :], how.get("cwd") or Path.cwd(), how["env"])
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class Client(NotebookClient):
    def create_kernel_manager(self):
        manager = super().create_kernel_manager()
        if _kernels:
            manager.provisioner = Forked(kernel_id="", kernel_spec=manager.kernel_spec, parent=manager)
        return manager


def run_chapter(cache, pk: int, timeout: int) -> CacheBundleIn:
    """Run a recorded notebook, in a worker.  Raises ChapterFailed."""
    chapter = cache.get_project_notebook(pk)
    # Times would go into the cells' metadata, by which the cache knows a notebook again; and a kernel that may end by itself takes
    # a second or two to clean up what nobody needs.
    how = {"record_timing": False, "shutdown_kernel": "immediate"}
    resources = {"metadata": {"path": str(Path(chapter.uri).parent)}}
    client = Client(chapter.nb, timeout=timeout, resources=resources, config=ENCRYPTED, **how)
    started = [0]
    client.on_cell_start = lambda cell, cell_index: started.append(cell_index)
    start = monotonic()
    try:
        client.execute()
    except CellExecutionError as error:
        raise ChapterFailed(strip_ansi(f"{_place(chapter, started[-1])}: {error}")) from None
    except (CellTimeoutError, DeadKernelError) as error:
        what, todo = ENDED[type(error)]
        source = chapter.nb.cells[started[-1]].source
        raise ChapterFailed(f"{_place(chapter, started[-1])}: {what.format(timeout)}:\n\n{source}\n\n{todo}") from None
    return CacheBundleIn(chapter.nb, chapter.uri, data={"execution_seconds": monotonic() - start})


def _place(chapter, cell: int) -> str:
    """File and line of a cell."""
    lines = chapter.nb.metadata.get("source_map")
    return f"{chapter.uri}:{lines[cell]}" if lines else chapter.uri


def _keep(cache, job: Future, name: str) -> str:
    """Put what a worker ran into the cache, which this process alone writes; returns what went wrong, or nothing.

    The cache bears no two writers: one may take the other's newest record for the oldest, and delete it.
    """
    try:
        cache.cache_notebook_bundle(job.result(), check_validity=False, overwrite=True)
    except ChapterFailed as failure:
        return str(failure)
    except Exception as error:  # a full disk, a worker that was killed, a kernel that does not start
        return f"{name} could not be run: {type(error).__name__}: {error}"
    return ""


_kernels: socket | None = None  # in a worker: where its kernels come from, if they are forked


def _begin(kernels: socket | None) -> None:
    """In a worker: end when the build ends, even killed, and take the kernel along."""
    global _kernels
    _kernels = kernels

    def watch() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def outdated(app: Sphinx, env, added, changed, removed) -> list[str]:
    """All pages, when vitbook itself has changed since they were made: their outputs are those of the old code."""
    rooms = (Path(vitbook.__file__).parent, Path(__file__).parent)
    files = sorted(path for room in rooms for path in room.rglob("*"))
    sources = (path for path in files if path.suffix in (".py", ".toml", ".js", ".css"))
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stale = getattr(env, "vitbook_digest", digest) != digest
    env.vitbook_digest = digest
    return list(env.found_docs) if stale else []
