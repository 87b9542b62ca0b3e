"""Figures of inductive bias and the hybrid: shifts, heads over layers, places read off positions, how far a pixel reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vitbook.figures.attention import square
from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas, finish, label_ends


def shift_line(shifts: Sequence[int], lines: Mapping[str, Sequence[float]], P: int):
    """How far y moves when the picture is shifted, against the shift; multiples of P marked."""
    figure, axis = canvas(height=310)
    for multiple in range(0, max(shifts) + 1, P):
        axis.axvline(multiple, color=colour("line"), linewidth=1)
    ends = []
    for (words, values), ink, mark in zip(lines.items(), ("position", "stream"), ("o", "s"), strict=False):
        axis.plot(shifts, values, marker=mark, markersize=5, color=colour(ink), clip_on=False)
        ends.append((values[-1], words, ink))
    axis.set(
        xlabel="shift to the right, in pixels (lines: whole patches)", ylabel="change of y, relative to its length"
    )
    axis.set(xticks=range(0, max(shifts) + 1, max(1, P // 2)), ylim=(0, None), xlim=(0, max(shifts)))
    label_ends(axis, max(shifts), ends)
    whole = [i for i, shift in enumerate(shifts) if shift % P == 0]
    said = "; ".join(
        f"{words}: " + ", ".join(f"{values[i]:.2g} at {shifts[i]}" for i in whole) for words, values in lines.items()
    )
    return finish(figure, f"Change of y against the shift of the picture. At whole patches, {said}.")


def heads_over_layers(values: np.ndarray, label: str, reference: float, reference_words: str):
    """One dot a head over the layers; values: (L, heads). reference: a number to compare with, drawn as a line."""
    figure, axis = canvas(height=320)
    L, heads = values.shape
    spread = np.linspace(-0.18, 0.18, heads) if heads > 1 else np.zeros(1)
    for h in range(heads):
        axis.plot(np.arange(1, L + 1) + spread[h], values[:, h], "o", color=colour("query"), markersize=5.5, alpha=0.8)
    axis.axhline(reference, color=colour("muted"), linewidth=1.2, linestyle=(0, (5, 3)))
    axis.annotate(
        reference_words, (L + 0.45, reference), (0, 5), textcoords="offset points", ha="right", color=colour("muted")
    )
    axis.set(xlabel="layer (one dot a head)", ylabel=label, xticks=range(1, L + 1), xlim=(0.5, L + 0.5), ylim=(0, None))
    alt = (
        f"{label}, one dot for each of {heads} heads in each of {L} layers: from {values.min():.3g} to {values.max():.3g}; "
        f"{reference_words}: {reference:.3g}."
    )
    return finish(figure, alt)


def read_grids(tables: Mapping[str, np.ndarray], rows: int, columns: int):
    """Places read off position vectors, drawn as the grid that they make; tables: words -> (N, 2) rows and columns."""
    figure, axes = canvas(height=round(130 + 300 * rows / columns), columns=len(tables))
    for axis, (words, read) in zip(np.atleast_1d(axes), tables.items(), strict=True):
        grid = read.reshape(rows, columns, 2)
        for line in (*grid, *grid.swapaxes(0, 1)):
            axis.plot(line[:, 1], line[:, 0], color=colour("position-soft"), linewidth=1)
        axis.plot(read[:, 1], read[:, 0], "o", color=colour("position"), markersize=3.5)
        axis.set(xlim=(-1.5, columns + 0.5), ylim=(rows + 0.5, -1.5), xlabel="column as read", ylabel="row as read")
        axis.set_aspect("equal")
        axis.set_title(words, fontsize=11)
    said = "; ".join(words.replace("\n", ": ") for words in tables)
    return finish(figure, f"Row and column of every patch as a linear map reads them off its position vector. {said}.")


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
