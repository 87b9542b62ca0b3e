"""The sizes of a Vision Transformer, in the paper's letters (Section 3.1, Table 1)."""

from __future__ import annotations

from dataclasses import dataclass

ACTIVATIONS = ("gelu", "gelu_tanh", "relu")


@dataclass(frozen=True)
class ViTConfig:
    """The sizes that fix every shape of the model.

    H, W: height and width of the picture in pixels; P: side of a square patch in pixels; C: colour channels;
    D: width of a token; L: number of layers; heads: the paper's k; M: hidden width of the MLP.
    eps: LayerNorm's epsilon; activation: "gelu" (with erf), "gelu_tanh" or "relu"; qkv_bias: whether q, k, v have biases.
    Whatever follows from these (N, D_h, rows, columns) is a property, never stored.

    Raises ValueError naming the letter, what came and what was expected.
    """

    H: int
    W: int
    P: int
    D: int
    L: int
    heads: int
    M: int
    C: int = 3
    eps: float = 1e-12
    activation: str = "gelu"
    qkv_bias: bool = True

    def __post_init__(self) -> None:
        for letter in ("H", "W", "P", "D", "L", "heads", "M", "C"):
            value = getattr(self, letter)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{letter} must be a positive whole number, got {value!r}")
        for letter in ("H", "W"):
            if getattr(self, letter) % self.P:
                raise ValueError(
                    f"{letter} = {getattr(self, letter)} pixels is not a whole number of patches of P = {self.P}; "
                    f"choose a multiple of {self.P}"
                )
        if self.D % self.heads:
            raise ValueError(
                f"D = {self.D} cannot be shared equally among {self.heads} heads; D must be a multiple of heads"
            )
        if not isinstance(self.eps, float | int) or not 0 <= self.eps < float("inf"):
            raise ValueError(f"eps must be a finite number >= 0, got {self.eps!r}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}")

    @property
    def rows(self) -> int:
        """Rows of the patch grid, H / P."""
        return self.H // self.P

    @property
    def columns(self) -> int:
        """Columns of the patch grid, W / P."""
        return self.W // self.P

    @property
    def N(self) -> int:
        """Number of patches, HW / P² (Section 3.1). The sequence is N + 1 tokens long: [class] comes first."""
        return self.rows * self.columns

    @property
    def D_h(self) -> int:
        """Width of one head, D / heads (Appendix A)."""
        return self.D // self.heads

    @property
    def patch_numbers(self) -> int:
        """Numbers in one flattened patch, P²C."""
        return self.P * self.P * self.C


def _variant(P: int, D: int, L: int, heads: int) -> ViTConfig:
    return ViTConfig(H=224, W=224, P=P, D=D, L=L, heads=heads, M=4 * D)


BASE, LARGE, HUGE = (768, 12, 12), (1024, 24, 16), (1280, 32, 16)

#: Table 1 at 224 x 224 pixels, under the names that the paper uses.
VARIANTS: dict[str, ViTConfig] = {
    "ViT-B/16": _variant(16, *BASE),
    "ViT-B/32": _variant(32, *BASE),
    "ViT-L/16": _variant(16, *LARGE),
    "ViT-L/32": _variant(32, *LARGE),
    "ViT-H/14": _variant(14, *HUGE),
}


RESAMPLING = (
    "nearest",
    "lanczos",
    "bilinear",
    "bicubic",
    "box",
    "hamming",
)  # Pillow's filters, in its numbering from 0


@dataclass(frozen=True)
class Preprocessing:
    """How a checkpoint wants its pictures, read from its files.

    resize: (height, width) in pixels for a straight resize that does not keep the aspect, a whole number for the shorter
    side, or None for none.  crop: (height, width) cut from the centre afterwards, or None.  resample: Pillow's filter.
    rescale: what every value 0..255 is multiplied by.  mean, std: one number a channel, on rescaled values.

    Raises ValueError naming the field, what came and what was expected.
    """

    resize: tuple[int, int] | int | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    resample: str = "bilinear"
    rescale: float = 1 / 255
    crop: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.resample not in RESAMPLING:
            raise ValueError(f"resample must be one of {', '.join(RESAMPLING)}, got {self.resample!r}")
        if len(self.mean) != len(self.std):
            raise ValueError(f"mean has {len(self.mean)} channels and std {len(self.std)}; they must agree")
        if not all(s > 0 for s in self.std):
            raise ValueError(f"std must be positive in every channel, got {self.std}")
        for name, value in (("resize", self.resize), ("crop", self.crop)):
            sides = (value,) if isinstance(value, int) else value or (1,)
            if not all(isinstance(side, int) and side > 0 for side in sides):
                raise ValueError(f"{name} must be in whole positive pixels, got {value!r}")
