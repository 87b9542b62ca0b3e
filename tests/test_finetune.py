"""A head of zeros learns what can be learned, and says so when it cannot."""

import math

import pytest
import torch
from PIL import Image
from tiny import ODD, checkpoint_of, random_weights, random_x

from vitbook.model import run
from vitbook.studies.finetune import Head, crops, train_head, with_head


def clouds(n=30, K=3):
    """Three clouds in 5 dimensions, wide apart."""
    generator = torch.Generator().manual_seed(0)
    classes = torch.arange(n) % K
    return 3 * torch.eye(K, 5)[classes] + 0.3 * torch.randn(n, 5, generator=generator), classes


def test_zeros_start_at_ln_K_and_learn():
    Y, classes = clouds()
    head = train_head(Y, classes, K=3)
    assert head.losses[0] == pytest.approx(math.log(3)) and head.losses[-1] < 0.1 and len(head.losses) == 201
    assert head.accuracy(Y, classes) == 1


def test_no_steps_leave_zeros():
    head = train_head(*clouds(), K=4, steps=0)
    assert not head.W.any() and not head.b.any() and head.losses == (pytest.approx(math.log(4)),)


def test_bad_classes_are_named():
    Y, classes = clouds()
    with pytest.raises(ValueError, match=r"0\.\.1"):
        train_head(Y, classes, K=2)
    with pytest.raises(ValueError, match="30 rows and 29"):
        train_head(Y, classes[:-1], K=3)


def test_halves_share_no_pixel():
    picture = Image.new("RGB", (101, 40))
    picture.paste((255, 0, 0), (0, 0, 50, 40))
    assert all(crop.getextrema()[0] == (255, 255) for crop in crops(picture, 20, "left"))
    assert all(crop.getextrema()[0] == (0, 0) for crop in crops(picture, 20, "right"))
    assert [c.size for c in crops(picture, 5, "left", seed=3)] == [c.size for c in crops(picture, 5, "left", seed=3)]
    assert all(c.width == c.height and 40 // 3 <= c.width <= 40 for c in crops(picture, 20, "left"))
    with pytest.raises(ValueError, match="left"):
        crops(picture, 1, "top")
    with pytest.raises(ValueError, match="too small"):
        crops(Image.new("RGB", (3, 3)), 1, "left")


def test_a_new_head_gives_logits_to_a_checkpoint_without_one():
    bare = checkpoint_of(random_weights(K=None))
    head = Head(torch.ones(ODD.D, 2, dtype=torch.float64), torch.tensor([0.0, 1.0], dtype=torch.float64), ())
    answering = with_head(bare, head, ["left", "right"])
    trace = run(answering, random_x())
    torch.testing.assert_close(trace.logits, head(trace.y))
    assert answering.top(trace.logits, 1)[0][0] == "right"
