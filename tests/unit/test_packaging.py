"""The contents of the wheel, the source distribution and the image."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from pathlib import Path

import pytest

from mkdocs_semsearch.serving.requirements import sidecar_requirements

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HATCH = PYPROJECT["tool"]["hatch"]["build"]["targets"]


def test_the_source_distribution_has_everything_that_its_text_names():
    included = HATCH["sdist"]["include"]
    for name in (
        "SECURITY.md",
        "constraints.txt",
        "NOTICE",
        "LICENSE",
        "CHANGELOG.md",
        "Makefile",
        "Dockerfile",
        ".docker",
        ".dockerignore",
        ".ci",
    ):
        assert f"/{name}" in included
        assert (ROOT / name).exists()
    assert all((ROOT / name.lstrip("/")).exists() for name in included if name != "/CONTRIBUTING.md")


def test_the_versions_of_python_are_those_that_the_readme_names():
    first, last = re.search(r"CPython 3\.(\d+) to 3\.(\d+)", (ROOT / "README.md").read_text(encoding="utf-8")).groups()
    named = [f"Programming Language :: Python :: 3.{minor}" for minor in range(int(first), int(last) + 1)]
    assert [line for line in PYPROJECT["project"]["classifiers"] if ":: 3." in line] == named
    assert PYPROJECT["project"]["requires-python"] == f">=3.{first}"


def test_the_image_can_be_built_from_what_its_context_has():
    """NOTICE belongs in the wheel, which is built inside the image."""
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    admitted = [rule[1:] for rule in rules if rule.startswith("!")]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [
        name
        for line in dockerfile.splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert {"NOTICE", "LICENSE", "mkdocs_semsearch"} <= set(copied)
    for name in copied:
        assert any(fnmatch.fnmatch(name, rule) for rule in admitted), f"{name} is not in the context"


def pinned(text):
    """Returns the version of each package, in the spelling of PyPI."""
    pins = re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins}


@pytest.mark.parametrize("name", ["image.txt", "build.txt"])
def test_what_the_image_installs_has_hashes_and_the_versions_of_the_constraints(name):
    """If this fails after a change of `constraints.txt` or of a dependency, run `make lock`."""
    text = (ROOT / ".docker" / name).read_text(encoding="utf-8")
    packages = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", package) for package in packages)
    constraints = pinned((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    locked = pinned(text)
    assert len(locked) == len(packages) > 4
    assert {name: version for name, version in locked.items() if version != constraints.get(name, version)} == {}


def test_the_image_installs_what_searching_needs_and_nothing_without_a_hash():
    needed = {re.match(r"[\w-]+", line)[0].lower() for line in sidecar_requirements(["mcp"])}
    assert needed <= set(pinned((ROOT / ".docker" / "image.txt").read_text(encoding="utf-8")))
    installs = re.findall(r"pip .*?install (.*?) \\$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(installs) == 3
    assert all("--require-hashes" in words or "--no-deps" in words for words in installs)
