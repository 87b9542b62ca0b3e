"""`python -m vitbook`: what the commands print, how they fail, and what the doctor finds."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

import folders
import pytest
from huggingface_hub import constants

from vitbook import __version__, load_checkpoint, preprocess, run
from vitbook.__main__ import main
from vitbook.library import doctor as doctors
from vitbook.library.doctor import BROKEN, NOTE, OK
from vitbook.library.errors import CheckpointError


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return folders.write(tmp_path_factory.mktemp("cli") / "whole")


def said(capsys, arguments: list[str], code: int = 0) -> str:
    """What a command prints: on stdout if it goes well, on stderr (and nothing else) if not."""
    assert main(arguments) == code
    out, err = capsys.readouterr()
    if code:
        assert out == "" and err.startswith("vitbook: ") and err.count("\n") == 1
        return err
    assert err == ""
    return out


def test_counting_and_help_start_without_torch():
    code = (
        "import sys\nfrom vitbook.__main__ import main\nmain(['count', 'ViT-B/16'])\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('torch', 'transformers', 'numpy', 'huggingface_hub') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for command in ("fetch", "doctor", "count", "compare", "attention", "ledger"):
        assert command in done.stdout


@pytest.mark.parametrize("name", ["ViT-B/16", "vit-b/16", "B/16", "b/16"])
def test_count_one(capsys, name):
    out = said(capsys, ["count", name, "--classes", "1000"])
    assert "86,567,656" in out and "ViT-B/16" in out and "17,563,828,224" in out


def test_count_all_and_other_sizes(capsys):
    out = said(capsys, ["count"])
    assert [line.split()[0] for line in out.splitlines()] == [
        "ViT-B/16",
        "ViT-B/32",
        "ViT-L/16",
        "ViT-L/32",
        "ViT-H/14",
    ]
    assert "85,798,656" in out and "630,764,800" in out
    assert "N = 14" in said(capsys, ["count", "ViT-B/32", "--pixels", "64", "224"])
    assert "103,186,515" in said(capsys, ["count", "ViT-B/16", "--classes", "21843", "--pre-logits"])


@pytest.mark.parametrize(
    ("pixels", "fit"),
    [(["384"], 4), (["224"], 5), (["448", "224"], 5), (["196"], 1), (["518"], 1)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_count_says_per_row_what_does_not_fit(capsys, pixels, fit):
    """All five rows in any case; 384 pixels are no whole number of H/14's patches, and say so in its row."""
    rows = said(capsys, ["count", "--pixels", *pixels]).splitlines()
    assert len(rows) == 5 and sum("multiply-adds" in row for row in rows) == fit
    assert all("multiply-adds" in row or "not a whole number of patches of P = " in row for row in rows)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count", "vit-b/17"], ["'vit-b/17'", "did you mean ViT-B/16"]),
        (["count", "--pixels", "100"], ["100 x 100", "no model", "14, 16, 32"]),
        (["count", "resnet"], ["Table 1 has ViT-B/16"]),
        (["count", "ViT-B/16", "--pixels", "100"], ["100", "multiple of 16"]),
        (["count", "ViT-B/16", "--pixels", "224", "224", "3"], ["got 3 numbers"]),
        (["compare", "no-such-picture.png", "--checkpoint", "embedded"], ["no-such-picture.png"]),
        (["compare", "--checkpoint", "no/such/folder"], ["no such folder"]),
        (["attention", "chelsea", "--layer", "4"], ["layer must be a whole number from 1 to 3", "4"]),
        (["attention", "chelsea", "--head", "3"], ["head must be a whole number from 1 to 2", "3"]),
        (["attention", "chelsea", "--query", "13"], ["token", "12", "13"]),
        (["attention", "chelsea", "--query", "3,0"], ["(3, 0) is outside the 3 x 4 grid"]),
        (["attention", "chelsea", "--query", "left"], ["query must be a token from 0", "2,3", "'left'"]),
        (["attention", "chelsea", "--query", "1,2,3"], ["'1,2,3'"]),
        (["attention", "chelsea", "--query=-1"], ["'-1'"]),
    ],
    ids=" ".join,
)
def test_wrong_requests_are_one_sentence(capsys, monkeypatch, whole, arguments, words):
    monkeypatch.setenv("VITBOOK_CHECKPOINT", str(whole))
    error = said(capsys, arguments, code=1)
    for word in words:
        assert word in error


@pytest.mark.parametrize(
    "arguments",
    [["dance"], ["count", "--classes", "0"], ["attention"], ["attention", "chelsea", "--layer", "last"]],
)
def test_wrong_command_lines(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: vitbook" in capsys.readouterr().err


def test_compare(capsys, whole):
    out = said(capsys, ["compare", "coffee", "--checkpoint", str(whole)])
    for stage in ("x_p E", "z_0", "A, layer 3", "logits"):
        assert stage in out
    assert "Every stage agrees" in out


def test_compare_fails_where_the_library_disagrees(capsys, whole, monkeypatch):
    from vitbook.library import reference

    monkeypatch.setattr(reference, "BOUNDS", dict.fromkeys(reference.BOUNDS, 0.0))
    assert main(["compare", "--checkpoint", str(whole)]) == 1
    assert "more than rounding explains" in capsys.readouterr().err


def test_attention_prints_the_largest_weights_of_that_query(capsys, whole):
    checkpoint = load_checkpoint(whole)
    row = run(checkpoint, preprocess("chelsea", checkpoint)).attention(2, head=1, query=7)
    out = said(capsys, ["attention", "chelsea", "--layer", "2", "--head", "1", "--query", "1,2", "--top", "3",
                        "--checkpoint", str(whole)])  # fmt: skip
    title, *lines, total = out.splitlines()
    assert "layer 2 of 3, head 1" in title and "token 7, patch 6 (row 1, column 2)" in title
    assert len(lines) == 3
    for line, token in zip(lines, row.topk(3).indices.tolist(), strict=True):
        place = "[class]" if token == 0 else f"patch {token - 1} (row {(token - 1) // 4}, column {(token - 1) % 4})"
        assert f"{row[token]:.4f}" in line and f"token {token} " in line and place in line
    assert f"{row.topk(3).values.sum():.4f}" in total


def test_attention_without_a_head_is_the_mean_in_the_last_layer(capsys, whole):
    checkpoint = load_checkpoint(whole)
    row = run(checkpoint, preprocess("chelsea", checkpoint)).attention(3, query=0).mean(0)
    out = said(capsys, ["attention", "chelsea", "--top", "100", "--checkpoint", str(whole)])
    assert "layer 3 of 3, the mean of 2 heads" in out and "[class], reads" in out
    assert f"{row.max():.4f}" in out.splitlines()[1] and "1.0000  in these 13 of 13 tokens" in out


def test_ctrl_c_is_a_plain_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes the call and never answers
        environment = os.environ | {
            "HF_ENDPOINT": f"http://127.0.0.1:{server.getsockname()[1]}", "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0",
            "TRANSFORMERS_OFFLINE": "0", "VITBOOK_CACHE": str(tmp_path), "no_proxy": "*",
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "vitbook", "fetch"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )  # fmt: skip
        server.settimeout(120)
        connection, _ = server.accept()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        connection.close()
    assert process.returncode == 130 and out == ""
    assert err.strip().startswith("Stopped.") and "Traceback" not in err


def test_a_reader_who_has_seen_enough(whole):
    code = f"{sys.executable} -m vitbook count ViT-B/16 | head -1"
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.startswith("ViT-B/16")


# The doctor


def found(check) -> list[tuple[str, str]]:
    return [(finding.state, f"{finding.what} {finding.todo}") for finding in check()]


def test_the_whole_report(capsys, monkeypatch, whole):
    monkeypatch.setenv("VITBOOK_CHECKPOINT", str(whole))
    monkeypatch.setattr(doctors, "try_imports", dict.fromkeys)
    code = doctors.doctor()
    out = capsys.readouterr().out
    assert code == int("\n  BROKEN" in out)
    for title in doctors.CHECKS:
        assert title in out
    assert "in use: whole (chosen because $VITBOOK_CHECKPOINT says" in out


def test_versions(monkeypatch):
    assert {state for state, _ in found(doctors.check_versions)} == {OK}
    have = {"torch": "2.13.0+cpu", "transformers": "5.8.1", "onnx": None}
    monkeypatch.setattr(doctors, "installed", lambda name: have.get(name, "99.0"))
    broken = [text for state, text in found(doctors.check_versions) if state == BROKEN]
    assert len(broken) == 2
    assert broken[0].startswith("transformers 5.8.1, needed 5.9 or newer") and "requirements.txt" in broken[0]
    assert broken[1].startswith("onnx is not installed")
    monkeypatch.setattr(sys, "version_info", (3, 10, 4, "final", 0))
    assert found(doctors.check_versions)[0] == (
        BROKEN,
        "Python 3.10.4, needed 3.11 or newer make a new environment with a newer Python",
    )


def test_an_old_python_is_told_before_anything_else(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1, "final", 0))
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "vitbook needs Python 3.11 or newer, and this is 3.9: use a newer one.\n"


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2.13.0+cpu", (2, 13, 0)), ("1.0.4.post1", (1, 0, 4)), ("5.9.0.dev0", (5, 9, 0)), ("x", (0,))],
)
def test_version_numbers(version, numbers):
    assert doctors.numbers(version) == numbers


def test_a_torchvision_of_another_torch(monkeypatch, tmp_path):
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text(
        "raise RuntimeError('operator torchvision::nms does not exist\\nmore')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(doctors, "IMPORTS", ("torchvision",))
    [(state, text)] = found(doctors.check_imports)
    assert (
        state == BROKEN and "(operator torchvision::nms does not exist)" in text and "pip uninstall torchvision" in text
    )


def test_a_package_that_crashes_the_process(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("import os\nos.abort()")
    (tmp_path / "json.py").write_text("raise ImportError('shadowed')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(doctors, "IMPORTS", ("torch",))
    [(state, text)] = found(doctors.check_imports)
    assert state == BROKEN and "torch does not load" in text


@pytest.mark.parametrize(
    ("version", "state", "word"),
    [("1.0.4.post1", OK, "1.0.4"), ("2.1.2", BROKEN, "needed 1.x"), (None, NOTE, "not installed")],
)
def test_jupyter_book(monkeypatch, version, state, word):
    monkeypatch.setattr(doctors, "installed", lambda name: version)
    assert found(doctors.check_book)[0][0] == state and word in found(doctors.check_book)[0][1]


def test_no_browser(monkeypatch):
    monkeypatch.setattr(doctors.shutil, "which", lambda name: None)
    state, text = found(doctors.check_book)[1]
    assert state == NOTE and "no Chromium" in text and "apt-get install chromium" in text


def test_caches(monkeypatch, tmp_path):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "not" / "yet"))
    monkeypatch.setenv("VITBOOK_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    report = found(doctors.check_caches)
    assert [state for state, _ in report] == [OK, OK, NOTE, NOTE, NOTE]
    assert "HF_HUB_OFFLINE" in report[2][1] and "python -m vitbook fetch" in report[3][1]
    assert not (tmp_path / "not").exists()  # looking leaves nothing behind

    (tmp_path / "file").write_text("")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "file" / "hub"))
    state, text = found(doctors.check_caches)[0]
    assert state == NOTE and "cannot be written to" in text and "$HF_HOME" in text

    usage = doctors.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(doctors.shutil, "disk_usage", lambda _: usage._replace(free=100_000_000))
    state, text = found(doctors.check_caches)[0]
    assert state == NOTE and "100 MB left" in text and "346 MB" in text


def test_other_vits_in_the_cache_are_listed(monkeypatch, tmp_path, whole):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    folders.cache(whole, tmp_path, "someone/tiny-vit", "a" * 40)
    for name, text in {"no/json": "{", "a/list": "[]", "other/family": '{"model_type": "bert"}'}.items():
        folder = tmp_path / f"models--{name.replace('/', '--')}" / "snapshots" / "b"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(text)
    texts = [text for _, text in found(doctors.check_caches) if "other ViTs" in text]
    assert texts == ["other ViTs in the cache: someone/tiny-vit "]


def test_a_reference_that_is_half_there_or_damaged(monkeypatch, tmp_path):
    from vitbook.library.hub import REFERENCE, repository

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    root = repository(REFERENCE.repo)
    (root / "blobs").mkdir(parents=True)
    (root / "blobs" / "x.vitbook.incomplete").write_bytes(b"x" * 2_000_000)
    text = dict(reversed(found(doctors._cached_reference)))[NOTE]
    assert "not wholly in the cache" in text and "2 MB" in text and "completes it" in text
    for name in REFERENCE.files:
        path = root / "snapshots" / REFERENCE.revision / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
    [(state, text)] = found(doctors._cached_reference)
    assert state == BROKEN and "86,567,656 float32 numbers do not make" in text


def test_an_embedded_checkpoint_that_is_missing_is_broken_only_where_it_is_needed(monkeypatch, whole):
    def absent():
        raise CheckpointError("it is not installed: run this")

    monkeypatch.setattr(doctors, "read_bytes", absent)
    monkeypatch.setenv("VITBOOK_CHECKPOINT", str(whole))
    assert found(doctors.check_checkpoints)[0] == (NOTE, "it is not installed: run this ")
    monkeypatch.setenv("VITBOOK_CHECKPOINT", "embedded")
    assert found(doctors.check_checkpoints)[0][0] == BROKEN


def test_a_checkpoint_that_does_not_load_is_broken(monkeypatch):
    monkeypatch.setenv("VITBOOK_CHECKPOINT", "./nowhere")
    state, text = found(doctors.check_checkpoints)[1]
    assert state == BROKEN and "'./nowhere'" in text and "unset $VITBOOK_CHECKPOINT" in text


def test_a_check_that_fails_itself_is_reported(capsys, monkeypatch):
    def fails():
        raise OSError(5, "Input/output error")
        yield

    monkeypatch.setattr(doctors, "CHECKS", {"Only this": fails})
    assert doctors.doctor() == 1
    assert "could not be checked: OSError: Input/output error" in capsys.readouterr().out


def test_a_bare_call_prints_help_and_the_version_is_the_packages(capsys):
    assert main([]) == 0
    assert "usage: vitbook" in (said := capsys.readouterr().out) and "maps" in said
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"vitbook {__version__}\n"


def test_several_pictures_as_words_and_as_json(capsys, whole):
    asked = ["attention", "chelsea", "coffee", "--layer", "2", "--query", "3", "--checkpoint", str(whole)]
    lines = said(capsys, asked).splitlines()
    assert [line for line in lines if line.endswith(("in chelsea", "in coffee"))] == [lines[0], lines[len(lines) // 2]]
    told = json.loads(said(capsys, [*asked, "--head", "1", "--json"]))
    checkpoint = load_checkpoint(whole)
    for row, picture in zip(told, ("chelsea", "coffee"), strict=True):
        A = run(checkpoint, preprocess(picture, checkpoint)).attention(2, 1, 3)
        assert row["picture"] == picture and row["weights"] == pytest.approx(A.tolist())
        assert (row["layer"], row["head"], row["query"], row["rows"], row["columns"]) == (2, 1, 3, 3, 4)
