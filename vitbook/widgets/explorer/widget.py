"""`AttentionExplorer`: choose picture, layer, head and query, and see the attention, with a kernel or without one.

Controls are ipywidgets, linked in the browser to one view (widget.js) that holds the maps. In the built book the view
loads them from the atlas; elsewhere it asks this kernel. The kernel's answers travel as messages and never become part of
a notebook.
"""

from __future__ import annotations

import os
import uuid
import warnings
from contextlib import contextmanager
from pathlib import Path

import ipywidgets as widgets
import traitlets
from IPython.display import display

from vitbook.library.checkpoints import load_checkpoint
from vitbook.patches import check_token, token_of
from vitbook.pictures import PICTURES, PictureError, PictureWarning, load_picture
from vitbook.widgets.explorer import first_view
from vitbook.widgets.explorer.atlas import card, catalogue_card, fingerprint, photograph, shipped
from vitbook.widgets.explorer.kernel_answers import close_earlier, layer_of, trace_of
from vitbook.widgets.explorer.packing import rows_bytes
from vitbook.widgets.explorer.view import DIRECTIONS, SCALES, SHOWS, AttentionView, controls, set_options, set_range
from vitbook.widgets.kit import colour_tables
from vitbook.wording import one_line

OWN_PICTURES = 6  # kept by an explorer; the oldest goes first


class AttentionExplorer(widgets.VBox):
    """Attention over the patch grid, one map at a time, chosen by hand or from Python.

    checkpoint: what `load_checkpoint` returns; by default what it returns without arguments.
    picture: a name in `PICTURES`, or whatever `load_picture` takes; layer and head count from 1.
    query: a token from 0 = [class] to N, "class", or a (row, column) of the grid.
    show: "head", "mean" (over heads) or "rollout" (Abnar and Zuidema, 2020: (A + I)/2, later layers from the left).
    direction: "reads" (a row of A) or "read by" (a column).
    scale: what colours are scaled by: "heads" (the largest weight that any head of the layer gives, for this query),
    "layer" (the same, for any query) or "map" (this map alone).
    opacity: of the map over the photograph, 0 to 1.  smooth: interpolate between patches.
    against: None, or a dict of picture, layer, head and show to subtract.
    name: tells two explorers of a page apart in links: page.html#explorer=NAME&picture=chelsea&layer=10&head=5&query=cls.

    Every one of these is also an attribute to read, set and observe; one event a change.  Setting one out of range raises
    a TraitError or ValueError that names the range; a new checkpoint moves all into its own range.
    """

    picture = traitlets.Any()
    layer = traitlets.Any()
    head = traitlets.Any()
    query = traitlets.Any()
    show = traitlets.Enum(list(SHOWS), "head")
    direction = traitlets.Enum(list(DIRECTIONS), "reads")
    scale = traitlets.Enum(list(SCALES), "heads")
    opacity = traitlets.Float(0.6, min=0, max=1)
    smooth = traitlets.Bool(False)
    against = traitlets.Any(None, allow_none=True)
    checkpoint = traitlets.Any()

    def __init__(self, checkpoint=None, picture="chelsea", layer=None, head=1, query=0, name="", **choices):
        unknown = set(choices) - {"show", "direction", "scale", "opacity", "smooth", "against"}
        if unknown:
            raise TypeError(f"AttentionExplorer has no choice {', '.join(sorted(unknown))}")
        self._view = AttentionView(uid=uuid.uuid4().hex[:8], name=name, tables=colour_tables())
        self._own, self._loading = {}, True
        self._controls = controls()
        self._view.observe(self._tell_control, [trait for _, trait in self._controls.values()])
        self._view.on_msg(self._answer)
        self._boxes = self._lay_out()
        bar = self._boxes[0]
        super().__init__([bar, self._view])
        self.add_class("vb-widget").add_class("vbx-explorer")

        self.checkpoint = load_checkpoint() if checkpoint is None else checkpoint
        config = self.checkpoint.config
        self.picture, self.query = picture, query
        self.layer, self.head = config.L if layer is None else layer, head
        self._link()
        for key, value in choices.items():
            setattr(self, key, value)
        # Last: a link makes its second end equal to its first as soon as the page hears of it.
        pairs = [((control, attribute), (self._view, trait)) for control, (attribute, trait) in self._controls.items()]
        self._parts = [*self._controls, *self._boxes, self._view, *(widgets.jslink(*pair) for pair in pairs)]
        close_earlier(self)

    # ---- choices: names outside, positions in the view

    @property
    def pictures(self) -> list[str]:
        """The names that `picture` may take; more are added by setting it to a picture of your own."""
        return [card["name"] for card in self._view.pictures]

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

    @traitlets.validate("layer", "head", "query")
    def _in_range(self, proposal) -> int:
        config, value = self.checkpoint.config, proposal["value"]
        if proposal["trait"].name == "query":
            if isinstance(value, tuple):
                return token_of(*value, config)
            return check_token(0 if value in ("class", "cls", "[class]") else value, config)
        what, last = proposal["trait"].name, {"layer": config.L, "head": config.heads}[proposal["trait"].name]
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= last:
            raise traitlets.TraitError(f"{what} must be a whole number from 1 to {last}, got {value!r}")
        return value

    @traitlets.validate("picture")
    def _known_picture(self, proposal) -> str:
        source = proposal["value"]
        if isinstance(source, str) and source in self.pictures:
            return source
        return self._add(source)

    @traitlets.validate("against")
    def _whole_choice(self, proposal) -> dict | None:
        if not proposal["value"]:
            return None
        choice = {k: getattr(self, k) for k in ("picture", "layer", "head", "show")} | dict(proposal["value"])
        config = self.checkpoint.config
        ranges = {"picture": self.pictures, "show": list(SHOWS)}
        ranges |= {"layer": range(1, config.L + 1), "head": range(1, config.heads + 1)}
        for key, value in choice.items():
            if key not in ranges or value not in ranges[key]:
                raise traitlets.TraitError(
                    f"against has {key} = {value!r}, expected one of {ranges.get(key, list(ranges))}"
                )
        return choice

    def _pinned(self, choice: dict | None) -> dict:
        if choice is None:
            return {}
        positions = {"picture": self.pictures.index(choice["picture"]), "show": list(SHOWS).index(choice["show"])}
        return {**choice, **positions}

    def _unpinned(self, pinned: dict) -> dict | None:
        return (
            {**pinned, "picture": self.pictures[pinned["picture"]], "show": list(SHOWS)[pinned["show"]]}
            if pinned
            else None
        )

    def _tell_control(self, change) -> None:
        """Python moved a choice: move its control too.  What the page moved is linked there."""
        if self._view.from_page:
            return
        for control, (attribute, trait) in self._controls.items():
            if trait == change["name"]:
                setattr(control, attribute, change["new"])

    @traitlets.observe("checkpoint")
    def _fit(self, change) -> None:
        """Sizes, pictures and ranges of a new checkpoint; whatever is out of its range goes to the nearest that is in it."""
        checkpoint, config, view = self.checkpoint, self.checkpoint.config, self._view
        control_of = {trait: control for control, (_, trait) in self._controls.items()}
        cards = [catalogue_card(name, checkpoint) for name in shipped()]
        cards += [card(name, picture, checkpoint) for name, picture in self._own.items()]
        last = {"layer": config.L, "head": config.heads, "query": config.N}
        with view.hold_sync(), self.hold_trait_notifications():
            view.first, view.first_rows = {}, b""
            view.sizes = {k: getattr(config, k) for k in ("L", "heads", "rows", "columns", "P", "H", "W")}
            view.fingerprint, view.pictures = fingerprint(checkpoint), cards
            if self.against:
                self.against = None
            for trait, top in last.items():
                if getattr(self, trait) is not None:
                    setattr(self, trait, min(getattr(self, trait), top))
        for trait, top in last.items():
            set_range(control_of[trait], top, getattr(view, trait))
        set_options(control_of["picture"], [c["title"] for c in cards], view.picture)

    def _lay_out(self) -> list[widgets.Widget]:
        """The bar of controls first, then every widget in it that is no control: the seldom used ones fold away."""
        shown = list(self._controls)
        more = widgets.Box(shown[5:]).add_class("vbx-more")
        own, upload, address = self._own_box()
        bar = widgets.Box([*shown[:5], more, own]).add_class("vbx-controls")
        return [bar, more, own, upload, address]

    # ---- pictures of one's own

    def _own_box(self) -> tuple[widgets.Widget, ...]:
        upload = widgets.FileUpload(accept="image/*", multiple=False, description="Your picture")
        address = widgets.Text(placeholder="or its path or address", description="Path or URL", continuous_update=False)
        upload.observe(lambda change: change["new"] and self._from_upload(upload), "value")
        address.observe(lambda change: change["new"].strip() and self._try(change["new"].strip()), "value")
        return widgets.Box([upload, address]).add_class("vbx-needs-kernel"), upload, address

    def _from_upload(self, upload) -> None:
        files, upload.value = upload.value, ()  # the file's bytes stay in no widget, so in no notebook
        self._try(files)

    def _try(self, source) -> None:
        """Show a picture of the reader's, or say in the widget why it cannot be."""
        try:
            self.picture = source
        except (PictureError, traitlets.TraitError, ValueError) as error:
            self._view.problem = str(error)

    def _add(self, source) -> str:
        """Read a picture, run the model on it, list it; returns its name.  Raises PictureError."""
        view = self._view
        view.problem = ""
        with self._saying("Reading the picture …"), warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", PictureWarning)
            picture = load_picture(source)
        name, title = self._name_for(source), _title_of(source)
        new = card(name, picture, self.checkpoint, title)
        for old in view.pictures:
            if old["name"] in self._own and old["key"].endswith(new["key"][-9:]):
                return old["name"]  # the same pixels again
        with self._saying(f"Running {self.checkpoint.config.L} layers on {self.checkpoint.config.N + 1} tokens …"):
            trace_of(self.checkpoint, view.fingerprint, new["key"], picture)
        self._own[name] = picture
        if len(self._own) > OWN_PICTURES:
            self._own.pop(next(iter(self._own)))
        known = {*shipped(), *self._own}
        cards = [c for c in view.pictures if c["name"] in known] + [new]
        if self.against and self.against["picture"] not in known:
            self.against = None
        with view.hold_sync():
            view.pictures = cards
            if not self._view.status and notes:
                view.status = " ".join(str(note.message) for note in notes)
        dropdown = next(c for c, (_, trait) in self._controls.items() if trait == "picture")
        set_options(dropdown, [c["title"] for c in cards], len(cards) - 1)
        return name

    def _name_for(self, source) -> str:
        if isinstance(source, str) and source in PICTURES:
            return source
        number = 1
        while f"yours {number}" in self._own:
            number += 1
        return f"yours {number}"

    @contextmanager
    def _saying(self, words: str):
        self._view.status = words
        try:
            yield
        finally:
            self._view.status = ""

    # ---- the view's questions

    def _answer(self, _, content, buffers) -> None:
        want = content.get("want", "")
        try:
            _, key, what = want.split("/")
            name = next(card["name"] for card in self._view.pictures if card["key"] == key)
            picture = self._own.get(name) or load_picture(PICTURES[name])
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


def _title_of(source) -> str:
    """What to call a reader's picture: its file name where it has one."""
    if isinstance(source, tuple | list) and source and isinstance(source[0], dict):
        return one_line(str(source[0].get("name"))) or "your picture"
    if isinstance(source, str) and source in PICTURES:
        return PICTURES[source].title
    if isinstance(source, str | os.PathLike):
        return one_line(Path(os.fspath(source)).name) or "your picture"
    return "your picture"
