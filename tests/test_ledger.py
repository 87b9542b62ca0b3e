"""The ledger: the file is whole, what can be computed here agrees, and a wrong number could not hide."""

import ast
import dataclasses
import inspect
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from vitbook.__main__ import main
from vitbook.ledger import measure, publications, record, verdicts
from vitbook.ledger.publications import Token, entries, published
from vitbook.ledger.verdicts import AGREES, DIFFERS, ERRATUM, HOLDS, REFUTED, is_the_cats, judge, read_ledger
from vitbook.library.checkpoints import CheckpointError, load_checkpoint
from vitbook.library.hub import reference_snapshot
from vitbook.studies import pencil
from vitbook.studies.counting import PRINTED_MILLIONS

ENTRIES = list(entries().values())
#: Rows that no build can compute: the authors' own trainings, the pictures that went into them, and what they cite.
BEYOND = {e.name for e in ENTRIES if e.needs in ("training", "cited")}
CHAPTERS = {path.stem for path in (Path(__file__).parents[1] / "book").glob("*.md")}
names = {"ids": lambda entry: entry.name}


def the_cats():
    """The picture of the two cats where this machine has it: $VITBOOK_CATS, else where 'python -m vitbook fetch' puts it."""
    from vitbook.pictures import PICTURES, cats_path

    said = os.environ.get("VITBOOK_CATS")
    if said:
        return Path(said)
    if "cats" in PICTURES:
        return cats_path()
    pytest.skip("the picture of the two cats is not here; set VITBOOK_CATS to a copy of it")


def another_picture_of_that_size_and_colour():
    """Noise that passes for the two cats by its size and its mean colour, so that every row is judged."""
    rng = np.random.default_rng(3)
    width, height = publications.file()["cats"]["size"]
    noise = rng.normal(publications.file()["cats"]["mean"], 20, size=(height, width, 3))
    return Image.fromarray(noise.round().clip(0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def bare():
    return read_ledger()


@pytest.fixture(scope="module")
def saved_b16(tmp_path_factory):
    """A ViT-B/16 with random weights (transformers' own initialisation), saved and loaded like any checkpoint."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    torch.manual_seed(16)
    folder = tmp_path_factory.mktemp("random") / "vit-b16"  # its name is the checkpoint's
    ViTForImageClassification(ViTConfig(num_labels=1000)).save_pretrained(folder)
    ViTImageProcessor().save_pretrained(folder)
    return load_checkpoint(folder), folder


@pytest.fixture(scope="module")
def random_b16(saved_b16):
    return saved_b16[0]


@pytest.fixture(scope="module")
def on_random(random_b16):
    return read_ledger(random_b16, another_picture_of_that_size_and_colour())


# --- the file ---


@pytest.mark.parametrize("entry", ENTRIES, **names)
def test_every_row_has_an_expression_of_names_that_are_known(entry):
    if entry.name in BEYOND:
        assert entry.here is None
        return
    wanted = measure.expected(entry.here)
    of_here = {name for name in wanted if name not in measure.NAMES}
    assert all(hasattr(measure.Here, name) or name == "given" for name in of_here), of_here
    assert bool(of_here) == (entry.needs != "nothing"), "a row that needs something must be given it, and no other"


def test_every_name_has_a_row():
    used = set().union(*(measure.expected(entry.here) for entry in ENTRIES if entry.here))
    own = {name for name, thing in vars(measure.Here).items() if not name.startswith("_")} - {
        "given",
        "picture",
        "prepared_x",
    }
    assert measure.NAMES.keys() | own == used
    functions = [f for f in measure.NAMES.values() if inspect.isfunction(f) and f.__name__ != "<lambda>"]
    assert len(functions) > 10 and all(f.__doc__ for f in functions if f.__module__.startswith("vitbook"))


def test_only_trainings_and_citations_are_beyond_a_build():
    counts = {
        "classes": 1,
        "data": 3,
        "figure4": 1,
        "figure5": 18,
        "section2": 2,
        "table2": 6,
        "table3": 12,
        "table4": 7,
        "table5": 14,
        "table7": 1,
        "table8": 8,
    }
    assert sorted(name.partition(".")[0] for name in BEYOND) == [name for name, n in counts.items() for _ in range(n)]
    assert {e.name for e in ENTRIES if e.here is None} == BEYOND


def test_what_an_expression_names_itself_is_not_asked_for():
    assert measure.expected("[a(n) for n in x if n]") == {"a", "x"}
    assert measure.expected("(lambda c: c.D + B16.D)(L16)") == {"B16", "L16"}
    with pytest.raises(SyntaxError):
        measure.expected("import os")


@pytest.mark.parametrize("entry", ENTRIES, **names)
def test_a_row_leads_to_a_chapter_that_is_there(entry):
    assert entry.chapter in CHAPTERS and entry.where and entry.quantity
    titles = publications.file()["chapters"]
    assert len({title for title, _ in titles.values()}) == len(titles)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.erratum], **names)
def test_the_sum_of_an_erratum_holds(entry):
    """An equation between numbers is true to the digits of its right side; the others hold a comparison or say in words."""
    plain = entry.sum.replace("−", "-").replace("·", "*")
    left, sign, right = plain.rpartition("=")
    if sign and re.fullmatch(r"[-+*/().\d\s]+", plain.replace("=", "")):
        value = eval(compile(ast.parse(left.strip(), mode="eval"), entry.name, "eval"), {"__builtins__": {}})
        assert abs(value - float(right)) <= 0.5 * 10.0 ** -len(right.strip().partition(".")[2])
    else:
        assert re.search(r"[<>]|: no place", entry.sum), "neither an equation nor a comparison"


def test_most_errata_are_shown_by_an_equation():
    errata = [e for e in ENTRIES if e.erratum]
    assert sum("=" in e.sum for e in errata) >= 8 and len(errata) == 11


def test_no_quantity_stands_twice():
    seen = {}
    for entry in ENTRIES:
        key = (entry.document, entry.where.partition(",")[0], entry.quantity)
        assert seen.setdefault(key, entry.name) == entry.name, f"{entry.name} repeats {seen[key]}"


def test_the_documents_are_all_used():
    assert {e.document for e in ENTRIES} == set(publications.file()["documents"])
    assert {e.needs for e in ENTRIES} == set(publications.file()["needs"])
    assert {e.chapter for e in ENTRIES} == set(publications.file()["chapters"])


@pytest.mark.parametrize(
    "change, complaint",
    [
        (('name = "large.sizes"', 'name = "base.sizes"'), "two rows named table1.base.sizes"),
        (('printed = "12 768 3072 12"', 'printed = ""'), "table1.base.sizes: printed is empty"),
        (
            ('document = "paper"\nchapter = "counting"', 'document = "papre"\nchapter = "counting"'),
            "unknown document 'papre'",
        ),
        (('correct = "87"', ""), "an erratum needs its reason, its sum and the correct numbers"),
        (('sum = "5 − 1 = 4"', ""), "errata.top_row: an erratum needs its reason, its sum"),
        (('so = "Nearly:', 'structural = "Nearly:'), "step7.two_thirds: a claim needs what is so"),
        (('chapter = "appendix_a"', 'chapter = "appendix_z"'), "unknown chapter 'appendix_z'"),
        (('printed = "4.8e-07"', 'printed = "little"'), "permutation.noise: a bound is made of numbers"),
        (('kind = "bound"', 'kind = "about"'), "unknown kind 'about'"),
        (('quantity = "z"\n', ""), "tiny.z.*quantity"),
    ],
)
def test_a_row_that_is_not_as_it_should_be(monkeypatch, tmp_path, change, complaint):
    text = publications.FILE.read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / "published.toml").write_text(text.replace(*change), encoding="utf-8")
    monkeypatch.setattr(publications, "FILE", tmp_path / "published.toml")
    caches = (publications.file, publications.entries)
    for cached in caches:
        cached.cache_clear()
    try:
        with pytest.raises(ValueError, match=complaint):
            entries()
    finally:
        monkeypatch.undo()
        for cached in caches:
            cached.cache_clear()


# --- tokens ---


@pytest.mark.parametrize(
    "text, value, unit",
    [
        ("86,567,656", 86567656, 1),
        ("-0.267", -0.267, 1e-3),
        ("6.68e-06", 6.68e-6, 1e-8),
        ("1e-6", 1e-6, 1e-6),
        ("32.7%", 0.327, 1e-3),
        ("28.35M", 28.35e6, 1e4),
        ("9.9k", 9900, 100),
        ("86M", 86e6, 1e6),
        ("-0.000", 0, 1e-3),
        ("+3", 3, 1),
    ],
)
def test_printed_numbers(text, value, unit):
    token = Token.read(text)
    assert token.value == pytest.approx(value, abs=1e-15) and token.unit == pytest.approx(unit)


@pytest.mark.parametrize("word", ["True", "t3", "Egyptian cat", "1.2.3", "4 to 5", "12px", ""])
def test_printed_words(word):
    assert Token.read(word).value is None


def test_a_measured_number_is_printed_as_the_published_one_was():
    for text, measured, printed in [
        ("86,567,656", 86567656, "86,567,656"),
        ("28.35M", 28348416, "28.35M"),
        ("32.7%", 0.32747, "32.7%"),
        ("6.68e-06", 1.23456e-9, "1.23e-09"),
        ("0.761", 0.76132, "0.761"),
        ("True", True, "True"),
        ("86567656", 86567656, "86567656"),
    ]:
        assert Token.read(text).printed_alike(measured) == printed


def test_published_by_name():
    assert published("table1.large.parameters").text == "307M"
    assert published("table1.large.parameters").value == 307_000_000 and type(published("step7.layer").value) is int
    assert published("step4.head_8").values == (8, 0.022)
    assert published("step6.labels").text.startswith("Egyptian cat; tabby")
    with pytest.raises(KeyError, match=r"table1\.base\.parameters"):
        published("table1.base.params")
    with pytest.raises(ValueError, match="4 numbers"):
        published("table1.base.sizes").value  # noqa: B018
    with pytest.raises(ValueError, match="words"):
        published("permutation.order").values  # noqa: B018


def test_numbers_that_two_files_know_are_the_same():
    for model, millions in PRINTED_MILLIONS.items():
        assert published(f"table1.{model[4:].lower()}.parameters").value == millions * 10**6
    assert published("errata.SA_1_t3").values == pencil.PRINTED_T3["SA"]
    assert published("tiny.A_1").values[-4:] == pencil.PRINTED_T3["A"]
    assert published("permutation.msa").values[12:18] == pencil.PRINTED_T3["msa"]
    v = np.array(published("tiny.qkv_1").values).reshape(4, 9)[:, 6:]
    assert (v == np.array(pencil.PRINTED_T3["v"])).all()


# --- verdicts ---


def test_what_needs_no_checkpoint_agrees_or_is_an_erratum(bare):
    free = bare.where(needs="nothing")
    assert len(free) > 100
    wrong = [(r.entry.name, r.entry.text, r.text) for r in free if r.verdict != should_be(r.entry)]
    assert not wrong


def should_be(entry):
    """The verdict of a row that can be judged and is right."""
    if entry.kind == "claim":
        return HOLDS if entry.holds else REFUTED
    return ERRATUM if entry.erratum else AGREES


def test_the_rest_says_what_it_needs(bare):
    expected = {"pixels": "needs the picture", "weights": "needs the reference checkpoint", "run": "needs the reference checkpoint",
                "in21k": "needs the in21k checkpoint", "training": "needs the authors' training runs",
                "cited": "needs the cited work"}  # fmt: skip
    for row in bare:
        if row.entry.needs != "nothing":
            assert (row.verdict, row.measured, row.judged) == (expected[row.entry.needs], None, False), row.entry.name


def test_the_pixel_rows_agree_on_the_two_cats():
    path = the_cats()
    pixels = read_ledger(picture=path).where(needs="pixels")
    assert len(pixels) == 4
    assert [(r.entry.name, r.text) for r in pixels if r.verdict != AGREES] == []


@pytest.mark.slow
def test_on_random_weights_of_the_same_shape_every_row_of_the_run_differs(on_random):
    """Random weights and noise for a picture: whatever would still agree could not tell a right run from a wrong one."""
    judged = [row for row in on_random if row.entry.needs in ("weights", "run")]
    assert len(judged) > 55 and all(row.judged and row.measured is not None for row in judged)
    for row in judged:
        assert row.verdict == (AGREES if row.entry.structural else DIFFERS), (row.entry.name, row.entry.text, row.text)
    assert {r.verdict for r in on_random.where(needs="pixels") if r.entry.name != "step1.window"} == {DIFFERS}
    assert on_random["step1.window"].verdict == AGREES, "where a patch sits does not depend on what it shows"


def test_what_is_structural_says_so_only_where_it_must(on_random):
    """Rounding noise, sums of softmax, shapes and settings: nothing else may agree with any weights."""
    reasons = {e.name: e.structural for e in ENTRIES if e.structural}
    for name, reason in reasons.items():
        assert entries()[name].kind == "bound" or re.search("shape|sum to 1|setting", reason), name


def test_the_same_checkpoint_without_the_picture_judges_only_weights(random_b16):
    rows = read_ledger(random_b16)
    assert {r.verdict for r in rows.where(needs="run")} == {"needs the picture"}
    assert {r.judged for r in rows.where(needs="weights")} == {True}


def test_another_model_is_run_but_not_judged(tmp_path):
    """A 3-layer model with another grid: its numbers are shown for scale, and questions that it cannot answer are left open."""
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(5)
    sizes = dict(image_size=(15, 20), patch_size=5, hidden_size=22, num_hidden_layers=3, num_attention_heads=2)
    ViTModel(ViTConfig(**sizes, intermediate_size=37), add_pooling_layer=False).save_pretrained(tmp_path)
    rows = read_ledger(load_checkpoint(tmp_path), another_picture_of_that_size_and_colour())
    run = rows.where(needs="run")
    assert {r.verdict for r in run} == {"needs the reference checkpoint"} and not any(r.judged for r in run)
    assert len(rows["step4.self_weights"].measured) == 2 and rows["step2.noise"].measured is not None
    for beyond in ("step6.z_L", "step4.head_8_tokens", "step6.probabilities", "step6.labels"):
        assert rows[beyond].measured is None, beyond
    assert all(line["measured"] == "" for line in rows.table() if line["verdict"].startswith("needs"))


@pytest.mark.slow
def test_the_embedded_checkpoint_is_run_but_not_judged():
    try:
        checkpoint = load_checkpoint("embedded")
    except CheckpointError as error:
        pytest.skip(str(error))
    rows = read_ledger(checkpoint, another_picture_of_that_size_and_colour())
    assert rows["step4.self_weights"].measured is not None and len(rows["step4.self_weights"].measured) == 6
    assert rows["step5.noise"].measured is not None, "its own noise against the library is measured too"
    assert not any(row.judged for row in rows.where(needs="run"))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.needs == "nothing"], **names)
def test_a_changed_digit_is_seen(entry, bare):
    """Every printed number, two units further in its last digit (or an upper limit a thousand times lower), differs."""
    measured = bare[entry.name].measured
    field = "correct" if entry.erratum or entry.kind == "claim" else "tokens"
    for i, token in enumerate(getattr(entry, field)):
        if entry.kind == "bound":
            changed = dataclasses.replace(token, value=token.value / 1000)
        elif token.value is None:
            changed = Token(token.text + "?")
        else:
            changed = dataclasses.replace(token, value=token.value + 2 * token.unit)
        tokens = tuple(changed if j == i else t for j, t in enumerate(getattr(entry, field)))
        assert judge(measured, dataclasses.replace(entry, **{field: tokens})) == DIFFERS


def test_an_erratum_that_is_none_differs():
    """A row called an erratum whose printed number is right after all must not pass for one."""
    entry = published("exercise.errata.tanh")
    assert judge((0.3829,), entry) == ERRATUM
    assert judge((0.3831,), entry) == DIFFERS
    assert judge((0.3829,), dataclasses.replace(entry, tokens=entry.correct)) == DIFFERS


def test_the_rules_of_closeness():
    digits, noise, stated = published("step4.scores"), published("step2.noise"), published("library.logits")
    exact = digits.values
    assert judge(exact, digits) == AGREES
    assert judge((exact[0] + 0.00054, *exact[1:]), digits) == AGREES
    assert judge((exact[0] + 0.00056, *exact[1:]), digits) == DIFFERS
    assert judge(exact[:5], digits) == DIFFERS, "a number too few"
    assert judge((float("nan"), *exact[1:]), digits) == DIFFERS
    assert judge((0.0,), noise) == judge((5.1e-5,), noise) == AGREES
    assert judge((5.2e-5,), noise) == judge((float("nan"),), noise) == DIFFERS
    a, b, c = stated.values
    assert judge((a + 1.2e-4, b - 1.7e-4, c), stated) == AGREES
    assert judge((a + 1.3e-4, b, c), stated) == DIFFERS


def test_the_picture_is_known_by_its_size_and_colour():
    picture = another_picture_of_that_size_and_colour()
    assert is_the_cats(picture)
    assert not is_the_cats(picture.resize((480, 640)))
    assert not is_the_cats(Image.new("RGB", (640, 480), "white"))


def test_the_real_picture_is_known():
    assert is_the_cats(Image.open(the_cats()).convert("RGB"))


def test_a_ledger_reads_well(bare):
    assert re.fullmatch(
        r"<Ledger of \d+ rows with \d+ published numbers on no checkpoint and no picture: .*>", repr(bare)
    )
    assert len(bare.printed) + len(bare.where(kind="claim")) == len(bare) and bare.where(kind="claim").numbers == 0
    assert bare.numbers == bare.printed.numbers > 3 * len(bare)
    assert sum(bare.verdicts.values()) == len(bare) == len(ENTRIES)
    row = bare["step7.b16.total"]
    assert (row.text, row.verdict) == ("86,567,656", AGREES)
    assert {len(line) for line in bare.table()} == {9}
    assert len(bare.where(verdict=ERRATUM, document="exercise")) == 5
    with pytest.raises(KeyError, match="no row 'step8'"):
        bare["step8"]
    with pytest.raises(ValueError, match="not by colour"):
        bare.where(colour="amber")


@pytest.mark.parametrize("here", ["divine", "divine()", "x_p[", "__import__('os')", "B16.divine", "printed('nothing')"])
def test_an_expression_that_does_not_compute_is_refused(here):
    with pytest.raises(ValueError, match=r"step1\.patch_0: .* does not compute"):
        measure.measured(dataclasses.replace(published("step1.patch_0"), here=here), measure.Here())


def test_a_row_without_an_expression_lacks_something():
    with pytest.raises(measure.Lacking):
        measure.measured(published("table2.bit_l"), measure.Here())


@pytest.mark.reference
def test_the_published_run():
    """On the reference checkpoint and the two cats, every row of the run agrees to the digits that were printed."""
    if reference_snapshot() is None:
        pytest.skip("google/vit-base-patch16-224 is not in the local cache; 'python -m vitbook fetch' downloads it")
    rows = read_ledger(load_checkpoint("google/vit-base-patch16-224"), the_cats())
    judged = [r for r in rows if r.entry.needs in ("nothing", "pixels", "weights", "run")]
    assert all(r.judged for r in judged)
    wrong = [(r.entry.name, r.entry.text, r.text) for r in judged if r.verdict != should_be(r.entry)]
    assert not wrong


def test_verdicts_are_words_that_the_page_knows():
    assert {AGREES, DIFFERS, ERRATUM} == {"agrees", "differs", "erratum"}
    lacking = {need["lacking"] for name, need in publications.file()["needs"].items() if name != "nothing"}
    assert all(text.startswith("needs the ") for text in lacking)
    assert verdicts.__doc__


# --- a record of a run ---


def test_no_record_is_there_until_somebody_has_made_one():
    """A record in the repository must come from the reference checkpoint, and no number of it may differ."""
    found = record.read_record()
    assert found is None or {found.verdict(entries()[name]) for name in found.rows} == {AGREES}


@pytest.mark.slow
def test_a_record_is_written_read_and_judged_again(random_b16, on_random, tmp_path):
    file = tmp_path / "record.json"
    made = record.write_record(on_random, random_b16, file)
    found = record.read_record(file)
    assert found == made and found.on == on_random.on and len(found.sha256) == 64
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date) and {"python", "torch", "transformers"} <= found.versions.keys()
    assert found.rows.keys() == {r.entry.name for r in on_random if r.judged and r.entry.needs != "nothing"}
    for row in on_random:
        if row.entry.name in found.rows:
            assert found.verdict(row.entry) == row.verdict and found.texts(row.entry) == row.texts


@pytest.mark.slow
def test_the_command_writes_a_record_and_says_what_differs(saved_b16, tmp_path, capsys):
    picture, file = tmp_path / "noise.png", tmp_path / "record.json"
    another_picture_of_that_size_and_colour().save(picture)
    assert main(["ledger", "--checkpoint", str(saved_b16[1]), "--picture", str(picture), "--record", str(file)]) == 0
    said = capsys.readouterr().out
    assert "differs: step3.x_class, printed 0.010" in said and f"{file}: " in said
    assert record.read_record(file).rows["step7.b16.loaded"] == [86567656]


def test_without_the_checkpoint_there_is_nothing_to_record(bare, tmp_path):
    with pytest.raises(ValueError, match=r"nothing to record on no checkpoint and no picture.*fetch"):
        record.write_record(bare, None, tmp_path / "record.json")
    assert not list(tmp_path.iterdir()) and record.read_record(tmp_path / "record.json") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"date": 3}', "no row", "no date"])
def test_a_file_that_is_no_record_is_refused(text, tmp_path):
    whole = {"date": "2026-01-02", "on": "a and b", "sha256": "0", "versions": {}, "rows": {}}
    text = (
        json.dumps(whole | {"rows": {"step8": [1]}} if text == "no row" else whole | {"date": "soon"})
        if "no " in text
        else text
    )
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(ValueError, match=r"record\.json is no record of a run"):
        record.read_record(tmp_path / "record.json")
