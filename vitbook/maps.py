"""What is read off a trace: maps over the patch grid, and single numbers that sum a head up.

Maps have shape (rows, columns).  The [class] column never fits the grid; where it is dropped, the docstring says so.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from vitbook.config import ViTConfig
from vitbook.trace import Trace

Map = Float[Tensor, "rows columns"]


def to_grid(row: Float[Tensor, "*lead N1"], config: ViTConfig) -> Float[Tensor, "*lead rows columns"]:
    """Weights over all N + 1 tokens -> the grid, the [class] token's own weight left out (so it need not sum to 1)."""
    return row[..., 1:].unflatten(-1, (config.rows, config.columns))


def attention_map(trace: Trace, layer: int, head: int, query: int = 0) -> Map:
    """How much token `query` reads each patch, in one head of one layer (from 1): that row of A, on the grid."""
    return to_grid(trace.attention(layer, head, query), trace.config)


def readers_map(trace: Trace, layer: int, head: int, token: int = 0) -> Map:
    """Who reads token `token`: that column of A, on the grid of queries.  Columns of A need not sum to 1."""
    return to_grid(trace.attention(layer, head)[:, token], trace.config)


def rollout(trace: Trace) -> Float[Tensor, "L N1 N1"]:
    """Attention rollout after each layer (Abnar and Zuidema, 2020): R_l = (A_l + I)/2 R_{l-1}, A_l averaged over heads.

    The identity stands for the residual line.  Later layers multiply from the left; rows sum to 1.  Row 0 of the last
    entry is the [class] token's.
    """
    identity = torch.eye(trace.config.N + 1, dtype=trace.y.dtype)
    R, out = identity, []
    for l in range(1, trace.config.L + 1):
        R = (trace.attention(l).mean(0) + identity) / 2 @ R
        out.append(R)
    return torch.stack(out)


def entropy(A: Float[Tensor, "*lead tokens"]) -> Float[Tensor, "*lead"]:
    """Entropy of each row in bits: 0 when all weight is on one token, log2(N+1) when it is spread evenly."""
    return -(A * A.clamp_min(torch.finfo(A.dtype).tiny).log2()).sum(-1)


def patch_distances(config: ViTConfig) -> Float[Tensor, "N N"]:
    """Distance between patch centres in pixels, P times the distance on the grid."""
    row, column = torch.meshgrid(torch.arange(config.rows), torch.arange(config.columns), indexing="ij")
    centre = torch.stack([row, column], -1).reshape(-1, 2).double() * config.P
    return torch.cdist(centre, centre).float()


def attention_distance(trace: Trace, layer: int) -> Float[Tensor, "heads"]:
    """Mean attention distance of each head in pixels (Fig. 7 right and Appendix D.7 of the paper), for one picture.

    The [class] row and column are dropped and every row is made to sum to 1 again before the distances are averaged
    over queries.
    """
    A = trace.attention(layer)[:, 1:, 1:]
    A = A / A.sum(-1, keepdim=True)
    return (A * patch_distances(trace.config).to(A.dtype)).sum(-1).mean(-1)


def uniform_distance(config: ViTConfig) -> float:
    """The attention distance of a head that reads every patch alike: the reference line, in pixels."""
    return patch_distances(config).mean().item()


def position_similarity(E_pos: Float[Tensor, "N1 D"], config: ViTConfig) -> Float[Tensor, "N rows columns"]:
    """Cosine similarity of every patch's position vector with all others, one map a patch (Fig. 7 centre)."""
    unit = torch.nn.functional.normalize(E_pos[1:], dim=1)
    return (unit @ unit.T).unflatten(1, (config.rows, config.columns))


def offset_profile(A: Float[Tensor, "heads N1 N1"], config: ViTConfig) -> Float[Tensor, "heads rows2 columns2"]:
    """Attention by relative offset: mean weight that a query gives the patch (dr, dc) away, over all queries that have one.

    Entry (rows-1+dr, columns-1+dc); shape (heads, 2 rows - 1, 2 columns - 1).  A head that works like a convolution has
    one sharp bump here.
    """
    rows, columns = config.rows, config.columns
    patches = A[:, 1:, 1:].reshape(-1, rows, columns, rows, columns)
    total = A.new_zeros(len(A), 2 * rows - 1, 2 * columns - 1)
    count = A.new_zeros(2 * rows - 1, 2 * columns - 1)
    for r in range(rows):
        for c in range(columns):
            window = (slice(rows - 1 - r, 2 * rows - 1 - r), slice(columns - 1 - c, 2 * columns - 1 - c))
            total[:, *window] += patches[:, r, c]
            count[window] += 1
    return total / count
