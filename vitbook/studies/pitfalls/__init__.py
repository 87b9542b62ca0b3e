"""What goes wrong with a ViT, tried on a real one: each mistake a switch, its damage measured from layer to layer.

`PITFALLS` names them, `damages(checkpoint, x)` measures them, `lines(name)` shows the wrong lines. Chapter: the encoder block.
"""

from __future__ import annotations

from vitbook.studies.pitfalls.damage import PITFALLS, Damage, damages, lines, rounding
from vitbook.studies.pitfalls.right import Right, Stages

__all__ = ["PITFALLS", "Damage", "Right", "Stages", "damages", "lines", "rounding"]
