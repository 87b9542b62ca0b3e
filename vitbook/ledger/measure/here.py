"""The checkpoint and the picture on which a ledger is measured, and what one run over them leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from vitbook.attention import scores
from vitbook.config import VARIANTS, Preprocessing
from vitbook.encoder import ACTIVATIONS, layer_norm
from vitbook.model import run
from vitbook.patches import cut
from vitbook.pictures import load_picture
from vitbook.pixels import prepare, preprocess
from vitbook.readout import top
from vitbook.trace import Trace

#: ViT-B/16's way from a picture to numbers, which needs no weights: 224 x 224, bilinear, (v - 1/2) / (1/2).
PREPROCESSING = Preprocessing(resize=(224, 224), mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))


class Lacking(LookupError):
    """A quantity cannot be computed here, because a checkpoint, a picture or a training run is absent."""


@dataclass(frozen=True, eq=False)
class Here:
    """given: a checkpoint as `load_checkpoint` returns it, or None.  picture: whatever `load_picture` takes, or None.

    Everything derived is computed once, when an expression first names it.
    """

    given: Any = None
    picture: Any = None

    @property
    def checkpoint(self):
        if self.given is None:
            raise Lacking("no checkpoint was given")
        return self.given

    @property
    def weights(self):
        """The checkpoint's `Weights`."""
        return self.checkpoint.weights

    @cached_property
    def x(self) -> Tensor:
        """x (3, 224, 224) of the picture, prepared as the published run prepared it."""
        return prepare(self._picture(), PREPROCESSING, VARIANTS["ViT-B/16"])

    @cached_property
    def x_p(self) -> Tensor:
        """Its 196 patches, (196, 768)."""
        return cut(self.x, VARIANTS["ViT-B/16"].P)

    @cached_property
    def prepared_x(self) -> Tensor:
        """x as the checkpoint asks for it."""
        return self.checkpoint and preprocess(self._picture(), self.checkpoint)

    @cached_property
    def trace(self) -> Trace:
        """Our run."""
        return run(self.checkpoint, self.prepared_x)

    @cached_property
    def class_row(self) -> Tensor:
        """x_class + E_pos[0], row 0 of z_0, which is the same for every picture."""
        return (self.weights.x_class + self.weights.E_pos[:1])[0]

    def scores(self, layer: int, head: int, query: int) -> Tensor:
        """q k / sqrt(D_h) of one query."""
        q, k = (self.trace[letter, layer][head - 1] for letter in "qk")
        return scores(q[query : query + 1], k)[0]

    @cached_property
    def normed(self) -> Tensor:
        """LN(z'_1) of [class], where the MLP of layer 1 begins."""
        layer, eps = self.weights.layers[0], self.weights.config.eps
        return layer_norm(self.trace["z_prime", 1][0], layer.gamma_2, layer.beta_2, eps)

    @cached_property
    def hidden(self) -> Tensor:
        """Its hidden numbers before the non-linearity."""
        return self.normed @ self.weights.layers[0].W_1 + self.weights.layers[0].b_1

    @property
    def activation(self):
        return ACTIVATIONS[self.weights.config.activation]

    def noise(self, *stages: str, row: int | slice = slice(None)) -> list[float]:
        """Largest |ours - library's| at each stage, over all tokens or in one row."""
        return [(ours - theirs)[row].abs().max().item() for ours, theirs in map(self._stages.__getitem__, stages)]

    def relative(self, *stages: str) -> list[float]:
        """The same, divided by the library's largest value."""
        largest = (self._stages[stage][1].abs().max().item() for stage in stages)
        return [noise / size for noise, size in zip(self.noise(*stages), largest, strict=True)]

    def best(self, count: int) -> list[tuple[int, float]]:
        """(class, probability) of the most probable classes."""
        return top(self.logits, count)

    @property
    def logits(self) -> Tensor:
        if self.trace.logits is None:
            raise ValueError("this checkpoint has no classification head")
        return self.trace.logits

    @property
    def has_pooler(self) -> bool:
        """Whether the checkpoint came with a hidden layer between y and the classes (Eq. 1 to 4 have none: it is laid aside)."""
        from vitbook.library.names import UNUSED

        return any(UNUSED["pooler."] in note for note in self.checkpoint.notes)

    @cached_property
    def _stages(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Stage name -> (ours, the library's), in float32."""
        from vitbook.library.reference import stages_of_library, stages_of_trace

        ours = stages_of_trace(self.trace, self.checkpoint)
        theirs = stages_of_library(self.checkpoint.library(torch.float32), self.prepared_x)
        return {name: (ours[name], theirs[name]) for name in ours}

    def _picture(self):
        if self.picture is None:
            raise Lacking("no picture was given")
        return load_picture(self.picture)
