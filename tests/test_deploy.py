"""What is deployed: the branch that is published, the workflows, the image, Binder. Each is tried as far as no network is needed."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
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


def test_a_book_whose_last_build_was_cut_off_is_not_published(checkout):
    (checkout / "_build" / ".unfinished").write_text("")
    done = publish(checkout, "../remote.git")
    assert done.returncode == 1 and "cut off" in done.stderr and "make book" in done.stderr
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


# --- the Makefile, which all of them use -------------------------------------------------------------------------

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
VERBS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
SITE = re.search(r"^SITE +:= (.*)$", MAKEFILE, re.MULTILINE)[1]


def verbs_in(script: str) -> set[str]:
    """What a script asks of make: its words after `make` that are neither options nor variables."""
    lines = re.findall(r"(?:^|[\s;&])make\b(?!:)([^\n;&|]*)", script)
    return {
        word
        for line in lines
        for word in shlex.split(line, comments=True)
        if not word.startswith("-") and "=" not in word
    }


def make(*words: str, **options) -> str:
    done = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True, check=True, **options)
    return done.stdout


def test_the_verbs_listen_where_they_are_told_to():
    assert "--host 127.0.0.1 --port 8000" in make("-n", "serve"), "on a desk nobody else is served"
    assert "--host 0.0.0.0 --port 8001" in make("-n", "serve", "HOST=0.0.0.0", "PORT=8001")
    assert "--ip=127.0.0.1 " in make("-n", "lab")
    assert "--ip=0.0.0.0 --port=9" in make("-n", "lab", "HOST=0.0.0.0", "LAB_OPTIONS=--port=9")


def test_without_dev_the_tools_of_the_tests_stay_out():
    assert "-r requirements-dev.txt" in make("-n", "-B", "install")
    assert "-r requirements-dev.txt" not in make("-n", "-B", "install", env=os.environ | {"DEV": ""})


def test_serving_a_book(tmp_path):
    (tmp_path / "index.html").write_text("a book")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["make", "serve", f"PORT={port}", f"SITE={tmp_path}", f"PYTHON={sys.executable}"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                assert urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5).read() == b"a book"
                break
            except OSError:
                time.sleep(0.2)
        else:
            pytest.fail("make serve did not answer within 20 seconds")
    finally:
        server.terminate()  # what `docker stop` does
        server.wait(20)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5)


def test_settings_of_lab_are_written_where_lab_reads_them(tmp_path):
    make("lab-settings", f"VENV={tmp_path}")
    settings = json.loads((tmp_path / "etc/jupyter/labconfig/default_setting_overrides.json").read_text())
    assert settings["@jupyterlab/apputils-extension:notification"] == {"fetchNews": "false"}
    assert settings["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]["markdown"] == "Jupytext Notebook"


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
    for name in WORKFLOWS:
        for command in (step["run"] for step in steps(name) if "run" in step):
            for script in re.findall(r"(?:^|\s)((?:\.ci|tools)/\S+)", command):
                mode = os.X_OK if command.startswith(script) else os.R_OK
                assert os.access(ROOT / script, mode), f"{name} runs {script}"
            assert verbs_in(command) <= VERBS, f"{name}: {command}"


def test_only_the_job_that_publishes_may_write_and_it_runs_nothing_else():
    for name, path in WORKFLOWS.items():
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
        for job_name, job in jobs(name).items():
            writes = "write" in str(job.get("permissions", ""))
            assert writes == ((name, job_name) == ("ci", "publish"))
            checkout = next(step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
            assert writes or checkout["with"]["persist-credentials"] is False
    publishing = jobs("ci")["publish"]
    assert publishing["permissions"] == {"contents": "write"} and publishing["needs"] == "test"
    assert [step["run"] for step in publishing["steps"] if "run" in step] == [f"{PUBLISH} origin"]


def test_what_is_published_is_what_the_gate_has_built_on_main_and_it_builds_once():
    gates = [(name, job) for name in WORKFLOWS for job in jobs(name) if ".ci/run" in str(jobs(name)[job]["steps"])]
    assert gates == [("ci", "test")]
    tested, published = jobs("ci")["test"], jobs("ci")["publish"]
    (kept,) = (step["with"] for step in tested["steps"] if "upload-artifact" in step.get("uses", ""))
    (taken,) = (step["with"] for step in published["steps"] if "download-artifact" in step.get("uses", ""))
    assert (kept["name"], kept["path"]) == (taken["name"], taken["path"]) == ("book", SITE)
    assert published["if"].split(" && ") == ["github.ref == 'refs/heads/main'", "github.event_name != 'schedule'"]


def test_the_published_branch_is_the_one_that_colab_opens():
    from bookbuild.address import read_address

    link = read_address("https://github.com/me/mine").colab("book/eq1")
    script = (ROOT / PUBLISH).read_text(encoding="utf-8")
    branch = re.search(r"refs/heads/([\w-]+)", script)[1]
    assert f"/blob/{branch}/_sources/book/eq1.ipynb" in link


def test_one_python_for_all():
    """The same version everywhere, one that the package allows and that the lint is set to."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    base = re.search(r"^ARG BASE=python:([\d.]+)-slim-\w+$", DOCKERFILE, re.MULTILINE)[1]
    used = {
        str(step["with"]["python-version"])
        for name in WORKFLOWS
        for step in steps(name)
        if "setup-python" in step.get("uses", "")
    }
    assert used == {base}
    assert (BINDER / "runtime.txt").read_text().strip() == f"python-{base}"
    assert project["project"]["requires-python"] == f">={base}"
    assert project["tool"]["ruff"]["target-version"] == f"py{base.replace('.', '')}"


# --- the image --------------------------------------------------------------------------------------------------

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
#: (instruction, its words), continued lines joined, in their order.
IMAGE = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)).splitlines()
    if line.strip()
]


def said(instruction: str) -> list[str]:
    return [words for name, words in IMAGE if name == instruction]


def test_the_image_copies_what_there_is_and_nothing_that_was_made_here():
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert {".git", ".venv", "_build", "book/assets/attn", "book/assets/model"} <= set(ignored)
    for words in said("COPY"):
        for source in words.split()[1:-1]:
            found = list(ROOT.glob(source)) if source != "." else [ROOT / "book"]
            assert found, f"COPY {source}"
            for path in found:
                assert not [
                    p for p in ignored if fnmatch.fnmatch(path.relative_to(ROOT).as_posix(), p.removeprefix("**/"))
                ], path
    order = [words for name, words in IMAGE if name in ("COPY", "RUN")]
    install, everything = (
        next(i for i, words in enumerate(order) if what in words) for what in ("make install", " . .")
    )
    assert install < everything, "a changed chapter installs nothing again"


def test_the_image_needs_for_installing_what_it_copies_first():
    """make install with nothing but those files and an empty package, as the Dockerfile has it, must find all it reads."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {"Makefile", "pyproject.toml", project["readme"], *project["license-files"], *VERBS_NEED["install"]}
    first = said("COPY")[0].split()[1:-1]
    assert needed <= {path.name for source in first for path in ROOT.glob(source)}


VERBS_NEED = {"install": re.search(r"^\$\(READY\): (.*)$", MAKEFILE, re.MULTILINE)[1].split()}


def test_the_image_serves_both_on_the_ports_it_says_and_not_as_root():
    assert said("EXPOSE") == ["8000 8888"]
    command = json.loads(said("CMD")[0])
    assert command[0] == "make" and {"serve", "lab", "HOST=0.0.0.0", "PORT=8000"} < set(command)
    assert "--port=8888" in next(word for word in command if word.startswith("LAB_OPTIONS="))
    assert set(re.findall(r":(\d{4})", said("HEALTHCHECK")[0])) == {"8000", "8888"}
    assert set(re.findall(r"127\.0\.0\.1:(\d+):(\d+)", DOCKERFILE)) == {("8000", "8000"), ("8888", "8888")}
    assert said("USER") == ["reader"] and [name for name, _ in IMAGE].index("USER") < [name for name, _ in IMAGE].index(
        "COPY"
    )
    assert verbs_in("\n".join([*said("RUN"), " ".join(command[:4])])) == {"install", "book", "serve", "lab"} <= VERBS
    assert "VITBOOK_CHECKPOINT=embedded" in said("ENV")
    assert not re.search(r"token|password", DOCKERFILE.replace("address with a token", "")), "Lab makes its own"


# --- Binder -----------------------------------------------------------------------------------------------------

BINDER = ROOT / ".binder"


def test_binder_installs_the_books_own_requirements_and_one_more():
    lines = [
        line for line in (BINDER / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")
    ]
    assert (BINDER / lines[0].removeprefix("-r ")).resolve() == ROOT / "requirements.txt"
    assert [re.match(r"([\w-]+)==[\d.]+ +# .+", line)[1] for line in lines[1:]] == ["jupyter-server-proxy"]


def test_after_that_binder_runs_what_there_is():
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    text = script.read_text()
    subprocess.run([BASH, "-n", script], check=True)
    assert verbs_in(text) == {"book", "lab-settings"} <= VERBS
    named = set(re.findall(r"(?<![\w/$\"])\.?[\w-][\w./-]*\.(?:txt|json|py)\b", re.sub(r"#.*", "", text)))
    assert named == {"requirements-embedded.txt", ".binder/jupyter_server_config.json", "tools/serve.py"}
    assert all((ROOT / name).is_file() for name in named)


def test_binder_serves_the_built_book_beside_lab():
    servers = json.loads((BINDER / "jupyter_server_config.json").read_text())["ServerProxy"]["servers"]
    (name, entry), *others = servers.items()
    assert not others and entry["command"] == ["python", "tools/serve.py", SITE, "--port", "{port}"]
    assert entry["launcher_entry"]["path_info"] == f"{name}/index.html"
    for path in ("tools/serve.py", SITE):
        assert f"s|{path}|$PWD/&|" in (BINDER / "postBuild").read_text(), (
            "as a path that holds wherever the server starts"
        )
