"""Attention as convolution: Theorem 1 of Cordonnier, Loukas and Jaggi (ICLR 2020), as an experiment in float64.

K² heads that look only at where a key stands, never at what it holds, can each point at one neighbour of the query; with
the matching slice of a kernel as their value weights they add up to a K × K convolution. Pictures here are (H, W, C).
Chapter: related work.
"""

from __future__ import annotations

import numpy as np

from vitbook.checks import finite, index, whole

#: Above this many pixels the (N, N, 3) relative encodings no longer fit comfortably in memory.
MOST_PIXELS = 2304

#: On every function that computes: a weight too small for float64 is 0, whatever a reader has told NumPy about underflow.
shielded = np.errstate(all="ignore")


def shifts(K: int) -> list[tuple[int, int]]:
    """The K² offsets (row, column) of a kernel's taps around its middle, in raster order."""
    K = _odd(K)
    return [(a - K // 2, b - K // 2) for a in range(K) for b in range(K)]


def relative_encoding(H: int, W: int) -> np.ndarray:
    """r_δ = (‖δ‖², δ_1, δ_2) for δ = place of the key minus place of the query: (N, N, 3), queries first."""
    H, W = whole(H, "H"), whole(W, "W")
    if H * W > MOST_PIXELS:
        raise ValueError(
            f"{H} × {W} pixels make an attention matrix too large to hold; take at most {MOST_PIXELS:,} pixels"
        )
    places = np.stack(np.divmod(np.arange(H * W), W), axis=1).astype(float)  # (N, 2)
    delta = places[None, :, :] - places[:, None, :]
    return np.concatenate([(delta**2).sum(axis=2, keepdims=True), delta], axis=2)


@shielded
def quadratic_head(shift: tuple[int, int], alpha: float, H: int, W: int) -> np.ndarray:
    """A = softmax(v · r_δ) over the keys with v = -α (1, -2Δ_1, -2Δ_2): (N, N), rows sum to 1.

    v · r_δ = -α ‖δ - Δ‖² + α ‖Δ‖²: a bump centred Δ away from the query, the narrower the larger α.
    """
    v = -_sharpness(alpha) * np.array([1.0, -2.0 * shift[0], -2.0 * shift[1]])
    scores = relative_encoding(H, W) @ v
    A = np.exp(scores - scores.max(axis=1, keepdims=True))
    return A / A.sum(axis=1, keepdims=True)


def quadratic_heads(K: int, alpha: float, H: int, W: int) -> np.ndarray:
    """One `quadratic_head` for every tap of a K × K kernel, in the order of `shifts`: (K², N, N)."""
    return np.stack([quadratic_head(shift, alpha, H, W) for shift in shifts(K)])


@shielded
def attention_as_convolution(x: np.ndarray, kernel: np.ndarray, alpha: float, pad: bool = False) -> np.ndarray:
    """Σ_h A_h x W_h, one head h for every tap of the kernel: (H, W, C_out).

    x: (H, W, C_in); kernel: (K, K, C_in, C_out), K odd. As α grows, the sum goes to `convolution` wherever the kernel
    fits inside the picture. At the border it does not: softmax shares out weight 1 among the keys that exist, so a head
    that points outside reads the nearest pixel inside. pad: surround x by K // 2 zeros first and cut them off at the
    end; then the keys outside exist, hold zeros, and the border is mended.
    """
    x, kernel = _picture(x), _kernel(kernel, x)
    K = len(kernel)
    margin = K // 2 if pad else 0
    x = np.pad(x, ((margin, margin), (margin, margin), (0, 0)))
    H, W, C = x.shape
    taps = kernel.reshape(K * K, C, -1)
    out = sum(quadratic_head(shift, alpha, H, W) @ x.reshape(H * W, C) @ taps[h] for h, shift in enumerate(shifts(K)))
    return out.reshape(H, W, -1)[margin : H - margin, margin : W - margin]


@shielded
def convolution(x: np.ndarray, kernel: np.ndarray, border: str = "zeros") -> np.ndarray:
    """out[r, c] = Σ_ab x[r + a, c + b] kernel[a, b], with a and b counted from the kernel's middle: (H, W, C_out).

    The kernel is not flipped, as in every deep-learning library. border: "zeros" outside the picture, or "nearest", the
    nearest pixel inside.
    """
    x, kernel = _picture(x), _kernel(kernel, x)
    modes = {"zeros": "constant", "nearest": "edge"}
    if border not in modes:
        raise ValueError(f'border must be "zeros" or "nearest", got {border!r}')
    H, W, _ = x.shape
    m = len(kernel) // 2
    padded = np.pad(x, ((m, m), (m, m), (0, 0)), mode=modes[border])
    return sum(padded[m + a : m + a + H, m + b : m + b + W] @ kernel[m + a, m + b] for a, b in shifts(len(kernel)))


@shielded
def convolution_error(x: np.ndarray, kernel: np.ndarray, alpha: float, pad: bool = False) -> tuple[float, float]:
    """Largest |attention - convolution| in the interior, where the whole kernel fits, and on the border around it.

    NaN for a part that the picture does not have (K = 1 has no border, a small picture no interior).
    """
    error = np.abs(attention_as_convolution(x, kernel, alpha, pad) - convolution(x, kernel)).max(axis=2)
    inside = np.zeros(error.shape, dtype=bool)
    m = len(kernel) // 2
    inside[m : error.shape[0] - m, m : error.shape[1] - m] = True
    return tuple(float(part.max()) if part.size else float("nan") for part in (error[inside], error[~inside]))


def space_to_depth(x: np.ndarray, P: int = 2) -> np.ndarray:
    """(H, W, C) to (H/P, W/P, P²C): each P × P square becomes one long cell, row by row, colours innermost.

    These are the flattened patches of Section 3.1 with N = HW/P²; Cordonnier et al. do it with P = 2, and nothing is
    lost. One linear map on each cell is then a patch embedding.
    """
    x = _picture(x)
    H, W, C = x.shape
    note = f" that divides both sides of a {H} × {W} picture"
    P = whole(P, "P", note=note)
    if H % P or W % P:
        raise ValueError(f"P must be a positive whole number{note}, got {P}")
    squares = x.reshape(H // P, P, W // P, P, C).swapaxes(1, 2)  # (H/P, W/P, P, P, C)
    return squares.reshape(H // P, W // P, P * P * C)


def _odd(K: int) -> int:
    if (number := index(K)) is None or number < 1 or number % 2 == 0:
        raise ValueError(f"K must be a positive odd number, so that the kernel has a middle, got {K!r}")
    return number


def _sharpness(alpha: float) -> float:
    if (value := finite(alpha, "alpha", " above 0")) <= 0:
        raise ValueError(f"alpha must be a finite number above 0, got {alpha!r}")
    return value


def _picture(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 3 or 0 in x.shape:
        raise ValueError(f"a picture is an array (H, W, C) with no empty side, got {x.shape}")
    return x


def _kernel(kernel: np.ndarray, x: np.ndarray) -> np.ndarray:
    kernel = np.asarray(kernel, dtype=np.float64)
    if kernel.ndim != 4 or kernel.shape[0] != kernel.shape[1] or kernel.shape[2] != x.shape[2]:
        raise ValueError(f"a kernel for this picture is an array (K, K, {x.shape[2]}, C_out), got {kernel.shape}")
    _odd(kernel.shape[0])
    return kernel
