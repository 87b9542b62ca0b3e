"""How many numbers a Vision Transformer learns, and how many multiplications it makes: by formula, in whole numbers.

The formulas are text in the paper's letters (see `vitbook.studies.formulas`). Beside those letters: K classes (0 without a class
layer); b = 1 if q, k and v have biases, else 0; r = 1 with a pre-logits layer, else 0. No weights and no torch needed.
Chapter: where the parameters sit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from vitbook.checks import flag, whole
from vitbook.config import VARIANTS, ViTConfig
from vitbook.studies.formulas import Count, Term
from vitbook.wording import brief

_LAYER = (
    Term("attention", "attention: U_qkv, U_msa and biases", "4*D**2 + D + 3*b*D", "L"),
    Term("mlp", "MLP: two matrices and biases", "2*D*M + M + D", "L"),
    Term("norms", "two LayerNorms", "4*D", "L"),
)

#: Learned numbers (Eq. 1 to 8, with the biases that the code has and the equations leave out).
PARAMETERS = (
    Term("patch_embedding", "patch embedding E and its bias", "P**2*C*D + D"),
    Term("class_token", "class token x_class", "D"),
    Term("positions", "positions E_pos", "(N + 1)*D"),
    *_LAYER,
    Term("final_norm", "LayerNorm of Eq. 4", "2*D"),
    Term("pre_logits", "pre-logits layer", "D**2 + D", "r"),
    Term("head", "class layer", "D*K + K"),
)

#: Multiplications, each with its addition, for one picture. Softmax, GELU, LayerNorm and biases are left out, as is usual.
MULTIPLY_ADDS = (
    Term("patch_embedding", "x_p E (Eq. 1)", "N*P**2*C*D"),
    Term("projections", "q, k, v (Eq. 5) and U_msa (Eq. 8)", "4*(N + 1)*D**2", "L"),
    Term("scores", "q kᵀ of all heads (Eq. 6)", "(N + 1)**2*D", "L"),
    Term("weighted_sum", "A v of all heads (Eq. 7)", "(N + 1)**2*D", "L"),
    Term("mlp", "MLP (Eq. 3)", "2*(N + 1)*D*M", "L"),
    Term("pre_logits", "pre-logits layer, on y", "D**2", "r"),
    Term("head", "class layer, on y", "D*K"),
)

#: BERT (Devlin et al. 2019): V words, S positions, G segments, and the layers that ViT took over.
BERT_PARAMETERS = (
    Term("words", "word table", "V*D"),
    Term("positions", "positions", "S*D"),
    Term("segments", "segments", "G*D"),
    Term("embedding_norm", "LayerNorm of the embeddings", "2*D"),
    *_LAYER,
    Term("pooler", "pooler", "D**2 + D", "r"),
)

#: The "Params" column of Table 1, in millions as printed.
PRINTED_MILLIONS = {"ViT-Base": 86, "ViT-Large": 307, "ViT-Huge": 632}

#: Resolution, classes, pre-logits: what stays the same while one counts all three models.
Recipe = tuple[int, int | None, bool]


def _config(config: object) -> ViTConfig:
    if not isinstance(config, ViTConfig):
        raise TypeError(f"expected a ViTConfig, for example vitbook.VARIANTS['ViT-B/16'], got {brief(config)}")
    return config


def letters(config: ViTConfig, classes: int | None = None, pre_logits: bool = False) -> dict[str, int]:
    """The letters of `PARAMETERS` and `MULTIPLY_ADDS` with their values.

    Raises TypeError if config is not a ViTConfig; ValueError if classes is neither None nor a positive whole number, or
    pre_logits neither True nor False.
    """
    sizes = {letter: getattr(_config(config), letter) for letter in "PCDLMN"}
    K = 0 if classes is None else whole(classes, "classes", note=" (or None: no class layer)")
    r = flag(pre_logits, "pre_logits", ", since its width is always D")
    return sizes | {"K": K, "b": int(config.qkv_bias), "r": int(r)}


def _count(what: str, terms: Sequence[Term], config: ViTConfig, classes: int | None, pre_logits: bool) -> Count:
    values = letters(config, classes, pre_logits)
    sizes = ", ".join(f"{letter} = {getattr(config, letter)}" for letter in ("P", "C", "D", "L", "M", "heads", "N"))
    bias = "" if config.qkv_bias else ", no biases on q, k, v"
    return Count.of(f"{what} at {config.H} × {config.W} pixels, {sizes}{bias}", terms, values)


def count_parameters(config: ViTConfig, classes: int | None = None, pre_logits: bool = False) -> Count:
    """Learned numbers of the model, part by part, from its sizes alone; `PARAMETERS` holds the formulas.

    classes: outputs of the class layer, None for a model without one. pre_logits: whether the D × D layer of
    pre-training (Section 3.1; the pooler of the library's ViTModel) stands between y and the class layer.
    Errors as in `letters`.
    """
    return _count("parameters", PARAMETERS, config, classes, pre_logits)


def multiply_adds(config: ViTConfig, classes: int | None = None, pre_logits: bool = False) -> Count:
    """Multiply-adds of one picture's way through the model, part by part; `MULTIPLY_ADDS` says what is left out.

    Arguments and errors as in `count_parameters`.
    """
    return _count("multiply-adds", MULTIPLY_ADDS, config, classes, pre_logits)


def crossover(config: ViTConfig) -> int:
    """Number of tokens at which q kᵀ and A v cost exactly as much as the rest of the layer: 2D + M; 6D where M = 4D.

    For T tokens, 2 T² D against 4 T D² + 2 T D M.
    """
    return 2 * _config(config).D + config.M


def one_token_a_pixel(config: ViTConfig) -> ViTConfig:
    """The same model with P = 1, every pixel a token: the road that Section 2 calls out of reach."""
    return replace(_config(config), P=1)


def bert_parameters(
    V: int = 30522, S: int = 512, G: int = 2, D: int = 768, L: int = 12, M: int = 3072, pooler: bool = True
) -> Count:
    """Learned numbers of BERT, by default BERT-base: V words, S positions, G segments; D, L, M as in ViT."""
    sizes = {letter: whole(value, letter) for letter, value in dict(V=V, S=S, G=G, D=D, L=L, M=M).items()}
    title = "parameters of BERT, " + ", ".join(f"{letter} = {value}" for letter, value in sizes.items())
    return Count.of(title, BERT_PARAMETERS, sizes | {"b": 1, "r": int(pooler)})


def _variants(model: str) -> dict[str, ViTConfig]:
    """The variants of one row of Table 1: ViT-Base gives ViT-B/16 and ViT-B/32."""
    return {name: config for name, config in VARIANTS.items() if name.split("/")[0] == model[:5]}


def table_1() -> list[dict[str, object]]:
    """Table 1: model, L, D, M, heads, printed (millions); beside them D_h and the exact backbone of each variant."""
    rows = []
    for model, printed in PRINTED_MILLIONS.items():
        variants = _variants(model)
        sizes = {letter: getattr(next(iter(variants.values())), letter) for letter in ("L", "D", "M", "heads", "D_h")}
        backbone = {name: count_parameters(config).total for name, config in variants.items()}
        rows.append({"model": model, **sizes, "printed": printed, "backbone": backbone})
    return rows


@dataclass(frozen=True)
class Candidate:
    """One way in which a number of Table 1 may have been counted."""

    model: str
    P: int
    resolution: int
    classes: int | None
    pre_logits: bool
    total: int

    @property
    def name(self) -> str:
        """Such as ViT-L/32."""
        return f"{self.model[:5]}/{self.P}"

    @property
    def named(self) -> bool:
        """Whether the paper trains a model of this size and patch."""
        return self.name in VARIANTS

    @property
    def rounded(self) -> int:
        """To the nearest million."""
        return (self.total + 500_000) // 1_000_000

    @property
    def fits(self) -> bool:
        """Whether the count rounds to the printed one."""
        return self.rounded == PRINTED_MILLIONS[self.model]

    @property
    def recipe(self) -> Recipe:
        return self.resolution, self.classes, self.pre_logits


def search_table_1(
    patches: Iterable[int] = (14, 16, 32),
    resolutions: Iterable[int] = (224, 384, 512, 518),
    classes: Iterable[int | None] = (None, 1000, 18291, 21843),
    pre_logits: Iterable[bool] = (False, True),
) -> tuple[Candidate, ...]:
    """Base, Large and Huge counted in every way that the choices allow; a side that is no multiple of P is skipped.

    The default choices are the paper's: its patches, the sides it trains and fine-tunes at, no class layer or that of
    ImageNet, JFT or ImageNet-21k, without and with the hidden layer of the pre-training head.
    """
    choices = product(PRINTED_MILLIONS, patches, resolutions, pre_logits, classes)
    return tuple(
        Candidate(model, P, side, K, pre, _total(model, P, side, K, pre))
        for model, P, side, pre, K in choices
        if whole(side, "a resolution") % whole(P, "a patch") == 0
    )


def _total(model: str, P: int, side: int, classes: int | None, pre_logits: bool) -> int:
    config = replace(next(iter(_variants(model).values())), H=side, W=side, P=P)
    return count_parameters(config, classes, pre_logits).total


def uniform_recipes(candidates: Iterable[Candidate]) -> dict[Recipe, tuple[Candidate, ...]]:
    """Recipes under which Base, Large and Huge each have a candidate that fits, with all that do."""
    fits: dict[Recipe, tuple[Candidate, ...]] = {}
    for candidate in candidates:
        if candidate.fits:
            fits[candidate.recipe] = (*fits.get(candidate.recipe, ()), candidate)
    return {recipe: found for recipe, found in fits.items() if {c.model for c in found} == set(PRINTED_MILLIONS)}
