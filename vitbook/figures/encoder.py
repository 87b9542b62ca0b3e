"""Figures of the encoder chapters: weights over the picture, heads side by side, lines over layers, GELU."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from vitbook.figures.embedding import mesh, outline, photograph
from vitbook.figures.palette import colour
from vitbook.figures.plotting import attention_map as weight_colours
from vitbook.figures.plotting import canvas, finish, label_ends, literal
from vitbook.maps import attention_map
from vitbook.patches import describe


def weight_bars(trace, picture, checkpoint, layer: int, head: int, query: int = 0, count: int = 6):
    """Where one query of one head looks: the map beside the picture, and its largest weights with their places."""
    config, A = trace.config, trace.attention(layer, head, query)
    order = A.argsort(descending=True)[:count].tolist()
    figure, axes = canvas(
        height=330 + 26 * count, mosaic=[["photo", "map"], ["bars", "bars"]], height_ratios=[300, 26 * count]
    )
    left, middle, right = (axes[name] for name in ("photo", "map", "bars"))
    photograph(left, picture, checkpoint)
    grid = attention_map(trace, layer, head, query)
    drawn = mesh(middle, grid, weight_colours(), Normalize(0, grid.max().item()))
    figure.colorbar(drawn, ax=middle, shrink=0.9, label="weight")
    for axis, P in ((left, None), (middle, 1)):
        if query:
            outline(axis, query, config, P=P)
    left.set_title("query: " + describe(query, config).split(" (")[0], fontweight="normal", fontsize=11)
    middle.set_title(f"layer {layer}, head {head}", fontweight="normal", fontsize=11)
    _bars(
        right, [describe(t, config) for t in order], A[order].tolist(), ["class" if t == 0 else "stream" for t in order]
    )
    right.set_title(f"its {len(order)} largest weights", fontweight="normal", fontsize=11)
    alt = (
        f"Where {describe(query, config)} looks in layer {layer}, head {head}: its weights as a map. The largest: "
        + ", ".join(f"{describe(t, config)} with {A[t]:.4f}" for t in order)
        + "."
    )
    return finish(figure, alt)


def heads(trace, layer: int, query: int = 0):
    """Every head's map for one query in one layer, on one scale; beside each number the weight that [class] keeps."""
    config = trace.config
    A = trace.attention(layer, query=query)
    top = A[:, 1:].max().item()
    columns = min(6, config.heads)
    rows = -(-config.heads // columns)
    height = round(rows * (640 / columns * config.rows / config.columns + 40))
    figure, axes = canvas(height=height, columns=columns, rows=rows, squeeze=False)
    for h, axis in enumerate(axes.flat, start=1):
        if h > config.heads:
            axis.set_visible(False)
            continue
        drawn = mesh(axis, attention_map(trace, layer, h, query), weight_colours(), Normalize(0, top))
        axis.set_title(f"{h}: {A[h - 1, 0]:.2f} on ★", fontweight="normal", fontsize=10)
        if query:
            outline(axis, query, config, P=1)
    figure.colorbar(drawn, ax=axes, label="weight of a patch", shrink=0.9)
    alt = (
        f"The maps of all {config.heads} heads of layer {layer} for {describe(query, config)}, on one scale from 0 to {top:.3f}. "
        "Weight left on [class], head by head: " + ", ".join(f"{w:.2f}" for w in A[:, 0].tolist()) + "."
    )
    return finish(figure, alt)


def own_weight(trace, layer: int = 1, query: int = 0):
    """How much of its weight one query keeps for itself, head by head."""
    own = trace.attention(layer, query=query)[:, query]
    figure, axis = canvas(height=240)
    number = range(1, len(own) + 1)
    axis.bar(number, own, color=colour("class" if query == 0 else "query"), width=0.65)
    for h, weight in zip(number, own.tolist(), strict=True):
        axis.text(h, weight + 0.02, f"{weight:.2f}", ha="center", fontsize=9.75, color=colour("text"))
    axis.set(xticks=list(number), xlabel=f"head of layer {layer}", ylim=(0, 1.12), ylabel="weight on itself")
    alt = (
        f"How much of its weight {describe(query, trace.config)} keeps for itself in the heads of layer {layer}: "
        + ", ".join(f"{w:.2f}" for w in own.tolist())
        + "."
    )
    return finish(figure, alt)


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


def training_line(losses):
    """The loss of a head over its steps, with the ln K that it starts from."""
    figure, axis = canvas(height=260)
    axis.plot(losses, color=colour("class"))
    axis.axhline(losses[0], color=colour("muted"), linewidth=1, linestyle="--")
    axis.annotate(
        "ln K", (len(losses) - 1, losses[0]), (0, 4), textcoords="offset points", ha="right", color=colour("muted")
    )
    axis.set(xlabel="step", ylabel="loss (nats a picture)", ylim=(0, None))
    alt = f"The loss falls from {losses[0]:.3f}, which is ln K, to {losses[-1]:.3f} in {len(losses) - 1} steps."
    return finish(figure, alt)


def before_after(before, after, names=("before", "after"), label: str = "value", ink: str = "stream"):
    """Two histograms above each other, each on its own scale, with mean and standard deviation said."""
    figure, axes = canvas(height=330, rows=2)
    for axis, values, name in zip(axes, (before, after), names, strict=True):
        axis.hist(np.asarray(values), bins=60, color=colour(ink))
        axis.set(yticks=[], ylabel="")
        axis.spines["left"].set_visible(False)
        said = f"{name}: mean {values.mean():.3f}, std {values.std(correction=0):.3f}"
        axis.set_title(said, fontweight="normal", fontsize=11)
    axes[-1].set_xlabel(label)
    alt = (
        f"Two histograms. {names[0]}: mean {before.mean():.3f}, standard deviation {before.std(correction=0):.3f}. "
        f"{names[1]}: mean {after.mean():.3f}, standard deviation {after.std(correction=0):.3f}."
    )
    return finish(figure, alt)


def answer(trace, picture, checkpoint, k: int = 5):
    """The picture and its k most probable classes."""
    ranked = checkpoint.top(trace.logits, k)
    figure, (left, right) = canvas(height=250, columns=2, gridspec_kw={"width_ratios": [1, 1.6]})
    photograph(left, picture, checkpoint, grid=False)
    _bars(right, [name for name, _ in ranked], [p for _, p in ranked], ["class"] * len(ranked))
    alt = "The photograph and the most probable classes: " + ", ".join(f"{name} {p:.3f}" for name, p in ranked) + "."
    return finish(figure, alt)


def _bars(axis, labels, values, inks) -> None:
    """Horizontal bars, the largest on top, names at the left inside the axis, numbers at the end."""
    longest, y = max(values), range(len(values))
    axis.barh(y, values, color=[colour(ink) for ink in inks], height=0.6)
    axis.set(yticks=[], xticks=[], xlim=(-0.55 * longest, 1.2 * longest))
    axis.invert_yaxis()
    axis.spines[:].set_visible(False)
    for place, label, value in zip(y, labels, values, strict=True):
        axis.text(-0.02 * longest, place, literal(label, 32), va="center", ha="right", color=colour("muted"))
        axis.text(value, place, f" {value:.4f}" if value < 0.1 else f" {value:.3f}", va="center", fontsize=9.75)
