"""What a kernel keeps for its explorers: the last few runs, and which explorer belongs to which cell."""

from __future__ import annotations

from collections import OrderedDict

from vitbook.model import run
from vitbook.pixels import preprocess
from vitbook.trace import Trace
from vitbook.widgets.explorer.packing import layer_bytes

KEPT = 3  # runs; a ViT-B/16's takes about 50 MB

_traces: OrderedDict[tuple[str, str], Trace] = OrderedDict()
_shown: dict[str, tuple[str, list]] = {}


def trace_of(checkpoint, fingerprint: str, key: str, picture) -> Trace:
    """The run of a picture, from the last few or made now; shared by all explorers of the kernel."""
    name = (fingerprint, key)
    if name not in _traces:
        _traces[name] = run(checkpoint, preprocess(picture, checkpoint))
    _traces.move_to_end(name)
    while len(_traces) > KEPT:
        _traces.popitem(last=False)
    return _traces[name]


def layer_of(checkpoint, fingerprint: str, key: str, picture, layer: int) -> bytes:
    """One layer of a picture as it travels; layer 0 is the rollout.  Raises ValueError naming the range."""
    if not 0 <= layer <= checkpoint.config.L:
        raise ValueError(f"layer must be from 0 (the rollout) to {checkpoint.config.L}, got {layer}")
    return layer_bytes(trace_of(checkpoint, fingerprint, key, picture), layer, level=1)


def close_earlier(explorer) -> None:
    """Close the explorers that an earlier run of the same cell made: ipywidgets would keep them for ever."""
    cell, this_run = _cell()
    if cell is None:
        return
    seen_run, explorers = _shown.get(cell, (this_run, []))
    if seen_run != this_run:
        for old in explorers:
            old.close()
        explorers = []
    _shown[cell] = (this_run, [*explorers, explorer])


def _cell() -> tuple[str | None, str]:
    """(The cell that runs, this run of it), as far as the front end tells; (None, "") outside a notebook."""
    from IPython import get_ipython

    shell = get_ipython()
    request = getattr(shell, "parent_header", None) or {}
    parent = shell.kernel.get_parent("shell") if hasattr(shell, "kernel") else {}
    return (parent.get("metadata") or {}).get("cellId"), (parent.get("header") or request).get("msg_id", "")
