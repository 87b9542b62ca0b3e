"""A figure of the hybrid: how far a pixel reaches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vitbook.figures.attention import square
from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas, finish


def touched_tokens(counts: Mapping[str, np.ndarray]):
    """Which tokens change when one pixel does, on one logarithmic scale of ink; counts: words -> (rows, columns) of changes."""
    figure, axes = canvas(height=260, columns=len(counts))
    top = max(float(v.max()) for v in counts.values())
    from matplotlib.colors import LogNorm

    from vitbook.figures.plotting import attention_map

    for axis, (words, values) in zip(np.atleast_1d(axes), counts.items(), strict=True):
        shown = np.maximum(values / top, 1e-6)
        mesh = axis.pcolormesh(shown, cmap=attention_map(), norm=LogNorm(1e-6, 1))
        axis.invert_yaxis()
        square(axis, words)
        axis.title.set_fontsize(11)
        axis.spines[:].set(visible=True, color=colour("line"))  # where nothing changed, the map still has an edge
    figure.colorbar(mesh, ax=np.atleast_1d(axes).ravel().tolist(), shrink=0.8, label="change, relative")
    said = "; ".join(f"{words}: {(values > 0).sum()} tokens change" for words, values in counts.items())
    return finish(figure, f"How much each token changes when one pixel does. {said}.")
