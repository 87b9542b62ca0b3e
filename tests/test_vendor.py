"""What the book serves itself is whole, licensed, and in step with the Python packages that it works with."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "book" / "assets" / "vendor"
TABLE = tomllib.loads((VENDOR / "VERSIONS.toml").read_text())
LICENCES = {
    "requirejs": ["requirejs.txt"],
    "@jupyter-widgets/html-manager": ["jupyter-widgets.txt", "html-manager-bundled.txt", "font-awesome.txt"],
    "mathjax": ["mathjax.txt"],
    "anywidget": ["anywidget.txt"],
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


def test_every_package_has_its_licence_text():
    assert TABLE["packages"].keys() == LICENCES.keys()
    for package, texts in LICENCES.items():
        assert TABLE["packages"][package]["licence"]
        for text in texts:
            assert len((VENDOR / "licences" / text).read_text()) > 900, f"{package}: {text}"


def test_anywidget_is_the_installed_one():
    assert TABLE["packages"]["anywidget"]["version"] == importlib.metadata.version("anywidget")
    assert (VENDOR / "anywidget.js").read_bytes() == vendor.installed(
        "anywidget", "anywidget/nbextension/index.js"
    ).read_bytes()


def test_the_html_manager_speaks_the_installed_ipywidgets_protocol():
    from ipywidgets._version import __html_manager_version__, __jupyter_widgets_controls_version__

    ours = TABLE["packages"]["@jupyter-widgets/html-manager"]["version"]
    ours, wanted = (tuple(map(int, version.split("."))) for version in (ours, __html_manager_version__.lstrip("^")))
    assert ours[0] == wanted[0] and ours >= wanted  # what a caret means
    bundle = (VENDOR / "embed-amd.js").read_text()
    assert f'"{__jupyter_widgets_controls_version__}"' in bundle


@pytest.mark.parametrize("name, mark", [("require.js", "version = '{}'"), ("mathjax/tex-mml-chtml.js", '"{}"')])
def test_the_versions_are_those_inside_the_files(name, mark):
    package = "requirejs" if name == "require.js" else "mathjax"
    assert mark.format(TABLE["packages"][package]["version"]) in (VENDOR / name).read_text()


def test_the_weight_stays_within_bounds():
    assert sum(path.stat().st_size for path in VENDOR.rglob("*") if path.is_file()) < 7.5e6


def test_the_table_keeps_no_path_of_any_machine():
    assert not re.search(r"/(home|Users|root|opt)/", (VENDOR / "VERSIONS.toml").read_text())
