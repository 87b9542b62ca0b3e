"""The capstone: the whole model in NumPy, on small random weights and on a real checkpoint, compared stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from vitbook.exercises.attention import MSA
from vitbook.exercises.patches import CUT_PATCHES
from vitbook.exercises.pieces import GELU_ERF, GELU_TANH, LAYER_NORM, NORM_SOURCE, SOFTMAX_SOURCE
from vitbook.exercises.record import Case, Exercise, borrowed, mistake

ACTIVATIONS = {"gelu": GELU_ERF.function, "gelu_tanh": GELU_TANH.function, "relu": lambda x: np.maximum(x, 0)}


def in_numpy(weights: Any) -> SimpleNamespace:
    """The weights of a checkpoint for `vit`: float64 arrays under the same names, and P, heads, eps and gelu beside them.

    weights: `Weights`, or a checkpoint that carries them. gelu is the checkpoint's activation, a function.
    """
    weights = getattr(weights, "weights", weights)
    config = weights.config
    sizes = {"P": config.P, "heads": config.heads, "eps": config.eps, "gelu": ACTIVATIONS[config.activation]}
    return SimpleNamespace(**sizes, **vars(arrays(weights)))


def arrays(part: Any) -> Any:
    if is_dataclass(part):
        return SimpleNamespace(**{f.name: arrays(getattr(part, f.name)) for f in fields(part) if f.name != "config"})
    if isinstance(part, tuple | list):
        return tuple(map(arrays, part))
    return None if part is None else part.detach().cpu().double().numpy()


def vit_cases(r: np.random.Generator) -> Iterator[Case]:
    def draw(*shape: int) -> np.ndarray:
        return r.standard_normal(shape) / np.sqrt(shape[0] if len(shape) > 1 else 1) + 0.1

    def layer(D: int, M: int, sharp: float) -> SimpleNamespace:
        matrices = {name: draw(D, D) for name in ("U_q", "U_k", "U_v", "U_msa")} | {
            "W_1": draw(D, M),
            "W_2": draw(M, D),
        }
        vectors = ("b_q", "b_k", "b_v", "b_msa", "b_2", "gamma_1", "beta_1", "gamma_2", "beta_2")
        matrices["U_q"] *= sharp
        return SimpleNamespace(**matrices, b_1=draw(M), **{name: draw(D) for name in vectors})

    for label, (C, H, W, P, D, L, heads, M, gelu, sharp) in {
        "a 2 x 3 grid in colour, D = 6, two layers": (3, 10, 15, 5, 6, 2, 2, 11, "gelu", 1.0),
        "one channel, one head, one layer": (1, 6, 4, 2, 5, 1, 1, 8, "gelu_tanh", 1.0),
        "as many heads as layers": (2, 9, 3, 3, 12, 3, 3, 7, "gelu", 1.0),
        "scores in the thousands": (3, 4, 6, 2, 8, 1, 2, 9, "gelu", 1e4),
    }.items():
        N, numbers = (H // P) * (W // P), C * P * P
        w = SimpleNamespace(
            P=P, heads=heads, eps=1e-3, gelu=ACTIVATIONS[gelu], E=draw(numbers, D), b_E=draw(D), x_class=draw(1, D),
            E_pos=draw(N + 1, D), layers=tuple(layer(D, M, sharp) for _ in range(L)), gamma=draw(D), beta=draw(D),
        )  # fmt: skip
        yield Case(label, (draw(C, H, W), w))


VIT_SOURCE = f"""\
import numpy as np


{NORM_SOURCE}

{SOFTMAX_SOURCE}

def msa(z, layer, heads):
    N, D = z.shape
    D_h = D // heads
    q, k, v = z @ layer.U_q + layer.b_q, z @ layer.U_k + layer.b_k, z @ layer.U_v + layer.b_v
    q, k, v = (t.reshape(N, heads, D_h).swapaxes(0, 1) for t in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(D_h)
    sa = softmax(scores) @ v
    return sa.swapaxes(0, 1).reshape(N, D) @ layer.U_msa + layer.b_msa


def mlp(z, layer, gelu):
    return gelu(z @ layer.W_1 + layer.b_1) @ layer.W_2 + layer.b_2


def cut_patches(x, P):
    C, H, W = x.shape
    squares = x.reshape(C, H // P, P, W // P, P)
    return squares.transpose(1, 3, 0, 2, 4).reshape(-1, C * P * P)


def vit(x, w):
    x_p = cut_patches(x, w.P)
    z = np.concatenate([w.x_class, x_p @ w.E + w.b_E]) + w.E_pos
    stages = {{"x_p": x_p, "z_0": z}}
    for l, layer in enumerate(w.layers, start=1):
        z = msa(layer_norm(z, layer.gamma_1, layer.beta_1, w.eps), layer, w.heads) + z
        stages[f"z_prime_{{l}}"] = z
        z = mlp(layer_norm(z, layer.gamma_2, layer.beta_2, w.eps), layer, w.gelu) + z
        stages[f"z_{{l}}"] = z
    stages["y"] = layer_norm(z[0], w.gamma, w.beta, w.eps)
    return stages
"""

VIT = Exercise(
    name="vit",
    parameters="x, w",
    chapter="The whole model",
    statement="Write Eq. 1 to 4, from a picture to y, with all biases of a checkpoint. Return what each step leaves, by its"
    " name. First come x_p and `z_0`, then z_prime_1 and z_1 of layer 1, and so on for every layer. The last is y.",
    shapes="x (C, H, W), w the weights -> a dict of arrays: x_p (N, P P C), y (D,), all others (N + 1, D).\n"
    "w holds, as w.P and so on, P, heads, eps, gelu (a function), E (P P C, D), b_E (D,), x_class (1, D),"
    " E_pos (N + 1, D), gamma, beta (D,) and layers.\n"
    "Each of w.layers holds gamma_1, beta_1, U_q, b_q, U_k, b_k, U_v, b_v, U_msa, b_msa, gamma_2, beta_2, W_1, b_1, W_2, b_2.",
    hints=(
        "Most of it stands in your functions for cut_patches, embed, layer_norm, softmax and msa. The biases are new.",
        "A bias is added right after its product: `q = z @ U_q + b_q`. The same holds for k, v, U_msa, W_1 and W_2.",
        'Begin with `stages = {"x_p": x_p, "z_0": z}`. In the loop, set `stages[f"z_prime_{l}"] = z` after the first sum.',
        "`enumerate(w.layers, start=1)` counts the layers from 1, as the paper does. For y only row 0 is needed.",
    ),
    minutes=45,
    difficulty="hard",
    solution=VIT_SOURCE,
    cases=vit_cases,
    mistakes=(
        mistake(
            "biases of q, k, v forgotten",
            "the checkpoint has b_q, b_k and b_v, though Eq. 5 shows no bias.",
            (" + layer.b_q", ""),
            (" + layer.b_k", ""),
            (" + layer.b_v", ""),
        ),
        mistake("b_msa forgotten", "after U_msa comes its bias, b_msa.", (" + layer.b_msa", "")),
        mistake(
            "biases of the MLP forgotten",
            "both matrices of the MLP have a bias.",
            (" + layer.b_1", ""),
            (" + layer.b_2", ""),
        ),
        mistake("b_1 forgotten", "the bias b_1 is added before GELU.", (" + layer.b_1", "")),
        mistake("b_2 forgotten", "after W_2 comes its bias, b_2.", (" + layer.b_2", "")),
        mistake("b_E forgotten", "the projection of the patches has a bias, b_E.", (" + w.b_E", "")),
        mistake("positions forgotten", "every row of the sequence gets its row of E_pos.", (" + w.E_pos", "")),
        mistake(
            "[class] at the end",
            "[class] comes first, in row 0.",
            ("[w.x_class, x_p @ w.E + w.b_E]", "[x_p @ w.E + w.b_E, w.x_class]"),
        ),
        mistake(
            "shared LayerNorm",
            "gamma_1 and beta_1 were used twice; the MLP half has its own.",
            ("gamma_2, layer.beta_2", "gamma_1, layer.beta_1"),
        ),
        mistake(
            "the first layer again and again",
            "each layer has its own numbers.",
            (
                "    for l, layer in enumerate(w.layers, start=1):\n",
                "    for l, layer in enumerate([w.layers[0]] * len(w.layers), start=1):\n",
            ),
        ),
        mistake(
            "no residual",
            "nothing was added back; each half adds what came in.",
            ("w.heads) + z", "w.heads)"),
            ("w.gelu) + z", "w.gelu)"),
        ),
        mistake("first residual missing", "Eq. 2 adds z to what MSA returns.", ("w.heads) + z", "w.heads)")),
        mistake("second residual missing", "Eq. 3 adds z_prime to what the MLP returns.", ("w.gelu) + z", "w.gelu)")),
        mistake(
            "final LayerNorm forgotten",
            "Eq. 4 normalises once more.",
            ("layer_norm(z[0], w.gamma, w.beta, w.eps)", "z[0]"),
        ),
        mistake("last row read", "[class] is row 0; yours is the last patch.", ("z[0], w.g", "z[-1], w.g")),
        mistake("token/patch off by one", "row 1 is the first patch; [class] is row 0.", ("z[0], w.g", "z[1], w.g")),
        *borrowed(
            VIT_SOURCE,
            (*CUT_PATCHES.mistakes, *LAYER_NORM.mistakes, *MSA.mistakes),
            without=(
                *("one column a patch", "normalised over the tokens"),  # which raise an error here
                *(
                    "q and k exchanged",
                    "k and v exchanged",
                    "q and v exchanged",
                ),  # "q, k, v =" makes less than all of it here
            ),
        ),
    ),
)

EXERCISES = (VIT,)
