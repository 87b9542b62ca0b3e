"""Eq. 5 to 8 for the four-token example, or for any numbers of the reader's, every step kept."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from vitbook.attention import attention_weights, join_heads, scores, self_attention
from vitbook.studies.pencil.example import U_MSA, U_QKV, Z


@dataclass(frozen=True)
class HeadSteps:
    """Eq. 5 to 7 of one head: q, k, v (N, D_h); dots = q kᵀ, scores = dots / sqrt(D_h) and A (N, N); SA (N, D_h)."""

    q: Tensor
    k: Tensor
    v: Tensor
    dots: Tensor
    scores: Tensor
    A: Tensor
    SA: Tensor


@dataclass(frozen=True)
class Steps:
    """Eq. 5 to 8 of the whole example: the inputs, a `HeadSteps` a head, joined (N, k D_h) and msa (N, D)."""

    z: Tensor
    U_qkv: tuple[Tensor, ...]
    U_msa: Tensor
    heads: tuple[HeadSteps, ...]
    joined: Tensor
    msa: Tensor

    def lists(self) -> dict:
        """The same as nested lists of plain numbers, for JSON."""
        heads = [{f.name: getattr(head, f.name).tolist() for f in fields(head)} for head in self.heads]
        matrices = {name: getattr(self, name).tolist() for name in ("z", "U_msa", "joined", "msa")}
        return matrices | {"U_qkv": [U.tolist() for U in self.U_qkv], "heads": heads}


def steps(z=Z, U_qkv=U_QKV, U_msa=U_MSA, E_pos=None) -> Steps:
    """Eq. 5 to 8, kept step by step, for the example or for any numbers of the reader's.

    z: (N, D); U_qkv: k matrices (D, 3 D_h); U_msa: (k D_h, D); E_pos: None, or (N, D) to be added to z first.
    Nested sequences, arrays or tensors. Raises ValueError naming the matrix, what came and what was expected.
    """
    z, U_qkv, U_msa = check(z, U_qkv, U_msa)
    if E_pos is not None:
        z = z + matrix("E_pos", E_pos, rows=z.shape[0], columns=z.shape[1])
    heads = tuple(head_steps(z, U) for U in U_qkv)
    joined = torch.cat([head.SA for head in heads], dim=1)
    return Steps(z, U_qkv, U_msa, heads, joined, msa=join_heads(torch.stack([head.SA for head in heads]), U_msa))


def head_steps(z: Tensor, U_qkv: Tensor) -> HeadSteps:
    """Eq. 5, 6, 7 of one head, with the paper's own U_qkv (D, 3 D_h)."""
    q, k, v = (z @ U_qkv).chunk(3, dim=1)  # Eq. 5: (N, 3 D_h) -> three times (N, D_h)
    A = attention_weights(q, k)
    return HeadSteps(q, k, v, dots=q @ k.T, scores=scores(q, k), A=A, SA=self_attention(A, v))


def paper_U_qkv(U_q: Tensor, U_k: Tensor, U_v: Tensor, heads: int) -> tuple[Tensor, ...]:
    """Eq. 5: from three (D, k D_h) matrices for all heads to the paper's k matrices U_qkv (D, 3 D_h), the same numbers.

    Head h owns columns (h - 1) D_h to h D_h of each of the three. Raises ValueError when shapes do not fit.
    """
    if not U_q.shape == U_k.shape == U_v.shape or U_q.ndim != 2:
        raise ValueError(
            f"U_q, U_k, U_v must be matrices of one shape, got {[tuple(U.shape) for U in (U_q, U_k, U_v)]}"
        )
    if heads < 1 or U_q.shape[1] % heads:
        raise ValueError(f"{U_q.shape[1]} columns cannot be shared equally among {heads} heads")
    per_head = zip(*(U.chunk(heads, dim=1) for U in (U_q, U_k, U_v)), strict=True)
    return tuple(torch.cat(blocks, dim=1) for blocks in per_head)


def check(z, U_qkv, U_msa) -> tuple[Tensor, tuple[Tensor, ...], Tensor]:
    """The three as float64 tensors, or ValueError naming the one that does not fit."""
    z = matrix("z", z)
    D = z.shape[1]
    U_qkv = tuple(matrix(f"U_qkv of head {h}", U, rows=D) for h, U in enumerate(U_qkv, start=1))
    if not U_qkv:
        raise ValueError("U_qkv must hold one matrix a head, got none")
    columns = U_qkv[0].shape[1]
    for h, U in enumerate(U_qkv, start=1):
        if columns % 3 or U.shape[1] != columns:
            expected = "3 D_h columns (q, k, v), as many in every head"
            raise ValueError(f"U_qkv of head {h} must have {expected}; got {U.shape[1]}, and head 1 has {columns}")
    return z, U_qkv, matrix("U_msa", U_msa, rows=len(U_qkv) * columns // 3, columns=D)


def matrix(name: str, numbers, rows: int | None = None, columns: int | None = None) -> Tensor:
    """`numbers` as a finite float64 matrix of that size, or ValueError."""
    try:
        tensor = torch.as_tensor(numbers, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be a matrix of numbers, rows of equal length: {error}") from None
    if tensor.ndim != 2 or 0 in tensor.shape:
        raise ValueError(f"{name} must be a matrix with at least one row and column, got shape {tuple(tensor.shape)}")
    expected = (rows or tensor.shape[0], columns or tensor.shape[1])
    if tuple(tensor.shape) != expected:
        raise ValueError(
            f"{name} must have {expected[0]} rows and {expected[1]} columns, got shape {tuple(tensor.shape)}"
        )
    if not tensor.isfinite().all():
        raise ValueError(f"{name} must hold finite numbers only")
    return tensor
