"""Exercises on Appendix A: one head, all heads, and the two arrangements of U_qkv."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.pieces import SOFTMAX, SOFTMAX_SOURCE
from vitbook.exercises.record import Case, Exercise, borrowed, mistake

CHAPTER = "Appendix A"

#: Mistakes in scores, softmax and weighted sum, which head, msa and block have in common.
SCORES = (
    mistake(
        "divided by sqrt(D)",
        "the width of one head counts, D_h, not that of a token, D.",
        ("np.sqrt(D_h)", "np.sqrt(z.shape[-1])"),
    ),
    mistake("not divided", "the scores are divided by √D_h before the softmax.", (" / np.sqrt(D_h)", "")),
    mistake("divided by D_h", "the scores are divided by the square root of D_h.", ("np.sqrt(D_h)", "D_h")),
    mistake(
        "divided by D", "the scores are divided by √D_h, the root of one head's width.", ("np.sqrt(D_h)", "z.shape[-1]")
    ),
    mistake("multiplied by the root", "the scores are divided by √D_h.", (" / np.sqrt(D_h)", " * np.sqrt(D_h)")),
    mistake(
        "divided after the softmax",
        "the scores are divided by √D_h before the softmax; after it the weights no longer add up to 1.",
        (" / np.sqrt(D_h)", ""),
        ("softmax(scores) @ v", "softmax(scores) / np.sqrt(D_h) @ v"),
    ),
    mistake(
        "softmax over the wrong axis",
        "the weights add up to 1 over the queries; it is over the keys, the last axis, that each query shares out"
        " its attention.",
        ("scores.max(axis=-1,", "scores.max(axis=-2,"),
        ("powers.sum(axis=-1,", "powers.sum(axis=-2,"),
    ),
    mistake(
        "largest score not taken off",
        "right for small scores, but exponentials overflow above about 709; take the row's largest score off first.",
        ("np.exp(scores - scores.max(axis=-1, keepdims=True))", "np.exp(scores)"),
    ),
    mistake(
        "softmax forgotten",
        "the scores were used as weights without the softmax.",
        ("softmax(scores) @ v", "scores @ v"),
    ),
    mistake(
        "causal mask",
        "tokens were kept from looking at later ones, as in GPT; a ViT has no mask.",
        ("softmax(scores) @ v", "softmax(np.where(np.tri(len(scores.T), dtype=bool), scores, -np.inf)) @ v"),
    ),
    mistake(
        "masked with zeros",
        "the scores of later tokens were set to 0; a ViT has no mask at all.",
        ("softmax(scores) @ v", "softmax(np.tril(scores)) @ v"),
    ),
    mistake(
        "q and k exchanged",
        "row i must be the query of token i against all keys; yours is the key of token i against all queries.",
        ("q @ k.", "k @ q."),
    ),
    mistake(
        "k and v exchanged",
        "the keys make the scores, the values make the sum; yours has them the other way.",
        ("q, k, v =", "q, v, k ="),
    ),
    mistake("q and v exchanged", "the queries make the scores, the values make the sum.", ("q, k, v =", "v, k, q =")),
    mistake(
        "keys for values",
        "the weights multiply the values v, not the keys.",
        ("softmax(scores) @ v", "softmax(scores) @ k"),
    ),
    mistake(
        "A transposed",
        "row i of A holds the weights of query i, and A v is the product from the left.",
        ("softmax(scores) @ v", "softmax(scores).swapaxes(-1, -2) @ v"),
    ),
)

IN_SCORES = ("softmax over the wrong axis", "softmax over the first axis", "largest score not taken off")  # said above


def head_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(N: int, D: int, D_h: int, scale: float = 1.0) -> tuple[np.ndarray, ...]:
        return r.standard_normal((N, D)) + 0.5, scale * r.standard_normal((D, 3 * D_h))

    whole = r.integers(0, 3, (4, 6)).astype(float), r.integers(-1, 2, (6, 9)).astype(float)
    yield Case("small whole numbers, as in the chapter", whole)
    yield Case("five tokens, D = 7, D_h = 3", draw(5, 7, 3))
    yield Case("as many tokens as the head is wide", draw(4, 8, 4))
    yield Case("one token", draw(1, 5, 2))
    yield Case("D_h = 1", draw(6, 3, 1))
    yield Case("scores in the hundreds of thousands", draw(3, 6, 5, scale=300.0))


HEAD_SOURCE = f"""\
import numpy as np


{SOFTMAX_SOURCE}

def attention_head(z, U_qkv):
    q, k, v = np.split(z @ U_qkv, 3, axis=1)
    D_h = q.shape[1]
    scores = q @ k.T / np.sqrt(D_h)
    return softmax(scores) @ v
"""

ATTENTION_HEAD = Exercise(
    name="attention_head",
    parameters="z, U_qkv",
    chapter=CHAPTER,
    statement="Write Eq. 5, 6 and 7: one head of attention, with the paper's own matrix U_qkv. Its columns are q, then k, "
    "then v.",
    shapes="z (N, D), U_qkv (D, 3 D_h) -> SA(z) (N, D_h).",
    hints=(
        "One product gives all three; np.split(..., 3, axis=1) takes them apart.",
        "Row i of the scores is the query of token i against every key, divided by √D_h.",
        "Softmax along each row, then the weighted sum of the value rows: one more matrix product.",
    ),
    minutes=10,
    difficulty="medium",
    solution=HEAD_SOURCE,
    cases=head_cases,
    mistakes=(
        *SCORES,
        mistake(
            "columns interleaved",
            "q is the first block of D_h columns, not every third column.",
            ("np.split(z @ U_qkv, 3, axis=1)", "((z @ U_qkv)[:, part::3] for part in range(3))"),
        ),
        mistake(
            "values forgotten",
            "these are the weights A; Eq. 7 multiplies them by the values.",
            ("softmax(scores) @ v", "softmax(scores)"),
        ),
        *borrowed(HEAD_SOURCE, SOFTMAX.mistakes, without=IN_SCORES),
    ),
)


def msa_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(N: int, D: int, heads: int, scale: float = 1.0) -> tuple:
        matrices = [s * r.standard_normal((D, D)) for s in (scale, scale, 1.0, 1.0)]
        return r.standard_normal((N, D)) + 0.5, *matrices, heads

    yield Case("five tokens, D = 6, three heads", draw(5, 6, 3))
    yield Case("as many heads as tokens", draw(4, 8, 4))
    yield Case("one head", draw(5, 4, 1))
    yield Case("one token", draw(1, 6, 2))
    yield Case("heads of width one", draw(3, 5, 5))
    yield Case("a wide token", draw(7, 24, 2))
    yield Case("scores in the thousands", draw(3, 6, 2, scale=30.0))


MSA_SOURCE = f"""\
import numpy as np


{SOFTMAX_SOURCE}

def msa(z, U_q, U_k, U_v, U_msa, heads):
    N, D = z.shape
    D_h = D // heads
    q, k, v = ((z @ U).reshape(N, heads, D_h).swapaxes(0, 1) for U in (U_q, U_k, U_v))  # (heads, N, D_h)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(D_h)
    sa = softmax(scores) @ v
    return sa.swapaxes(0, 1).reshape(N, D) @ U_msa
"""

MSA = Exercise(
    name="msa",
    parameters="z, U_q, U_k, U_v, U_msa, heads",
    chapter=CHAPTER,
    statement="Write Eq. 5 to 8 for all heads at once, with the three matrices of a checkpoint. Head 1 owns the first D_h "
    "columns of each, head 2 the next, and so on.",
    shapes="z (N, D), U_q, U_k, U_v, U_msa (D, D) -> MSA(z) (N, D).",
    hints=(
        "After reshape(N, heads, D_h), the axis of the heads has to go first.",
        "With an axis of heads in front, @ multiplies matrix by matrix; transpose only the last two axes of k.",
        "Bring the heads back behind the tokens before you flatten them, then multiply by U_msa.",
    ),
    minutes=20,
    difficulty="medium",
    solution=MSA_SOURCE,
    cases=msa_cases,
    mistakes=(
        *SCORES,
        *borrowed(MSA_SOURCE, SOFTMAX.mistakes, without=IN_SCORES),
        mistake(
            "softmax over the heads",
            "the weights of the heads add up to 1; each head shares out its attention over the keys on its own.",
            ("scores.max(axis=-1,", "scores.max(axis=0,"),
            ("powers.sum(axis=-1,", "powers.sum(axis=0,"),
        ),
        mistake(
            "heads interleaved",
            "head h owns a block of neighbouring columns; yours takes every heads-th column.",
            ("reshape(N, heads, D_h).swapaxes(0, 1)", "reshape(N, D_h, heads).transpose(2, 0, 1)"),
        ),
        mistake(
            "split without moving the axis",
            "reshape(heads, N, D_h) mixes tokens; split the columns first, then move the axis of the heads to the "
            "front.",
            ("reshape(N, heads, D_h).swapaxes(0, 1)", "reshape(heads, N, D_h)"),
        ),
        mistake(
            "joined without moving the axis",
            "the heads of one token belong side by side; bring their axis behind the tokens before you flatten.",
            ("sa.swapaxes(0, 1).reshape(N, D)", "sa.reshape(N, D)"),
        ),
        mistake(
            "joined interleaved",
            "a token's row is head 1, then head 2, and so on; yours takes one number of each head in turn.",
            ("sa.swapaxes(0, 1).reshape(N, D)", "sa.transpose(1, 2, 0).reshape(N, D)"),
        ),
        mistake("U_msa forgotten", "after joining the heads comes one more matrix, U_msa.", (" @ U_msa", "")),
        mistake(
            "U_msa transposed",
            "U_msa multiplies from the right as it is; torch stores the transpose.",
            (" @ U_msa", " @ U_msa.T"),
        ),
        mistake(
            "matrices of q, k, v transposed",
            "each multiplies from the right as it is, z @ U; torch stores the transpose.",
            ("z @ U)", "z @ U.T)"),
        ),
        mistake(
            "one head only",
            "all of D was one head; split it first.",
            ("    N, D = z.shape\n", "    N, D = z.shape\n    heads = 1\n"),
        ),
    ),
)


def matrices_cases(r: np.random.Generator) -> Iterator[Case]:
    for label, D, heads, D_h in (
        ("D = 7, three heads of width 2", 7, 3, 2),
        ("D = 6, two heads of width 3", 6, 2, 3),
        ("one head", 5, 1, 4),
        ("heads of width one", 3, 4, 1),
        ("as many heads as columns in each", 9, 3, 3),
    ):
        yield Case(label, (*(r.standard_normal((D, heads * D_h)) for _ in range(3)), heads))


U_QKV_PER_HEAD = Exercise(
    name="u_qkv_per_head",
    parameters="U_q, U_k, U_v, heads",
    chapter=CHAPTER,
    statement="A checkpoint has one matrix each for the queries, keys and values of all heads. The paper has one U_qkv for "
    "each head. Build the paper's matrices from those of the checkpoint.",
    shapes="U_q, U_k, U_v (D, heads D_h) -> (heads, D, 3 D_h): for each head its columns of U_q, then of U_k, then "
    "of U_v.",
    hints=(
        "Head h's columns start at h D_h, counting heads from 0.",
        "np.split(U, heads, axis=1) cuts a matrix into the blocks of the heads.",
        "zip over the three lists of blocks, concatenate each triple along the columns, and stack.",
    ),
    minutes=10,
    difficulty="medium",
    solution="""\
import numpy as np


def u_qkv_per_head(U_q, U_k, U_v, heads):
    blocks = (np.split(U, heads, axis=1) for U in (U_q, U_k, U_v))
    return np.stack([np.concatenate(triple, axis=1) for triple in zip(*blocks)])
""",
    cases=matrices_cases,
    mistakes=(
        mistake(
            "cut after joining",
            "the three matrices were joined first and then cut; a head's share lies in all three.",
            (
                "blocks = (np.split(U, heads, axis=1) for U in (U_q, U_k, U_v))",
                "blocks = np.concatenate([U_q, U_k, U_v], axis=1)",
            ),
            ("[np.concatenate(triple, axis=1) for triple in zip(*blocks)]", "np.split(blocks, heads, axis=1)"),
        ),
        mistake(
            "heads interleaved",
            "head h owns a block of neighbouring columns; yours takes every heads-th column.",
            ("np.split(U, heads, axis=1)", "[U[:, h::heads] for h in range(heads)]"),
        ),
        mistake(
            "order of q, k, v",
            "within a head the columns are q, then k, then v; yours has k first.",
            ("(U_q, U_k, U_v))", "(U_k, U_q, U_v))"),
        ),
        mistake(
            "torch's layout",
            "torch stores its matrices transposed, but the ones handed over here are (D, heads D_h), to multiply from"
            " the right.",
            ("np.concatenate(triple, axis=1)", "np.concatenate(triple, axis=1).T"),
        ),
        mistake(
            "columns of q, k, v interleaved",
            "each head has a block of q, a block of k and a block of v, not q, k, v column by column.",
            ("np.concatenate(triple, axis=1)", "np.stack(triple, axis=2).reshape(len(triple[0]), -1)"),
        ),
    ),
)

EXERCISES = (ATTENTION_HEAD, MSA, U_QKV_PER_HEAD)
