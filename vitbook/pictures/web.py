"""Pictures from the web, with limits: http and https only, so many bytes, so many seconds, no surprising detours."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import string
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from .refusal import PictureError, shown

MAX_DOWNLOAD = 32 * 2**20  # bytes
MAX_SECONDS = 30.0  # for everything together: name look-up, connection, detours, body
_ELSEWHERE = (
    "Download it with your browser and pass the path, or choose a name from vitbook.PICTURES: those need no network."
)


def download(url: str, limit: int = MAX_DOWNLOAD, seconds: float = MAX_SECONDS) -> bytes:
    """The body behind an http or https address.

    At most `limit` bytes and `seconds` seconds. Redirects may lead to http and https only, never from https down to
    http, and never from a public address into the reader's own network. Raises `PictureError`.
    """
    name = address_for_messages(url)
    _check_address(url)
    outcome: list[bytes | BaseException] = []

    def work() -> None:
        try:
            outcome.append(_fetch(_ascii(url), name, limit, time.monotonic() + seconds))
        except BaseException as error:
            outcome.append(error)

    # In a thread of its own, since a server that sends its header a letter at a time defeats every socket timeout.
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if not outcome:
        raise _too_slow(name, seconds)
    return _body_or_refusal(outcome[0], name, seconds)


def _body_or_refusal(outcome: bytes | BaseException, name: str, seconds: float) -> bytes:
    match outcome:
        case bytes():
            return outcome
        case PictureError():
            raise outcome
        case urllib.error.HTTPError():
            outcome.close()
            raise PictureError(f"{name} answered {outcome.code} {outcome.reason}. Check the address in a browser.")
        case urllib.error.URLError(reason=TimeoutError()) | TimeoutError():
            raise _too_slow(name, seconds)
        case urllib.error.URLError():
            raise PictureError(f"{name} can't be reached ({outcome.reason}). {_ELSEWHERE}") from outcome
        case OSError() | http.client.HTTPException() | ValueError():
            why = str(outcome) or type(outcome).__name__
            raise PictureError(f"{name} can't be read ({why}). {_ELSEWHERE}") from outcome
    raise outcome


def _fetch(url: str, name: str, limit: int, deadline: float) -> bytes:
    request = urllib.request.Request(url, headers={"User-Agent": "vitbook (an educational book)", "Accept": "image/*"})
    chunks, size = [], 0
    with _opener().open(request, timeout=max(0.1, deadline - time.monotonic())) as response:
        declared = response.headers.get("Content-Length", "")
        promised = int(declared) if declared.isdigit() else 0
        if promised > limit:
            raise _too_large(name, limit)
        while chunk := response.read1(2**16):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise _too_large(name, limit)
            if time.monotonic() > deadline:
                raise TimeoutError
    if size < promised:
        raise PictureError(f"{name} broke off after {size:,} of {promised:,} bytes. Try again.")
    return b"".join(chunks)


def _too_large(name: str, limit: int) -> PictureError:
    return PictureError(f"{name} sends more than {limit:,} bytes. Download it, save a smaller copy and pass the path.")


def _too_slow(name: str, seconds: float) -> PictureError:
    return PictureError(f"{name} took more than {seconds:g} seconds. {_ELSEWHERE}")


def address_for_messages(url: str) -> str:
    """The address without user name, password and query, which may be secrets."""
    try:
        parts = urlsplit(url)
        return shown(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))
    except ValueError:
        return "The address"


def _check_address(url: str, asked: str | None = None) -> None:
    """Refuse other schemes, missing hosts and passwords; and for a redirect from `asked`, a detour that surprises."""
    name = address_for_messages(url)
    verb = f"{address_for_messages(asked)} redirects to {name}," if asked else f"{name} is an address"
    try:
        parts = urlsplit(url)
        host, scheme = parts.hostname, parts.scheme.lower()
    except ValueError as error:
        raise PictureError(f"{name} is no valid address ({error}). Copy it again from the browser.") from None
    if scheme not in ("http", "https"):
        file_hint = " For a file of this machine, pass its path." if scheme == "file" else ""
        raise PictureError(f"{verb} of scheme {scheme!r}; only http and https are followed.{file_hint}")
    if not host:
        raise PictureError(f"{name} names no host. An address looks like https://example.org/cat.jpg.")
    if parts.username or parts.password:
        raise PictureError(f"{verb} with a password in it, which isn't sent. Download the file and pass its path.")
    if asked is None:
        return
    if urlsplit(asked).scheme == "https" and scheme == "http":
        raise PictureError(f"{verb} which gives up the encryption. Pass that address yourself if you trust it.")
    if is_private(host) and not is_private(urlsplit(asked).hostname or ""):
        raise PictureError(f"{verb} which lies inside your own network. Pass that address yourself if you mean it.")


def is_private(host: str) -> bool:
    """Whether a host's name leads to this machine or to a network behind it rather than to the public internet."""
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return any(not ipaddress.ip_address(entry[4][0]).is_global for entry in found)


def _ascii(url: str) -> str:
    """The address as it travels: spaces and letters beyond ASCII percent-encoded, the host's in IDNA."""
    parts = urlsplit(url.strip())
    port = f":{parts.port}" if parts.port else ""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host.encode("idna").decode()
    path, query = (quote(part, safe=string.punctuation) for part in (parts.path, parts.query))
    return urlunsplit((parts.scheme, host + port, path, query, ""))


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Looks at each detour before it is taken."""

    max_redirections = 5

    def http_error_302(self, req, fp, code, msg, headers):
        target = headers.get("location") or headers.get("uri")
        try:
            if target:
                _check_address(urljoin(req.full_url, target), asked=req.full_url)
        except PictureError:
            fp.close()
            raise
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _opener() -> urllib.request.OpenerDirector:
    """urllib without its handlers for files, FTP and data addresses."""
    opener = urllib.request.OpenerDirector()
    handlers: tuple[Callable, ...] = (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        _Redirects,
    )
    for handler in handlers:
        opener.add_handler(handler())
    return opener
