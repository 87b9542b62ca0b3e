"""What a reader can operate: a kit, then a folder a widget.  Names load when first used."""

from __future__ import annotations

from importlib import import_module

_ROOMS = {
    "calculator.widget": ("Calculator",),
    "explorer.shuffle": ("shuffle",),
    "explorer.tour": ("explorer_links",),
    "figure1.widget": ("figure_1",),
    "ledger.widget": ("ledger_table",),
    "patterns.widget": ("PatternWidget",),
    "pickers.widget": ("patch_picker", "position_picker"),
    "pencil.widget": ("PencilWidget",),
    "scene.widget": ("opening_scene",),
    "query.widget": ("one_query",),
    "question.widget": ("ask",),
    "steps.widget": ("Step", "stepper"),
    "switchboard.widget": ("State", "switches"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module 'vitbook.widgets' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
