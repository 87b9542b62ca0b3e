"""Section 3.2 in small: a head of zeros, trained on what a frozen checkpoint makes of pictures.

The paper fine-tunes the whole model; here only the head learns, which takes seconds and shows the same head.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

import torch
from jaxtyping import Float, Int
from PIL import Image
from torch import Tensor
from torch.nn.functional import cross_entropy

from vitbook.encoder import layer_norm
from vitbook.model import run
from vitbook.pixels import preprocess

#: Pictures a batch: enough to keep the processor busy, few enough that their traces fit into memory.
BATCH = 16


@dataclass(frozen=True, eq=False)
class Head:
    """A linear head, W (D, K) and b (K,), with the loss before each step and after the last (nats per picture)."""

    W: Tensor
    b: Tensor
    losses: tuple[float, ...]

    def __call__(self, Y: Float[Tensor, "*n D"]) -> Float[Tensor, "*n K"]:
        """logits = y W + b, for one y or for rows of them."""
        return Y @ self.W + self.b

    def accuracy(self, Y: Float[Tensor, "n D"], classes: Int[Tensor, "n"]) -> float:
        """Share of rows whose largest logit is the right class."""
        return (self(Y).argmax(1) == classes).double().mean().item()


def crops(picture: Image.Image, count: int, side: str, seed: int = 0) -> list[Image.Image]:
    """`count` random square crops from the left or the right half of a picture, a third to all of the half's shorter side.

    Crops of the two halves share no pixel, so one half can teach and the other can test.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', got {side!r}")
    half = picture.width // 2
    start, shortest = (0 if side == "left" else picture.width - half), min(half, picture.height)
    if shortest < 3:
        raise ValueError(f"a picture of {picture.width} x {picture.height} pixels is too small to be cropped")
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=generator))

    out = []
    for _ in range(count):
        size = draw(shortest // 3, shortest)
        left, top = start + draw(0, half - size), draw(0, picture.height - size)
        out.append(picture.crop((left, top, left + size, top + size)))
    return out


def represent_all(checkpoint, pictures: Iterable) -> tuple[Float[Tensor, "n D"], Float[Tensor, "n D"]]:
    """Two ways to read pictures out, one row each: the y of Eq. 4, and the mean of the normalised patch tokens (D.3).

    The pictures go through the model in batches; only these rows of each are kept.
    """
    weights, eps = checkpoint.weights, checkpoint.config.eps
    pictures, y, mean = iter(pictures), [], []
    while some := list(islice(pictures, BATCH)):
        trace = run(weights, torch.stack([preprocess(picture, checkpoint) for picture in some]))
        y.append(trace.y)
        patches = layer_norm(trace.z[-1][:, 1:], weights.gamma, weights.beta, eps)  # (B, N, D), without [class]
        mean.append(patches.mean(1))
    return torch.cat(y), torch.cat(mean)


def train_head(
    Y: Float[Tensor, "n D"],
    classes: Int[Tensor, "labels"],  # as many as rows of Y; the body says so in plain words
    K: int,
    steps: int = 200,
    rate: float = 0.01,
    momentum: float = 0.9,
) -> Head:
    """A head that starts from zeros (Section 3.2) and learns by gradient descent with momentum on all rows at once.

    Y: one representation a row; classes: numbers 0..K-1.  The first loss is ln K, since zeros give every class the same
    score.  Raises ValueError for classes outside 0..K-1 or for numbers of rows that differ.
    """
    if len(Y) != len(classes) or not len(Y):
        raise ValueError(f"every row of Y needs one class: got {len(Y)} rows and {len(classes)} classes")
    if classes.min() < 0 or classes.max() >= K:
        raise ValueError(f"classes must lie in 0..{K - 1}, got {classes.min().item()}..{classes.max().item()}")
    W = Y.new_zeros(Y.shape[1], K, requires_grad=True)
    b = Y.new_zeros(K, requires_grad=True)
    optimiser = torch.optim.SGD([W, b], lr=rate, momentum=momentum)
    losses = []
    for step in range(steps + 1):
        loss = cross_entropy(Y @ W + b, classes)
        losses.append(loss.item())
        if step < steps:
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return Head(W.detach(), b.detach(), tuple(losses))


def with_head(checkpoint, head: Head, labels: Iterable[str]):
    """The same checkpoint wearing another head: `run` then gives logits, and `top` names them."""
    weights = replace(checkpoint.weights, W_head=head.W, b_head=head.b)
    return replace(checkpoint, weights=weights, labels=tuple(labels))
