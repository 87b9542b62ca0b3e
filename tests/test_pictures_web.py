"""Pictures from the web, against a server of our own on this machine that misbehaves in every way we could think of."""

from __future__ import annotations

import contextlib
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from cards import card, encoded
from PIL import Image

from vitbook.pictures import PictureError, PictureWarning, load_picture, web

CARD = encoded(Image.fromarray(card()))
STOP = threading.Event()  # set when the tests are over: lets the slow and the endless answers end


class _Misbehaving(BaseHTTPRequestHandler):
    """Each path answers in its own way; `/to?<address>` redirects there."""

    def do_GET(self):
        asked = urlsplit(self.path)
        name = asked.path.strip("/").replace("-", "_").replace(".", "_")
        with contextlib.suppress(ConnectionError):
            getattr(self, f"on_{name}", self.on_missing)(asked.query)

    def log_message(self, *_):
        pass

    def answer(self, body: bytes, code: int = 200, length: int | None = None, **headers: str):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def on_card_png(self, query):
        self.answer(CARD, Content_Type="image/png")

    def on_wrong_type(self, query):
        self.answer(CARD, Content_Type="text/html")

    def on_no_length(self, query):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(CARD)

    def on_missing(self, query):
        self.answer(b"<!doctype html><title>Not here</title>", 404)

    def on_forbidden(self, query):
        self.answer(b"", 403)

    def on_page(self, query):
        self.answer(b"<!doctype html><title>A photo page</title><img src='x.jpg'>", Content_Type="text/html")

    def on_nothing(self, query):
        self.answer(b"")

    def on_to(self, query):
        self.answer(b"", 302, Location=query)

    def on_round(self, query):
        self.answer(b"", 302, Location="/round")

    def on_promises_too_much(self, query):
        self.answer(b"x", length=10**12)

    def on_breaks_off(self, query):
        self.answer(CARD[:50], length=len(CARD))

    def on_says_too_little(self, query):
        self.answer(CARD, length=50)

    def on_endless(self, query):
        self.send_response(200)
        self.end_headers()
        while not STOP.is_set():
            self.wfile.write(b"\0" * 2**16)

    def on_drips(self, query):
        self.answer(CARD[:1], length=len(CARD))
        while not STOP.wait(0.05):
            self.wfile.write(b"\0")
            self.wfile.flush()

    def on_drips_its_header(self, query):
        self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
        while not STOP.wait(0.05):
            self.wfile.write(b"a")
            self.wfile.flush()

    def on_silent(self, query):
        STOP.wait()

    def on_nonsense(self, query):
        self.wfile.write(b"this is not HTTP\r\n\r\n")


@pytest.fixture(scope="module")
def server():
    STOP.clear()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Misbehaving)
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}"
    STOP.set()
    http.shutdown()
    http.server_close()


@pytest.fixture(autouse=True)
def _direct_and_without_warnings(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PictureWarning)
        yield


def test_a_picture_comes_whole(server):
    for path in ("card.png", "card.png?size=large#top", "wrong-type", "no-length", "to?card.png", "to?/to?/card.png"):
        assert np.array_equal(np.asarray(load_picture(f"{server}/{path}")), card()), path
    assert np.array_equal(np.asarray(load_picture(f"  {server.replace('http', 'HTTP')}/card.png\n")), card())


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing.png", "404 Not Found"),
        ("forbidden", "403 Forbidden"),
        ("page", "web page titled 'A photo page'.*address of the picture itself"),
        ("nothing", "zero bytes"),
        ("round", "30[0-9]|infinite loop"),
        ("breaks-off", f"broke off after 50 of {len(CARD):,} bytes"),
        ("says-too-little", "cut short"),
        ("promises-too-much", "sends more than 33,554,432 bytes"),
        ("nonsense", "can't be read"),
        ("to?file:///etc/passwd", "scheme 'file'; only http and https"),
        ("to?ftp://127.0.0.1/x.png", "scheme 'ftp'"),
        ("to?data:image/png;base64,AAAA", "scheme 'data'"),
        ("to?http://reader:secret@127.0.0.1/x.png", "with a password"),
    ],
)
def test_answers_that_are_no_picture(server, path, words):
    with pytest.raises(PictureError, match=words) as caught:
        load_picture(f"{server}/{path}")
    assert "secret" not in str(caught.value)


def test_endless_answer_stops_at_the_limit(server):
    with pytest.raises(PictureError, match="more than 200,000 bytes"):
        web.download(f"{server}/endless", limit=200_000)


@pytest.mark.parametrize("path", ["drips", "drips-its-header", "silent"])
def test_slow_answers_stop_at_the_total_time(server, path):
    with pytest.raises(PictureError, match=r"more than 0\.4 seconds"):
        web.download(f"{server}/{path}", seconds=0.4)


def test_a_detour_into_the_readers_own_network_is_reported(server, monkeypatch):
    """`localhost` plays a public host here, and 127.0.0.1 the reader's own network."""
    public = server.replace("127.0.0.1", "localhost")
    monkeypatch.setattr(web, "is_private", lambda host: host == "127.0.0.1")
    with pytest.raises(PictureError, match="inside your own network"):
        load_picture(f"{public}/to?{server}/card.png")
    assert load_picture(f"{public}/to?{public}/card.png").size == load_picture(f"{server}/to?{server}/card.png").size


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("192.168.0.9", True),
        ("169.254.169.254", True),
        ("::1", True),
        ("fe80::1", True),
        ("localhost", True),
        ("93.184.216.34", False),
        ("2606:4700:4700::1111", False),
        ("no-such-host.invalid", False),
    ],
)
def test_private_hosts(host, private):
    assert web.is_private(host) is private


def test_encryption_is_not_given_up_on_the_way():
    with pytest.raises(PictureError, match="gives up the encryption"):
        web._check_address("http://example.org/cat.jpg", asked="https://example.org/cat.jpg")
    web._check_address("https://example.org/cat.jpg", asked="http://example.org/cat.jpg")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("file:///etc/hostname", "scheme 'file'.*pass its path"),
        ("FILE:///etc/hostname", "scheme 'file'"),
        ("ftp://example.org/cat.jpg", "scheme 'ftp'"),
        ("s3://bucket/cat.jpg", "scheme 's3'"),
        ("data:image/png;base64,AAAA", "scheme 'data'"),
        ("http://", "no host"),
        ("http:///cat.jpg", "no host"),
        ("http://[::1/cat.jpg", "no valid address"),
        ("http://127.0.0.1:port/cat.jpg", "can't be read|can't be reached|no valid"),
        ("https://reader:secret@example.org/cat.jpg", "with a password"),
        ("http://127.0.0.1:9/cat.jpg?token=secret", "can't be reached.*vitbook.PICTURES"),
        ("http://no-such-host.invalid/cat.jpg", "can't be reached"),
    ],
)
def test_addresses_that_lead_nowhere(address, words):
    with pytest.raises(PictureError, match=words) as caught:
        load_picture(address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "travels_as"),
    [
        ("http://example.org/a b.png", "http://example.org/a%20b.png"),
        ("http://example.org/höhe.png?q=图", "http://example.org/h%C3%B6he.png?q=%E5%9B%BE"),
        ("http://example.org/a%20b.png", "http://example.org/a%20b.png"),
        ("http://bücher.example:8080/x#part", "http://xn--bcher-kva.example:8080/x"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ],
)
def test_addresses_beyond_ascii(address, travels_as, monkeypatch):
    asked = []

    def send(self, request):
        asked.append(str(request.url.copy_with(fragment=None)))
        raise httpx.ConnectError("no network in this test")

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", send)
    with pytest.raises(PictureError, match="can't be reached"):
        web.download(address)
    assert asked == [travels_as]


def test_windows_paths_are_paths():
    with pytest.raises(PictureError, match="no file"):
        load_picture("C://pictures/cat.png")
