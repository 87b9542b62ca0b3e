"""Figures: palette, plotting, and every drawing that is shared or long.  Names load when first used."""

from __future__ import annotations

from importlib import import_module

_ROOMS = {
    "block": ("block_diagram",),
    "encoder": ("layer_line",),
    "glued": ("facts", "glue"),
    "numbers": ("layer_costs", "parameter_shares"),
    "patterns": (
        "pictures_in_a_row",
        "with_few_colours",
    ),
    "pencil": ("pencil_steps",),
    "claims": ("claim",),
    "reference": ("reference_run",),
    "plotting": ("canvas", "captioned", "label_ends", "show"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module 'vitbook.figures' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
