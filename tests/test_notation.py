"""The letters' shapes put into numbers, against the shapes of a real run."""

import pytest
from tiny import ODD, random_weights, random_x

from vitbook.model import run
from vitbook.notation import LETTERS, in_numbers

SIZES = {letter: getattr(ODD, letter) for letter in ("H", "W", "C", "P", "N", "D", "L", "D_h", "M")} | {
    "k": ODD.heads,
    "K": 7,
}


def test_shapes_are_those_of_a_run():
    trace, weights = run(random_weights(), random_x()), random_weights()
    tensors = {"x": trace.x, "x_p": trace.x_p, "E": weights.E, "x_class": weights.x_class, "E_pos": weights.E_pos,
               "z[l]": trace.z[1], "z_prime[l-1]": trace.z_prime[0], "q, k, v": trace.q[0][0],
               "attention(l, h)": trace.attention(1, 1), "U_msa": weights.layers[0].U_msa, "y": trace.y}  # fmt: skip
    shapes = {letter.code: letter.shape for letter in LETTERS}
    for code, tensor in tensors.items():
        assert in_numbers(shapes[code], SIZES) == " × ".join(map(str, tensor.shape)), code


def test_every_letter_has_a_place_and_a_meaning_once():
    assert all(letter.meaning and letter.where and letter.latex for letter in LETTERS)
    assert len({letter.code for letter in LETTERS}) == len(LETTERS)
    assert all(in_numbers(letter.shape, SIZES) or not letter.shape for letter in LETTERS)


def test_an_unknown_letter_is_named():
    with pytest.raises(KeyError, match="Q"):
        in_numbers("Q, D", SIZES)
