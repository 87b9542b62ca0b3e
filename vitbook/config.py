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
