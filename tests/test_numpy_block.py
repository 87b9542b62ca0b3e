"""The NumPy block against an independent implementation, against its own contract, and at the edges of float64."""

from __future__ import annotations

import math
import threading
import tracemalloc

import numpy as np
import pytest

from vitbook.studies import numpy_block as nb
from vitbook.studies.numpy_block import STEPS, vit_encoder_block, vit_encoder_block_steps

NAMES = ("Wq", "Wk", "Wv", "Wo", "W1", "W2")


def draw(seed, B=2, N=5, D=6, M=7, scale=1.0):
    """Random x and weights whose results stay of order one."""
    r = np.random.default_rng(seed)
    x = scale * r.standard_normal((B, N, D))
    square = [r.standard_normal((D, D)) / math.sqrt(D) for _ in range(4)]
    return x, *square, r.standard_normal((D, M)) / math.sqrt(D), r.standard_normal((M, D)) / math.sqrt(M)


def torch_block(x, heads, Wq, Wk, Wv, Wo, W1, W2):
    """The same block by torch.nn: its own LayerNorm, attention, GELU and residuals, in float64."""
    torch = pytest.importorskip("torch")
    D, M = W1.shape
    layer = torch.nn.TransformerEncoderLayer(
        D, heads, M, dropout=0.0, activation=torch.nn.GELU(approximate="tanh"), layer_norm_eps=1e-6,
        batch_first=True, norm_first=True, bias=False, dtype=torch.float64,
    )  # fmt: skip
    weights = {
        "self_attn.in_proj_weight": np.concatenate([Wq, Wk, Wv], axis=1).T,
        "self_attn.out_proj.weight": Wo.T,
        "linear1.weight": W1.T,
        "linear2.weight": W2.T,
    }
    ours = {name: torch.from_numpy(W.copy()) for name, W in weights.items()}
    missing, unexpected = layer.load_state_dict(ours, strict=False)
    assert set(missing) == {"norm1.weight", "norm2.weight"} and not unexpected  # gamma starts at 1 and stays there
    with torch.no_grad():
        return layer(torch.from_numpy(x)).numpy()


def slow_block(x, heads, Wq, Wk, Wv, Wo, W1, W2):
    """The equations one number at a time, with math's functions and fsum: no NumPy arithmetic at all."""

    def times(a, W):
        return [math.fsum(a[i] * W[i][j] for i in range(len(a))) for j in range(len(W[0]))]

    def norm(a):
        mean = math.fsum(a) / len(a)
        variance = math.fsum((t - mean) ** 2 for t in a) / len(a)
        return [(t - mean) / math.sqrt(variance + 1e-6) for t in a]

    def gelu(t):
        return 0.5 * t * (1 + math.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3)))

    def picture(tokens):
        z = [norm(t) for t in tokens]
        q, k, v = ([times(t, W) for t in z] for W in (Wq, Wk, Wv))
        width, out = len(tokens[0]) // heads, []
        for i, token in enumerate(tokens):
            joined = []
            for h in range(heads):
                own = slice(h * width, (h + 1) * width)
                dots = [math.fsum(a * b for a, b in zip(q[i][own], k[j][own], strict=True)) for j in range(len(tokens))]
                powers = [math.exp((s - max(dots)) / math.sqrt(width)) for s in dots]
                mean = [math.fsum(p * v[j][c] for j, p in enumerate(powers)) for c in range(own.start, own.stop)]
                joined += [m / math.fsum(powers) for m in mean]
            prime = [a + b for a, b in zip(token, times(joined, Wo), strict=True)]
            grown = times([gelu(t) for t in times(norm(prime), W1)], W2)
            out.append([a + b for a, b in zip(prime, grown, strict=True)])
        return out

    return np.array([picture(tokens) for tokens in x.tolist()])


def sizes(count=60):
    """Random sizes, mostly odd, D never equal to N, and every edge at 1 among them."""
    r = np.random.default_rng(7)
    for seed in range(count):
        heads, width = int(r.integers(1, 6)), int(r.integers(1, 8))
        N = int(r.integers(1, 12))
        yield (
            seed,
            dict(B=int(r.integers(1, 4)), N=N + (heads * width == N), D=heads * width, M=int(r.integers(1, 20))),
            heads,
        )
    yield 998, dict(B=1, N=1, D=1, M=1), 1
    yield 999, dict(B=1, N=197, D=48, M=96), 3


@pytest.mark.parametrize(("seed", "size", "heads"), list(sizes()))
def test_agrees_with_torch(seed, size, heads):
    arguments = draw(seed, **size, scale=3.0)
    ours = vit_encoder_block(arguments[0], heads, *arguments[1:])
    theirs = torch_block(arguments[0], heads, *arguments[1:])
    assert ours.dtype == np.float64 and ours.shape == arguments[0].shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)  # values of order 10: about 500 roundings of float64


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_plain_arithmetic(seed):
    x, *W = draw(seed, B=2, N=4, D=6, M=5)
    np.testing.assert_allclose(vit_encoder_block(x, 3, *W), slow_block(x, 3, *W), rtol=0, atol=1e-13)


def test_one_head_and_as_many_heads_as_features():
    x, *W = draw(3, D=6)
    for heads in (1, 2, 3, 6):
        np.testing.assert_allclose(vit_encoder_block(x, heads, *W), torch_block(x, heads, *W), rtol=0, atol=1e-12)
    assert not np.allclose(vit_encoder_block(x, 1, *W), vit_encoder_block(x, 6, *W))


def test_steps_are_the_block_under_their_names_and_shapes():
    B, N, D, M, heads = 2, 5, 6, 7, 3
    x, *W = draw(4, B, N, D, M)
    steps = vit_encoder_block_steps(x, heads, *W)
    assert list(steps) == list(STEPS)
    np.testing.assert_allclose(steps["out"], vit_encoder_block(x, heads, *W), rtol=0, atol=1e-14)  # order of rounding
    letters = {"B": B, "N": N, "D": D, "M": M, "heads": heads, "D_h": D // heads}
    for name, (_, shape) in STEPS.items():
        assert steps[name].shape == tuple(letters[axis] for axis in shape.split(", ")), name
    np.testing.assert_allclose(steps["A"].sum(axis=-1), 1, rtol=0, atol=1e-14)
    np.testing.assert_allclose(steps["ln_1"].mean(axis=-1), 0, rtol=0, atol=1e-14)
    assert len({id(array) for array in steps.values()}) == len(STEPS)


def test_batch_items_do_not_meet_and_tokens_are_a_set():
    x, *W = draw(5, B=3, N=7)
    whole = vit_encoder_block(x, 2, *W)
    for b in range(3):
        np.testing.assert_allclose(vit_encoder_block(x[b : b + 1], 2, *W)[0], whole[b], rtol=0, atol=1e-13)
    order = [3, 0, 6, 1, 5, 2, 4]
    np.testing.assert_allclose(vit_encoder_block(x[:, order], 2, *W), whole[:, order], rtol=0, atol=1e-13)


@pytest.mark.parametrize("layout", ["fortran", "flipped", "strided", "read-only", "memmap"])
def test_inputs_of_any_memory_layout_are_left_alone(layout, tmp_path):
    plain = draw(8)
    wide = [np.repeat(a, 2, axis=-1) for a in plain]
    arrays = {
        "fortran": [np.asfortranarray(a) for a in plain],
        "flipped": [a[..., ::-1].copy()[..., ::-1] for a in plain],
        "strided": [a[..., ::2] for a in wide],
        "read-only": [a.copy() for a in plain],
        "memmap": [np.memmap(tmp_path / str(i), "f8", "w+", shape=a.shape) for i, a in enumerate(plain)],
    }[layout]
    for array, original in zip(arrays, plain, strict=True):
        if layout == "memmap":
            array[:] = original
        array.flags.writeable = layout != "read-only"
    x, *W = arrays
    np.testing.assert_allclose(
        vit_encoder_block(x, 2, *W), vit_encoder_block(plain[0], 2, *plain[1:]), rtol=0, atol=1e-13
    )
    vit_encoder_block_steps(x, 2, *W)
    for array, original in zip(arrays, plain, strict=True):
        np.testing.assert_array_equal(array, original)


def test_the_result_is_new_even_where_nothing_changes():
    x, *W = draw(9)
    zero = [np.zeros_like(w) for w in W]
    out = vit_encoder_block(x, 2, *zero)
    np.testing.assert_array_equal(out, x)
    assert not np.shares_memory(out, x)


def test_helpers_leave_their_inputs_alone():
    r = np.random.default_rng(10)
    a, q = r.standard_normal((3, 4, 5)), r.standard_normal((2, 3, 4, 5))
    kept = a.copy(), q.copy()
    nb.layer_norm(a), nb.softmax(a), nb.gelu_tanh(a), nb.attention_scores(q, q), nb.join_heads(q), nb.split_heads(a, 5)
    np.testing.assert_array_equal(a, kept[0])
    np.testing.assert_array_equal(q, kept[1])
    assert nb.softmax(a, out=a) is a and nb.gelu_tanh(q, out=q) is q


def test_gelu_is_the_tanh_form_and_as_far_from_erf_as_the_facts_say():
    t = np.linspace(-6, 6, 240_001)
    tanh_form = 0.5 * t * (1 + np.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3)))
    np.testing.assert_allclose(nb.gelu_tanh(t), tanh_form, rtol=0, atol=2e-15)
    exact = np.array([0.5 * s * (1 + math.erf(s / math.sqrt(2))) for s in t])
    gap = np.abs(nb.gelu_tanh(t) - exact)
    assert gap.max() == pytest.approx(4.73e-4, abs=5e-6) and abs(t[gap.argmax()]) == pytest.approx(2.70, abs=0.01)


@pytest.mark.filterwarnings("error")
def test_extreme_numbers():
    s = np.array([[0.0, 800.0, 800.0], [-1e308, 0.0, 1e308], [-1e4, -1e4, -2e4]])
    np.testing.assert_array_equal(nb.softmax(s), [[0, 0.5, 0.5], [0, 0, 1], [0.5, 0.5, 0]])
    t = np.array([-1e300, -1e5, -40.0, -0.0, 0.0, 40.0, 1e5, 1e300])
    np.testing.assert_array_equal(nb.gelu_tanh(t), [0, 0, 0, 0, 0, 40, 1e5, 1e300])
    x, *W = draw(11)
    for scale in (1e-300, 1e-8, 1e8, 1e150):
        np.testing.assert_allclose(
            vit_encoder_block(x * scale, 2, *W) / max(1, scale),
            torch_block(x * scale, 2, *W) / max(1, scale),
            rtol=0,
            atol=1e-12,
        )
    sharp = vit_encoder_block_steps(x, 2, 1e5 * W[0], 1e5 * W[1], *W[2:])  # scores of 1e10: one key takes all
    np.testing.assert_array_equal(np.sort(sharp["A"], axis=-1)[..., -1], 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scales", [(1e200, 1, 1), (1, 1e200, 1), (1, 1, 1e308)])
def test_numbers_beyond_float64_are_an_error_not_a_nan(scales):
    x, *W = draw(12)
    W = [scales[1] * w for w in W[:4]] + [np.full_like(w, scales[2]) if scales[2] > 1 else w for w in W[4:]]
    for block in (vit_encoder_block, vit_encoder_block_steps):
        with pytest.raises(ValueError, match="float64"):
            block(scales[0] * x, 2, *W)


@pytest.mark.parametrize("how", ["raise", "print", "call", "warn"])
@pytest.mark.filterwarnings("error")
def test_what_a_reader_told_numpy_changes_nothing(how, capsys):
    """Scores far apart underflow to weights of 0, a far left GELU to 0: right answers, of which NumPy may not complain."""
    x, *W = draw(21, B=2, N=6, D=8, M=9, scale=30.0)
    W = [40.0 * matrix for matrix in W]
    expected = vit_encoder_block_steps(x, 2, *W)
    assert (expected["A"] == 0).any() and (expected["gelu"] == 0).any()
    functions = {
        "ln_1": lambda: nb.layer_norm(x),
        "scores": lambda: nb.attention_scores(expected["q"], expected["k"]),
        "A": lambda: nb.softmax(expected["scores"]),
        "msa": lambda: nb.msa(expected["ln_1"], 2, *W[:4]),
        "gelu": lambda: nb.gelu_tanh(expected["hidden"]),
        "mlp": lambda: nb.mlp(expected["ln_2"], *W[4:]),
        "out": lambda: vit_encoder_block(x, 2, *W),
    }
    with np.errstate(all=how, call=lambda *_: pytest.fail("NumPy complained")):
        steps, alone = vit_encoder_block_steps(x, 2, *W), {name: function() for name, function in functions.items()}
        with pytest.raises(ValueError, match="outgrew float64"):
            vit_encoder_block(x, 2, *W[:4], 1e200 * W[4], 1e200 * W[5])
    assert capsys.readouterr().out == ""
    for name, value in expected.items():
        assert np.array_equal(steps[name], value), name
        np.testing.assert_allclose(alone.get(name, value), value, rtol=1e-12, atol=0, err_msg=name)


def broken():
    """(id, {argument: replacement}, what the message must name)"""
    x, *W = draw(13, B=2, N=5, D=6, M=7)
    good = dict(zip(("x", *NAMES), (x, *W), strict=True))
    for name, array in good.items():
        nan, inf, ragged = array.copy(), array.copy(), array.copy()
        nan.flat[-1], inf.flat[0], ragged = np.nan, -np.inf, np.concatenate([array, array], axis=0)[:-1]
        yield f"{name}-list", {name: array.tolist()}, [name, "list"]
        yield f"{name}-none", {name: None}, [name, "NoneType"]
        yield f"{name}-float32", {name: array.astype("f4")}, [name, "float64", "float32"]
        yield f"{name}-int", {name: array.astype(int)}, [name, "float64", "int64"]
        yield f"{name}-complex", {name: array.astype(complex)}, [name, "float64", "complex128"]
        yield f"{name}-object", {name: array.astype(object)}, [name, "float64", "object"]
        yield f"{name}-big-endian", {name: array.astype(">f8")}, [name, "float64", ">f8"]
        yield f"{name}-masked", {name: np.ma.masked_array(array)}, [name, "MaskedArray"]
        yield f"{name}-nan", {name: nan}, [name, "nan", str([n - 1 for n in array.shape])]
        yield f"{name}-inf", {name: inf}, [name, "-inf", str([0] * array.ndim)]
        yield f"{name}-axes", {name: array[None]}, [name, str((1, *array.shape))]
        yield f"{name}-scalar", {name: np.float64(3.0)}, [name, "float64"]
        yield f"{name}-0d", {name: np.array(3.0)}, [name, "()"]
        for axis in range(array.ndim):
            yield f"{name}-empty{axis}", {name: np.delete(array, np.s_[:], axis=axis)}, [name, "empty"]
        if name != "x":
            yield f"{name}-rows", {name: ragged}, [name, str(ragged.shape)]
            if name in ("W1", "W2"):
                yield (
                    f"{name}-transposed",
                    {name: array.T.copy()},
                    ["W2", "(7, 6)"] if name == "W2" else ["W1", "(D, M) = (6, 6)"],
                )
            if name != "W1":
                yield f"{name}-columns", {name: array[:, :-1]}, [name, "(6, 6)" if name != "W2" else "(7, 6)"]
    wrong_heads = [
        (True, "bool"),
        (2.0, "float"),
        ("2", "str"),
        (None, "None"),
        (0, "got 0"),
        (-3, "-3"),
        (4, "D = 6"),
        (12, "12"),
    ]
    for heads, word in wrong_heads:
        yield f"heads-{heads!r}", {"num_heads": heads}, ["num_heads", word]


@pytest.mark.parametrize(("change", "words"), [pytest.param(c, w, id=i) for i, c, w in broken()])
def test_every_broken_constraint_is_named(change, words):
    x, *W = draw(13, B=2, N=5, D=6, M=7)
    arguments = dict(zip(("x", *NAMES), (x, *W), strict=True)) | {"num_heads": 2} | change
    for block in (vit_encoder_block, vit_encoder_block_steps):
        with pytest.raises(ValueError) as caught:
            block(**arguments)
        for word in words:
            assert word in str(caught.value), str(caught.value)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_numpy_matrix_is_refused():
    x, *W = draw(13)
    with pytest.raises(ValueError, match="Wq must be a plain NumPy array, got matrix"):
        vit_encoder_block(x, 2, np.matrix(W[0]), *W[1:])


@pytest.mark.parametrize("heads", [np.int64(3), np.uint8(3)])
def test_numpy_whole_numbers_are_whole_numbers(heads):
    x, *W = draw(14)
    np.testing.assert_array_equal(vit_encoder_block(x, heads, *W), vit_encoder_block(x, 3, *W))


def test_no_python_loop_over_batch_tokens_or_heads():
    """The interpreter executes as many lines for one token as for many: nothing in the module loops over them."""

    def lines(heads, **size):
        import sys

        x, *W = draw(16, **size)
        count = 0

        def tracer(frame, event, _):
            nonlocal count
            if frame.f_code.co_filename != nb.__file__:
                return None
            count += event == "line"
            return tracer

        old = sys.gettrace()
        sys.settrace(tracer)
        try:
            vit_encoder_block(x, heads, *W)
        finally:
            sys.settrace(old)
        return count

    few = lines(1, B=1, N=1, D=12, M=1)
    assert few > 20
    assert few == lines(12, B=5, N=31, D=12, M=40)


def test_memory_stays_near_what_the_block_must_hold():
    """No temporary beyond a few times the largest intermediate: hidden, (B, N, M)."""
    x, *W = draw(17, B=4, N=50, D=64, M=256)
    tracemalloc.start()
    vit_encoder_block(x, 4, *W)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3.5 * 8 * 4 * 50 * 256


def test_calls_from_threads_do_not_disturb_each_other():
    x, *W = draw(18)
    expected, results = vit_encoder_block(x, 2, *W), []
    threads = [threading.Thread(target=lambda: results.append(vit_encoder_block(x, 2, *W))) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(results) == 4 and all(np.array_equal(r, expected) for r in results)
