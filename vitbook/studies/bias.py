"""Section 3.1, "Inductive bias", as measurements: what the model knows of pictures before it has seen one, and after.

Chapter: inductive bias.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from vitbook.config import ViTConfig
from vitbook.patches import assemble, cut
from vitbook.weights import Weights


def without_positions(weights: Weights) -> Weights:
    """The same weights with one position for all patches, the mean of the learned ones; [class] keeps its own.

    The mean rather than zero: so every patch still gets a vector of the kind that the layers were trained on, and only
    what tells the places apart is gone.
    """
    mean = weights.E_pos[1:].mean(0, keepdim=True).expand(weights.config.N, -1)
    return replace(weights, E_pos=torch.cat([weights.E_pos[:1], mean]))


def shuffled(x: Float[Tensor, "C H W"], P: int, seed: int = 0) -> Float[Tensor, "C H W"]:
    """The picture with its patches in another order, the same for the same seed; every patch itself stays whole."""
    C, H, W = x.shape
    x_p = cut(x, P)
    order = torch.randperm(len(x_p), generator=torch.Generator().manual_seed(seed))
    return assemble(x_p[order], H // P, W // P, C)


def places(config: ViTConfig) -> Float[Tensor, "N 2"]:
    """(row, column) of every patch, from 0, as float64."""
    row, column = torch.meshgrid(torch.arange(config.rows), torch.arange(config.columns), indexing="ij")
    return torch.stack([row, column], -1).reshape(-1, 2).double()


def read_places(
    table: Float[Tensor, "N D"], config: ViTConfig, ridge: float = 30.0, folds: int = 10, seed: int = 0
) -> Float[Tensor, "N 2"]:
    """(row, column) of every patch, read off its position vector by a linear map that never saw this patch.

    The patches are dealt into folds; each fold is predicted by ridge regression on the others. That matters: D numbers
    for N patches fit any N targets exactly once D >= N, even for a table of noise. The table is centred and scaled to
    unit spread; ridge is added to the diagonal of its Gram matrix. Raises ValueError for other than N rows.
    """
    if len(table) != config.N:
        raise ValueError(f"a table without [class] has N = {config.N} rows, got {len(table)}; leave out row 0")
    if not 2 <= folds <= config.N:
        raise ValueError(f"folds must be from 2 to N = {config.N}, got {folds}")
    X, target = table.double().cpu(), places(config)  # small, and not every device has float64
    X = (X - X.mean(0)) / X.std()
    order = torch.randperm(config.N, generator=torch.Generator().manual_seed(seed))
    out = torch.empty_like(target)
    for k in range(folds):
        held_out = order[k::folds]
        known = torch.ones(config.N, dtype=torch.bool)
        known[held_out] = False
        A, centre = X[known], target[known].mean(0)
        gram = A.T @ A + ridge * torch.eye(A.shape[1], dtype=A.dtype)
        out[held_out] = X[held_out] @ torch.linalg.solve(gram, A.T @ (target[known] - centre)) + centre
    return out


def explained(predicted: Float[Tensor, "N 2"], true: Float[Tensor, "N 2"]) -> tuple[float, float]:
    """R² for rows and for columns: 1 when perfect, 0 for guessing the mean, below 0 for worse; NaN for a single row."""
    left = (predicted - true).square().sum(0)
    return tuple((1 - left / (true - true.mean(0)).square().sum(0)).tolist())


def nearest_is_neighbour(table: Float[Tensor, "N D"], config: ViTConfig) -> float:
    """Share of patches whose most similar other position (by cosine) belongs to a patch beside, above or below."""
    unit = torch.nn.functional.normalize(table.double().cpu(), dim=1)
    similar = unit @ unit.T
    similar.fill_diagonal_(-2)
    where = places(config)
    steps = (where - where[similar.argmax(1)]).abs().sum(1)
    return (steps == 1).double().mean().item()
