"""Downloading, against a hub of our own on this machine that behaves and misbehaves on demand."""

from __future__ import annotations

import hashlib
import http.server
import json
import struct
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from vitbook.library import download as downloading
from vitbook.library import fetch as fetching
from vitbook.library.download import FetchError, download, within
from vitbook.library.hub import Reference, reference_snapshot, repository
from vitbook.pictures import CATS

REVISION = "0123456789abcdef0123456789abcdef01234567"
TINY = Reference(repo="somebody/tiny", revision=REVISION, licence="MIT", numbers=4096)


def safetensors(numbers: int) -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [numbers], "data_offsets": [0, 4 * numbers]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(range(256)) * (numbers // 64)


class Hub(http.server.ThreadingHTTPServer):
    """Answers HEAD and GET with ranges, as the hub does; counts requests; can cut, spoil, refuse, or be someone else."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {
            "config.json": b"{}",
            "preprocessor_config.json": b'{"size": 224}',
            "model.safetensors": safetensors(TINY.numbers),
        }
        self.cat = b"\xff\xd8\xff a picture of two cats"
        self.asked: list[str] = []
        self.cut_after: int | None = None  # bytes of a body before the connection is dropped
        self.cuts = 10**9  # how often
        self.spoil = self.stranger = self.no_ranges = False
        self.status = 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def etag(self, name: str) -> str:
        body = self.files[name]
        if name.endswith(".safetensors"):
            return hashlib.sha256(body).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body: bool):
        hub, name = self.server, self.path.rsplit("/", 1)[1]
        hub.asked.append(f"{self.command} {name} {self.headers.get('Range', '')}".strip())
        data = hub.cat if name == "cats.jpg" else hub.files.get(name)
        if hub.status != 200 or data is None:
            self.send_error(hub.status if hub.status != 200 else 404)
            return
        if hub.spoil and body and name.endswith("safetensors"):
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = 0
        if (asked := self.headers.get("Range")) and not hub.no_ranges:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data) - start))
        if not hub.stranger and name in hub.files:
            self.send_header("ETag", f'"{hub.etag(name)}"')
            self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()
        if not body:
            return
        rest = data[start:]
        if hub.cut_after is not None and hub.cuts and len(rest) > hub.cut_after:
            hub.cuts -= 1
            self.wfile.write(rest[: hub.cut_after])
            self.wfile.flush()
            self.connection.close()
            return
        self.wfile.write(rest)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("VITBOOK_CACHE", str(tmp_path / "own"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Hub()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def cats(hub):
    return replace(
        CATS, source=f"{hub.address}/cats.jpg", size=len(hub.cat), sha256=hashlib.sha256(hub.cat).hexdigest()
    )


def leftovers() -> list[Path]:
    return [path for path in repository(TINY.repo).rglob("*.incomplete") if path.is_file()]


def test_a_first_fetch_puts_everything_in_its_place_and_a_second_asks_nobody(hub, cats, capsys):
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0
    said = capsys.readouterr()
    assert "verified" in said.out and "somebody/tiny" in said.out
    folder = reference_snapshot(TINY)
    assert {name: (folder / name).read_bytes() for name in hub.files} == hub.files
    assert Path(str(cats.path())).read_bytes() == hub.cat
    assert not leftovers() and not list(repository(TINY.repo).rglob("*.lock"))

    hub.asked.clear()
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0
    assert hub.asked == []
    assert capsys.readouterr().out.count("already") == 2


def test_a_broken_off_download_is_not_used_and_goes_on_where_it_stopped(hub, cats, monkeypatch):
    hub.cut_after, hub.cuts = 5000, 1
    body = hub.files["model.safetensors"]

    def stop(*_):  # as Ctrl-C in the middle would
        raise KeyboardInterrupt

    append = downloading._append
    with monkeypatch.context() as patch:
        patch.setattr(downloading, "_append", lambda *args: append(*args) if hub.cuts else stop())
        with pytest.raises(KeyboardInterrupt):
            fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address)
    assert reference_snapshot(TINY) is None
    [part] = leftovers()
    have = part.stat().st_size
    assert 0 < have < len(body) and part.read_bytes() == body[:have]

    hub.asked.clear()
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0
    assert f"GET model.safetensors bytes={have}-" in hub.asked
    assert (reference_snapshot(TINY) / "model.safetensors").read_bytes() == body


def test_lost_connections_are_taken_up_again_as_long_as_bytes_come(hub, cats):
    hub.cut_after = 3000
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0
    assert sum("bytes=" in line for line in hub.asked) >= 4
    assert (reference_snapshot(TINY) / "model.safetensors").read_bytes() == hub.files["model.safetensors"]


def test_a_server_without_ranges_starts_again(hub, tmp_path):
    body, target = hub.files["model.safetensors"], tmp_path / "file"
    target.with_name("file.vitbook.incomplete").write_bytes(b"x" * 777)
    hub.no_ranges = True
    download(f"{hub.address}/model.safetensors", target, len(body), hub.etag("model.safetensors"), "file")
    assert target.read_bytes() == body


def test_a_wrong_hash_is_never_put_in_place(hub, cats, capsys):
    hub.spoil = True
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    assert "damaged" in capsys.readouterr().err
    assert reference_snapshot(TINY) is None and not leftovers()
    hub.spoil = False
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0


def test_a_file_that_is_too_short_for_the_model_is_reported_though_its_hash_is_right(hub, cats, capsys):
    hub.files["model.safetensors"] = safetensors(TINY.numbers - 64)
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    assert "4,096 float32 numbers do not make" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_damage_in_the_cache_is_seen_and_mended(hub, cats, capsys, name):
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0
    path = (reference_snapshot(TINY) / name).resolve()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert "damaged" in fetching.damage(reference_snapshot(TINY), TINY)
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0
    assert "downloading it again" in capsys.readouterr().out
    assert (reference_snapshot(TINY) / name).read_bytes() == hub.files[name]


def test_a_cache_that_shares_its_files_under_other_names_is_not_taken_for_damaged(hub, cats, tmp_path):
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 0
    blob = repository(TINY.repo) / "blobs" / hub.etag("model.safetensors")
    blob.rename(tmp_path / ("f" * 64))
    blob.symlink_to(tmp_path / ("f" * 64))
    assert fetching.damage(reference_snapshot(TINY), TINY) is None


def test_someone_else_on_the_line_is_not_believed(hub, cats, capsys):
    hub.stranger = True
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    assert "login page or a proxy" in capsys.readouterr().err


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_refusal_is_one_sentence(hub, cats, capsys, status):
    hub.status = status
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and "Traceback" not in said.err and said.err.endswith(".\n")


def test_no_network(hub, cats, capsys):
    hub.shutdown()
    hub.server_close()
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith(
        "The reference checkpoint and the picture of two cats could not be downloaded: 127.0.0.1"
    )
    assert fetching.fetch(True, reference=TINY, picture=cats, endpoint=hub.address) == 0
    said = capsys.readouterr()
    assert said.err == "" and said.out.count("\n") == 1 and "the book will use" in said.out


def test_offline_is_respected(hub, cats, capsys, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    assert "HF_HUB_OFFLINE" in capsys.readouterr().err and hub.asked == []


def test_another_picture_than_the_described_one_is_refused(hub, cats, capsys):
    assert fetching.fetch(reference=TINY, picture=replace(cats, sha256="0" * 64), endpoint=hub.address) == 1
    said = capsys.readouterr()
    assert "another file" in said.err and "The picture of two cats could not" in said.err
    assert not Path(str(cats.path())).exists()


def test_silence_ends():
    forever = threading.Event()
    with pytest.raises(FetchError, match=r"within 0\.05 seconds"):
        within(0.05, forever.wait)
    forever.set()


def test_a_full_disk_is_told_before_the_download(hub, cats, capsys, monkeypatch):
    usage = downloading.shutil.disk_usage(".")
    monkeypatch.setattr(downloading.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    assert "MB are free" in capsys.readouterr().err
    assert not any(line.startswith("GET model") for line in hub.asked)


def test_a_cache_that_cannot_be_written_is_told(hub, cats, capsys, tmp_path):
    (tmp_path / "hub").write_text("a file where the cache should be")
    assert fetching.fetch(reference=TINY, picture=cats, endpoint=hub.address) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_two_fetches_do_not_write_into_one_file(hub, tmp_path):
    from filelock import FileLock

    with FileLock(f"{tmp_path / 'file'}.vitbook.incomplete.lock"), pytest.raises(FetchError, match="another fetch"):
        download(f"{hub.address}/config.json", tmp_path / "file", 2, hub.etag("config.json"), "file")
