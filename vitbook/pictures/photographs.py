"""The photographs themselves: records only, each line of provenance as far as it could be looked up.

scikit-image's words stand in the docstrings of its `skimage.data`, release 0.26.0; the hashes are of the files as the
pinned wheels hold them.
"""

from __future__ import annotations

from pathlib import Path

from .catalogue import Catalogue, Picture, cache_folder

_DOCSTRING = "author, licence and edits are those in scikit-image's documentation; the page they cite was not opened"
_NONE_BY_US = "none by us; what scikit-image did before is not recorded"

CATS = Picture(
    name="cats",
    kind="two animals and two objects",
    title="Two cats and two remote controls",
    alt="Two striped cats asleep on a bright pink sofa cover, one at the left and one at the right, each with a "
    "remote control lying near.",
    file="000000039769.jpg",
    package=None,
    size=173_131,
    sha256="dea9e7ef97386345f7cff32f9055da4982da5471c48d575146c796ab4563b04e",
    source="http://images.cocodataset.org/val2017/000000039769.jpg",
    author="an unnamed Flickr user (photograph 39769 of the data set COCO)",
    licence="licence not looked up, so it is no part of this book",
    edits="none by us",
    unverified="author and licence; size and hash agree in several public repositories, our own copy was not downloaded",
)

PICTURES = Catalogue(
    Picture(
        name="chelsea",
        kind="a cat",
        title="Chelsea, a cat",
        alt="The head of a ginger tabby cat with yellow-green eyes, looking past the camera to the right.",
        file="data/chelsea.png",
        package="skimage",
        size=240_512,
        sha256="596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
        source="https://github.com/scikit-image/scikit-image/pull/524",
        author="Stefan van der Walt",
        licence="CC0 1.0",
        edits=_NONE_BY_US,
        unverified=_DOCSTRING,
    ),
    Picture(
        name="astronaut",
        kind="a person",
        title="The astronaut Eileen Collins",
        alt="A smiling woman with short hair in an orange space suit, her helmet before her; behind her the flag of "
        "the United States and a model of the Space Shuttle.",
        file="data/astronaut.png",
        package="skimage",
        size=791_555,
        sha256="88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
        source="https://flic.kr/p/r9qvLn",
        author="NASA",
        licence="public domain (NASA)",
        edits=_NONE_BY_US,
        unverified=_DOCSTRING,
    ),
    Picture(
        name="hopper",
        kind="a person",
        title="Commodore Grace Hopper, 1984",
        alt="An elderly woman with glasses in the dark uniform and peaked cap of a naval officer, the flag of the "
        "United States behind her.",
        file="mpl-data/sample_data/grace_hopper.jpg",
        package="matplotlib",
        size=61_306,
        sha256="a8ca6d734765703b09728ab47fe59f473d93ae3967fc24c7c0288c3c7adb7130",
        source="http://commons.wikimedia.org/wiki/File:Grace_Hopper.jpg",
        author="James S. Davis, United States Navy",
        licence="public domain (work of the United States government)",
        edits="none by us; what matplotlib did before is not recorded",
        unverified="the source is written in the file's own comment; author, year and licence are as others cite that "
        "page, which was not opened",
    ),
    Picture(
        name="coffee",
        kind="two objects",
        title="A cup of coffee and a spoon",
        alt="A red cup of espresso on a red saucer with a small steel spoon beside it, on a worn wooden table.",
        file="data/coffee.png",
        package="skimage",
        size=466_706,
        sha256="cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
        source="https://github.com/scikit-image/scikit-image/pull/689",
        author="Rachel Michetti, by courtesy of Pikolo Espresso Bar",
        licence="CC0 1.0",
        edits=_NONE_BY_US,
        unverified=_DOCSTRING,
    ),
    Picture(
        name="rocket",
        kind="a scene",
        title="A Falcon 9 with the DSCOVR satellite on its launch pad",
        alt="A white rocket upright on its pad at dusk between four lattice towers, with lamps shining like stars.",
        file="data/rocket.jpg",
        package="skimage",
        size=112_525,
        sha256="c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
        source="https://www.flickr.com/photos/spacexphotos/16511594820/in/photostream/",
        author="SpaceX",
        licence="public domain (released by SpaceX)",
        edits=f"{_NONE_BY_US}; its colour profile, Adobe RGB, is not applied",
        unverified=_DOCSTRING,
    ),
    Picture(
        name="camera",
        kind="a scene with a person",
        title="A photographer at work, in grey",
        alt="A man in a dark coat bends to the eyepiece of a camera on a tripod, on a lawn with a skyline far behind.",
        file="data/camera.png",
        package="skimage",
        size=139_512,
        sha256="b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
        source="https://github.com/scikit-image/scikit-image/pull/4913",
        author="Lav Varshney",
        licence="CC0 1.0",
        edits="none by us; before, scikit-image levelled the horizon, cropped it to a square and scaled it to 512 x 512",
        unverified=_DOCSTRING,
    ),
    Picture(
        name="hubble",
        kind="many small objects",
        title="The Hubble eXtreme Deep Field",
        alt="Hundreds of galaxies, small blurs and spirals of white, blue and orange, on black.",
        file="data/hubble_deep_field.jpg",
        package="skimage",
        size=527_940,
        sha256="3a19c5dd8a927a9334bb1229a6d63711b1c0c767fb27e2286e7c84a3e2c2f5f4",
        source="http://hubblesite.org/newscenter/archive/releases/2012/37/image/a/",
        author="NASA",
        licence="public domain (NASA)",
        edits=_NONE_BY_US,
        unverified=_DOCSTRING,
    ),
    Picture(
        name="gravel",
        kind="a texture",
        title="Gravel, in grey",
        alt="Small angular stones, lit from above, filling the picture from edge to edge.",
        file="data/gravel.png",
        package="skimage",
        size=194_247,
        sha256="c48615b451bf1e606fbd72c0aa9f8cc0f068ab7111ef7d93bb9b0f2586440c12",
        source="https://cc0textures.com/view.php?tex=Gravel04",
        author="CC0Textures",
        licence="CC0 1.0",
        edits="none by us; before, scikit-image scaled it to 1024 x 1024, kept the top left quarter and made it grey",
        unverified=_DOCSTRING,
    ),
    Picture(
        name="brick",
        kind="a texture",
        title="Bricks in rows, in grey",
        alt="Long narrow bricks with pale joints, in columns that draw together towards the top.",
        file="data/brick.png",
        package="skimage",
        size=106_634,
        sha256="7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf",
        source="https://cc0textures.com/view.php?tex=Bricks25",
        author="CC0Textures",
        licence="CC0 1.0",
        edits="none by us; before, scikit-image bent its perspective, cropped, halved and turned it, and made it grey",
        unverified=_DOCSTRING,
    ),
    CATS,
)


def cats_path() -> Path:
    """Where `python -m vitbook fetch` puts the picture of the two cats, and where the catalogue looks for it."""
    return cache_folder() / CATS.file


def provenance_rows() -> list[dict[str, str]]:
    """The rows of the book's table of pictures: name, author, licence, source, edits, what we could not verify, hash."""
    return PICTURES.provenance_rows()
