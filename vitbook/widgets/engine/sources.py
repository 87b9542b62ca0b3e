"""The engine's own source, for pages that explain it: read from the files, never typed again."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from textwrap import dedent

from vitbook.widgets.kit import ROOM

#: The files that compute Eq. 1 to 8, in the order of a run.
STEPS = ("patches.js", "embed.js", "softmax.js", "attention.js", "encoder.js", "readout.js", "run.js")
_COMMENT = re.compile(r"/\*\*[\s\S]*?\*/\s*|^\s*//.*\n|[ \t]+//.*$", re.M)


def files() -> list[str]:
    """The names of all files of the engine."""
    return sorted(path.name for path in (ROOM / "engine").glob("*.js"))


def text_of(file: str) -> str:
    """A file of the engine."""
    return (ROOM / "engine" / file).read_text(encoding="utf-8")


def code_of(file: str) -> list[str]:
    """Its lines of code: no comments, no imports, nothing empty."""
    lines = re.sub(r"(?m)^import .*\n", "", _COMMENT.sub("", text_of(file))).splitlines()
    return [line for line in lines if line.strip()]


def javascript(file: str, name: str) -> str:
    """One function of a file, without its comment.  Raises ValueError where there is none."""
    text = text_of(file)
    body = rf"^(?:export )?(?:async )?function {name}\b.*?^}}$|^(?:export )?const {name} = .*?;$"
    found = re.search(body, re.sub(r"[ \t]+//.*$", "", text, flags=re.M), re.S | re.M)
    if found is None:
        raise ValueError(f"{file} has no function {name!r}")
    return found[0].removeprefix("export ")


def python(function: Callable) -> str:
    """A function of Python without its docstring and its comments."""
    tree = ast.parse(dedent(inspect.getsource(function)))
    made = tree.body[0]
    if ast.get_docstring(made) is not None:
        made.body = made.body[1:]
    made.returns = None
    for argument in (*made.args.args, *made.args.kwonlyargs):
        argument.annotation = None
    return ast.unparse(tree)


def show(*names: tuple[str, str]):
    """Functions of the engine, (file, name) each: what IPython shows as Markdown."""
    return _markdown(_told("javascript", f"In the page, `{file}`:", javascript(file, name)) for file, name in names)


def beside(file: str, name: str, function: Callable):
    """A function of Python, and the one of the engine that does the same."""
    of_page = _told("javascript", f"In the page, `{file}`:", javascript(file, name))
    return _markdown([_told("python", "In Python:", python(function)), of_page])


def _told(language: str, words: str, code: str) -> str:
    return f"{words}\n\n```{language}\n{code}\n```"


def _markdown(parts: Iterable[str]):
    from IPython.display import Markdown

    return Markdown("\n\n".join(parts))
