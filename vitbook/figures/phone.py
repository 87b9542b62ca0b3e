"""A figure drawn for the page, laid out once more for a phone: charts below each other, small pictures in shorter rows."""

from __future__ import annotations

import math
import textwrap

BESIDE = 3  # so many charts side by side go below each other; what has more columns is a row of small pictures
IN_A_ROW = 4  # small pictures side by side on a phone
MANY_WORDS = 12  # texts inside one chart: it is a diagram or a table, which no other width holds
ROOM = 46  # px above and below a picture for its title and its words


def lay_out(fig, width: float) -> bool:
    """Change a figure's layout to ``width`` px; False, and nothing changed, where its parts stand in no plain grid.

    A figure keeps the sizes of its letters, so its lines of text are broken anew and its charts get a line of their own.
    """
    parts = [axis for axis in fig.axes if axis.get_subplotspec() is not None]
    grids = {id(axis.get_subplotspec().get_gridspec()) for axis in parts}
    spans = any(axis.get_subplotspec().num2 != axis.get_subplotspec().num1 for axis in parts)
    if len(grids) != 1 or spans or any(len(axis.texts) > MANY_WORDS for axis in parts):
        return False
    grid = parts[0].get_subplotspec().get_gridspec()
    rows, columns = grid.get_geometry()
    old_width, old_height = (96 * inches for inches in fig.get_size_inches())
    shares = [1.0] * len(parts)  # of the width that each part has
    if rows * columns <= 4 and columns <= BESIDE:
        height = _stack(fig, parts, columns, old_height / rows, width)
    elif columns <= IN_A_ROW and not (columns == 3 and rows > 1):
        height = old_height * max(width / old_width, 0.6)
        ratios = grid.get_width_ratios() or [1] * columns
        shares = [ratios[axis.get_subplotspec().num1 % columns] / sum(ratios) for axis in parts]
    else:
        beside, height = _shorter_rows(fig, parts, rows, columns, old_height, width)
        shares = [1 / beside] * len(parts)
    for axis, share in zip(parts, shares, strict=True):
        _break_lines(axis, (width * share - 12) * fig.dpi / 96)
    fig.set_size_inches(width / 96, height / 96)
    fig.get_layout_engine().set(w_pad=0.1, h_pad=0.06)  # inches: labels at the ends of a colour bar stand out of it
    return True


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
    if columns == 1 or axis.get_aspect() == "auto":
        return old_height
    left, right, low, high = (*axis.get_xlim(), *axis.get_ylim())
    shape = abs(high - low) / abs(right - left) * (1 if axis.get_aspect() == "equal" else axis.get_aspect())
    return min(shape * width * 0.95, 1.3 * old_height) + ROOM


def _shorter_rows(fig, parts, rows: int, columns: int, old_height: float, width: float):
    """Rows of small pictures, each broken into several; what stands one below the other stays so.

    Three in several rows become two, in reading order.  Returns the pictures in a row, and the new height in px.
    """
    from matplotlib.gridspec import GridSpec

    in_reading_order = columns == 3
    short = 2 if in_reading_order else math.ceil(columns / math.ceil(columns / IN_A_ROW))
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
