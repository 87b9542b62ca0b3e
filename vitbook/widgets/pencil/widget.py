"""The pencil example of Appendix A with every given number open to change; the page itself works Eq. 5 to 8 out again.

Works in the built book with no kernel. With one, the numbers can be read and set from Python, and `steps` follows them.
"""

from __future__ import annotations

from collections.abc import Sequence

import anywidget
import numpy as np
import traitlets
from torch import Tensor

from vitbook.figures.palette import THEMES, attention_colours
from vitbook.studies import pencil
from vitbook.studies.pencil.equations import matrix
from vitbook.widgets.kit import script, style
from vitbook.widgets.kit.traits import Checked, KnownAttributes, Whole
from vitbook.wording import brief

GIVEN = ("z", "U_qkv", "U_msa")
_MATRICES = Sequence | np.ndarray | Tensor
_BAR = [attention_colours(theme)[150] for theme in THEMES]  # of a weight: seen on either ground


class PencilWidget(KnownAttributes, anywidget.AnyWidget):
    """z (N, D), U_qkv (one (D, 3 D_h) a head) and U_msa (k D_h, D) as cells to edit; q, k, v, scores, A, SA, MSA follow.

    Starts with the book's example, or with numbers of the reader's, and Reset goes back to them. head: the one shown, from
    1. Raises ValueError as `vitbook.studies.pencil.steps` does; later values of another shape are refused with a TraitError.
    """

    _esm = traitlets.Unicode(script("pencil/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("pencil/widget.css", weight=_BAR)).tag(sync=True)
    start = traitlets.Dict().tag(sync=True)
    z = Checked(lambda self, z: self._fitting("z", z)).tag(sync=True)
    U_qkv = Checked(lambda self, U_qkv: self._fitting("U_qkv", U_qkv)).tag(sync=True)
    U_msa = Checked(lambda self, U_msa: self._fitting("U_msa", U_msa)).tag(sync=True)
    head = Whole(1, most=lambda self: len(self.U_qkv)).tag(sync=True)

    def __init__(self, z=pencil.Z, U_qkv=pencil.U_QKV, U_msa=pencil.U_MSA, head: int = 1):
        if not isinstance(U_qkv, _MATRICES):
            raise ValueError(f"U_qkv must hold one matrix a head, got {brief(U_qkv)}")
        lists = pencil.steps(z, U_qkv, U_msa).lists()
        start = {name: lists[name] for name in GIVEN}
        super().__init__(start=start, **start)
        self.head = head

    def steps(self) -> pencil.Steps:
        """Eq. 5 to 8 of the numbers that stand in the cells now, in float64."""
        return pencil.steps(self.z, self.U_qkv, self.U_msa)

    def _fitting(self, name: str, value) -> list:
        """Numbers of the shape that the cells have, as lists.  Raises ValueError naming the shape."""
        shape = self.start[name]
        if name != "U_qkv":
            return matrix(name, value, len(shape), len(shape[0])).tolist()
        if not isinstance(value, _MATRICES) or len(value) != len(shape):
            raise ValueError(f"U_qkv must hold {len(shape)} matrices, one a head, got {brief(value)}")
        rows, columns = len(shape[0]), len(shape[0][0])
        return [matrix(f"U_qkv of head {h}", U, rows, columns).tolist() for h, U in enumerate(value, start=1)]
