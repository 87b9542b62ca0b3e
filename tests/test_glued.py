"""Values that cells hand to the text."""

import pytest

from vitbook.figures.glued import Glue


@pytest.fixture
def glue(monkeypatch):
    sent = []
    monkeypatch.setattr("myst_nb.glue", lambda *arguments: sent.append(arguments))
    made = Glue()
    made.sent = sent
    return made


def test_what_is_glued_goes_to_the_build_and_is_kept_for_lab(glue):
    glue("worst", 3.8147e-06, display=False)
    assert glue.sent == [("worst", 3.8147e-06, False)]
    assert glue["worst:.1e"] == "3.8e-06" and glue["worst"] == "3.8147e-06"


def test_the_last_value_counts_as_in_the_notebook(glue):
    glue("N", 196)
    glue("N", 25)
    assert glue["N"] == "25"


def test_a_name_that_no_cell_has_glued_says_what_to_do(glue):
    with pytest.raises(KeyError, match="best: no cell has glued it yet; run the cells above"):
        glue["best:.2f"]
