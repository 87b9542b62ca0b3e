"""What Figure 1 says about each part of the model: its shape, its cost, the tensor that really stands there.

Pure data: no line, no colour, no HTML. `figure1_drawing` draws it and `figure1` makes the page of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vitbook.checks import whole
from vitbook.config import ViTConfig
from vitbook.encoder import layer_norm
from vitbook.studies.counting import count_parameters, multiply_adds
from vitbook.studies.formulas import Count
from vitbook.trace import COUNTED, Trace


@dataclass(frozen=True)
class Part:
    """One part of the drawing.

    key: its name in the page.  letter: with ``_`` before a subscript and ``'`` for a prime, such as ``x_p`` or ``z'_1``.
    name, words: for the reader.  shape: of `tensor`, in numbers.  chapter: the page that explains it, without a suffix.
    ink: its colour's name.  parameters, multiply_adds: of all places in the model that are like it (all L layers), each
    with its share of the whole from 0 to 1.  tensor: the numbers there, in this run; None where there are none.
    """

    key: str
    letter: str
    name: str
    words: str
    shape: tuple[int, ...]
    chapter: str
    ink: str
    parameters: int = 0
    parameter_share: float = 0.0
    multiply_adds: int = 0
    multiply_add_share: float = 0.0
    tensor: Tensor | None = None

    @property
    def shape_text(self) -> str:
        """Such as 197 × 384."""
        return " × ".join(map(str, self.shape))


@dataclass(frozen=True)
class Costs:
    """Parameters and multiply-adds of one model, and who has which share of them."""

    parameters: Count
    multiply_adds: Count

    def of(self, parameters=(), multiply_adds=(), half: bool = False) -> dict[str, float]:
        """The four cost fields of a `Part` for the named terms of the two counts; half of them for one of a pair."""
        out = {}
        for field, share, count, names in (
            ("parameters", "parameter_share", self.parameters, parameters),
            ("multiply_adds", "multiply_add_share", self.multiply_adds, multiply_adds),
        ):
            total = sum(count[name].total for name in names) // (2 if half else 1)
            out |= {field: total, share: total / count.total}
        return out


LAYER_PARAMETERS = ("attention", "mlp", "norms")
ATTENTION_MULTIPLY_ADDS = ("projections", "scores", "weighted_sum")
LAYER_MULTIPLY_ADDS = (*ATTENTION_MULTIPLY_ADDS, "mlp")


@dataclass(frozen=True)
class BarPiece:
    """A piece of the two bars under the drawing: the part it points at, its ink and name, and the terms it sums."""

    part: str
    ink: str
    name: str
    parameters: tuple[str, ...]
    multiply_adds: tuple[str, ...]


BARS = (
    BarPiece("E", "embedding", "E", ("patch_embedding",), ("patch_embedding",)),
    BarPiece("positions", "position", "tokens", ("class_token", "positions"), ()),
    BarPiece("msa", "query", "attention", ("attention",), ATTENTION_MULTIPLY_ADDS),
    BarPiece("mlp", "mlp", "MLP", ("mlp",), ("mlp",)),
    BarPiece("norm_1", "muted", "norms", ("norms", "final_norm"), ()),
    BarPiece("head", "class", "head", ("head",), ("head",)),
)


IN_EACH_LAYER = ("norm_1", "msa", "norm_2", "mlp")  # their costs are counted over all layers together
BARS_KEY = "bars"  # what both bars together are called where a tour points at them


def costs(config: ViTConfig, classes: int | None) -> Costs:
    """Both counts of the model; classes: outputs of its head, or None."""
    return Costs(count_parameters(config, classes), multiply_adds(config, classes))


def shown_tokens(config: ViTConfig, most: int = 8) -> list[int | None]:
    """The tokens that get a row of their own, [class] first; None stands for those left out between two of them.

    All of them where they fit; otherwise the first few, one from the middle of the picture, and the last.
    """
    N = config.N
    if most > N:
        return list(range(N + 1))
    middle = (config.rows // 2) * config.columns + config.columns // 2 + 1
    return [0, 1, 2, 3, None, middle, None, N]


def parts(checkpoint, trace: Trace, layer: int = 1) -> dict[str, Part]:
    """Every part of the drawing by key, in reading order, for one run.  layer: the one that is enlarged, from 1.

    Raises ValueError when the layer is none of the model's.
    """
    weights = checkpoint.weights
    last = weights.config.L
    layer = whole(layer, "layer", 1, last, COUNTED)
    cost = costs(weights.config, weights.K)
    found = [
        *_before_the_encoder(weights, trace, cost),
        *_one_layer(weights, trace, cost, layer),
        *_after_the_encoder(checkpoint, trace, cost),
    ]
    return {part.key: part for part in found}


def _part(key: str, letter: str, tensor: Tensor, chapter: str, ink: str, words: str, **cost) -> Part:
    """A part with a tensor; words: its name, a colon, and what is said about it."""
    name, said = words.split(": ", 1)
    return Part(key, letter, name, said, tuple(tensor.shape), chapter, ink, tensor=tensor, **cost)


def _before_the_encoder(weights, trace: Trace, cost: Costs) -> list[Part]:
    c, T = weights.config, weights.config.N + 1
    E, x_class, positions = (
        cost.of(("patch_embedding",), ("patch_embedding",)),
        cost.of(("class_token",)),
        cost.of(("positions",)),
    )
    return [
        _part("x", "x", trace.x, "patches", "picture",
              f"the picture: {c.C} colour channels of {c.H} by {c.W} pixels, after preprocessing."),
        _part("x_p", "x_p", trace.x_p, "patches", "picture",
              f"its patches: {c.N} squares of {c.P} by {c.P} pixels, each flattened to one row of {c.patch_numbers} numbers."),
        _part("E", "E", weights.E, "patches", "embedding",
              f"the projection: One learned matrix for all patches, {c.patch_numbers} pixel numbers in, {c.D} out.", **E),
        _part("x_class", "x_class", weights.x_class, "class_token", "class",
              "the [class] token: A learned row that belongs to no patch. It goes first, and in the end it alone is read.", **x_class),
        _part("x_pE", "x_pE", trace.embeddings, "patches", "embedding",
              f"the projected patches: Each patch as {c.D} numbers, the patch times E (and a bias)."),
        _part("positions", "E_pos", weights.E_pos, "positions", "position",
              "the positions: One learned row for each place, [class] included, added so that the model can tell the places apart.",
              **positions),
        _part("z_0", "z_0", trace.z[0], "eq1", "stream",
              f"the sequence: [class] and {c.N} patches with their positions, Eq. 1. "
              f"From here on only this travels, {T} rows of {c.D} numbers."),
        _part("encoder", f"L = {c.L}", trace.z[c.L], "all_layers", "stream",
              f"the encoder: {c.L} layers of the same build, each with weights of its own. "
              f"{T} rows of {c.D} go in and {T} rows of {c.D} come out.",
              **cost.of(LAYER_PARAMETERS, LAYER_MULTIPLY_ADDS)),
    ]  # fmt: skip


def _one_layer(weights, trace: Trace, cost: Costs, l: int) -> list[Part]:
    c, inside = weights.config, weights.layers[l - 1]
    normed_1 = layer_norm(trace.z[l - 1], inside.gamma_1, inside.beta_1, c.eps)
    normed_2 = layer_norm(trace.z_prime[l - 1], inside.gamma_2, inside.beta_2, c.eps)
    half_norms = cost.of(("norms",), half=True)
    bend = c.activation.split("_")[0].upper()
    return [
        _part("z_in", f"z_{l - 1}", trace.z[l - 1], "eq2", "stream",
              f"the residual line: What enters layer {l}. Both halves of the layer add to this line and nothing ever replaces it."),
        _part("norm_1", "LN", normed_1, "eq2", "stream",
              "Norm before attention: Each row alone, minus its mean, divided by its spread, scaled and shifted. "
              "It stands before the block, on the branch.", **half_norms),
        _part("msa", "MSA", trace.msa[l - 1], "appendix_a", "query",
              f"multi-head self-attention: The only place where rows meet. In {c.heads} heads of width {c.D_h} "
              "every token reads every token (Eq. 5 to 8).", **cost.of(("attention",), ATTENTION_MULTIPLY_ADDS)),
        _part("plus_1", f"z'_{l}", trace.z_prime[l - 1], "eq2", "stream",
              "the first plus: What attention found is added to what came in, Eq. 2."),
        _part("norm_2", "LN", normed_2, "eq3", "stream",
              "Norm before the MLP: A second LayerNorm with weights of its own.", **half_norms),
        _part("mlp", "MLP", trace.mlp[l - 1], "eq3", "mlp",
              f"the MLP: Each row alone, {c.D} numbers widened to {c.M}, bent by {bend}, brought back to {c.D}.",
              **cost.of(("mlp",), ("mlp",))),
        _part("plus_2", f"z_{l}", trace.z[l], "eq3", "stream",
              f"the second plus: What the MLP made is added as well, Eq. 3. This is what layer {l} hands on."),
    ]  # fmt: skip


def _after_the_encoder(checkpoint, trace: Trace, cost: Costs) -> list[Part]:
    c = checkpoint.config
    return [
        _part("z_L", f"z_{c.L}", trace.z[c.L], "eq4", "stream",
              f"the last layer's output: {c.N + 1} rows. Only row 0, [class], is read on; the {c.N} patch rows end here."),
        _part("y", "y", trace.y, "eq4", "class",
              "the picture as one vector: Row 0 of the last layer, normalised once more, Eq. 4.", **cost.of(("final_norm",))),
        _head(checkpoint.weights, cost),
        _answer(checkpoint, trace),
    ]  # fmt: skip


def _head(weights, cost: Costs) -> Part:
    c = weights.config
    if weights.K is None:
        words = "This checkpoint has none, so the slot is dashed. Fine-tuning puts one linear layer here (Section 3.2)."
        return Part("head", "head", "the head, absent", words, (c.D,), "class_token", "class")
    words = f"the head: One linear layer, {c.D} numbers in and a score for each of {weights.K} classes out."
    return _part("head", "head", weights.W_head, "class_token", "class", words, **cost.of(("head",), ("head",)))


def _answer(checkpoint, trace: Trace) -> Part:
    if trace.logits is None:
        words = "With no head there is no class: y itself is what this model says about the picture."
        return Part("class", "class", "no class", words, tuple(trace.y.shape), "eq4", "class")
    name, p = checkpoint.top(trace.logits, 1)[0]
    words = f"The largest score wins: {name}, with a softmax probability of {p:.3f}."
    return Part("class", "class", name, words, tuple(trace.logits.shape), "eq4", "class", tensor=trace.logits)


def numbers(tensor: Tensor, count: int = 6) -> dict[str, object]:
    """What a reader wants to know of a tensor: its first numbers in reading order, least, largest, mean and spread."""
    flat = tensor.detach().flatten().to(torch.float64)
    return {
        "first": flat[:count].tolist(),
        "min": flat.min().item(),
        "max": flat.max().item(),
        "mean": flat.mean().item(),
        "std": flat.std(correction=0).item(),
    }
