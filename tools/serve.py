"""Serve the built book as a web host does: compressed, with its own page for addresses that are not there.

    python tools/serve.py [FOLDER] [--port 8000] [--host 127.0.0.1]

Only the standard library, so that any Python can do it.
"""

from __future__ import annotations

import argparse
import gzip
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMPRESSED = {".html", ".css", ".js", ".json", ".svg", ".xml", ".txt", ".ipynb", ".md"}


class Host(SimpleHTTPRequestHandler):
    """Files of one folder; text compressed for browsers that take it, 404.html for every address that is not there."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        takes = "gzip" in self.headers.get("Accept-Encoding", "")
        if takes and path.suffix in COMPRESSED and path.is_file():
            self.answer(200, compressed(path, path.stat().st_mtime_ns), path, encoding="gzip")
        else:
            super().do_GET()

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / "404.html"
        if code == 404 and page.is_file():
            self.answer(404, page.read_bytes(), page)
        else:
            super().send_error(code, message, explain)

    def answer(self, code: int, body: bytes, path: Path, encoding: str = "") -> None:
        self.send_response(code)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")  # as GitHub Pages says
        if encoding:
            self.send_header("Content-Encoding", encoding)
            self.send_header("Vary", "Accept-Encoding")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Quiet: the address is said once, when it starts."""


@lru_cache(maxsize=512)
def compressed(path: Path, changed: int) -> bytes:
    """The file, compressed; ``changed`` (ns) makes a changed file another one."""
    return gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)


def serve(folder: Path, host: str, port: int) -> ThreadingHTTPServer:
    """A server for ``folder``, not started yet.  Raises OSError where the port is taken."""
    return ThreadingHTTPServer((host, port), partial(Host, directory=str(folder)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("_build/html"))
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 lets other machines in (default: %(default)s)")
    asked = parser.parse_args()
    if not (asked.folder / "index.html").is_file():
        parser.exit(1, f"There is no book in {asked.folder} yet: run `make book` first.\n")
    if (asked.folder.parent / ".unfinished").exists():
        print("The last build was cut off, or is still at work: pages may be missing. `make book` makes them all.")
    try:
        server = serve(asked.folder, asked.host, asked.port)
    except OSError as error:
        parser.exit(
            1, f"Port {asked.port} cannot be used ({error.strerror}): choose another with --port (make serve PORT=…).\n"
        )
    print(f"The book is at http://{asked.host}:{asked.port}/ (end with Ctrl+C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
