import math
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import tiny
import torch
from myst_nb.core.variables import format_plain_text
from myst_nb.ext.glue import extract_glue_data_cell

from bookbuild.portable import glued_values
from vitbook.figures import glued
from vitbook.figures.glued import Glue, facts, in_prose


class Shell:
    """An IPython whose cells are run by hand: what they glue is kept as the outputs of one cell."""

    def __init__(self):
        self.execution_count, self.outputs = 1, []

    def display(self, data, raw, metadata):
        assert raw
        self.outputs.append(nbformat.v4.new_output("display_data", data=data, metadata=metadata))

    def notebook(self):
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=self.outputs)])


@pytest.fixture
def shell(monkeypatch):
    shell = Shell()
    monkeypatch.setattr(glued, "get_ipython", lambda: shell)
    monkeypatch.setattr(glued, "display", shell.display)
    return shell


def read_by_sphinx(shell, form="s"):
    """What {glue:text} puts on the page, name by name, and what is left to be shown below the cell."""
    cell = shell.notebook().cells[0]
    data = dict(extract_glue_data_cell(cell))
    return {name: format_plain_text(output["data"]["text/plain"], form) for name, output in data.items()}, cell.outputs


VALUES = {
    "D": 384,
    "worst": (3.8147e-06, ".1e"),
    "share": (torch.tensor(0.0863), ".1%"),
    "pairs": (np.int64(38809), ","),
    "colder": (-1.25, ".1f"),
    "below": -3,
    "rate": 0.25,
    "eps": 1e-12,
    "rows": (torch.tensor([0.5, -0.25]), ".2f"),
    "names": ["astronaut", "cat", "coffee"],
    "checkpoint": "a – `1e-3`, [1, 2]",
    "number_like": ("12", ""),
}
TEXTS = {
    "D": "384",
    "worst": "3.8 × 10⁻⁶",
    "share": "8.6%",
    "pairs": "38,809",
    "colder": "−1.2",
    "below": "−3",
    "rate": "0.25",
    "eps": "1e-12",
    "rows": "0.50 and −0.25",
    "names": "astronaut, cat and coffee",
    "checkpoint": "a – `1e-3`, [1, 2]",
    "number_like": "12",
}


def test_page_lab_and_portable_notebook_read_the_same_text(shell):
    glue = Glue()
    assert glue(**VALUES) is None
    on_the_page, below_the_cell = read_by_sphinx(shell)
    assert on_the_page == TEXTS and below_the_cell == []
    assert {name: glue[name] for name in VALUES} == TEXTS
    assert [text for text in TEXTS.values() if repr(text)[1:-1] != text] == [], (
        "Lab shows what stands between the quotes"
    )
    assert {name: str(value) for name, value in glued_values(shell.notebook()).items()} == TEXTS


def test_one_format_for_all_that_bring_none(shell):
    glue = Glue()
    glue(".2f", near=1 / 3, far=(2 / 3, ".1f"))
    assert (glue["near"], glue["far"]) == ("0.33", "0.7")


def test_a_text_may_still_bring_the_format(shell):
    glue = Glue()
    glue(worst=3.8147e-06)
    assert glue["worst:.1e"] == read_by_sphinx(shell, ".1e")[0]["worst"] == "3.8e-06"


@pytest.mark.parametrize(
    "value, form, text",
    [
        (1234567.891, ",.1f", "1,234,567.9"),
        (1e-6, "g", "1 × 10⁻⁶"),
        (-2.5e12, ".1e", "−2.5 × 10¹²"),
        (1.5, ".1e", "1.5"),
        (-0.031, ".0%", "−3%"),
        (True, "", "True"),
        (math.inf, "", "inf"),
        ("-1e-3", "", "-1e-3"),
        ([], "", ""),
        (["one"], "", "one"),
        ([1, 2], "", "1 and 2"),
    ],
)
def test_how_numbers_and_lists_are_written(value, form, text):
    assert in_prose(value, form) == text


@pytest.mark.parametrize("value, form", [("cat", ".2f"), (0.5, "d"), (None, ".1f"), (["a", 1], ".1f")])
def test_a_format_that_does_not_fit_is_told_in_one_sentence(shell, value, form):
    with pytest.raises(ValueError, match=r"^best: .* cannot be written as '.*'.*give a format that fits it") as told:
        Glue()(best=(value, form))
    assert "\n" not in str(told.value) and not shell.outputs


def test_two_values_under_one_name_are_told_in_one_sentence(shell):
    glue = Glue()
    glue(N=196)
    glue(N=196)
    with pytest.raises(ValueError, match="N is glued twice, as 196 and as 25; give one another name"):
        glue(N=25)


def test_a_cell_that_is_run_again_may_change_its_mind(shell):
    glue = Glue()
    glue(N=196)
    shell.execution_count += 1
    glue(N=25)
    assert glue["N"] == "25"


def test_a_name_that_no_cell_has_glued_says_what_to_do():
    with pytest.raises(KeyError, match="best: no cell has glued it yet; run the cells above"):
        Glue()["best:.2f"]


def test_outside_ipython_values_are_kept_and_nothing_is_shown(capsys):
    glue = Glue()
    glue(N=196)
    assert glue["N"] == "196" and capsys.readouterr().out == ""


def test_the_facts_of_a_checkpoint_are_its_own(shell):
    config, glue = tiny.ODD, Glue()
    glue(**facts(SimpleNamespace(config=config, name="odd")))
    assert glue["tokens"] == str(config.N + 1) and glue["P2C"] == str(config.P**2 * config.C)
    assert glue["rows"] == str(config.rows) and glue["heads"] == str(config.heads)
    assert glue["checkpoint"] == "odd" and glue["eps"] == "0.001"
