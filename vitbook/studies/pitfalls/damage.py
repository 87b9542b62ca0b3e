"""How much a mistake costs: the way of the tokens and the answer, right and wrong, on one picture."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from vitbook.studies.pitfalls.right import Right, Stages
from vitbook.studies.pitfalls.slips import ALL, FirstPatchRead

#: Name -> the model with that mistake in it.
PITFALLS: dict[str, type[Right]] = {slip.name: slip for slip in ALL}


@dataclass(frozen=True)
class Damage:
    """One mistake on one picture.

    z: for z_0 to z_L, the length of the difference over the length of the right one, all tokens together.
    y: the same for y.  cosine: between the right y and the wrong one.
    """

    name: str
    z: tuple[float, ...]
    y: float
    cosine: float

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


class Watched(Right):
    """Keeps the attention weights of the layer that was computed last, as `A` (heads, N+1, N+1)."""

    def softmax(self, s: Tensor) -> Tensor:
        self.A = super().softmax(s)
        return self.A


def together(*names: str) -> type[Right]:
    """The model with all of these mistakes in it, which keeps the weights of its last layer as `A`; with none it is right.

    Raises ValueError for a name that there is not, and for two mistakes in the same line.
    """
    slips = [known(name) for name in names]
    for one, other in combinations(slips, 2):
        if shared := methods(one) & methods(other):
            raise ValueError(
                f"{one.name!r} and {other.name!r} both change {', '.join(sorted(shared))}: choose one of them"
            )
    return type("Together", (Watched, *slips) if slips else (Watched,), {"name": " and ".join(names) or Right.name})


def methods(slip: type[Right]) -> set[str]:
    """The methods that a mistake replaces."""
    return {name for name, member in vars(slip).items() if inspect.isfunction(member)}


def board(checkpoint, x: Tensor, names: Iterable[str]) -> dict[tuple[str, ...], tuple[Damage, Tensor]]:
    """Each of these mistakes alone, every two of them at once, and none: names -> (damage, what the read token reads).

    The second is a row of weights (N+1,), the mean over the heads of the last layer.  Compared with the right model in the
    checkpoint's own precision.  Raises ValueError as `together` does.
    """
    names = list(names)
    runs: dict[tuple[str, ...], tuple[Right, Stages]] = {}

    def run(chosen: tuple[str, ...]) -> tuple[Right, Stages]:
        """Those that only read another token share one way of the tokens."""
        model = together(*chosen)(checkpoint)
        on_the_way = tuple(name for name in chosen if methods(known(name)) != {"read"})
        if on_the_way == chosen:
            return model, runs.setdefault(chosen, (model, model.run(x)))[1]
        model.A, stages = runs[on_the_way][0].A, runs[on_the_way][1]
        return model, model.answer(stages.z)

    order = sorted(names, key=lambda name: methods(known(name)) == {"read"})
    chosen = [(), *((n,) for n in order), *combinations(order, 2)]
    found = {}
    for these in chosen:
        model, stages = runs[these] = run(these)
        row = 1 if isinstance(model, FirstPatchRead) else 0
        key = tuple(name for name in names if name in these)
        found[key] = damage(" and ".join(key) or Right.name, runs[()][1], stages), model.A[:, row].mean(0)
    return found


def rounding(checkpoint, x: Tensor) -> Damage:
    """No mistake at all: the right model in float32 beside itself in float64, the floor under every other damage."""
    right, rounded = (Right(checkpoint_in(checkpoint, dtype)).run(x) for dtype in (torch.float64, torch.float32))
    return damage("float32 alone", right, rounded)


def damage(name: str, right: Stages, wrong: Stages) -> Damage:
    """From a right run to a wrong one."""
    z = tuple(relative(a, b) for a, b in zip(right.z, wrong.z, strict=True))
    cosine = torch.nn.functional.cosine_similarity(right.y.double(), wrong.y.double(), dim=0).item()
    return Damage(name, z, relative(right.y, wrong.y), cosine)


def relative(right: Tensor, wrong: Tensor) -> float:
    """|wrong - right| / |right|, Euclidean lengths."""
    right, wrong = right.double(), wrong.double()
    return ((wrong - right).norm() / right.norm()).item()


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
