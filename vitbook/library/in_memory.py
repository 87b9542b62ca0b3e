"""A ViT of transformers that is in memory, trained by the reader perhaps, becomes a Checkpoint."""

from __future__ import annotations

import copy
import json
from typing import Any

import torch
from torch import nn

from vitbook.config import Preprocessing, ViTConfig
from vitbook.library.base import Checkpoint, eager, quiet
from vitbook.library.errors import CheckpointError
from vitbook.library.folder import checkpoint_of, config_of
from vitbook.library.processor import read_preprocessing
from vitbook.wording import brief, one_line

#: What wraps a model and holds it under this name: DataParallel and its kin, torch.compile.
WRAPPERS = ("module", "_orig_mod")


def from_transformers(model: nn.Module, processor: Any = None) -> Checkpoint:
    """The numbers that a ViTModel or ViTForImageClassification has now, as a checkpoint: what trains on changes nothing here.

    model: also inside DataParallel or torch.compile; on any device, of any floating-point type.
    processor: the image processor that goes with it, or None: then the defaults documented for ViT, and a note says so.
    Raises CheckpointError for another family, for an adapter that is not merged (call merge_and_unload() first), and for
    what `load_checkpoint` refuses in a folder.
    """
    model = _bare(model)
    raw = json.loads(model.config.to_json_string(use_diff=False)) | {"architectures": [type(model).__name__]}
    if hasattr(model, "peft_config") or hasattr(model, "merge_and_unload"):
        raise CheckpointError(
            "the model carries an adapter (LoRA) that is not merged; merge it first: merge_and_unload()"
        )
    config = config_of(raw)
    # clones, since the reader may train on; on the CPU, where every other source leaves its numbers
    tensors = {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}
    return checkpoint_of(
        raw,
        config,
        tensors,
        lambda: None if processor is None else _preprocessing(processor, config),
        name=one_line(str(getattr(model.config, "name_or_path", "") or type(model).__name__)),
        source=f"a {type(model).__name__} in memory",
        licence="not stated",
        library=lambda head: _witness(model, tensors),
    )


def _bare(model: Any) -> nn.Module:
    """The model inside its wrappers."""
    while isinstance(model, nn.Module) and not hasattr(model, "config"):
        inside = next((getattr(model, name) for name in WRAPPERS if hasattr(model, name)), None)
        if inside is None:
            break
        model = inside
    if not isinstance(model, nn.Module) or not hasattr(getattr(model, "config", None), "to_json_string"):
        raise CheckpointError(
            f"model must be a ViTModel or ViTForImageClassification of transformers, got {brief(type(model).__name__)}"
        )
    return model


def _preprocessing(processor: Any, config: ViTConfig) -> Preprocessing:
    """What the processor would write into its file, read as that file is."""
    if not hasattr(processor, "to_json_string"):
        raise CheckpointError(
            f"processor must be an image processor of transformers, got {brief(type(processor).__name__)}"
        )
    said = {key: value for key, value in json.loads(processor.to_json_string()).items() if value is not None}
    kind = str(said.get("image_processor_type") or type(processor).__name__)
    said["image_processor_type"] = kind.removesuffix("Pil").removesuffix("Fast")
    try:
        return read_preprocessing(said, config)
    except ValueError as error:
        raise CheckpointError(f"the processor: {error}") from None


def _witness(model: nn.Module, tensors: dict[str, torch.Tensor]):
    """transformers' own forward pass of the same model, with the numbers that it had then."""

    def library(dtype: torch.dtype = torch.float32):
        with quiet():
            own = type(model)(copy.deepcopy(model.config), **_options(model))
            own.load_state_dict(tensors)
            own.set_attn_implementation(eager(dtype))
        own.config.return_dict = True
        return own.to(torch.float32).to(dtype).eval()

    return library


def _options(model: nn.Module) -> dict[str, bool]:
    """What its constructor was told besides the config: whether the pooler, which Eq. 1 to 4 do not use, is there."""
    return {"add_pooling_layer": model.pooler is not None} if hasattr(model, "pooler") else {}
