"""Write book/exercises.md from the exercises of vitbook, so that the page and the graders cannot drift apart.

    python tools/exercises_chapter.py            # rewrite the chapter
    python tools/exercises_chapter.py --check    # only compare what is committed with what would be written

The text stands in the page and not in the output of a cell, so that it can be read, searched and unfolded with no kernel.
``tests/test_exercises_chapter.py`` holds the file in step with the records.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path

from vitbook.exercises import EXERCISES, Exercise

CHAPTER = Path(__file__).resolve().parents[1] / "book" / "exercises.md"

#: Name of a chapter in the records -> where to read about it: (link text, file) each.
READ = {
    "From pixels to a sequence": [("From pixels to a sequence", "patches.md")],
    "Equation 1": [("Equation 1", "eq1.md")],
    "Position embeddings": [("Position embeddings", "positions.md")],
    "The pieces of the encoder": [("Equation 2", "eq2.md"), ("Equation 3", "eq3.md")],
    "Appendix A": [("Appendix A", "appendix_a.md")],
    "Equations 2 and 3": [("Equation 2", "eq2.md"), ("Equation 3", "eq3.md")],
    "The encoder block from scratch": [("The encoder block", "encoder_block.md")],
    "Equation 4": [("Equation 4", "eq4.md")],
    "Where the parameters sit": [("Where the parameters sit", "counting.md")],
    "Roads not taken": [("The roads not taken", "related_work.md")],
    "Looking at heads": [("Looking at heads", "looking_at_heads.md")],
}
TITLES = {
    "place_of_token": "Where does a token sit?",
    "token_of_place": "And the way back",
    "cut_patches": "Cut a picture",
    "assemble_picture": "Put it together again",
    "embed": "The sequence that enters",
    "resample_positions": "Positions for another grid",
    "layer_norm": "LayerNorm",
    "softmax": "Softmax",
    "gelu_erf": "GELU",
    "gelu_tanh": "GELU, the other form",
    "attention_head": "One head",
    "msa": "All heads at once",
    "u_qkv_per_head": "The paper's matrices from the checkpoint's",
    "encoder_layer": "Put the parts in order",
    "vit_encoder_block": "The whole block",
    "class_logits": "Read the answer",
    "top_k": "Rank it",
    "count_parameters": "Count them all",
    "local_mask": "A square window",
    "axial_mask": "Rows and columns",
    "attention_distance": "How far does a head look?",
    "rollout": "Through all layers",
}
# What reads better as code: calls, indexing, names with an underscore, and signs between spaces.
CODE = re.compile(
    r"\berf = np\S+ \S+\]\)|\b(?:np|math|x)\.\w+(?:\((?:[^()]|\([^()]*\))*\))?(?!\w)|\breshape\([^()]*\)|\bkeepdims=True"
    r"|\b[rA]\[[^\]]*\](?: (?:-|==) r\[[^\]]*\])?|\b(?!D_h)[A-Za-z]+_[a-z_]*[a-z12]\b|(?<= )(?://|%|@|\|)(?=[ .,])"
)

HEAD = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Exercises that check themselves

Reading about attention is one thing, and writing it is another.
Here every step of the model is yours to write.
Each answer is tried at once, on sizes and numbers that you have not chosen yourself.

```{admonition} In this chapter
:class: vb-contract
**You will** write the model in small pieces, from the place of a token to the whole encoder block, and what is read off it.

**You will learn** to make the mistakes that everybody makes once, and what each of them is called.

**You need** NumPy. PyTorch is not needed, and arrays are small.
```

```{admonition} In the built page, or in JupyterLab
:class: tip
The page shows each task with its hints and one solution, folded away; click to unfold them one at a time.
To work on them, open this chapter in JupyterLab (`make lab`), fill in a function and run the cell below it.
```

## What a check tells you

`vitbook.check` has a grader for every exercise.
It runs your function on fixed and random cases, odd sizes and extreme numbers among them, and compares with a solution.
A result that equals a *known mistake* is named:

```{code-cell} ipython3
import numpy as np

import vitbook


def my_softmax(scores):
    powers = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return powers / powers.sum(axis=-2, keepdims=True)


vitbook.check.softmax(my_softmax)
```

Whatever a function does, the notebook survives it.
This one writes into the array that it was given, and the next one never ends:

```{code-cell} ipython3
def careless(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


vitbook.check.softmax(careless)
```

```{code-cell} ipython3
def endless(scores):
    while True:
        scores = scores / 2


vitbook.check.softmax(endless, seconds=0.5)
```

A report also holds the failing case itself, to look at: `report.arguments`, `report.expected`, `report.got`.
And this is what you are after:

```{code-cell} ipython3
def careful(scores):
    return careless(scores.copy())


report = vitbook.check.softmax(careful)
assert report.passed
report
```
"""

TAIL = """\

## How far are you?

Every function of this chapter, as it stands now:

```{code-cell} ipython3
for grader in vitbook.check:
    print(grader(globals().get(grader.exercise.name)).title)
```

```{code-cell} ipython3
:tags: [hide-input]

solved = [grader for grader in vitbook.check if grader(grader.exercise.function)]
assert len(solved) == len(vitbook.check)                         # the folded solutions, each through its own check
named = sum(len(grader.exercise.mistakes) for grader in vitbook.check)
print(f"The solutions of all {len(solved)} exercises pass; {named} mistakes are known by name.")
```

```{admonition} Takeaways
:class: vb-takeaways
- A function is right when it is right on odd sizes and extreme numbers. Square inputs hide transposed axes.
- Most wrong results have been seen before, and their name is half of the repair.
- With these functions in hand you have written everything between a picture and its answer.
```

**The end of the book**, and a beginning: what such mistakes do to a real model stands in [the encoder block](encoder_block.md).
Break it in a way that is not in the list.
"""


def chapter() -> str:
    """The whole chapter as text."""
    parts = [HEAD]
    for name, group in groupby(EXERCISES, key=lambda exercise: exercise.chapter):
        links = " and ".join(f"[{text}]({file})" for text, file in READ[name])
        parts.append(f"\n## {name}\n\nRead first: {links}.\n")
        parts += [section(exercise) for exercise in group]
    return "".join([*parts, TAIL])


def section(exercise: Exercise) -> str:
    """One exercise: the task, a cell to begin with, a cell that checks, hints one inside the other, a solution."""
    body = f"\n### {TITLES[exercise.name]}\n\n{marked(exercise.statement)}\n\n"
    body += cell(exercise.starter) + cell(f"vitbook.check.{exercise.name}({exercise.name})\n")
    for number, hint in enumerate(exercise.hints, start=1):
        body += f"<details>\n<summary>Hint {number} of {len(exercise.hints)}</summary>\n\n{marked(hint)}\n\n"
    body += "</details>\n" * len(exercise.hints)
    body += f"\n<details>\n<summary>A solution</summary>\n\n```python\n{exercise.solution.strip()}\n```\n\n</details>\n"
    return body


def cell(source: str) -> str:
    return f"```{{code-cell}} ipython3\n{source.strip()}\n```\n\n"


def marked(text: str) -> str:
    """Words of a record as Markdown: code between backticks, a sentence a line."""
    text = CODE.sub(lambda found: f"`{found[0]}`", text)
    return re.sub(r"(?<=[.?!]) (?=[A-Z{`])", "\n", text)


def main() -> int:
    if "--check" not in sys.argv[1:]:
        CHAPTER.write_text(chapter(), encoding="utf-8")
        return 0
    if CHAPTER.read_text(encoding="utf-8") == chapter():
        return 0
    print(f"{CHAPTER.name} is not what the exercises say: run python tools/exercises_chapter.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
