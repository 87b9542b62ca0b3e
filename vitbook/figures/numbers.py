"""Figures of counting: where parameters sit, what a token costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vitbook.config import ViTConfig
from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas, finish, literal
from vitbook.studies.counting import crossover, multiply_adds, one_token_a_pixel
from vitbook.studies.formulas import Count, percent

#: What the parts of a count are, in the order of the bars: name -> (parts, ink).
KINDS = {
    "embeddings": (("patch_embedding", "class_token", "positions", "words", "segments", "embedding_norm"), "embedding"),
    "attention": (("attention",), "query"),
    "MLP": (("mlp",), "mlp"),
    "LayerNorms": (("norms", "final_norm"), "stream"),
    "head": (("pre_logits", "pooler", "head"), "class"),
}


def kinds(count: Count) -> dict[str, int]:
    """Kind -> how many numbers, for a ViT or BERT; the sum is the count's total."""
    totals = {part.term.name: part.total for part in count.parts}
    found = {kind: sum(totals.get(name, 0) for name in names) for kind, (names, _) in KINDS.items()}
    assert sum(found.values()) == count.total, f"a part of {count.title} has no kind"
    return found


def parameter_shares(counts: Mapping[str, Count]):
    """Where the parameters sit: one bar a model, each as wide as the page, cut by kind."""
    figure, axis = canvas(height=64 + 66 * len(counts))
    said = []
    for row, (name, count) in enumerate(counts.items()):
        left, shares = 0.0, {kind: n / count.total for kind, n in kinds(count).items()}
        for kind, share in shares.items():
            ink = KINDS[kind][1]
            axis.barh(row, share, left=left, height=0.5, color=colour(ink), edgecolor=colour("ground"))
            if share > 0.09:
                words = f"{kind} {share:.0%}" if share > 0.3 else f"{share:.0%}"
                axis.text(left + share / 2, row, words, ha="center", va="center", color=colour("ground"), fontsize=10)
            left += share
        axis.text(
            0, row - 0.3, f"{literal(name, 40)}   {count.total:,}", va="bottom", fontsize=10.5, color=colour("text")
        )
        said.append(f"{name}, {count.total:,}: " + ", ".join(f"{k} {percent(s)}" for k, s in shares.items() if s))
    axis.set(xlim=(0, 1), ylim=(len(counts) - 0.6, -0.75), yticks=[], xticks=[])
    for side in axis.spines.values():
        side.set_visible(False)
    _legend(axis, {kind: ink for kind, (_, ink) in KINDS.items()})
    return finish(figure, "Shares of the parameters by kind, one bar a model. " + ". ".join(said) + ".")


def layer_costs(config: ViTConfig):
    """What one layer costs over the number of tokens: the two lines of attention's N² and of everything else, and where they meet."""
    meet, here = crossover(config), config.N + 1
    pixels = one_token_a_pixel(config).N + 1
    tokens = np.geomspace(10, max(1e5, 2 * pixels), 200)
    linear, square = 4 * config.D**2 + 2 * config.D * config.M, 2 * config.D
    figure, axis = canvas(height=360)
    axis.loglog(tokens, linear * tokens, color=colour("mlp"))
    axis.loglog(tokens, square * tokens**2, color=colour("query"))
    end = tokens[-1]
    for T, words, ink, y in (
        (1000, "the rest", "mlp", linear * 1000),
        (1.6e4, "qkᵀ and Av", "query", square * 1.6e4**2),
    ):
        axis.annotate(
            words, (T, y), (-8, 6), textcoords="offset points", ha="right", color=colour(ink), annotation_clip=False
        )
    for T, words in (
        (here, f"{here:,} tokens, as here"),  # this one at the top, where the lines leave room
        (meet, f"{meet:,}: equal"),
        (pixels, f"{pixels:,}: one a pixel"),
    ):
        axis.axvline(T, color=colour("muted"), linewidth=0.9, linestyle=":")
        top = T == here
        axis.annotate(words, (T, 0.98 if top else 0.02), (-4, 0), xycoords=("data", "axes fraction"), rotation=90, fontsize=10,
                      textcoords="offset points", ha="right", va="top" if top else "bottom", color=colour("muted"))  # fmt: skip
    axis.plot([meet], [linear * meet], marker="o", markersize=9, markerfacecolor="none", markeredgecolor=colour("text"))
    axis.set(xlabel="tokens", ylabel="multiply-adds of one layer", xlim=(10, end), ylim=(linear * 5, None))
    cost = multiply_adds(config)
    share = cost.share("scores", "weighted_sum")
    alt = (
        f"Multiply-adds of one layer over the number of tokens, both axes logarithmic. The part that grows with the square "
        f"meets the rest at {meet:,} tokens. At {here:,} tokens it is {share:.1%} of the whole model's work; "
        f"one token a pixel would mean {pixels:,} tokens."
    )
    return finish(figure, alt)


def _legend(axis, inks: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour(ink), label=kind) for kind, ink in inks.items()]
    axis.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, 0.02), ncols=3, columnspacing=1.4, handlelength=1)
