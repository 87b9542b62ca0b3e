"""What a checkpoint knows: every learned number, under the paper's letters.

Matrices are stored as the equations multiply them, ``x W``: rows are inputs, columns are outputs.
Biases are in the released models, though no equation of the paper shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from vitbook.checks import first, told
from vitbook.config import ViTConfig
from vitbook.wording import brief, one_line


# eq=False: == of tensors is a tensor, no answer.  repr=False: theirs would fill pages.
@dataclass(frozen=True, eq=False, repr=False)
class LayerWeights:
    """One encoder layer (Eq. 2 and 3).

    gamma_1, beta_1 (D,): the LayerNorm before attention.  U_q, U_k, U_v (D, D): Eq. 5 for all heads, head h in columns
    (h-1) D_h to h D_h.  b_q, b_k, b_v (D,), zeros where the checkpoint has none.  U_msa (D, D), b_msa (D,): Eq. 8.
    gamma_2, beta_2 (D,): the LayerNorm before the MLP.  W_1 (D, M), b_1 (M,), W_2 (M, D), b_2 (D,): the MLP.
    """

    gamma_1: Tensor
    beta_1: Tensor
    U_q: Tensor  # three matrices and not one U_qkv, as checkpoints keep them
    U_k: Tensor
    U_v: Tensor
    b_q: Tensor  # zeros, not None, where the checkpoint has no biases: so Eq. 5 is one line for all of them
    b_k: Tensor
    b_v: Tensor
    U_msa: Tensor
    b_msa: Tensor
    gamma_2: Tensor
    beta_2: Tensor
    W_1: Tensor
    b_1: Tensor
    W_2: Tensor
    b_2: Tensor

    @staticmethod
    def shapes(config: ViTConfig) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every tensor of a layer."""
        D, M = config.D, config.M
        # whatever is not wide has one number a column of the tokens
        wide = {"U_q": (D, D), "U_k": (D, D), "U_v": (D, D), "U_msa": (D, D), "W_1": (D, M), "b_1": (M,), "W_2": (M, D)}
        return {field.name: wide.get(field.name, (D,)) for field in fields(LayerWeights)}

    def __repr__(self) -> str:
        return f"<LayerWeights: D = {len(self.gamma_1)}, M = {len(self.b_1)}, {_type(self.U_q)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """All of Eq. 1 to 4, and the head where there is one.

    E (P²C, D), b_E (D,): the patch projection; the P²C numbers of a patch run channel, row, column.
    x_class (1, D), E_pos (N+1, D): Eq. 1, row 0 belongs to [class].  layers: L times `LayerWeights`.
    gamma, beta (D,): the LayerNorm of Eq. 4.  W_head (D, K), b_head (K,): the classifier, or None.

    Raises ValueError when a tensor is absent, has another shape than the config says, or holds NaN or infinity.
    """

    config: ViTConfig
    E: Tensor  # its rows run channel, row, column, as `cut` flattens a patch
    b_E: Tensor
    x_class: Tensor
    E_pos: Tensor
    layers: tuple[LayerWeights, ...]
    gamma: Tensor
    beta: Tensor
    W_head: Tensor | None = None  # None, not zeros: without a head there are no classes
    b_head: Tensor | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.config, ViTConfig):
            raise ValueError(f"config must be a ViTConfig, got {told(self.config)}")
        if not isinstance(self.layers, tuple | list) or not all(isinstance(each, LayerWeights) for each in self.layers):
            raise ValueError(f"layers must be a tuple of LayerWeights, got {told(self.layers)}")
        if len(self.layers) != self.config.L:
            raise ValueError(f"the config says L = {self.config.L} layers, the weights hold {len(self.layers)}")
        if (self.W_head is None) != (self.b_head is None):
            raise ValueError("a head needs both W_head and b_head, or neither")
        # checked once and here, so that no step of the model has to
        for name, tensor in self.named():
            if not isinstance(tensor, Tensor) or not tensor.is_floating_point() or tensor.is_meta:
                came = f"{tensor.dtype} on {tensor.device}" if isinstance(tensor, Tensor) else told(tensor)
                raise ValueError(f"{name} must be a torch tensor of floating-point numbers, got {came}")
        expected = self.shapes()
        for name, tensor in self.named():
            if tuple(tensor.shape) != expected[name]:
                raise ValueError(f"{name} must have shape {expected[name]}, got {tuple(tensor.shape)}")
            if not torch.isfinite(tensor).all():
                raise ValueError(f"{name} holds NaN or infinite numbers; the checkpoint is damaged")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every tensor, in the order of the equations."""
        c = self.config
        before = {"E": (c.patch_numbers, c.D), "b_E": (c.D,), "x_class": (1, c.D), "E_pos": (c.N + 1, c.D)}
        layers = {  # names are for messages, so layers count from 1
            f"layer {l}: {name}": shape for l in range(1, c.L + 1) for name, shape in LayerWeights.shapes(c).items()
        }
        head = {} if self.b_head is None else {"W_head": (c.D, len(self.b_head)), "b_head": (len(self.b_head),)}
        return before | layers | {"gamma": (c.D,), "beta": (c.D,)} | head

    def named(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor with its name, in the order of the equations."""
        for name in ("E", "b_E", "x_class", "E_pos"):
            yield name, getattr(self, name)
        for l, layer in enumerate(self.layers, start=1):
            for field in fields(layer):
                yield f"layer {l}: {field.name}", getattr(layer, field.name)
        for name in ("gamma", "beta", "W_head", "b_head"):
            if getattr(self, name) is not None:
                yield name, getattr(self, name)

    def to(self, where: torch.dtype | torch.device | str) -> Weights:
        """The same numbers in another floating-point type (torch.float64), or on another device ("cuda", "mps", "cpu").

        Raises ValueError for a type that holds no fractions, and for a device that is not here.
        """
        if (
            not isinstance(where, torch.dtype | torch.device | str)
            or getattr(where, "is_floating_point", True) is False
        ):
            raise ValueError(
                f"weights go to a floating-point type such as torch.float64 or a device, got {told(where)}"
            )
        # a tensor that is there already is taken as it is, so that a second call costs nothing
        try:
            layers = tuple(replace(layer, **_moved(layer, where)) for layer in self.layers)
            moved = _moved(self, where)
        except (RuntimeError, AssertionError, NotImplementedError) as error:  # no such device, or not in this PyTorch
            raise ValueError(f"weights cannot go to {brief(where)}: {one_line(str(error), 120)}") from None
        return replace(self, layers=layers, **moved)

    def __repr__(self) -> str:
        c, head = self.config, "no head" if self.K is None else f"{self.K} classes"
        numbers = sum(tensor.numel() for _, tensor in self.named())
        return (
            f"<Weights: P = {c.P}, N = {c.N}, D = {c.D}, L = {c.L}, heads = {c.heads}, M = {c.M}, {head}, "
            f"{numbers:,} numbers, {_type(self.E)}>"
        )

    @property
    def dtype(self) -> torch.dtype:
        """The floating-point type of the weights."""
        return self.E.dtype

    @property
    def K(self) -> int | None:
        """Number of classes, or None where the checkpoint has no head."""
        return None if self.b_head is None else len(self.b_head)


def weights_of(model) -> Weights:
    """What `run` computes with: `Weights` as they are, or the `weights` of what carries them, such as a checkpoint.

    Raises ValueError for anything else.
    """
    # asked for by what it carries, not by its class: the model does not know library/, where checkpoints come from
    found = getattr(model, "weights", model)
    if not isinstance(found, Weights):
        raise ValueError(
            f"expected a checkpoint, as load_checkpoint returns it, or its Weights, got {type(model).__name__}: "
            f"{brief(model)}{first(model)}"
        )
    return found


def _moved(part: Weights | LayerWeights, where) -> dict[str, Tensor]:
    own = {field.name: getattr(part, field.name) for field in fields(part)}
    return {name: tensor.to(where) for name, tensor in own.items() if isinstance(tensor, Tensor)}


def _type(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
