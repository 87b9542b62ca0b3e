"""The pickers without a browser: what they carry, what they refuse."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import traitlets
from PIL import Image
from test_explorer import tiny
from tiny import ODD, random_weights

from vitbook.maps import position_similarity
from vitbook.pixels import seen
from vitbook.widgets.pickers.widget import patch_picker, position_picker


def test_a_patch_picker_carries_the_pixels_that_the_model_sees():
    checkpoint = tiny()
    picker = patch_picker("chelsea", checkpoint, 5)
    png = base64.b64decode(picker.picture.split(",")[1])
    assert np.array_equal(Image.open(io.BytesIO(png)), seen("chelsea", checkpoint))
    assert picker.token == 6 and picker.sizes["columns"] == 4


def test_a_position_picker_carries_cosines_to_half_a_step():
    E_pos = random_weights().E_pos
    picker = position_picker(E_pos, ODD)
    true = position_similarity(E_pos, ODD).flatten(1).numpy().copy()
    np.fill_diagonal(true, 0)
    stored = (np.frombuffer(picker.codes, np.uint8).reshape(12, 12) / 127 - 1) * picker.top
    assert picker.top == pytest.approx(np.abs(true).max()) and np.abs(stored - true).max() <= picker.top / 254 + 1e-9
    assert picker.token == 1 * 4 + 2 + 1, "the middle of a 3 x 4 grid"


@pytest.mark.parametrize("token", [0, -1, 13])
def test_a_token_that_is_no_patch_is_refused(token):
    picker = position_picker(random_weights().E_pos, ODD)
    with pytest.raises((traitlets.TraitError, ValueError), match=r"from (0|1)"):
        picker.token = token
    with pytest.raises(ValueError):
        patch_picker("chelsea", tiny(), 12)
