"""A batch is its pictures side by side: the same numbers as one by one, one axis more, and never an A that is kept."""

import pytest
import torch
from tiny import ODD, checkpoint_of, random_weights, random_x

from vitbook import maps
from vitbook.model import run

B = 5  # no other axis of the tiny model has this length
CLOSE = dict(rtol=1e-11, atol=1e-12)
WEIGHTS = random_weights()


def pictures(B: int = B) -> torch.Tensor:
    return torch.stack([random_x(seed=seed) for seed in range(B)])


@pytest.fixture(scope="module")
def batch():
    return run(WEIGHTS, pictures())


@pytest.fixture(scope="module")
def single():
    return [run(WEIGHTS, x) for x in pictures()]


def test_every_tensor_of_a_batch_is_the_stack_of_single_ones(batch, single):
    assert batch.keys() == single[0].keys() and batch.B == B and single[0].B is None
    for key in batch.keys():
        torch.testing.assert_close(batch[key], torch.stack([trace[key] for trace in single]), **CLOSE)


@pytest.mark.parametrize("choice", [(2,), (2, 1), (3, 2, 7), (1, None, 0)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_a_batch(choice, masked):
    mask = torch.ones(13, 13, dtype=torch.bool).tril() if masked else None
    batch, single = run(WEIGHTS, pictures(), mask), [run(WEIGHTS, x, mask) for x in pictures()]
    torch.testing.assert_close(
        batch.attention(*choice), torch.stack([trace.attention(*choice) for trace in single]), **CLOSE
    )


def test_a_batch_of_one_keeps_its_axis(single):
    trace = run(WEIGHTS, pictures(1))
    assert trace.B == 1 and trace.logits.shape == (1, 7) and trace.attention(1).shape == (1, 2, 13, 13)
    torch.testing.assert_close(trace.picture(0).z[-1], single[0].z[-1], **CLOSE)


def test_one_picture_of_a_batch(batch, single):
    trace = batch.picture(3)
    assert trace.B is None and trace.shapes() == single[3].shapes()
    assert trace.z[1].data_ptr() == batch.z[1][3].data_ptr(), "nothing is copied"
    torch.testing.assert_close(trace.attention(2, 1), single[3].attention(2, 1), **CLOSE)
    for wrong in (-1, B, True, 1.0):
        with pytest.raises(ValueError, match="whole number from 0 to 4"):
            batch.picture(wrong)
    with pytest.raises(ValueError, match="one picture already"):
        trace.picture(0)


@pytest.mark.parametrize(
    "read",
    [
        lambda t: maps.attention_map(t, 2, 1, 5),
        lambda t: maps.readers_map(t, 2, 2, 5),
        maps.rollout,
        lambda t: maps.attention_distance(t, 3),
        lambda t: maps.entropy(t.attention(1)),
        lambda t: maps.offset_profile(t.attention(2), t.config),
    ],
)
def test_maps_of_a_batch(read, batch, single):
    torch.testing.assert_close(read(batch), torch.stack([read(trace) for trace in single]), **CLOSE)


def test_a_trace_grows_with_tokens_and_not_with_their_square(batch):
    """q and k are kept, A is not: every tensor has at most one axis of tokens, and as many numbers as Eq. 1 to 4 name."""
    T, c = ODD.N + 1, ODD
    kept = [batch[key] for key in batch.keys()]
    assert all(tuple(tensor.shape).count(T) <= 1 for tensor in kept)
    one = c.C * c.H * c.W + c.N * (c.patch_numbers + c.D) + (7 * c.L + 1) * T * c.D + c.D + 7
    assert sum(tensor.numel() for tensor in kept) == B * one


def test_short_words_for_a_reader(batch, single):
    assert repr(batch) == "<Trace of a batch of 5: N = 12, D = 22, L = 3, heads = 2, 7 classes, float64>"
    assert repr(single[0]).startswith("<Trace of one picture: N = 12,")
    html = batch._repr_html_()
    assert html.count("<tr>") == 1 + len(batch.shapes()) and "<td>3 x (5, 2, 13, 11)</td>" in html
    assert repr(WEIGHTS).startswith("<Weights: P = 5, N = 12, D = 22, L = 3, heads = 2, M = 37, 7 classes, ")
    assert f"{sum(t.numel() for _, t in WEIGHTS.named()):,} numbers, float64>" in repr(WEIGHTS)
    assert repr(WEIGHTS.layers[0]) == "<LayerWeights: D = 22, M = 37, float64>"


def test_letters_and_layers_as_in_the_paper(single):
    trace = single[0]
    assert trace["z", 0] is trace.z[0] and trace["z", 3] is trace.z[3]
    assert trace["msa", 3] is trace.msa[2] and trace["y"] is trace.y
    assert set(trace.keys()) >= {"x", "x_p", ("z", 0), ("q", 1), ("mlp", 3), "logits"}
    for wrong in (("z", 4), ("msa", 0), "z", ("y", 1), "A", 0):
        with pytest.raises(KeyError, match="z_3"):
            trace[wrong]


def test_everything_goes_where_the_weights_are():
    """A type and a device alike; nothing that a run or a map makes by itself stays behind."""
    checkpoint = checkpoint_of(WEIGHTS).to(torch.float32)
    trace = run(checkpoint, pictures())
    assert {trace[key].dtype for key in trace.keys()} == {torch.float32}
    assert maps.rollout(trace).dtype == maps.attention_distance(trace, 1).dtype == torch.float32
    assert checkpoint.to("cpu").weights.E.device.type == "cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_on_a_gpu(batch):
    mask = torch.ones(13, 13, dtype=torch.bool).tril()
    trace = run(checkpoint_of(WEIGHTS).to("cuda"), pictures(), mask)
    assert {trace[key].device.type for key in trace.keys()} == {"cuda"}
    for made in (maps.rollout(trace), maps.attention_distance(trace, 1), maps.offset_profile(trace.attention(2), ODD)):
        assert made.device.type == "cuda"
    torch.testing.assert_close(trace.y.cpu(), run(WEIGHTS, pictures(), mask).y, rtol=1e-9, atol=1e-10)
