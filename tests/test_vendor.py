"""What the book serves itself is whole, licensed, and in step with the Python packages that it works with."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "book" / "assets" / "vendor"
TABLE = tomllib.loads((VENDOR / "VERSIONS.toml").read_text())
LICENCES = {
    "@jupyter-widgets/base": "widgets.txt",
    "@jupyter-widgets/base-manager": "widgets.txt",
    "@jupyter-widgets/controls": "widgets.txt",
    "anywidget": "widgets.txt",
}

spec = importlib.util.spec_from_file_location("vendor", ROOT / "tools" / "vendor.py")
vendor = importlib.util.module_from_spec(spec)
spec.loader.exec_module(vendor)


def test_the_files_are_those_of_the_table():
    assert vendor.problems() == []


def test_a_changed_file_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "here.js").write_text("1")
    (tmp_path / "VERSIONS.toml").write_text(f'[sha256]\n"here.js" = "{"0" * 64}"\n"gone.js" = "{"0" * 64}"\n')
    (tmp_path / "stray.js").write_text("2")
    monkeypatch.setattr(vendor, "VENDOR", tmp_path)
    monkeypatch.setattr(vendor, "TABLE", tmp_path / "VERSIONS.toml")
    assert vendor.problems() == ["gone.js: listed but missing", "stray.js: present but not listed", "here.js: changed"]


def test_a_checkout_on_windows_has_the_same_bytes(tmp_path):
    """git set to write Windows' line ends, as its installer there does: the attributes of this project go before that."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("no git here, so no checkout")
    git = [
        "git",
        "-c",
        "core.autocrlf=true",
        "-c",
        "core.eol=crlf",
        "-c",
        "init.defaultBranch=main",
        "-C",
        str(tmp_path),
    ]
    for name in (".gitattributes", "tools/publish.sh", "book/assets/vendor/VERSIONS.toml", "vitbook/checks.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "book/assets/vendor/other.js").write_bytes(b"as it came\r\nwith both\n")
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in paths}
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "--all"], check=True, capture_output=True)
    for path in paths:
        path.unlink()
    subprocess.run([*git, "checkout-index", "--all", "--force"], check=True)
    assert {path: path.read_bytes() for path in paths} == before


def test_every_package_has_its_licence_text():
    assert TABLE["packages"].keys() == LICENCES.keys()
    for package, text in LICENCES.items():
        assert TABLE["packages"][package]["licence"]
        words = (VENDOR / "licences" / text).read_text()
        assert len(words) > 900 and (
            text != "widgets.txt" or f"{package} {TABLE['packages'][package]['version']}" in words
        )


def test_anywidget_is_the_installed_one():
    version = importlib.metadata.version("anywidget")
    assert TABLE["packages"]["anywidget"]["version"] == version
    assert f'"{version}"' in (VENDOR / "widgets.js").read_text()


def test_the_widgets_speak_the_installed_ipywidgets_protocol():
    from ipywidgets._version import __jupyter_widgets_base_version__, __jupyter_widgets_controls_version__

    bundle = (VENDOR / "widgets.js").read_text()
    for version in (__jupyter_widgets_base_version__, __jupyter_widgets_controls_version__):
        assert f'"{version}"' in bundle


def test_the_lock_file_pins_every_package_by_hash_and_names_no_host():
    lock = json.loads((vendor.WIDGETS / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert len(packages) > 20 and all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert "resolved" not in json.dumps(lock)
    asked = json.loads((vendor.WIDGETS / "package.json").read_text())["dependencies"]
    assert asked.items() <= {name: row["version"] for name, row in TABLE["packages"].items()}.items()


def test_the_weight_stays_within_bounds():
    assert sum(path.stat().st_size for path in VENDOR.rglob("*") if path.is_file()) < 0.7e6


def test_the_table_keeps_no_path_of_any_machine():
    assert not re.search(r"/(home|Users|root|opt)/", (VENDOR / "VERSIONS.toml").read_text())
