"""Whole small sites in a temporary folder, built by the real programs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_semsearch.artifact import open_index
from tests.warm_python import run_module

WORD_HASH_HOOK = Path(__file__).with_name("word_hash_hook.py")
QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
THEMES = ("mkdocs", "readthedocs", "material")


def installed(module: str) -> Any:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


ENGINES = tuple(pytest.param(engine, marks=installed(engine)) for engine in ("mkdocs", "properdocs"))


@dataclass
class DocsSite:
    """A docs folder with its mkdocs.yml; `word_hash` uses the word-hash embedder instead of the model."""

    root: Path
    options: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    plugins: list[Any] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    word_hash: bool = True

    @property
    def index_dir(self) -> Path:
        return self.root / "semsearch-index"

    @property
    def site_dir(self) -> Path:
        return self.root / "site"

    def write(self, pages: dict[str, str]) -> DocsSite:
        for path, text in pages.items():
            file = self.root / "docs" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return self

    def add_hook(self, code: str) -> None:
        """Writes a hook module, and adds it to the option `hooks` of MkDocs."""
        hook = self.root / f"hook_{len(self.hooks)}.py"
        hook.write_text(code, encoding="utf-8")
        self.hooks.append(str(hook))

    def write_config(self) -> Path:
        plugins = ["search", *self.plugins, {"semsearch": self.options}]
        config = {"site_name": "Demo", "site_url": "https://example.org/", "plugins": plugins, **self.config}
        config["hooks"] = [*self.hooks, *([str(WORD_HASH_HOOK)] if self.word_hash else [])]
        path = self.root / "mkdocs.yml"
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        return path

    def build(
        self, *arguments: str, engine: str = "mkdocs", strict: bool = True, fails: bool = False, fresh: bool = False
    ) -> str:
        """Builds in a separate process, on request in a new interpreter; returns its output."""
        command = [engine, "build", "-f", str(self.write_config()), *arguments, *(["--strict"] if strict else [])]
        done = run_module(*command, cwd=self.root, environment=os.environ | QUIET, fresh=fresh or engine != "mkdocs")
        output = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, output
        assert fails or "Traceback" not in output, output
        return output

    def table(self, name: str = "pages") -> list[dict[str, Any]]:
        """Returns the rows of a table of the index, after verifying the index."""
        import pyarrow.parquet as pq

        index = open_index(self.index_dir, verify=True)
        return pq.read_table(index.build_dir / f"{name}.parquet").to_pylist()

    def paths(self) -> list[str]:
        return [row["path"] for row in self.table()]

    def page(self, path: str) -> dict[str, Any]:
        (row,) = [row for row in self.table() if row["path"] == path]
        return row

    def text(self) -> str:
        return "\n".join(row["content"] for row in self.table("chunks"))

    def widget_config(self) -> dict[str, Any]:
        return json.loads((self.site_dir / "assets/semsearch/config.json").read_text(encoding="utf-8"))

    def html(self, path: str = "index.html") -> str:
        return (self.site_dir / path).read_text(encoding="utf-8")


def embedded_and_reused(output: str) -> tuple[int, int]:
    found = re.search(r"\((\d+) embedded, (\d+) reused\)", output)
    assert found, output
    return int(found[1]), int(found[2])
