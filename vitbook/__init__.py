"""The Vision Transformer, executed: one room a step, one function an equation.

Names load when first used, so that ``import vitbook`` stays fast and counting parameters never imports torch.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "2.1.0"

_ROOMS = {
    "config": ("VARIANTS", "ViTConfig"),
    "studies.counting": ("count_parameters",),
    "library.checkpoints": ("Checkpoint", "CheckpointError", "load_checkpoint"),
    "library.in_memory": ("from_transformers",),
    "library.reference": ("agree", "compare"),
    "model": ("run",),
    "studies.numpy_block": ("vit_encoder_block",),
    "pictures": ("PICTURES", "PictureError", "load_picture"),
    "pixels": ("preprocess",),
    "trace": ("Trace",),
    "weights": ("Weights",),
    "exercises": ("check",),
    "ledger.publications": ("published",),
    "ledger.verdicts": ("read_ledger",),
    "widgets.explorer.widget": ("AttentionExplorer",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str):
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'vitbook' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
