"""Few-shot answers: exact, blind to units, at chance where there is nothing to learn; and the pictures they are tried on."""

import dataclasses

import numpy as np
import pytest
import torch

from vitbook.pictures import PictureError
from vitbook.pictures import small as small_room
from vitbook.studies.few_shot import accuracies, few_shot, splits


def cloud(n=60, D=7, apart=0.5):
    generator = torch.Generator().manual_seed(0)
    t = torch.ones(n, dtype=torch.float64)
    t[n // 2 :] = -1
    return torch.randn(n, D, generator=generator, dtype=torch.float64) + apart * t[:, None], t


def test_it_is_the_exact_solution():
    """The same w from the D x D equations, and no slope is left at it."""
    Y, t = cloud()
    w, mean = few_shot(Y, t)
    X = Y - Y.mean(0)
    lam = 0.1 * X.square().sum(1).mean()
    assert torch.allclose(w, torch.linalg.solve(X.T @ X + lam * torch.eye(7), X.T @ t)) and torch.equal(mean, Y.mean(0))
    w.requires_grad_()
    (((X @ w - t) ** 2).sum() + lam * (w**2).sum()).backward()
    assert w.grad.abs().max() < 1e-9


def test_units_do_not_matter():
    Y, t = cloud()
    assert torch.equal(accuracies(1000 * Y + 5, t, 10, 20), accuracies(Y, t, 10, 20))


def test_what_can_be_learned_is_and_what_cannot_is_not():
    Y, t = cloud(apart=2)
    assert accuracies(Y, t, 10, 20).min() > 0.9
    assert abs(accuracies(Y, t, 20, 200, shuffled=True).mean() - 0.5) < 0.05
    noise, _ = cloud(apart=0)
    assert abs(accuracies(noise, t, 20, 200).mean() - 0.5) < 0.05


def test_splits_are_balanced_and_keep_examples_out_of_the_test():
    _, t = cloud()
    seen = list(splits(t, 10, 5))
    for train, test in seen:
        assert t[train].sum() == 0 and sorted(torch.cat([train, test]).tolist()) == list(range(60))
    assert len({tuple(train.tolist()) for train, _ in seen}) == 5


def test_bad_input_is_named():
    _, t = cloud()
    with pytest.raises(ValueError, match="even"):
        list(splits(t, 5, 1))
    with pytest.raises(ValueError, match="examples must be a whole number from 2 to 58"):
        list(splits(t, 60, 1))
    with pytest.raises(ValueError, match="all rows of Y are the same"):
        few_shot(torch.ones(4, 3), torch.tensor([1.0, 1, -1, -1]))


def test_the_small_pictures(monkeypatch):
    pictures, t = small_room.small_pictures()
    assert pictures.shape == (200, 25, 25) and pictures.dtype == np.uint8 and t.sum() == 0 and set(t) == {1, -1}
    assert len(small_room.SMALL.read()) == small_room.SMALL.size
    assert pictures[:100].mean() > pictures[100:].mean()
    monkeypatch.setattr(small_room, "SMALL", dataclasses.replace(small_room.SMALL, sha256="0" * 64))
    with pytest.raises(PictureError, match=r"not the one described.*scikit-image"):
        small_room.small_pictures()
