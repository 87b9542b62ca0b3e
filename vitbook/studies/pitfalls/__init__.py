"""What goes wrong with a ViT, tried on a real one: each mistake a switch, its damage measured from layer to layer.

`PITFALLS` names them, `damages(checkpoint, x)` measures them, `board` makes two at once. Chapter: the encoder block.
"""

from __future__ import annotations

from vitbook.studies.pitfalls.damage import PITFALLS, Damage, board, damages, rounding, together
from vitbook.studies.pitfalls.right import Right, Stages

__all__ = ["PITFALLS", "Damage", "Right", "Stages", "board", "damages", "rounding", "together"]
