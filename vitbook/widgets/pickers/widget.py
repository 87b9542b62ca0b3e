"""Two small pickers over the patch grid, all of their data on the page: a patch and its numbers, a position and its likes."""

from __future__ import annotations

import anywidget
import numpy as np
import torch
import traitlets

from vitbook.checks import whole
from vitbook.config import ViTConfig
from vitbook.figures.thumbnails import exact_picture
from vitbook.maps import position_similarity
from vitbook.patches import token_of
from vitbook.pixels import seen
from vitbook.widgets.kit import colour_tables, script, style
from vitbook.widgets.kit.checkpoints import checkpoint_of
from vitbook.widgets.kit.traits import KnownAttributes, Whole
from vitbook.wording import brief

LEVELS = 127  # steps to each side of zero


class GridPicker(KnownAttributes, anywidget.AnyWidget):
    """A grid to choose a patch from, and beside it what belongs to that patch.  token: the chosen one, from 1."""

    _esm = traitlets.Unicode(script("pickers/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("pickers/widget.css")).tag(sync=True)

    kind = traitlets.Enum(["patch", "position"]).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    tables = traitlets.Bytes().tag(sync=True)
    token = Whole(1, most=lambda self: self._config.N, note=" (a patch; 0 is [class])").tag(sync=True)
    picture = traitlets.Unicode().tag(sync=True)  # the pixels that the model sees, as a PNG data URI
    normalise = traitlets.Dict().tag(sync=True)  # rescale, mean, std: from a pixel to its number in x
    codes = traitlets.Bytes().tag(sync=True)  # (N, N): 127 (1 + cosine / top), rounded
    top = traitlets.Float().tag(sync=True)  # the largest cosine, in size, of two different positions

    def __init__(self, config, token: int, **data):
        self._config = config
        sizes = {k: getattr(config, k) for k in ("rows", "columns", "P", "H", "W", "C")}
        super().__init__(sizes=sizes, tables=colour_tables(), token=token, **data)


def patch_picker(picture, checkpoint, patch: int = 0) -> GridPicker:
    """Choose a patch of a photograph: its token, its place, its pixels, and the first numbers of its row of x_p.

    picture: what `load_picture` takes.  patch: the first one shown, from 0.  Raises ValueError for what is no checkpoint and
    where there is no such patch.
    """
    config, how = checkpoint_of(checkpoint).config, checkpoint.preprocessing
    return GridPicker(
        config,
        whole(patch, "patch", 0, config.N - 1) + 1,
        kind="patch",
        picture=exact_picture(seen(picture, checkpoint).convert("RGB")),
        normalise={"rescale": how.rescale, "mean": list(how.mean), "std": list(how.std)},
    )


def position_picker(E_pos: torch.Tensor, config, token: int | None = None) -> GridPicker:
    """Choose a place of the grid: the cosine of its position vector with every other's.

    E_pos (N+1, D).  token: the first one shown, from 1; by default the middle of the grid.
    Raises ValueError where E_pos is none of this config.
    A cosine is stored to 1/254 of the largest, in size, between two different places; one with itself is 1 and left out.
    """
    if not isinstance(config, ViTConfig):
        raise ValueError(f"config must be a ViTConfig, such as checkpoint.config, got {brief(config)}")
    shape = tuple(E_pos.shape) if isinstance(E_pos, torch.Tensor) else ()
    if len(shape) != 2 or shape[0] != config.N + 1:
        got = f"shape {shape}" if shape else brief(E_pos)
        raise ValueError(f"E_pos must be a tensor of {config.N + 1} rows, such as checkpoint.weights.E_pos, got {got}")
    similarity = position_similarity(E_pos, config).flatten(1).double().numpy()  # (N, N)
    np.fill_diagonal(similarity, 0)
    top = float(np.abs(similarity).max()) or 1.0
    codes = np.rint(LEVELS * (1 + similarity / top)).astype(np.uint8)
    token = token_of(config.rows // 2, config.columns // 2, config) if token is None else token
    return GridPicker(config, token, kind="position", codes=codes.tobytes(), top=top)
