"""Two experiments on the four-token example: shuffled tokens, and a printed row that cannot be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vitbook.studies.pencil.equations import matrix, steps
from vitbook.studies.pencil.example import E_POS, ORDER, PRINTED_T3, U_MSA, U_QKV, Z


@dataclass(frozen=True)
class PermutationCheck:
    """MSA of shuffled tokens beside the shuffled rows of MSA, without and with positions (Section 3.1)."""

    order: tuple[int, ...]
    msa_of_shuffled: Tensor
    shuffled_msa: Tensor
    difference: float  # the largest, without positions: rounding at most
    difference_with_positions: float  # the largest, when E_pos is added before attention


def permutation(order: Sequence[int] = ORDER, z=Z, U_qkv=U_QKV, U_msa=U_MSA, E_pos=E_POS) -> PermutationCheck:
    """Shuffle the rows of z and see whether the rows of MSA(z) are shuffled the same way, with and without E_pos.

    order: the old place of each new row, every place once. Raises ValueError otherwise, or as `steps` does.
    """
    z, order = matrix("z", z), list(order)
    if sorted(order) != list(range(len(z))):
        raise ValueError(f"order must name each of the tokens 0 to {len(z) - 1} once, got {order}")
    plain, shuffled = steps(z, U_qkv, U_msa).msa[order], steps(z[order], U_qkv, U_msa).msa
    placed = steps(z, U_qkv, U_msa, E_pos).msa[order] - steps(z[order], U_qkv, U_msa, E_pos).msa
    return PermutationCheck(
        tuple(order), shuffled, plain, (shuffled - plain).abs().max().item(), placed.abs().max().item()
    )


@dataclass(frozen=True)
class Erratum:
    """The printed SA_1 of t3 held against the printed A and v (Eq. 7), and what each would make of MSA(z) (Eq. 8)."""

    printed: Tensor  # SA_1(z) of t3 as printed, (D_h,)
    recomputed: Tensor  # the printed row of A times the printed v
    exact: Tensor  # from z, without any rounding in between
    msa_printed: Tensor  # MSA(z) of t3 as printed, (D,)
    msa_from_printed: Tensor  # what Eq. 8 makes of the printed SA_1
    msa_from_exact: Tensor  # what Eq. 8 makes of the exact one


def erratum() -> Erratum:
    """Eq. 7 and 8 for t3 of head 1: three of the four printed rows agree; the printed SA_1 is the one that cannot be."""
    s = steps()
    as_tensor = {name: torch.tensor(values, dtype=torch.float64) for name, values in PRINTED_T3.items()}
    exact, other_head = s.heads[0].SA[3], s.heads[1].SA[3]
    msa = {
        name: torch.cat([row, other_head]) @ s.U_msa for name, row in (("printed", as_tensor["SA"]), ("exact", exact))
    }
    recomputed = as_tensor["A"] @ as_tensor["v"]
    return Erratum(as_tensor["SA"], recomputed, exact, as_tensor["msa"], msa["printed"], msa["exact"])
