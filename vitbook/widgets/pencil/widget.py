"""The pencil example of Appendix A with every given number open to change; the page itself works Eq. 5 to 8 out again.

Works in the built book with no kernel. With one, the numbers can be read and set from Python, and `steps` follows them.
"""

from __future__ import annotations

import anywidget
import traitlets

from vitbook.figures.palette import THEMES, attention_colours
from vitbook.studies import pencil
from vitbook.widgets.kit import script, style

GIVEN = ("z", "U_qkv", "U_msa")
_BAR = [attention_colours(theme)[150] for theme in THEMES]  # of a weight: seen on either ground


class PencilWidget(anywidget.AnyWidget):
    """z (N, D), U_qkv (one (D, 3 D_h) a head) and U_msa (k D_h, D) as cells to edit; q, k, v, scores, A, SA, MSA follow.

    Starts with the book's example, or with numbers of the reader's, and Reset goes back to them. head: the one shown, from
    1. Raises ValueError as `vitbook.studies.pencil.steps` does; later values of another shape are refused with a TraitError.
    """

    _esm = traitlets.Unicode(script("pencil/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("pencil/widget.css", weight=_BAR)).tag(sync=True)
    start = traitlets.Dict().tag(sync=True)
    z = traitlets.List().tag(sync=True)
    U_qkv = traitlets.List().tag(sync=True)
    U_msa = traitlets.List().tag(sync=True)
    head = traitlets.Int(1).tag(sync=True)

    def __init__(self, z=pencil.Z, U_qkv=pencil.U_QKV, U_msa=pencil.U_MSA, head: int = 1):
        lists = pencil.steps(z, U_qkv, U_msa).lists()
        start = {name: lists[name] for name in GIVEN}
        super().__init__(start=start, **start)
        self.head = head

    def steps(self) -> pencil.Steps:
        """Eq. 5 to 8 of the numbers that stand in the cells now, in float64."""
        return pencil.steps(self.z, self.U_qkv, self.U_msa)

    @traitlets.validate(*GIVEN)
    def _fits(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        if not self.start:
            return value
        given = {each: getattr(self, each) for each in GIVEN} | {name: value}
        try:
            shapes = [_shapes(pencil.steps(**numbers)) for numbers in (given, self.start)]
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(str(error)) from None
        if shapes[0] != shapes[1]:
            raise traitlets.TraitError(f"{name} must keep its shape: the cells hold {shapes[1]}, got {shapes[0]}")
        return value

    @traitlets.validate("head")
    def _known_head(self, proposal):
        if not 1 <= proposal["value"] <= len(self.U_qkv):
            raise traitlets.TraitError(f"head must be from 1 to {len(self.U_qkv)}, got {proposal['value']}")
        return proposal["value"]


def _shapes(steps: pencil.Steps) -> dict[str, list[int]]:
    return {"z": [*steps.z.shape], "U_qkv": [len(steps.U_qkv), *steps.U_qkv[0].shape], "U_msa": [*steps.U_msa.shape]}
