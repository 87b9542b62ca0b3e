"""Every figure is drawn twice: for the page, and once more for a phone, where nothing is cut off."""

import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from vitbook.figures import phone, plotting
from vitbook.figures.attention import bare


def drawn(charts=False, **how):
    figure, axes = plotting.canvas(height=200, **how)
    for number, axis in enumerate(np.atleast_1d(axes).flat):
        axis.imshow(np.eye(10), aspect="auto" if charts else "equal")
        axis.text(0, 0, "a word") if charts else None
        axis.set_title(
            f"{number}" if how.get("columns", 1) > 3 else f"number {number} of several pictures", fontsize=11
        )
    return figure


@pytest.fixture
def saved(monkeypatch):
    """Every figure that is saved, as pixels: (height, width, 3), at two for one of the page."""
    kept = []
    save = FigureCanvasSVG.print_svg

    def print_svg(self, *args, **kwargs):
        save(self, *args, **kwargs)
        self.figure.dpi = 192
        pixels = FigureCanvasAgg(self.figure)
        pixels.draw()
        kept.append(np.asarray(pixels.buffer_rgba())[..., :3].astype(int))

    monkeypatch.setattr(FigureCanvasSVG, "print_svg", print_svg)
    return kept


@pytest.mark.parametrize(
    ("height", "how"),
    [(255, {"columns": 3}), (265, {"columns": 3}), (190, {"columns": 4}), (215, {"columns": 6}), (430, {"rows": 2})],
)
def test_nothing_is_drawn_at_the_edge(saved, height, how):
    """Pictures as wide as the page once left no room for the words above and below them."""
    figure, axes = plotting.canvas(height=height, **how)
    for axis in np.atleast_1d(axes).flat:
        axis.imshow(np.eye(10))
        axis.set(title="a picture", xlabel="what it is")
        bare(axis)
    plotting.finish(figure, "pictures")
    assert [round(pixels.shape[1] / 2) for pixels in saved] == [plotting.PAGE_WIDTH, plotting.PHONE_WIDTH]
    for pixels in saved:
        inked = (pixels != pixels[0, 0]).any(-1)
        inked[2 * plotting.MARGIN : -2 * plotting.MARGIN, 2 * plotting.MARGIN : -2 * plotting.MARGIN] = False
        assert not inked.any()


def sizes(svg: str) -> tuple[int, int]:
    return tuple(round(float(re.search(rf'{side}="([\d.]+)pt"', svg)[1]) / 0.75) for side in ("width", "height"))


@pytest.mark.parametrize("how", [{}, {"columns": 2}, {"columns": 3, "rows": 2}, {"columns": 9, "rows": 2}, {"rows": 3}])
def test_a_figure_carries_one_for_phones_and_can_be_shown_without_it(how):
    svg = plotting.finish(drawn(**how), "pictures").svg
    wide, narrow = plotting.carried(svg)
    assert sizes(wide)[0] == plotting.PAGE_WIDTH and sizes(narrow)[0] == plotting.PHONE_WIDTH
    assert "vb-phone" in svg and "vb-phone" not in wide + narrow
    assert narrow.count("<title>pictures</title>") == 1


def test_charts_beside_each_other_come_below_and_keep_their_order():
    figure = drawn(charts=True, columns=2)
    assert phone.lay_out(figure, plotting.PHONE_WIDTH)
    figure.draw_without_rendering()
    first, second = (axis.get_position() for axis in figure.axes)
    assert first.y0 > second.y1 and first.x0 == pytest.approx(second.x0)


@pytest.mark.parametrize(("columns", "in_a_row"), [(2, 2), (3, 3), (4, 2)])
def test_pictures_that_are_compared_stay_together(columns, in_a_row):
    figure = drawn(columns=columns)
    for axis in figure.axes:
        bare(axis)
    svg = plotting.finish(figure, "pictures").svg
    places = [axis.get_position() for axis in figure.axes]
    assert len({round(place.x0, 3) for place in places}) == in_a_row
    assert all(place.width * plotting.PHONE_WIDTH > phone.SMALLEST - 8 for place in places)
    assert sizes(plotting.carried(svg)[1])[1] < columns / in_a_row * (plotting.PHONE_WIDTH / in_a_row + 100)


def test_a_map_that_is_square_on_the_page_is_so_on_a_phone():
    figure, axes = plotting.canvas(height=290, columns=3)
    for axis in axes:
        axis.pcolormesh(np.eye(5))
        bare(axis)
    plotting.finish(figure, "maps")
    width, height = (figure.axes[0].get_position().size * figure.get_size_inches()).tolist()
    assert 0.7 < height / width < 1.4


def test_a_picture_before_three_charts_gets_a_line_of_its_own():
    figure, (photo, *charts) = plotting.canvas(height=330, columns=4)
    photo.imshow(np.eye(10))
    for axis in charts:
        axis.plot([1, 2])
    plotting.finish(figure, "a picture and charts")
    first, *below = (axis.get_position() for axis in figure.axes)
    assert all(place.y1 < first.y0 for place in below) and len({round(place.y1, 3) for place in below}) == 1


def test_a_bar_below_takes_no_width_from_pictures():
    figure, axes = plotting.canvas(height=430, columns=4, rows=2)
    for axis in axes.flat:
        drawn_map = axis.imshow(np.eye(10))
        bare(axis)
    figure.colorbar(drawn_map, ax=axes, orientation="horizontal")
    plotting.finish(figure, "maps")
    assert all(axis.get_position().width * plotting.PHONE_WIDTH > phone.SMALLEST for axis in axes.flat)


def test_pairs_of_small_pictures_stay_pairs():
    figure = drawn(columns=9, rows=2)
    axes = list(figure.axes)
    assert phone.lay_out(figure, plotting.PHONE_WIDTH)
    figure.draw_without_rendering()
    for above, below in zip(axes[:9], axes[9:], strict=True):
        assert above.get_position().x0 == pytest.approx(below.get_position().x0)
        assert above.get_position().y0 > below.get_position().y0
    assert all(axis.bbox.width > 2 * 60 for axis in axes), "at two dots for a px"


def test_long_titles_are_broken():
    figure = drawn(columns=3, rows=2)
    phone.lay_out(figure, plotting.PHONE_WIDTH)
    assert all("\n" in axis.get_title(loc="left") for axis in figure.axes)


def test_a_table_and_a_mosaic_stay_as_they_are():
    table, axis = plotting.canvas(height=100)
    for number in range(phone.MANY_WORDS + 1):
        axis.text(0, number, "word")
    mosaic, _ = plotting.canvas(height=100, mosaic="AAB;CCB")
    for figure in (table, mosaic):
        assert not phone.lay_out(figure, plotting.PHONE_WIDTH)
        assert plotting.carried(plotting.finish(figure, "words").svg)[1] is None


def test_a_caption_names_the_sides_of_both(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    plotting.captioned(drawn(charts=True, columns=2), "Left: right answers. Right: others.")
    plotting.captioned(drawn(), "Left: the only one.")
    plotting.captioned(drawn(columns=2), "Left: a picture that stays there.")
    assert (
        shown[1].data.count("vb-on-phone") == 2
        and ">Above:</span>" in shown[1].data
        and "right answers" in shown[1].data
    )
    assert "vb-on-phone" not in shown[3].data + shown[5].data


def test_a_bare_logarithmic_axis_has_no_ticks():
    figure, axis = plotting.canvas(height=100)
    axis.set(xscale="log", xlim=(1e-7, 12))
    bare(axis)
    assert not len(axis.get_xticks()) and not len(axis.get_xticks(minor=True))
    plotting.finish(figure, "nothing")
