"""Matplotlib dressed for the book: our colours, our type, 700 px of page, vectors in the built book.

Draw every figure once, in the light palette. The build makes the dark twin by swapping each of our colours for its
counterpart (``palette.darkened``), so use colours from ``palette.colour`` and the two maps below and nothing else.
Small grids (14 x 14) belong in ``pcolormesh``: they stay sharp and get their dark twin. Photographs and big maps
(197 x 197) belong in ``imshow``; they look the same in both themes,
and photographs are packed as WebP.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
import zlib
from functools import lru_cache
from html import escape
from pathlib import Path

from vitbook.figures import phone
from vitbook.figures.palette import attention_colours, colour, diverging_colours
from vitbook.wording import one_line

PAGE_WIDTH = 700  # px of text width on the page; a phone shows a figure at no less than 600 px and lets it scroll
PHONE_WIDTH = 345  # px: a figure of this width is whole on a phone (book.css), at 300 px or more
SMALLEST_TEXT = 13  # px at PAGE_WIDTH, so that it is still above 11 px on that phone
MARGIN = 2  # px at each edge of a figure that stay empty
_FONTS = Path(__file__).parent / "fonts"
FEW_COLOURS = 1000  # a picture with no more of them is a diagram or a map, and keeps every pixel as it is
_CARRIED = re.compile(r'<metadata id="vb-phone">([^<]*)</metadata>')
_SIDES = {
    side: f'<span class="vb-on-wide">{side}</span><span class="vb-on-phone">{on_phone}</span>'
    for side, on_phone in (("Left:", "Above:"), ("Right:", "Below:"))
}
_SIDE = re.compile("|".join(_SIDES))
_EMBEDDED = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")
_PX = 1 / 96  # inches


def _points(px: float) -> float:
    return 0.75 * px


@lru_cache
def attention_map():
    """The colour map for attention weights: the page's ground at 0, dark at the top of the scale."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(attention_colours(), name="vb-attention")


@lru_cache
def diverging_map():
    """The colour map for zero-centred numbers; give it a norm that is symmetric about zero."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(diverging_colours(), name="vb-diverging")


@lru_cache
def _register_fonts() -> None:
    from matplotlib.font_manager import fontManager

    for font in sorted(_FONTS.glob("*.ttf")):
        fontManager.addfont(font)


def mpl_style() -> dict:
    """The rc settings of every figure: sizes in px of the page, our inks, letters as in the formulas."""
    _register_fonts()
    text, muted, ground, line = (colour(name) for name in ("text", "muted", "ground", "line"))
    small, normal, large = (_points(px) for px in (SMALLEST_TEXT, 14, 16))
    from cycler import cycler

    return {
        "figure.figsize": (PAGE_WIDTH * _PX, 360 * _PX),
        "figure.dpi": 192,  # pictures inside a figure keep two pixels for one of the page
        "figure.facecolor": ground,
        "figure.constrained_layout.use": True,
        "savefig.facecolor": ground,
        "savefig.bbox": "standard",
        "svg.fonttype": "path",  # the same letters on every machine
        "svg.hashsalt": "vitbook",  # and the same file from the same numbers
        "font.family": ["Inter", "DejaVu Sans"],  # the second fills in symbols that the first lacks
        "font.size": normal,
        "mathtext.fontset": "cm",  # as in the page's formulas
        "axes.titlesize": large,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 10,
        "axes.labelsize": normal,
        "axes.labelcolor": muted,
        "axes.facecolor": ground,
        "axes.edgecolor": muted,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "axes.prop_cycle": cycler(color=[colour(name) for name in ("stream", "query", "class", "key", "value", "mlp")]),
        "xtick.labelsize": small,
        "ytick.labelsize": small,
        "xtick.color": muted,
        "ytick.color": muted,
        "text.color": text,
        "grid.color": line,
        "grid.linewidth": 0.8,
        "lines.linewidth": 2,
        "lines.solid_capstyle": "round",
        "patch.linewidth": 0.8,
        "legend.frameon": False,
        "legend.fontsize": small,
        "hatch.linewidth": 0.8,
        "image.cmap": "viridis",
        "image.interpolation": "nearest",
    }


def canvas(height: int, columns: int = 1, rows: int = 1, width: int = PAGE_WIDTH, mosaic=None, **options):
    """``fig, axes`` of ``width`` x ``height`` px of the page; ``options`` go to ``subplots``.

    With a ``mosaic`` they go to ``subplot_mosaic``, and ``axes`` is a dict of its names.
    The book's style stays on from here, since titles and labels are set later and read it then.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colorbar import Colorbar

    plt.rcParams.update(mpl_style())
    Colorbar.n_rasterize = (
        1000  # shades from which on a bar is pixels: ours stay vectors, so that the dark twin changes them
    )
    size = (width * _PX, height * _PX)
    if mosaic is not None:
        return plt.subplot_mosaic(mosaic, figsize=size, **options)
    return plt.subplots(rows, columns, figsize=size, **options)


class Drawing:
    """A finished figure as SVG that carries its own alternative text.

    JupyterLab shows it as it is; the build reads ``alt`` out of it and makes its dark twin.
    """

    def __init__(self, fig, alt: str):
        if not alt.strip():
            raise ValueError("a figure needs a text that says what it shows: show(fig, alt='...')")
        self.alt = one_line(alt, len(alt))
        self.svg = drawn(fig, self.alt)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<figure: {self.alt}>"


def literal(text: str, most: int = 80) -> str:
    """Words from elsewhere for a figure: one line, and a dollar in it is a dollar and begins no formula."""
    return one_line(text, most).replace("$", r"\$")


def finish(fig, alt: str) -> Drawing:
    """``fig`` closed and turned into a `Drawing`, with ``alt`` for those who cannot see it."""
    import matplotlib.pyplot as plt

    drawing = Drawing(fig, alt)
    plt.close(fig)
    return drawing


def label_ends(axis, x: float, ends) -> None:
    """Words behind the ends of lines at ``x``, pushed apart so that none covers another: the last thing drawn on ``axis``.

    ends: (value, words, name of a colour) of each line, in any order.
    """
    axis.autoscale_view()
    on_axis = axis.transData + axis.transAxes.inverted()
    gap = 1.3 * _points(SMALLEST_TEXT) / (axis.get_window_extent().height * 72 / axis.figure.dpi)
    at = float("-inf")
    for value, words, ink in sorted(ends, key=lambda end: end[0]):
        height = on_axis.transform((x, value))[1]
        at = max(height, at + gap)
        line = {"arrowstyle": "-", "color": colour(ink), "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2}
        axis.annotate(
            words, (x, value), (10, at), textcoords=("offset points", "axes fraction"), va="center", color=colour(ink),
            fontsize=_points(SMALLEST_TEXT), annotation_clip=False, arrowprops=line if at > height else None,
        )  # fmt: skip


def show(fig, alt: str) -> None:
    """Display ``fig`` now, with ``alt`` for those who cannot see it, and close it."""
    from IPython.display import display

    display(finish(fig, alt))


def captioned(fig, caption: str) -> None:
    """Display ``fig`` now with ``caption`` below it, which also says what it shows to those who cannot see it."""
    from IPython.display import HTML, display

    parts = [axis for axis in fig.axes if axis.get_subplotspec() is not None]
    beside = len(parts) == 2 == _columns(parts)
    drawing = finish(fig, caption)
    display(drawing)
    text = escape(caption, quote=False)
    # What is left on the page is above on a phone, where it was laid out last.
    if beside and _columns(parts) == 1 and _CARRIED.search(drawing.svg):
        text = _SIDE.sub(lambda found: _SIDES[found[0]], text)
    display(HTML(f'<p class="vb-caption">{text}</p>'))


def _columns(parts) -> int:
    return parts[0].get_subplotspec().get_gridspec().ncols


def drawn(fig, alt: str) -> str:
    """A figure as SVG, with the one for a phone inside where its layout can be changed and its words leave room there."""
    svg = titled(_svg(fig), alt)
    if round(fig.get_figwidth() / _PX) != PAGE_WIDTH or not phone.lay_out(fig, PHONE_WIDTH):
        return svg
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied")
        try:
            return carrying(svg, titled(_svg(fig), alt))
        except UserWarning:
            return svg


def _svg(fig) -> str:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    canvas, dpi, engine = fig.canvas, fig.dpi, fig.get_layout_engine()
    with matplotlib.rc_context(mpl_style()):
        try:
            # `savefig` would draw everything once more, to lay it out.
            FigureCanvasSVG(fig)
            fig.dpi = FigureCanvasSVG.fixed_dpi
            if engine:
                engine.execute(fig)
                if any(axis.get_subplotspec() is None for axis in fig.axes):
                    engine.execute(fig)  # a bar that the layout made shorter may get longer labels
                # A picture keeps its shape, so each layout mends only half of what is cut.
                before, cut = float("inf"), _cut(fig)
                while 0 < cut < before - 0.2:
                    engine.execute(fig)
                    before, cut = cut, _cut(fig)
                fig.set_layout_engine("none")
            fig.set_facecolor(colour("ground"))
            fig.dpi = mpl_style()["figure.dpi"]
            # No date and no creator: the same numbers give the same file.
            fig.canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
        finally:
            fig.dpi = dpi
            fig.set_canvas(canvas)
            if engine:
                fig.set_layout_engine(engine)
    text = buffer.getvalue()
    # The cells of a grid meet without the hairline that smoothing leaves between them.
    text = text.replace('<g id="QuadMesh_', '<g shape-rendering="crispEdges" id="QuadMesh_')
    return _EMBEDDED.sub(_smaller, text[text.index("<svg") :])


def _cut(fig) -> float:
    """By how many px the words of a figure with pictures reach into its outer pixels, or beyond them."""
    if all(axis.get_aspect() == "auto" for axis in fig.axes):
        return 0
    box, (width, height) = fig.get_tightbbox(), fig.get_size_inches()
    return max(0, MARGIN - min(box.x0, box.y0, width - box.x1, height - box.y1) / _PX)


def _smaller(embedded: re.Match) -> str:
    """A picture inside a figure, as WebP where it is a photograph: a quarter of the bytes, and no difference to see."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(embedded[1]))) as picture:
        opaque = picture.mode == "RGB" or picture.getextrema()[-1] == (255, 255)
        if not opaque or picture.getcolors(FEW_COLOURS):
            return embedded[0]
        packed = io.BytesIO()
        picture.convert("RGB").save(packed, "WEBP", quality=88)
    return f"data:image/webp;base64,{base64.b64encode(packed.getvalue()).decode()}"


def carrying(svg: str, other: str) -> str:
    """``svg`` with another drawing of the same figure packed inside, which is not drawn: the one for a phone."""
    packed = base64.b64encode(zlib.compress(other.encode(), 9)).decode()
    return svg.replace("</svg>", f'<metadata id="vb-phone">{packed}</metadata></svg>')


def carried(svg: str) -> tuple[str, str | None]:
    """A drawing without what it carries, and what it carries."""
    found = _CARRIED.search(svg)
    return (_CARRIED.sub("", svg), zlib.decompress(base64.b64decode(found[1])).decode()) if found else (svg, None)


def titled(svg: str, alt: str) -> str:
    """``svg`` with ``alt`` as its title, which screen readers speak."""
    head, close, body = svg.partition(">")
    return f'{head} role="img"{close}<title>{escape(alt, quote=False)}</title>{body}'
