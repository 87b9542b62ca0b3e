"""The catalogue: every file is the one that its record describes, every record says whose it is."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from cards import card, encoded
from PIL import Image

import vitbook
from vitbook.pictures import (
    CATS,
    PICTURES,
    Picture,
    PictureError,
    PictureWarning,
    cache_folder,
    cats_path,
    load_picture,
    provenance_rows,
)
from vitbook.pictures import catalogue as catalogue_room

SHIPPED = [PICTURES.described(row["name"]) for row in provenance_rows() if row["name"] != "cats"]


@pytest.fixture
def empty_cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("VITBOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def fetched_card(empty_cache, monkeypatch) -> np.ndarray:
    """A stand-in for the fetched picture: its own bytes, and a record that describes them."""
    data = encoded(Image.fromarray(card()))
    record = dataclasses.replace(CATS, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    monkeypatch.setitem(PICTURES._records, "cats", record)
    empty_cache.mkdir()
    cats_path().write_bytes(data)
    return card()


@pytest.mark.parametrize("record", SHIPPED, ids=lambda record: record.name)
def test_files_are_the_ones_described(record):
    data = record.path().read_bytes()
    assert len(data) == record.size
    assert hashlib.sha256(data).hexdigest() == record.sha256
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = load_picture(record.name)
    assert picture.mode == "RGB" and min(picture.size) >= 224
    assert np.array_equal(np.asarray(picture), np.asarray(load_picture(record)))
    assert np.asarray(picture).std() > 10  # something is on it


@pytest.mark.parametrize("record", [*SHIPPED, CATS], ids=lambda record: record.name)
def test_records_are_complete_and_frozen(record):
    for field in dataclasses.fields(Picture):
        value = getattr(record, field.name)
        assert value or (field.name == "package" and record is CATS), field.name
    assert len(record.alt.split()) >= 12 and record.alt.endswith(".")
    assert record.source.startswith(("http://", "https://")) and len(record.sha256) == 64
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.author = "somebody"


def test_shipped_licences_allow_everybody_everything():
    assert len(SHIPPED) >= 6
    for record in SHIPPED:
        assert record.licence.startswith(("CC0", "public domain")), record.name


def test_every_kind_that_the_book_needs_is_there():
    kinds = {record.kind for record in SHIPPED}
    assert kinds >= {"a cat", "a person", "many small objects", "a scene", "a texture", "two objects"}


def test_hopper_names_its_source_in_the_file():
    record = PICTURES["hopper"]
    assert record.source.encode() in record.read()


def test_rows_for_the_book():
    rows = provenance_rows()
    assert [row["name"] for row in rows][-1] == "cats" and len(rows) == len(SHIPPED) + 1
    assert len({tuple(row) for row in rows}) == 1  # the same columns everywhere
    for row in rows:
        assert all(isinstance(value, str) and value for value in row.values())
    assert rows[0]["shipped by"] == "scikit-image==0.26.0: data/chelsea.png"


def test_the_mapping():
    assert vitbook.PICTURES is PICTURES and PICTURES.__doc__
    assert list(PICTURES)[:2] == ["chelsea", "astronaut"] and len(PICTURES) == len(list(PICTURES))
    assert PICTURES["coffee"].kind == "two objects" and "coffee" in repr(PICTURES)
    assert PICTURES.described("sealion") is None and PICTURES.described(7) is None
    with pytest.raises(KeyError):
        PICTURES["sealion"]


# The picture that is fetched


def test_cats_before_they_are_fetched(empty_cache):
    assert "cats" not in PICTURES and "cats" not in list(PICTURES)
    with pytest.raises(KeyError, match="vitbook fetch"):
        PICTURES["cats"]
    with pytest.raises(PictureError, match="vitbook fetch"):
        load_picture("cats")
    assert provenance_rows()[-1]["shipped by"] == "fetched: 000000039769.jpg"


def test_cats_once_they_are_fetched(fetched_card):
    assert "cats" in PICTURES and list(PICTURES)[-1] == "cats"
    assert np.array_equal(np.asarray(load_picture("cats")), fetched_card)


def test_cats_that_are_other_cats(empty_cache):
    empty_cache.mkdir()
    cats_path().write_bytes(encoded(Image.fromarray(card())))
    with pytest.raises(PictureError, match=r"not the one described.*vitbook fetch"):
        load_picture("cats")


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/vitbook"),
        ("linux", {}, "/home/reader/.cache/vitbook"),
        ("darwin", {}, "/home/reader/Library/Caches/vitbook"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/vitbook"),
        ("linux", {"VITBOOK_CACHE": "/mine"}, "/mine"),
        ("linux", {"VITBOOK_CACHE": "~/mine"}, "/home/reader/mine"),
        ("linux", {"VITBOOK_CACHE": ""}, "/home/reader/.cache/vitbook"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the folders are written as on Linux")
def test_cache_folder(platform, environment, folder, monkeypatch):
    for name in ("VITBOOK_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/reader")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(catalogue_room.sys, "platform", platform)
    assert cache_folder() == Path(folder) and cats_path() == Path(folder) / "000000039769.jpg"


@pytest.mark.parametrize("asked", [None, "~/mine", "~nobody-of-this-name/mine"])
@pytest.mark.skipif(sys.platform == "win32", reason="accounts are asked for as on Linux")
def test_a_user_without_a_home(asked, monkeypatch, tmp_path):
    """HOME unset and a number without an account, as containers have it: no folder to expand "~" to, and pictures all the same."""
    import pwd
    import tempfile

    def no_account(*_):
        raise KeyError("no such account")

    for name in ("HOME", "VITBOOK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    if asked:
        monkeypatch.setenv("VITBOOK_CACHE", asked)
    monkeypatch.setattr(pwd, "getpwuid", no_account)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(RuntimeError):
        Path.home()
    assert cache_folder() == tmp_path / "vitbook"
    assert list(PICTURES) == [name for name in PICTURES if name != "cats"] and load_picture("chelsea").size == (
        451,
        300,
    )
    assert [row["name"] for row in PICTURES.provenance_rows()][-1] == "cats" and repr(PICTURES) and PICTURES.default
    with pytest.raises(PictureError, match=r"~/x\.png"):
        load_picture("~/x.png")


# Packages and shadows


def test_a_missing_package_says_what_to_install():
    record = dataclasses.replace(PICTURES["chelsea"], package="matplotlib", file="mpl-data/gone.png")
    with pytest.raises(PictureError, match=r"not there.*pip install"):
        record.read()
    with pytest.raises(PictureError, match=r"not the one described.*matplotlib"):
        dataclasses.replace(PICTURES["hopper"], sha256="0" * 64).read()


def test_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(catalogue_room, "find_spec", lambda name: None)
    with pytest.raises(PictureError, match=r"pip install scikit-image==0\.26\.0"):
        load_picture("chelsea")


def test_a_file_of_the_same_name_shadows_nothing_silently(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = np.asarray(load_picture("chelsea"))
    Path("chelsea").write_bytes(encoded(Image.fromarray(card())))
    with pytest.warns(PictureWarning, match=r"\./chelsea"):
        assert np.array_equal(np.asarray(load_picture("chelsea")), shipped)
    for source in ("./chelsea", Path("chelsea"), tmp_path / "chelsea"):
        assert np.array_equal(np.asarray(load_picture(source)), card())


def test_the_pinned_versions_are_the_ones_installed():
    """The hashes were taken from these releases; the file names in the table are theirs."""
    from importlib.metadata import version

    for pin in catalogue_room._PINNED.values():
        name, wanted = pin.split("==")
        assert version(name) == wanted
