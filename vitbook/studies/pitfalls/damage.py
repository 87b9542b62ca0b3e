"""How much a mistake costs: the way of the tokens and the answer, right and wrong, on one picture."""

from __future__ import annotations

import difflib
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from vitbook.readout import top
from vitbook.studies.pitfalls.right import Right, Stages
from vitbook.studies.pitfalls.slips import ALL

#: Name -> the model with that mistake in it.
PITFALLS: dict[str, type[Right]] = {slip.name: slip for slip in ALL}


@dataclass(frozen=True)
class Damage:
    """One mistake on one picture.

    z: for z_0 to z_L, the length of the difference over the length of the right one, all tokens together.
    y: the same for y.  cosine: between the right y and the wrong one.
    probability: of the class that is right's first choice, as (right, wrong); top: the first five classes of each, as
    indices from 0.  Both None where the checkpoint has no head.
    """

    name: str
    z: tuple[float, ...]
    y: float
    cosine: float
    probability: tuple[float, float] | None = None
    top: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def slip(self) -> type[Right]:
        return PITFALLS.get(self.name, Right)


def damages(checkpoint, x: Tensor, names: Iterable[str] | None = None) -> Iterator[Damage]:
    """The damage of each mistake on one preprocessed picture x (C, H, W), one after another: all of them, or those named.

    Right is always float64; so is wrong where `fine` says that float32's rounding would cover the mistake.
    Raises ValueError for a name that there is not.
    """
    slips = [known(name) for name in (PITFALLS if names is None else names)]
    precise, coarse = checkpoint_in(checkpoint, torch.float64), checkpoint_in(checkpoint, torch.float32)
    rights: dict[type[Right], Stages] = {}
    for slip in slips:
        base = slip.against or Right
        if base not in rights:
            rights[base] = base(precise).run(x)
        yield damage(slip.name, rights[base], slip(precise if slip.fine else coarse).run(x))


def rounding(checkpoint, x: Tensor) -> Damage:
    """No mistake at all: the right model in float32 beside itself in float64, the floor under every other damage."""
    right, rounded = (Right(checkpoint_in(checkpoint, dtype)).run(x) for dtype in (torch.float64, torch.float32))
    return damage("float32 alone", right, rounded)


def damage(name: str, right: Stages, wrong: Stages) -> Damage:
    """From a right run to a wrong one."""
    z = tuple(relative(a, b) for a, b in zip(right.z, wrong.z, strict=True))
    cosine = torch.nn.functional.cosine_similarity(right.y.double(), wrong.y.double(), dim=0).item()
    if right.logits is None:
        return Damage(name, z, relative(right.y, wrong.y), cosine)
    p, q = (torch.softmax(stages.logits.double(), dim=0) for stages in (right, wrong))
    first = int(p.argmax())
    ranks = tuple(tuple(index for index, _ in top(stages.logits)) for stages in (right, wrong))
    return Damage(name, z, relative(right.y, wrong.y), cosine, (p[first].item(), q[first].item()), ranks)


def relative(right: Tensor, wrong: Tensor) -> float:
    """|wrong - right| / |right|, Euclidean lengths."""
    right, wrong = right.double(), wrong.double()
    return ((wrong - right).norm() / right.norm()).item()


def lines(name: str) -> str:
    """The mistake itself: the lines of ours that are wrong in it, as source text."""
    return "\n".join(
        textwrap.dedent(inspect.getsource(member)).rstrip()
        for member in vars(known(name)).values()
        if inspect.isfunction(member)
    )


def known(name: str) -> type[Right]:
    """The model with that mistake in it, or ValueError with the names that are close."""
    if name not in PITFALLS:
        near = difflib.get_close_matches(str(name), PITFALLS, n=3, cutoff=0.4)
        raise ValueError(
            f"no pitfall {name!r}; " + (f"close: {', '.join(near)}" if near else f"there are {', '.join(PITFALLS)}")
        )
    return PITFALLS[name]


def checkpoint_in(checkpoint, dtype: torch.dtype):
    """The checkpoint with its weights in that type; itself where they are already."""
    return checkpoint if checkpoint.weights.dtype == dtype else checkpoint.to(dtype)
