"""`vitbook maps FOLDER`: the maps of many pictures, what is left out, going on after a stop."""

from __future__ import annotations

import folders
import numpy as np
import pytest
import torch
from PIL import Image

from vitbook import load_checkpoint, preprocess, run
from vitbook.__main__ import main
from vitbook.commands.maps import write_maps


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return load_checkpoint(folders.write(tmp_path_factory.mktemp("many") / "vit"))


@pytest.fixture
def photographs(tmp_path):
    folder = tmp_path / "pictures"
    for n, name in enumerate(("b.png", "a.JPG", "deep/c.webp", "deep/d.png", "e.png")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(n).integers(0, 255, (20 + n, 30, 3), np.uint8)
        Image.fromarray(noise).save(folder / name, "JPEG" if name.endswith("JPG") else None)
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    (folder / "notes.txt").write_text("no picture")
    return folder


def test_every_picture_has_the_rows_and_the_y_of_its_own_run(checkpoint, photographs, tmp_path):
    out, said = tmp_path / "maps.npz", []
    n, bad = write_maps(photographs, out, checkpoint, query=3, batch=2, say=said.append)
    assert n == 5 and len(bad) == 1 and bad[0].startswith("broken.png: ")
    held = np.load(out)
    assert list(held["names"]) == ["a.JPG", "b.png", "deep/c.webp", "deep/d.png", "e.png"]
    for name, weights, y in zip(held["names"], held["weights"], held["y"], strict=True):
        trace = run(checkpoint, preprocess(photographs / name, checkpoint))
        for l in range(1, checkpoint.config.L + 1):
            np.testing.assert_allclose(weights[l - 1], trace.attention(l, query=3), atol=1e-5)
        np.testing.assert_allclose(y, trace.y, atol=1e-4)
    assert said[0].startswith("2 of 6 pictures") and said[-1] == "6 of 6 pictures"


def test_a_run_that_was_stopped_goes_on(checkpoint, photographs, tmp_path, monkeypatch):
    out = tmp_path / "maps.npz"

    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_maps(photographs, out, checkpoint, batch=2, say=stop)
    assert list(np.load(out)["names"]) == ["a.JPG", "b.png"]
    said, ran = [], []
    monkeypatch.setattr("vitbook.commands.maps.run", lambda c, x: ran.append(len(x)) or run(c, x))
    assert write_maps(photographs, out, checkpoint, batch=3, say=said.append)[0] == 5
    assert said[0] == "2 of 6 pictures are in maps.npz already" and sum(ran) == 3
    assert write_maps(photographs, out, checkpoint, say=said.append)[0] == 5 and sum(ran) == 3
    assert not list(tmp_path.glob(".*part"))


def test_what_does_not_fit_is_refused_and_left_alone(checkpoint, photographs, tmp_path):
    out = tmp_path / "maps.npz"
    write_maps(photographs, out, checkpoint)
    before = out.read_bytes()
    with pytest.raises(ValueError, match="another model or another query"):
        write_maps(photographs, out, checkpoint, query=1)
    with pytest.raises(ValueError, match="another model or another query"):
        write_maps(photographs, out, checkpoint.to(torch.float64))
    assert out.read_bytes() == before
    (tmp_path / "cut.npz").write_bytes(before[:100])
    with pytest.raises(ValueError, match="cannot be read"):
        write_maps(photographs, tmp_path / "cut.npz", checkpoint)
    with pytest.raises(ValueError, match=r"ends in \.npz, got 'maps.parquet'"):
        write_maps(photographs, tmp_path / "maps.parquet", checkpoint)
    with pytest.raises(ValueError, match="no folder"):
        write_maps(photographs / "b.png", out, checkpoint)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no picture"):
        write_maps(tmp_path / "empty", out, checkpoint)


def test_the_command_says_what_it_left_out(capsys, photographs, tmp_path):
    vit = folders.write(tmp_path / "vit")
    out = tmp_path / "maps.npz"
    asked = ["maps", str(photographs), "--out", str(out), "--query", "1,2", "--checkpoint", str(vit)]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0].startswith("left out: broken.png: ") and "5 pictures" in said.out
    assert "6 of 6 pictures" in said.err
    for path in photographs.rglob("*"):
        if path.is_file() and path.name != "broken.png":
            path.unlink()
    assert main([*asked[:3], str(tmp_path / "none.npz"), *asked[4:]]) == 1
    assert "no picture could be read" in capsys.readouterr().out and not (tmp_path / "none.npz").exists()
