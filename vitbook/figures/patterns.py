"""Figures of the related work: masks and what one token sees, growth, reach, masked runs, attention as convolution.

Each function draws one message and returns a `Drawing` that shows itself and carries its alternative text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import Normalize, to_rgb
from matplotlib.patches import Rectangle

from vitbook.figures.attention import square
from vitbook.figures.palette import colour
from vitbook.figures.plotting import attention_map, canvas, diverging_map, finish, label_ends
from vitbook.patches import describe, place_of
from vitbook.pixels import seen
from vitbook.studies.patterns import PATTERNS, Pattern

SHORT = {
    "full": "full",
    "causal": "causal",
    "local": "k × k window",
    "image-transformer-1d": "1-D blocks",
    "image-transformer-2d": "2-D blocks",
    "strided": "strided",
    "strided-1": "strided, head 1",
    "strided-1-released": "strided, as released",
    "strided-2": "strided, head 2",
    "fixed": "fixed",
    "fixed-1": "fixed, head 1",
    "fixed-2": "fixed, head 2",
    "fixed-2-inclusive": "fixed, as printed",
    "block-local": "blocks",
    "axial": "axial, both",
    "axial-row": "axial, row",
    "axial-column": "axial, column",
}
SMALL = 10  # points, 13 px: titles of small panels


def short_name(name: str) -> str:
    """A pattern's name for a small panel."""
    return SHORT.get(name, name)


def pattern_gallery(picture, checkpoint, names: Sequence[str], query: int, columns: int = 4):
    """For each pattern what one query reads of the picture, and under it the whole mask.

    query: a token from 1 (patch query - 1), as everywhere; patterns at their default parameters on the checkpoint's grid.
    """
    config = checkpoint.config
    row, column = place_of(query, config)
    lines = -(-len(names) // columns)
    figure, axes = canvas(height=lines * 375, columns=columns, rows=2 * lines)
    axes = np.asarray(axes).reshape(2 * lines, columns)
    for axis in axes.flat:
        axis.axis("off")
    pixels = np.asarray(seen(picture, checkpoint).convert("RGB"))
    for k, name in enumerate(names):
        above, below = axes[2 * (k // columns), k % columns], axes[2 * (k // columns) + 1, k % columns]
        region = PATTERNS[name].sees(row, column, config.rows, config.columns)
        region_on_picture(above, pixels, region, (row, column))
        above.set_title(short_name(name), fontsize=SMALL)
        mask_picture(below, PATTERNS[name].mask(config.rows, config.columns), query - 1)
    alt = (
        f"For {', '.join(short_name(name) for name in names)}: the part of the photograph that the query, "
        f"{describe(query, config)}, reads, the rest faded, and below it the mask of all {config.N} queries and keys."
    )
    return finish(figure, alt)


def region_on_picture(axis, pixels: np.ndarray, region: np.ndarray, query: tuple[int, int]) -> None:
    """The photograph with what a query does not read faded, the query framed; region: bool (rows, columns)."""
    rows, columns = region.shape
    height, width = pixels.shape[:2]
    alpha = np.repeat(np.repeat(np.where(region, 255, 38), -(-height // rows), 0), -(-width // columns), 1)
    faded = np.dstack([pixels, alpha[:height, :width].astype(np.uint8)])
    axis.imshow(faded, extent=(0, columns, rows, 0))
    square(axis)
    for ink, line in (("ground", 3.5), ("query", 2)):
        axis.add_patch(Rectangle(query[::-1], 1, 1, fill=False, edgecolor=colour(ink), linewidth=line, clip_on=False))


def mask_picture(axis, mask: np.ndarray, query: int | None = None, ink: str = "key") -> None:
    """A mask with ink where a query may read a key, clear elsewhere; the query's row between two lines."""
    picture = np.zeros((*mask.shape, 4))
    picture[..., :3], picture[..., 3] = to_rgb(colour(ink)), mask
    axis.imshow(picture, interpolation="nearest" if len(mask) < 80 else "antialiased", interpolation_stage="rgba")
    square(axis)
    axis.add_patch(
        Rectangle(
            (-0.5, -0.5), mask.shape[1], mask.shape[0], fill=False, edgecolor=colour("line"), linewidth=0.8, clip_on=False
        )
    )
    if query is not None:
        axis.axhspan(query - 1.5, query + 1.5, facecolor="none", edgecolor=colour("query"), linewidth=1.2)


def pairs_growth(patterns: Mapping[str, tuple[Pattern, int]], sides: Sequence[int], patch: int = 16):
    """Pairs against the side of a square picture, one token a pixel, on log axes; and full attention over patches.

    patterns: words for the line -> (pattern, how many layers of it make one step: two for the axial pair). sides: in
    pixels, multiples of patch.
    """
    figure, axis = canvas(height=420)
    inks = ("stream", "class", "query", "value", "mlp", "embedding")
    ends = []
    for (words, (pattern, times)), ink in zip(patterns.items(), inks, strict=False):
        values = [times * pattern.pairs(side, side) for side in sides]
        axis.plot(sides, values, color=colour(ink))
        ends.append((values[-1], words, ink))
    patches = [(side // patch) ** 4 for side in sides]
    axis.plot(sides, patches, color=colour("key"), linestyle=(0, (5, 2)))
    ends.append((patches[-1], f"full, over {patch} × {patch} patches", "key"))
    axis.set(xscale="log", yscale="log", xlabel="side of the picture in pixels", ylabel="(query, key) pairs a layer")
    axis.set_xticks(sides, [str(side) for side in sides])
    axis.set_xlim(sides[0], sides[-1])
    axis.minorticks_off()
    label_ends(axis, sides[-1], ends)
    said = "; ".join(f"{words} {value:.2g}" for value, words, _ in sorted(ends, reverse=True))
    return finish(figure, f"Pairs against the picture's side on log axes. At {sides[-1]} pixels: {said}.")


def reach_pictures(reached: Mapping[str, np.ndarray], wanted: np.ndarray):
    """What two layers connect, in ink, and what they should but do not, in the class colour; one panel a choice.

    reached: words -> bool (N, N); wanted: the pairs that full attention would connect.
    """
    figure, axes = canvas(height=235, columns=len(reached))
    for axis, (words, connected) in zip(np.atleast_1d(axes), reached.items(), strict=True):
        mask_picture(axis, connected)
        missing = np.zeros((*wanted.shape, 4))
        missing[..., :3], missing[..., 3] = to_rgb(colour("class")), wanted & ~connected
        axis.imshow(missing, interpolation="nearest")
        axis.set_title(f"{words}\n{(connected & wanted).sum():,} of {wanted.sum():,}", fontsize=SMALL)
    said = "; ".join(f"{words.replace(chr(10), ' ')}: {(c & wanted).sum():,}" for words, c in reached.items())
    return finish(figure, f"Pairs that two layers connect, of {wanted.sum():,} wanted. {said}.")


def maps_in_a_row(maps: Mapping[str, np.ndarray], alt: str, columns: int = 4, centre: bool = False):
    """Maps (rows, columns) of weights on one scale, which the bar shows; centre: mark the middle cell (offset 0)."""
    lines = -(-len(maps) // columns)
    shape = next(iter(maps.values())).shape
    figure, axes = canvas(height=round(lines * (40 + 160 * shape[0] / shape[1])) + 20, columns=columns, rows=lines)
    top = max(float(np.max(m)) for m in maps.values())
    for axis in np.atleast_1d(axes).flat:
        axis.axis("off")
    for axis, (words, values) in zip(np.atleast_1d(axes).flat, maps.items(), strict=False):
        axis.axis("on")
        mesh = axis.pcolormesh(np.asarray(values), cmap=attention_map(), norm=Normalize(0, top))
        axis.invert_yaxis()
        square(axis)
        axis.spines[:].set(visible=True, color=colour("line"))  # a map of zeros still has an edge
        axis.set_title(words, fontsize=SMALL)
        if centre:
            r, c = (n // 2 for n in shape)
            axis.add_patch(Rectangle((c, r), 1, 1, fill=False, edgecolor=colour("query"), linewidth=1.5))
    figure.colorbar(mesh, ax=np.atleast_1d(axes).ravel().tolist(), shrink=0.8, pad=0.02, aspect=30)
    return finish(figure, alt)


def offset_maps(profiles: Mapping[str, np.ndarray], reach: int = 4, columns: int = 4):
    """Attention by relative offset, up to `reach` patches in each direction, the query framed in the middle; one scale.

    profiles: words -> (2 rows - 1, 2 columns - 1), as `maps.offset_profile` gives them.
    """
    cropped = {}
    for words, profile in profiles.items():
        (r, c), profile = (n // 2 for n in profile.shape), np.asarray(profile)
        down, across = min(reach, r), min(reach, c)
        cropped[words] = profile[r - down : r + down + 1, c - across : c + across + 1]
    alt = "Mean attention by relative offset, the query in the middle: " + "; ".join(cropped) + "."
    return maps_in_a_row(cropped, " ".join(alt.split()), columns, centre=True)


def convolution_errors(alphas: Sequence[float], lines: Mapping[str, Sequence[float]], floor: float = 1e-17):
    """Largest |attention - convolution| against alpha, on a log axis; an error of exactly 0 sits on the floor."""
    figure, axis = canvas(height=330)
    ends = []
    for (words, errors), ink in zip(lines.items(), ("class", "query", "mlp"), strict=False):
        shown = np.maximum(errors, floor)
        axis.plot(alphas, shown, "o-", color=colour(ink), markersize=5)
        ends.append((shown[-1], f"{words}{' (exactly 0)' if errors[-1] == 0 else ''}", ink))
    axis.set(yscale="log", xlabel="sharpness α of the heads", ylabel="largest difference")
    axis.set_xlim(min(alphas), max(alphas))
    label_ends(axis, max(alphas), ends)
    said = "; ".join(f"{words} ends at {errors[-1]:.1e}" for words, errors in lines.items())
    return finish(figure, f"Largest difference between attention and convolution against alpha: {said}.")


def pictures_in_a_row(pictures: Mapping[str, np.ndarray], alt: str, height: int = 230):
    """Pixels side by side, each under its words: (H, W, 3) as a photograph, 0..1 or bytes; (H, W) as numbers around zero.

    All arrays of numbers share one scale, symmetric about zero.
    """
    numbers = [abs(values).max() for values in pictures.values() if values.ndim == 2]
    norm = Normalize(-max(numbers), max(numbers)) if numbers else None
    figure, axes = canvas(height=height, columns=len(pictures))
    for axis, (words, values) in zip(np.atleast_1d(axes), pictures.items(), strict=True):
        if values.ndim == 2:
            axis.pcolormesh(values, cmap=diverging_map(), norm=norm)
            axis.invert_yaxis()
        else:
            axis.imshow(values, interpolation="nearest")
        square(axis)
        axis.set_title(words, fontsize=SMALL)
    return finish(figure, alt)


def with_few_colours(picture, side: int, colours: int = 512, rounds: int = 8) -> np.ndarray:
    """The picture at side × side pixels in so many colours at most, found by k-means on its own pixels: (side, side, 3) uint8.

    A colour that no pixel is nearest to stays where it was.
    """
    pixels = np.asarray(picture.convert("RGB").resize((side, side))).reshape(-1, 3).astype(float)
    start = np.random.default_rng(0).choice(len(pixels), min(colours, len(pixels)), replace=False)
    palette = pixels[start]
    for _ in range(rounds):
        nearest = ((pixels[:, None] - palette[None]) ** 2).sum(2).argmin(1)
        members = np.bincount(nearest, minlength=len(palette))
        sums = np.stack([np.bincount(nearest, pixels[:, c], minlength=len(palette)) for c in range(3)], axis=1)
        palette = np.where(members[:, None] > 0, sums / np.maximum(members, 1)[:, None], palette)
    return palette[nearest].round().astype(np.uint8).reshape(side, side, 3)
