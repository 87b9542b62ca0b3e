"""Preprocessing against transformers' own processor, and overlays that land on what the model saw."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny import ODD, checkpoint_of, random_weights
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from vitbook.config import RESAMPLING, Preprocessing, ViTConfig
from vitbook.library.base import Checkpoint
from vitbook.pictures import PICTURES, PictureError, load_picture
from vitbook.pixels import prepare, preprocess, seen, unnormalise, view_box

HALF, IMAGENET = ((0.5,) * 3, (0.5,) * 3), ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
ONE_STEP = 1 / 255 + 1e-6  # of a grey level, after undoing the normalisation


def wanting(H, W, P, how) -> Checkpoint:
    """A checkpoint that wants pictures this way; its weights are never used."""
    config = ViTConfig(H=H, W=W, P=P, D=4, L=1, heads=2, M=3)
    return checkpoint_of(random_weights(config), preprocessing=how)


@pytest.mark.parametrize("name", [*PICTURES])
@pytest.mark.parametrize(
    ("size", "stats", "resample"),
    [((224, 224), HALF, "bilinear"), ((196, 196), IMAGENET, "bicubic"), ((224, 160), HALF, "lanczos")],
)
def test_every_catalogue_picture_as_the_library_makes_it(name, size, stats, resample):
    mean, std = stats
    checkpoint = wanting(*size, P=4, how=Preprocessing(size, mean, std, resample))
    processor = ViTImageProcessorPil(
        size={"height": size[0], "width": size[1]}, image_mean=mean, image_std=std, resample=RESAMPLING.index(resample)
    )
    picture = load_picture(name)
    theirs = torch.as_tensor(np.asarray(processor(picture, return_tensors="np")["pixel_values"][0]))
    ours = preprocess(picture, checkpoint)
    assert ours.shape == theirs.shape == (3, *size) and ours.dtype == torch.float32
    scale = torch.tensor(std).reshape(3, 1, 1)
    assert ((ours - theirs) * scale).abs().max() <= ONE_STEP


def test_the_seed_s_first_numbers_on_the_two_cats():
    """Needs the picture itself: fetched, or VITBOOK_CATS with the path of a copy."""
    copy = os.environ.get("VITBOOK_CATS", "")
    if "cats" not in PICTURES and not Path(copy).is_file():
        pytest.skip("the two cats are not here: run `make fetch`, or set VITBOOK_CATS to a copy of COCO 000000039769")
    checkpoint = wanting(224, 224, 16, Preprocessing((224, 224), *HALF, "bilinear"))
    x = preprocess(copy or "cats", checkpoint)
    printed = torch.tensor([0.114, 0.169, 0.184, 0.200, 0.208, 0.239, 0.231, 0.200])
    torch.testing.assert_close(x[0, 0, :8], printed, rtol=0, atol=5e-4)  # half a unit of the last printed digit
    torch.testing.assert_close(x[:, 0, 0], torch.tensor([0.114, -0.804, -0.545]), rtol=0, atol=5e-4)


@pytest.mark.parametrize("size", [(451, 300), (31, 90), (224, 224)])
def test_unnormalise_gives_back_the_pixels_that_were_seen(size):
    picture = Image.effect_noise(size, 90).convert("RGB")
    for mean, std in (HALF, IMAGENET):
        checkpoint = wanting(20, 15, 5, Preprocessing((20, 15), mean, std, "bicubic"))
        x = preprocess(picture, checkpoint)
        assert np.array_equal(unnormalise(x, checkpoint.preprocessing), np.asarray(seen(picture, checkpoint)))


def test_shorter_side_and_crop():
    how = Preprocessing(resize=40, mean=(0.5,) * 3, std=(0.5,) * 3, crop=(15, 20))
    checkpoint = wanting(15, 20, 5, how)
    picture = Image.new("RGB", (80, 160), "red")  # becomes 40 x 80, of which the middle 20 x 15 is kept
    picture.paste("blue", (20, 65, 60, 95))  # exactly that middle, in pixels of the original
    assert preprocess(picture, checkpoint).shape == (3, 15, 20)
    assert view_box(picture.size, how) == pytest.approx((20, 64, 60, 94), abs=2)
    middle = np.asarray(seen(picture, checkpoint))[3:-3, 3:-3]
    assert (middle[..., 2] > 250).all() and (middle[..., 0] < 5).all()


def test_without_a_crop_the_view_is_the_whole_picture():
    assert view_box((451, 300), Preprocessing((224, 224), *HALF)) == (0, 0, 451, 300)


def test_no_resize_takes_a_picture_of_the_right_size_only():
    checkpoint = wanting(15, 20, 5, Preprocessing(None, *HALF))
    assert preprocess(Image.new("RGB", (20, 15)), checkpoint).shape == (3, 15, 20)
    with pytest.raises(ValueError, match="15 x 20"):
        preprocess(Image.new("RGB", (21, 15)), checkpoint)


def test_preprocessing_needs_no_checkpoint_where_there_is_none():
    how = Preprocessing(resize=20, mean=(0.5, 0.4, 0.3), std=(0.5, 0.6, 0.7), crop=(15, 20))
    checkpoint = wanting(15, 20, 5, how)
    assert torch.equal(prepare(PICTURES["chelsea"], how, checkpoint.config), preprocess("chelsea", checkpoint))


def test_one_channel_is_grey_and_other_counts_are_refused():
    config = replace(ODD, C=1)
    grey = checkpoint_of(random_weights(config), preprocessing=Preprocessing((15, 20), (0.5,), (0.5,)))
    x = preprocess(Image.new("RGB", (30, 30), (255, 0, 0)), grey)
    assert x.shape == (1, 15, 20) and x.mean().item() == pytest.approx(76 / 255 * 2 - 1, abs=1e-3)
    four = checkpoint_of(
        random_weights(replace(ODD, C=4)), preprocessing=Preprocessing((15, 20), (0.5,) * 4, (0.5,) * 4)
    )
    with pytest.raises(ValueError, match="C = 4"):
        preprocess(Image.new("RGB", (30, 30)), four)


def test_bad_pictures_are_refused_by_name():
    with pytest.raises(PictureError, match=r"nowhere\.png"):
        preprocess("nowhere.png", wanting(15, 20, 5, Preprocessing((15, 20), *HALF)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(resample="cubic"), "resample must be one of"),
        (dict(std=(0.5, 0.0, 0.5)), "std must be positive"),
        (dict(mean=(0.5,)), "must agree"),
        (dict(resize=(0, 5)), "resize"),
        (dict(crop=(3, -1)), "crop"),
    ],
)
def test_bad_preprocessing_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Preprocessing(**dict(resize=(15, 20), mean=HALF[0], std=HALF[1]) | change)
