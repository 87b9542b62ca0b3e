"""Tiny models with odd sizes, so that a transposed axis cannot pass: H != W, D != N + 1, heads != L, C = 3 beside P = 5."""

from __future__ import annotations

import torch

from vitbook.config import Preprocessing, ViTConfig
from vitbook.library.base import Checkpoint
from vitbook.weights import LayerWeights, Weights

ODD = ViTConfig(H=15, W=20, P=5, D=22, L=3, heads=2, M=37, eps=1e-3)  # a 3 x 4 grid, N = 12


def random_weights(config: ViTConfig = ODD, K: int | None = 7, seed: int = 0) -> Weights:
    """Weights large enough that no step is near the identity, in float64."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64) / shape[0] ** 0.5

    layers = tuple(
        LayerWeights(**{n: draw(*s) for n, s in LayerWeights.shapes(config).items()}) for _ in range(config.L)
    )
    head = (None, None) if K is None else (draw(config.D, K), draw(K))
    return Weights(
        config, draw(config.patch_numbers, config.D), draw(config.D), draw(1, config.D), draw(config.N + 1, config.D),
        layers, draw(config.D), draw(config.D), *head,
    )  # fmt: skip


def checkpoint_of(
    weights: Weights, labels: tuple[str, ...] | None = None, preprocessing: Preprocessing | None = None
) -> Checkpoint:
    """These weights as a checkpoint; its pictures are resized without a crop unless `preprocessing` says otherwise."""
    config = weights.config
    straight = Preprocessing((config.H, config.W), (0.5,) * config.C, (0.5,) * config.C)

    def no_witness(dtype: torch.dtype):
        raise AssertionError("nobody asks the library about numbers drawn at random")

    return Checkpoint(
        weights, preprocessing or straight, labels, name="tiny", source="drawn at random", licence="none", notes=(),
        library=no_witness,
    )  # fmt: skip


def random_x(config: ViTConfig = ODD, seed: int = 1) -> torch.Tensor:
    return torch.randn(config.C, config.H, config.W, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
