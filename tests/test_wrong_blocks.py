"""Wrong encoder blocks as readers write them: each is named, or it is said in which half and where it goes wrong.

They are edits of a block in another style than our solution's (a loop over heads, einsum, other names), so that nothing is
recognised by its text.
"""

from __future__ import annotations

import pytest

from vitbook.exercises import check
from vitbook.exercises.record import executed, mistake

BLOCK = """\
import math

import numpy as np


def norm(t):
    m = t.mean(-1, keepdims=True)
    s = ((t - m) ** 2).mean(-1, keepdims=True)
    return (t - m) / (s + 1e-6) ** 0.5


def gelu(h):
    return h / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (h + 0.044715 * h**3)))


def attention(n, heads, Wq, Wk, Wv, Wo):
    B, N, D = n.shape
    d = D // heads
    q, k, v = n @ Wq, n @ Wk, n @ Wv
    out = []
    for h in range(heads):
        own = slice(h * d, (h + 1) * d)
        s = np.einsum("bid,bjd->bij", q[..., own], k[..., own]) / d**0.5
        e = np.exp(s - s.max(-1, keepdims=True))
        a = e / e.sum(-1, keepdims=True)
        out.append(a @ v[..., own])
    return np.concatenate(out, -1) @ Wo


def vit_encoder_block(x, num_heads, Wq, Wk, Wv, Wo, W1, W2):
    y = x + attention(norm(x), num_heads, Wq, Wk, Wv, Wo)
    return y + gelu(norm(y) @ W1) @ W2
"""
ATTEND, FEED = "x + attention(norm(x), num_heads, Wq, Wk, Wv, Wo)", "y + gelu(norm(y) @ W1) @ W2"
GELU = "h / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (h + 0.044715 * h**3)))"
ERF = (GELU, "h / 2 * (1 + np.vectorize(math.erf, otypes=[float])(h / 2**0.5))")
RELU = (GELU, "np.maximum(h, 0)")
POST = ((ATTEND, "norm(x + attention(x, num_heads, Wq, Wk, Wv, Wo))"), (FEED, "norm(y + gelu(y @ W1) @ W2)"))
MASK = ("        e = np.exp(", "        s = np.where(np.tri(N) > 0, s, -np.inf)\n        e = np.exp(")
OVER_QUERIES = (("s.max(-1,", "s.max(1,"), ("e.sum(-1,", "e.sum(1,"))
SAMPLE = ("((t - m) ** 2).mean(-1, keepdims=True)", "t.var(-1, ddof=1, keepdims=True) if t.shape[-1] > 1 else 0 * t")
NO_SCALE = (" / d**0.5", "")
D_SCALE = ("d**0.5", "D**0.5")
INTERLEAVED = ("slice(h * d, (h + 1) * d)", "slice(h, None, heads)")

#: What the reader did -> the edits, and the words that the report must hold.
NAMED = {
    "post-norm": (POST, "post-norm"),
    "post-norm in the attention half": (POST[:1], "post-norm, in the attention half"),
    "post-norm in the MLP half": (POST[1:], "post-norm, in the MLP half"),
    "norm after attention": (
        [(ATTEND, "x + norm(attention(x, num_heads, Wq, Wk, Wv, Wo))")],
        "norm after the part, in the attention half",
    ),
    "no norm at all": ([("attention(norm(x)", "attention(x"), ("norm(y)", "y")], "norm forgotten"),
    "no norm before attention": ([("attention(norm(x)", "attention(x")], "norm forgotten, in the attention half"),
    "no norm before the MLP": ([("norm(y)", "y")], "norm forgotten, in the MLP half"),
    "a norm at the end": ([(FEED, f"norm({FEED})")], "a LayerNorm at the end"),
    "one norm for both, computed once": ([("norm(y)", "norm(x)")], "side by side"),
    "norm over the tokens": (
        [("t.mean(-1", "t.mean(1"), ("** 2).mean(-1", "** 2).mean(1")],
        "normalised over the tokens",
    ),
    "norm with one mean for all": (
        [("t.mean(-1, keepdims=True)", "t.mean()"), ("** 2).mean(-1, keepdims=True)", "** 2).mean()")],
        "one mean and variance for all",
    ),
    "norm without the mean": ([("return (t - m)", "return t")], "mean not subtracted"),
    "sample variance": ([SAMPLE], "sample variance"),
    "eps beside the root": ([("(s + 1e-6) ** 0.5", "(s**0.5 + 1e-6)")], "eps outside the root"),
    "no eps": ([("(s + 1e-6)", "s")], "eps forgotten"),
    "no root": ([("(s + 1e-6) ** 0.5", "(s + 1e-6)")], "root forgotten"),
    "eps of PyTorch": ([("1e-6", "1e-5")], "PyTorch's eps"),
    "no residuals": ([("x + att", "att"), ("y + gelu", "gelu")], "no residual"),
    "first residual missing": ([("x + att", "att")], "no residual, in the attention half"),
    "second residual missing": ([("y + gelu", "gelu")], "no residual, in the MLP half"),
    "second residual from x": ([("y + gelu", "x + gelu")], "residual from the start"),
    "residual of the normalised": (
        [("y = x +", "y = norm(x) +"), ("return y +", "return norm(y) +")],
        "residual of the normalised",
    ),
    "residual of the normalised in the MLP half": (
        [("return y +", "return norm(y) +")],
        "residual of the normalised, in the MLP half",
    ),
    "ReLU": ([RELU], "ReLU"),
    "erf GELU": ([ERF], "erf form"),
    "sigmoid GELU": ([(GELU, "h / (1 + np.exp(-1.702 * h))")], "sigmoid form"),
    "no GELU": ([(GELU, "h")], "GELU forgotten"),
    "x squared for cubed": ([("h**3", "h**2")], "square for cube"),
    "0.04471": ([("0.044715", "0.04471")], "constant rounded"),
    "GELU after W2": ([("gelu(norm(y) @ W1) @ W2", "gelu(norm(y) @ W1 @ W2)")], "GELU after W2"),
    "not scaled": ([NO_SCALE], "not divided"),
    "scaled by D_h": ([("d**0.5", "d")], "divided by D_h"),
    "scaled by D": ([("d**0.5", "D")], "divided by D:"),
    "scaled by the root of D": ([D_SCALE], "divided by sqrt(D)"),
    "softmax over the queries": (OVER_QUERIES, "softmax over the wrong axis"),
    "no softmax": ([("a = e / e.sum(-1, keepdims=True)", "a = s")], "softmax forgotten"),
    "causal mask": ([MASK], "causal mask"),
    "q and k exchanged": ([("q, k, v =", "k, q, v =")], "q and k exchanged"),
    "k and v exchanged": ([("q, k, v =", "q, v, k =")], "k and v exchanged"),
    "one head": ([("    d = D // heads", "    heads, d = 1, D")], "one head only"),
    "heads interleaved": ([INTERLEAVED], "heads interleaved"),
    "heads joined the wrong way": (
        [("np.concatenate(out, -1)", "np.stack(out, 1).reshape(B, N, D)")],
        "joined without moving the axis",
    ),
    "heads joined number by number": (
        [("np.concatenate(out, -1)", "np.stack(out, -1).reshape(B, N, D)")],
        "joined interleaved",
    ),
    "no Wo": ([(" @ Wo", "")], "Wo forgotten"),
    "Wo transposed": ([("@ Wo", "@ Wo.T")], "Wo transposed"),
    "Wq, Wk, Wv transposed": ([("n @ Wq, n @ Wk, n @ Wv", "n @ Wq.T, n @ Wk.T, n @ Wv.T")], "Wq, Wk and Wv transposed"),
    "Wk transposed": ([("n @ Wk", "n @ Wk.T")], "Wk transposed"),
    "W1 transposed": ([("@ W1", "@ W1.T")], "W1 transposed"),
    "all as in torch": (
        [
            ("n @ Wq, n @ Wk, n @ Wv", "n @ Wq.T, n @ Wk.T, n @ Wv.T"),
            ("@ Wo", "@ Wo.T"),
            ("@ W1", "@ W1.T"),
            (") @ W2", ") @ W2.T"),
        ],
        "all matrices transposed",
    ),
    "Wq for the keys too": ([("n @ Wk", "n @ Wq")], "Wq used twice"),
    "only 4 D hidden numbers": (
        [("@ W1) @ W2", "@ W1[:, : 4 * x.shape[2]]) @ W2[: 4 * x.shape[2]]")],
        "4 D hidden numbers",
    ),
    "only D hidden numbers": ([("@ W1) @ W2", "@ W1[:, : x.shape[2]]) @ W2[: x.shape[2]]")], "wrong mlp ratio"),
    "MLP first": (
        [
            (f"y = {ATTEND}", "y = x + gelu(norm(x) @ W1) @ W2"),
            (FEED, "y + attention(norm(y), num_heads, Wq, Wk, Wv, Wo)"),
        ],
        "MLP first",
    ),
}
LOCATED = {
    # several at once: each half alone is recognised
    "post-norm and ReLU": (
        [*POST, RELU],
        ["attention half is wrong. Post-norm:", "MLP half is wrong. Post-norm:", "ReLU:"],
    ),
    "causal mask and erf": ([MASK, ERF], ["attention half is wrong. Causal mask:", "MLP half is wrong. Erf form:"]),
    "not scaled and second residual missing": ([NO_SCALE, ("y + gelu", "gelu")], ["No residual, in the MLP half:"]),
    "sample variance and the root of D": (
        [SAMPLE, D_SCALE],
        ["attention half is wrong. Sample variance:", "Divided by sqrt(D):", "MLP half is wrong. Sample variance:"],
    ),
    "heads interleaved and no Wo": (
        [INTERLEAVED, (" @ Wo", "")],
        ["Heads interleaved:", "Wo forgotten:", "MLP half is right"],
    ),
    "mask and softmax over the queries": (
        [MASK, *OVER_QUERIES],
        ["Softmax over the wrong axis:", "Causal mask:", "MLP half is right"],
    ),
    "Wo transposed and eps of PyTorch": ([("@ Wo", "@ Wo.T"), ("1e-6", "1e-5")], ["PyTorch's eps:", "Wo transposed:"]),
    "mask, no scale, ReLU": (
        [MASK, NO_SCALE, RELU],
        ["attention half is wrong. Not divided:", "Causal mask:", "MLP half is wrong. ReLU:"],
    ),
    "interleaved, no Wo, erf, no norm": (
        [INTERLEAVED, (" @ Wo", ""), ERF, ("norm(y)", "y")],
        [
            "attention half is wrong. Heads interleaved:",
            "Wo forgotten:",
            "MLP half is wrong. Norm forgotten",
            "Erf form:",
        ],
    ),
    # mistakes that nobody listed
    "eps of 1e-3": (
        [("1e-6", "1e-3")],
        ["attention half is wrong. It differs first in LayerNorm's eps", "MLP half is wrong"],
    ),
    "norm by the mean distance": (
        [("((t - m) ** 2)", "np.abs(t - m)"), ("(s + 1e-6) ** 0.5", "(s + 1e-6)")],
        ["attention half is wrong. It differs first in LayerNorm"],
    ),
    "norm before attention by the range": (
        [("attention(norm(x)", "attention((x - x.mean(-1, keepdims=True)) / np.ptp(x, -1, keepdims=True)")],
        ["Your MLP half is right", "attention half is wrong"],
    ),
    "scaled by the root of N": (
        [("d**0.5", "N**0.5")],
        ["Your MLP half is right", "first in the scores or the softmax"],
    ),
    "sigmoid for softmax": (
        [("a = e / e.sum(-1, keepdims=True)", "a = 1 / (1 + np.exp(-s))")],
        ["Your MLP half is right", "softmax (one token alone has the weight 1)"],
    ),
    "cosine attention": (
        [
            (
                "q[..., own], k[..., own])",
                "q[..., own] / np.linalg.norm(q[..., own], axis=-1, keepdims=True), k[..., own])",
            )
        ],
        ["Your MLP half is right", "attention half is wrong"],
    ),
    "mask on the other side": (
        [("        e = np.exp(", "        s = np.where(np.tri(N).T > 0, s, -np.inf)\n        e = np.exp(")],
        ["Your MLP half is right", "weighted sum"],
    ),
    "tokens blind to themselves": (
        [("        e = np.exp(", "        s = s - 1e9 * np.eye(N) * (N > 1)\n        e = np.exp(")],
        ["Your MLP half is right", "weighted sum"],
    ),
    "heads in reverse": (
        [("np.concatenate(out, -1)", "np.concatenate(out[::-1], -1)")],
        ["Your MLP half is right", "heads are split or joined"],
    ),
    "heads summed": (
        [("np.concatenate(out, -1)", "np.concatenate([sum(out)] * heads, -1)")],
        ["Your MLP half is right", "heads are split or joined"],
    ),
    "the heads' mean": (
        [("np.concatenate(out, -1)", "np.concatenate([sum(out) / heads] * heads, -1)")],
        ["Your MLP half is right", "heads are split or joined"],
    ),
    "Wo twice": ([("@ Wo", "@ Wo @ Wo")], ["Your MLP half is right", "Wo"]),
    "SiLU": ([(GELU, "h / (1 + np.exp(-h))")], ["Your attention half is right", "first in GELU"]),
    "leaky ReLU": ([(GELU, "np.maximum(h, 0.01 * h)")], ["Your attention half is right", "first in GELU"]),
    "tanh": ([(GELU, "np.tanh(h)")], ["Your attention half is right", "what stands between them"]),
    "another coefficient": ([("0.044715", "0.04")], ["Your attention half is right", "first in GELU"]),
    "two GELUs": (
        [("gelu(norm(y) @ W1) @ W2", "gelu(gelu(norm(y) @ W1) @ W2)")],
        ["Your attention half is right", "W1 and W2"],
    ),
    "sigmoid for softmax, and tanh": (
        [("a = e / e.sum(-1, keepdims=True)", "a = 1 / (1 + np.exp(-s))"), (GELU, "np.tanh(h)")],
        ["attention half is wrong", "MLP half is wrong"],
    ),
    "half of each sum": ([(f"y = {ATTEND}", f"y = ({ATTEND}) / 2")], ["must return x itself", "what each half adds"]),
    # what case 1 does not show: its M is below 3 D
    "only 3 D hidden numbers": (
        [("@ W1) @ W2", "@ W1[:, : 3 * x.shape[2]]) @ W2[: 3 * x.shape[2]]")],
        ["Your attention half is right", "W1 and W2 (all M columns)"],
    ),
    "scores cut at 50": (
        [("        e = np.exp(", "        s = np.clip(s, -50, 50)\n        e = np.exp(")],
        ["Your MLP half is right", "first in the scores or the softmax"],
    ),
    "pictures that read each other": (
        [
            ("    B, N, D = n.shape\n", "    n = n.reshape(1, -1, n.shape[2])\n    B, N, D = n.shape\n"),
            ("np.concatenate(out, -1) @ Wo", "np.concatenate(out, -1).reshape(-1, D) @ Wo"),
            (ATTEND, f"x + ({ATTEND[4:]}).reshape(x.shape)"),
        ],
        ["For one picture at a time it is right, for several together it is not"],
    ),
    "the first picture for all": (
        [(f"y = {ATTEND}", f"x = np.stack([x[0]] * len(x))\n    y = {ATTEND}")],
        ["For one picture at a time it is right, for several together it is not"],
    ),
    "an MLP that reads both": ([("norm(y)", "norm((x + y) / 2)")], ["Each half is right on its own"]),
}


def wrong(edits):
    return executed(mistake("", "", *edits).source(BLOCK), "vit_encoder_block")


def test_the_block_itself_passes():
    assert check.vit_encoder_block(wrong(()))


@pytest.mark.parametrize("what", NAMED)
@pytest.mark.filterwarnings("ignore")
def test_named(what):
    edits, words = NAMED[what]
    report = check.vit_encoder_block(wrong(edits))
    assert not report and f"{words.rstrip(':')}:" in repr(report), report


@pytest.mark.parametrize("what", LOCATED)
@pytest.mark.filterwarnings("ignore")
def test_located(what):
    edits, words = LOCATED[what]
    report = check.vit_encoder_block(wrong(edits))
    assert not report and all(each in repr(report) for each in words), report
    assert ("LayerNorm's eps" in repr(report)) == any("LayerNorm's eps" in each for each in words), (
        "eps is named where it is at fault"
    )
