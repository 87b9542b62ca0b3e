"""Run scripts of `vitbook/widgets` outside a page: in node where it is installed, and in Chromium, which the tests need anyway."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from vitbook.widgets import kit

NODE = shutil.which("node")


def joined(folder: Path, *files: str) -> str:
    """These files of the room and all that they import as one classic script: what they export are its names."""
    entry = folder / "entry.js"
    there = os.path.relpath(kit.ROOM, folder)
    entry.write_text("".join(f'import {{ }} from "./{there}/{name}";\n' for name in files), encoding="utf-8")
    return kit.classic(kit.script(str(entry)))


def numbers(array) -> str:
    """An array's float32 numbers as text, which `numbers(text)` in a script reads."""
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode("ascii")


def array(text: str) -> np.ndarray:
    """The other way, of what `text(numbers)` in a script returned."""
    return np.frombuffer(base64.b64decode(text), "<f4")


HELP = """
const numbers = (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Float32Array(bytes.buffer);
};
const text = (numbers) => {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  let out = "";
  for (let i = 0; i < bytes.length; i += 3000) out += String.fromCharCode(...bytes.subarray(i, i + 3000));
  return btoa(out);
};
"""


def in_node(script: str, body: str, data: object, flags: Iterable[str] = ()):
    """What the body of an async function of `data` returns, after the script."""
    whole = f'{script}{HELP}(async (data) => {{ {body} }})(JSON.parse(require("fs").readFileSync(0, "utf8")))'
    whole += ".then((out) => console.log(JSON.stringify(out)), (error) => { console.error(error); process.exit(1); });"
    done = subprocess.run([NODE, *flags, "-e", whole], input=json.dumps(data), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def in_page(page, script: str, body: str, data: object):
    """The same in a browser's page."""
    return page.evaluate(f"(data) => (async () => {{ {script}{HELP}{body} }})()", data)
