"""The numbers of the four-token example, written out: a reader can follow them with a pencil.

Nothing here is drawn at random when it runs; a test remembers the generator that the numbers once came from.
"""

from __future__ import annotations

#: z: N = 4 tokens (rows) of D = 6 numbers.
Z = (
    (0, 1, 0, 0, 1, 0),
    (0, 1, 1, 1, 2, 1),
    (1, 1, 1, 0, 0, 0),
    (2, 2, 2, 1, 2, 1),
)

#: U_qkv: one matrix a head, D = 6 rows and 3 D_h = 9 columns, q | k | v.
U_QKV = (
    (
        (0, 1, 0, 0, 0, 0, -1, 1, 0),
        (1, -1, 1, 0, 1, 0, 0, 0, 1),
        (0, 1, 0, -1, 1, 1, -1, 1, 0),
        (1, 1, -1, -1, 0, -1, -1, -1, 0),
        (1, 0, 1, 1, -1, 0, 0, -1, -1),
        (0, -1, -1, 1, 0, -1, 0, 0, -1),
    ),
    (
        (0, 0, 0, 0, -1, -1, 0, -1, 0),
        (0, -1, 1, -1, 1, 1, 1, 1, 0),
        (-1, 1, 1, 0, 1, 0, -1, 1, -1),
        (0, -1, 0, 1, 1, 0, 1, -1, 1),
        (0, 0, 0, 0, 0, 0, 0, 0, 1),
        (-1, -1, -1, -1, 1, 1, 0, -1, -1),
    ),
)

#: U_msa: k D_h = 6 rows (head 1's three, then head 2's), D = 6 columns. Its third column is zero.
U_MSA = (
    (0, -1, 0, 0, 0, 0),
    (0, 1, 0, -1, -1, -1),
    (-1, -1, 0, 1, 1, 0),
    (1, 0, 0, 0, -1, -1),
    (0, 0, 0, -1, -1, -1),
    (1, -1, 0, 1, 0, 1),
)

#: E_pos: a row a position, added to z in the permutation check only.
E_POS = (
    (0, 1, 1, 1, 1, 1),
    (0, 1, 1, 1, 1, 0),
    (1, 1, 1, 0, 1, 1),
    (0, 0, 0, 0, 0, 1),
)

#: The shuffle of the permutation check: the new first token is t2, the second t0, ...
ORDER = (2, 0, 3, 1)

#: What the source of the example prints, to three decimals, about t3 in head 1: its row of A, the value rows, SA_1,
#: and its row of MSA(z). One of the four does not fit the others.
PRINTED_T3 = {
    "A": (0.506, 0.160, 0.050, 0.284),
    "v": ((0, -1, 0), (-2, -2, -2), (-2, 2, 1), (-5, 1, -1)),
    "SA": (-3.014, 0.002, -0.995),
    "msa": (2.091, 1.299, 0.000, -0.228, -1.766, -0.560),
}
