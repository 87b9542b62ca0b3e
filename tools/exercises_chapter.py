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
    "The whole model": [("All layers", "all_layers.md")],
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
    "vit": "From a picture to its y",
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

Could you write the whole model yourself?

Yes, one small function after the other.
Here are {glue:text}`count` tasks, and each is checked as soon as you run it.

```{code-cell} ipython3
:tags: [hide-input]

import numpy as np
import torch

import vitbook
from vitbook import figures
from vitbook.exercises import in_numpy
from vitbook.figures import glue
from vitbook.figures.palette import colour
from vitbook.figures.plotting import PHONE_WIDTH

tasks = [grader.exercise for grader in vitbook.check]
drawn, axis = figures.canvas(height=24 * len(tasks) + 60, width=PHONE_WIDTH)
for y, task in enumerate(tasks):
    axis.barh(y, task.minutes, height=0.6, color=colour("muted"))
    axis.text(task.minutes + 1, y, f"{task.minutes} {task.difficulty}", fontsize=10, va="center")
axis.set_yticks(range(len(tasks)), [task.name for task in tasks], fontsize=10)
axis.set(ylim=(len(tasks) - 0.4, -0.6), xlim=(0, 1.4 * max(task.minutes for task in tasks)), xlabel="minutes")
figures.captioned(
    drawn, "The tasks, in the order of the book. The minutes are a guess, for someone who has read the chapter of the task."
)
glue(
    count=len(tasks), hours=(np.ceil(sum(task.minutes for task in tasks) / 30) / 2, "g"),
    known=len({each.name for task in tasks for each in task.mistakes}),
)
```

```{admonition} In this chapter
:class: vb-contract
**You will** write the model in small functions, from the place of a token to a whole encoder block, and then run it on a photograph.

**You will learn** which mistakes are common, what they are called, and how to find out where one sits.

**You need** NumPy, and the chapter named above each group of tasks.
All tasks together may take {glue:text}`hours` hours; each can be done alone.
```

```{admonition} Where to work
:class: tip
Here you can read every task, with hints and a solution, folded.
To work, you need a computer with the book's folder ([how to get it](how_to_read.md)): type `make lab` there and open this chapter.
Write your lines into the function of a task, and run the cell below it.
```

## What a check tells you

There is a check for every task: `vitbook.check.softmax`, `vitbook.check.msa` and so on.
It runs your function on several inputs, often with unusual sizes or very large numbers.
Then it compares your results with those of a solution.

**It names a mistake** that it knows. It knows {glue:text}`known` of them, and in most tasks it tries two at once.

```{code-cell} ipython3
import numpy as np
import vitbook

def my_softmax(scores):
    powers = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return powers / powers.sum(axis=-2, keepdims=True)


vitbook.check.softmax(my_softmax)
```

**It says where to look**: in the whole block and the whole model, also when it does not know the mistake.
Here is a block with another function in the place of GELU:

```{code-cell} ipython3
from vitbook.studies import numpy_block as ours

def my_block(x, num_heads, Wq, Wk, Wv, Wo, W1, W2):
    x_prime = x + ours.msa(ours.layer_norm(x), num_heads, Wq, Wk, Wv, Wo)
    hidden = ours.layer_norm(x_prime) @ W1
    return x_prime + hidden / (1 + np.exp(-hidden)) @ W2


vitbook.check.vit_encoder_block(my_block)
```

The check reads none of your code.
With `W1` and `W2` full of zeros the MLP adds nothing, so what is left is the attention half alone.
With `Wv` and `Wo` full of zeros the MLP half is left.

**It stops a loop that never ends**, and the notebook goes on:

```{code-cell} ipython3
def endless(scores):
    while True:
        scores = scores / 2


vitbook.check.softmax(endless, seconds=0.5)
```

A function must also leave its inputs as they are.
And it should compute in float64: where float32 is too coarse, the check says so.
Keep the report, and you can look at the case that failed: `report.arguments`, `report.expected` and `report.got`.
This is a report that you want to see:

```{code-cell} ipython3
def careful(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


report = vitbook.check.softmax(careful)
assert report.passed
report
```
"""

#: After the capstone: the reader's function on a photograph, and what a mistake looks like, stage by stage.
REAL = '''
#### On a real photograph

Now run your model on a cat, with the weights of a real checkpoint.
`in_numpy` hands them over as NumPy arrays in float64.
The report names the first stage that differs, if one does.

```{code-cell} ipython3
checkpoint = vitbook.load_checkpoint()
x = vitbook.preprocess(vitbook.load_picture("chelsea"), checkpoint)
w = in_numpy(checkpoint)

vitbook.check.vit.on(vit, x.double().numpy(), w)
```

Why stage by stage? A mistake spreads: the stages after it are wrong as well.
So the first stage that differs says where to look first.
We make two mistakes on purpose, and compare each stage with the right one.

```{code-cell} ipython3
:tags: [hide-input]

from dataclasses import replace

weights, config = checkpoint.weights, checkpoint.config
middle = config.L // 2 + 1


def with_layer(number, **changes):
    """The weights with other tensors in one layer."""
    layers = [replace(layer, **changes) if l == number else layer for l, layer in enumerate(weights.layers, start=1)]
    return replace(weights, layers=tuple(layers))


def stages_of(weights):
    trace = vitbook.run(weights, x)
    pairs = [stage for pair in zip(trace.z_prime, trace.z[1:]) for stage in pair]
    return [trace.x_p, trace.z[0], *pairs, trace.y]


def gaps(stages):
    """At each stage the largest difference from the right numbers, as a share of the largest number."""
    return [float((a - b).abs().max() / b.abs().max()) for a, b in zip(stages, stages_of(weights))]


solved = vitbook.check.vit.exercise.function(x.double().numpy(), w)
layer, names = weights.layers[middle - 1], list(solved)
rounding = gaps([torch.from_numpy(stage) for stage in solved.values()])
late = gaps(stages_of(with_layer(middle, U_msa=layer.U_msa.T.contiguous())))
early = gaps(stages_of(replace(weights, E_pos=0 * weights.E_pos)))
first = names.index(f"z_prime_{middle}")
assert max(rounding) < 1e-3 and max(late[:first]) < 1e-6 < late[first] and early[0] < 1e-6 < early[1]
assert max(gaps(stages_of(with_layer(middle, b_k=0 * layer.b_k)))) < 1e-3

drawn, axis = figures.canvas(height=330, width=PHONE_WIDTH)
for label, line, ink in (
    ("positions forgotten", early, "position"),
    (f"U_msa transposed in layer {middle}", late, "value"),
    ("our solution in NumPy", rounding, "stream"),
):
    axis.plot([max(gap, 1e-9) for gap in line], color=colour(ink), marker="o", markersize=3, label=label)
marked = sorted({1, first, len(names) - 1})
axis.set_xticks(marked, [names[i].replace("_prime", "'") for i in marked], fontsize=10)
axis.set(yscale="log", ylim=(3e-10, 1e4), ylabel="largest difference (share)")
axis.legend(fontsize=9.5, frameon=False, loc="upper left")
figures.captioned(
    drawn, "How far each stage is from the right one: the largest difference, as a share of the largest number there. "
    "At the bottom: no difference.",
)
glue(middle=middle)
```

Our solution in NumPy differs by rounding alone: it computes in float64, and the right numbers here are float32.
With {math}`\\mathbf{U}_{msa}` transposed in layer {glue:text}`middle`, all stages before that layer's `z_prime` are right.
Without positions, the first difference is in `z_0`.

Some mistakes cannot be seen: forget `b_k`, and nothing changes but rounding.
The bias of the keys adds the same number to all scores of a query, and softmax takes it off again.
'''

TAIL = """\

## How far are you?

Every function of this chapter, as it stands now:

```{code-cell} ipython3
for grader in vitbook.check:
    print(grader(globals().get(grader.exercise.name)).title)
```

```{code-cell} ipython3
:tags: [remove-cell]

assert all(grader(grader.exercise.function) for grader in vitbook.check)     # the solutions, each through its own check
```

## For teachers

**Without solutions.** Set `vitbook_solutions: false` in `_config.yml` and build the book.
The pages and notebooks then hold no solutions and no answers. The package itself still holds the solutions.

**With an autograder.** nbgrader and Otter count a cell as failed when it raises an error.
So two lines are a test, and its message is the whole report:

```python
report = vitbook.check.softmax(softmax, seed=1)  # another seed draws other numbers
assert report, report
```

```{admonition} Takeaways
:class: vb-takeaways
- Test on odd sizes and very large numbers: square inputs hide transposed axes.
- Zeros in the right place switch off a part of a model. So a mistake can be found from outside.
- Compare stage by stage. The first stage that differs says where to look first.
```

This was the last chapter. [The encoder block](encoder_block.md) shows what such mistakes do to a trained model.
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
    """One exercise: the task, a cell to begin with, a cell that checks, hints one inside the other, a solution.

    A page shows the first "still open" alone; in JupyterLab the tag hides nothing.
    """
    time = f"*{exercise.difficulty.capitalize()}, about {exercise.minutes} minutes.*"
    body = f"\n### {TITLES[exercise.name]}\n\n{time}\n\n{marked(exercise.statement)}\n\n"
    check = f"vitbook.check.{exercise.name}({exercise.name})\n"
    body += cell(exercise.starter) + cell(check if exercise is EXERCISES[0] else ":tags: [remove-output]\n\n" + check)
    for number, hint in enumerate(exercise.hints, start=1):
        body += f"<details>\n<summary>Hint {number} of {len(exercise.hints)}</summary>\n\n{marked(hint)}\n\n"
    body += "</details>\n" * len(exercise.hints)
    body += f"\n<details>\n<summary>A solution</summary>\n\n```python\n{exercise.solution.strip()}\n```\n\n</details>\n"
    return body + (REAL if exercise.name == "vit" else "")


def cell(source: str) -> str:
    return f"```{{code-cell}} ipython3\n{source.strip()}\n```\n\n"


def marked(text: str) -> str:
    """Words of a record as Markdown: code between backticks, those that stand there and ours, and a sentence a line."""
    parts = re.split("(`[^`]*`)", text)
    text = "".join(part if part[:1] == "`" else CODE.sub(lambda found: f"`{found[0]}`", part) for part in parts)
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
