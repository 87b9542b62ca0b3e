"""Shapes are checked while the tests run, and the built book is opened in a real browser that may ask nobody else for anything."""

from __future__ import annotations

from jaxtyping import install_import_hook

# Before anything imports vitbook: every annotated shape is now compared with what really comes and goes.
install_import_hook("vitbook", "checked.checker")
