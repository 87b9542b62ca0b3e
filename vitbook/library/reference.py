"""The library as a witness: transformers' own run, held against ours stage by stage.

Float32 alone cannot tell rounding noise from a small mistake.  So every comparison also runs in float64, where noise
shrinks by eight orders of magnitude and a mistake stays as large as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from vitbook.attention import scores, split_heads
from vitbook.checks import part, told
from vitbook.encoder import layer_norm
from vitbook.library.checkpoints import Checkpoint
from vitbook.library.errors import CheckpointError, reason
from vitbook.model import run
from vitbook.trace import Trace, exactly
from vitbook.weights import Weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

#: Largest difference allowed at a stage, relative to the stage's largest value.  Float32 keeps about 7 digits and float64
#: about 16, so two and five orders are left for the noise that a dozen layers of sums gather.
BOUNDS = {torch.float32: 1e-5, torch.float64: 1e-11}

#: Softmax turns absolute noise in a score into relative noise in a weight, and a score of 300 stands on a float32 grid with
#: steps of 3e-5.  Where that exceeds `BOUNDS`, weights may differ by this many steps of the grid at the largest score: four for
#: each of the two runs, which add the products of a score up in different orders.  (Seen: 4.2; float64 decides in any case.)
STEPS = 8


class Disagreement(AssertionError):
    """Ours and the library's numbers differ by more than rounding explains."""


@dataclass(frozen=True)
class Row:
    """One stage in one precision: largest |ours - library|, largest |library|, and their ratio against its bound."""

    stage: str
    shape: tuple[int, ...]
    dtype: str
    difference: float
    largest: float
    bound: float

    @property
    def relative(self) -> float:
        """difference / largest; 0 where both are 0."""
        return self.difference / self.largest if self.largest else self.difference

    @property
    def agrees(self) -> bool:
        """Whether the relative difference keeps its bound.  NaN never does."""
        return self.relative <= self.bound

    def __str__(self) -> str:
        return (
            f"{self.stage}: off by {self.difference:.1e} of {self.largest:.4g}, "
            f"relative {self.relative:.1e} {'<' if self.agrees else 'NOT <'} {self.bound:.0e}"
        )

    def check(self) -> Row:
        """The row itself, or `Disagreement` when its bound is broken."""
        if not self.agrees:
            raise Disagreement(f"{self} in {self.dtype}: more than rounding explains")
        return self


@dataclass(frozen=True)
class Comparison:
    """All stages of one picture, float32 first, then float64, in the order of the run."""

    checkpoint: str
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, key: str | tuple[str, str]) -> Row:
        """comparison["z_3"] is the float32 row of that stage, comparison["z_3", "float64"] its float64 row."""
        stage, dtype = (key, "float32") if isinstance(key, str) else key
        for row in self.rows:
            if (row.stage, row.dtype) == (stage, dtype):
                return row
        raise KeyError(f"no stage {stage!r} in {dtype}; stages are {', '.join(self.stages)}")

    @property
    def stages(self) -> list[str]:
        """The names of the stages, in the order of the run."""
        return list(dict.fromkeys(row.stage for row in self.rows))

    def worst(self, dtype: str = "float32") -> Row:
        """The stage with the largest relative difference in one precision."""
        return max((row for row in self.rows if row.dtype == dtype), key=lambda row: row.relative)

    def check(self) -> Comparison:
        """The comparison itself, or `Disagreement` naming the first stage that breaks its bound."""
        for row in self.rows:
            row.check()
        return self

    def table(self) -> list[dict[str, object]]:
        """One dict a stage, with both precisions side by side."""
        return [
            {
                "stage": stage,
                "shape": self[stage].shape,
                "largest value": self[stage].largest,
                "difference (float32)": self[stage].difference,
                "relative (float32)": self[stage].relative,
                "relative (float64)": self[stage, "float64"].relative,
            }
            for stage in self.stages
        ]

    def __str__(self) -> str:
        head = f"{'stage':<18}{'shape':>16}{'largest':>11}{'difference':>12}{'relative':>11}{'in float64':>12}"
        lines = [
            f"{r['stage']:<18}{' x '.join(map(str, r['shape'])):>16}{r['largest value']:>11.4g}"
            f"{r['difference (float32)']:>12.1e}{r['relative (float32)']:>11.1e}{r['relative (float64)']:>12.1e}"
            for r in self.table()
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__


def compare(checkpoint: Checkpoint, x: Tensor, library=None) -> Comparison:
    """Our run against transformers' own eager run of the same checkpoint: every stage, in float32 and in float64.

    x (C, H, W), as `preprocess` returns.  library: another witness of the same function, called with a dtype, in place of
    `checkpoint.library` (used for the embedded checkpoint before its LayerScale is folded).
    Raises `Disagreement` when a stage breaks its bound, CheckpointError when transformers cannot load or run the checkpoint,
    ValueError when checkpoint is none or not in the type in which it was loaded, or x does not fit it or is a batch.
    """
    dtype = part(checkpoint, "weights", Weights).dtype
    if dtype not in BOUNDS:
        raise ValueError(
            f"checkpoint must be as load_checkpoint returned it, got one in {dtype}: rounded, it is another model"
        )
    if isinstance(x, Tensor) and x.ndim == 4:
        raise ValueError(f"compare takes one picture (C, H, W), got {tuple(x.shape)}; compare a batch one by one")
    with exactly(checkpoint.weights.E.device.type, say=True):
        return _compared(checkpoint, x, library or checkpoint.library)


def _compared(checkpoint: Checkpoint, x: Tensor, library: Callable[[torch.dtype], PreTrainedModel]) -> Comparison:
    rows = []
    for dtype, bound in BOUNDS.items():
        ours = stages_of_trace(run(checkpoint.to(dtype), x), checkpoint.to(dtype))
        theirs, largest = _witnessed(library(dtype), x.to(dtype))
        if ours.keys() != theirs.keys():
            raise Disagreement(f"stages differ: {sorted(ours.keys() ^ theirs.keys())} on one side only")
        for stage, reference in theirs.items():
            grid = STEPS * torch.finfo(dtype).eps * largest.get(stage, 0)
            rows.append(_row(stage, ours[stage], reference, max(bound, grid)))
    return Comparison(checkpoint.name, tuple(rows)).check()


def _witnessed(model: PreTrainedModel, x: Tensor) -> tuple[dict[str, Tensor], dict[str, float]]:
    given = x.to(model.device)
    try:
        return stages_of_library(model, given), largest_scores(model, given)
    except Exception as error:  # whatever transformers raises: it cannot be a witness for this checkpoint
        raise CheckpointError(f"transformers cannot run this checkpoint itself: {reason(error)}") from error


def agree(ours: Tensor, theirs: Tensor, stage: str = "ours and theirs") -> Row:
    """Assert that two tensors are the same up to rounding, and return how close they are.

    The bound is `BOUNDS` for their type, relative to the largest value of `theirs`.
    Raises `Disagreement` with the numbers when it is broken, or when shapes or types differ; ValueError where ours is no
    float32 or float64 tensor, or theirs no tensor.
    """
    for name, tensor in (("ours", ours), ("theirs", theirs)):
        if not isinstance(tensor, Tensor):
            raise ValueError(f"agree compares torch tensors, but {name} is {told(tensor)}")
        if tensor.layout != torch.strided or tensor.is_meta:
            raise ValueError(
                f"agree compares dense tensors, but {name} is of layout {tensor.layout} on {tensor.device}"
            )
    if ours.dtype not in BOUNDS:
        raise ValueError(f"agree compares float32 or float64 tensors, got {ours.dtype}")
    return _row(stage, ours, theirs, BOUNDS[ours.dtype]).check()


def stages_of_trace(trace: Trace, checkpoint: Checkpoint) -> dict[str, Tensor]:
    """Stage name -> our tensor, in the order of the run."""
    weights, out = checkpoint.weights, {"x_p E": trace.embeddings, "z_0": trace.z[0]}
    for l, layer in enumerate(weights.layers, start=1):
        out[f"LN, layer {l}"] = layer_norm(trace.z[l - 1], layer.gamma_1, layer.beta_1, weights.config.eps)
        out[f"A, layer {l}"] = trace.attention(l)
        out[f"z_{l}"] = trace.z[l]
    return out | {"y": trace.y} | ({} if trace.logits is None else {"logits": trace.logits})


@torch.no_grad()
def stages_of_library(model, x: Tensor) -> dict[str, Tensor]:
    """Stage name -> transformers' tensor, in the order of the run.  model: a ViT or a DINOv2, eager attention, in eval mode."""
    picture = x.unsqueeze(0)
    output = model(picture, output_hidden_states=True, output_attentions=True)
    z = output.hidden_states
    out = {"x_p E": _base(model).embeddings.patch_embeddings(picture)[0], "z_0": z[0][0]}
    for l, layer in enumerate(_layers(model), start=1):
        normed, A = _norm(layer)(z[l - 1])[0], output.attentions[l - 1][0]
        out |= {f"LN, layer {l}": normed, f"A, layer {l}": A, f"z_{l}": z[l][0]}
    out["y"] = _base(model).layernorm(z[-1])[0, 0]
    return out | ({"logits": output.logits[0]} if hasattr(output, "logits") else {})


@torch.no_grad()
def largest_scores(model, x: Tensor) -> dict[str, float]:
    """ "A, layer l" -> the largest |q kᵀ / sqrt(D_h)| of that layer in transformers' run: what its softmax had to take in."""
    z = model(x.unsqueeze(0), output_hidden_states=True).hidden_states
    out = {}
    for l, layer in enumerate(_layers(model), start=1):
        normed, module = _norm(layer)(z[l - 1]), layer.attention
        q, k = (
            split_heads(project(normed)[0], module.num_attention_heads) for project in (module.q_proj, module.k_proj)
        )
        out[f"A, layer {l}"] = scores(q, k).abs().max().item()
    return out


def _base(model):
    return getattr(model, "vit", model)


def _layers(model):
    base = _base(model)
    return base.layers if hasattr(base, "layers") else base.encoder.layer


def _norm(layer):
    return layer.layernorm_before if hasattr(layer, "layernorm_before") else layer.norm1


def _row(stage: str, ours: Tensor, theirs: Tensor, bound: float) -> Row:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise Disagreement(
            f"{stage}: ours is {ours.dtype} {tuple(ours.shape)}, the library's {theirs.dtype} {tuple(theirs.shape)}"
        )
    difference, largest = (ours.to(theirs.device) - theirs).abs().max().item(), theirs.abs().max().item()
    return Row(stage, tuple(theirs.shape), str(theirs.dtype).removeprefix("torch."), difference, largest, bound)
