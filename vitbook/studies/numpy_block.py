"""One pre-norm encoder block in NumPy, float64: Eq. 2 and 3 without biases, gamma or beta.

Each equation is a small function that leaves its inputs alone; the last axis holds features (or keys, in ``softmax``),
every axis before it is free, so one call serves all pictures, tokens and heads at once.
Shapes: x (B, N, D); q, k, v (B, heads, N, D_h); A (B, heads, N, N); hidden (B, N, M).
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from vitbook.checks import whole

EPS = 1e-6  # LayerNorm's epsilon in the authors' own code
CUBIC = 0.044715  # coefficient of x³ in the tanh form of GELU (Hendrycks and Gimpel 2016, arXiv 1606.08415)

#: Put on every function that computes: whatever a reader has told NumPy to do about overflow and its like, our numbers are
#: the same. What leaves the range of float64 is reported once, in words, by `check_result`.
shielded = np.errstate(all="ignore")

SHAPES = {"x": "B, N, D", "Wq": "D, D", "Wk": "D, D", "Wv": "D, D", "Wo": "D, D", "W1": "D, M", "W2": "M, D"}

#: What `vit_encoder_block_steps` returns, in order: name -> (formula, shape).
STEPS: dict[str, tuple[str, str]] = {
    "ln_1": ("LN(x)", "B, N, D"),
    "q": ("LN(x) Wq, split into heads", "B, heads, N, D_h"),
    "k": ("LN(x) Wk, split into heads", "B, heads, N, D_h"),
    "v": ("LN(x) Wv, split into heads", "B, heads, N, D_h"),
    "scores": ("q kᵀ / √D_h", "B, heads, N, N"),
    "A": ("softmax(scores) along the keys", "B, heads, N, N"),
    "SA": ("A v", "B, heads, N, D_h"),
    "joined": ("[SA_1; ...; SA_k]", "B, N, D"),
    "msa": ("joined Wo", "B, N, D"),
    "x_prime": ("x + msa", "B, N, D"),
    "ln_2": ("LN(x_prime)", "B, N, D"),
    "hidden": ("ln_2 W1", "B, N, M"),
    "gelu": ("GELU(hidden)", "B, N, M"),
    "mlp": ("gelu W2", "B, N, D"),
    "out": ("x_prime + mlp", "B, N, D"),
}


@shielded
def vit_encoder_block(x, num_heads, Wq, Wk, Wv, Wo, W1, W2) -> np.ndarray:
    """Eq. 2, 3: x' = x + MSA(LN(x)), out = x' + MLP(LN(x')), with tanh GELU, population variance, eps 1e-6, no mask.

    x: (B, N, D) tokens; num_heads: the paper's k, a divisor of D; Wq, Wk, Wv, Wo: (D, D); W1: (D, M); W2: (M, D).
    All arrays are finite float64 NumPy arrays with no empty axis; none is changed.
    Returns a new float64 array (B, N, D).

    Raises ValueError naming the argument, what came and what was expected; also where finite inputs are so large
    that a result leaves the range of float64.
    Source: Section 3.1, Eq. 2 and 3, Appendix A; the weights act from the right, as in the paper.
    """
    check_arguments(x, num_heads, Wq, Wk, Wv, Wo, W1, W2)
    x_prime = x + msa(layer_norm(x), num_heads, Wq, Wk, Wv, Wo)
    return check_result(x_prime + mlp(layer_norm(x_prime), W1, W2))


@shielded
def vit_encoder_block_steps(x, num_heads, Wq, Wk, Wv, Wo, W1, W2) -> dict[str, np.ndarray]:
    """The same block, keeping every intermediate under the names of `STEPS`; ``["out"]`` is the block's output.

    Raises ValueError as `vit_encoder_block` does. Source: Eq. 2, 3, 5 to 8.
    """
    check_arguments(x, num_heads, Wq, Wk, Wv, Wo, W1, W2)
    s: dict[str, np.ndarray] = {}
    s["ln_1"] = layer_norm(x)
    s["q"], s["k"], s["v"] = (split_heads(s["ln_1"] @ W, num_heads) for W in (Wq, Wk, Wv))
    s["scores"] = attention_scores(s["q"], s["k"])
    s["A"] = softmax(s["scores"])
    s["SA"] = s["A"] @ s["v"]
    s["joined"] = join_heads(s["SA"])
    s["msa"] = s["joined"] @ Wo
    s["x_prime"] = x + s["msa"]
    s["ln_2"] = layer_norm(s["x_prime"])
    s["hidden"] = s["ln_2"] @ W1
    s["gelu"] = gelu_tanh(s["hidden"])
    s["mlp"] = s["gelu"] @ W2
    s["out"] = s["x_prime"] + s["mlp"]
    check_result(s["out"])
    return s


@shielded
def layer_norm(x: np.ndarray, eps: float = EPS) -> np.ndarray:
    """LN(x) = (x - mean) / sqrt(variance + eps) over the last axis, with the population variance (divided by D).

    Raises ValueError where the variance is too large for float64. Source: Ba et al. 2016, arXiv 1607.06450.
    """
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.einsum("...d,...d->...", centred, centred)[..., None] / x.shape[-1]
    if not np.isfinite(variance).all():
        raise ValueError("LayerNorm: the variance of a token is too large for float64; scale the numbers down")
    centred /= np.sqrt(variance + eps)
    return centred


@shielded
def msa(z: np.ndarray, num_heads: int, Wq, Wk, Wv, Wo) -> np.ndarray:
    """Eq. 5 to 8: MSA(z) = [SA_1(z); ...; SA_k(z)] Wo, z (B, N, D) -> (B, N, D)."""
    q, k, v = (split_heads(z @ W, num_heads) for W in (Wq, Wk, Wv))
    scores = attention_scores(q, k)
    A = softmax(scores, out=scores)
    return join_heads(A @ v) @ Wo


def split_heads(t: np.ndarray, num_heads: int) -> np.ndarray:
    """(B, N, D) -> (B, heads, N, D_h): head h owns columns h D_h to (h + 1) D_h - 1, counting both from 0. A view."""
    B, N, D = t.shape
    return t.reshape(B, N, num_heads, D // num_heads).swapaxes(1, 2)


def join_heads(t: np.ndarray) -> np.ndarray:
    """(B, heads, N, D_h) -> (B, N, D): the heads side by side again, head 1 first (the bracket of Eq. 8)."""
    B, heads, N, D_h = t.shape
    return t.swapaxes(1, 2).reshape(B, N, heads * D_h)


@shielded
def attention_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Inside Eq. 6: q kᵀ / sqrt(D_h), (..., N, D_h) twice -> (..., N, N); row i belongs to the query of token i."""
    return (q / sqrt(q.shape[-1])) @ k.swapaxes(-1, -2)  # q has fewer numbers than the scores, so it is the one divided


@shielded
def softmax(scores: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Eq. 6: softmax(s)_j = exp(s_j) / sum_i exp(s_i) along the last axis, the keys.

    The largest score of each row is taken off first: the quotient stays the same and no exponential overflows.
    out: an array to write to; it may be `scores` itself.
    """
    # a difference beyond float64 becomes minus infinity, and its exponential a true 0
    out = np.subtract(scores, scores.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(axis=-1, keepdims=True)
    return out


@shielded
def mlp(z: np.ndarray, W1, W2) -> np.ndarray:
    """MLP(z) = GELU(z W1) W2, each token on its own: (B, N, D) -> (B, N, D)."""
    hidden = z @ W1
    return gelu_tanh(hidden, out=hidden) @ W2


@shielded
def gelu_tanh(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """GELU(x) ≈ x/2 (1 + tanh(u)) with u = sqrt(2/pi) (x + 0.044715 x³), elementwise.

    Computed as x / (1 + exp(-2u)), the same function because (1 + tanh u)/2 = 1/(1 + exp(-2u)): an exponential costs
    less than half a tanh, and small results far on the left keep their digits. out: an array to write to; may be `x`.
    """
    slope = -2 * sqrt(2 / pi)
    u = x * x
    u *= slope * CUBIC
    u += slope
    u *= x
    np.exp(u, out=u)  # far on the left infinite, and x / infinity = 0 is the right answer
    u += 1
    return np.divide(x, u, out=out)


def check_arguments(x, num_heads, Wq, Wk, Wv, Wo, W1, W2) -> None:
    """Raise ValueError unless the arguments of `vit_encoder_block` keep its contract."""
    arrays = dict(zip(SHAPES, (x, Wq, Wk, Wv, Wo, W1, W2), strict=True))
    for name, array in arrays.items():
        check_array(name, array, f"({SHAPES[name]})")
    sizes = {"B": x.shape[0], "N": x.shape[1], "D": x.shape[2], "M": W1.shape[1]}
    check_heads(num_heads, sizes["D"])
    for name, array in arrays.items():
        expected = tuple(sizes[letter] for letter in SHAPES[name].split(", "))
        if array.shape != expected:
            origin = f"D = {sizes['D']} is the last axis of x and M = {sizes['M']} the last axis of W1"
            raise ValueError(f"{name} must have shape ({SHAPES[name]}) = {expected}, since {origin}; got {array.shape}")


def check_array(name: str, array, shape: str) -> None:
    """Raise ValueError unless `array` is a finite float64 NumPy array with the axes that `shape` names, none empty."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray | np.matrix):
        hint = "np.asarray(..., dtype=np.float64) makes one"
        raise ValueError(f"{name} must be a plain NumPy array, got {type(array).__name__}; {hint}")
    if array.dtype != np.float64:
        raise ValueError(f"{name} must hold float64, got {array.dtype}; {name}.astype(np.float64) converts it")
    if array.ndim != shape.count(",") + 1:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if 0 in array.shape:
        raise ValueError(f"{name} has an empty axis: its shape is {array.shape}; every size must be at least 1")
    if not np.isfinite(array).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must hold finite numbers only, but {name}{list(first)} is {array[first]}")


def check_heads(num_heads, D: int) -> None:
    """Raise ValueError unless num_heads is a positive whole number (not a bool) that divides D."""
    if D % whole(num_heads, "num_heads"):
        raise ValueError(f"D = {D} (the last axis of x) cannot be shared equally among num_heads = {num_heads}")


def check_result(out: np.ndarray) -> np.ndarray:
    """Return `out`, or raise ValueError if the block's numbers left the range of float64 on the way."""
    if not np.isfinite(out).all():
        raise ValueError("the block's numbers outgrew float64 (beyond 1.8e308) on the way; scale x or the weights down")
    return out
