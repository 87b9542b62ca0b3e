"""What is read off a trace, each against a second way of computing it."""

import math

import pytest
import torch
from tiny import ODD, random_weights, random_x

from vitbook import maps
from vitbook.model import run
from vitbook.patches import place_of


@pytest.fixture(scope="module")
def trace():
    return run(random_weights(), random_x())


def test_maps_are_rows_and_columns_of_A(trace):
    A = trace.attention(2, 1)
    out, back = maps.attention_map(trace, 2, 1, 5), maps.readers_map(trace, 2, 1, 5)
    assert out.shape == back.shape == (3, 4)
    for token in range(1, 13):
        place = place_of(token, ODD)
        assert out[place] == pytest.approx(A[5, token].item()) and back[place] == pytest.approx(A[token, 5].item())


def test_rollout_multiplies_later_layers_from_the_left(trace):
    mean = [(trace.attention(l).mean(0) + torch.eye(13)) / 2 for l in (1, 2, 3)]
    R = maps.rollout(trace)
    torch.testing.assert_close(R[-1], mean[2] @ mean[1] @ mean[0])
    torch.testing.assert_close(R.sum(-1), torch.ones(3, 13, dtype=torch.float64))


def test_entropy_of_even_and_of_sharp_rows():
    assert maps.entropy(torch.full((8,), 1 / 8)).item() == pytest.approx(3)
    assert maps.entropy(torch.tensor([0.0, 1.0, 0.0])).item() == pytest.approx(0)


def test_attention_distance_against_a_loop(trace):
    A = trace.attention(1)[:, 1:, 1:]
    for h in range(2):
        total = 0.0
        for i in range(12):
            row = A[h, i] / A[h, i].sum()
            total += sum(row[j].item() * 5 * math.dist(place_of(i + 1, ODD), place_of(j + 1, ODD)) for j in range(12))
        assert maps.attention_distance(trace, 1)[h].item() == pytest.approx(total / 12)


def test_uniform_distance_is_the_mean_of_all_pairs():
    places = [(r, c) for r in range(3) for c in range(4)]
    assert maps.uniform_distance(ODD) == pytest.approx(
        5 * sum(math.dist(a, b) for a in places for b in places) / 144, rel=1e-6
    )


def test_offset_profile_finds_a_shift():
    A = torch.zeros(1, 13, 13)
    for token in range(1, 13):
        row, column = place_of(token, ODD)
        A[0, token, 1 + min(row + 1, 2) * 4 + column] = 1  # every query reads the patch below it
    profile = maps.offset_profile(A, ODD)
    assert profile.shape == (1, 5, 7)
    assert divmod(profile[0].flatten().argmax().item(), 7) == (3, 3) and profile[0, 3, 3] == 1


def test_position_similarity_is_one_with_itself():
    similarity = maps.position_similarity(random_weights().E_pos, ODD)
    assert similarity.shape == (12, 3, 4)
    for token in range(1, 13):
        assert similarity[token - 1][place_of(token, ODD)].item() == pytest.approx(1)
