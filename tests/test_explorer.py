"""The explorer without a browser: what travels, what it is painted as, what may be chosen, what the atlas leaves on disk."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace

import ipywidgets
import numpy as np
import pytest
import torch
import traitlets
from PIL import Image
from tiny import ODD, checkpoint_of, random_weights, random_x

from vitbook import maps
from vitbook.config import Preprocessing, ViTConfig
from vitbook.figures import colours
from vitbook.library.base import Checkpoint
from vitbook.model import run
from vitbook.patches import describe
from vitbook.pictures import PICTURES, PictureError, load_picture
from vitbook.pixels import seen
from vitbook.widgets.explorer import atlas, first_view, kernel_answers
from vitbook.widgets.explorer.packing import layer_bytes, layer_stack, pack, rows_bytes, unpack
from vitbook.widgets.explorer.pictures import OWN_PICTURES
from vitbook.widgets.explorer.widget import AttentionExplorer
from vitbook.widgets.kit import script as script_of

STRAIGHT = Preprocessing((15, 20), (0.5,) * 3, (0.5,) * 3)
HALF_STEP = 1 / 510


def tiny(config=ODD, how=STRAIGHT, seed=0, K=None) -> Checkpoint:
    return checkpoint_of(random_weights(config, K, seed), None, how)


@pytest.fixture(scope="module")
def trace():
    return run(tiny(), random_x())


def stacks() -> dict[str, np.ndarray]:
    """Attention as it comes: even, sharp, with exact zeros, nearly all of it on [class]."""
    draw = np.random.default_rng(3).normal(size=(3, 13, 13))
    soft = torch.softmax(torch.tensor(draw * 4), -1).numpy().astype(np.float32)
    on_class = torch.softmax(torch.tensor(draw + 9 * (np.arange(13) == 0)), -1).numpy().astype(np.float32)
    return {
        "soft": soft,
        "on [class]": on_class,
        "even": np.full((2, 13, 13), 1 / 13, np.float32),
        "zeros": np.eye(13, dtype=np.float32)[None],
        "only [class]": np.repeat(np.eye(13, dtype=np.float32)[None, :1], 13, 1),
    }


# --- what travels ---


@pytest.mark.parametrize("name", stacks())
def test_a_weight_is_off_by_half_a_step_of_the_map_it_is_seen_in(name):
    A = stacks()[name].astype(np.float64)
    packed = pack(A)
    error = np.abs(unpack(packed.bytes(), len(A), 12).weights() - A)[:, :, 1:]
    rows = A[:, :, 1:].max(2, keepdims=True)
    columns = A[:, 1:, 1:].max(1, keepdims=True)
    slack = 1e-12  # the bound itself is exact; the sums of this test are not
    assert (error <= HALF_STEP * rows + slack).all()
    assert (error[:, 1:] <= HALF_STEP * columns + slack).all()
    assert error.max() == 0 or name not in ("even", "zeros", "only [class]")


@pytest.mark.parametrize("name", stacks())
def test_sums_tops_and_the_class_column_are_the_numbers_themselves(name):
    A = stacks()[name]
    packed = unpack(pack(A).bytes(), len(A), 12)
    assert (packed.row_sums == A.sum(2, dtype=np.float64).astype(np.float32)).all()
    assert (packed.column_sums == A.sum(1, dtype=np.float64).astype(np.float32)).all()
    assert (packed.to_class == A[:, :, 0]).all()
    assert (packed.row_tops == A[:, :, 1:].max(2)).all() and (packed.column_tops == A[:, 1:, 1:].max(1)).all()


def test_a_layer_is_its_mean_and_its_heads_and_layer_0_is_the_rollout(trace):
    stack = layer_stack(trace, 2)
    assert stack.shape == (3, 13, 13)
    np.testing.assert_allclose(stack[0], trace.attention(2).mean(0), rtol=1e-6)
    np.testing.assert_allclose(stack[1:], trace.attention(2), rtol=1e-6)
    np.testing.assert_allclose(layer_stack(trace, 0), maps.rollout(trace), rtol=1e-6)


def test_the_same_numbers_give_the_same_bytes(trace):
    assert layer_bytes(trace, 1) == layer_bytes(trace, 1)


@pytest.mark.parametrize(
    "wrong, says",
    [
        (np.ones((2, 3, 4)), r"\(maps, N\+1, N\+1\)"),
        (np.ones((3, 3)), r"\(maps, N\+1, N\+1\)"),
        (-np.ones((1, 3, 3)), "not below 0"),
        (np.full((1, 3, 3), np.nan), "finite"),
    ],
)
def test_what_is_no_attention_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        pack(wrong)


def test_bytes_of_another_length_are_refused():
    with pytest.raises(ValueError, match="expected"):
        unpack(b"123", 1, 12)


# --- what it is painted as ---


def test_an_even_map_is_flat_and_the_ends_of_the_scale_are_the_ends_of_the_table():
    assert len(np.unique(colours.paint(np.full(12, 1 / 13), 0.2).reshape(-1, 3), axis=0)) == 1
    ends = colours.paint(np.array([0.0, 0.2]), 0.2)
    assert (ends == colours.weight_table()[[0, -1]]).all()


def test_nothing_is_clipped_silently():
    with pytest.raises(ValueError, match=r"from 0 to 0\.2, the numbers from 0 to 0\.3"):
        colours.paint(np.array([0, 0.3]), 0.2)
    with pytest.raises(ValueError):
        colours.paint(np.array([0, np.nan]), 0.2)
    with pytest.raises(ValueError):
        colours.paint_signed(np.array([-0.3]), 0.2)


def test_zero_difference_has_the_neutral_colour():
    table = colours.signed_table("dark")
    painted = colours.paint_signed(np.array([-0.5, 0.0, 0.5]), 0.5, "dark")
    assert (painted == table[[0, 127, 254]]).all()
    assert np.ptp(table[127].astype(int)) < 12, "neutral is grey"


def test_all_weights_zero_are_painted_as_zero():
    assert (colours.paint(np.zeros(4), 0.0) == colours.weight_table()[0]).all()


# --- the script's arithmetic, in node ---

NODE = shutil.which("node")


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """A function that runs lines of JavaScript with everything that the explorer's files export, and returns what they print."""
    if NODE is None:
        pytest.skip("no node here; test_explorer_browser.py checks the same numbers in Chromium")
    folder = tmp_path_factory.mktemp("script")
    (folder / "explorer.mjs").write_text(script_of("explorer/widget.js"), encoding="utf-8")

    def say(lines: str):
        (folder / "ask.mjs").write_text(f'import * as x from "./explorer.mjs";\n{lines}', encoding="utf-8")
        done = subprocess.run([NODE, "ask.mjs"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return say


def buffer_of(data: bytes) -> str:
    return f'Uint8Array.from(atob("{base64.b64encode(data).decode()}"), c => c.charCodeAt(0)).buffer'


def test_the_script_reads_rows_and_columns_as_python_does(script, trace):
    packed = pack(layer_stack(trace, 3))
    asked = script(
        f"const s = new x.Stack({buffer_of(packed.bytes())}, 3, 12), out = [];"
        "for (const reverse of [false, true]) for (let m = 0; m < 3; m++) for (let t = 0; t < 13; t++) {"
        "  const r = s.read(m, t, reverse); out.push([...r.patches, r.toClass, r.sum, s.top(m, reverse, t), r.top]); }"
        "console.log(JSON.stringify(out));"
    )
    got = np.array(asked)
    W = packed.weights()
    rows = [[*W[m, t, 1:], W[m, t, 0], packed.row_sums[m, t]] for m in range(3) for t in range(13)]
    columns = [[*W[m, 1:, t], W[m, 0, t], packed.column_sums[m, t]] for m in range(3) for t in range(13)]
    # doubles in both, the same operations in the same order, and JSON keeps every digit
    np.testing.assert_array_equal(got[:, :14], rows + columns)
    assert (got[:, 14] == got[:, 15]).all() and (got[:, 14] >= got[:, :12].max(1)).all()


def test_the_script_paints_as_python_does(script):
    table, signed = colours.weight_table("dark"), colours.signed_table("dark")
    w = np.random.default_rng(0).random(50) * 0.03
    d = w - w[::-1]
    painted = script(
        f"const w = Float64Array.from({w.tolist()}), d = Float64Array.from({d.tolist()});"
        f"const t = Uint8Array.from({table.ravel().tolist()}), s = Uint8Array.from({signed.ravel().tolist()});"
        "console.log(JSON.stringify([[...x.paint(w, 0.03, t)], [...x.paintSigned(d, 0.03, s)]]));"
    )
    expected = colours.paint(w, 0.03, "dark"), colours.paint_signed(d, 0.03, "dark")
    for got, want in zip(painted, expected, strict=True):
        assert (np.array(got).reshape(-1, 4)[:, :3] == want).all()


def test_the_script_speaks_of_tokens_as_python_does(script):
    said = script("console.log(JSON.stringify([...Array(13).keys()].map(t => x.describe(t, 4))));")
    assert said == [describe(t, ODD) for t in range(13)]


def test_figures_carry_no_more_digits_than_are_true(script):
    said = script(
        "console.log(JSON.stringify([x.figure(0.01234, 6e-5), x.figure(-0.01234, 2e-3), x.figure(0.5, 0),"
        " x.figure(-1e-5, 1e-3), x.exact(0.062034), x.exact(1), x.exact(0)]));"
    )
    assert said == ["0.0123", "−0.01", "0.5000", "0.000", "0.0620", "1.00", "0"]


def test_links_are_read(script):
    links = ["#picture=chelsea&layer=10&head=5&query=cls", "#some-heading", "#query=[class]", "#explorer=b&show=mean"]
    said = script(f"console.log(JSON.stringify({json.dumps(links)}.map(x.parseLink)));")
    assert said == [
        {"explorer": "", "picture": "chelsea", "layer": "10", "head": "5", "query": "0"},
        None,
        {"explorer": "", "query": "0"},
        {"explorer": "b", "show": "mean"},
    ]


def test_the_first_rows_of_a_page(script, trace):
    rows = layer_stack(trace, 2)[:, 5]
    said = script(
        f"const r = new x.Rows({buffer_of(rows_bytes(trace, 2, 5))}, 3, 12, 5);"
        "console.log(JSON.stringify([0, 1, 2].map(m => { const a = r.read(m); return [...a.patches, a.toClass, a.sum]; })));"
    )
    got = np.array(said)
    tops = rows[:, 1:].max(1, keepdims=True)
    assert (np.abs(got[:, :12] - rows[:, 1:]) <= HALF_STEP * tops + 1e-12).all()
    assert (got[:, 12] == rows[:, 0]).all() and got[:, 13] == pytest.approx(1)


# --- where the overlay lies ---


@pytest.mark.parametrize(
    "how",
    [STRAIGHT, Preprocessing(20, (0.5,) * 3, (0.5,) * 3, crop=(15, 20)), replace(STRAIGHT, resample="bicubic")],
    ids=["straight", "crop", "bicubic"],
)
@pytest.mark.parametrize("size", [(200, 150), (90, 210), (333, 111)])
def test_a_patch_of_the_overlay_is_the_patch_that_the_model_sees(how, size):
    """Paint the region that the page gives to one patch: that patch of x, and no other, lights up."""
    checkpoint = tiny(how=how)
    card = atlas.card("p", Image.new("RGB", size), checkpoint)
    left, top, right, bottom = card["box"]
    row, column = 1, 2
    picture = np.zeros((size[1], size[0], 3), np.uint8)
    x = [size[0] * (left + (right - left) * c / ODD.columns) for c in (column, column + 1)]
    y = [size[1] * (top + (bottom - top) * r / ODD.rows) for r in (row, row + 1)]
    picture[round(y[0]) : round(y[1]), round(x[0]) : round(x[1])] = 255
    pixels = np.asarray(seen(picture, checkpoint), float).mean(2)
    patches = pixels.reshape(ODD.rows, ODD.P, ODD.columns, ODD.P).mean((1, 3))
    lit = np.zeros((ODD.rows, ODD.columns))
    lit[row, column] = 255
    assert np.abs(patches - lit).max() < 255 * 0.12, "no more than the resampling filter leaks over an edge"


# --- the atlas on disk ---


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "attn"


def files(folder) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_the_atlas_holds_every_layer_the_rollout_and_the_photograph(folder):
    home = atlas.write_atlas(tiny(), ["chelsea", "coffee"], folder, say=lambda line: None)
    assert len(files(home)) == 2 * (ODD.L + 1 + 1)
    for place in home.iterdir():
        text = (place / "2.js").read_text()
        key, part, count, body = re.fullmatch(
            r'vitbookAtlas\.take\("([^"]+)",(\d+),(\d+),"([^"]+)"\);\n', text
        ).groups()
        assert (key, part, count) == (f"{home.name}/{place.name}/2", "0", "1")
        unpack(gzip.decompress(base64.b64decode(body)), 1 + ODD.heads, ODD.N)
        with Image.open(place / "picture.webp") as photo:
            assert max(photo.size) <= atlas.SIDE


def test_a_second_run_writes_only_what_is_missing(folder):
    home = atlas.write_atlas(tiny(), ["chelsea"], folder, say=lambda line: None)
    place = next(home.iterdir())
    before = {p: p.stat().st_mtime_ns for p in place.iterdir()}
    (place / "3.js").unlink()
    said = []
    atlas.write_atlas(tiny(), ["chelsea"], folder, say=said.append)
    changed = {p.name for p in place.iterdir() if before.get(p) != p.stat().st_mtime_ns}
    assert changed <= {"3.js", "picture.webp"} and "3.js" in changed
    atlas.write_atlas(tiny(), ["chelsea"], folder, say=said.append)
    assert "in its place" in said[-1]


def test_what_belongs_to_another_model_or_picture_goes(folder):
    old = atlas.write_atlas(tiny(seed=1), ["chelsea"], folder, say=lambda line: None)
    (folder / "notes.txt").write_text("not ours to remove")
    new = atlas.write_atlas(tiny(), ["chelsea", "coffee"], folder, say=lambda line: None)
    assert not old.exists() and (folder / "notes.txt").exists()
    atlas.write_atlas(tiny(), ["coffee"], folder, say=lambda line: None)
    assert [p.name.split("-")[0] for p in new.iterdir()] == ["coffee"]


def test_a_build_that_dies_leaves_nothing_half_written(folder, monkeypatch):
    real, count = os.replace, []

    def dies(*args):
        count.append(args)
        if len(count) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(os, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        atlas.write_atlas(tiny(), ["chelsea"], folder, say=lambda line: None)
    monkeypatch.undo()
    assert len(files(folder)) == 2 and not [name for name in files(folder) if name.endswith(".part")]
    home = atlas.write_atlas(tiny(), ["chelsea"], folder, say=lambda line: None)
    assert len(files(home)) == ODD.L + 2


def test_large_layers_are_cut_and_the_first_part_comes_last(folder, monkeypatch):
    monkeypatch.setattr(atlas, "CHUNK", 400)
    order = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append(os.path.basename(b)), real(a, b)))
    home = atlas.write_atlas(tiny(), ["chelsea"], folder, say=lambda line: None)
    place = next(home.iterdir())
    parts = sorted(place.glob("1-*.js"), key=lambda p: int(p.stem[2:]))
    assert parts and order.index("1.js") > order.index(parts[-1].name), "where 1.js is, the others are"
    texts = [p.read_text() for p in (place / "1.js", *parts)]
    body = "".join(re.search(r'"([^"]*)"\);$', text)[1] for text in texts)
    unpack(gzip.decompress(base64.b64decode(body)), 1 + ODD.heads, ODD.N)


def test_the_fingerprint_knows_weights_sizes_and_preprocessing():
    prints = {
        atlas.fingerprint(checkpoint)
        for checkpoint in (tiny(), tiny(seed=1), tiny(how=replace(STRAIGHT, resample="box")), tiny(K=3))
    }
    assert len(prints) == 4 and atlas.fingerprint(tiny()) in prints
    assert all(re.fullmatch("[0-9a-f]{12}", p) for p in prints)


def test_the_command_says_where_it_must_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="in the folder of the book"):
        atlas.main()


# --- what may be chosen ---


@pytest.fixture
def explorer():
    made = AttentionExplorer(tiny(), layer=2, head=1)
    yield made
    made.close()


def test_every_choice_is_set_and_read_and_says_so_once(explorer):
    said = []
    choices = {
        "picture": "coffee", "layer": 3, "head": 2, "query": 7, "show": "mean", "direction": "read by",
        "scale": "map", "opacity": 0.25, "smooth": True,
    }  # fmt: skip
    explorer.observe(lambda change: said.append((change["name"], change["new"])), list(choices))
    for name, value in choices.items():
        setattr(explorer, name, value)
        assert getattr(explorer, name) == value
    assert said == list(choices.items())


def test_a_change_in_the_page_is_one_event_and_moves_no_control_back(explorer):
    said = []
    explorer.observe(lambda change: said.append((change["name"], change["new"])), ["layer", "show", "picture"])
    explorer._view.set_state({"layer": 3})
    explorer._view.set_state({"show": 2})
    explorer._view.set_state({"picture": 1})
    assert said == [("layer", 3), ("show", "rollout"), ("picture", "astronaut")]


def test_python_moves_the_controls_too(explorer):
    explorer.layer, explorer.show = 3, "mean"
    controls = {trait: control for control, (_, trait) in explorer._controls.moves.items()}
    assert controls["layer"].value == 3 and controls["show"].index == 1


@pytest.mark.parametrize("query, token", [("class", 0), ("cls", 0), ((1, 2), 7), (12, 12)])
def test_a_query_in_words_or_by_its_place(explorer, query, token):
    explorer.query = query
    assert explorer.query == token


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("layer", 4, "1 to 3"), ("layer", 0, "1 to 3"), ("head", 3, "1 to 2"), ("head", 1.0, "whole number"),
        ("query", 13, "0 .* to 12"), ("query", (3, 0), "outside the 3 x 4 grid"), ("show", "all", "head"),
        ("opacity", 1.5, "1"), ("against", {"layer": 9}, "against has layer"), ("against", {"colour": 1}, "colour"),
        ("picture", "no-such-file.png", "no file"),
    ],
)  # fmt: skip
def test_out_of_range_is_refused_by_name_and_changes_nothing(explorer, name, value, says):
    before = getattr(explorer, name)
    with pytest.raises((traitlets.TraitError, ValueError), match=says):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before


def test_an_unknown_choice_is_refused():
    with pytest.raises(TypeError, match="colour"):
        AttentionExplorer(tiny(), colour="red")


def test_a_difference_is_pinned_by_what_differs(explorer):
    explorer.against = {"head": 2}
    assert explorer.against == {"picture": "chelsea", "layer": 2, "head": 2, "show": "head"}
    assert explorer._view.against == {"picture": 0, "layer": 2, "head": 2, "show": 0}
    explorer._view.set_state({"against": {}})
    assert explorer.against is None


SMALL = ViTConfig(H=10, W=5, P=5, D=6, L=1, heads=1, M=5)
LARGE = ViTConfig(H=48, W=48, P=2, D=12, L=5, heads=4, M=9)


@pytest.mark.parametrize("config", [SMALL, LARGE], ids=["1 layer, 1 head, 2 x 1", "5 layers, 4 heads, 24 x 24"])
def test_a_new_checkpoint_leaves_nothing_out_of_range(explorer, config):
    explorer.layer, explorer.head, explorer.query, explorer.against = 3, 2, 12, {"layer": 1}
    explorer.checkpoint = tiny(config, replace(STRAIGHT, resize=(config.H, config.W)))
    assert explorer.layer <= config.L and explorer.head <= config.heads and explorer.query <= config.N
    assert explorer.against is None
    for control, (_, trait) in explorer._controls.moves.items():
        if isinstance(control, ipywidgets.IntSlider):
            assert control.min < control.max, "a slider cannot draw a range of one"
            assert control.min <= getattr(explorer, trait) == control.value <= control.max
            last = {"layer": config.L, "head": config.heads, "query": config.N}[trait]
            assert (control.layout.display == "none") == (last == control.min) and (
                control.max == max(last, 2) or last > 1
            )
    assert explorer._view.sizes["rows"] == config.rows
    packed = ask(explorer, f"{explorer._view.fingerprint}/{explorer._view.pictures[0]['key']}/{config.L}")
    unpack(gzip.decompress(packed), 1 + config.heads, config.N)


# --- pictures of one's own, and the kernel's answers ---


def ask(explorer, want: str):
    """What the view gets for a question: bytes, or the words of the error."""
    sent = []
    explorer._view.send = lambda content, buffers=None: sent.append((content, buffers))
    explorer._answer(explorer._view, {"want": want}, [])
    ((content, buffers),) = sent
    assert content["for"] == want
    return buffers[0] if buffers else content["error"]


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (30, 50, 3), dtype=np.uint8)


def test_a_picture_of_ones_own(explorer, tmp_path):
    explorer.picture = noise(0)
    assert explorer.picture == "yours 1" and explorer.pictures[-1] == "yours 1"
    key = explorer._view.pictures[-1]["key"]
    packed = unpack(gzip.decompress(ask(explorer, f"{explorer._view.fingerprint}/{key}/3")), 1 + ODD.heads, ODD.N)
    trace = kernel_answers.trace_of(explorer.checkpoint, explorer._view.fingerprint, key, load_picture(noise(0)))
    np.testing.assert_allclose(packed.weights(), layer_stack(trace, 3), atol=HALF_STEP)
    assert ask(explorer, f"{explorer._view.fingerprint}/{key}/picture.webp")[8:12] == b"WEBP"
    explorer.picture = "chelsea"
    explorer.picture = noise(0)
    assert explorer.pictures.count("yours 1") == 1 and len(explorer.pictures) == len(atlas.shipped()) + 1

    path = tmp_path / "<img src=x onerror=alert(1)>.png"
    Image.fromarray(noise(1)).save(path)
    explorer.picture = str(path)
    assert explorer._view.pictures[-1]["title"] == path.name


def test_a_file_from_the_page_leaves_no_bytes_behind_and_goes_again(explorer, tmp_path):
    Image.fromarray(noise(2)).save(tmp_path / "holiday.png")
    data = (tmp_path / "holiday.png").read_bytes()
    file = {"name": "holiday.png", "type": "image/png", "size": len(data)}
    explorer._answer(explorer._view, {"own": file}, [memoryview(data)])
    assert explorer.picture == "yours 1" and explorer._view.pictures[-1]["title"] == "holiday.png"
    assert explorer._view.pictures[-1]["own"] and "thumb" not in explorer._view.pictures[-1]
    explorer._put_first()
    state = ipywidgets.Widget.get_manager_state()
    assert explorer._view.first == {} and explorer._view.first_rows == b""
    assert base64.b64encode(data)[20:60].decode() not in json.dumps(state)
    explorer.against = {"layer": 1}
    explorer._answer(explorer._view, {"forget": explorer._view.pictures[-1]["key"]}, [])
    assert explorer.picture == explorer.pictures[0] == "chelsea" and explorer._view.picture == 0
    assert explorer.against is None and "yours 1" not in explorer.pictures
    explorer._answer(explorer._view, {"own": file}, [b"no picture"])
    assert "holiday.png" in explorer._view.problem and explorer.picture == "chelsea"


@pytest.mark.parametrize("text", ["/no/such/cat.png", "https://", "  chelsey "])
def test_what_load_picture_refuses_is_said_in_the_widget(explorer, text):
    address = explorer._controls.address
    address.value = text
    assert explorer._view.problem and explorer.picture == "chelsea" and explorer._view.status == ""
    explorer.picture = noise(3)
    assert explorer._view.problem == "", "the next good picture clears it"


def test_progress_is_said_while_it_works(explorer):
    said = []
    explorer._view.observe(lambda change: said.append(change["new"]), "status")
    explorer.picture = noise(4)
    assert said == ["Reading the picture …", "", "Running 3 layers on 13 tokens …", ""]


def test_ones_own_pictures_are_few(explorer):
    explorer.picture = noise(100)
    explorer.against = {"layer": 1}
    for seed in range(101, 101 + OWN_PICTURES):
        explorer.picture = noise(seed)
    assert len(explorer.pictures) == len(atlas.shipped()) + OWN_PICTURES
    assert explorer._view.picture == len(explorer.pictures) - 1 and explorer.against is None
    assert len(kernel_answers._traces) <= kernel_answers.KEPT


@pytest.mark.parametrize("want", ["", "x/y/z", "a/b", "f/{key}/99", "f/{key}/-1", "f/{key}/two"])
def test_a_wrong_question_is_answered_with_words(explorer, want):
    assert isinstance(ask(explorer, want.format(key=explorer._view.pictures[0]["key"])), str)


def test_a_picture_that_cannot_be_read_makes_no_explorer():
    with pytest.raises(PictureError):
        AttentionExplorer(tiny(), picture="/no/such/picture.png")


def test_closing_leaves_no_widget(explorer):
    before = len(ipywidgets.widgets.widget._instances)
    AttentionExplorer(tiny()).close()
    assert len(ipywidgets.widgets.widget._instances) == before


def test_a_cell_that_runs_again_closes_its_earlier_explorer(monkeypatch):
    run_of = iter([("cell", "1"), ("cell", "1"), ("cell", "2"), (None, "")])
    monkeypatch.setattr(kernel_answers, "_cell", lambda: next(run_of))
    first, second, again, _ = (AttentionExplorer(tiny()) for _ in range(4))
    assert first.comm is None and second.comm is None and again.comm is not None


# --- the page before any script has run ---


def test_the_first_state_is_on_the_page_as_words_and_pictures(explorer):
    explorer._put_first()
    page = first_view.html(explorer)
    trace = run(explorer.checkpoint, kernel_answers.preprocess(load_picture("chelsea"), explorer.checkpoint))
    row = trace.attention(2, 1, 0)
    assert f"{row[0]:.3f}" in page and f"{row[1:].max():.4f}" in page
    assert "<script" not in page and page.count("data:image/") == 4
    assert PICTURES["chelsea"].alt in page
    assert explorer._view.first["query"] == 0 and len(explorer._view.first_rows) == 3 * (12 + ODD.N)


def test_the_state_that_a_page_carries_is_small(explorer):
    explorer._put_first()
    mine = {w.model_id for w in (explorer, *explorer._parts)}
    state = ipywidgets.Widget.get_manager_state()["state"]
    size = len(json.dumps({k: v for k, v in state.items() if k in mine}))
    assert size < 140_000, "of which the script, its style and the thumbnails are most"


# --- tours ---


def test_a_tour_links_to_what_it_names_and_reads_without_links():
    from vitbook.widgets import explorer_links

    tour = explorer_links({"rows & <columns>": {"layer": 2, "head": 1, "query": "cls"}}, "a b")
    html = tour._repr_html_()
    assert 'href="#explorer=a+b&amp;show=head&amp;layer=2&amp;head=1&amp;query=cls"' in html
    assert "rows &amp; &lt;columns&gt;" in html
    assert repr(tour) == "rows & <columns>: show=head, layer=2, head=1, query=cls"
    with pytest.raises(ValueError, match="sets colour"):
        explorer_links({"x": {"colour": 1}})
