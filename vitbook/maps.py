"""What is read off a trace: maps over the patch grid, and single numbers that sum a head up.

Maps have shape (rows, columns).  The [class] column never fits the grid; where it is dropped, the docstring says so.
Of the trace of a batch, every result has the axis B in front.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from vitbook.config import ViTConfig
from vitbook.patches import check_token
from vitbook.trace import Trace

Map = Float[Tensor, "*batch rows columns"]


def to_grid(row: Float[Tensor, "*lead N1"], config: ViTConfig) -> Float[Tensor, "*lead rows columns"]:
    """Weights over all N + 1 tokens -> the grid, the [class] token's own weight left out (so it need not sum to 1)."""
    return row[..., 1:].unflatten(-1, (config.rows, config.columns))  # (..., N+1) -> (..., N) -> (..., rows, columns)


def attention_map(trace: Trace, layer: int, head: int, query: int = 0) -> Map:
    """How much token `query` reads each patch, in one head of one layer (from 1): that row of A, on the grid."""
    return to_grid(trace.attention(layer, head, query), trace.config)


def readers_map(trace: Trace, layer: int, head: int, token: int = 0) -> Map:
    """Who reads token `token`: that column of A, on the grid of queries.  Columns of A need not sum to 1."""
    return to_grid(
        trace.attention(layer, head)[..., check_token(token, trace.config)], trace.config
    )  # (..., N+1, N+1) -> (..., N+1), the readers


def rollout(trace: Trace) -> Float[Tensor, "*batch L N1 N1"]:
    """Attention rollout after each layer (Abnar and Zuidema, 2020): R_l = (A_l + I)/2 R_{l-1}, A_l averaged over heads.

    The identity stands for the residual line.  Later layers multiply from the left; rows sum to 1.  Row 0 of the last
    entry is the [class] token's.
    """
    identity = torch.eye(trace.config.N + 1, dtype=trace.y.dtype, device=trace.y.device)
    R, out = identity, []
    for l in range(1, trace.config.L + 1):
        # one layer's A at a time: all of them together would be L heads N² numbers
        R = (trace.attention(l).mean(-3) + identity) / 2 @ R  # (..., heads, N+1, N+1) -> (..., N+1, N+1)
        out.append(R)
    return torch.stack(out, dim=-3)  # (..., L, N+1, N+1)


def entropy(A: Float[Tensor, "*lead tokens"]) -> Float[Tensor, "*lead"]:
    """Entropy of each row in bits: 0 when all weight is on one token, log2(N+1) when it is spread evenly."""
    # a weight of 0 adds 0, but its logarithm is -inf: so the smallest number above 0 stands in for it there
    return -(A * A.clamp_min(torch.finfo(A.dtype).tiny).log2()).sum(-1)


def patch_distances(config: ViTConfig) -> Float[Tensor, "N N"]:
    """Distance between patch centres in pixels, P times the distance on the grid."""
    row, column = torch.meshgrid(*(torch.arange(n, device="cpu") for n in (config.rows, config.columns)), indexing="ij")
    centre = torch.stack([row, column], -1).reshape(-1, 2).double() * config.P  # (rows, columns, 2) -> (N, 2)
    return torch.cdist(centre, centre).float()


def attention_distance(trace: Trace, layer: int) -> Float[Tensor, "*batch heads"]:
    """Mean attention distance of each head in pixels (Fig. 7 right and Appendix D.7 of the paper), for each picture.

    The [class] row and column are dropped and every row is made to sum to 1 again before the distances are averaged
    over queries.
    """
    A = trace.attention(layer)[..., 1:, 1:]  # (..., heads, N, N): [class] has no place to be far from
    A = A / A.sum(-1, keepdim=True)
    return (A * patch_distances(trace.config).to(A)).sum(-1).mean(-1)  # keys, then queries, leave (..., heads)


def uniform_distance(config: ViTConfig) -> float:
    """The attention distance of a head that reads every patch alike: the reference line, in pixels."""
    return patch_distances(config).mean().item()


def position_similarity(E_pos: Float[Tensor, "N1 D"], config: ViTConfig) -> Float[Tensor, "N rows columns"]:
    """Cosine similarity of every patch's position vector with all others, one map a patch (Fig. 7 centre)."""
    unit = torch.nn.functional.normalize(E_pos[1:], dim=1)
    return (unit @ unit.T).unflatten(1, (config.rows, config.columns))


def offset_profile(A: Float[Tensor, "*lead N1 N1"], config: ViTConfig) -> Float[Tensor, "*lead rows2 columns2"]:
    """Attention by relative offset: mean weight that a query gives the patch (dr, dc) away, over all queries that have one.

    Entry (rows-1+dr, columns-1+dc); shape (heads, 2 rows - 1, 2 columns - 1), or what else A has in front.  A head that
    works like a convolution has one sharp bump here.
    """
    rows, columns = config.rows, config.columns
    grid = (rows, columns)
    patches = (
        A[..., 1:, 1:].unflatten(-1, grid).unflatten(-3, grid)
    )  # (..., query row, query column, key row, key column)
    total = A.new_zeros(*A.shape[:-2], 2 * rows - 1, 2 * columns - 1)
    count = A.new_zeros(2 * rows - 1, 2 * columns - 1)
    for r in range(rows):
        for c in range(columns):
            # seen from the query at (r, c), key row 0 is the offset -r: that is where this query's map is added
            window = (slice(rows - 1 - r, 2 * rows - 1 - r), slice(columns - 1 - c, 2 * columns - 1 - c))
            total[..., *window] += patches[..., r, c, :, :]
            count[window] += 1
    return total / count
