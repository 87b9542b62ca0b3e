"""`AttentionExplorer`: choose picture, layer, head and query, and see the attention, with a kernel or without one.

Controls are ipywidgets, linked in the browser to one view (widget.js) that holds the maps. In the built book the view
loads them from the atlas; elsewhere it asks this kernel. The kernel's answers travel as messages and never become part of
a notebook.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager

import ipywidgets as widgets
import traitlets
from IPython.display import display

from vitbook.library.checkpoints import load_checkpoint
from vitbook.pictures import PICTURES, load_picture
from vitbook.widgets.engine.packing import LIMIT, size_in_page, size_of_files
from vitbook.widgets.explorer import first_view
from vitbook.widgets.explorer.atlas import fingerprint, photograph, shipped
from vitbook.widgets.explorer.choices import DIRECTIONS, SCALES, SHOWS, changes, pinned, share, shuffled, token
from vitbook.widgets.explorer.controls import Controls
from vitbook.widgets.explorer.kernel_answers import close_earlier, layer_of, trace_of
from vitbook.widgets.explorer.packing import rows_bytes
from vitbook.widgets.explorer.pictures import Pictures, read
from vitbook.widgets.explorer.view import AttentionView
from vitbook.widgets.kit import colour_tables
from vitbook.widgets.kit.checkpoints import checkpoint_of
from vitbook.widgets.kit.traits import Checked, Flag, KnownAttributes, OneOf, Whole, choices_of, unknown
from vitbook.wording import brief


class AttentionExplorer(KnownAttributes, widgets.VBox):
    """Attention over the patch grid, one map at a time, chosen by hand or from Python.

    checkpoint: what `load_checkpoint` returns; by default what it returns without arguments.
    picture: a name in `PICTURES`, or whatever `load_picture` takes; layer and head count from 1.
    query: a token from 0 = [class] to N, "class", or a (row, column) of the grid.
    show: "head", "mean" (over heads) or "rollout" (Abnar and Zuidema, 2020: (A + I)/2, later layers from the left).
    direction: "reads" (a row of A) or "read by" (a column).
    scale: what colours are scaled by: "heads" (the largest weight that any head of the layer gives, for this query),
    "layer" (the same, for any query) or "map" (this map alone).
    opacity: how dark the patches are that are not read, 0 to 1.  smooth: interpolate between patches.
    against: None, or a dict of picture, layer, head and show to subtract.
    change: None, or what the panel "Change the model" is about, open at once: "hide", "heads", "layers", "positions", "shuffle",
    "paste", "mistakes", or several of them.  Where no built book is around, the model runs in the kernel and there is no such panel.
    name: tells two explorers of a page apart in links: page.html#explorer=NAME&picture=chelsea&layer=10&head=5&query=cls.

    Every one of these is also an attribute to read, set and observe; one event a change.  What one cannot be is refused by a
    traitlets.TraitError (a picture by a PictureError) that says what it can be, and the attribute stays as it was; a new
    checkpoint moves all into its own range.
    """

    checkpoint = Checked(lambda self, value: self._usable(value))
    picture = Checked(lambda self, value: self._known_picture(value))
    layer = Whole(1, most=lambda self: self.checkpoint.config.L)
    head = Whole(1, most=lambda self: self.checkpoint.config.heads)
    query = Checked(lambda self, value: token(value, self.checkpoint.config))
    show = OneOf(SHOWS, "head")
    direction = OneOf(DIRECTIONS, "reads")
    scale = OneOf(SCALES, "heads")
    opacity = Checked(lambda _, value: share(value, "opacity"), 0.8)
    smooth = Flag(False)
    against = Checked(lambda self, value: self._whole_choice(value))

    def __init__(
        self, checkpoint=None, picture="chelsea", layer=None, head=1, query=0, name="", change=None, **choices
    ):
        for choice in choices:
            if choice not in choices_of(AttentionExplorer):
                raise TypeError(unknown(choice, "AttentionExplorer", choices_of(AttentionExplorer)))
        if not isinstance(name, str):
            raise ValueError(f"name must be a text, got {brief(name)}")
        checkpoint = self._usable(load_checkpoint() if checkpoint is None else checkpoint)  # before any widget is made
        self._view = AttentionView(uid=uuid.uuid4().hex[:8], name=name, tables=colour_tables())
        self._view.change = changes(change)
        self._pictures, self._controls = Pictures(), Controls(self._try)
        self._view.observe(self._tell_control, self._controls.traits())
        self._view.on_msg(self._answer)
        super().__init__([self._controls.bar, self._view])
        self.add_class("vb-widget").add_class("vbx-explorer")

        self.checkpoint, self.picture, self.query = checkpoint, picture, query
        self.layer, self.head = checkpoint.config.L if layer is None else layer, head
        self._link()
        for key, value in choices.items():
            setattr(self, key, value)
        # Last: a link makes its second end equal to its first as soon as the page hears of it.
        self._parts = [*self._controls.all, self._view, *self._controls.linked_to(self._view)]
        close_earlier(self)

    # ---- choices: names outside, positions in the view

    @property
    def pictures(self) -> list[str]:
        """The names that `picture` may take; more are added by setting it to a picture of your own."""
        return self._pictures.names

    def _link(self) -> None:
        """The public attributes and the view's, both ways."""
        for trait in ("layer", "head", "query", "opacity", "smooth"):
            traitlets.link((self, trait), (self._view, trait))
        for trait, names in (("show", SHOWS), ("direction", DIRECTIONS), ("scale", SCALES)):
            names = list(names)
            traitlets.link((self, trait), (self._view, trait), transform=(names.index, names.__getitem__))
        to_view = (lambda name: self.pictures.index(name), lambda index: self.pictures[index])
        traitlets.link((self, "picture"), (self._view, "picture"), transform=to_view)
        traitlets.link((self, "against"), (self._view, "against"), transform=(self._pinned, self._unpinned))

    def _usable(self, checkpoint):
        """The checkpoint, if its maps can be told from another's."""
        fingerprint(checkpoint_of(checkpoint))
        return checkpoint

    def _whole_choice(self, value) -> dict | None:
        if value is None:  # also before there is anything to compare with
            return None
        now = {key: getattr(self, key) for key in ("picture", "layer", "head", "show")}
        return pinned(value, now, self.pictures, self.checkpoint.config)

    def _pinned(self, choice: dict | None) -> dict:
        if choice is None:
            return {}
        positions = {"picture": self.pictures.index(choice["picture"]), "show": list(SHOWS).index(choice["show"])}
        return {**choice, **positions}

    def _unpinned(self, pinned: dict) -> dict | None:
        if not pinned:
            return None
        return {**pinned, "picture": self.pictures[pinned["picture"]], "show": list(SHOWS)[pinned["show"]]}

    def _tell_control(self, change) -> None:
        """Python moved a choice: move its control too.  What the page moved is linked there."""
        if not self._view.from_page:
            self._controls.tell(change["name"], change["new"])

    @traitlets.observe("checkpoint")
    def _fit(self, change) -> None:
        """Sizes, pictures and ranges of a new checkpoint; whatever is out of its range goes to the nearest that is in it."""
        config, view = self.checkpoint.config, self._view
        self._pictures.fit(self.checkpoint)
        last = {"layer": config.L, "head": config.heads, "query": config.N}
        with view.hold_sync(), self.hold_trait_notifications():
            view.first, view.first_rows = {}, b""
            view.sizes = {k: getattr(config, k) for k in ("L", "heads", "rows", "columns", "P", "H", "W")}
            view.fingerprint, view.pictures = fingerprint(self.checkpoint), self._pictures.cards
            view.order = shuffled(config.N) if "order" in view.change else []
            view.weight = size_of_files(self.checkpoint) if size_in_page(self.checkpoint) <= LIMIT else 0
            self.against = None
            for trait in filter(self.trait_has_value, last):
                setattr(self, trait, min(self._trait_values[trait], last[trait]))
        for trait, top in last.items():
            self._controls.set_range(trait, top, getattr(view, trait))

    # ---- pictures of one's own

    def _try(self, source) -> None:
        """Show a picture of the reader's, or say in the widget why it cannot be."""
        try:
            self.picture = source
        except (traitlets.TraitError, ValueError) as error:
            self._view.problem = str(error)

    def _known_picture(self, source) -> str:
        return source if isinstance(source, str) and source in self.pictures else self._add(source)

    def _add(self, source) -> str:
        """Read a picture, run the model on it, list it; returns its name.  Raises PictureError."""
        view, config = self._view, self.checkpoint.config
        view.problem = ""
        with self._saying("Reading the picture …"):
            picture, notes = read(source)
        new = self._pictures.new(source, picture, self.checkpoint)
        if new in self._pictures.cards:
            return new["name"]
        with self._saying(f"Running {config.L} layers on {config.N + 1} tokens …"):
            trace_of(self.checkpoint, view.fingerprint, new["key"], picture)
        self._pictures.add(new, picture)
        if self.against and self.against["picture"] not in self.pictures:
            self.against = None
        view.pictures = self._pictures.cards
        if notes:
            view.status = notes
        return new["name"]

    def _take_away(self, key: str) -> None:
        """Give up a picture of the reader's; where it is shown, the first of the book's is."""
        name = self._pictures.name_of(key)
        if name == self.picture:
            self.picture = self.pictures[0]
        if self.against and self.against["picture"] == name:
            self.against = None
        picture, against = self.picture, self.against
        self._pictures.remove(name)
        self._view.pictures = self._pictures.cards
        self._view.picture, self._view.against = self.pictures.index(picture), self._pinned(against)

    @contextmanager
    def _saying(self, words: str):
        self._view.status = words
        try:
            yield
        finally:
            self._view.status = ""

    # ---- the view's questions

    def _answer(self, _, content, buffers) -> None:
        if "own" in content:  # a file that the reader chose, dropped or pasted
            return self._try(({**content["own"], "content": memoryview(buffers[0])},))
        if "forget" in content:
            return self._take_away(content["forget"])
        want = content.get("want", "")
        try:
            _, key, what = want.split("/")
            picture = self._pictures.of(key)
            if what == "picture.webp":
                data = photograph(picture)
            else:
                data = layer_of(self.checkpoint, self._view.fingerprint, key, picture, int(what))
        except Exception as error:  # whatever it is, the reader should see it where the map would be
            self._view.send({"for": want, "error": f"{type(error).__name__}: {error}"})
        else:
            self._view.send({"for": want}, [data])

    # ---- the first state

    def _put_first(self) -> None:
        """The first map's numbers on the page itself, for pictures that may be published."""
        view = self._view
        card = view.pictures[view.picture]
        view.first, view.first_rows = {}, b""
        if card["name"] not in shipped():
            return
        trace = trace_of(self.checkpoint, view.fingerprint, card["key"], load_picture(PICTURES[card["name"]]))
        layer = 0 if self.show == "rollout" else self.layer
        view.first_rows = rows_bytes(trace, layer, self.query)
        view.first = {"key": f"{view.fingerprint}/{card['key']}/{layer}", "query": self.query}

    def _ipython_display_(self, **kwargs) -> None:
        self._put_first()
        if self._view.first:
            display({"text/html": first_view.html(self), "text/plain": ""}, raw=True)
        display(super()._repr_mimebundle_(), raw=True)

    def close(self) -> None:
        """Close the explorer and every widget in it."""
        for widget in (*self.__dict__.get("_parts", ()), self):
            for also in (getattr(widget, "layout", None), getattr(widget, "style", None)):
                if isinstance(also, widgets.Widget):
                    also.close()
            if widget is not self:
                widget.close()
        super().close()
