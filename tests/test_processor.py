"""Every generated preprocessor_config.json gives transformers' own pixels, or is refused: never other ones."""

from __future__ import annotations

import json
import random

import folders
import numpy as np
import pytest
from PIL import Image
from transformers import AutoImageProcessor
from transformers.utils import logging

from vitbook import CheckpointError, load_checkpoint, preprocess
from vitbook.library import processor
from vitbook.library.base import quiet

H, W = folders.SIZES["image_size"]
BOX = {"height": H, "width": W}
FLAG = (True, False, None)

#: A way to say everything, of each of the three kinds: straight to the size, shortest edge and crop, crop alone.
SOUND = (
    {"size": BOX},
    {"size": [H, W], "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "resample": 3},
    {"size": 24, "default_to_square": False, "do_center_crop": True, "crop_size": [H, W]},
    {"size": {"shortest_edge": 17}, "do_center_crop": True, "crop_size": BOX, "resample": 1},
    {"size": {"height": 30, "width": 40}, "do_center_crop": True, "crop_size": BOX, "resample": 5},
    {"do_resize": None, "do_center_crop": True, "crop_size": BOX},
)
#: Key -> what else may stand there; None is a null in the file.
ODD = {
    "size": (20, None, [H], [H, W, 3], {"longest_edge": W}, {"shortest_edge": H, "longest_edge": 40}, BOX | {"shortest_edge": None},
             {"max_height": H, "max_width": W}, {"height": H, "width": 0}, "15", True),
    "default_to_square": FLAG,
    "do_resize": (*FLAG, 0, "yes"),
    "resample": (0, 1, 2, 3, 4, 5, 6, None, True, "bicubic"),
    "do_center_crop": FLAG,
    "crop_size": (20, None, {"shortest_edge": H}, {"height": 60, "width": 70}, [H]),
    "do_rescale": FLAG,
    "rescale_factor": (1 / 127.5, 1, 0, -1 / 255, None, 1e300, "1"),
    "do_normalize": FLAG,
    "image_mean": (0.3, 0, [0.5], [0.1, 0.2, 0.3, 0.4], None, "0.5"),
    "image_std": (0.3, 2, 0, [0.5], None, -1),
    "do_convert_rgb": FLAG,
    "do_pad": FLAG,
    "pad_size": ({"height": 40, "width": 40}, None),
    "data_format": ("channels_first", "channels_last", None),
    "input_data_format": ("channels_first", "channels_last", None),
    "image_processor_type": (
        None, "ViTImageProcessor", "ViTImageProcessorFast", "ViTImageProcessorPil", "ViTFeatureExtractor", "DeiTImageProcessor",
        "BitImageProcessor", "CLIPImageProcessor", "SiglipImageProcessorFast", "ConvNextImageProcessor", "BeitImageProcessor",
        "LevitImageProcessor", "PerceiverImageProcessor", "EfficientNetImageProcessor", "VideoMAEImageProcessor", "Nonsense",
    ),
    "feature_extractor_type": ("ViTFeatureExtractor", "CLIPFeatureExtractor", "BeitFeatureExtractor", None),
    "crop_pct": (0.9, None),
    "rescale_offset": (True, False),
    "size_divisor": (16, None),
    "use_square_size": (True,),
    "resize": (True,),
    "processor_class": ("ViTProcessor", None),
    "_valid_processor_keys": (["images"],),
    "return_tensors": ("pt", None),
    "device": ("cpu", None),
}  # fmt: skip
#: (width, height): the model's own, larger, smaller, and strips, of which a crop takes more than there is.
PICTURES = ((W, H), (64, 48), (48, 64), (1, 1), (3, 90), (90, 3), (33, 17), (17, 33))


def generated(chance: random.Random) -> dict:
    """One of `SOUND` with up to three keys left out or changed."""
    said = dict(chance.choice(SOUND))
    for key in chance.sample(list(ODD), chance.choice((0, 1, 1, 2, 2, 3))):
        said[key] = chance.choice(ODD[key])
    if said and chance.random() < 0.15:
        del said[chance.choice(list(said))]
    return said


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of three channels, one of one, and a square one of the size that classes have by default."""
    where = tmp_path_factory.mktemp("models")
    kinds = {"colour": {}, "grey": {"num_channels": 1}, "square": {"image_size": 224, "patch_size": 112}}
    return [folders.write(where / name, **changes) for name, changes in kinds.items()]


def write_file(folder, said: dict, chance: random.Random) -> None:
    """As preprocessor_config.json, or inside a processor_config.json, which goes first."""
    (folder / "processor_config.json").unlink(missing_ok=True)
    (folder / "preprocessor_config.json").write_text(json.dumps(said))
    if chance.random() < 0.1:
        (folder / "processor_config.json").write_text(json.dumps({"image_processor": said}))
        (folder / "preprocessor_config.json").write_text(json.dumps(folders.PREPROCESSOR))


def transformers_own(folder, picture: Image.Image) -> np.ndarray | None:
    """The pixel values of the checkpoint's own processor, or None where it raises."""
    logging.disable_progress_bar()
    try:
        with quiet():
            own = AutoImageProcessor.from_pretrained(folder, backend="pil")
            return np.asarray(own(picture, return_tensors="np")["pixel_values"][0], np.float32)
    except Exception:  # whatever it raises: then it makes no pixels that ours could differ from
        return None


@pytest.mark.parametrize("seed", range(6))
def test_pixels_are_transformers_own_or_refused(models, seed):
    chance, outcomes = random.Random(seed), {"same": 0, "refused": 0, "no witness": 0}
    for _ in range(80):
        said, folder = generated(chance), chance.choice((models[0], *models))
        write_file(folder, said, chance)
        width, height = chance.choice(PICTURES)
        noise = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
        picture = Image.fromarray(noise)
        try:
            checkpoint = load_checkpoint(folder)
            ours = preprocess(picture, checkpoint).numpy()
        except ValueError:  # CheckpointError is one; anything else fails the test
            outcomes["refused"] += 1
            continue
        theirs = transformers_own(folder, picture.convert("L") if checkpoint.config.C == 1 else picture)
        if theirs is None:
            outcomes["no witness"] += 1
            continue
        # not a bit apart: both make the same roundings, to float32 after scaling, then after subtracting, then after dividing
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{folder.name}, {picture.size}, {said}")
        outcomes["same"] += 1
    assert outcomes["same"] > 12 and outcomes["refused"] > 12 and outcomes["no witness"] < 5, outcomes


def test_the_defaults_are_those_of_the_classes():
    """`processor.CLASSES` beside the attributes of the classes themselves."""
    import transformers

    for name, changes in processor.CLASSES.items():
        theirs = getattr(transformers, f"{name}Pil")()
        said = processor.ABSENT | changes
        for key, value in said.items():
            own = getattr(theirs, key)
            if key in ("size", "crop_size"):
                own = None if own is None else dict(own)
            assert value == own or list(value) == list(own), (name, key)


def test_every_refusal_names_a_key_of_the_file(models):
    """Each odd value alone, on an otherwise sound file: where it is refused, the message says which key it was."""
    sound = {"size": BOX, "crop_size": BOX, "do_center_crop": False}
    other = dict.fromkeys(("image_processor_type", "feature_extractor_type"), "processor must be one of")
    for key, value in [(key, value) for key, values in ODD.items() for value in values]:
        write_file(models[0], sound | {key: value}, random.Random(2))
        try:
            load_checkpoint(models[0])
        except CheckpointError as error:
            assert other.get(key, key) in str(error), (key, value, str(error))


def test_the_nested_file_goes_first(models):
    folder = models[0]
    (folder / "preprocessor_config.json").write_text(json.dumps(folders.PREPROCESSOR))
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": {"size": BOX, "image_mean": 0.25}}))
    assert load_checkpoint(folder).preprocessing.mean == (0.25,) * 3
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": "ViTProcessor"}))
    assert load_checkpoint(folder).preprocessing.mean == (0.1, 0.2, 0.3)
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": "elsewhere"}))
    with pytest.raises(CheckpointError, match=r"processor_config\.json: image_processor must be an object"):
        load_checkpoint(folder)
    (folder / "processor_config.json").unlink()


def test_config_json_may_name_the_processor(tmp_path):
    folder = folders.write(tmp_path / "named")
    folders.settings(folder, image_processor_type="ConvNextImageProcessor")
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": BOX}))
    with pytest.raises(CheckpointError, match="ConvNextImageProcessor"):
        load_checkpoint(folder)


def test_a_strip_that_would_fill_the_memory_is_refused(models):
    write_file(models[0], SOUND[3], random.Random(2))
    with pytest.raises(ValueError, match=r"1 x 9000000.*pixels"):
        preprocess(Image.new("RGB", (1, 9_000_000)), load_checkpoint(models[0]))
