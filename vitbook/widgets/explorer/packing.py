"""Attention as bytes small enough to travel with a page, true in both directions: by row and by column.

A layer travels as a stack of squares (maps, N+1, N+1): the mean over heads first, then every head. A weight that patch i
gives patch j is stored as a whole number from 0 to 255 of the smaller of two tops: the largest weight in row i and the
largest in column j. So its error is at most 1/510 of the maximum of the map it is seen in, be that "what i reads" or
"who reads j". What [class] gives is stored against its row's top alone. Sums, tops and the [class] column stay float32.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass

import numpy as np

from vitbook import maps
from vitbook.trace import Trace

VERSION = 1  # of this layout; part of every fingerprint
LEVELS = 255


@dataclass(frozen=True, eq=False)
class Packed:
    """What `unpack` gives back. tokens = N+1; row 0 and column 0 belong to [class].

    row_sums, column_sums, to_class (maps, tokens): sums over all keys and all queries, and the weight every query gives
    [class]. row_tops (maps, tokens): the largest weight on a patch in each row. column_tops (maps, N): the largest weight
    that a patch's column holds among patch queries. codes (maps, tokens, N) uint8.
    """

    row_sums: np.ndarray
    column_sums: np.ndarray
    to_class: np.ndarray
    row_tops: np.ndarray
    column_tops: np.ndarray
    codes: np.ndarray

    def weights(self) -> np.ndarray:
        """The stacked squares again, float64 (maps, tokens, tokens)."""
        patches = self.codes / LEVELS * _units(self.row_tops, self.column_tops)
        return np.concatenate([self.to_class[..., None].astype(np.float64), patches], axis=-1)

    def bytes(self) -> bytes:
        """The fields in their order above, little-endian, one after the other."""
        tables = (self.row_sums, self.column_sums, self.to_class, self.row_tops, self.column_tops)
        return b"".join(t.astype("<f4").tobytes() for t in tables) + self.codes.tobytes()


def pack(A) -> Packed:
    """Stacked attention (maps, N+1, N+1), array or tensor -> the parts that are stored.

    Raises ValueError when A is not a stack of squares of finite numbers >= 0.
    """
    A = np.asarray(A, np.float32)
    if A.ndim != 3 or A.shape[1] != A.shape[2] or A.shape[1] < 2:
        raise ValueError(f"expected attention of shape (maps, N+1, N+1), got {A.shape}")
    if not (np.isfinite(A).all() and (A >= 0).all()):
        raise ValueError("attention weights must be finite and not below 0; this is not the output of a softmax")
    patches = A[:, :, 1:]
    row_tops, column_tops = patches.max(2), patches[:, 1:].max(1)
    units = _units(row_tops, column_tops)
    codes = np.rint(np.divide(LEVELS * patches.astype(np.float64), units, where=units > 0, out=np.zeros(units.shape)))
    sums = A.sum(2, dtype=np.float64), A.sum(1, dtype=np.float64)
    return Packed(
        *(s.astype(np.float32) for s in sums), A[:, :, 0].copy(), row_tops, column_tops, codes.astype(np.uint8)
    )


def unpack(data: bytes, count: int, N: int) -> Packed:
    """The inverse of `Packed.bytes`, for `count` maps over N patches.  Raises ValueError when the length is another."""
    tokens = N + 1
    shapes = [(count, tokens)] * 4 + [(count, N)]
    ends = np.cumsum([0] + [4 * int(np.prod(s)) for s in shapes])
    if len(data) != ends[-1] + count * tokens * N:
        raise ValueError(
            f"expected {ends[-1] + count * tokens * N:,} bytes for {count} maps of N = {N}, got {len(data):,}"
        )
    tables = [np.frombuffer(data[a:b], "<f4").reshape(s) for a, b, s in zip(ends, ends[1:], shapes, strict=False)]
    return Packed(*tables, np.frombuffer(data[ends[-1] :], np.uint8).reshape(count, tokens, N))


def layer_stack(trace: Trace, layer: int) -> np.ndarray:
    """One layer as it travels, (1 + heads, N+1, N+1) float32: the mean over heads first.  Layer 0 is the rollout:
    (L, N+1, N+1), one square for the rollout up to each layer."""
    if layer == 0:
        return maps.rollout(trace).float().cpu().numpy()
    A = trace.attention(layer).float().cpu()
    return np.concatenate([A.mean(0, keepdim=True).numpy(), A.numpy()])


def layer_bytes(trace: Trace, layer: int, level: int = 9) -> bytes:
    """`layer_stack`, packed and gzipped; the same numbers give the same bytes."""
    return gzip.compress(pack(layer_stack(trace, layer)).bytes(), level, mtime=0)


def rows_bytes(trace: Trace, layer: int, query: int) -> bytes:
    """Only one query's rows of a layer, packed as a stack with a single row: enough to draw a page's first map.

    Fields: row_sums, to_class, row_tops (maps,) float32, then codes (maps, N) of 255ths of the row's top.
    """
    rows = layer_stack(trace, layer)[:, query]
    tops = rows[:, 1:].max(1)
    codes = np.rint(LEVELS * rows[:, 1:].astype(np.float64) / np.where(tops > 0, tops, 1)[:, None]).astype(np.uint8)
    tables = (rows.sum(1, dtype=np.float64), rows[:, 0], tops)
    return b"".join(t.astype("<f4").tobytes() for t in tables) + codes.tobytes()


def _units(row_tops: np.ndarray, column_tops: np.ndarray) -> np.ndarray:
    """What code 255 stands for, (maps, tokens, N) float64: the smaller top, and for [class]'s own row that row's top."""
    units = np.minimum(row_tops[:, :, None], column_tops[:, None, :]).astype(np.float64)
    units[:, 0] = row_tops[:, 0, None]
    return units
