"""Other numerics on the same weights: only what was chosen changes, and by as much as the formulas say."""

import math

import pytest
import torch
from tiny import ODD, checkpoint_of, random_weights, random_x

from vitbook.encoder import gelu, gelu_tanh, layer_norm
from vitbook.ledger.measure.numerics import best_coefficient, tanh_decimals, tanh_error
from vitbook.model import run
from vitbook.studies.numerics import CONVENTIONS, distance, effect, smallest_variances, variant


@pytest.fixture(scope="module")
def checkpoint():
    return checkpoint_of(random_weights())


@pytest.fixture(scope="module")
def x():
    return random_x()


def test_a_variant_changes_what_was_asked_and_nothing_else(checkpoint):
    other = variant(checkpoint, activation="gelu_tanh", eps=1e-6, dtype=torch.float32)
    assert (other.config.activation, other.config.eps) == ("gelu_tanh", 1e-6)
    assert (other.config.D, other.config.heads) == (ODD.D, ODD.heads) and other.weights.dtype == torch.float32
    for (name, ours), (_, before) in zip(other.weights.named(), checkpoint.weights.named(), strict=True):
        assert torch.equal(ours, before.float()), name
    same = variant(checkpoint)
    assert same.config == checkpoint.config and same.weights.dtype == torch.float64
    assert variant(checkpoint, eps=0.0).config.eps == 0


@pytest.mark.parametrize(
    "choice, complaint", [(dict(activation="swish"), "activation must be"), (dict(eps=-1e-6), "eps must be")]
)
def test_a_choice_that_no_model_has_is_refused(checkpoint, choice, complaint):
    with pytest.raises(ValueError, match=complaint):
        variant(checkpoint, **choice)


def test_its_own_choices_change_nothing(checkpoint, x):
    none = effect(checkpoint, x, activation=ODD.activation, eps=ODD.eps)
    assert none.z == (0,) * (ODD.L + 1) and none.y == none.angle == none.probability == 0 and none.same_answer


def test_another_choice_first_shows_in_layer_1(checkpoint, x):
    for choice in (dict(activation="gelu_tanh"), dict(eps=1e-6)):
        change = effect(checkpoint, x, **choice)
        assert change.z[0] == 0 and all(z > 1e-9 for z in change.z[1:]) and change.y > 1e-9 and change.angle > 0
    rounding = effect(checkpoint, x, dtype=torch.float32)
    assert 0 < rounding.z[0] < 1e-6 and 0 < rounding.y < 1e-4


def test_a_distance_is_what_its_words_say(checkpoint, x):
    a, b = run(checkpoint, x), run(variant(checkpoint, activation="relu"), x)
    found = distance(a, b)
    for l in range(ODD.L + 1):
        assert found.z[l] == pytest.approx(((a.z[l] - b.z[l]).abs().max() / a.z[l].abs().max()).item())
    cosine = torch.nn.functional.cosine_similarity(a.y, b.y, dim=0).item()
    assert found.angle == pytest.approx(math.degrees(math.acos(cosine)), rel=1e-6)
    p, q = torch.softmax(a.logits, 0), torch.softmax(b.logits, 0)
    assert found.probability == pytest.approx((p - q).abs().max().item())
    assert found.same_answer == (p.argmax() == q.argmax()).item()


def test_a_tiny_angle_is_not_lost(checkpoint, x):
    """acos of a cosine that is 1 to the last bit would say 0 or NaN; here about 1e-9 radians remain."""
    trace = run(checkpoint, x)
    turned = run(checkpoint, x)
    v = trace.y.clone()
    v[0], v[1] = v[0] - 1e-9 * v[1], v[1] + 1e-9 * v[0]
    object.__setattr__(turned, "y", v)
    share = (trace.y[0] ** 2 + trace.y[1] ** 2).sqrt() / trace.y.norm()
    assert distance(trace, turned).angle == pytest.approx(math.degrees(1e-9) * share.item(), rel=1e-3)


def test_without_a_head_there_are_no_answers_to_compare(x):
    change = effect(checkpoint_of(random_weights(K=None)), x, activation="relu")
    assert change.probability is None and change.same_answer is None and change.y > 0


def test_runs_of_two_models_are_not_compared(checkpoint, x):
    from dataclasses import replace

    other = checkpoint_of(random_weights(replace(ODD, L=2)))
    with pytest.raises(ValueError, match=r"different shapes: z 4 x .* and 3 x"):
        distance(run(checkpoint, x), run(other, x))


def test_runs_of_batches_are_not_compared_as_if_they_were_one_picture(checkpoint, x):
    with pytest.raises(ValueError, match=r"of a batch of 2, so take .picture\(i\)"):
        distance(*[run(checkpoint, torch.stack([x, x]))] * 2)


def test_epsilon_shortens_by_what_the_variance_says(checkpoint, x):
    """LN divides by sqrt(var + eps): the token of smallest variance is shortened by 1 - sqrt(var / (var + eps))."""
    trace = run(checkpoint, x)
    before, between = smallest_variances(trace)[0]
    assert before == pytest.approx(trace.z[0].var(-1, correction=0).min().item())
    assert between == pytest.approx(trace.z_prime[0].var(-1, correction=0).min().item())
    row = trace.z[0][trace.z[0].var(-1, correction=0).argmin()]
    one, zero = torch.ones(ODD.D).double(), torch.zeros(ODD.D).double()
    for eps in (1e-3, 1e-2):
        shorter = layer_norm(row, one, zero, eps).norm() / layer_norm(row, one, zero, 0.0).norm()
        assert shorter.item() == pytest.approx(math.sqrt(before / (before + eps)))
    assert len(smallest_variances(trace)) == ODD.L


def test_the_tanh_form_is_as_far_from_gelu_as_it_is_said_to_be():
    x = torch.linspace(-10, 10, 400_001, dtype=torch.float64)
    worst = (gelu(x) - gelu_tanh(x)).abs()
    assert tanh_error() == pytest.approx(worst.max().item(), rel=1e-6)
    assert abs(abs(x[worst.argmax()].item()) - 2.70) < 0.01
    assert 0.5e-4 < tanh_error() < 0.5e-3 and tanh_decimals() == 3


def test_the_best_coefficient_is_a_minimum():
    best = best_coefficient()
    assert tanh_error(best) < min(tanh_error(best - 1e-4), tanh_error(best + 1e-4), tanh_error())
    assert max(tanh_error(c / 1e5) >= tanh_error(best) - 1e-9 for c in range(4300, 4700, 10))


def test_conventions_are_ones_that_a_config_can_have(checkpoint):
    for activation, eps in CONVENTIONS.values():
        assert variant(checkpoint, activation, eps).config.eps == eps
    assert CONVENTIONS["the authors' JAX code"] == ("gelu_tanh", 1e-6)
