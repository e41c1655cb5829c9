"""Lists the packages that a search server needs, which are fewer than a build needs.

It imports the standard library only, because the command runs before these packages are installed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, requires

from mkdocs_semsearch.errors import SemsearchError

PACKAGES = frozenset(
    {
        "filelock",
        "httpx2",
        "jinja2",
        "numpy",
        "onnxruntime",
        "pyarrow",
        "pydantic",
        "rapidfuzz",
        "simsimd",
        "starlette",
        "tantivy",
        "uvicorn",
    }
)
"""The dependencies of this package that a search server imports."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def sidecar_requirements(extras: Collection[str] = ()) -> list[str]:
    """Returns the requirements of a search server, one per line, with the version ranges of this package.

    Raises:
        SemsearchError: this package runs from a folder without being installed.
    """
    try:
        lines = requires("mkdocs-semsearch") or []
    except PackageNotFoundError:
        raise SemsearchError(
            "The requirements are not known, because mkdocs-semsearch is not installed: "
            "run pip install --no-deps mkdocs-semsearch."
        ) from None
    return sorted(filter(None, (_chosen(line, extras) for line in lines)))


def _chosen(line: str, extras: Collection[str]) -> str | None:
    requirement, _, marker = (part.strip() for part in line.partition(";"))
    extra = _EXTRA.search(marker)
    if extra:
        return requirement if extra[1] in extras else None
    name = _NAME.match(requirement)
    wanted = name is not None and name[0].lower().replace("_", "-") in PACKAGES
    return (f"{requirement}; {marker}" if marker else requirement) if wanted else None
