"""Figures of the chapter on the encoder block: attention with and without a mask, and what each pitfall costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.colors import LogNorm, Normalize

from vitbook.figures.palette import attention_colours, colour, contrast
from vitbook.figures.plotting import attention_map, canvas, finish
from vitbook.studies.pitfalls import PITFALLS, Damage

KINDS = {"layer": "how the layer is put together", "attention": "attention", "numbers": "MLP, GELU and LayerNorm",
         "tokens": "tokens, patches, pixels"}  # fmt: skip


def two_attentions(matrices: Mapping[str, np.ndarray]):
    """Attention matrices (N, N) beside each other on one scale, every weight written into its cell."""
    N = len(next(iter(matrices.values())))
    figure, axes = canvas(height=round(660 / len(matrices)) + 60, columns=len(matrices), squeeze=False)
    for axis, (title, A) in zip(axes.flat, matrices.items(), strict=True):
        axis.pcolormesh(A, cmap=attention_map(), norm=Normalize(0, 1), edgecolors=colour("ground"), linewidth=1)
        for i, j in np.ndindex(N, N):
            cell = attention_colours()[round(255 * A[i, j])]
            ink = max(("ground", "text"), key=lambda name, cell=cell: contrast(colour(name), cell))
            words = "0" if A[i, j] == 0 else f"{A[i, j]:.2f}"
            axis.text(j + 0.5, i + 0.5, words, ha="center", va="center", fontsize=10, color=colour(ink))
        ticks = np.arange(N) + 0.5
        axis.set(
            xticks=ticks,
            yticks=ticks,
            xticklabels=range(N),
            yticklabels=range(N),
            aspect="equal",
            xlabel="key of token",
        )
        axis.set_title(title, fontweight="normal", fontsize=11)
        axis.invert_yaxis()
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
    axes[0, 0].set_ylabel("query of token")
    told = ". ".join(
        f"{title}: the first row is {', '.join(f'{w:.2f}' for w in A[0])}, {int((A == 0).sum())} of {A.size} weights are 0"
        for title, A in matrices.items()
    )
    return finish(figure, f"Attention weights as matrices, queries down, keys along. {told}.")


def pitfall_map(damages: Iterable[Damage], floor: float, others: float | None = None):
    """How far each mistake throws the tokens off in each layer, and y at the end: one row a mistake, logarithmic shades.

    floor: what rounding alone does, the lower end of the shades.  others: the largest cosine between the right y and that
    of another photograph; rows whose y is further off than that are marked.
    """
    groups = [(kind, [d for d in damages if d.slip.kind == kind]) for kind, damages in _by_kind(damages).items()]
    shown = [d for _, members in groups for d in members]
    columns = len(shown[0].z) + 1
    figure, axis = canvas(height=70 + 24 * (len(shown) + len(groups)))
    places, y = {}, 0.0
    for kind, members in groups:
        axis.text(
            -0.2, y + 0.55, KINDS[kind], ha="right", va="center", fontsize=10, color=colour("muted"), style="italic"
        )
        y += 1
        for d in members:
            places[d.name], y = y, y + 1
    norm = LogNorm(floor, 10, clip=True)
    for d in shown:
        values = np.array([[*d.z, d.y]])
        edges = [*range(columns - 1), columns - 1, columns]
        top = places[d.name]
        drawn = axis.pcolormesh(edges, [top, top + 1], np.maximum(values, floor), cmap=attention_map(), norm=norm,
                                edgecolors=colour("ground"), linewidth=1.5)  # fmt: skip
        axis.text(-0.2, top + 0.5, d.name, ha="right", va="center", fontsize=10)
        lost = others is not None and d.cosine < others
        axis.text(columns + 0.3, top + 0.5, f"{_short(d.cosine)}{' ✕' if lost else ''}", va="center", fontsize=10,
                  color=colour("text" if lost else "muted"))  # fmt: skip
    axis.text(columns + 0.3, 0.55, "cosine", va="center", fontsize=10, color=colour("muted"))
    axis.set(xlim=(-8.2, columns + 2.6), ylim=(y, 0), yticks=[])
    axis.set_xticks(np.arange(columns) + 0.5, [*map(str, range(columns - 1)), "y"])
    axis.set_xlabel("after layer (0: Eq. 1)", loc="center")
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    label = "length of the difference / length of the right one"
    figure.colorbar(drawn, ax=axis, location="top", shrink=0.5, aspect=40, label=label)
    alt = "How far each mistake throws the model off. " + " ".join(
        f"{d.name}: {d.z[1]:.1e} after layer 1, {d.z[-1]:.1e} after the last, y {d.y:.1e}, cosine {d.cosine:.4f}."
        for d in shown
    )
    return finish(figure, alt)


def _by_kind(damages: Iterable[Damage]) -> dict[str, list[Damage]]:
    """Kind -> its damages, kinds in the order of `KINDS`, damages in the order of `PITFALLS`."""
    order = list(PITFALLS)
    ranked = sorted(damages, key=lambda d: order.index(d.name))
    kinds = {kind: [d for d in ranked if d.slip.kind == kind] for kind in KINDS}
    return {kind: members for kind, members in kinds.items() if members}


def _short(cosine: float) -> str:
    """Two decimals, or how much is lacking to 1."""
    text = f"{cosine:.2f}" if cosine < 0.995 else f"1 − {1 - cosine:.0e}".replace("e-0", "e-")
    return text.replace("-0", "−0")
