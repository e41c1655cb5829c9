"""The browser's search engine, run by the Node that Playwright includes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ASSETS = Path(__file__).parents[1] / "theme" / "assets" / "semsearch" / "static"
SCRIPT = Path(__file__).with_suffix(".mjs")


def node() -> str:
    """Path of Node; without one, a failure in CI and a skip elsewhere."""
    spec = find_spec("playwright")
    bundled = Path(spec.origin).parent / "driver" / "node" if spec and spec.origin else None
    found = str(bundled) if bundled and bundled.is_file() else shutil.which("node")
    if found is None:
        complaint = "Node is missing: pip install playwright, which has it"
        if os.environ.get("CI"):
            pytest.fail(complaint)
        pytest.skip(complaint)
    return found


class StaticEngine:
    """Answers from the bundle in `semsearch/` of a site, as the worker in a browser does."""

    def __init__(self, site: Path) -> None:
        command = [node(), str(SCRIPT), ASSETS.as_uri() + "/", site.resolve().as_uri() + "/"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> StaticEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def search(self, query: str, **options: Any) -> dict[str, Any]:
        """Returns the answer to a question, without its duration."""
        body = self.call("search", {"query": query, **options})
        del body["took_ms"]
        return body

    def call(self, name: str, argument: Any = None) -> Any:
        """Calls the engine; its error becomes a `RuntimeError`."""
        return self._ask({"call": name, "argument": argument})

    def map(self, module: str, name: str, calls: list[list[Any]]) -> list[Any]:
        """Calls a function of a module once for each list of arguments."""
        return self._ask({"module": module, "call": name, "argument": calls})

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        return reply["value"]
