"""`model_in_page`: the checkpoint of this build runs in the reader's browser, on a picture of the reader's own."""

from __future__ import annotations

import anywidget
import traitlets

from vitbook.library.checkpoints import load_checkpoint
from vitbook.patches import check_token
from vitbook.widgets.engine.packing import LIMIT, size_in_page, size_of_files
from vitbook.widgets.explorer.atlas import fingerprint
from vitbook.widgets.kit import classic, colour_tables, script, style
from vitbook.widgets.kit.checkpoints import checkpoint_of
from vitbook.widgets.kit.traits import KnownAttributes, Whole


class ModelInPage(KnownAttributes, anywidget.AnyWidget):
    """A button that loads the weights into the page, then a place for pictures, and the attention on them.

    layer, head: from 1.  query: a token, from 0 = [class].  Where no built book is around, as in JupyterLab, it says what
    to do there.
    """

    _esm = traitlets.Unicode(script("in_page/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("in_page/widget.css")).tag(sync=True)
    worker = traitlets.Unicode(classic(script("engine/worker.js"))).tag(sync=True)

    sizes = traitlets.Dict().tag(sync=True)
    tables = traitlets.Bytes().tag(sync=True)
    fingerprint = traitlets.Unicode().tag(sync=True)
    weight = traitlets.Int().tag(sync=True)  # bytes to load, 0 where they are too many for a page
    layer = Whole(1, most=lambda self: self._config.L).tag(sync=True)
    head = Whole(1, most=lambda self: self._config.heads).tag(sync=True)
    query = Whole(0, least=0, most=lambda self: self._config.N, note=" (0 is [class])").tag(sync=True)

    def __init__(self, checkpoint, layer: int, head: int, query: int):
        self._config = config = checkpoint.config
        super().__init__(
            sizes={k: getattr(config, k) for k in ("L", "heads", "rows", "columns", "N")},
            tables=colour_tables(),
            fingerprint=fingerprint(checkpoint),
            weight=size_of_files(checkpoint) if size_in_page(checkpoint) <= LIMIT else 0,
            layer=layer,
            head=head,
            query=query,
        )


def model_in_page(checkpoint=None, layer: int | None = None, head: int = 1, query: int = 0) -> ModelInPage:
    """The model itself in the page: the reader's own pictures, with no kernel, no server and no network.

    checkpoint: what `load_checkpoint` returns; by default what it returns without arguments, whose weights the build writes
    into the book.  layer (by default the last), head, query: what is shown first.
    Raises ValueError for what is no checkpoint and where there is no such token.
    """
    checkpoint = checkpoint_of(load_checkpoint() if checkpoint is None else checkpoint)
    layer = checkpoint.config.L if layer is None else layer
    return ModelInPage(checkpoint, layer, head, check_token(query, checkpoint.config))
