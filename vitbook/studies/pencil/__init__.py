"""Appendix A with a pencil: four tokens, two heads, small whole numbers, every step of Eq. 5 to 8.

Tokens are t0 to t3 and heads 1 and 2, as in the chapter. Everything is computed in float64.
"""

from __future__ import annotations

from vitbook.studies.pencil.by_hand import Line, follow
from vitbook.studies.pencil.checks import Erratum, PermutationCheck, erratum, permutation
from vitbook.studies.pencil.equations import HeadSteps, Steps, paper_U_qkv, steps
from vitbook.studies.pencil.example import E_POS, ORDER, PRINTED_T3, U_MSA, U_QKV, Z

__all__ = [
    "E_POS",
    "ORDER",
    "PRINTED_T3",
    "U_MSA",
    "U_QKV",
    "Erratum",
    "HeadSteps",
    "Line",
    "PermutationCheck",
    "Steps",
    "Z",
    "erratum",
    "follow",
    "paper_U_qkv",
    "permutation",
    "steps",
]
