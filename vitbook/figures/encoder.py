"""Lines over layers, for the encoder chapters."""

from __future__ import annotations

from matplotlib.ticker import MaxNLocator

from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas, finish, label_ends, literal


def layer_line(
    series: dict, label: str, start: int = 1, log: bool = False, inks=("stream", "class", "query", "mlp", "key")
):
    """Lines over layers, each named at its end.  series: name -> one number a layer; the first belongs to layer `start`."""
    figure, axis = canvas(height=300)
    ends = []
    for (name, values), ink in zip(series.items(), inks, strict=False):
        layers = range(start, start + len(values))
        axis.plot(layers, values, color=colour(ink), marker="o", markersize=4, clip_on=False)
        ends.append((values[-1], literal(name, 32), ink))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set(xlabel="layer", ylabel=label, yscale="log" if log else "linear")
    axis.set_xlim(right=layers[-1])  # no line of the grid runs through a label
    axis.grid(axis="y")
    label_ends(axis, layers[-1], ends)
    alt = f"{label} over layers {start} to {start + max(map(len, series.values())) - 1}. " + " ".join(
        f"{name}: from {v[0]:.3g} to {v[-1]:.3g}." for name, v in series.items()
    )
    return finish(figure, alt)
