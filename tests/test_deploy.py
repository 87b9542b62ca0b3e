"""What is deployed: the branch that is published, the workflows, the image, Binder. Each is tried as far as no network is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PUBLISH = "tools/publish.sh"
BASH = shutil.which("bash")
ME = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
ME |= {f"GIT_{who}_{what}": "me@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(*arguments: str, folder: Path) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env=ME, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A repository with one commit, the script, and a small built book; ../remote.git beside it is bare."""
    folder = tmp_path / "checkout with a space"
    (folder / "tools").mkdir(parents=True)
    shutil.copy(ROOT / PUBLISH, folder / "tools")
    (folder / ".gitignore").write_text("_build/\n*.ipynb\n")
    git("init", "--quiet", "--initial-branch=main", folder=folder)
    git("init", "--quiet", "--bare", "../remote.git", folder=folder)
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "-m", "first", folder=folder)
    for name in (
        "index.html",
        "search.html",
        "searchindex.js",
        "_static/a.css",
        "_sources/book/one.ipynb",
        ".buildinfo",
    ):
        page = folder / "_build" / "html" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"{name}\r\n")
    return folder


def publish(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess:
    environment = ME | ({"PATH": path} if path is not None else {})
    return subprocess.run([BASH, PUBLISH, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_the_whole_book_arrives_as_one_commit_and_nothing_else_changes(checkout):
    remote = checkout.parent / "remote.git"
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    done = publish(checkout, "../remote.git")
    assert done.returncode == 0, done.stderr
    assert "published 7 files" in done.stdout
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before

    arrived = git("ls-tree", "-r", "--name-only", "gh-pages", folder=remote).splitlines()
    expected = "index.html search.html searchindex.js _static/a.css _sources/book/one.ipynb .buildinfo .nojekyll"
    assert sorted(arrived) == sorted(expected.split())
    for name in arrived:
        there = subprocess.run(["git", "show", f"gh-pages:{name}"], cwd=remote, env=ME, capture_output=True).stdout
        assert there == (b"" if name == ".nojekyll" else f"{name}\r\n".encode()), name
    head = git("rev-parse", "--short", "HEAD", folder=checkout)
    assert git("log", "--format=%s", "gh-pages", folder=remote) == f"The book, built from {head}"


def test_a_second_time_replaces_the_first_and_other_branches_stay(checkout):
    remote = checkout.parent / "remote.git"
    git("remote", "add", "origin", str(remote), folder=checkout)
    git("push", "--quiet", "origin", "main", folder=checkout)
    assert publish(checkout, "origin").returncode == 0
    (checkout / "_build" / "html" / ".buildinfo").unlink()
    (checkout / "tools" / "publish.sh").open("a").write("# changed\n")
    assert publish(checkout, "origin").returncode == 0
    assert git("rev-list", "--count", "gh-pages", folder=remote) == "1"
    assert ".buildinfo" not in git("ls-tree", "--name-only", "gh-pages", folder=remote).splitlines()
    assert git("log", "--format=%s", "gh-pages", folder=remote).endswith("-dirty"), (
        "it was built from more than the commit"
    )
    assert git("rev-parse", "main", folder=remote) == git("rev-parse", "main", folder=checkout)


@pytest.mark.parametrize("missing", ["index.html", "searchindex.js", "."])
def test_without_a_whole_book_nothing_is_published(checkout, missing):
    shutil.rmtree(checkout / "_build") if missing == "." else (checkout / "_build" / "html" / missing).unlink()
    done = publish(checkout, "../remote.git")
    assert done.returncode == 1
    assert "make book" in done.stderr and "_build/html" in done.stderr
    assert git("branch", folder=checkout.parent / "remote.git") == ""


def test_refusals_say_what_is_missing(checkout, tmp_path):
    assert "REMOTE" in publish(checkout).stderr
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("dirname", "pwd"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    done = publish(checkout, "../remote.git", path=str(tools))
    assert (done.returncode, "git is not installed" in done.stderr) == (1, True)
    done = publish(checkout, "../nowhere.git")
    assert done.returncode != 0 and "nowhere.git" in done.stderr and "published" not in done.stdout
    shutil.rmtree(checkout / ".git")
    done = publish(checkout, "../remote.git")
    assert (done.returncode, "no git repository" in done.stderr) == (1, True)


# --- workflows --------------------------------------------------------------------------------------------------

WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}


def jobs(name: str) -> dict[str, dict]:
    return yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))["jobs"]


def steps(name: str) -> list[dict]:
    return [step for job in jobs(name).values() for step in job["steps"]]


def test_workflows_use_the_same_few_actions_at_the_same_versions():
    used = {step["uses"] for name in WORKFLOWS for step in steps(name) if "uses" in step}
    names = [action.partition("@")[0] for action in used]
    assert len(names) == len(set(names)), f"two versions of one action: {sorted(used)}"
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used), used


def test_workflows_run_what_there_is():
    verbs = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name in WORKFLOWS:
        for command in (step["run"] for step in steps(name) if "run" in step):
            for script in re.findall(r"(?:^|\s)((?:\.ci|tools)/\S+)", command):
                assert os.access(ROOT / script, os.X_OK), f"{name} runs {script}"
            assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= verbs, f"{name}: {command}"


def test_only_the_job_that_publishes_may_write_and_it_runs_nothing_else():
    for name, path in WORKFLOWS.items():
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
        for job_name, job in jobs(name).items():
            writes = "write" in str(job.get("permissions", ""))
            assert writes == ((name, job_name) == ("pages", "publish"))
            checkout = next(step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
            assert writes or checkout["with"]["persist-credentials"] is False
    publishing = jobs("pages")["publish"]
    assert publishing["permissions"] == {"contents": "write"} and publishing["needs"] == "build"
    assert [step["run"] for step in publishing["steps"] if "run" in step] == [f"{PUBLISH} origin"]
    assert ".ci/run" in [step.get("run") for step in jobs("pages")["build"]["steps"]]


def test_the_published_branch_is_the_one_that_colab_opens():
    from vitbook.views.address import read_address

    link = read_address("https://github.com/me/mine").colab("book/eq1")
    script = (ROOT / PUBLISH).read_text(encoding="utf-8")
    branch = re.search(r"refs/heads/([\w-]+)", script)[1]
    assert f"/blob/{branch}/_sources/book/eq1.ipynb" in link
