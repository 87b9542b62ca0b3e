"""No measured number is typed into prose: it is glued from the cell that computed it, or taken from the ledger by name.

What a chapter may type are definitions, names and arithmetic. The checker reads the sources of the chapters, takes out code,
roles and names, and asks of every number that is left whether it stands in one of the lists below, each with its reason.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny

from bookbuild.myst import Chapter, Piece, read
from vitbook.figures import facts

BOOK = Path(__file__).parents[1] / "book"

#: Numbers that any chapter may type.
EVERYWHERE = {
    **dict.fromkeys("0 1 2 3 4".split(), "counting on one hand: tokens, rows, equations, halves"),
    **dict.fromkeys(
        "5 6 7 8 9 10".split(), "small counts and indices of a definition or of a step that the text names"
    ),
    **dict.fromkeys("12 24 32 768 1024 1280 3072 4096 5120".split(), "Table 1: layers and widths"),
    **dict.fromkeys("14 16 32 196 197 224".split(), "ViT-B/16 at 224 pixels: grid, patch, tokens, side"),
    **dict.fromkeys("384 512 518".split(), "resolutions of fine-tuning"),
    **dict.fromkeys("64 80".split(), "widths of a head"),
    **dict.fromkeys("255 100 1000".split(), "grey levels, per cent, ImageNet's classes"),
    "0.5": "the half of 0 to 1, mean and standard deviation of ViT's preprocessing",
}

#: Numbers that one chapter types, with the reason.  A measured number has no place here.
IN_CHAPTER = {
    "counting": {"0.6": "arithmetic of an answer", "13": "12 D² + 13 D", "307": "the name of the puzzle"},
    "encoder_block": {
        "0.044715": "the coefficient in the definition of the tanh form",
        "0.04471": "the same with a digit lost",
        "0.75": "where GELU has its minimum, a value of the function",
        "10000": "published: the paper's warm-up",
    },
    "eq2": {
        **dict.fromkeys(
            "2.72 20.09 1.00 23.80 0.11 0.84 0.04".split(), "arithmetic of the invented example, worked in its cell"
        ),
        **dict.fromkeys("0.25 0.01 0.99".split(), "w (1 - w) at two weights"),
        **dict.fromkeys("60 20".split(), "the shares of the invented layers"),
    },
    "eq3": {
        "0.1587": "GELU(-1), a value of the function",
        "0.17": "its minimum",
        "0.044715": "the coefficient in the definition of the tanh form",
        "25": "the squares that a small picture is cut into",
    },
    "exercises": {
        "0.044715": "the coefficient that the task names",
        "1e-6": "the epsilon that the task names",
        **dict.fromkeys("15 20 25 30 45".split(), "minutes that a task may take, a guess of ours"),
    },
    "ledger": {"20": "the rule of the ledger: half a unit and a twentieth"},
    "hybrid": {
        **dict.fromkeys("576 144 31 63".split(), "arithmetic of an answer: tokens and reach after each stride"),
        "50": "the layers of a ResNet-50",
    },
    "looking_at_heads": {
        "128": "published: the pictures that the paper's figure averages over",
        "11": "the answer of an exercise, 11/16",
        "0.5": "two maps of three patches, invented",
        "0.3": "the same",
        "0.2": "the same",
        "80": "what the two invented maps have in common",
    },
    "numerics": {
        "0.044715": "the coefficient in the definition of the tanh form",
        **dict.fromkeys("1.000001 1.00000001".split(), "the factors of the planted bug"),
        "1700": "the size that an exercise supposes",
        "0.00012": "its answer, 2 to the power of -13",
    },
    "related_work": {
        **dict.fromkeys("39 34".split(), "published: what SASA saves"),
        "40": "the largest alpha of the choice",
        "48": "published: iGPT's sides",
        **dict.fromkeys("69.0 72.0 68.7 6.8 15360".split(), "published: iGPT's two abstracts and what belongs to them"),
    },
}

# What names something.
NAMES = (
    re.compile(
        r"\b(?:Eq\.|Equations?|Sections?|Tables?|Figures?|Fig\.|Appendix|Part|Theorem|Chapters?)[ ~]+"
        r"[A-Z]?[\d.]+(?:,? *(?:to|and|or|–)? *[A-Z]?\d[\d.]*)*"
    ),
    re.compile(
        r"(?i)\b(?:layers?|heads?|tokens?|patch(?:es)?|rows?|columns?|steps?|class(?:es)?)[ ]+\d+(?:,? *(?:to|and|or)? *\d+\b)*"
    ),
    re.compile(r"(?<![\w.])[A-Za-z][A-Za-z_/-]*\d[\w./-]*"),  # ViT-B/16, float32, DINOv2, D_h2, x86
    re.compile(r"/\d+\b"),  # "/16": a model by its patch
    re.compile(r"\b(?:19|20)\d\d[a-z]?\b"),  # years
    re.compile(r"\b\d{4}\.\d{4,5}\b"),  # arXiv
    re.compile(r"https?://\S+"),
    re.compile(r"\b\d+(?:st|nd|rd|th)\b"),
    re.compile(r"\bPython \d[\d.]*|\btransformers \d[\d.]*|\bWCAG [\d.]+"),
    re.compile(r"[₀-₉⁰-⁹²³]+"),
)
#: TeX -> Python, for formulas that are nothing but arithmetic.
ARITHMETIC = (
    (r"\{,\}|\\[,;!]|\s", ""),
    (r"\\(?:cdot|times)", "*"),
    (r"\\(?:ln|log)\{?(\d+)\}?", r"log(\1)"),
    (r"\\sqrt\{(\d+)\}", r"sqrt(\1)"),
    (r"\^\{?(-?\d+)\}?", r"**(\1)"),
    (r"(\d|\))\(", r"\1*("),
)
ONLY_ARITHMETIC = re.compile(r"(?:[-+*/().\d]|log|sqrt)+")
NUMBER = re.compile(r"(?<![\w.])\d+(?:[,\u202f]\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


def typed_numbers(source: str) -> list[tuple[int, str]]:
    """(line, number) for every number that a chapter's prose or formulas type themselves."""
    chapter = read(source)
    prose = chapter.prose()
    for pattern in NAMES:
        prose = pattern.sub(_blank, prose)
    texts = [(1, prose), *((_line_of(formula, chapter), _digits(formula.text)) for formula in chapter.formulas)]
    found = [
        (line + text.count("\n", 0, match.start()), re.sub(r"[,\u202f]", "", match[0]))
        for line, text in texts
        for match in NUMBER.finditer(text)
    ]
    return sorted(found, key=lambda item: item[0])


def _line_of(formula: Piece, chapter: Chapter) -> int:
    """The line on which the TeX of a formula begins."""
    return chapter.line(formula.inside[0] if formula.kind == "directive" else formula.start)


def _digits(tex: str) -> str:
    """The numbers of a formula at their lines, without powers and indices; nothing for arithmetic that holds."""
    if holds(tex):
        return ""
    return re.sub(r"[A-Za-z_]+", " ", re.sub(r"[\^_]\{?-?\d+\}?", " ", tex.replace("{,}", "")))


def offences(name: str, source: str) -> list[str]:
    """The typed numbers that no list allows, one line each."""
    allowed = EVERYWHERE.keys() | IN_CHAPTER.get(name, {}).keys()
    return [
        f"book/{name}.md, line {line}: {number} is typed; glue it from the cell that computes it, take it from "
        "vitbook.published(...), or, if it is a definition, say so in tests/test_prose.py"
        for line, number in typed_numbers(source)
        if number not in allowed
    ]


def holds(formula: str) -> bool:
    """Whether a formula is an equation between numbers, and a true one: sums that a reader can check need no allowance.

    True to the digits of its right side, so that 3.14 may stand for a longer number.
    """
    for pattern, plain in ARITHMETIC:
        formula = re.sub(pattern, plain, formula)
    sides = re.split(r"=|\\approx", formula.rstrip(".,;"))
    if len(sides) < 2 or not all(ONLY_ARITHMETIC.fullmatch(side) for side in sides):
        return False
    values = [eval(side, {"__builtins__": {}}, {"log": math.log, "sqrt": math.sqrt}) for side in sides]
    digits = len(sides[-1].partition(".")[2]) if re.fullmatch(r"[\d.]+", sides[-1]) else 9
    return all(abs(value - values[-1]) <= 0.5 * 10**-digits for value in values)


def _blank(match: re.Match) -> str:
    """The same number of lines, and nothing on them."""
    return "\n" * match[0].count("\n") or " "


CHAPTERS = sorted(path.stem for path in BOOK.glob("*.md"))


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_measured_number_is_typed(name):
    assert offences(name, (BOOK / f"{name}.md").read_text(encoding="utf-8")) == []


def glue_calls(source: str) -> list[ast.Call]:
    """Every ``glue(...)`` of a chapter."""
    trees = [ast.parse(cell.text) for cell in read(source).cells]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "glue"]


def faults_of_glue(source: str) -> list[str]:
    """What is wrong between a chapter's text and its glue."""
    keywords = [keyword for call in glue_calls(source) for keyword in call.keywords]
    names = Counter(keyword.arg for keyword in keywords if keyword.arg)
    dictionaries = [ast.unparse(keyword.value) for keyword in keywords if not keyword.arg]
    if FACTS in dictionaries:
        names.update(list(facts(SimpleNamespace(config=tiny.ODD, name="odd"))))
    used = [role.text for role in read(source).find("role", "glue:text")]
    faults = [f"{name}: the format belongs to the glue" for name in used if ":" in name]
    faults += [f"{name} is glued twice" for name, times in names.items() if times > 1]
    faults += [f"{ast.unparse(key)}: a literal is typed, by another way" for key in keywords if literal(key)]
    if set(dictionaries) <= {FACTS}:  # of another dictionary the build knows the names
        faults += [f"{name} is not glued" for name in used if name.partition(":")[0] not in names]
    return faults


FACTS = "facts(checkpoint)"


def literal(keyword: ast.keyword) -> bool:
    """Whether a number is glued that stands there in digits, with a format or without."""
    value = keyword.value.elts[0] if isinstance(keyword.value, ast.Tuple) else keyword.value
    value = value.operand if isinstance(value, ast.UnaryOp) else value
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


@pytest.mark.parametrize("name", CHAPTERS)
def test_glue_is_fed_plain_numbers(name):
    """Every name in the text is glued in the same chapter, once, with its format, and no chapter glues a literal."""
    assert faults_of_glue((BOOK / f"{name}.md").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code, text, fault",
    [
        ("glue(a=x)", "`a`", None),
        ('glue(".1f", a=x, b=(y, ".2f"))', "`a` and {glue:text}`b`", None),
        ("glue(**facts(checkpoint))", "`tokens`", None),
        ('glue(**{f"{kind}_share": n for kind, n in shares})', "`mlp_share`", None),
        ("glue(a=x)", "`b`", "b is not glued"),
        ("glue(a=x)", "`a:.1f`", "a:.1f: the format belongs to the glue"),
        ("glue(a=x)\nglue(a=y)", "`a`", "a is glued twice"),
        ("glue(**facts(checkpoint), N=x)", "`N`", "N is glued twice"),
        ("glue(a=0.761)", "`a`", "a=0.761: a literal is typed, by another way"),
        ('glue(a=(-3, "d"))', "`a`", "a=(-3, 'd'): a literal is typed, by another way"),
    ],
)
def test_what_is_caught_between_text_and_glue(code, text, fault):
    source = f"```{{code-cell}} ipython3\n:tags: [remove-cell]\n\n{code}\n```\n\nIt is {{glue:text}}{text}.\n"
    assert faults_of_glue(source) == ([fault] if fault else [])


def test_lists_hold_nothing_that_is_not_used():
    """An allowance that no chapter needs any more goes."""
    for name, allowed in IN_CHAPTER.items():
        if name in CHAPTERS:
            typed = {number for _, number in typed_numbers((BOOK / f"{name}.md").read_text(encoding="utf-8"))}
            assert allowed.keys() <= typed, f"{name}: {sorted(allowed.keys() - typed)} is no longer typed"


@pytest.mark.parametrize(
    "prose, caught",
    [
        ("The weight is 0.7613.", ["0.7613"]),
        ("Nearly 86,567,656 of them.", ["86567656"]),
        ("About 65% are MLP.", ["65"]),
        ("It moves by 5.13e-06.", ["5.13e-06"]),
        ("a difference of {math}`6.7 \\times 10^{-6}`", ["6.7"]),
        ("$$\n m = 1{,}699.6\n$$", ["1699.6"]),
        ("It is {glue:text}`w:.3f`, and 0.123 too.", ["0.123"]),
        ("- 37 heads out of 144", ["37", "144"]),
        ("| a | 21.2 |", ["21.2"]),
        ("```{admonition} 42 rows\n:class: tip\n99.5 here\n```", ["42", "99.5"]),
    ],
)
def test_what_is_caught(prose, caught):
    assert [number for _, number in typed_numbers(prose) if number not in EVERYWHERE] == caught


@pytest.mark.parametrize(
    "prose",
    [
        "The value is {glue:text}`weight:.4f`.",
        "Equation 17, Section 4.1, Table 8, Appendix D.3 and Figures 11 and 14.",
        "ViT-B/16, ViT-L/32, DINOv2 and float32; patches of /14.",
        "In 2020, {cite:t}`dosovitskiy2021vit`, arXiv 2010.11929.",
        "`x[:, 16:32, 48:64]` and ``0.123``",
        "See [this](https://example.org/123456.html) and https://example.org/99.",
        "layer 11, heads 3, 17 and 99, patch 153",
        "{math}`\\mathbf{x}_{17}^{23}` and {math}`10^{-42}`",
        "---\ntitle: 123\n---\n",
        "```{code-cell} ipython3\nprint(0.7613)\n```",
        "```python\nprint(0.7613)\n```",
        "```{image} x.png\n:width: 345px\n```",
        "17. the seventeenth item",
        "a picture of 224 × 224 pixels has 14 × 14 = 196 patches",
    ],
)
def test_what_is_let_through(prose):
    assert [number for _, number in typed_numbers(prose) if number not in EVERYWHERE] == []


@pytest.mark.parametrize(
    "formula, true",
    [
        ("17 = 1 \\cdot 14 + 3", True),
        ("4 (768^2 + 768) = 2{,}362{,}368", True),
        ("4 (768^2 + 768) = 2{,}362{,}369", False),
        ("\\ln 1000 = 6.908", True),
        ("\\ln 1000 = 6.909", False),
        ("(4096/196)^2 \\approx 437", True),
        ("2^{-2} = 0.25 = 1/4", True),
        ("m = 0.7613", False),
        ("0.7613", False),
        ("N = 14 \\cdot 14 = 196", False),
    ],
)
def test_arithmetic_is_checked(formula, true):
    assert holds(formula) is true


def test_the_line_is_named():
    source = "---\na: 1\n---\n\n# Title\n\n```{code-cell}\n1.23\n```\n\nIt is 9.87.\n\n$$\nx\n= 6.54\n$$\n"
    assert typed_numbers(source) == [(11, "9.87"), (15, "6.54")]
    assert offences("nowhere", source)[0].startswith("book/nowhere.md, line 11: 9.87 is typed; glue it")
