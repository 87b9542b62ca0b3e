"""Reading a folder in Hugging Face format, distrustfully: nothing is executed, nothing is drawn at random."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from vitbook.library.errors import CheckpointError, reason
from vitbook.wording import brief

SAFE, PICKLE = "model.safetensors", "pytorch_model.bin"
INDEX = ".index.json"
ELSEWHERE = {
    "tf_model.h5": "TensorFlow",
    "flax_model.msgpack": "Flax",
    "model.onnx": "ONNX",
    "adapter_model.safetensors": "LoRA adapter",
}
AGAIN = "download it again"


def read_json(path: Path) -> dict:
    """A JSON object.  Raises CheckpointError saying whether the file is absent, broken or not an object."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CheckpointError(f"there is no {path.name} in the folder; {AGAIN}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path.name} cannot be read: {reason(error)}") from None
    if text.startswith("version https://git-lfs"):
        raise CheckpointError(_lfs(path))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name} is not valid JSON ({reason(error)}); {AGAIN}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path.name} must hold a JSON object of settings, it holds a {type(value).__name__}")
    return value


def find_weights(folder: Path, allow_pickle: bool) -> tuple[Path, bool]:
    """The file of weights, or the index of its shards, and whether it is a pickle."""
    for name in (SAFE, SAFE + INDEX):
        if (folder / name).exists():
            return folder / name, False
        if (folder / name).is_symlink():
            raise CheckpointError(f"{name} is a link to a file that is gone; {AGAIN}")
    pickles = [folder / name for name in (PICKLE, PICKLE + INDEX) if (folder / name).exists()]
    if pickles and allow_pickle:
        return pickles[0], True
    if pickles:
        raise CheckpointError(
            f"the folder holds its weights only as {pickles[0].name}, a pickle, which can run code when it is opened; "
            f"get {SAFE}, or say allow_pickle=True (then only tensors are unpickled)"
        )
    others = [f"{kind} ({name})" for name, kind in ELSEWHERE.items() if (folder / name).exists()]
    found = f"it has weights for {', '.join(others)}" if others else f"it holds {listing(folder)}"
    raise CheckpointError(f"there is no {SAFE} in the folder; {found}. Save or download the model with PyTorch weights")


def read_tensors(path: Path, pickled: bool) -> dict[str, Tensor]:
    """Name -> tensor of any type, from one file or from the shards that an index names."""
    read = _read_pickle if pickled else _read_safetensors
    return _read_shards(path, read) if path.name.endswith(INDEX) else read(path)


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError, safe_open

    _refuse_impostor(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError, RuntimeError, AttributeError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path.name} is not a whole safetensors file ({path.stat().st_size:,} bytes; {reason(error)}): "
            f"the download may have been cut short; {AGAIN}"
        ) from None


def _read_pickle(path: Path) -> dict[str, Tensor]:
    _refuse_impostor(path)
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises whatever the pickle led it to
        raise CheckpointError(f"{path.name} cannot be read as plain tensors: {reason(error)}") from None
    if not isinstance(value, dict):
        raise CheckpointError(
            f"{path.name} must hold a dictionary of names and tensors, it holds a {type(value).__name__}"
        )
    if inner := [name for name in ("state_dict", "model", "model_state_dict") if isinstance(value.get(name), dict)]:
        raise CheckpointError(
            f"{path.name} is what a training saved: the weights are inside, under {inner[0]!r}; save that alone"
        )
    if odd := [name for name, tensor in value.items() if not (isinstance(name, str) and _is_plain(tensor))]:
        raise CheckpointError(f"{path.name} must hold names and dense tensors only; {brief(odd[0])} is something else")
    return {name: tensor.detach() for name, tensor in value.items()}


def _is_plain(tensor: object) -> bool:
    return isinstance(tensor, Tensor) and tensor.layout == torch.strided and tensor.device.type == "cpu"


def _read_shards(index: Path, read: Callable[[Path], dict[str, Tensor]]) -> dict[str, Tensor]:
    where = read_json(index).get("weight_map")
    if not isinstance(where, dict) or not where or not all(isinstance(name, str) for name in where.values()):
        raise CheckpointError(f"{index.name} must say under weight_map which file holds which tensor; {AGAIN}")
    tensors: dict[str, Tensor] = {}
    for name in sorted(set(where.values())):
        if name in (".", "..") or Path(name).name != name or "\\" in name:
            raise CheckpointError(f"{index.name} points to {brief(name)}; a shard must lie in the folder of its index")
        if not (index.parent / name).is_file():
            raise CheckpointError(f"{index.name} names the shard {name}, which is not there; {AGAIN}")
        shard = read(index.parent / name)
        if twice := sorted(tensors.keys() & shard.keys()):
            raise CheckpointError(f"{twice[0]} stands in two shards of {index.name}; {AGAIN}")
        tensors |= shard
    if absent := [name for name in where if name not in tensors]:
        raise CheckpointError(f"{index.name} promises {absent[0]}, which is in none of its shards; {AGAIN}")
    return tensors


def _refuse_impostor(path: Path) -> None:
    """Name the usual things that sit where weights should be."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read: {reason(error)}") from None
    if not start:
        raise CheckpointError(f"{path.name} is empty; {AGAIN}")
    if start.startswith(b"version https://git-lfs"):
        raise CheckpointError(_lfs(path))
    if start.lstrip()[:1] == b"<":
        raise CheckpointError(f"{path.name} is a web page, not weights (was it saved from a browser?); {AGAIN}")


def _lfs(path: Path) -> str:
    return (
        f"{path.name} is a git-lfs pointer of a few lines that stands for the real file; "
        "run 'git lfs pull' in that folder, or download the file itself"
    )


def listing(folder: Path) -> str:
    """What is in a folder, in a few words."""
    names = sorted(entry.name for entry in folder.iterdir())
    if not names:
        return "nothing: the folder is empty"
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
