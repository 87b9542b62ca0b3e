"""The annotated shapes are really checked while the tests run: a checker that never fires would be no checker."""

from __future__ import annotations

import pytest
import torch
from jaxtyping import TypeCheckError

from vitbook.attention import attention_weights, self_attention


def test_a_wrong_axis_does_not_pass():
    A, v = torch.rand(3, 7, 11), torch.rand(3, 11, 5)
    assert self_attention(A, v).shape == (3, 7, 5)
    with pytest.raises(TypeCheckError, match="'v'"):
        self_attention(A, v.transpose(1, 2))


def test_an_axis_that_means_two_things_does_not_pass():
    with pytest.raises(TypeCheckError, match="D_h"):
        attention_weights(torch.rand(2, 7, 5), torch.rand(2, 7, 6))


def test_other_annotations_are_left_to_the_functions_themselves():
    import checked

    def half(rows: int, share: float) -> str:
        return rows * share

    assert checked.checker(half)("ab", 2) == "abab"
