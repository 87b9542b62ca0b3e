"""A folder in Hugging Face format becomes a Checkpoint, or a CheckpointError that says what to do."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from vitbook.config import ViTConfig
from vitbook.library import names
from vitbook.library.base import Checkpoint, CheckpointError, quiet
from vitbook.library.files import find_weights, listing, read_json, read_tensors, reason, show
from vitbook.library.settings import read_labels, read_preprocessing, refuse_other_families, vit_config

CONFIG, PREPROCESSOR = "config.json", "preprocessor_config.json"


def load_folder(folder: Path, name: str, source: str, allow_pickle: bool = False) -> Checkpoint:
    """Read config, weights, preprocessing and labels from one folder; check each against the others.

    name, source: how the reader is told of it.  Raises CheckpointError; never executes code from the folder.
    """
    _check_folder(folder)
    raw = read_json(folder / CONFIG)
    refuse_other_families(raw)
    config = vit_config(raw)
    path, pickled = find_weights(folder, allow_pickle)
    tensors = read_tensors(path, pickled)
    dtypes = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values()})
    state, unused = _sort_out(tensors)
    K = _count_classes(state)
    _check(state, config, K)
    zero_head = K is not None and not any(state[key].any() for key in names.HEAD.values())
    raw_preprocessing = _read_preprocessor(folder)
    preprocessing = read_preprocessing(raw_preprocessing, config)
    labels = None if K is None else read_labels(raw, K)
    notes = [f"it has {what}, which Eq. 1 to 4 do not use" for what in unused]
    notes += _notes(raw, K, zero_head, dtypes, raw_preprocessing is None)
    return Checkpoint(
        weights=_weights(state, config),
        preprocessing=preprocessing,
        labels=labels,
        name=name,
        source=source,
        licence=read_licence(folder),
        notes=tuple(notes),
        library=_witness(folder, raw, K is not None, pickled),
    )


def _check_folder(folder: Path) -> None:
    if not folder.exists():
        raise CheckpointError(f"there is no folder {show(folder)}")
    if not folder.is_dir():
        raise CheckpointError(f"{show(folder)} is a file; give the folder that holds it together with {CONFIG}")
    try:
        empty = not any(folder.iterdir())
    except OSError as error:
        raise CheckpointError(f"the folder {show(folder)} cannot be read: {reason(error)}") from None
    if empty:
        raise CheckpointError(f"the folder {show(folder)} is empty; expected {CONFIG} and model.safetensors in it")
    if not (folder / CONFIG).exists():
        raise CheckpointError(
            f"there is no {CONFIG} in {show(folder)}, so the sizes of the model are unknown; the folder holds {listing(folder)}"
        )


def _sort_out(tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """New name -> tensor, and what was laid aside."""
    places = names.new_names(tensors)
    unused: dict[str, None] = {}
    state = {}
    for new, key in places.items():
        what = next((what for start, what in names.UNUSED.items() if new.startswith(start)), None)
        if what is None:
            state[new] = tensors[key]
        else:
            unused[what] = None
    return state, list(unused)


def _count_classes(state: dict[str, Tensor]) -> int | None:
    if not any(key in state for key in names.HEAD.values()):
        return None
    weight = state.get(names.HEAD["W_head"])
    return len(weight) if weight is not None and weight.ndim else 0


def _check(state: dict[str, Tensor], config: ViTConfig, K: int | None) -> None:
    """Every tensor that Eq. 1 to 4 need, none besides, of the right shape, and finite."""
    if (found := names.count_layers(state)) != config.L:
        raise CheckpointError(f"config.json says {config.L} layers (num_hidden_layers), the file holds {found}")
    expected = names.expected_shapes(config, K)
    if absent := [key for key in expected if key not in state]:
        raise CheckpointError(
            f"the file lacks {_list(absent)}; nothing is made up in its place: download the checkpoint again, "
            "or correct config.json if it promises what was never there"
        )
    if extra := [key for key in state if key not in expected]:
        telling = next((what for sign, what in names.TELLTALE.items() if any(sign in key for key in extra)), None)
        raise CheckpointError(
            f"the file holds {_list(extra)}, which a plain ViT with this config.json does not have"
            + (f"; it looks like {telling}" if telling else "")
        )
    for key, shape in expected.items():
        tensor = state[key]
        if tuple(tensor.shape) != shape:
            raise CheckpointError(
                f"{key} has shape {tuple(tensor.shape)} in the file, but config.json asks for {shape}; "
                "the two files do not belong together"
            )
        if not torch.isfinite(tensor).all():
            bad = int((~torch.isfinite(tensor)).sum())
            raise CheckpointError(f"{key} holds {bad} numbers that are NaN or infinite; the checkpoint is damaged")


def _weights(state: dict[str, Tensor], config: ViTConfig):
    try:
        return names.to_weights(state, config)
    except ValueError as error:  # a float64 number beyond float32
        raise CheckpointError(f"in float32, {error}") from None


def _read_preprocessor(folder: Path) -> dict | None:
    return read_json(folder / PREPROCESSOR) if (folder / PREPROCESSOR).exists() else None


def _notes(raw: dict, K: int | None, zero_head: bool, dtypes: list[str], no_preprocessor: bool) -> list[str]:
    out = []
    if K is None:
        out.append("it has no classification head, so it gives y but no classes")
        if any("ForImageClassification" in str(kind) for kind in raw.get("architectures") or []):
            out.append("its config.json announces a classifier that is not in the file")
    if zero_head:
        out.append("its head is all zeros: every class gets the same score, so no class is an answer")
    if raw.get("problem_type") not in (None, "single_label_classification"):
        out.append(f"it was trained for {raw['problem_type']}, so a softmax over its logits is not what it learned")
    if raw.get("auto_map"):
        out.append("it names code of its own (auto_map), which is never run: it is read as a plain ViT")
    if dtypes != ["float32"]:
        out.append(f"its numbers are stored as {' and '.join(dtypes)}; they are computed with in float32")
    if no_preprocessor:
        out.append(
            f"it has no {PREPROCESSOR}; the defaults documented for ViT are used: the model's own picture size, bilinear, "
            "mean and standard deviation 0.5"
        )
    return out


def read_licence(folder: Path) -> str:
    """The `license:` line at the head of README.md, or "not stated"."""
    try:
        lines = (folder / "README.md").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "not stated"
    head = lines[1 : lines.index("---", 1)] if lines[:1] == ["---"] and "---" in lines[1:] else []
    found = [line.partition(":")[2].strip().strip("'\"") for line in head if line.startswith("license:")]
    return found[0] if found and found[0] else "not stated"


def _witness(folder: Path, raw: dict, head: bool, pickled: bool):
    """transformers' own loading of the same folder: other code, other names, the same file."""

    def library(dtype: torch.dtype = torch.float32):
        from transformers import ViTConfig as LibraryConfig
        from transformers import ViTForImageClassification, ViTModel

        kind, options = (ViTForImageClassification, {}) if head else (ViTModel, {"add_pooling_layer": False})
        with quiet():
            model = kind.from_pretrained(
                folder,
                config=LibraryConfig.from_dict(dict(raw)),
                attn_implementation="eager",
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=not pickled,
                **options,
            )
        return model.to(dtype).eval()

    return library


def _list(keys: list[str]) -> str:
    return ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")
