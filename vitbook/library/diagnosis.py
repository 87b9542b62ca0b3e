"""What the names in a file of weights give away, before anything is counted: which library wrote it, what was left in it.

Names are quoted as they stand in the file, and each diagnosis says what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vitbook.library import names
from vitbook.library.errors import CheckpointError
from vitbook.wording import brief

_CONVERT = "convert it to the Hugging Face format of a plain ViT first"
_ALONE = "save the state of the model alone, without it"

#: What an addition to the model looks like, what it is, what to do.
ADDITIONS = (
    (r"lora_|\.base_layer\.|hada_|\.ia3_", "an adapter (LoRA) that is not merged", "merge it first: merge_and_unload(), then save"),
    (r"\.(qweight|qzeros|g_idx|SCB|absmax|quant_map|weight_scale|zero_point)$|quant_state", "a quantised model",
     "turn it back to floats first: dequantize(), then save"),
)  # fmt: skip
#: What names of another library, of another family, or of a training look like.
OTHERS = (
    (r"(^|\.)(optimizer|optimizers|optim|scheduler|scaler|criterion|loss\w*|ema\w*|model_ema|teacher|student|momentum_\w+)\.",
     "what a training leaves behind", _ALONE),
    (r"exp_avg|momentum_buffer|(^|\.)n_averaged$|(^|\.)(epoch|global_step|step)$", "what a training leaves behind", _ALONE),
    (r"(^|\.)blocks\.\d+\.|patch_embed\.proj|(^|\.)pos_embed$|^cls_token$|(^|\.)fc_norm\.", "timm's names", _CONVERT),
    (r"encoder_layer_\d|(^|\.)conv_proj\.|in_proj_weight", "torchvision's names", _CONVERT),
    (r"resblocks\.|vision_model\.|text_model\.|self_attn\.", "names of CLIP or SigLIP", _CONVERT),
    (r"to_patch_embedding|transformer\.layers\.\d+\.\d", "names of vit-pytorch", _CONVERT),
    (r"/kernel|/bias|/scale|:0$", "names of JAX or TensorFlow", _CONVERT),
    (r"onnx::", "names out of an ONNX file", "save the model itself"),
    (r"distillation|^deit\.|cls_classifier", "DeiT, which adds a distillation token", "choose a plain ViT"),
    (r"register", "DINOv2 with register tokens", "choose a plain ViT"),
    (r"layer_scale|\.ls[12]\.|lambda_?[12]|\.gamma_[12]$", "LayerScale (DINOv2, BEiT)", "choose a plain ViT"),
    (r"relative_position", "relative positions (BEiT, Swin)", "choose a plain ViT"),
    (r"word_embeddings|attention\.self\.", "names of BERT", "choose a plain ViT"),
    (r"running_(mean|var)$", "BatchNorm, which a plain ViT does not have", "choose a plain ViT"),
)  # fmt: skip
#: What puts a beginning before every name.
WRAPPERS = {
    "_orig_mod": "torch.compile",
    "module": "DataParallel",
    "_fsdp_wrapped_module": "FSDP",
    "_forward_module": "Fabric",
    "model": "a training loop such as Lightning's",
}
#: Where a name of ours begins.
_OURS = re.compile(r"(?:^|(?<=\.))(embeddings|encoder\.layer|layers|layernorm|classifier|pooler)\.")


def refuse_other_names(keys: Iterable[str]) -> None:
    """Raise CheckpointError where the names are not those of a plain ViT in transformers, old or new."""
    keys = list(keys)
    if not keys:
        raise CheckpointError("the file of weights holds no tensor at all; download it again, or save the model again")
    for key, what, todo in _found(ADDITIONS, keys):
        raise CheckpointError(f"the weights hold {key}: it looks like {what}; {todo}")
    _refuse_prefix(keys)
    for key, what, todo in _found(OTHERS, keys):
        raise CheckpointError(f"the weights hold {key}: it looks like {what}; {todo}")
    if not any(map(_OURS.search, keys)):
        shown = ", ".join(map(brief, keys[:3]))
        raise CheckpointError(
            f"none of the {len(keys)} names in the file is one of a ViT: they begin {shown}; {_CONVERT}"
        )


def _found(table: tuple, keys: list[str]):
    """The first key that each line of a table recognises, unless it belongs to a part that is laid aside anyway."""
    for pattern, what, todo in table:
        for key in keys:
            if re.search(pattern, key) and not names.new_name(key).startswith(tuple(names.UNUSED)):
                yield brief(key, 90), what, todo


def _refuse_prefix(keys: list[str]) -> None:
    """Something before all the names that are otherwise ours: "_orig_mod.", "module.", another family's name."""
    begins = {key[: place.start()].removesuffix("vit.") for key in keys if (place := _OURS.search(key))}
    if len(begins) != 1 or begins == {""}:
        return
    prefix = begins.pop()
    who = " and ".join(WRAPPERS[part] for part in prefix.strip(".").split(".") if part in WRAPPERS)
    put = (
        f", which {who} put there; save the names without it"
        if who
        else ": it looks like another family; choose a plain ViT"
    )
    example = next(key for key in keys if key.startswith(prefix))
    raise CheckpointError(f"every name in the file begins with {prefix!r}{put}, as in {brief(example, 90)}")
