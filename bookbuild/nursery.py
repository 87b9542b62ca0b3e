"""Kernels that are forked from one process, which has imported once what the chapters import: torch alone takes seconds.

A kernel is then a process of its own, in a session of its own, with a namespace that is empty: it has loaded modules, and nothing
else, sooner than others. The process behind it runs no thread and no code of a chapter. Where nothing can be forked, a build
starts its kernels as everybody does.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import contextmanager, suppress
from importlib import import_module
from select import select

LARGEST = 1 << 17  # bytes of a request: above all the environment
BACKEND = "module://matplotlib_inline.backend_inline"  # as a kernel sets it, before matplotlib is imported


@contextmanager
def nursery(modules: list[str]):
    """A process that has imported ``modules`` and forks kernels, for as long as the block lasts: what a `Kernel` asks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, __file__, str(theirs.fileno()), *modules]
    # In a session of its own, since Ctrl-C in a terminal is for the build.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True)
    theirs.close()
    try:
        with ours:
            yield ours
        process.wait(5)
    finally:
        process.kill()


class Kernel:
    """A kernel that was forked: as much of a `Popen` as a provisioner asks for."""

    stdin = stdout = stderr = None

    def __init__(self, nursery: socket.socket, arguments: list[str], cwd, env: dict[str, str]):
        self.returncode = None
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            request = json.dumps({"arguments": arguments, "folder": str(cwd), "environment": env})
            socket.send_fds(nursery, [request.encode()], [theirs.fileno()])
        self.pid = int(self._line.recv(64) or 0)
        if not self.pid:
            raise ChildProcessError("the process that forks kernels is gone")

    def poll(self) -> int | None:
        if self.returncode is None and select([self._line], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._line.recv(64) or -signal.SIGKILL)
            self._line.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


# --- in the process that forks: it imports nothing of the book builder, which no cell may import ---------------------------


def serve(requests: socket.socket, modules: list[str]) -> None:
    """Fork a kernel at each request, and tell its end to who asked; end it when they are gone, and all when nobody is left."""
    os.environ |= {"JPY_PARENT_PID": str(os.getpid()), "MPLBACKEND": BACKEND}
    for name in modules:
        with suppress(Exception):  # the chapter that imports it says what is wrong
            import_module(name)
    gc.collect()
    gc.freeze()  # what is there stays shared with the kernels
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    kernels = {}  # a line to who asked -> the number of their kernel
    while True:
        ready = select([requests, ended, *kernels], [], [])[0]
        for line in kernels.keys() & set(ready):  # who asked is gone
            os.kill(kernels[line], signal.SIGKILL)
            os.waitpid(kernels.pop(line), 0)
        if ended in ready:
            ended.recv(1024)
            for line, pid in list(kernels.items()):
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    with suppress(OSError), line:
                        line.send(str(os.waitstatus_to_exitcode(status)).encode())
                    del kernels[line]
        if requests in ready:
            message, sent, *_ = socket.recv_fds(requests, LARGEST, 1)
            if not message:  # the build is gone
                for pid in kernels.values():
                    os.kill(pid, signal.SIGKILL)
                return
            line = socket.socket(fileno=sent[0])
            pid = os.fork()
            if not pid:
                for inherited in (requests, ended, wake, line, *kernels):
                    inherited.close()
                become_a_kernel(**json.loads(message))
            kernels[line] = pid
            line.send(str(pid).encode())


def become_a_kernel(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """What a new process does that runs ``python -m ipykernel_launcher`` in a folder.  Never returns."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["ipykernel_launcher", *arguments]
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()  # no two chapters draw the same numbers by chance
        from ipykernel import kernelapp

        kernelapp.launch_new_instance()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
