"""What every source of weights hands over."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from vitbook.checks import told
from vitbook.config import Preprocessing, ViTConfig
from vitbook.readout import top
from vitbook.weights import Weights
from vitbook.wording import one_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, eq=False, repr=False)
class Checkpoint:
    """A pretrained model and all that came with it.

    weights: float32 unless `to` says otherwise.  preprocessing: how pictures were prepared for it.
    labels: K class names, or None where there is no head or the file names classes LABEL_0, LABEL_1, ...
    name: short, for the reader.  source: where it came from.  licence: as stated there.  notes: what a reader should
    know before trusting the output.  library: dtype -> transformers' own model in that type, with eager attention and
    in evaluation mode, built without `weights`: the witness to compare with.  known: whether it is one of the two that the
    book was written with, so that what it has learned can be asserted; any other may hold random numbers.
    """

    weights: Weights
    preprocessing: Preprocessing
    labels: tuple[str, ...] | None
    name: str
    source: str
    licence: str
    notes: tuple[str, ...]
    library: Callable[[torch.dtype], PreTrainedModel]
    known: bool = False

    @property
    def config(self) -> ViTConfig:
        """The sizes of the model: the same object as `weights.config`."""
        return self.weights.config

    def to(self, where: torch.dtype | torch.device | str) -> Checkpoint:
        """The same checkpoint with its weights in another floating-point type, or on another device, as `Weights.to`."""
        return replace(self, weights=self.weights.to(where))

    def fingerprint(self, kind: object) -> str:
        """12 hex digits of everything that decides a map: weights, sizes, preprocessing; kind: and what is made of it."""
        digest = hashlib.sha256(f"{kind} {asdict(self.config)} {self.preprocessing}".encode())
        for name, tensor in self.weights.named():
            digest.update(name.encode())
            digest.update(memoryview(tensor.cpu().contiguous().view(torch.uint8).numpy()))  # NumPy has no bfloat16
        return digest.hexdigest()[:12]

    def top(self, logits: Tensor | None, k: int = 5) -> list[tuple[str, float]]:
        """The k most probable classes as (name in one line, or 'class 285', and probability), best first.

        logits (K,): what a run of one picture left, `trace.logits`.  Raises ValueError for None, which a checkpoint without
        a head leaves (there is no answer to rank), and for logits that are not its own K.
        """
        if logits is None:
            raise ValueError(
                "this checkpoint has no classification head, so there are no classes to rank; read y instead"
            )
        if not isinstance(logits, Tensor) or logits.shape != (self.weights.K,):
            came = tuple(logits.shape) if isinstance(logits, Tensor) else told(logits)
            raise ValueError(
                f"logits must have shape (K,) = ({self.weights.K},), got {came}; of a batch, take trace.picture(i).logits"
            )
        labels = self.labels or [""] * len(logits)
        return [(one_line(labels[i]) or f"class {i}", p) for i, p in top(logits, k)]

    def __repr__(self) -> str:
        c, K = self.config, self.weights.K
        head = "no head" if K is None else f"{K} classes"
        return (
            f"<Checkpoint {self.name}: {c.H} x {c.W} pixels, P = {c.P}, N = {c.N}, D = {c.D}, L = {c.L}, "
            f"heads = {c.heads}, M = {c.M}, {head}, {str(self.weights.dtype).removeprefix('torch.')}>"
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back transformers' progress bars, log lines and warnings, and put everything back afterwards."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with (
            warnings.catch_warnings(),
            torch.device("cpu"),
        ):  # whatever a reader's default is, weights are read on the CPU
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def eager(dtype: torch.dtype) -> str:
    """The name of transformers' eager attention that computes wholly in a type.

    ViT's own takes its softmax in float32 even in a float64 model, which would blur a comparison in float64 after eight
    digits. DINOv2's, of the same library and with the same steps, keeps the type; in float32 ViT's own is used.
    """
    if dtype != torch.float64:
        return "eager"
    from transformers import AttentionInterface
    from transformers.models.dinov2.modeling_dinov2 import eager_attention_forward

    AttentionInterface.register("eager_float64", eager_attention_forward)
    return "eager_float64"
