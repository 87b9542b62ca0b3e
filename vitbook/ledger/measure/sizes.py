"""Published numbers that follow from the sizes of a model alone."""

from __future__ import annotations

import math
from dataclasses import replace

from vitbook.config import VARIANTS, ViTConfig
from vitbook.ledger.publications import published
from vitbook.patches import place_of
from vitbook.studies.counting import PARAMETERS, bert_parameters, count_parameters, letters, search_table_1
from vitbook.studies.formulas import evaluate
from vitbook.weights import LayerWeights


def sizes(model: str, formulas: list[str], **changes: int) -> list[int]:
    """Formulas in the paper's letters, for a variant of Table 1, with some of its sizes changed."""
    config = _config(model, **changes)
    more = {"H": config.H, "W": config.W, "heads": config.heads, "D_h": config.D_h}
    return [evaluate(formula, letters(config) | more) for formula in formulas]


def head_width(model: str) -> tuple[int, float]:
    """D_h and its square root, by which scores are divided."""
    return _config(model).D_h, math.sqrt(_config(model).D_h)


def position_rows(model: str, resolutions: list[int]) -> list[int]:
    """Rows of the position table at several resolutions."""
    return [_config(model, H=side, W=side).N + 1 for side in resolutions]


def place(model: str, patch: int) -> tuple[int, int]:
    """Row and column of a patch, all counted from 0."""
    return place_of(patch + 1, _config(model))


def matrices_of_the_mlp() -> int:
    """Weight matrices of the MLP in a layer of ours."""
    return sum(name.startswith("W_") for name in LayerWeights.shapes(VARIANTS["ViT-B/16"]))


def head_layers(pre_logits: bool) -> int:
    """Layers between y and the class scores: those terms of the count that are not zero."""
    count = count_parameters(VARIANTS["ViT-B/16"], classes=1000, pre_logits=pre_logits)
    return sum(count[name].total > 0 for name in ("pre_logits", "head"))


def hybrid_lengthening() -> float:
    """Positions of a ResNet's stage-3 output (1/16 of the side) over those of stage 4 (1/32)."""
    return _config("ViT-B/16").N / _config("ViT-B/32").N


def shared_with_bert() -> list[int]:
    """Layers, D, heads and MLP width of ViT-B/16, where BERT-base has the same layer count and the same layer."""
    config, bert = _config("ViT-B/16"), bert_parameters()
    ours = count_parameters(config)
    same = all(
        (bert[part].each, bert[part].times) == (ours[part].each, ours[part].times) for part in ("attention", "mlp")
    )
    return [config.L, config.D, config.heads, config.M] if same else []


def mlp_ratios() -> list[float]:
    """M / D of Base, Large and Huge."""
    return [_config(name).M / _config(name).D for name in ("ViT-B/16", "ViT-L/16", "ViT-H/14")]


def parameters(
    model: str,
    parts: list[str] | None = None,
    each: bool = False,
    classes: int | None = None,
    pre_logits: bool = False,
    **changes: int,
) -> list[int]:
    """The whole count, or the count of some parts, in all layers or in each."""
    count = count_parameters(_config(model, **changes), classes, pre_logits)
    return [count.total] if parts is None else [count[p].each if each else count[p].total for p in parts]


def layer_and_layers(model: str) -> tuple[int, int]:
    """One encoder layer, and all of them."""
    layer = count_parameters(_config(model)).layer
    return layer, layer * _config(model).L


def counted_by_shape(model: str, classes: int) -> int:
    """The sizes of all tensors, added up: a second way to the count, which knows no formula."""
    config = _config(model)
    D = config.D
    outside = [(config.patch_numbers, D), (D,), (1, D), (config.N + 1, D), (D,), (D,), (D, classes), (classes,)]
    inside = LayerWeights.shapes(config).values()
    return sum(map(math.prod, outside)) + config.L * sum(map(math.prod, inside))


def kinds(model: str, classes: int, shares: bool = False) -> list[float]:
    """Attention, MLP, embeddings, LayerNorms and head, over all layers, or as shares of the whole."""
    count = count_parameters(_config(model), classes)
    groups = (
        ["attention"],
        ["mlp"],
        ["patch_embedding", "class_token", "positions"],
        ["norms", "final_norm"],
        ["head"],
    )
    totals = [sum(count[name].total for name in names) for names in groups]
    assert sum(totals) == count.total and len(PARAMETERS) == 9
    return [total / count.total for total in totals] if shares else totals


def with_and_without_head(model: str, classes: int, with_first: bool = True) -> list[int]:
    """The count with the class layer and without it, or the other way round."""
    totals = [count_parameters(_config(model), K).total for K in (classes, None)]
    return totals if with_first else totals[::-1]


def added_by_resolution(model: str, resolution: int) -> int:
    """What a larger picture adds: rows of the position table."""
    larger = _config(model, H=resolution, W=resolution)
    return count_parameters(larger).total - count_parameters(_config(model)).total


def gap_to_table_1(model: str, classes: int, printed: str) -> float:
    """From our count up to the printed one."""
    return published(printed).value - count_parameters(_config(model), classes).total


def rounded_millions(model: str, classes: int) -> int:
    """The count to the nearest million, in millions."""
    return round(count_parameters(_config(model), classes).total / 1e6)


def fits_of_large(patches: list[int]) -> list[int]:
    """How many of the enumerated ways to count ViT-Large round to Table 1's number, patch by patch."""
    found = [candidate for candidate in search_table_1() if candidate.model == "ViT-Large" and candidate.fits]
    return [sum(candidate.P == P and candidate.resolution != 518 for candidate in found) for P in patches]


def megabytes(model: str, classes: int, pre_logits: bool) -> float:
    """Size of the numbers in float32, in millions of bytes."""
    return 4 * count_parameters(_config(model), classes, pre_logits).total / 1e6


def bert_words() -> int:
    """Rows of BERT-base's word table."""
    return bert_parameters()["words"].total // VARIANTS["ViT-B/16"].D


def bert_embedding_share() -> float:
    """Embeddings in BERT-base, as a share of the whole."""
    return bert_parameters().share("words", "positions", "segments", "embedding_norm")


def mlp_to_attention(model: str) -> tuple[float, int]:
    """2DM : 4D², the second taken as one."""
    config = _config(model)
    return (2 * config.D * config.M) / (4 * config.D**2), 1


def _config(model: str, **changes: int) -> ViTConfig:
    return replace(VARIANTS[model], **changes)
