"""The explorer's skin: the traits that widget.js draws from, and the ipywidgets that move them."""

from __future__ import annotations

import anywidget
import ipywidgets as widgets
import traitlets

from vitbook.widgets.explorer.choices import DIRECTIONS, SCALES, SHOWS
from vitbook.widgets.kit import script, style


class AttentionView(anywidget.AnyWidget):
    """The skin: what widget.js draws from.  Names stand as positions in a list, since controls link by index."""

    _esm = traitlets.Unicode(script("explorer/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("explorer/widget.css")).tag(sync=True)

    uid = traitlets.Unicode().tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    pictures = traitlets.List().tag(sync=True)
    fingerprint = traitlets.Unicode().tag(sync=True)
    tables = traitlets.Bytes().tag(sync=True)
    first = traitlets.Dict().tag(sync=True)
    first_rows = traitlets.Bytes().tag(sync=True)
    status = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)

    picture = traitlets.Int(0).tag(sync=True)
    layer = traitlets.Int(1).tag(sync=True)
    head = traitlets.Int(1).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)
    show = traitlets.Int(0).tag(sync=True)
    direction = traitlets.Int(0).tag(sync=True)
    scale = traitlets.Int(0).tag(sync=True)
    opacity = traitlets.Float(0.6).tag(sync=True)
    smooth = traitlets.Bool(False).tag(sync=True)
    against = traitlets.Dict().tag(sync=True)
    more = traitlets.Bool(False).tag(sync=True)

    from_page = False  # whether the change at hand came from the page, where the controls already know

    def set_state(self, sync_data) -> None:
        self.from_page = True
        try:
            super().set_state(sync_data)
        finally:
            self.from_page = False


def controls() -> dict[widgets.Widget, tuple[str, str]]:
    """Every control -> (its attribute, the view's trait that it is linked with)."""
    slider = dict(min=0, max=2, continuous_update=True)
    return {
        widgets.Dropdown(description="Picture"): ("index", "picture"),
        widgets.IntSlider(description="Layer", **slider): ("value", "layer"),
        widgets.IntSlider(description="Head", **slider): ("value", "head"),
        widgets.IntSlider(description="Token", **slider): ("value", "query"),
        widgets.ToggleButton(description="More choices").add_class("vbx-more-button"): ("value", "more"),
        widgets.Dropdown(description="Map", options=list(SHOWS.values())): ("index", "show"),
        widgets.Dropdown(description="Direction", options=list(DIRECTIONS.values())): ("index", "direction"),
        widgets.Dropdown(description="Colours", options=list(SCALES.values())): ("index", "scale"),
        widgets.FloatSlider(description="Overlay", min=0, max=1, step=0.05, value=0.6): ("value", "opacity"),
        widgets.Checkbox(description="Smooth between patches", indent=False): ("value", "smooth"),
    }


def set_range(slider: widgets.IntSlider, last: int, value: int) -> None:
    """A slider up to `last`.  Where there is nothing to choose it hides, since it cannot draw a range of one."""
    first = 0 if slider.description == "Token" else 1
    with slider.hold_sync():
        slider.max = max(last, slider.max)
        slider.min, slider.value = first, max(value, first)
        slider.max = max(last, first + 1)
        slider.layout.display = "none" if last == first else None


def set_options(dropdown: widgets.Dropdown, titles: list[str], index: int) -> None:
    """New titles and the chosen one in one message, so that the page never sees one without the other."""
    with dropdown.hold_sync():
        dropdown.options = [(title, n) for n, title in enumerate(titles)]  # equal titles stay apart
        dropdown.index = index
