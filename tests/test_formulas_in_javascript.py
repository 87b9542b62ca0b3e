"""The formulas that a widget evaluates in the browser give there what they give in Python: the same text, two readers."""

from __future__ import annotations

import json
import random
import shutil
import subprocess

import pytest

from vitbook.config import VARIANTS
from vitbook.studies.counting import (
    MULTIPLY_ADDS,
    PARAMETERS,
    count_parameters,
    letters,
    multiply_adds,
    one_token_a_pixel,
)
from vitbook.studies.formulas import closed_form
from vitbook.studies.patterns import PATTERNS

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node, the JavaScript engine on the command line")

#: Everything that a browser needs beside the data: the five functions, and one way to read a line of text.
SCRIPT = """
const compile = (text, names) => new Function("abs", "min", "max", "floor", "ceil", ...names, `return ${text}`)
  .bind(null, Math.abs, Math.min, Math.max, Math.floor, Math.ceil);
const read = (text, letters) => compile(text, Object.keys(letters))(...Object.values(letters));

function lettersOf(pattern, H, W, chosen) {
  const letters = {H, W, N: H * W};
  for (const p of pattern.parameters) letters[p.letter] = p.letter in chosen ? chosen[p.letter] : read(p.default, letters);
  for (const [letter, formula] of pattern.derived) letters[letter] = read(formula, letters);
  return letters;
}

function sees(pattern, i, letters) {
  const {W, N} = letters, row = (n) => Math.floor(n / W), column = (n) => n % W;
  const rule = compile(pattern.rule, ["i", "j", "ri", "ci", "rj", "cj", ...Object.keys(letters)]);
  const reads = (j) => rule(i, j, row(i), column(i), row(j), column(j), ...Object.values(letters));
  return Array.from({length: N}, (_, j) => Number(reads(j)));
}

const {formulas, patterns} = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({
  formulas: formulas.map(({text, letters}) => read(text, letters)),
  patterns: patterns.map(({pattern, H, W, chosen, query}) => {
    const letters = lettersOf(pattern, H, W, chosen);
    const fulfilled = pattern.needs.every(([condition]) => read(condition, letters));
    return {letters, pairs: read(pattern.count, letters), sees: sees(pattern, query, letters), fulfilled};
  }),
}));
"""


def in_javascript(**data: object) -> dict:
    done = subprocess.run([NODE, "-e", SCRIPT], input=json.dumps(data), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_counts_of_models():
    formulas, expected = [], []
    for config in (*VARIANTS.values(), one_token_a_pixel(VARIANTS["ViT-B/16"])):
        for K, pre_logits in ((None, False), (1000, True)):
            values = letters(config, K, pre_logits)
            for terms, count in ((PARAMETERS, count_parameters), (MULTIPLY_ADDS, multiply_adds)):
                formulas.append({"text": closed_form(terms), "letters": values})
                expected.append(count(config, K, pre_logits).total)
                for part in count(config, K, pre_logits).parts:
                    formulas.append({"text": part.term.formula, "letters": values})
                    expected.append(part.each)
    assert max(expected) < 2**53, "JavaScript's numbers are exact only below"
    assert in_javascript(formulas=formulas, patterns=[])["formulas"] == expected


def test_patterns():
    rng = random.Random(19)
    cases = []
    for pattern in PATTERNS.values():
        for size in (5, 9, 13):
            H, W = rng.randint(2, size), rng.randint(2, size)
            chosen = {} if size == 13 else {p.letter: 3 for p in pattern.parameters if p.letter != "c"}
            cases.append({"pattern": pattern, "H": H, "W": W, "chosen": chosen, "query": rng.randrange(H * W)})
    answers = in_javascript(formulas=[], patterns=[case | {"pattern": case["pattern"].as_data()} for case in cases])
    for case, answer in zip(cases, answers["patterns"], strict=True):
        pattern, H, W, chosen, query = case.values()
        assert answer["letters"] == pattern.letters(H, W, **chosen)
        assert answer["pairs"] == pattern.pairs(H, W, **chosen)
        assert answer["sees"] == pattern.mask(H, W, **chosen)[query].tolist()
        assert answer["fulfilled"]


def test_large_grids_and_choices_that_are_not_allowed():
    plain = [pattern for pattern in PATTERNS.values() if not pattern.parameters]
    cases = [{"pattern": pattern.as_data(), "H": 1, "W": 50176, "chosen": {}, "query": 0} for pattern in plain]
    cases += [
        {"pattern": PATTERNS["local"].as_data(), "H": 5, "W": 7, "chosen": {"k": 4}, "query": 0},
        {"pattern": PATTERNS["fixed-2"].as_data(), "H": 5, "W": 7, "chosen": {"l": 3, "c": 4}, "query": 0},
    ]
    answers = in_javascript(formulas=[], patterns=cases)["patterns"]
    for pattern, answer in zip(plain, answers, strict=False):
        assert answer["pairs"] == pattern.pairs(1, 50176)
    assert [bool(answer["fulfilled"]) for answer in answers[-2:]] == [False, False]
