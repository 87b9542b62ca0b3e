"""Runs that are changed on the way: against the same changes written out, and against odd wishes."""

import pickle

import pytest
import torch
from edited import edited_run
from tiny import ODD, checkpoint_of, random_weights, random_x

from vitbook.maps import attention_map
from vitbook.model import run

CLOSE = dict(rtol=1e-11, atol=1e-12)  # float64, three layers of sums of about 40 terms
TINY = checkpoint_of(random_weights())
OTHER = run(TINY, random_x(seed=5))


def hidden(A):
    """Nobody reads token 4; what is left of a row is not made one again."""
    A[..., 4] = 0
    return A


def pasted(z):
    z[..., 5, :] = OTHER["z", 2][5]
    return z


#: `edit` of run -> the same in tests/edited.py
SAME = {
    "a head off": ({("SA", 1, 2): torch.zeros_like, ("SA", 3, 1): torch.zeros_like}, {"heads": [[1, 2], [3, 1]]}),
    "halves off": (
        {("msa", 2): torch.zeros_like, ("mlp", 1): torch.zeros_like, ("mlp", 3): torch.zeros_like},
        {"msa": [2], "mlp": [1, 3]},
    ),
    "a token pasted": ({("z", 2): pasted}, {"paste": [["other", 2, 5]]}),
    "positions away": ({("z", 0): lambda z: z - TINY.weights.E_pos}, {"positions": False}),
    "no root": ({("q", l): lambda q: q * q.shape[-1] ** 0.5 for l in (1, 2, 3)}, {"root": False}),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_as_written_out(name):
    edit, written = SAME[name]
    A, y, logits = edited_run(TINY.weights, random_x(), written, {"other": OTHER.z})
    trace = run(TINY, random_x(), edit=edit)
    torch.testing.assert_close(trace.y, y, **CLOSE)
    torch.testing.assert_close(trace.logits, logits, **CLOSE)
    for l in range(1, ODD.L + 1):
        torch.testing.assert_close(trace.attention(l), A[l - 1], **CLOSE)
    assert not torch.allclose(y, run(TINY, random_x()).y, rtol=1e-3), "it changes something"


@pytest.mark.parametrize("letter", ["q", "k", "v", "A", "SA", "z", "z_prime", "msa", "mlp"])
def test_a_function_that_changes_nothing(letter):
    seen = []
    edit = {(letter, 2): lambda value: seen.append(value.shape) or value}
    changed, untouched = run(TINY, random_x(), edit=edit), run(TINY, random_x())
    assert len(seen) == 1
    for key in untouched.keys():
        torch.testing.assert_close(changed[key], untouched[key], **CLOSE)
    assert changed.keys() == untouched.keys()


def test_a_changed_map_is_the_one_that_was_used():
    trace = run(TINY, random_x(), edit={("A", 2, 1): hidden})
    untouched = run(TINY, random_x()).attention(2)
    assert trace.attention(2, 1)[:, 4].abs().max() == 0 == trace.attention(2, 1, 3)[4] == trace.attention(2)[0, 7, 4]
    torch.testing.assert_close(trace.attention(2, 2), untouched[1], **CLOSE)
    torch.testing.assert_close(trace.attention(2, query=3)[1], untouched[1, 3], **CLOSE)
    assert attention_map(trace, 2, 1, 0).flatten()[3] == 0, "patch 3 is token 4"
    torch.testing.assert_close(trace.msa[1] - run(TINY, random_x()).msa[1], _lost(untouched), **CLOSE)
    assert pickle.loads(pickle.dumps(trace)).attention(2, 1, 3)[4] == 0


def _lost(A):
    """What head 1 of layer 2 gave less, through its rows of U_msa."""
    layer, D_h = TINY.weights.layers[1], ODD.D_h
    v = run(TINY, random_x()).v[1][0]
    return -A[0, :, 4:5] @ v[4:5] @ layer.U_msa[:D_h]


def test_a_batch_is_changed_picture_by_picture():
    batch = torch.stack([random_x(seed=1), random_x(seed=2)])
    together = run(TINY, batch, edit={("A", 2, 1): hidden, ("z", 2): pasted})
    for i, x in enumerate(batch):
        alone = run(TINY, x, edit={("A", 2, 1): hidden, ("z", 2): pasted})
        torch.testing.assert_close(together.picture(i).y, alone.y, **CLOSE)
        torch.testing.assert_close(together.picture(i).attention(2), alone.attention(2), **CLOSE)


def test_what_the_function_gets_is_its_own():
    """A function may write into what it gets: the values before it stay as they were."""
    trace = run(TINY, random_x(), edit={("z", 1): lambda z: z.zero_(), ("v", 2, 1): lambda v: v.fill_(1)})
    torch.testing.assert_close(trace.z_prime[0], run(TINY, random_x()).z_prime[0], **CLOSE)
    assert trace.z[1].abs().max() == 0 and (trace.v[1][0] == 1).all() and (trace.v[1][1] != 1).any()


@pytest.mark.parametrize(
    "key",
    ["z", ("z",), ("z", 4), ("z", -1), ("z", 1, 1), ("msa", 0), ("msa", 1, 2), ("A", 1, 3), ("A", 1, 0), ("A", 0), ("y", 1), 3,
     ("A", 1.5), ("A", True), (["A"], 1), ("A", 1, 2, 3), None],
)  # fmt: skip
def test_a_key_that_names_nothing(key):
    if key.__class__ is tuple and isinstance(key[0], list):
        key = ((), 1)
    with pytest.raises(ValueError, match=r"edit takes \(\"z\", l\) with l from 0.*l up to 3 and heads up to 2; got"):
        run(TINY, random_x(), edit={key: torch.zeros_like})


RETURNS = {
    r"numbers of shape \(13, 13\), got torch.float64 \(13,\)": lambda A: A[0],
    "got None": lambda A: None,
    "got torch.bool": lambda A: A > 0,
}


@pytest.mark.parametrize("words", RETURNS)
def test_what_a_function_must_return(words):
    with pytest.raises(ValueError, match=words):
        run(TINY, random_x(), edit={("A", 1, 1): RETURNS[words]})


def test_no_function_and_no_dict():
    with pytest.raises(ValueError, match="no function of a tensor, but 3"):
        run(TINY, random_x(), edit={("z", 1): 3})
    with pytest.raises(ValueError, match="edit must be a dict of functions, or None; got"):
        run(TINY, random_x(), edit=[("z", 1)])
    assert run(TINY, random_x(), edit={}).A == {}
