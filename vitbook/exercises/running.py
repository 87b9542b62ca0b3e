"""Calling a reader's function so that nothing it does can take the notebook down: errors are kept, time is limited.

The call runs in a daemon thread while the caller waits up to a deadline; this works the same on Linux, macOS and
Windows, in a notebook's main thread or elsewhere, where alarm signals do not. After the deadline the thread is asked to
stop by an exception that CPython raises at its next bytecode. Honest limits: a call that sits inside compiled code (a
long sleep, a huge matrix product) sees that exception only when it comes back, and until then goes on in the
background; a crash of the interpreter itself, or a function that fills the memory, cannot be caught from inside the
same process. Where no thread can be started (Python in a browser page), the call runs here and a trace function keeps
the deadline.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

PAUSE = (
    0.05  # seconds between looks at the clock; short, so that the reader's own interrupt gets through on Windows too
)
GRACE = 1.0  # seconds that a stopped function has to end


class Stopped(BaseException):
    """Raised inside the reader's function when its time is up; being no Exception, it passes `except Exception`."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a call left: a value, or an error with its traceback, or neither because time ran out."""

    value: Any = None
    error: BaseException | None = None
    late: bool = False
    still_running: bool = False
    seconds: float = 0.0


def call(function: Callable, arguments: tuple, seconds: float) -> Outcome:
    """Call the function and wait at most that many seconds; never raises, but for the reader's own interrupt.

    A KeyboardInterrupt that arrives while waiting (the notebook's stop button) stops the function and is passed on.
    """
    start, box, done = time.monotonic(), [], threading.Event()
    context = contextvars.copy_context()  # so that what the function prints still reaches the reader's cell
    thread = threading.Thread(target=lambda: context.run(work, function, arguments, box, done), daemon=True)
    try:
        thread.start()
        while thread.is_alive() and not done.is_set() and time.monotonic() - start < seconds:
            done.wait(PAUSE)  # not thread.join: interrupted, it takes the thread for ended (CPython 3.8 to 3.12)
    except RuntimeError:  # no threads on this platform
        return call_here(function, arguments, seconds)
    except KeyboardInterrupt:
        stop(thread, done)
        raise
    if box:
        return box[0]
    stop(thread, done)
    return Outcome(late=True, still_running=thread.is_alive() and not done.is_set(), seconds=time.monotonic() - start)


def work(function: Callable, arguments: tuple, box: list[Outcome], done: threading.Event) -> None:
    """The thread's whole life: one call, whose outcome goes into the box. SystemExit and its like are outcomes too."""
    try:
        box.append(attempt(function, arguments))
        done.set()
    except Stopped:
        pass


def attempt(function: Callable, arguments: tuple) -> Outcome:
    start = time.monotonic()
    try:
        return Outcome(value=function(*arguments), seconds=time.monotonic() - start)
    except Stopped:
        raise
    except BaseException as error:
        return Outcome(error=error, seconds=time.monotonic() - start)


def stop(thread: threading.Thread, done: threading.Event) -> None:
    """Raise `Stopped` inside the thread, again if it is swallowed, and give it a moment to end."""
    end = time.monotonic() + GRACE
    while thread.is_alive() and not done.is_set() and time.monotonic() < end:
        raise_inside(thread)
        done.wait(PAUSE)


def raise_inside(thread: threading.Thread) -> None:
    """CPython's way to raise an exception in another thread; other interpreters have none, and the thread runs on."""
    try:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
    except (AttributeError, ValueError, TypeError):
        pass


def call_here(function: Callable, arguments: tuple, seconds: float) -> Outcome:
    """The same without a thread: every line of Python that runs looks at the clock first."""
    start, before = time.monotonic(), sys.gettrace()

    def watch(frame: FrameType, event: str, _: Any) -> Callable:
        if time.monotonic() - start > seconds:
            raise Stopped
        return watch

    sys.settrace(watch)
    try:
        return attempt(function, arguments)
    except Stopped:
        return Outcome(late=True, seconds=time.monotonic() - start)
    finally:
        sys.settrace(before)
