"""`Calculator`: sizes in, parameters and multiply-adds out, with a kernel or without one.

The page evaluates the very formulas of `vitbook.studies.counting` (they are text), in whole numbers of any length, so its totals
are Python's to the last digit.  Chapter: where the parameters sit.
"""

from __future__ import annotations

import anywidget
import traitlets

from vitbook.config import VARIANTS, ViTConfig
from vitbook.studies.counting import MULTIPLY_ADDS, PARAMETERS, count_parameters, multiply_adds
from vitbook.studies.formulas import Count, Term, as_text
from vitbook.widgets.kit import script, style
from vitbook.widgets.kit.traits import Flag, KnownAttributes, Whole, one_of

LETTERS = ("H", "W", "P", "C", "D", "L", "heads", "M")
#: Part -> the ink of what it is; parts that cannot stand in one bar may share an ink.
INK = {
    "patch_embedding": "embedding",
    "class_token": "class",
    "positions": "position",
    "attention": "query",
    "projections": "query",
    "scores": "key",
    "weighted_sum": "value",
    "mlp": "mlp",
    "norms": "stream",
    "final_norm": "stream",
    "pre_logits": "picture",
    "head": "class",
}
_PIECES = "".join(f'.vb-calc [data-ink="{ink}"]{{background:var(--vb-{ink})}}\n' for ink in dict.fromkeys(INK.values()))


def described(terms: tuple[Term, ...]) -> list[dict[str, str]]:
    """What the page needs of each term: title, formula to evaluate, formula to read, how often, and its ink."""
    return [
        {"title": t.title, "formula": t.formula, "text": as_text(t.formula), "times": t.times, "ink": INK[t.name]}
        for t in terms
    ]


class Calculator(KnownAttributes, anywidget.AnyWidget):
    """Parameters and multiply-adds of any plain ViT.

    model: a variant of Table 1 to start from; any size by its letter, K classes (0: no class layer), qkv_bias and
    pre_logits may be given too.  Each is an attribute to read, set and observe; the page may change it as well.
    Raises ValueError as `ViTConfig` does when the start is impossible, and traitlets.TraitError for what is no size.
    """

    _esm = traitlets.Unicode(script("calculator/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("calculator/widget.css", _PIECES)).tag(sync=True)

    H = Whole(1).tag(sync=True)
    W = Whole(1).tag(sync=True)
    P = Whole(1).tag(sync=True)
    C = Whole(1).tag(sync=True)
    D = Whole(1).tag(sync=True)
    L = Whole(1).tag(sync=True)
    heads = Whole(1).tag(sync=True)
    M = Whole(1).tag(sync=True)
    K = Whole(1000, least=0).tag(sync=True)
    qkv_bias = Flag(True).tag(sync=True)
    pre_logits = Flag(False).tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    parameters = traitlets.List().tag(sync=True)
    multiply_adds = traitlets.List().tag(sync=True)

    def __init__(self, model: str = "ViT-B/16", **sizes):
        one_of(model, VARIANTS, "model")
        if unknown := sizes.keys() - {*LETTERS, "K", "qkv_bias", "pre_logits"}:
            raise TypeError(f"Calculator has no {', '.join(sorted(unknown))}; sizes are {', '.join(LETTERS)} and K")
        presets = {name: {letter: getattr(c, letter) for letter in LETTERS} for name, c in VARIANTS.items()}
        terms = {"parameters": described(PARAMETERS), "multiply_adds": described(MULTIPLY_ADDS)}
        super().__init__(**presets[model] | sizes, **terms, presets=presets)
        _ = self.count

    @property
    def config(self) -> ViTConfig:
        """The sizes as a config.  Raises ValueError naming the letter where they fit no model."""
        return ViTConfig(**{letter: getattr(self, letter) for letter in LETTERS}, qkv_bias=self.qkv_bias)

    @property
    def count(self) -> Count:
        """Parameters, as `count_parameters` gives them."""
        return count_parameters(self.config, self.K or None, self.pre_logits)

    @property
    def cost(self) -> Count:
        """Multiply-adds of one picture, as `vitbook.studies.counting.multiply_adds` gives them."""
        return multiply_adds(self.config, self.K or None, self.pre_logits)
