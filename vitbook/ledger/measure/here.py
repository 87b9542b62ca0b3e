"""The checkpoint and the picture on which a ledger is measured, and what one run over them leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from vitbook.config import VARIANTS, Preprocessing
from vitbook.model import run
from vitbook.patches import cut
from vitbook.pictures import load_picture
from vitbook.pixels import prepare, preprocess
from vitbook.trace import Trace


class Lacking(LookupError):
    """A quantity cannot be computed here, because a checkpoint, a picture or a training run is absent."""


#: ViT-B/16's sizes and its way from a picture to numbers, which need no weights: 224 x 224, bilinear, (v - 1/2) / (1/2).
CONFIG = VARIANTS["ViT-B/16"]
PREPROCESSING = Preprocessing(resize=(224, 224), mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))


@dataclass(frozen=True, eq=False)
class Here:
    """checkpoint: as `load_checkpoint` returns it, or None.  picture: whatever `load_picture` takes, or None.

    Everything derived is computed once, when a function first asks for it.
    """

    checkpoint: Any = None
    picture: Any = None

    @cached_property
    def published_x(self) -> Tensor:
        """x (3, 224, 224) of the picture, prepared as the published run prepared it."""
        return prepare(self._picture(), PREPROCESSING, CONFIG)

    @cached_property
    def published_x_p(self) -> Tensor:
        """Its 196 patches, (196, 768)."""
        return cut(self.published_x, CONFIG.P)

    @property
    def weights(self):
        """The checkpoint's `Weights`."""
        if self.checkpoint is None:
            raise Lacking("no checkpoint was given")
        return self.checkpoint.weights

    @cached_property
    def x(self) -> Tensor:
        """x of the picture, prepared as the checkpoint asks."""
        _ = self.weights
        return preprocess(self._picture(), self.checkpoint)

    @cached_property
    def trace(self) -> Trace:
        """Our run."""
        return run(self.checkpoint, self.x)

    @cached_property
    def stages(self) -> Mapping[str, tuple[Tensor, Tensor]]:
        """Stage name -> (ours, the library's), in float32."""
        from vitbook.library.reference import stages_of_library, stages_of_trace

        ours = stages_of_trace(self.trace, self.checkpoint)
        theirs = stages_of_library(self.checkpoint.library(torch.float32), self.x)
        return {name: (ours[name], theirs[name]) for name in ours}

    def _picture(self):
        if self.picture is None:
            raise Lacking("no picture was given")
        return load_picture(self.picture)
