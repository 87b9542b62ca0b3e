"""One version everywhere, and a README whose pictures and links are there."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml
from conftest import ROOT

import vitbook


def test_one_version_everywhere():
    told = {
        "pyproject.toml": tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"],
        "CITATION.cff": yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"],
        "CHANGELOG.md": re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1],
    }
    assert told == dict.fromkeys(told, vitbook.__version__)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "BENCHMARKS.md"])
def test_what_a_page_of_the_repository_links_to_is_there(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = {target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target}
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_readme_names_verbs_and_commands_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|&& |^)make (\w+)", text, re.MULTILINE)) <= verbs
    commands = re.search(r"`python -m vitbook --help` has ([^.]+)\.", text)[1]
    from vitbook.__main__ import parser

    assert set(re.findall(r"`(\w+)`", commands)) == set(parser()._subparsers._group_actions[0].choices)
