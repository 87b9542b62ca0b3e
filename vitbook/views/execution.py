"""Run the chapters side by side before Sphinx reads them, each afresh, and hand the outputs over through an empty cache.

Sphinx alone runs one chapter after another, and most of a chapter's time is one core importing torch. The cache is
keyed on the cells alone, so it is emptied first: what the pages show was computed by this build.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from pathlib import Path
from time import monotonic

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.executors.basic import ExecutionWorkerLocalMProc, ProcessData
from myst_nb.core.read import is_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

log = logging.getLogger(__name__)

READER = {"name": "myst_nb_md", "type": "plugin"}
EXECUTED = "executed"  # beside html in _build
MOST_AT_ONCE = 4  # kernels, each of which may hold a model


def run_chapters(app: Sphinx, env, docnames: list[str]) -> None:
    """Execute every notebook among the documents that Sphinx is about to read.  Raises when one of them fails, naming all."""
    if env.mystnb_config.execution_mode != "cache":
        return
    cache_path = Path(env.mystnb_config.execution_cache_path)
    shutil.rmtree(cache_path, ignore_errors=True)
    chapters = chapters_to_run({docname: Path(env.doc2path(docname)) for docname in docnames})
    if not chapters:
        return

    cache = get_cache(str(cache_path))
    records = {cache.add_nb_to_project(str(path), read_data=READER).pk: name for name, path in chapters.items()}
    failed = _execute(cache, records, env.mystnb_config.execution_timeout)
    if failed:
        reports = [f"{chapters[name]}:\n{traceback.strip()[-3000:]}" for name, traceback in sorted(failed.items())]
        raise ExtensionError(f"{len(failed)} of {len(chapters)} chapters failed:\n\n" + "\n\n".join(reports))
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
    """Run the recorded notebooks, at most as many at once as there are cores; what failed, with its traceback."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = max(1, min(cores, len(records), MOST_AT_ONCE))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // workers)))  # kernels that share cores share threads
    log.info("running %d chapters, %d at a time", len(records), workers)
    failed, start = {}, monotonic()
    with ProcessPoolExecutor(workers) as pool:
        jobs = {
            pool.submit(ExecutionWorkerLocalMProc(), ProcessData(pk, name, cache, timeout, False)): (pk, name)
            for pk, name in records.items()
        }
        for job in as_completed(jobs):
            pk, name = jobs[job]
            status, _ = job.result()
            log.info("  %5.0f s  %s%s", monotonic() - start, name, " FAILED" if status else "")
            if status:
                failed[name] = cache.get_project_record(pk).traceback or "it could not be run: see above"
    return failed


def outdated(app: Sphinx, env, added, changed, removed) -> list[str]:
    """All pages, when vitbook itself has changed since they were made: their outputs are those of the old code."""
    package = Path(__file__).parents[1]
    sources = (path for path in sorted(package.rglob("*")) if path.suffix in (".py", ".toml", ".js", ".css"))
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stale = getattr(env, "vitbook_digest", digest) != digest
    env.vitbook_digest = digest
    return list(env.found_docs) if stale else []
