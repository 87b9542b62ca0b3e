"""Computing again what a document published: a row of `published.toml` holds one expression, and here is all it may name.

An expression gives a number, a word, or a sequence of them in the order of print.  Names of `NAMES` need nothing; those of
`Here` are the checkpoint, the picture, and what one run over them leaves behind.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from vitbook import encoder
from vitbook.config import VARIANTS
from vitbook.ledger.measure import numerics
from vitbook.ledger.measure.here import PREPROCESSING, Here, Lacking
from vitbook.ledger.publications import Entry, published
from vitbook.patches import box_of, place_of, token_of
from vitbook.studies import counting, numpy_block, pencil
from vitbook.weights import LayerWeights

__all__ = ["NAMES", "Here", "Lacking", "expected", "measured"]

NAMES: dict[str, Any] = {
    # models of Table 1 and their counts
    **{name: VARIANTS[f"ViT-{name[0]}/{name[1:]}"] for name in ("B16", "B32", "L16", "L32", "H14")},
    "at": replace,
    "count": counting.count_parameters,
    "bert": counting.bert_parameters,
    "ways": counting.search_table_1,
    "shapes": lambda config: LayerWeights.shapes(config),
    "KINDS": (
        ("attention",),
        ("mlp",),
        ("patch_embedding", "class_token", "positions"),
        ("norms", "final_norm"),
        ("head",),
    ),
    "place_of": place_of,
    "token_of": token_of,
    "box_of": box_of,
    # what was printed elsewhere
    "printed": lambda name: published(name).values,
    # arithmetic
    "ends": lambda values: [min(values), max(values)],
    **{name: getattr(math, name) for name in ("exp", "log", "log10", "sqrt", "pi", "prod")},
    **{name: getattr(torch, name) for name in ("cat", "equal", "finfo", "float32", "iinfo", "uint8")},
    "numbers": lambda values: torch.tensor(values, dtype=torch.float64),
    # the two worked examples: four tokens with a pencil, and the encoder block of the exercise
    "tiny": pencil.steps(),
    "ORDER": pencil.ORDER,
    "permutation": pencil.permutation,
    "X": np.array([[1.0, 0.0, -1.0, 2.0], [0.0, 1.0, 1.0, 0.0]]),  # its input, N = 2, D = 4
    "MSA": np.array([[0.2, -0.1, 0.3, -0.1], [-0.1, 0.2, -0.1, 0.1]]),  # and the MSA that it supposes
    "settings": PREPROCESSING,
    "split_heads": numpy_block.split_heads,
    "softmax": lambda scores: numpy_block.softmax(np.array(scores)),
    "EPS": numpy_block.EPS,
    "CUBIC": numpy_block.CUBIC,
    # GELU, and what is close to it
    "PLACES": torch.tensor([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3], dtype=torch.float64),
    "Phi": torch.special.ndtr,
    "gelu": encoder.gelu,
    "gelu_tanh": encoder.gelu_tanh,
    "library_gelu": torch.nn.functional.gelu,
    "relu": torch.relu,
    "layer_norm": encoder.layer_norm,
    **{n: getattr(numerics, n) for n in ("best_coefficient", "decay_of_the_difference", "other_coefficient")},
    **{n: getattr(numerics, n) for n in ("installed", "permutation_noise", "prepared", "tanh_decimals", "tanh_error")},
    # Python
    **{f.__name__: f for f in (all, enumerate, len, max, range, round, slice, sum, zip)},
}


def expected(expression: str) -> set[str]:
    """The names that an expression takes from outside.  Raises SyntaxError for what is none."""
    nodes = [node for node in ast.walk(_parsed(expression)) if isinstance(node, ast.Name | ast.arg)]
    own = {
        n.arg if isinstance(n, ast.arg) else n.id
        for n in nodes
        if isinstance(n, ast.arg) or isinstance(n.ctx, ast.Store)
    }
    return {node.id for node in nodes if isinstance(node, ast.Name)} - own


def measured(entry: Entry, here: Here) -> tuple[Any, ...]:
    """What the row's expression gives here, flattened to one value for each printed token.

    Raises Lacking where it reads a checkpoint or a picture that is absent, or nothing can be computed; ValueError where it
    asks a model for what that does not have (a thirteenth layer, classes without a head), or names nothing of ours.
    """
    if entry.here is None:
        raise Lacking("this is not something that a book computes")
    try:
        names = {name: NAMES[name] if name in NAMES else getattr(here, name) for name in expected(entry.here)}
        return tuple(_flat(eval(compile(_parsed(entry.here), entry.name, "eval"), names)))
    except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError) as error:
        if isinstance(error, Lacking):
            raise
        raise ValueError(f"{entry.name}: {entry.here} does not compute: {error}") from error


@cache
def _parsed(expression: str) -> ast.Expression:
    return ast.parse(expression.strip(), mode="eval")


def _flat(value: Any) -> Iterable[Any]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        for part in value:
            yield from _flat(part)
    else:
        yield value
