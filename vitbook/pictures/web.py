"""Pictures from the web, with limits: http and https only, so many bytes, so many seconds, no surprising detours."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from urllib.parse import urlsplit, urlunsplit

import httpx

from .refusal import PictureError, shown

MAX_DOWNLOAD = 32 * 2**20  # bytes
DETOURS = 5
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
            outcome.append(_fetch(url.strip(), name, limit, time.monotonic() + seconds))
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
        case httpx.TimeoutException() | TimeoutError():
            raise _too_slow(name, seconds)
        case httpx.ConnectError():
            raise PictureError(f"{name} can't be reached ({outcome}). {_ELSEWHERE}") from outcome
        case httpx.TooManyRedirects():
            raise PictureError(f"{name} redirects in an infinite loop, or more than {DETOURS} times. {_ELSEWHERE}")
        case httpx.HTTPError() | httpx.InvalidURL() | OSError() | ValueError():
            why = str(outcome) or type(outcome).__name__
            raise PictureError(f"{name} can't be read ({why}). {_ELSEWHERE}") from outcome
    raise outcome


def _fetch(url: str, name: str, limit: int, deadline: float) -> bytes:
    client = httpx.Client(
        headers={"User-Agent": "vitbook (an educational book)", "Accept": "image/*", "Accept-Encoding": "identity"},
        timeout=max(0.1, deadline - time.monotonic()),
        follow_redirects=True,
        max_redirects=DETOURS,
        event_hooks={"response": [_look_at_detour]},
    )
    with client, client.stream("GET", url) as response:
        if response.status_code >= 400:
            why = f"{response.status_code} {response.reason_phrase}"
            raise PictureError(f"{name} answered {why}. Check the address in a browser.")
        return _body(response, name, limit, deadline)


def _look_at_detour(response: httpx.Response) -> None:
    """A redirect is looked at before it is followed."""
    if response.has_redirect_location:
        _check_address(str(response.url.join(response.headers["Location"])), asked=str(response.url))


def _body(response: httpx.Response, name: str, limit: int, deadline: float) -> bytes:
    declared = response.headers.get("Content-Length", "")
    promised = int(declared) if declared.isdigit() else 0
    if promised > limit:
        raise _too_large(name, limit)
    body = bytearray()
    try:
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > limit:
                raise _too_large(name, limit)
            if time.monotonic() > deadline:
                raise TimeoutError
    except httpx.RemoteProtocolError as error:
        raise PictureError(f"{name} broke off after {len(body):,} of {promised:,} bytes. Try again.") from error
    return bytes(body)


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
