"""Numbers that a cell hands over to the text: the page takes them at its build, JupyterLab asks the kernel for them.

The text writes {glue:text}`name`, or {glue:text}`name:.1e` with a format.
"""

from __future__ import annotations


class Glue:
    """``glue("name", value)`` hands a value over, and ``glue["name:.1e"]`` is what the text then says."""

    def __init__(self):
        self.values = {}

    def __call__(self, name: str, value: object, display: bool = True) -> None:
        """Hand ``value`` to the text under ``name``, and show it below the cell unless ``display`` is False."""
        import myst_nb  # writes it into the cell's output, where the build finds it

        self.values[name] = value
        myst_nb.glue(name, value, display)

    def __getitem__(self, key: str) -> str:
        """The value as the text writes it.  Raises KeyError for a name that no cell has glued yet."""
        name, _, form = key.partition(":")
        if name not in self.values:
            raise KeyError(f"{name}: no cell has glued it yet; run the cells above")
        return format(self.values[name], form)


glue = Glue()
