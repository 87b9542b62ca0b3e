"""One file over HTTP: resumable, with a progress bar, and never in place before its size and hash are right."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from vitbook.library.errors import reason

Answer = TypeVar("Answer")
CHUNK = 2**20
STALLED = 10.0  # seconds without a byte before a connection counts as lost


class FetchError(Exception):
    """Something could not be downloaded; the message is the second half of a plain sentence."""


def within(seconds: float, work: Callable[[], Answer]) -> Answer:
    """The answer of `work`, or FetchError after so many seconds: name look-ups obey no time limit of their own."""
    outcome: list = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except Exception as error:
            outcome.append((None, error))

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(seconds)
    if not outcome:
        raise FetchError(f"there was no answer within {seconds:g} seconds")
    answer, error = outcome[0]
    if error is not None:
        raise error
    return answer


def download(url: str, target: Path, size: int, digest: str, label: str) -> None:
    """Put what stands behind an address into a file, resuming where an earlier call stopped.

    size: in bytes.  digest: sha256 (64 letters), or git's sha1 of a file (40), as the hub gives it.  label: for the bar.
    Raises FetchError; then the target is untouched, and what arrived is kept beside it unless it is known to be wrong.
    """
    part = target.with_name(f"{target.name}.vitbook.incomplete")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_space(target.parent, size - _length(part))
        with _alone(part):
            _receive(url, part, size, label)
            if (found := digest_of(part, len(digest))) != digest:
                part.unlink()
                raise FetchError(
                    f"{label} arrived damaged (hash {found[:12]}..., expected {digest[:12]}...); run it again"
                )
            os.replace(part, target)
    except OSError as error:
        raise FetchError(f"{label} cannot be written to {target.parent}: {reason(error)}") from None


def digest_of(path: Path, length: int) -> str:
    """sha256 of a file, or git's sha1 of it (which starts with its size) where a hash of 40 letters is wanted."""
    if length == 40:
        summer = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    elif length == 64:
        summer = hashlib.sha256()
    else:
        raise FetchError("the hub gives no hash to check the file against")
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            summer.update(chunk)
    return summer.hexdigest()


def _receive(url: str, part: Path, size: int, label: str) -> None:
    """Append until the size is reached; a lost connection is taken up again as long as bytes keep coming."""
    from huggingface_hub.utils import tqdm

    if _length(part) > size:
        part.unlink()
    with tqdm(total=size, initial=_length(part), unit="B", unit_scale=True, desc=label, disable=None) as bar:
        while (before := _length(part)) < size:
            try:
                _append(url, part, size, bar)
            except (OSError, FetchError):
                raise
            except Exception as error:  # every HTTP library has its own
                if _length(part) <= before:
                    raise FetchError(f"{label} stopped coming ({reason(error)}); run it again to go on") from None
            else:
                if _length(part) <= before:
                    raise FetchError(f"{label} broke off after {before:,} of {size:,} bytes; run it again to go on")


def _append(url: str, part: Path, size: int, bar) -> None:
    from huggingface_hub.utils import get_session

    have = _length(part)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    stream = get_session().stream("GET", url, headers=headers, timeout=STALLED, follow_redirects=True)
    with stream as response:
        if response.status_code >= 400:
            raise FetchError(f"the server answered {response.status_code} for {bar.desc}")
        again = have and response.status_code != 206  # it starts at the beginning, whatever was asked
        with part.open("wb" if again else "ab") as file:
            if again:
                bar.update(-have)
                have = 0
            for chunk in response.iter_bytes():
                have += len(chunk)
                if have > size:
                    raise FetchError(f"the server sends more than the {size:,} bytes that it announced for {bar.desc}")
                file.write(chunk)
                bar.update(len(chunk))


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """A lock, so that two fetches do not write into one file; it goes with the process that holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{part}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise FetchError("another fetch is downloading the same file; wait for it") from None
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):  # where the next one is quicker and has taken it already
            Path(lock.lock_file).unlink()


def _check_space(folder: Path, needed: int) -> None:
    if (free := shutil.disk_usage(folder).free) < needed + 2**26:
        raise FetchError(f"{needed / 1e6:,.0f} MB are needed in {folder}, but only {free / 1e6:,.0f} MB are free there")


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
