"""The sizes of a Vision Transformer, in the paper's letters (Section 3.1, Table 1)."""

from __future__ import annotations

from dataclasses import dataclass

from vitbook.checks import finite, flag, index, whole
from vitbook.wording import brief

#: Names only, so that a config needs no torch; `encoder` has the functions.
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
    eps: float = 1e-12  # transformers' own for this family; other code takes 1e-6
    activation: str = "gelu"
    qkv_bias: bool = True  # the released models have them, though no equation shows any

    def __post_init__(self) -> None:
        # NumPy's and torch's numbers are taken too, and become Python's, so that equal configs are equal
        for letter in ("H", "W", "P", "D", "L", "heads", "M", "C"):
            _settle(self, letter, whole(getattr(self, letter), letter))
        _settle(self, "eps", finite(self.eps, "eps", " >= 0"))
        _settle(self, "qkv_bias", flag(self.qkv_bias, "qkv_bias"))
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
        if self.eps < 0:
            raise ValueError(f"eps must be a finite number >= 0, got {self.eps!r}")
        _check_one_of(ACTIVATIONS, self.activation, "activation")

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
        return self.rows * self.columns  # HW / P², in whole numbers all the way

    @property
    def D_h(self) -> int:
        """Width of one head, D / heads (Appendix A)."""
        return self.D // self.heads

    @property
    def patch_numbers(self) -> int:
        """Numbers in one flattened patch, P²C."""
        return self.P * self.P * self.C


def _settle(record, name: str, value) -> None:
    """Put a checked value into a frozen record while it is being made."""
    object.__setattr__(record, name, value)


def _check_one_of(choices: tuple[str, ...], value: object, name: str) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {brief(value)}")


def _variant(P: int, D: int, L: int, heads: int) -> ViTConfig:
    return ViTConfig(H=224, W=224, P=P, D=D, L=L, heads=heads, M=4 * D)  # M is four times D in every row of Table 1


BASE, LARGE, HUGE = (768, 12, 12), (1024, 24, 16), (1280, 32, 16)  # D, L, heads

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
        _check_one_of(RESAMPLING, self.resample, "resample")
        _settle(self, "rescale", positive(self.rescale, "rescale"))
        _settle(self, "mean", _channels(self.mean, "mean"))
        _settle(self, "std", tuple(positive(s, "std") for s in _channels(self.std, "std")))
        if len(self.mean) != len(self.std):
            raise ValueError(f"mean has {len(self.mean)} channels and std {len(self.std)}; they must agree")
        alone = None if self.resize is None else index(self.resize)
        _settle(self, "resize", _sides(self.resize, "resize") if alone is None else whole(alone, "resize"))
        _settle(self, "crop", _sides(self.crop, "crop"))


#: Beyond these, float32 has no number, or rounds it to 0.
SMALLEST, LARGEST = 1e-30, 1e30


def positive(value: object, name: str) -> float:
    """The value as a float that float32 can multiply and divide by.  Raises ValueError."""
    number = finite(value, name, " above 0")
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"{name} must be positive, from {SMALLEST:g} to {LARGEST:g}, got {number!r}")
    return number


def _channels(values: object, name: str) -> tuple[float, ...]:
    """One finite number a channel, out of any sequence of numbers."""
    try:
        numbers = () if isinstance(values, str | bytes) else tuple(values)
    except Exception:  # no sequence
        numbers = ()
    if not numbers:
        raise ValueError(f"{name} must hold one number a channel, got {brief(values)}")
    out = tuple(finite(number, name) for number in numbers)
    if any(abs(number) > LARGEST for number in out):
        raise ValueError(f"{name} must hold numbers that float32 can hold, up to {LARGEST:g}, got {brief(values)}")
    return out


def _sides(value: object, name: str) -> tuple[int, int] | None:
    """(height, width) in pixels, or None."""
    if value is None:
        return None
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"{name} must be None or (height, width) in whole positive pixels, got {brief(value)}")
    return whole(value[0], f"{name}'s height"), whole(value[1], f"{name}'s width")
