"""Counts three ways: by formula, by numel() of the library's model on the meta device, and as published."""

from __future__ import annotations

import dataclasses
import random
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from vitbook.config import VARIANTS, ViTConfig
from vitbook.studies.counting import (
    BERT_PARAMETERS,
    MULTIPLY_ADDS,
    PARAMETERS,
    PRINTED_MILLIONS,
    bert_parameters,
    count_parameters,
    crossover,
    letters,
    multiply_adds,
    one_token_a_pixel,
    search_table_1,
    table_1,
    uniform_recipes,
)
from vitbook.studies.formulas import Count, as_latex, as_text, closed_form, evaluate

B16, L16, L32, H14 = (VARIANTS[f"ViT-{name}"] for name in ("B/16", "L/16", "L/32", "H/14"))
ODD = ViTConfig(H=15, W=35, P=5, D=12, L=3, heads=4, M=17)  # H != W, D != N + 1 = 22, heads != L, C = 3 beside P = 5


def at(config: ViTConfig, side: int) -> ViTConfig:
    return replace(config, H=side, W=side)


def some_config(rng: random.Random) -> ViTConfig:
    P, heads = rng.randint(1, 9), rng.randint(1, 6)
    rows, columns = rng.sample(range(1, 8), 2)
    D = heads * rng.randint(1, 9)
    sizes = dict(
        P=P, H=P * rows, W=P * columns, heads=heads, D=D, L=rng.randint(1, 4), M=rng.randint(1, 70), C=rng.randint(1, 5)
    )
    return ViTConfig(**sizes, qkv_bias=rng.random() < 0.5)


def library_count(config: ViTConfig, classes: int | None, pre_logits: bool) -> int:
    import torch
    import transformers

    hf = transformers.ViTConfig(
        image_size=(config.H, config.W),
        patch_size=config.P,
        num_channels=config.C,
        hidden_size=config.D,
        num_hidden_layers=config.L,
        num_attention_heads=config.heads,
        intermediate_size=config.M,
        qkv_bias=config.qkv_bias,
        num_labels=classes or 2,
    )
    with torch.device("meta"):
        backbone = transformers.ViTModel(hf, add_pooling_layer=pre_logits)
        head = torch.nn.Linear(config.D, classes) if classes and pre_logits else None
        whole = transformers.ViTForImageClassification(hf) if classes and not pre_logits else backbone
    return sum(p.numel() for module in (whole, head) if module is not None for p in module.parameters())


@pytest.mark.slow
def test_equals_the_library_on_240_random_models():
    rng = random.Random(5)
    seen = set()
    for case in range(240):
        config = some_config(rng)
        classes = (None, rng.randint(1, 50))[case % 2]
        pre_logits = case % 4 in (1, 2)
        counted = count_parameters(config, classes, pre_logits).total
        assert counted == library_count(config, classes, pre_logits), (config, classes, pre_logits)
        seen.add((classes is None, pre_logits, config.qkv_bias))
    assert len(seen) == 8, "some kind of model never came up"


@pytest.mark.parametrize("name", VARIANTS)
def test_equals_the_library_on_table_1(name):
    assert count_parameters(VARIANTS[name], 1000).total == library_count(VARIANTS[name], 1000, False)
    assert count_parameters(VARIANTS[name], pre_logits=True).total == library_count(VARIANTS[name], None, True)


@pytest.mark.parametrize(
    ("config", "classes", "published"),
    [
        (B16, 1000, 86_567_656),
        (L16, 1000, 304_326_632),
        (H14, 1000, 632_045_800),
        (VARIANTS["ViT-B/32"], 1000, 88_224_232),
        (L32, 1000, 306_535_400),
        (at(B16, 384), 1000, 86_859_496),
        (at(L16, 512), 1000, 305_174_504),
        (at(H14, 518), 1000, 633_470_440),
        (B16, None, 85_798_656),
    ],
)
def test_equals_the_published_count(config, classes, published):
    assert count_parameters(config, classes).total == published


def test_the_parts_are_those_of_the_reference_run():
    count = count_parameters(B16, 1000)
    each = {part.term.name: part.each for part in count.parts if part.total}
    assert each == {
        "patch_embedding": 590_592,
        "class_token": 768,
        "positions": 151_296,
        "attention": 2_362_368,
        "mlp": 4_722_432,
        "norms": 3_072,
        "final_norm": 1_536,
        "head": 769_000,
    }
    assert count.layer == 7_087_872 == 12 * 768**2 + 13 * 768
    assert count["attention"].total == 12 * 2_362_368
    assert count.total == sum(part.total for part in count.parts)
    assert round(count.share("attention"), 3) == 0.327 and round(count.share("mlp"), 3) == 0.655
    assert count_parameters(B16, pre_logits=True).total == 86_389_248, "the tensors of the released in21k checkpoint"


def test_without_biases_each_layer_loses_3_D():
    config = replace(ODD, qkv_bias=False)
    assert count_parameters(ODD).total - count_parameters(config).total == 3 * ODD.D * ODD.L
    assert "no biases" in repr(count_parameters(config)) and "no biases" not in repr(count_parameters(ODD))


def attention_by_the_loop(T: int, D: int, heads: int, M: int) -> dict[str, int]:
    """Multiplications of one layer, counted matrix product by matrix product: (a, b) times (b, c) makes a b c of them."""

    def product(a: int, b: int, c: int) -> int:
        return a * b * c

    D_h = D // heads
    return {
        "projections": sum(3 * product(T, D, D_h) for _ in range(heads)) + product(T, heads * D_h, D),
        "scores": sum(product(T, D_h, T) for _ in range(heads)),
        "weighted_sum": sum(product(T, T, D_h) for _ in range(heads)),
        "mlp": product(T, D, M) + product(T, M, D),
    }


def test_multiply_adds_are_those_of_the_matrix_products():
    for config in (ODD, B16, H14):
        count = multiply_adds(config, 10)
        layer = attention_by_the_loop(config.N + 1, config.D, config.heads, config.M)
        assert {name: count[name].each for name in layer} == layer
        assert count.layer == sum(layer.values())
        assert count["patch_embedding"].total == config.N * config.patch_numbers * config.D
        assert count["head"].total == 10 * config.D
        assert multiply_adds(config, 10, pre_logits=True).total - count.total == config.D**2


def test_multiply_adds_of_base_as_published():
    count = multiply_adds(B16)
    assert round(count.total / 1e9, 2) == 17.56
    assert [round(count[name].each / 1e6, 1) for name in ("projections", "mlp")] == [464.8, 929.6]
    attention = count["scores"].each + count["weighted_sum"].each
    assert round(attention / 1e6, 1) == 59.6 and round(attention / count.layer, 3) == 0.041


def test_the_crossover_is_where_attention_equals_the_rest():
    assert crossover(B16) == 6 * 768 == 4608
    for config in (replace(ODD, P=1, H=1, W=40), B16):
        T = crossover(config)
        layer = attention_by_the_loop(T, config.D, config.heads, config.M)
        assert layer["scores"] + layer["weighted_sum"] == layer["projections"] + layer["mlp"]
    assert crossover(replace(ODD, H=5, W=5 * 40)) == 2 * 12 + 17 == 41
    across = multiply_adds(replace(ODD, H=5, W=5 * 40))  # 40 patches and [class]: 41 tokens, right on the crossing
    assert 2 * (across["scores"].each + across["weighted_sum"].each) == across.layer


def test_one_token_a_pixel():
    config = one_token_a_pixel(B16)
    assert (config.N, config.patch_numbers) == (50_176, 3)
    count = multiply_adds(config)
    assert round((count["scores"].each + count["weighted_sum"].each) / count.layer, 2) == 0.92
    assert count.total > 2800 * multiply_adds(B16).total


def test_table_1():
    rows = table_1()
    assert [(r["model"], r["L"], r["D"], r["M"], r["heads"], r["printed"]) for r in rows] == [
        ("ViT-Base", 12, 768, 3072, 12, 86),
        ("ViT-Large", 24, 1024, 4096, 16, 307),
        ("ViT-Huge", 32, 1280, 5120, 16, 632),
    ]
    assert [r["D_h"] for r in rows] == [64, 64, 80]
    assert {name: n for r in rows for name, n in r["backbone"].items()} == {
        name: count_parameters(config).total for name, config in VARIANTS.items()
    }


FITS = {
    ("ViT-B/14", 224, None, False),
    ("ViT-B/14", 224, 1000, False),
    ("ViT-B/14", 224, None, True),
    ("ViT-B/16", 224, None, False),
    ("ViT-B/16", 384, None, False),
    ("ViT-B/16", 512, None, False),
    ("ViT-B/16", 224, None, True),
    *(("ViT-L/32", side, *head) for side in (224, 384, 512) for head in ((1000, False), (None, True))),
    ("ViT-H/14", 224, 1000, False),
    ("ViT-H/14", 224, None, True),
    ("ViT-H/14", 518, None, False),
    ("ViT-H/16", 224, 1000, False),
    ("ViT-H/16", 512, None, False),
}


def test_the_search_for_307_million():
    candidates = search_table_1()
    assert len(candidates) == 192
    assert {(c.name, c.resolution, c.classes, c.pre_logits) for c in candidates if c.fits} == FITS
    assert {c.P for c in candidates if c.fits and c.model == "ViT-Large"} == {32}
    base = next(c for c in candidates if (c.name, *c.recipe) == ("ViT-B/16", 224, 1000, False))
    assert base.total == 86_567_656 and base.rounded == 87 and not base.fits


def test_one_recipe_gives_all_three_numbers_with_models_of_the_paper():
    candidates = search_table_1()
    ((recipe, found),) = uniform_recipes(c for c in candidates if c.named).items()
    assert recipe == (224, None, True)
    assert {c.name: c.total for c in found} == {
        "ViT-B/16": 86_389_248,
        "ViT-L/32": 306_560_000,
        "ViT-H/14": 632_404_480,
    }
    assert [c.rounded for c in found] == list(PRINTED_MILLIONS.values())
    assert set(uniform_recipes(candidates)) == {recipe, (224, 1000, False)}, (
        "the second needs a B/14 that the paper lacks"
    )


def test_the_search_takes_other_choices_and_refuses_nonsense():
    (only,) = (
        c
        for c in search_table_1(patches=[7], resolutions=[21, 22], classes=[5], pre_logits=[True])
        if c.model == "ViT-Huge"
    )
    assert only.total == count_parameters(replace(H14, P=7, H=21, W=21), 5, True).total
    for bad in (
        dict(patches=[0]),
        dict(patches=[16.0]),
        dict(resolutions=[-224]),
        dict(classes=[0]),
        dict(pre_logits=[1]),
    ):
        with pytest.raises(ValueError, match="must be"):
            search_table_1(**bad)


def test_bert_base():
    import torch
    import transformers

    count = bert_parameters()
    assert count.total == 109_482_240
    embeddings = count.share("words", "positions", "segments", "embedding_norm")
    assert 0.20 < embeddings < 0.22, "about a fifth"
    odd = dict(V=31, S=7, G=3, D=12, L=3, M=17)
    hf = transformers.BertConfig(
        vocab_size=31, max_position_embeddings=7, type_vocab_size=3, hidden_size=12, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=17,
    )  # fmt: skip
    for config, ours in ((transformers.BertConfig(), {}), (hf, odd)):
        for pooler in (True, False):
            with torch.device("meta"):
                model = transformers.BertModel(config, add_pooling_layer=pooler)
            assert bert_parameters(**ours, pooler=pooler).total == sum(p.numel() for p in model.parameters())
    with pytest.raises(ValueError, match="V must be a positive whole number, got 0"):
        bert_parameters(V=0)


@pytest.mark.parametrize("classes", [0, -1, True, False, 10.0, "1000", [1000]])
def test_bad_classes(classes):
    for counter in (count_parameters, multiply_adds):
        with pytest.raises(ValueError, match=re.escape(f"or None: no class layer), got {classes!r}")):
            counter(ODD, classes)


@pytest.mark.parametrize("config", ["ViT-B/16", None, {"D": 768}, 768])
def test_not_a_config(config):
    for function in (count_parameters, multiply_adds, crossover, one_token_a_pixel, letters):
        with pytest.raises(TypeError, match="expected a ViTConfig"):
            function(config)


@pytest.mark.parametrize("pre_logits", [768, None, 1, "yes"])
def test_bad_pre_logits(pre_logits):
    with pytest.raises(ValueError, match="pre_logits must be true or false"):
        count_parameters(ODD, pre_logits=pre_logits)


def test_a_part_by_a_wrong_name():
    with pytest.raises(KeyError, match=r"no part 'mpl'.*mlp"):
        count_parameters(ODD)["mpl"]


def test_counts_are_frozen_comparable_and_exact_integers():
    count = count_parameters(ODD, 7, True)
    assert count == count_parameters(ODD, 7, True) and hash(count) == hash(count_parameters(ODD, 7, True))
    assert count != count_parameters(ODD, 8, True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        count.title = ""
    assert all(type(n) is int for part in count.parts for n in (part.each, part.times, part.total))


def test_the_table_reads_well():
    lines = repr(count_parameters(B16, 1000)).splitlines()
    assert lines[0].startswith("parameters at 224 × 224 pixels, P = 16, C = 3, D = 768")
    assert lines[1].split() == ["part", "formula", "each", "times", "all", "share"]
    assert lines[-1].split() == ["total", "86,567,656", "100.0%"]
    assert len(lines) == 3 + 8 and "pre-logits" not in repr(count_parameters(B16)), "parts that are zero have no row"
    html = count_parameters(B16, 1000)._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") == 2 + 8 and "86,567,656" in html and "4D² + D + 3bD" in html
    rows = count_parameters(B16, 1000).rows()
    assert sum(row["total"] for row in rows) == 86_567_656 and abs(sum(row["share"] for row in rows) - 1) < 1e-12


@pytest.mark.parametrize("terms", [PARAMETERS, MULTIPLY_ADDS])
def test_the_closed_form_gives_the_total(terms):
    rng = random.Random(7)
    for case in range(50):
        config, classes = some_config(rng), (None, 9)[case % 2]
        values = letters(config, classes, case % 3 == 0)
        assert evaluate(closed_form(terms), values) == Count.of("", terms, values).total


def test_formulas_are_in_letters_that_python_and_javascript_both_read():
    allowed = re.compile(r"[A-Za-z]|\d+|\*\*2|[*+() ]")
    for term in (*PARAMETERS, *MULTIPLY_ADDS, *BERT_PARAMETERS):
        for text in (term.formula, term.times):
            assert allowed.sub("", text) == "", text
            assert set(re.findall("[A-Za-z]", text)) <= set("PCDLMNKbrVSG"), text
    assert as_text("2*(N + 1)*D*M + D**2") == "2(N + 1)DM + D²"
    assert as_latex("2*(N + 1)*D*M + D**2") == "2 (N + 1) D M + D^2"
    assert closed_form(PARAMETERS).startswith("P**2*C*D + D + D + (N + 1)*D + L*(4*D**2 + D + 3*b*D + 2*D*M")


def test_counting_needs_neither_torch_nor_numpy():
    code = (
        "import sys, vitbook, vitbook.studies.counting as c; vitbook.count_parameters(c.VARIANTS['ViT-B/16'], 1000); "
        "print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
