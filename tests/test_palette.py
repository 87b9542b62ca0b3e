"""The palette keeps its promises: readable, told apart, evenly stepped, and the same in Python and in CSS."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from math import dist
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from coloraide import Color
from PIL import Image

from bookbuild.extension import size_of
from vitbook.figures import palette, plotting
from vitbook.figures.palette import GROUNDS, INKS, THEMES, attention_colours, colour, contrast, diverging_colours

# What the three kinds of dichromats see: Machado, Oliveira and Fernandes 2009, severity 1.0.
VISION = ("everyone else", "protan", "deutan", "tritan")
TOLD_APART_BY_COLOUR = ("class", "query", "key", "value")


def oklab(hex_colour: str) -> list[float]:
    return Color(hex_colour).convert("oklab").coords()


def seen(hex_colour: str, eyes: str) -> list[float]:
    """Where a colour lies in OKLab for these eyes; 0.02 is about a just noticeable difference."""
    if eyes == "everyone else":
        return oklab(hex_colour)
    return oklab(Color(hex_colour).filter(eyes, method="machado").convert("srgb").clip().to_string(hex=True))


def test_the_contrast_formula_on_values_from_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=5e-4)  # the grey that just fails
    assert contrast("#ffffff", "#777777") == contrast("#777777", "#ffffff")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ink", INKS)
def test_every_ink_is_text_on_both_grounds(theme, ink):
    for ground in ("ground", "surface"):
        assert contrast(colour(ink, theme), colour(ground, theme)) >= 4.5, ground


@pytest.mark.parametrize("theme", THEMES)
def test_text_stays_readable_on_every_wash(theme):
    for ink in INKS:
        assert contrast(colour("text", theme), colour(f"{ink}-wash", theme)) >= 7, ink
    assert contrast(colour("erratum", theme), colour("erratum-wash", theme)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", VISION)
def test_class_q_k_v_stay_apart_for_all_eyes(theme, eyes):
    for one, other in combinations(TOLD_APART_BY_COLOUR, 2):
        apart = dist(seen(colour(one, theme), eyes), seen(colour(other, theme), eyes))
        assert apart >= 0.07, f"{one} and {other} are {apart:.3f} apart"


@pytest.mark.parametrize("theme", THEMES)
def test_no_two_meanings_share_a_colour(theme):
    meanings = [ink for ink in INKS if ink not in ("text", "muted")]
    for one, other in combinations(meanings, 2):
        apart = dist(seen(colour(one, theme), "everyone else"), seen(colour(other, theme), "everyone else"))
        assert apart >= 0.06, f"{one} and {other} are {apart:.3f} apart"


@pytest.mark.parametrize("theme", THEMES)
def test_attention_runs_from_the_ground_in_even_steps(theme):
    shades = attention_colours(theme, 64)
    assert shades[0] == colour("ground", theme)
    labs = [oklab(shade) for shade in shades]
    lightness = [lab[0] for lab in labs]
    assert sorted(lightness, reverse=theme == "light") == lightness
    steps = [dist(a, b) for a, b in pairwise(labs)]
    # Colours are rounded to 8 bits a channel, and a bend of the path cuts its corner: hence a fifth, not nothing.
    assert max(steps) < 1.2 * sum(steps) / len(steps)
    assert contrast(shades[0], shades[-1]) > 12


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("count", [64, 65])
def test_the_diverging_map_is_neutral_in_the_middle_and_balanced(theme, count):
    shades = diverging_colours(theme, count)
    assert len(shades) == count
    middle = oklab(shades[count // 2])
    assert abs(middle[1]) < 0.005 and abs(middle[2]) < 0.005
    cool, warm = oklab(shades[0]), oklab(shades[-1])
    assert cool[2] < -0.05 < 0.03 < warm[1], "cool below zero, warm above"
    assert abs(cool[0] - warm[0]) < 0.06, "both ends weigh the same"


def test_every_colour_is_a_custom_property_in_both_themes():
    light, dark = (
        re.findall(r"--vb-([a-z-]+): (#[0-9a-f]{6});", block) for block in palette.css().split("html[data", 1)
    )
    for theme, found in (("light", light), ("dark", dark)):
        assert dict(found) == {name: colour(name, theme) for name in palette.names()}
    for ink in INKS:
        assert f".vb-ink-{ink} {{ color: var(--vb-{ink}); }}" in palette.css()


def test_the_dark_twin_swaps_our_colours_and_leaves_the_rest():
    figure = f'<path style="fill: {colour("query")}; stroke: #123456"/><rect fill="{colour("ground").upper()}"/>'
    twin = palette.darkened(figure)
    assert colour("query", "dark") in twin and colour("ground", "dark") in twin and "#123456" in twin
    assert colour("query") not in twin
    for shades in (attention_colours, diverging_colours):
        assert palette.darkened(shades("light")[200]) == shades("dark")[200]


def test_the_mark_of_the_book_is_drawn_in_its_colours():
    assets = Path(__file__).parents[1] / "book" / "assets"
    mark = (assets / "logo.svg").read_text()
    assert set(re.findall("#[0-9a-f]{6}", mark)) == {colour("class"), colour("query")}
    assert (assets / "logo-dark.svg").read_text() == palette.darkened(mark)


def test_no_light_colour_has_two_dark_twins():
    pairs = [(colour(name, "light"), colour(name, "dark")) for name in (*GROUNDS, *INKS)]
    assert len({light for light, _ in pairs}) == len(pairs)
    for name in palette.names():
        assert palette.darkened(colour(name, "light")) == colour(name, "dark"), name


@pytest.mark.parametrize("name, theme", [("qurey", "light"), ("query", "dim"), ("query-deep", "light")])
def test_an_unknown_colour_is_named(name, theme):
    with pytest.raises(ValueError, match=f"{name}.*{theme}.*query"):
        colour(name, theme)


def test_a_figure_for_a_phone_is_known_to_the_style_sheet():
    """What is drawn at that width is written into the page at it, and book.css shows it whole."""
    figure, _ = plotting.canvas(height=200, width=plotting.PHONE_WIDTH)
    svg = ElementTree.fromstring(plotting.finish(figure, "nothing").svg)
    assert size_of(svg)["width"] == f"{plotting.PHONE_WIDTH}px"
    sheet = (Path(__file__).parents[1] / "book/assets/book.css").read_text(encoding="utf-8")
    assert f'.vb-figure[width="{plotting.PHONE_WIDTH}"]' in sheet


def test_a_photograph_in_a_figure_is_packed_small_and_a_diagram_keeps_its_pixels():
    photo = np.asarray(Image.fromarray(np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8)).resize((90, 90)))
    figure, (left, right) = plotting.canvas(height=120, columns=2)
    left.imshow(photo)
    right.imshow(np.eye(20))
    svg = plotting.finish(figure, "two pictures").svg
    assert svg.count("data:image/webp") == svg.count("data:image/png") == 1
