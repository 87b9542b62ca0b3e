"""Every attention pattern against the sentence that defines it, its count by formula against its mask, on odd grids."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pybtex.database import parse_file

from vitbook.studies.patterns import MOST_TOKENS, PATTERNS, two_layers, with_class_token

FULL_NAMES = [
    "full", "causal", "local", "image-transformer-1d", "image-transformer-2d", "strided-1", "strided-1-released", "strided-2",
    "strided", "fixed-1", "fixed-2", "fixed-2-inclusive", "fixed", "block-local", "axial-row", "axial-column", "axial",
]  # fmt: skip


def definition(name: str, i: int, j: int, W: int, **p: int) -> bool:
    """May query i read key j? Word by word from the works, with sets and loops, in no hurry."""
    (ri, ci), (rj, cj) = divmod(i, W), divmod(j, W)
    if name == "full":
        return True
    if name == "local":
        return rj in range(ri - p["k"] // 2, ri + p["k"] // 2 + 1) and cj in range(
            ci - p["k"] // 2, ci + p["k"] // 2 + 1
        )
    if name == "axial-row":
        return ri == rj
    if name == "axial-column":
        return ci == cj
    if name == "axial":
        return ri == rj or ci == cj
    if name == "block-local":
        return (ri // p["bh"], ci // p["bw"]) == (rj // p["bh"], cj // p["bw"])
    if name == "image-transformer-2d":
        block_i, block_j = ((r // p["hq"], c // p["wq"]) for r, c in ((ri, ci), (rj, cj)))
        R, C = block_i[0] * p["hq"], block_i[1] * p["wq"]
        memory = rj in range(R - p["hm"], R + p["hq"]) and cj in range(C - p["wm"], C + p["wq"] + p["wm"])
        return memory and (*block_j, rj, cj) <= (*block_i, ri, ci)  # blocks in raster order, then tokens inside a block
    if j > i:
        return False
    if name == "causal":
        return True
    if name == "image-transformer-1d":
        start = i // p["lq"] * p["lq"]
        return j in range(start - p["lm"], i + 1)
    l = p["l"]
    sets = {
        "strided-1": set(range(max(0, i - l), i + 1)),
        "strided-1-released": set(range(i, i - l, -1)),
        "strided-2": {m for m in range(i + 1) if (i - m) % l == 0},
        "fixed-1": {m for m in range(i + 1) if m // l == i // l},
        "fixed-2": {m for m in range(i + 1) if m % l in range(l - p.get("c", 0), l)},
        "fixed-2-inclusive": {m for m in range(i + 1) if m % l + 1 in range(l - p.get("c", 0), l + 1)},
    }
    if name in ("strided", "fixed"):
        return j in sets[f"{name}-1"] | sets[f"{name}-2"]
    return j in sets[name]


def choose(pattern, rng: random.Random, most: int = 9) -> dict[str, int]:
    chosen = {p.letter: rng.randint(p.least, most) for p in pattern.parameters}
    if "k" in chosen:
        chosen["k"] |= 1
    if "c" in chosen:
        inclusive = pattern.name == "fixed-2-inclusive"
        chosen["l"] = max(chosen["l"], 1 + inclusive)
        chosen["c"] = rng.randint(1, chosen["l"] - inclusive)
    return chosen


def test_the_registry_is_in_the_order_of_the_story():
    assert list(PATTERNS) == FULL_NAMES
    for name, pattern in PATTERNS.items():
        assert pattern.name == name and pattern.title and pattern.description.endswith(".") and pattern.cites
        with pytest.raises(dataclasses.FrozenInstanceError):
            pattern.rule = "j < N"
        assert hash(pattern)


def test_every_cited_work_is_in_the_bibliography():
    entries = parse_file(str(Path(__file__).parents[1] / "book" / "references.bib")).entries
    assert {key for pattern in PATTERNS.values() for key in pattern.cites} <= set(entries)


@pytest.mark.parametrize("name", FULL_NAMES)
def test_the_mask_is_what_the_definition_says(name):
    rng = random.Random(11)
    for _ in range(12):
        H, W = rng.sample(range(1, 8), 2)
        chosen = choose(PATTERNS[name], rng, most=6)
        mask = PATTERNS[name].mask(H, W, **chosen)
        said = [[definition(name, i, j, W, **chosen) for j in range(H * W)] for i in range(H * W)]
        np.testing.assert_array_equal(mask, said, err_msg=f"{name} on {H} x {W}, {chosen}")


@pytest.mark.parametrize("name", FULL_NAMES)
@pytest.mark.slow
def test_formula_and_counting_agree(name):
    rng = random.Random(13)
    for _ in range(150):
        H, W = rng.randint(1, 13), rng.randint(1, 13)
        chosen = choose(PATTERNS[name], rng, most=15)
        mask = PATTERNS[name].mask(H, W, **chosen)
        pairs = PATTERNS[name].pairs(H, W, **chosen)
        assert type(pairs) is int and pairs == mask.sum(), (H, W, chosen)
    for H, W in ((14, 14), (9, 16), (1, 1), (1, 12), (12, 1)):  # with the defaults, where a row leaves room for them
        if W > 1 or name != "fixed-2-inclusive":
            assert PATTERNS[name].pairs(H, W) == PATTERNS[name].mask(H, W).sum()


@pytest.mark.parametrize(
    ("name", "H", "W", "chosen", "pairs"),
    [
        ("full", 14, 14, {}, 38_416),
        ("local", 14, 14, {"k": 7}, 7_396),
        ("local", 14, 14, {"k": 3}, 1_600),
        ("axial-row", 14, 14, {}, 2_744),
        ("axial-column", 14, 14, {}, 2_744),
        ("axial", 14, 14, {}, 5_292),
        ("strided-1", 8, 8, {"l": 8}, 540),
        ("strided-1-released", 8, 8, {"l": 8}, 484),
        ("strided-2", 8, 8, {"l": 8}, 288),
        ("strided", 8, 8, {"l": 8}, 708),
        ("fixed-1", 8, 8, {"l": 8}, 288),
        ("fixed-2", 8, 8, {"l": 8, "c": 1}, 232),
        ("fixed", 8, 8, {"l": 8, "c": 1}, 512),
        ("causal", 8, 8, {}, 2_080),
        ("strided", 32, 32, {"l": 32}, 48_144),
        ("fixed", 32, 32, {"l": 32, "c": 1}, 32_768),
        ("causal", 32, 32, {}, 524_800),
        ("image-transformer-1d", 32, 96, {"lq": 256, "lm": 256}, 1_115_648),
        ("causal", 32, 96, {}, 4_720_128),
    ],
)
def test_known_counts(name, H, W, chosen, pairs):
    assert PATTERNS[name].pairs(H, W, **chosen) == pairs == PATTERNS[name].mask(H, W, **chosen).sum()


def test_both_readings_of_the_strided_window_have_one_union():
    for l in (1, 3, 8, 70):
        masks = {name: PATTERNS[name].mask(7, 9, l=l) for name in FULL_NAMES if name.startswith("strided")}
        for first in ("strided-1", "strided-1-released"):
            np.testing.assert_array_equal(masks[first] | masks["strided-2"], masks["strided"])
    assert PATTERNS["strided-1"].sees(5, 0, 7, 9, l=4).sum() == 5
    assert PATTERNS["strided-1-released"].sees(5, 0, 7, 9, l=4).sum() == 4


def test_both_readings_of_the_fixed_columns():
    zero_based, inclusive = (PATTERNS[name].mask(4, 6, l=6, c=2) for name in ("fixed-2", "fixed-2-inclusive"))
    assert [np.unique(np.nonzero(m[-1])[0] % 6).tolist() for m in (zero_based, inclusive)] == [[4, 5], [3, 4, 5]]
    np.testing.assert_array_equal(inclusive, PATTERNS["fixed-2"].mask(4, 6, l=6, c=3))
    own = PATTERNS["fixed-1"].mask(4, 6, l=6)
    np.testing.assert_array_equal(own | zero_based, PATTERNS["fixed"].mask(4, 6, l=6, c=2))


def test_only_summary_columns_can_leave_a_query_without_any_key():
    for name, pattern in PATTERNS.items():
        alone = ~pattern.mask(6, 9).any(axis=1)
        assert alone.sum() == {"fixed-2": 8, "fixed-2-inclusive": 7}.get(name, 0), name
        assert with_class_token(pattern.mask(6, 9)).any(axis=1).all()


def test_costs_at_one_token_a_pixel_come_without_a_mask():
    N = 224 * 224
    full, row, causal = (PATTERNS[name] for name in ("full", "axial-row", "causal"))
    assert full.pairs(224, 224) == N**2 == 2_517_630_976
    assert row.pairs(224, 224) == 224**3 == 11_239_424
    assert full.multiply_adds(224, 224, 768) == 2 * N**2 * 768
    assert full.multiply_adds(14, 14, 768) == 2 * 196**2 * 768
    n = 10**6 * (10**6 + 1)
    assert causal.pairs(10**6, 10**6 + 1) == n * (n + 1) // 2, "exact beyond float64"
    assert row.share(224, 224) == 1 / 224
    with pytest.raises(ValueError, match=r"50,176 tokens has 2,517,630,976 entries.*pairs\(\).*sees\(\)"):
        full.mask(224, 224)
    assert full.mask(64, 64).shape == (MOST_TOKENS, MOST_TOKENS)


@pytest.mark.parametrize("name", FULL_NAMES)
def test_what_one_query_sees_is_its_row_of_the_mask(name):
    H, W = 6, 9
    mask = PATTERNS[name].mask(H, W)
    for row, column in ((0, 0), (2, 7), (5, 8)):
        np.testing.assert_array_equal(PATTERNS[name].sees(row, column, H, W).ravel(), mask[row * W + column])


def test_what_one_pixel_of_a_photograph_sees():
    seen = PATTERNS["local"].sees(100, 30, 224, 224, k=7)
    assert seen.sum() == 49 and seen[97:104, 27:34].all()
    strided = PATTERNS["strided-2"].sees(100, 30, 224, 224)
    assert np.argwhere(strided).tolist() == [[r, 30] for r in range(101)]


def by_walking(earlier, later, residual):
    N = len(earlier)
    reach = np.zeros((N, N), dtype=bool)
    for i in range(N):
        for m in range(N):
            if later[i, m] or (residual and i == m):
                for j in range(N):
                    reach[i, j] |= earlier[m, j] or (residual and m == j)
    return reach


def test_two_layers_by_walking():
    rng = np.random.default_rng(2)
    for _ in range(20):
        earlier, later = rng.random((2, 13, 13)) < 0.12
        for residual in (True, False):
            np.testing.assert_array_equal(two_layers(earlier, later, residual), by_walking(earlier, later, residual))


def test_axial_layers_reach_everything_in_either_order():
    row, column = (PATTERNS[f"axial-{axis}"].mask(5, 8) for axis in ("row", "column"))
    for residual in (True, False):
        assert two_layers(row, column, residual).all() and two_layers(column, row, residual).all()
    assert not two_layers(row, row).all()


@pytest.mark.parametrize("first", ["strided-1", "strided-1-released"])
def test_strided_reaches_all_that_is_causal_in_either_order(first):
    for H, W, l in ((8, 8, 8), (16, 16, 16), (7, 9, 9), (6, 9, 7)):
        window, stride = PATTERNS[first].mask(H, W, l=l), PATTERNS["strided-2"].mask(H, W, l=l)
        causal = PATTERNS["causal"].mask(H, W)
        for earlier, later in ((window, stride), (stride, window)):
            np.testing.assert_array_equal(two_layers(earlier, later, residual=False), causal)


def test_fixed_reaches_all_only_in_one_order_and_only_with_the_residual_path():
    block, summary = PATTERNS["fixed-1"].mask(8, 8), PATTERNS["fixed-2"].mask(8, 8)
    causal = PATTERNS["causal"].mask(8, 8)
    np.testing.assert_array_equal(two_layers(earlier=block, later=summary), causal)
    assert two_layers(earlier=summary, later=block).sum() == 512 < causal.sum() == 2_080
    assert not np.array_equal(two_layers(block, summary, residual=False), causal)
    merged = PATTERNS["fixed"].mask(8, 8)
    np.testing.assert_array_equal(two_layers(merged, merged, residual=False), causal)


def test_two_layers_refuses_what_is_no_mask():
    mask = PATTERNS["causal"].mask(2, 3)
    for bad in (mask.astype(float), mask[:, :5], mask[0]):
        for pair in ((mask, bad), (bad, mask)):
            with pytest.raises(ValueError, match="a mask is a square bool array"):
                two_layers(*pair)
        with pytest.raises(ValueError, match="a mask is a square bool array"):
            with_class_token(bad)
    with pytest.raises(ValueError, match="over the same tokens"):
        two_layers(mask, PATTERNS["causal"].mask(3, 3))


def test_the_class_token_reads_all_and_is_read_by_all():
    mask = PATTERNS["axial-row"].mask(3, 4)
    with_class = with_class_token(mask)
    assert with_class.shape == (13, 13) and with_class[0].all() and with_class[:, 0].all()
    np.testing.assert_array_equal(with_class[1:, 1:], mask)


def test_letters_hold_choices_defaults_and_what_follows():
    assert PATTERNS["fixed-2"].letters(5, 7, c=3) == dict(H=5, W=7, N=35, l=7, c=3, B=5, r=0, u=0)
    assert all(type(value) is int for value in PATTERNS["image-transformer-2d"].letters(5, 7).values())


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("local", {"k": 4}, "a middle only if k is odd; got k = 4"),
        ("local", {"k": 0}, r"k \(side of the window, odd\) must be a positive whole number, got 0"),
        ("local", {"k": 3.0}, "got 3.0"),
        ("local", {"k": True}, "got True"),
        ("local", {"l": 3}, "local has no parameter 'l'; it has k"),
        ("axial", {"l": 3}, "axial has no parameter 'l'; it has none"),
        ("strided", {"l": "8"}, r"l \(stride\).*got '8'"),
        ("fixed-2", {"l": 4, "c": 5}, "at most l summary columns c; got l = 4, c = 5"),
        ("fixed-2-inclusive", {"l": 4, "c": 4}, "c must be less than l; got l = 4, c = 4"),
        ("image-transformer-1d", {"lm": -1}, "at least 0, got -1"),
    ],
)
def test_bad_parameters(name, chosen, message):
    for method in (PATTERNS[name].mask, PATTERNS[name].pairs):
        with pytest.raises(ValueError, match=message):
            method(5, 7, **chosen)


def test_bad_grids_and_queries():
    full = PATTERNS["full"]
    for H, W in ((0, 5), (5, -1), (5.0, 5), ("5", 5), (True, 5)):
        with pytest.raises(ValueError, match="must be a positive whole number"):
            full.pairs(H, W)
    for row, column in ((5, 0), (0, 7)):
        with pytest.raises(ValueError, match="outside a grid of 5 rows and 7 columns"):
            full.sees(row, column, 5, 7)
    with pytest.raises(ValueError, match="row must be a whole number of at least 0, got -1"):
        full.sees(-1, 0, 5, 7)
    with pytest.raises(ValueError, match="D must be"):
        full.multiply_adds(5, 7, 0)


def test_the_data_for_a_widget_is_plain():
    data = [pattern.as_data() for pattern in PATTERNS.values()]
    again = json.loads(json.dumps(data))
    assert [entry["name"] for entry in again] == FULL_NAMES
    assert all(isinstance(entry["rule"], str) and isinstance(entry["count"], str) for entry in again)


def test_patterns_need_numpy_and_the_reader_of_formulas():
    code = (
        "import sys, vitbook.studies.patterns, vitbook.studies.convolution; "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('vitbook', 'torch', 'transformers')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    studies = [f"vitbook.studies{room}" for room in ("", ".convolution", ".formulas", ".patterns")]
    assert done.stdout.strip() == str(["vitbook", "vitbook.checks", *studies, "vitbook.wording"])
