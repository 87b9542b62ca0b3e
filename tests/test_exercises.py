"""The graders: solutions pass, mistakes are named, and whatever a reader's function does, a report comes back."""

from __future__ import annotations

import ast
import asyncio
import copy
import dataclasses
import functools
import inspect
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from vitbook.exercises import EXERCISES, Case, Report, check, in_numpy, running
from vitbook.exercises.comparing import difference, parts_of, plain, same
from vitbook.exercises.grading import grade, in_single, try_all
from vitbook.exercises.naming import quiet
from vitbook.exercises.record import WIDTH, executed, mistake
from vitbook.exercises.telling import sentence

BY_NAME = {exercise.name: exercise for exercise in EXERCISES}
KNOWN = [pytest.param(e, m, id=f"{e.name}: {m.name}") for e in EXERCISES for m in e.mistakes]
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=BY_NAME)


# --- the exercises themselves ---------------------------------------------------------------------------------------


def test_there_is_an_exercise_for_every_subject():
    assert len(EXERCISES) >= 12 and len(BY_NAME) == len(EXERCISES)
    assert {
        "place_of_token", "token_of_place", "cut_patches", "embed", "layer_norm", "softmax", "gelu_erf", "gelu_tanh",
        "attention_head", "msa", "u_qkv_per_head", "encoder_layer", "vit_encoder_block", "class_logits", "top_k",
        "count_parameters", "local_mask", "axial_mask", "resample_positions", "attention_distance",
    } <= set(BY_NAME)  # fmt: skip


@every_exercise
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.filterwarnings("error")
def test_every_solution_passes(exercise, seed):
    report = grade(exercise, executed(exercise.solution, exercise.name), seed=seed)
    assert report and report.passed and report.kind == "passed" and report.mistake is None, report


@every_exercise
def test_what_a_reader_told_numpy_changes_no_verdict(exercise):
    """`np.seterr(all="raise")` turns an exponential that underflows to 0 into an error: no mistake of the reader's."""
    with np.errstate(all="raise"):
        assert grade(exercise, executed(exercise.solution, exercise.name)).passed
        for known in exercise.mistakes:
            assert grade(exercise, exercise.wrong(known)).mistake == known.name


@pytest.mark.parametrize(("exercise", "known"), KNOWN)
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_known_mistake_is_named(exercise, known, seed):
    report = grade(exercise, exercise.wrong(known), seed=seed)
    assert not report and report.mistake == known.name and report.explanation == known.explanation, report
    assert known.name in repr(report) and report.call.startswith(exercise.name + "(")


@every_exercise
def test_known_mistakes_differ_from_each_other(exercise):
    """Else a name would depend on the order of the list."""
    results = {}
    for known in exercise.mistakes:
        results[known.name] = [outcome(exercise.wrong(known), case) for case in exercise.draw()]
    names = list(results)
    assert len(names) == len(exercise.mistakes) >= 4
    for n, one in enumerate(names):
        for other in names[n + 1 :]:
            agreeing = [agree(a, b, exercise.tolerance) for a, b in zip(results[one], results[other], strict=True)]
            assert not all(agreeing), (one, other)


def outcome(function, case):
    try:
        return plain(quiet(function, case))
    except Exception as error:
        return type(error)


def agree(a, b, tolerance):
    return a is b if isinstance(a, type) or isinstance(b, type) else same(a, b, tolerance)


@every_exercise
def test_starters_are_met_kindly(exercise):
    report = grade(exercise, executed(exercise.starter, exercise.name))
    assert report.kind == "open" and "no lines yet" in repr(report) and f"check.{exercise.name}.hint()" in repr(report)
    unwritten = exercise.starter.replace("...", 'raise NotImplementedError("mine to write")')
    assert grade(exercise, executed(unwritten, exercise.name)).kind == "open"
    assert (
        " ".join(exercise.shapes.split()) in " ".join(exercise.starter.split()) and exercise.header in exercise.starter
    )
    assert max(map(len, exercise.starter.splitlines())) <= WIDTH


@every_exercise
def test_records_are_complete_and_readable(exercise):
    assert len(exercise.hints) >= 2 and len(exercise.statement) > 40 and exercise.chapter
    assert exercise.solution.count(f"def {exercise.signature}:") == 1
    cases = exercise.draw()
    assert len(cases) >= 3 and all(case.label and exercise.described(case) for case in cases)
    for text in (exercise.statement, exercise.shapes, *exercise.hints, *(m.explanation for m in exercise.mistakes)):
        assert text.endswith((".", ")", "?")) or "=" in text or "|" in text or "np." in text, text
        assert "simply" not in text.lower() and "obviously" not in text.lower()


@every_exercise
def test_cases_are_the_same_for_the_same_seed_and_hold_nothing_shared(exercise):
    for one, two in zip(exercise.draw(3), exercise.draw(3), strict=True):
        for a, b in zip(one.arguments, two.arguments, strict=True):
            if isinstance(a, np.ndarray):
                assert np.array_equal(a, b, equal_nan=True) and not np.shares_memory(a, b)


SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LtE: ast.Lt, ast.Eq: ast.NotEq,
}  # fmt: skip


def mutants(source):
    """The source with one operator exchanged or one number raised by one, in every place in turn."""
    tree = ast.parse(source)
    for n in range(sum(1 for _ in ast.walk(tree))):
        changed = copy.deepcopy(tree)
        node = list(ast.walk(changed))[n]
        if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
            node.op = SWAPS[type(node.op)]()
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            node.ops[0] = SWAPS[type(node.ops[0])]()
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            node.value += 1
        else:
            continue
        yield ast.unparse(changed)


def changed_lines(source, mutant):
    old, new = ast.unparse(ast.parse(source)).split("\n"), mutant.split("\n")
    return [line.strip() for line, before in zip(new, old, strict=True) if line != before]


#: Changes that change nothing: NumPy reads any negative size in reshape as "whatever is left", an axis of a matrix has two
#: names, a square matrix has two equal sizes, and the mean over queries of a sum over keys is one sum over both. A bias of the
#: keys adds one number to all scores of a query, which softmax takes off again.
HARMLESS = ("reshape(-2", "reshape(*grid, -2", "np.eye(A.shape[2])", "- layer.b_k")


@every_exercise
@pytest.mark.filterwarnings("ignore")
def test_cases_catch_small_changes_that_nobody_listed(exercise):
    survivors, count = [], 0
    for mutant in mutants(exercise.solution):
        count += 1
        try:
            function = executed(mutant, exercise.name)
        except Exception:
            continue
        if not any(trial.failure for trial in try_all(exercise, function, exercise.draw(), seconds=10)):
            survivors += changed_lines(exercise.solution, mutant)
    assert count >= 2
    assert [line for line in survivors if not any(harmless in line for harmless in HARMLESS)] == []


# --- witnesses: the solutions against the rest of the package ---------------------------------------------------------


def test_solutions_agree_with_the_package():
    torch = pytest.importorskip("torch")
    from vitbook import attention, embed, patches
    from vitbook.studies import numpy_block

    r = np.random.default_rng(0)
    x = r.standard_normal((3, 20, 15))
    cut = BY_NAME["cut_patches"].function(x, 5)
    np.testing.assert_array_equal(cut, patches.cut(torch.from_numpy(x), 5))
    np.testing.assert_array_equal(BY_NAME["assemble_picture"].function(cut, 4, 3, 3), x)

    E_pos = r.standard_normal((1 + 3 * 5, 4))
    ours = BY_NAME["resample_positions"].function(E_pos, (3, 5), (6, 7))
    theirs = embed.resample_positions(torch.from_numpy(E_pos), (3, 5), (6, 7), mode="bilinear-corners")
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)

    z, heads = torch.from_numpy(r.standard_normal((5, 6))), 3
    U = [torch.from_numpy(r.standard_normal((6, 6))) for _ in range(4)]
    q, k, v = attention.qkv(z, *U[:3], *[torch.zeros(6, dtype=torch.float64)] * 3, heads)
    expected = attention.join_heads(attention.self_attention(attention.attention_weights(q, k), v), U[3])
    ours = BY_NAME["msa"].function(z.numpy(), *(u.numpy() for u in U), heads)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)

    tokens, W = r.standard_normal((2, 5, 6)), [r.standard_normal(s) for s in [(6, 6)] * 4 + [(6, 7), (7, 6)]]
    ours = BY_NAME["vit_encoder_block"].function(tokens, 3, *W)
    np.testing.assert_allclose(ours, numpy_block.vit_encoder_block(tokens, 3, *W), rtol=0, atol=1e-11)
    t = r.standard_normal(50)
    np.testing.assert_allclose(
        BY_NAME["gelu_erf"].function(t), torch.nn.functional.gelu(torch.from_numpy(t)), rtol=0, atol=1e-14
    )


def test_counts_are_the_published_ones():
    """torchvision's num_params for B/16 and L/32, 1,000 classes at 224 px; H/14 as counted on transformers' model."""
    count = BY_NAME["count_parameters"].function
    assert count(224, 224, 16, 3, 768, 12, 3072, 1000) == 86_567_656
    assert count(224, 224, 32, 3, 1024, 24, 4096, 1000) == 306_535_400
    assert count(224, 224, 14, 3, 1280, 32, 5120, 1000) == 632_045_800


# --- what readers hand over -------------------------------------------------------------------------------------------

SOFTMAX = BY_NAME["softmax"]
GOOD = SOFTMAX.function


def changes_its_input(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def reshapes_its_input(scores):
    result = GOOD(scores)
    scores.shape = (scores.size,)
    return result


def raises_far_down(scores):
    return GOOD(scores)[scores.shape[0] + 5]  # the reader's line


async def asynchronous(scores):
    await asyncio.sleep(0)
    return GOOD(scores)


def by_yield(scores):
    yield GOOD(scores)


def leaves(scores):
    sys.exit(3)


def interrupts(scores):
    raise KeyboardInterrupt


def recurses(scores):
    return recurses(scores)


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def unprintable(scores):
    raise Unprintable


class Unreadable:
    def __array__(self, *_, **__):
        raise RuntimeError("not an array after all")


class WithoutSignature:
    __signature__ = 3

    def __call__(self, scores):
        return GOOD(scores) + 1


BAD = [
    (3, "not a function", ["an int", "check.softmax(softmax)"]),
    (np.zeros(3), "not a function", ["an array of shape (3,)"]),
    (None, "not a function", ["NoneType"]),
    (lambda: 1, "signature", ["softmax(scores)", "takes ()", "too many positional arguments"]),
    (lambda scores, axis: 1, "signature", ["missing a required argument: 'axis'"]),
    (lambda *, scores: 1, "signature", ["too many positional"]),
    (lambda scores: None, "open", []),
    (lambda scores: print("", end=""), "wrong type", ["returned None", "return"]),
    (lambda scores: Ellipsis or scores, "wrong type", ["returned Ellipsis"]),
    (lambda scores: "weights", "wrong type", ["a str"]),
    (lambda scores: {"a": 1}, "wrong type", ["a dict"]),
    (lambda scores: GOOD, "wrong type", ["a function"]),
    (lambda scores: GOOD(scores).astype(complex), "wrong type", ["complex128"]),
    (lambda scores: GOOD(scores) > 0.5, "wrong type", ["bool"]),
    (lambda scores: [[1.0], [1.0, 2.0]], "wrong type", ["a list"]),
    (lambda scores: Unreadable(), "wrong type", ["Unreadable", "not an array after all"]),
    (lambda scores: np.array([None, 1]), "wrong type", ["object"]),
    (lambda scores: GOOD(scores)[..., :-1], "wrong shape", ["(3, 5)", "(3, 4)"]),
    (lambda scores: 0.5, "wrong shape", ["(3, 5)", "()"]),
    (lambda scores: GOOD(scores) / 0, "not finite", ["inf", "[0, 0]"]),
    (lambda scores: np.full_like(scores, np.nan), "not finite", ["nan", "[0, 0]"]),
    (lambda scores: 2 * GOOD(scores), "wrong numbers", ["largest difference", "times 2"]),
    (lambda scores: GOOD(scores) + 0.25, "wrong numbers", ["plus 0.25"]),
    (lambda scores: GOOD(scores).astype(np.float16), "wrong numbers", ["largest difference"]),
    (changes_its_input, "changed inputs", ["scores.copy()", "-="]),
    (reshapes_its_input, "changed inputs", ["input scores"]),
    (raises_far_down, "error", ["IndexError", "line 2 of it: return GOOD(scores)[scores.shape[0] + 5]"]),
    (asynchronous, "wrong type", ["a coroutine", "leave async out"]),
    (by_yield, "wrong type", ["a generator", "yield"]),
    (leaves, "error", ["SystemExit", "line 2 of it: sys.exit(3)"]),
    (interrupts, "error", ["KeyboardInterrupt"]),
    (recurses, "error", ["RecursionError", "line 2"]),
    (unprintable, "error", ["Unprintable"]),
    (functools.partial(raises_far_down), "error", ["line 2 of it"]),
    (WithoutSignature(), "wrong numbers", ["plus 1"]),
    (np.linalg.inv, "error", ["LinAlgError"]),
    (len, "wrong shape", ["()"]),
    (int, "error", ["TypeError"]),
]


@pytest.mark.parametrize(("function", "kind", "words"), BAD, ids=range(len(BAD)))
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore:divide by zero", "ignore:invalid value")
def test_whatever_comes_is_reported(function, kind, words):
    report = check.softmax(function)
    assert isinstance(report, Report) and not report and report.kind == kind, report
    for word in words:
        assert word in repr(report), report
    assert report._repr_html_().startswith('<div class="vitbook-report')


def test_the_line_is_found_in_helpers_too():
    source = "def helper(s):\n    return s[99]\n\n\ndef softmax(scores):\n    a = 1\n    return helper(scores)\n"
    report = check.softmax(executed(source, "softmax"))
    assert "IndexError" in repr(report) and "line 2 of helper's cell or file" in repr(report)
    assert "in helper" in report.traceback and "exercises/" not in report.traceback


def test_a_failing_report_hands_the_case_over():
    report = check.layer_norm(lambda x, gamma, beta, eps: 0 * x)
    assert report.call == "layer_norm(x (5, 7), gamma (7,), beta (7,), eps=1e-06)"
    np.testing.assert_array_equal(BY_NAME["layer_norm"].function(*report.arguments), report.expected)
    np.testing.assert_array_equal(report.got, np.zeros((5, 7)))
    assert "Case 1: five tokens, D = 7." in repr(report)


def test_html_escapes_what_readers_write():
    def softmax(scores):
        raise ValueError("<script>alert(1)</script>")

    html = check.softmax(softmax)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "<details>" in html


def test_numbers_and_tuples():
    place, count, distance = check.place_of_token, check.count_parameters, check.attention_distance
    right = BY_NAME["place_of_token"].function
    assert place(lambda *a: list(right(*a))) and place(lambda *a: np.array(right(*a)))
    assert place(lambda *a: tuple(np.int32(n) for n in right(*a)))
    assert "a tuple of 2, yours holds 3" in repr(place(lambda *a: (1, 2, 3)))
    assert "a tuple of 2, yours is an int" in repr(place(lambda *a: 5))
    assert "Part 2 of your result is" in repr(place(lambda *a: (right(*a)[0], 99)))
    assert "// divides" in repr(count(lambda *a: float(BY_NAME["count_parameters"].function(*a))))
    assert "a bool" in repr(count(lambda *a: True))
    assert distance(lambda *a: np.float64(BY_NAME["attention_distance"].function(*a)))
    assert "nan" in repr(distance(lambda *a: math.nan))


def test_torch_tensors_are_read():
    torch = pytest.importorskip("torch")
    grads = lambda scores: torch.softmax(torch.from_numpy(scores).requires_grad_(), -1)  # noqa: E731
    assert check.softmax(grads)
    single = check.softmax(lambda scores: torch.softmax(torch.from_numpy(scores).float(), -1))
    assert single and "float32" in repr(single)
    assert check.softmax(lambda scores: torch.softmax(torch.from_numpy(scores).bfloat16(), -1)).kind == "wrong numbers"
    ranked = lambda logits, k: tuple(torch.topk(torch.softmax(torch.from_numpy(logits), 0), k))[::-1]  # noqa: E731
    assert check.top_k(ranked)
    columns = lambda scores: torch.softmax(torch.from_numpy(scores), max(-2, -scores.ndim))  # noqa: E731
    assert check.softmax(columns).mistake == "softmax over the wrong axis"


def test_two_mistakes_at_once_are_named_by_the_one_that_shows_first():
    """The usual first attempt: over everything, and overflowing."""
    with np.errstate(all="ignore"):
        report = check.softmax(lambda s: np.exp(s) / np.exp(s).sum())
    assert report.mistake == "softmax over everything"


def test_two_mistakes_at_once_are_named_both():
    exercise = BY_NAME["layer_norm"]
    both = [m for m in exercise.mistakes if m.name in ("sample variance", "beta forgotten")]
    report = check.layer_norm(exercise.wrong(*both))
    assert report.mistake == "sample variance + beta forgotten" and "two known mistakes" in repr(report)
    assert all(m.explanation[1:] in report.explanation for m in both)
    assert " + " not in "".join(m.name for e in EXERCISES for m in e.mistakes)


def in_float32(inside):
    """A function as somebody writes it who likes float32: its arguments, its result, or both."""

    def function(exercise, *arguments):
        result = exercise.function(*(in_single(a) if inside else a for a in arguments))
        return in_single(result) if inside != "only" else result

    return function


@every_exercise
@pytest.mark.parametrize("inside", [False, True, "only"])
@pytest.mark.parametrize("seed", [0, 1])
def test_float32_is_taken_or_named(exercise, inside, seed):
    """Never "yours is 3.84565, expected 3.84565", and no factor of 1."""
    report = grade(exercise, lambda *arguments: in_float32(inside)(exercise, *arguments), seed=seed)
    assert " times 1 " not in repr(report) and "times 1)" not in repr(report)
    if exercise.double and inside != "only":
        assert report.kind == "wrong type" and "holds float32; this task asks for float64" in repr(report)
    elif report:
        assert inside == "only" or "float32" in repr(report) or not has_fractions(exercise)
    else:
        assert report.mistake == "float32 inside", report
        yours, expected = repr(report).split("our result is ")[1].split()[0:3:2]
        assert yours.rstrip(",") != expected.rstrip(".")


def has_fractions(exercise):
    results = [exercise.function(*case.arguments) for case in exercise.draw()]
    return any(getattr(part, "dtype", None) == np.float64 for result in results for part in parts_of(result))


@every_exercise
def test_starters_say_what_comes_and_goes(exercise):
    function = executed(exercise.starter, exercise.name)
    typed = function.__annotations__
    assert list(inspect.signature(function).parameters) == exercise.names and "return" in typed
    assert set(exercise.names) - set(typed) <= {"w"}
    assert exercise.difficulty in ("easy", "medium", "hard") and 1 <= exercise.minutes <= 60


@every_exercise
def test_tokens_have_a_mean(exercise):
    """Else a LayerNorm that forgets to take it off would pass."""
    for argument in exercise.draw()[0].arguments:
        if isinstance(argument, np.ndarray) and exercise.names[0] in ("x", "z", "z_L") and argument.ndim > 1:
            assert abs(argument.mean()) > 0.03
            return


def test_on_your_own_call():
    report = check.softmax.on(GOOD, np.arange(6.0).reshape(2, 3))
    assert report and "On your own call, too, your result agrees" in repr(report)
    assert check.softmax.on(lambda s: GOOD(2 * s), np.zeros((1, 2))).call.startswith(
        "softmax(scores (3, 5)"
    )  # as always first
    only_here = lambda s: GOOD(s) + (s.shape == (9, 9))  # noqa: E731
    assert check.softmax(only_here) and "plus 1" in repr(check.softmax.on(only_here, np.eye(9)))
    with pytest.raises(ValueError, match="takes 1 arguments, got 0"):
        check.softmax.on(GOOD)


def test_the_capstone_is_the_model_and_names_the_first_stage_that_differs():
    torch = pytest.importorskip("torch")
    from tiny import ODD, random_weights, random_x

    from vitbook import run

    for activation in ("gelu", "gelu_tanh", "relu"):
        weights = random_weights(dataclasses.replace(ODD, activation=activation))
        w, x, trace = in_numpy(weights), random_x(), run(weights, random_x())
        stages = BY_NAME["vit"].function(x.numpy(), w)
        theirs = {"x_p": trace.x_p, "y": trace.y, **{f"z_{l}": z for l, z in enumerate(trace.z)}}
        theirs |= {f"z_prime_{l}": z for l, z in enumerate(trace.z_prime, 1)}
        assert stages.keys() == theirs.keys() and w.eps == ODD.eps
        for name, stage in stages.items():
            np.testing.assert_allclose(
                stage, theirs[name], rtol=0, atol=1e-9 * float(theirs[name].abs().max()), err_msg=name
            )
    assert check.vit.on(BY_NAME["vit"].function, x.numpy(), w) and torch.equal(x, random_x())

    def late(x, w):  # right in the small cases, and wrong in the second layer of this model alone
        stages = BY_NAME["vit"].function(x, w)
        return {n: s + 1 * (n == "z_prime_2" and w.eps == ODD.eps and len(x[0]) == ODD.H) for n, s in stages.items()}

    words = repr(check.vit.on(late, x.numpy(), w))
    assert "your stages agree up to z_1; the first that differs is z_prime_2" in words.lower(), words
    less = lambda x, w: {n: s for n, s in BY_NAME["vit"].function(x, w).items() if n != "z_1"}  # noqa: E731
    assert "the stage z_1 is missing" in repr(check.vit(less)).lower()
    assert "a dict of stages" in repr(check.vit(lambda x, w: x))


@pytest.mark.parametrize("passes", [True, False])
def test_a_report_is_what_an_autograder_asks_for(passes):
    """nbgrader and otter run a cell, and take an error for a failure: `assert report, report` says why."""
    cell = (
        "import vitbook\nright = vitbook.check.softmax.exercise.function\n"
        "report = vitbook.check.softmax(right if {} else lambda s: s, seed=1)\nassert report, report"
    )
    done = subprocess.run([sys.executable, "-c", cell.format(passes)], capture_output=True, text=True)
    assert done.returncode == (0 if passes else 1)
    assert passes or "AssertionError: ✗ softmax: not yet: wrong numbers" in done.stderr


#: What a count leaves out, which numbers a layer and outside -> the name, and causes that the report must list.
SHORT = {
    "one bias in each layer": (lambda D, L, M: L * D, "L D numbers short", ["U_q", "U_msa", "second matrix", "beta"]),
    "betas of the layers": (lambda D, L, M: 2 * L * D, "2 L D numbers short", ["one LayerNorm", "betas"]),
    "biases of q, k and v": (lambda D, L, M: 3 * L * D, "3 L D numbers short", ["U_q, U_k and U_v"]),
    "LayerNorms of the layers": (lambda D, L, M: 4 * L * D, "4 L D numbers short", ["biases", "both LayerNorms"]),
    "first bias of the MLP": (lambda D, L, M: L * M, "L M numbers short", ["first matrix"]),
    "biases of the MLP": (lambda D, L, M: L * (M + D), "L M and L D numbers short", ["such as both biases"]),
    "beta of the last norm": (lambda D, L, M: D, "D numbers short", ["beta of Eq. 4", "x_class", "bias of E"]),
    "the last norm": (lambda D, L, M: 2 * D, "2 D numbers short", ["LayerNorm of Eq. 4", "x_class"]),
    "all betas": (lambda D, L, M: (2 * L + 1) * D, "2 L D and D numbers short", ["beta of every LayerNorm"]),
    "all LayerNorms": (lambda D, L, M: (4 * L + 2) * D, "4 L D and 2 D numbers short", ["all LayerNorms"]),
    "five vectors a layer": (lambda D, L, M: 5 * L * D, None, ["wrong numbers"]),
}


@pytest.mark.parametrize("what", SHORT)
def test_a_count_names_what_is_short_and_its_causes(what):
    """A sum cannot tell which vector is missing, nor one mistake from two others: all that fit are said, and no pair."""
    missing, name, words = SHORT[what]
    count = BY_NAME["count_parameters"].function
    report = check.count_parameters(lambda H, W, P, C, D, L, M, K: count(H, W, P, C, D, L, M, K) - missing(D, L, M))
    assert not report and report.mistake == name, report
    assert all(word in repr(report) for word in words), report


@pytest.mark.parametrize(
    ("first", "name"), [("ln_2", "MLP first"), ("ln_1", "MLP first, behind ln_1")], ids=["own norms", "norms in order"]
)
def test_exchanged_halves_are_one_mistake(first, name):
    def encoder_layer(z, ln_1, msa, ln_2, mlp):
        a, b = (ln_2, ln_1) if first == "ln_2" else (ln_1, ln_2)
        z = z + mlp(a(z))
        return z + msa(b(z))

    assert check.encoder_layer(encoder_layer).mistake == name


def test_sentences_keep_names_as_they_are_written():
    assert sentence("ln_1 belongs there") == "ln_1 belongs there." and sentence("the norm.") == "The norm."
    assert sentence("yours has (6, 2)") == "Yours has (6, 2)."


def test_an_unknown_mistake_gets_no_name():
    assert check.softmax(lambda s: GOOD(1.5 * s)).mistake is None
    assert check.softmax(changes_its_input).mistake is None


ODD_RESULTS = [
    0, -1, 10**400, 2.5, math.inf, "x", b"x", [], (), {}, set(), [[]], [None], ((1, 2), 3), object(), range(3), slice(1), 1j,
    np.float32(1), np.array("x"), np.zeros(0), np.zeros((1, 1, 1, 1)), np.ma.masked_array([1.0], [True]),
    np.array([object()]), np.datetime64("2020-01-01"), np.zeros(3, dtype=[("a", "f8")]), ValueError("returned"), type, len, ...,
]  # fmt: skip


@every_exercise
@pytest.mark.filterwarnings("ignore")
def test_no_odd_result_upsets_a_grader(exercise):
    for result in ODD_RESULTS:
        report = grade(exercise, lambda *_, result=result: result)
        assert not report and repr(report) and report._repr_html_(), result
    for function in (lambda *a: a, lambda *a: a[0], lambda *a: a[-1], lambda *a: [a[0]] * 2, lambda *a: a[0].T):
        assert not grade(exercise, function)


# --- time ---------------------------------------------------------------------------------------------------------------


def loops(scores):
    while True:
        pass


def loops_and_swallows(scores):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


def others_end(before, seconds=5):
    """Do all threads end that were not there before?"""
    end = time.monotonic() + seconds
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.02)
    return not set(threading.enumerate()) - before


@pytest.mark.parametrize("function", [loops, loops_and_swallows])
def test_endless_loops_are_stopped(function):
    before = set(threading.enumerate())
    report = check.softmax(function, seconds=0.3)
    assert report.kind == "too slow" and "0.3 seconds and has been stopped" in repr(report)
    assert others_end(before)


@pytest.mark.slow
def test_what_cannot_be_stopped_is_said():
    ends = threading.Event()

    def softmax(scores):
        ends.wait(20)  # inside compiled code: no exception gets in

    start = time.monotonic()
    report = check.softmax(softmax, seconds=0.2)
    waited = time.monotonic() - start
    ends.set()
    assert report.kind == "too slow" and "could not be stopped" in repr(report) and "kernel" in repr(report)
    assert waited < 0.2 + running.GRACE + 5  # far from the 20 s it would have taken


def test_the_time_is_for_all_cases_together():
    slow = lambda scores: time.sleep(0.15) or GOOD(scores)  # noqa: E731
    report = check.softmax(slow, seconds=0.4)
    assert report.kind == "too slow" and 1 < int(repr(report).split("Case ")[1].split(":")[0]) < len(SOFTMAX.draw())


def test_a_wrong_result_is_reported_although_a_later_case_never_ends():
    def softmax(scores):
        if scores.ndim == 3:
            loops(scores)
        return 1 - GOOD(scores)

    assert check.softmax(softmax, seconds=0.5).kind == "wrong numbers"


def no_thread(self):
    raise RuntimeError("can't start new thread")


def test_without_threads_the_deadline_holds_as_well(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    tracing = sys.gettrace()
    assert check.softmax(GOOD)
    assert check.softmax(loops, seconds=0.3).kind == "too slow"
    assert check.softmax(loops_and_swallows, seconds=0.3).kind == "too slow"
    assert check.softmax(raises_far_down).kind == "error" and check.softmax(leaves).kind == "error"
    assert sys.gettrace() is tracing


def test_works_from_another_thread_than_the_main_one():
    results = []
    worker = threading.Thread(target=lambda: results.extend([check.softmax(GOOD), check.softmax(loops, seconds=0.2)]))
    worker.start()
    worker.join()
    assert [report.kind for report in results] == ["passed", "too slow"]


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_the_readers_own_interrupt_stops_the_function_and_passes_through():
    program = textwrap.dedent("""
        import threading, time
        from vitbook.exercises import check
        def softmax(scores):
            print("running", flush=True)
            while True: pass
        try:
            check.softmax(softmax, seconds=60)
        except KeyboardInterrupt:
            while threading.active_count() > 1: time.sleep(0.02)
        print("interrupted", flush=True)
        print(check.softmax(check.softmax.exercise.function).kind)
    """)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert rest.split() == ["interrupted", "passed"]


@pytest.mark.slow
def test_in_a_notebook_kernel():
    """A real kernel: an endless loop, a crash and an exit in one cell each; the kernel lives, prints arrive in their cell."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    cells = [
        "from vitbook import check",
        "def softmax(scores):\n    print('hello')\n    while True: pass\ncheck.softmax(softmax, seconds=0.5)",
        "def softmax(scores):\n    raise SystemExit\ncheck.softmax(softmax)",
        "def softmax(scores):\n    x = 1\n    return scores[99]\ncheck.softmax(softmax)",
        "check.softmax(check.softmax.exercise.function)",
        "get_ipython().kernel.do_complete('check.so', 8)['matches']",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3").execute()
    results = [cell.outputs[-1]["data"] for cell in book.cells[1:]]
    assert "too slow" in results[0]["text/plain"] and book.cells[1].outputs[0]["text"].startswith("hello")
    assert "SystemExit" in results[1]["text/plain"]
    assert "line 3 of it: return scores[99]" in results[2]["text/plain"]
    assert results[3]["text/plain"].startswith("✓ softmax: passed") and 'role="status"' in results[3]["text/html"]
    assert results[4]["text/plain"] == "['softmax']"


# --- `check` itself -------------------------------------------------------------------------------------------------------


def test_check_completes_and_lists():
    assert dir(check) == sorted(BY_NAME) and len(check) == len(EXERCISES)
    assert [grader.exercise.name for grader in check] == list(BY_NAME)
    for exercise in EXERCISES:
        assert exercise.signature in repr(check) and exercise.name in check._repr_html_()
        assert exercise.statement in getattr(check, exercise.name).__doc__
    assert "softmax(scores)" in repr(check.softmax)


def test_a_mistyped_name_is_told_the_near_one():
    with pytest.raises(AttributeError, match="did you mean softmax"):
        check.sofmax  # noqa: B018
    with pytest.raises(AttributeError, match="Tab"):
        check.zzz  # noqa: B018
    assert not hasattr(check, "__wrapped__") and copy.copy(check).softmax is check.softmax
    assert pickle.loads(pickle.dumps(check.softmax(3))).kind == "not a function"


def test_hints_unfold_one_at_a_time(capsys):
    grader = type(check.softmax)(SOFTMAX)
    for n in (1, 2, 3, 3):
        grader.hint()
        assert capsys.readouterr().out == f"Hint {n} of 3: {SOFTMAX.hints[n - 1]}\n"
    grader.hint(1)
    assert "Hint 1 of 3" in capsys.readouterr().out
    with pytest.raises(ValueError, match="hint of softmax must be a whole number from 1 to 3, got 4"):
        grader.hint(4)
    grader.starter(), grader.solution()
    out = capsys.readouterr().out
    assert SOFTMAX.starter in out and SOFTMAX.solution in out


def test_import_is_light():
    code = "import sys, vitbook; vitbook.check; print([m for m in ('torch', 'transformers', 'matplotlib') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_mistakes_must_fit_their_solution():
    with pytest.raises(ValueError, match="stands 2 times"):
        mistake("x", "y", ("a", "b")).source("a a")


def test_comparisons_by_hand():
    expected = np.array([[1.0, -2.0, 3.0], [0.0, 0.5, 4.0], [1.5, 2.5, 3.5]])
    assert difference(expected.tolist(), expected, 1e-9) is None
    assert difference(expected + 3e-9, expected, 1e-9) is None  # the largest number is 4
    assert difference(expected + 5e-9, expected, 1e-9).kind == "wrong numbers"
    assert difference((expected * (1 + 5e-6)).astype(np.float32), expected, 1e-9) is None
    assert "rows and columns exchanged" in difference(expected.T, expected, 1e-9).words
    assert "[2, 0]" in difference(expected + np.eye(3)[[2, 2, 0]] * np.array([[0], [0], [1]]), expected, 1e-9).words
    assert difference(np.zeros((2, 2)), np.zeros((2, 2)), 1e-9) is None
    assert (
        "1 of 4 places, first at [0, 1]: True, expected False"
        in difference(np.array([[1, 1], [0, 0]]) > 0, np.array([[1, 0], [0, 0]]) > 0, 0).words
    )
    assert not same(np.array([np.nan]), np.array([1.0]), 1e-9) and same(np.array([np.nan]), np.array([np.nan]), 1e-9)
    assert not same("a", np.array([1.0]), 1e-9) and same([1, (2.0)], (1, 2.0), 1e-9)
    assert Case("x", (1,)).label == "x"
