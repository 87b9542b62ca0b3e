"""The exercise on where the parameters sit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vitbook.exercises.record import Case, Exercise, mistake


def size_cases(r: np.random.Generator) -> Iterator[Case]:
    yield Case("ViT-B/16 with 1,000 classes", (224, 224, 16, 3, 768, 12, 3072, 1000))
    yield Case("ViT-L/32", (224, 224, 32, 3, 1024, 24, 4096, 1000))
    yield Case("ViT-H/14", (224, 224, 14, 3, 1280, 32, 5120, 1000))
    yield Case("a tiny, wide picture in one channel", (6, 10, 2, 1, 8, 1, 24, 5))
    for _ in range(4):
        rows, columns, P, C, D, L, M, K = (int(n) for n in r.integers(2, 30, 8))
        yield Case("odd sizes, M not 4 D", (rows * P, columns * P, P, C, D, L, M, K))


COUNT_PARAMETERS = Exercise(
    name="count_parameters",
    parameters="H, W, P, C, D, L, M, K",
    chapter="Where the parameters sit",
    statement="Count every number that a ViT learns, biases included. There are the patch embedding, [class], the "
    "positions, L layers, the last LayerNorm, and a head of one linear layer.",
    shapes="picture H x W with C channels, patch side P, width D, L layers, MLP width M, K classes, all whole -> a "
    "whole number.",
    hints=(
        "Write down each matrix with its two sizes and each vector with one; the count is the sum of the products.",
        "One layer: four D x D matrices with biases, D x M and M x D with biases, two LayerNorms of 2 D each.",
        "The position table has a row for [class] as well.",
    ),
    minutes=15,
    difficulty="medium",
    solution="""\
def count_parameters(H, W, P, C, D, L, M, K):
    N = (H // P) * (W // P)
    embedding = P * P * C * D + D  # E and its bias
    sequence = D + (N + 1) * D  # x_class and E_pos
    attention = 4 * D * D + 4 * D  # U_q, U_k, U_v, U_msa and their biases
    mlp = D * M + M + M * D + D
    norms = 4 * D  # gamma and beta, twice
    final = 2 * D  # gamma and beta of Eq. 4
    head = D * K + K
    return embedding + sequence + L * (attention + mlp + norms) + final + head
""",
    cases=size_cases,
    mistakes=(
        mistake(
            "all biases forgotten",
            "the code has a bias beside every matrix, though the equations show none.",
            ("P * P * C * D + D ", "P * P * C * D "),
            ("4 * D * D + 4 * D", "4 * D * D"),
            ("D * M + M + M * D + D", "D * M + M * D"),
            ("D * K + K", "D * K"),
        ),
        mistake(
            "L D numbers short",
            "in each layer one vector of D is missing: the bias of U_q, U_k, U_v, U_msa or of the MLP's second matrix, or a"
            " gamma or beta of one LayerNorm.",
            ("4 * D * D + 4 * D", "4 * D * D + 3 * D"),
        ),
        mistake(
            "2 L D numbers short",
            "in each layer two vectors of D are missing, such as one LayerNorm, the betas of both, or two biases.",
            ("4 * D  # gamma and beta, twice", "2 * D"),
        ),
        mistake(
            "3 L D numbers short",
            "in each layer three vectors of D are missing, such as the biases of U_q, U_k and U_v.",
            ("4 * D * D + 4 * D", "4 * D * D + D"),
        ),
        mistake(
            "4 L D numbers short",
            "in each layer four vectors of D are missing, such as all biases of attention, or both LayerNorms.",
            ("4 * D * D + 4 * D", "4 * D * D"),
        ),
        mistake(
            "L M numbers short",
            "in each layer the bias of the MLP's first matrix is missing; it has M numbers.",
            ("D * M + M + M * D + D", "D * M + M * D + D"),
        ),
        mistake(
            "L M and L D numbers short",
            "in each layer a vector of M and one of D are missing, such as both biases of the MLP.",
            ("D * M + M + M * D + D", "D * M + M * D"),
        ),
        mistake("bias of the head forgotten", "the head has one bias a class.", ("D * K + K", "D * K")),
        mistake("head forgotten", "the head of D K + K numbers is asked for as well.", ("D * K + K", "0")),
        mistake(
            "D numbers short",
            "one vector of D is missing outside the layers: the bias of E, x_class, the position of [class], or the gamma or"
            " beta of Eq. 4.",
            ("(N + 1) * D", "N * D"),
        ),
        mistake(
            "2 D numbers short",
            "two vectors of D are missing outside the layers, such as the LayerNorm of Eq. 4, or x_class together with its"
            " position.",
            ("2 * D  # gamma and beta of", "0  # gamma and beta of"),
        ),
        mistake("positions forgotten", "the position table holds (N + 1) D numbers.", (" + (N + 1) * D", "")),
        mistake(
            "wrong mlp ratio",
            "the MLP's width is M as given; 4 D is only the usual choice.",
            ("D * M + M + M * D + D", "8 * D * D + 5 * D"),
        ),
        mistake(
            "a matrix of attention forgotten",
            "attention has four matrices with a bias each: q, k, v and the one after the heads.",
            ("4 * D * D + 4 * D", "3 * D * D + 3 * D"),
        ),
        mistake(
            "2 L D and D numbers short",
            "two vectors of D are missing in each layer, and one outside, such as the beta of every LayerNorm.",
            ("4 * D  # gamma and beta, twice", "2 * D"),
            ("2 * D  # gamma and beta of", "D  # gamma and beta of"),
        ),
        mistake(
            "4 L D and 2 D numbers short",
            "four vectors of D are missing in each layer, and two outside, such as all LayerNorms.",
            ("4 * D  # gamma and beta, twice", "0"),
            ("2 * D  # gamma and beta of", "0  # gamma and beta of"),
        ),
        mistake(
            "one layer counted", "there are L layers, each with numbers of its own.", ("L * (attention", "(attention")
        ),
        mistake("channels forgotten", "a patch holds P P C numbers.", ("P * P * C * D", "P * P * D")),
        mistake(
            "picture taken as square", "there are (H / P) (W / P) patches.", ("(H // P) * (W // P)", "(H // P) ** 2")
        ),
        mistake(
            "pixels for patches", "positions are counted per patch, not per pixel.", ("(H // P) * (W // P)", "H * W")
        ),
    ),
    pairs=False,
)

EXERCISES = (COUNT_PARAMETERS,)
