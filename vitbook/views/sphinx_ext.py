"""What the book's build adds to Sphinx."""

from __future__ import annotations


def setup(app) -> dict:
    return {"parallel_read_safe": True, "parallel_write_safe": True}
