"""Everything that a reader sees: figures and widgets.  Names load when first used."""

from __future__ import annotations

from importlib import import_module

_ROOMS = {
    "bias_figures": ("heads_over_layers", "read_grids", "shift_line", "touched_tokens"),
    "block_figures": ("pitfall_map", "two_attentions"),
    "calculator": ("Calculator",),
    "encoder_figures": (
        "answer",
        "before_after",
        "gelu_curves",
        "heads",
        "hidden_numbers",
        "layer_line",
        "own_weight",
        "training_line",
        "weight_bars",
    ),
    "tour": ("explorer_links",),
    "figure1": ("figure_1",),
    "glued": ("glue",),
    "figures": ("filters", "one_patch", "patch_grid", "similarity_maps", "similarity_tiles"),
    "ledger_page": ("ledger_table",),
    "number_figures": ("ladder", "layer_costs", "parameter_shares", "table_1_search", "tanh_errors"),
    "pattern_figures": (
        "convolution_errors",
        "maps_in_a_row",
        "offset_maps",
        "pairs_growth",
        "pattern_gallery",
        "pictures_in_a_row",
        "reach_pictures",
        "short_name",
        "with_few_colours",
    ),
    "pattern_widget": ("PatternWidget",),
    "pickers": ("patch_picker", "position_picker"),
    "pencil_figures": ("pencil_steps",),
    "pencil_widget": ("PencilWidget",),
    "plotting": ("canvas", "label_ends", "show"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module 'vitbook.views' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
