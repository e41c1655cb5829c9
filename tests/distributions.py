"""Environments of chosen distributions, made of links to those that are installed here: nothing is downloaded."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Collection, Iterable
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import Requirement


def closure(requirements: Iterable[str]) -> Collection[Distribution]:
    """Returns the distributions that an installer would install for these requirements."""
    found: dict[tuple[str, frozenset[str]], Distribution] = {}
    pending = [Requirement(line) for line in requirements]
    while pending:
        requirement = pending.pop()
        wanted = [{"extra": extra} for extra in ("", *requirement.extras)]
        if requirement.marker and not any(requirement.marker.evaluate(each) for each in wanted):
            continue
        distribution = importlib.metadata.distribution(requirement.name)
        assert requirement.specifier.contains(distribution.version, prereleases=True), requirement
        key = (distribution.name, frozenset(requirement.extras))
        if key in found:
            continue
        found[key] = distribution
        for line in distribution.requires or ():
            child = Requirement(line)
            if child.marker is None or any(child.marker.evaluate(each) for each in wanted):
                child.marker = None
                pending.append(child)
    return {distribution.name: distribution for distribution in found.values()}.values()


def link(distribution: Distribution, folder: Path) -> None:
    """Links the packages and modules of a distribution, and its metadata, into a folder."""
    for name in {Path(file).parts[0] for file in distribution.files or () if ".." not in Path(file).parts}:
        if name != "__pycache__" and not (folder / name).exists():
            (folder / name).symlink_to(Path(str(distribution.locate_file(name))))
