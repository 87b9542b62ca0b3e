"""The paper's letters: what each means, its shape, and where it first stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Letter:
    """One symbol: as mathematics, as the name in code, its meaning, its shape (letters), and where the paper uses it.

    chapter: the page of the book that explains it.
    """

    latex: str
    code: str
    meaning: str
    shape: str
    where: str
    chapter: str


LETTERS: tuple[Letter, ...] = (
    Letter(r"H, W", "H, W", "height and width of the picture, in pixels", "", "Section 3.1", "patches"),
    Letter(r"C", "C", "colour channels, 3 for red, green and blue", "", "Section 3.1", "patches"),
    Letter(r"P", "P", "side of a square patch, in pixels", "", "Section 3.1", "patches"),
    Letter(r"N", "N", "number of patches, HW / P²", "", "Section 3.1", "patches"),
    Letter(r"D", "D", "width of a token: how many numbers describe it", "", "Section 3.1", "patches"),
    Letter(r"L", "L", "number of encoder layers", "", "Eq. 2", "eq2"),
    Letter(
        r"k",
        "heads",
        "number of attention heads (k is also the key, so the code says heads)",
        "",
        "Eq. 8",
        "appendix_a",
    ),
    Letter(r"D_h", "D_h", "width of one head, D / k", "", "Eq. 5", "appendix_a"),
    Letter(r"M", "M", "hidden width of the MLP (our letter: the paper gives only its size)", "", "Table 1", "eq3"),
    Letter(r"K", "K", "number of classes", "", "Section 3.2", "class_token"),
    Letter(r"\mathbf{x}", "x", "the picture as numbers, after preprocessing", "C, H, W", "Section 3.1", "patches"),
    Letter(
        r"\mathbf{x}_p",
        "x_p",
        "the patches of the picture, each flattened to one row",
        "N, P²C",
        "Section 3.1",
        "patches",
    ),
    Letter(r"\mathbf{E}", "E", "the projection of a patch to a token", "P²C, D", "Eq. 1", "patches"),
    Letter(r"\mathbf{x}_{class}", "x_class", "the learned [class] token", "1, D", "Eq. 1", "class_token"),
    Letter(
        r"\mathbf{E}_{pos}", "E_pos", "one learned vector a position, row 0 for [class]", "N+1, D", "Eq. 1", "positions"
    ),
    Letter(r"\mathbf{z}_\ell", "z[l]", "the tokens after layer l; z_0 enters layer 1", "N+1, D", "Eq. 1, 3", "eq3"),
    Letter(
        r"\mathbf{z}'_\ell",
        "z_prime[l-1]",
        "the tokens between attention and MLP in layer l (the list in code starts at 0)",
        "N+1, D",
        "Eq. 2",
        "eq2",
    ),
    Letter(
        r"\mathbf{q}, \mathbf{k}, \mathbf{v}",
        "q, k, v",
        "queries, keys and values of one head",
        "N+1, D_h",
        "Eq. 5",
        "appendix_a",
    ),
    Letter(
        r"\mathbf{U}_{qkv}",
        "U_q, U_k, U_v",
        "makes q, k, v from a token; one matrix a head, in code cut in three",
        "D, 3D_h",
        "Eq. 5",
        "appendix_a",
    ),
    Letter(
        r"A", "attention(l, h)", "attention weights: row i says how token i reads", "N+1, N+1", "Eq. 6", "appendix_a"
    ),
    Letter(r"\mathbf{U}_{msa}", "U_msa", "mixes the joined heads", "kD_h, D", "Eq. 8", "appendix_a"),
    Letter(r"\mathbf{y}", "y", "the picture as one vector", "D", "Eq. 4", "eq4"),
)


def in_numbers(shape: str, sizes: dict[str, int]) -> str:
    """A shape of letters with a config's numbers put in: 'N+1, D_h' -> '197 × 64'.

    sizes: letter -> number; must hold every letter of the shape (KeyError names the one that is absent).
    """
    return " × ".join(str(_size(term.strip(), sizes)) for term in shape.split(",")) if shape else ""


def _size(term: str, sizes: dict[str, int]) -> int:
    s = sizes
    sums = {
        "N+1": lambda: s["N"] + 1,
        "P²C": lambda: s["P"] ** 2 * s["C"],
        "3D_h": lambda: 3 * s["D_h"],
        "kD_h": lambda: s["D"],
    }
    if term in sums:
        return sums[term]()
    return int(term) if term.isdigit() else s[term]
