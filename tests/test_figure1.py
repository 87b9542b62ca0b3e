"""Figure 1: its numbers are the model's, its drawing shows every part, and nothing in it can break the page."""

from __future__ import annotations

import ast
import base64
import io
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from tiny import ODD, checkpoint_of, random_weights, random_x

from bookbuild.myst import read
from vitbook.config import Preprocessing
from vitbook.figures.svg import fitted, in_html, in_svg, percent
from vitbook.figures.thumbnails import signed_picture, thinned, weight_picture
from vitbook.model import run
from vitbook.studies.counting import count_parameters, multiply_adds
from vitbook.widgets.figure1.parts import costs, numbers, parts, shown_tokens
from vitbook.widgets.figure1.widget import Figure1, figure_1

CHAPTERS = {"patches", "class_token", "positions", "eq1", "eq2", "eq3", "all_layers", "eq4", "counting", "appendix_a"}
HOW = Preprocessing((ODD.H, ODD.W), (0.5, 0.4, 0.3), (0.5, 0.6, 0.7))
PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 50, 3), dtype=np.uint8))


def tiny(K=7, labels=None, config=ODD):
    return checkpoint_of(random_weights(config, K=K), labels, replace(HOW, resize=(config.H, config.W)))


def drawn(K=7, labels=None, layer=2, config=ODD) -> Figure1:
    return figure_1(tiny(K, labels, config), PICTURE, layer)


def elements(svg: str):
    """Parsed with the names free of their namespace: this also proves that the drawing is well formed."""
    return ElementTree.fromstring(svg)


def pixels(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("RGBA"))


@pytest.mark.parametrize("K", [None, 7])
def test_the_parts_share_out_the_whole_model(K):
    p = parts(tiny(K), run(tiny(K), random_x()), layer=3)
    alone = ("E", "x_class", "positions", "encoder", "y", "head")
    for whole, field, share in (
        (count_parameters(ODD, K).total, "parameters", "parameter_share"),
        (multiply_adds(ODD, K).total, "multiply_adds", "multiply_add_share"),
    ):
        assert sum(getattr(p[key], field) for key in alone) == whole
        inside = ("norm_1", "msa", "norm_2", "mlp")
        assert sum(getattr(p[key], field) for key in inside) == getattr(p["encoder"], field)
        assert all(getattr(part, share) == pytest.approx(getattr(part, field) / whole) for part in p.values())


def test_each_part_shows_the_tensor_of_this_run_and_this_layer():
    checkpoint, layer = tiny(), 2
    trace = run(checkpoint, random_x())
    p = parts(checkpoint, trace, layer)
    for part in p.values():
        assert tuple(part.tensor.shape) == part.shape, part.key
        assert part.chapter in CHAPTERS
    for key, expected in {
        "x_p": trace.x_p, "z_in": trace.z[1], "msa": trace.msa[1], "plus_1": trace.z_prime[1], "mlp": trace.mlp[1],
        "plus_2": trace.z[2], "z_L": trace.z[3], "y": trace.y, "class": trace.logits,
    }.items():  # fmt: skip
        assert p[key].tensor is expected
    # the branch: what enters attention is the normalised line, and the plus adds it back
    assert (p["z_in"].tensor + p["msa"].tensor - p["plus_1"].tensor).abs().max() < 1e-12
    normed = (p["norm_1"].tensor - checkpoint.weights.layers[1].beta_1) / checkpoint.weights.layers[1].gamma_1
    assert normed.mean(-1).abs().max() < 1e-10


def test_without_a_head_the_slot_is_dashed_and_no_class_is_named():
    with_head, without = drawn(7), drawn(None)
    assert without.parts["head"].tensor is None and without.parts["class"].tensor is None
    for layout in ("wide", "tall"):
        assert "no head" in without.svg(layout) and "no head" not in with_head.svg(layout)
        assert without.svg(layout).count("stroke-dasharray") == 2 and "stroke-dasharray" not in with_head.svg(layout)
    assert "no head in this checkpoint" in without.drawing.in_words()


@pytest.mark.parametrize("layer", [0, 4, True])
def test_a_layer_that_is_not_there_is_refused(layer):
    with pytest.raises(ValueError, match="from 1 to 3"):
        figure_1(tiny(), PICTURE, layer)


def test_a_tour_goes_to_parts_that_are_drawn():
    stops = {"the-bar": ["E", "x_pE"], "the-costs": ["bars"]}
    html = figure_1(tiny(), PICTURE, tour=stops)._repr_html_()
    told = re.search(r'data-tour="([^"]*)"', html)[1]
    assert json.loads(unescape(told)) == stops
    assert "data-tour" not in drawn()._repr_html_().split("<style>")[0]
    for wrong in (["F"], "E"):
        with pytest.raises(ValueError, match="a step of the tour names parts in a list, out of x, x_p, E"):
            figure_1(tiny(), PICTURE, tour={"the-bar": wrong})


def test_the_tour_of_the_chapter_stops_at_its_sections():
    chapter = read((Path(__file__).parents[1] / "book" / "figure1.md").read_text(encoding="utf-8"))
    [stops] = [
        ast.literal_eval(node.value)
        for node in ast.walk(ast.parse(chapter.cells[0].text))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "tour"
    ]
    steps = [re.sub(r"[^a-z]+", "-", heading.text.lower()) for heading in chapter.find("heading") if heading.level == 3]
    assert steps[: len(stops)] == list(stops)
    assert {key for keys in stops.values() for key in keys} == {*drawn().parts, "bars"}


def test_shown_tokens():
    assert shown_tokens(ODD) == [0, 1, 2, 3, None, 7, None, 12]
    small = replace(ODD, H=10, W=15)
    assert shown_tokens(small) == list(range(7))
    assert shown_tokens(replace(ODD, H=5, W=5)) == [0, 1]


@pytest.mark.parametrize("layout", ["wide", "tall"])
@pytest.mark.parametrize(
    "config", [ODD, replace(ODD, H=5, W=5), replace(ODD, L=1, heads=1)], ids=["odd", "one patch", "one layer"]
)
def test_every_part_is_drawn_once_as_a_link_to_its_chapter(layout, config):
    figure = drawn(layer=1, config=config)
    links = [a for a in elements(figure.svg(layout)).iter("a") if "vb-f1-part" in a.get("class")]
    assert sorted(a.get("data-part") for a in links) == sorted(figure.parts)
    for link in links:
        part = figure.parts[link.get("data-part")]
        assert link.get("{http://www.w3.org/1999/xlink}href") == f"{part.chapter}.html"
        assert link.get("data-chapter") == part.chapter and link.get("href") is None  # see svg.link
        assert part.name in link.get("aria-label") and link[0].get("class") == "hit"


@pytest.mark.parametrize("layout", ["wide", "tall"])
def test_the_residual_line_is_one_stroke_through_both_plus_signs(layout):
    svg = elements(drawn().svg(layout))
    (line,) = [p for p in svg.iter("path") if p.get("class") == "residual"]
    x, y, to = map(float, re.fullmatch(r"M([\d.]+),([\d.]+)H([\d.]+)", line.get("d")).groups())
    sums = [c for c in svg.iter("circle") if c.get("class") == "sum"]
    assert len(sums) == 2
    assert all(float(c.get("cy")) == y and x < float(c.get("cx")) < to for c in sums)
    assert sum(text.text == "LN" for text in svg.iter("text")) == 3  # two in the layer, one of Eq. 4


def test_a_patch_is_cut_from_its_own_place():
    config = ODD
    nested = [s for s in elements(drawn().svg()).iter("svg") if s.get("class") == "thumb"]
    boxes = [tuple(map(int, s.get("viewBox").split())) for s in nested]
    assert boxes == [
        ((t - 1) % config.columns * 10, (t - 1) // config.columns * 10, 10, 10) for t in shown_tokens(config) if t
    ]


def test_labels_and_everything_else_are_escaped():
    hostile = '<img src=x onerror=alert(1)>&"'
    figure = drawn(labels=(hostile,) * 7)
    assert figure.parts["class"].name == hostile
    html = figure._repr_html_()
    assert "<img src=x" not in html and "&lt;img src=x" in html
    for layout in ("wide", "tall"):
        elements(figure.svg(layout))


def test_two_figures_on_a_page_share_no_id():
    ids = [re.findall(r'\bid="([^"]+)"', drawn()._repr_html_()) for _ in range(2)]
    assert len(set(ids[0])) == len(ids[0]) and not set(ids[0]) & set(ids[1])


def test_the_page_asks_nobody_for_anything():
    html = drawn()._repr_html_()
    sources = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert all(s.startswith(("data:", "#")) or s.removesuffix(".html") in CHAPTERS for s in sources)
    assert set(re.findall(r'http[^"\s]*', re.sub(r"data:[^\"]*", "", html))) == {"http://www.w3.org/1999/xlink"}


def test_the_table_gives_least_and_largest_of_every_tensor():
    figure = drawn()
    table = elements("<t>" + re.search(r"<tbody>(.*?)</tbody>", figure._repr_html_(), re.S)[1] + "</t>")
    rows = list(table.iter("tr"))
    assert len(rows) == len(figure.parts)
    for row, part in zip(rows, figure.parts.values(), strict=True):
        cells = [td.text for td in row.iter("td")]
        assert cells[1] == part.shape_text
        assert float(cells[-2]) == pytest.approx(part.tensor.min().item(), rel=5e-3)
        assert float(cells[-1]) == pytest.approx(part.tensor.max().item(), rel=5e-3)


def test_text_alternative_says_what_is_drawn():
    said = drawn(labels=tuple("abcdefg")).drawing.in_words()
    for words in ("3 by 4 patches", "22 numbers", "13 rows", "3 encoder layers", "7 scores", "unbroken"):
        assert words in said


def test_bars_add_up():
    cost = costs(ODD, 7)
    for layout in ("wide", "tall"):
        svg = elements(drawn().svg(layout))
        for a, count in zip(
            [a for a in svg.iter("a") if a.get("class") == "vb-f1-bar"],
            (cost.parameters, cost.multiply_adds),
            strict=True,
        ):
            widths = [float(r.get("width")) for r in a.iter("rect")]
            assert sum(widths) == pytest.approx(711 if layout == "wide" else 332, abs=0.1)
            assert a.get("aria-label").startswith(f"of all {count.total:,} ")


def test_signed_picture():
    values = np.array([[-2.0, 0.0, 1.0], [2.0, -1.0, 0.5]])
    out = pixels(signed_picture(values, top=2.0))
    assert out.shape == (2, 3, 4)
    assert out[0, 1, 3] == 0 and out[0, 0, 3] == out[1, 0, 3] == 255  # clear at zero, full at the top
    assert out[0, 0, 2] > out[0, 0, 0] and out[1, 0, 0] > out[1, 0, 2]  # cool below, warm above
    assert out[0, 2, 3] == out[1, 1, 3] and abs(int(out[0, 2, 3]) - 127) < 6  # half of the top, half the ink
    assert (pixels(signed_picture(np.zeros((1, 4))))[..., 3] == 0).all()


def test_weight_picture():
    out = pixels(weight_picture(np.array([[0.0, 0.25, 0.5]])))
    assert out[0, 0, 3] == 0 and out[0, 2, 3] == 255 and abs(int(out[0, 1, 3]) - 127) < 6


def test_thinned_picks_and_never_mixes():
    values = np.arange(35.0).reshape(5, 7)
    assert (thinned(values, 9, 9) == values).all()
    out = thinned(values, 3, 4)
    assert out.shape == (3, 4) and set(out.ravel()) <= set(values.ravel())
    assert out[0, 0] == 0 and out[-1, -1] == 34
    with pytest.raises(ValueError, match="finite"):
        thinned(np.array([[np.nan]]), 1, 1)


def test_numbers():
    n = numbers(run(tiny(), random_x()).x)
    x = random_x().numpy()
    assert n["first"] == pytest.approx(x.ravel()[:6]) and n["min"] == pytest.approx(x.min())
    assert n["std"] == pytest.approx(x.std())


def test_words():
    assert [percent(s) for s in (0, 0.986, 0.00042, 0.0000001)] == ["0", "98.6%", "0.042%", "under 0.001%"]
    assert fitted("Egyptian cat", 10, 2) == ["Egyptian", "cat"]
    assert fitted("a very long name of a class of things", 10, 2) == ["a very", "long name…"]
    assert in_svg("LN") == "LN" and "<" not in re.sub(r"</?tspan[^>]*>", "", in_svg("z'_12"))
    assert in_html("x_pE") == '<b class="m">x</b><sub>p</sub><b class="m">E</b>'
