"""The controls of the explorer, of ipywidgets: each moves one trait of the view, in the browser too, where no kernel is."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from vitbook.widgets.explorer.choices import DIRECTIONS, SCALES, SHOWS

SHOWN = 4  # controls that are always there; the others fold away


class Controls:
    """moves: every control -> (its attribute, the view's trait that it is linked with).  bar: the widget to show."""

    def __init__(self, own: Callable[[object], None]):
        """own: called with a path or an address of a picture of the reader's."""
        slider = dict(min=0, max=2, continuous_update=True)
        self.moves: dict[widgets.Widget, tuple[str, str]] = {
            widgets.IntSlider(description="Layer", **slider): ("value", "layer"),
            widgets.IntSlider(description="Head", **slider): ("value", "head"),
            widgets.IntSlider(description="Token", **slider): ("value", "query"),
            widgets.ToggleButton(description="More choices").add_class("vbx-more-button"): ("value", "more"),
            widgets.Dropdown(description="Map", options=list(SHOWS.values())): ("index", "show"),
            widgets.Dropdown(description="Direction", options=list(DIRECTIONS.values())): ("index", "direction"),
            widgets.Dropdown(description="Colours", options=list(SCALES.values())): ("index", "scale"),
            widgets.FloatSlider(description="Darkness", min=0, max=1, step=0.05, value=0.8): ("value", "opacity"),
            widgets.Checkbox(description="Smooth between patches", indent=False): ("value", "smooth"),
        }
        self.address = widgets.Text(
            placeholder="of a picture of yours", description="Path or URL", continuous_update=False
        )
        self.address.observe(lambda change: change["new"].strip() and own(change["new"].strip()), "value")
        shown = list(self.moves)
        more = widgets.Box(shown[SHOWN:]).add_class("vbx-more")
        asks = widgets.Box([self.address]).add_class("vbx-needs-kernel")
        self.bar = widgets.Box([*shown[:SHOWN], more, asks]).add_class("vbx-controls")
        self.all = [*shown, self.bar, more, asks, self.address]

    def of(self, trait: str) -> widgets.Widget:
        """The control that moves a trait of the view."""
        return next(control for control, (_, moved) in self.moves.items() if moved == trait)

    def traits(self) -> list[str]:
        return [trait for _, trait in self.moves.values()]

    def tell(self, trait: str, value) -> None:
        """The view's trait has moved; its control too."""
        control = self.of(trait)
        setattr(control, self.moves[control][0], value)

    def linked_to(self, view: widgets.Widget) -> list[widgets.Widget]:
        """Links, in the browser, of every control with the view's trait."""
        return [
            widgets.jslink((control, attribute), (view, trait)) for control, (attribute, trait) in self.moves.items()
        ]

    def set_range(self, trait: str, last: int, value: int) -> None:
        """A slider up to `last`.  Where there is nothing to choose it hides, since it cannot draw a range of one."""
        slider = self.of(trait)
        first = 0 if trait == "query" else 1
        with slider.hold_sync():
            slider.max = max(last, slider.max)
            slider.min, slider.value = first, max(value, first)
            slider.max = max(last, first + 1)
            slider.layout.display = "none" if last == first else None
