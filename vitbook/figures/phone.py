"""A figure drawn for the page, laid out once more for a phone: charts below each other, small pictures in shorter rows."""

from __future__ import annotations

import math
import textwrap

BESIDE = 3  # so many charts side by side go below each other; what has more columns is a row of small pictures
IN_A_ROW = 4  # small pictures side by side on a phone
SMALLEST = 110  # px: pictures that have as much stay side by side, since they are there to be compared
MANY_WORDS = 12  # texts inside one chart: it is a diagram or a table, which no other width holds
ROOM = 46  # px above and below a picture for its title and its words
BAR = 60  # px of height for a colour bar with its words
CLOSE = 0.03  # inches between pictures and beside them
NEARLY_SQUARE = (0.7, 1.4)  # a map without ticks of such a shape on the page keeps it


def lay_out(fig, width: float) -> bool:
    """Change a figure's layout to ``width`` px; False, and nothing changed, where its parts stand in no plain grid.

    A figure keeps the sizes of its letters, so its lines of text are broken anew.  Charts get a line of their own;
    pictures stay beside each other where they stay large enough.
    """
    parts = [axis for axis in fig.axes if axis.get_subplotspec() is not None]
    grids = {id(axis.get_subplotspec().get_gridspec()) for axis in parts}
    spans = any(axis.get_subplotspec().num2 != axis.get_subplotspec().num1 for axis in parts)
    if len(grids) != 1 or spans or any(len(axis.texts) > MANY_WORDS for axis in parts):
        return False
    grid = parts[0].get_subplotspec().get_gridspec()
    rows, columns = grid.get_geometry()
    old_width, old_height = (96 * inches for inches in fig.get_size_inches())
    for axis in parts:
        _keep_its_shape(axis, old_width / old_height)
    ratios = grid.get_width_ratios() or [1] * columns
    shares = [ratios[axis.get_subplotspec().num1 % columns] / sum(ratios) for axis in parts]  # of the width
    bars = [axis for axis in fig.axes if axis not in parts]
    below = all(bar.get_position().width > bar.get_position().height for bar in bars)  # and none takes width
    pictures = below and all(_shape(axis) and not axis.texts for axis in parts)
    together = pictures and 1 < columns <= BESIDE and min(shares) * width >= SMALLEST
    if together:
        height = None
    elif pictures and columns == IN_A_ROW and rows <= 2 and len(set(ratios)) == 1:
        beside, _ = _shorter_rows(fig, parts, rows, columns, old_height, width, 2)
        shares, rows, together = [1 / beside] * len(parts), 2 * rows, True
    elif (rows, columns) == (1, IN_A_ROW) and [bool(_shape(axis)) for axis in parts] == [True, False, False, False]:
        shares, height = _below_a_picture(fig, parts, old_height)
    elif rows * columns <= 4 and columns <= BESIDE:
        height = _stack(fig, parts, columns, old_height / rows, width)
        shares = [1.0] * len(parts)
    elif columns <= IN_A_ROW and not (columns == 3 and rows > 1):
        height = old_height * max(width / old_width, 0.6)
    else:
        beside, height = _shorter_rows(fig, parts, rows, columns, old_height, width)
        shares = [1 / beside] * len(parts)
    for axis, share in zip(parts, shares, strict=True):
        _break_lines(axis, (width * share - 12) * fig.dpi / 96)
    if together:
        height = len(bars) * BAR + rows * max(
            _shape(axis) * width * share + _words(axis) for axis, share in zip(parts, shares, strict=True)
        )
    fig.set_size_inches(width / 96, height / 96)
    # inches: labels at the ends of a colour bar stand out of it
    fig.get_layout_engine().set(w_pad=CLOSE if pictures and not bars else 0.1, h_pad=0.06)
    return True


def _keep_its_shape(axis, of_the_figure: float) -> None:
    """A small map that is nearly square on the page, and has nothing written beside it, is so on a phone."""
    place = axis.get_position()
    shape = place.height / place.width / of_the_figure
    bare = not (len(axis.get_xticks()) or len(axis.get_yticks()))
    is_map = axis.images or any(type(drawn).__name__ == "QuadMesh" for drawn in axis.collections)
    if _shape(axis) is None and is_map and bare and NEARLY_SQUARE[0] <= shape <= NEARLY_SQUARE[1]:
        axis.set_box_aspect(shape)


def _shape(axis) -> float | None:
    """The height of a picture as a part of its width; None for a chart, which has any shape."""
    if axis.get_box_aspect():
        return axis.get_box_aspect()
    if axis.get_aspect() == "auto":
        return None
    left, right, low, high = (*axis.get_xlim(), *axis.get_ylim())
    return abs(high - low) / abs(right - left) * (1 if axis.get_aspect() == "equal" else axis.get_aspect())


def _words(axis) -> float:
    """The px that the words above and below a picture need."""
    renderer = axis.figure.canvas.get_renderer()
    texts = [text for text in (axis.title, axis._left_title, axis._right_title) if text.get_text()]
    heights = [max((text.get_window_extent(renderer).height for text in texts), default=0)]
    heights += [axis.xaxis.label.get_window_extent(renderer).height] if axis.xaxis.label.get_text() else []
    heights += [0.2 * axis.figure.dpi] if len(axis.get_xticks()) else []
    return sum(height * 96 / axis.figure.dpi + 10 for height in heights if height) + 12


def _below_a_picture(fig, parts, old_height: float):
    """A picture on a line of its own, and the charts beside it on the page below it: their shares of the width, and the height."""
    from matplotlib.gridspec import GridSpec

    first, *others = parts
    grid = GridSpec(2, len(others), figure=fig)
    first.set_subplotspec(grid[0, :])
    for axis, place in zip(others, list(grid)[len(others) :], strict=True):
        axis.set_subplotspec(place)
    return [1.0, *[0.8 / len(others)] * len(others)], 1.4 * old_height


def _stack(fig, parts, columns: int, old_height: float, width: float) -> float:
    """All parts below each other, in reading order; the new height in px."""
    from matplotlib.gridspec import GridSpec

    heights = [_height(axis, old_height, width, columns) for axis in parts]
    grid = GridSpec(len(parts), 1, figure=fig, height_ratios=heights)
    for axis, place in zip(parts, grid, strict=True):
        axis.set_subplotspec(place)
        if columns > 1:  # what a neighbour said for it
            axis.tick_params(labelleft=axis.yaxis.get_visible() and bool(len(axis.get_yticks())))
    return sum(heights)


def _height(axis, old_height: float, width: float, columns: int) -> float:
    """A picture keeps its shape at the new width, a chart its height."""
    shape = _shape(axis)
    if columns == 1 or shape is None:
        return old_height
    return min(shape * width * 0.95, 1.3 * old_height) + ROOM


def _shorter_rows(fig, parts, rows: int, columns: int, old_height: float, width: float, short: int = 0):
    """Rows of small pictures, each broken into several; what stands one below the other stays so.

    Three in several rows become two, in reading order.  short: how many in a row, where the caller knows.
    Returns the pictures in a row, and the new height in px.
    """
    from matplotlib.gridspec import GridSpec

    in_reading_order = columns == 3
    short = short or (2 if in_reading_order else math.ceil(columns / math.ceil(columns / IN_A_ROW)))
    all_rows = math.ceil(rows * columns / short) if in_reading_order else rows * math.ceil(columns / short)
    grid = GridSpec(all_rows, short, figure=fig)
    for axis in parts:
        number = axis.get_subplotspec().num1
        row, column = divmod(number, columns)
        turn, place = divmod(number if in_reading_order else column, short)
        axis.set_subplotspec(grid[turn if in_reading_order else turn * rows + row, place])
    return short, all_rows * max(_height(axis, old_height / rows, width / short, columns) for axis in parts)


def _break_lines(axis, free: float) -> None:
    """Titles and labels that are wider than ``free`` dots go on in a second line."""
    renderer = axis.figure.canvas.get_renderer()
    for text in (axis.title, axis._left_title, axis._right_title, axis.xaxis.label):
        words = text.get_text()
        if words and "$" not in words and (wide := text.get_window_extent(renderer).width) > free:
            text.set_text(textwrap.fill(words.replace("\n", " "), max(8, int(len(words) * free / wide))))
