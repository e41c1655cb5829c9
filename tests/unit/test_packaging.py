"""What gets into the wheel, the source distribution and the image."""

from __future__ import annotations

import fnmatch
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
HATCH = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]


def test_the_source_distribution_has_everything_that_its_text_names():
    included = HATCH["sdist"]["include"]
    for name in ("SECURITY.md", "constraints.txt", "NOTICE", "LICENSE", "CHANGELOG.md", "Makefile", "Dockerfile"):
        assert f"/{name}" in included
        assert (ROOT / name).is_file()
    assert all((ROOT / name.lstrip("/")).exists() for name in included if name != "/CONTRIBUTING.md")


def test_the_image_can_be_built_from_what_its_context_has():
    """NOTICE belongs into the wheel, which is built inside of the image."""
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
