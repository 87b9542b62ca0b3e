"""Tiny checkpoints on disk, written by transformers itself, with odd sizes; and ways to spoil them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import ViTConfig, ViTForImageClassification, ViTModel

SIZES = {
    "image_size": [15, 20],
    "patch_size": 5,
    "hidden_size": 22,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 37,
}
NAMES = "ant bee cat dog eel fox gnu".split()
PREPROCESSOR = {
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.1, 0.2, 0.3],
    "image_processor_type": "ViTImageProcessor",
    "image_std": [0.4, 0.5, 0.6],
    "resample": 3,
    "rescale_factor": 1 / 255,
    "size": {"height": 15, "width": 20},
}
#: Names on disk -> names as transformers since 5.9 shows them: written again here, so that a slip in the package is seen.
NEWER = (
    (".encoder.layer.", ".layers."),
    (".attention.attention.query.", ".attention.q_proj."),
    (".attention.attention.key.", ".attention.k_proj."),
    (".attention.attention.value.", ".attention.v_proj."),
    (".attention.output.dense.", ".attention.o_proj."),
    (".intermediate.dense.", ".mlp.fc1."),
    (".output.dense.", ".mlp.fc2."),
)


def write(folder: Path, head: bool = True, dtype: torch.dtype = torch.float32, **changes) -> Path:
    """A random ViT in Hugging Face format: old names, as all files on the hub have them."""
    torch.manual_seed(1)
    settings = SIZES | ({"id2label": dict(enumerate(NAMES))} if head else {}) | changes
    model = (ViTForImageClassification if head else ViTModel)(ViTConfig(**settings))
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # far from the tame start, so that every step matters
            parameter.normal_(1.0 if name.endswith("norm.weight") else 0.0, 0.3)
    model.to(dtype).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR))
    return folder


def copy(source: Path, target: Path) -> Path:
    """The same files somewhere else, to be spoiled there."""
    return Path(shutil.copytree(source, target))


def settings(folder: Path, *without: str, file: str = "config.json", **changes) -> Path:
    """Change or remove entries of a JSON file."""
    value = json.loads((folder / file).read_text())
    value = {key: entry for key, entry in value.items() if key not in without} | changes
    (folder / file).write_text(json.dumps(value))
    return folder


def tensors(folder: Path, change: Callable[[dict], dict]) -> Path:
    """Change the tensors of model.safetensors."""
    state = change(load_file(folder / "model.safetensors"))
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def newer(state: dict) -> dict:
    """The same tensors under their newer names."""

    def name(key: str) -> str:
        for old, new in NEWER:
            key = key.replace(old, new)
        return key

    return {name(key): tensor for key, tensor in state.items()}


def shard(folder: Path, pickled: bool = False, files: int = 3) -> Path:
    """Deal the tensors out to several files with an index."""
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    stem, end = ("pytorch_model", "bin") if pickled else ("model", "safetensors")
    where = {}
    for n in range(files):
        name = f"{stem}-{n + 1:05}-of-{files:05}.{end}"
        part = {key: state[key] for key in list(state)[n::files]}
        where |= dict.fromkeys(part, name)
        if pickled:
            torch.save(part, folder / name)
        else:
            save_file(part, folder / name, metadata={"format": "pt"})
    (folder / f"{stem}.{end}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def pickle_only(folder: Path) -> Path:
    """The weights as a pickle."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def cache(source: Path, hub: Path, repo: str, revision: str, main: bool = False) -> Path:
    """Put a folder where the cache of the hub would have it."""
    root = hub / f"models--{repo.replace('/', '--')}"
    if main:
        (root / "refs").mkdir(parents=True, exist_ok=True)
        (root / "refs" / "main").write_text(revision)
    return copy(source, root / "snapshots" / revision)
