"""The explorer's skin: the traits that widget.js draws from."""

from __future__ import annotations

import anywidget
import traitlets

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
    weight = traitlets.Int().tag(sync=True)  # bytes of the model in the page, 0 where they are too many for one
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
    opacity = traitlets.Float(0.8).tag(sync=True)
    smooth = traitlets.Bool(False).tag(sync=True)
    against = traitlets.Dict().tag(sync=True)
    change = traitlets.List().tag(sync=True)  # the changes that the panel offers, all of them where it is empty
    order = traitlets.List().tag(sync=True)  # in which patches are shuffled first
    more = traitlets.Bool(False).tag(sync=True)

    from_page = False  # whether the change at hand came from the page, where the controls already know

    def set_state(self, sync_data) -> None:
        self.from_page = True
        try:
            super().set_state(sync_data)
        finally:
            self.from_page = False
