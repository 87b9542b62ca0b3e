"""Section 3.1 and 4.1, the hybrid: tokens from a convolutional network's map instead of from pixels.

A stem with the build of ResNet-50 in the form that the paper uses (group normalisation, standardised convolutions), with
random weights: what matters here is its shapes, strides and cost. Its map goes into the same encoder as 1 × 1 patches.
Chapter: hybrid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from vitbook.checks import whole
from vitbook.weights import Weights, weights_of

WIDTH = 64  # channels after the root; stage s has 64 · 2^(s-1) inside its blocks and four times that outside
EXPANSION = 4
GROUPS = 32
#: Blocks a stage: a plain ResNet-50, and the paper's variant without stage 4, whose blocks stage 3 takes over (Section 4.1).
RESNET_50 = (3, 4, 6, 3)
EXTENDED_STAGE_3 = (3, 4, 9)


class StdConv(nn.Conv2d):
    """A convolution whose weights are standardised, filter by filter, before use (Qiao et al., 2019); no bias."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1):
        super().__init__(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        mean = self.weight.mean((1, 2, 3), keepdim=True)
        std = self.weight.std((1, 2, 3), keepdim=True, correction=0)
        return functional.conv2d(x, (self.weight - mean) / (std + 1e-10), None, self.stride, self.padding)


class Bottleneck(nn.Module):
    """Three convolutions (1 × 1, 3 × 3, 1 × 1) and a residual line; the 3 × 3 one carries the stride."""

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        outputs = EXPANSION * width
        self.work = nn.Sequential(
            StdConv(inputs, width, 1), nn.GroupNorm(GROUPS, width), nn.ReLU(),
            StdConv(width, width, 3, stride), nn.GroupNorm(GROUPS, width), nn.ReLU(),
            StdConv(width, outputs, 1), nn.GroupNorm(GROUPS, outputs),
        )  # fmt: skip
        same = stride == 1 and inputs == outputs
        self.line = (
            nn.Identity() if same else nn.Sequential(StdConv(inputs, outputs, 1, stride), nn.GroupNorm(GROUPS, outputs))
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.work(x) + self.line(x))


class Stem(nn.Module):
    """Root and stages of a ResNet: `blocks` in each stage, every stage after the first halving height and width.

    Together with the root's two halvings, s stages down-sample by 2^(s+1). Raises ValueError for no blocks.
    """

    def __init__(self, blocks: Sequence[int] = RESNET_50, C: int = 3, seed: int = 0):
        super().__init__()
        hint = f"blocks must give at least one block for each stage, such as {RESNET_50}"
        self.blocks = tuple(whole(n, f"{hint}: each") for n in blocks)
        if not self.blocks:
            raise ValueError(f"{hint}, got {blocks!r}")
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.root = nn.Sequential(
                StdConv(C, WIDTH, 7, 2), nn.GroupNorm(GROUPS, WIDTH), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
            )
            self.stages = nn.ModuleList(self._stage(s, n) for s, n in enumerate(self.blocks))
        self.requires_grad_(False)

    @staticmethod
    def _stage(s: int, blocks: int) -> nn.Sequential:
        width = WIDTH * 2**s
        inputs = WIDTH if s == 0 else EXPANSION * width // 2
        first = Bottleneck(inputs, width, stride=1 if s == 0 else 2)
        return nn.Sequential(first, *(Bottleneck(EXPANSION * width, width, 1) for _ in range(blocks - 1)))

    @property
    def downsampling(self) -> int:
        """How many pixels of the picture's side one cell of the map stands for: the number in the name of a hybrid."""
        return 2 ** (len(self.blocks) + 1)

    @property
    def channels(self) -> int:
        """Channels of the map."""
        return EXPANSION * WIDTH * 2 ** (len(self.blocks) - 1)

    def maps(self, x: Float[Tensor, "C H W"]) -> dict[str, Tensor]:
        """What leaves the root and every stage: "root", "stage 1", ... -> (channels, rows, columns)."""
        out = {"root": self.root(x[None])}
        for s, stage in enumerate(self.stages, start=1):
            out[f"stage {s}"] = stage(list(out.values())[-1])
        return {name: y[0] for name, y in out.items()}

    def forward(self, x: Float[Tensor, "C H W"]) -> Float[Tensor, "channels rows columns"]:
        """The map of the last stage."""
        return self.maps(x)[f"stage {len(self.blocks)}"]

    def parameters_count(self) -> int:
        """Learned numbers of the stem."""
        return sum(p.numel() for p in self.parameters())

    def multiply_adds(self, H: int, W: int) -> int:
        """Multiply-adds of its convolutions for a picture of H × W pixels; normalisations and additions are left out."""
        total = 0

        def count(conv: StdConv, _, out: Tensor) -> None:
            nonlocal total
            total += conv.weight.numel() * out.shape[-2] * out.shape[-1]

        hooks = [module.register_forward_hook(count) for module in self.modules() if isinstance(module, StdConv)]
        try:
            self(torch.zeros(self.root[0].in_channels, H, W, device=self.root[0].weight.device))
        finally:
            for hook in hooks:
                hook.remove()
        return total


def feed(checkpoint, stem: Stem, positions: Float[Tensor, "N1 D"], rows: int, columns: int, seed: int = 0) -> Weights:
    """The checkpoint's encoder behind a stem whose map has rows × columns cells: P = 1, C = its channels, a new E.

    positions: E_pos for that many cells, [class] first. E is (channels, D), drawn at random, since nobody trained it for
    this encoder; every other weight is the checkpoint's. Run them on `stem(x)`. Raises ValueError where sizes disagree.
    """
    old = weights_of(checkpoint)
    config = replace(old.config, H=rows, W=columns, P=1, C=stem.channels)
    generator = torch.Generator().manual_seed(seed)
    E = torch.randn(stem.channels, config.D, generator=generator, dtype=torch.float64) / stem.channels**0.5
    return replace(old, config=config, E=E.to(old.E), E_pos=positions)
