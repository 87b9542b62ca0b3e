"""A folder in Hugging Face format becomes a Checkpoint, or a CheckpointError that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from vitbook.config import Preprocessing, ViTConfig
from vitbook.library import names
from vitbook.library.base import Checkpoint, eager, quiet
from vitbook.library.diagnosis import refuse_other_names
from vitbook.library.errors import CheckpointError, reason, some
from vitbook.library.files import find_weights, listing, read_json, read_tensors
from vitbook.library.processor import WITHOUT_A_FILE, defaults_for, preprocessing_of
from vitbook.library.settings import read_labels, refuse_other_families, vit_config
from vitbook.wording import brief, one_line

CONFIG = "config.json"
ADAPTER = "adapter_config.json"
FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}


def load_folder(folder: Path, name: str, source: str, allow_pickle: bool = False) -> Checkpoint:
    """Read config, weights, preprocessing and labels from one folder, each checked against the others.

    name, source: how the reader is told of it.  Nothing in the folder is executed.
    Raises CheckpointError, which starts with the name.
    """
    try:
        return _load(folder, name, source, allow_pickle)
    except CheckpointError as error:
        raise CheckpointError(f"{name}: {error}") from None
    except OSError as error:
        raise CheckpointError(f"{name}: the folder cannot be read ({reason(error)})") from None


def _load(folder: Path, name: str, source: str, allow_pickle: bool) -> Checkpoint:
    _check_folder(folder)
    raw = read_json(folder / CONFIG)
    config = config_of(raw)
    path, pickled = find_weights(folder, allow_pickle)
    return checkpoint_of(
        raw,
        config,
        read_tensors(path, pickled),
        lambda: preprocessing_of(folder, raw, config),
        name=name,
        source=source,
        licence=read_licence(folder),
        library=lambda head: _witness(folder, raw, head, pickled),
    )


def checkpoint_of(
    raw: dict,
    config: ViTConfig,
    tensors: dict[str, Tensor],
    read: Callable[[], Preprocessing | None],
    *,
    library: Callable[[bool], Callable],
    **told: str,
) -> Checkpoint:
    """A checkpoint of a config as transformers writes it and tensors under transformers' names, each checked against the other.

    config: what `config_of` makes of raw.  read: how pictures are prepared, None where nobody says.
    library: whether there is a head -> the witness.  told: name, source and licence.  Raises CheckpointError.
    """
    refuse_other_names(tensors)
    state, places, unused = _sort_out(tensors)
    K = _count_classes(state)
    _check(state, config, K, places)
    preprocessing = read()
    labels = None if K is None else read_labels(raw, K)
    notes = [*_notes(raw, state, unused, labels), *([WITHOUT_A_FILE] if preprocessing is None else [])]
    del tensors  # so that `state` holds the only copy, which is emptied on the way
    return Checkpoint(
        weights=_weights(state, config),
        preprocessing=preprocessing or defaults_for(config),
        labels=labels,
        notes=tuple(notes),
        library=library(K is not None),
        **told,
    )


def _check_folder(folder: Path) -> None:
    if not folder.exists():
        raise CheckpointError("there is no such folder, and no hub id of that name in the local cache")
    if not folder.is_dir():
        raise CheckpointError(f"that is a file; give the folder that holds it together with {CONFIG}")
    if not any(folder.iterdir()):
        raise CheckpointError(f"the folder is empty; expected {CONFIG} and model.safetensors in it")
    if (folder / ADAPTER).exists():
        raise CheckpointError(
            f"it holds an adapter ({ADAPTER}) that changes another model; merge the two and save the result"
        )
    if not (folder / CONFIG).exists():
        raise CheckpointError(
            f"there is no {CONFIG}, so the sizes of the model are unknown; the folder holds {listing(folder)}"
        )


def config_of(raw: dict) -> ViTConfig:
    """The sizes that config.json states.  Raises CheckpointError for another family, and for sizes that cannot be followed."""
    refuse_other_families(raw)
    try:
        return vit_config(raw)
    except ValueError as error:
        raise CheckpointError(f"{CONFIG}: {error}") from None


def _sort_out(tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str], list[str]]:
    """New name -> tensor; new name -> name in the file; what was laid aside because Eq. 1 to 4 do not use it."""
    places = names.new_names(tensors)
    state, unused = {}, {}
    for new, key in places.items():
        what = next((what for start, what in names.UNUSED.items() if new.startswith(start)), None)
        is_count = not (tensors[key].is_floating_point() or tensors[key].is_complex())
        if is_count and not names.is_ours(new):
            what = f"a buffer of whole numbers ({brief(key)})"
        if what is not None:
            unused[what] = None
        elif tensors[key].dtype not in FLOATS:
            raise CheckpointError(
                f"{brief(key, 90)} is stored as {_named(tensors[key].dtype)}; expected float16, bfloat16, float32 or float64 "
                "(a quantised model has to be turned back to floats first)"
            )
        else:
            state[new] = tensors[key]
    return state, places, list(unused)


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _count_classes(state: dict[str, Tensor]) -> int | None:
    parts = [state[key] for key in names.HEAD.values() if key in state]
    if not parts:
        return None
    K = len(parts[0]) if parts[0].ndim else 0
    if K == 0:
        raise CheckpointError("its head has no classes at all; leave the head out of the file, or save it whole")
    return K


def _check(state: dict[str, Tensor], config: ViTConfig, K: int | None, places: dict[str, str]) -> None:
    """Every tensor that Eq. 1 to 4 need, none besides, of the right shape, and finite.  places: new name -> name in the file."""

    def told(these: list[str]) -> str:
        return some([places.get(key) or names.as_in_files(key, places.values()) for key in these])

    if (found := names.count_layers(state)) != config.L:
        raise CheckpointError(f"{CONFIG} says {config.L} layers (num_hidden_layers), but the weights hold {found}")
    expected = names.expected_shapes(config, K)
    if absent := [key for key in expected if key not in state]:
        raise CheckpointError(
            f"the weights lack {told(absent)}; nothing is made up in their place: download the checkpoint again, "
            f"or correct {CONFIG} if it promises what was never there"
        )
    if extra := [key for key in state if key not in expected]:
        raise CheckpointError(f"the weights hold {told(extra)}, which a plain ViT with this {CONFIG} does not have")
    for key, shape in expected.items():
        if (came := tuple(state[key].shape)) != shape:
            raise CheckpointError(
                f"{told([key])} has shape {came}, but {CONFIG} asks for {shape}; the two files do not belong together"
            )
        if bad := int((~torch.isfinite(state[key])).sum()):
            raise CheckpointError(f"{told([key])} holds {bad} numbers that are NaN or infinite; the file is damaged")


def _weights(state: dict[str, Tensor], config: ViTConfig):
    try:
        return names.to_weights(state, config)
    except ValueError as error:  # a float64 number that float32 cannot hold
        raise CheckpointError(f"taken to float32, {error}") from None


def _notes(raw: dict, state: dict[str, Tensor], unused: list[str], labels: tuple[str, ...] | None) -> list[str]:
    out = [f"it has {what}, which Eq. 1 to 4 do not use" for what in unused]
    W_head, b_head = (state.get(key) for key in names.HEAD.values())
    if W_head is None:
        out.append("it has no classification head, so it gives y but no classes")
        if "ForImageClassification" in str(raw.get("architectures")):
            out.append(f"its {CONFIG} announces a classifier that is not in the file")
    elif not W_head.any():
        same = "every class gets the same score" if not b_head.any() else "the scores are the same for every picture"
        out.append(f"its head is all zeros: {same}, so no class is an answer")
    elif labels is None:
        out.append("its file names no classes: they are shown by number")
    if isinstance(task := raw.get("problem_type"), str) and task != "single_label_classification":
        out.append(f"it was trained for {task[:40]}, so a softmax over its logits is not what it learned")
    if raw.get("auto_map"):
        out.append("it names code of its own (auto_map), which is never run: it is read as a plain ViT")
    dtypes = sorted({_named(tensor.dtype) for tensor in state.values()})
    if dtypes != ["float32"]:
        out.append(f"its numbers are stored as {' and '.join(dtypes)}; here they are float32")
    return out


def read_licence(folder: Path) -> str:
    """The `license:` line at the head of README.md, or "not stated"."""
    try:
        lines = (folder / "README.md").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "not stated"
    head = lines[1 : lines.index("---", 1)] if lines[:1] == ["---"] and "---" in lines[1:] else []
    found = [line.partition(":")[2].strip().strip("'\"") for line in head if line.startswith("license:")]
    return (one_line(found[0]) if found else "") or "not stated"


def _witness(folder: Path, raw: dict, head: bool, pickled: bool):
    """transformers' own loading of the same folder: other code, its own table of names, the same file.

    It reads into float32 first, as we do, so that a comparison in float64 starts from the same numbers.
    """

    def library(dtype: torch.dtype = torch.float32):
        from transformers import ViTConfig as LibraryConfig
        from transformers import ViTForImageClassification, ViTModel

        # how it hands results over is no part of the model
        settings = {key: value for key, value in raw.items() if key != "use_return_dict"} | {"return_dict": True}
        kind, options = (ViTForImageClassification, {}) if head else (ViTModel, {"add_pooling_layer": False})
        try:
            with quiet():
                model = kind.from_pretrained(
                    folder,
                    config=LibraryConfig.from_dict(settings),
                    attn_implementation=eager(dtype),
                    dtype=torch.float32,
                    local_files_only=True,
                    use_safetensors=not pickled,
                    **options,
                )
        except Exception as error:  # whatever transformers raises: it cannot be a witness for this folder
            raise CheckpointError(f"transformers cannot load this folder itself: {reason(error)}") from error
        return model.to(dtype).eval()

    return library
