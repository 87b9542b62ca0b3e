"""The table of the reference run: printed numbers beside this build's."""

import re

import pytest

import vitbook
from vitbook.figures import reference, reference_run
from vitbook.ledger.verdicts import read_ledger


def shown(*rows, checkpoint) -> str:
    displayed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "display", displayed.append)
        reference_run(*rows, checkpoint=checkpoint)
    (table,) = displayed
    return table.data


@pytest.fixture(scope="module")
def checkpoint():
    return vitbook.load_checkpoint("embedded")


def test_a_row_shows_what_was_printed_and_what_is_here(checkpoint):
    html = shown("step4.own_and_patches", checkpoint=checkpoint)
    printed, here = re.findall(r"<td>(.*?)</td>", html)
    trace = vitbook.run(checkpoint, vitbook.preprocess(vitbook.PICTURES.default, checkpoint))
    own = trace.attention(1, 1, 0)[0].item()
    assert printed == "0.7613&ensp;<wbr>0.2387"
    assert here == f"{own:.4f}&ensp;<wbr>{1 - own:.4f}"
    assert "Another model" in html and "agrees" not in html and checkpoint.name in html


def test_a_row_that_needs_no_checkpoint_is_compared(checkpoint):
    html = shown("gelu.minus_one", checkpoint=checkpoint)
    assert html.count("−0.159") == 2 and "✓ agrees" in html


def test_learned_numbers_belong_to_no_picture(checkpoint):
    html = shown("step3.x_class", checkpoint=checkpoint)
    assert "Another model, so" in html and "picture" not in html and "cats" not in html


def test_an_erratum_says_whose_number_is_right(checkpoint):
    wrong = read_ledger().where(verdict="erratum").rows[0]
    assert "erratum" in shown(wrong.entry.name, checkpoint=checkpoint)


def test_what_is_not_computed_here_is_a_dash_and_words_may_be_ours(checkpoint):
    html = shown(("step6.labels", "five <names>"), checkpoint=checkpoint)
    assert "five &lt;names&gt;" in html and "not computed here" in html


def test_rows_come_in_the_order_asked_for_and_wrong_ones_are_refused(checkpoint):
    html = shown("gelu.minus_one", "gelu.phi", checkpoint=checkpoint)
    assert html.index("in the text") < html.index("Phi(x) at")
    with pytest.raises(KeyError, match=r"step4\.scores"):
        reference_run("step4.score", checkpoint=checkpoint)
    with pytest.raises(ValueError, match=r"step2\.embedding"):
        reference_run(checkpoint=checkpoint)
