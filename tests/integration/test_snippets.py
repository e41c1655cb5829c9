"""The Python of the reference pages runs as it is printed there."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from mkdocs_semsearch import open_searcher, searching
from tests.unit.serving.small_index import build
from tests.word_hash import WordHashEmbedder

REFERENCE = Path(__file__).parents[2] / "example-site" / "docs" / "reference"
SNIPPETS = [
    pytest.param(page, snippet, id=f"{page}-{number}")
    for page in ("python-api.md", "errors.md")
    for number, snippet in enumerate(
        re.findall(r"^```python\n(.*?)^```$", (REFERENCE / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )
]


def test_there_are_snippets():
    assert len(SNIPPETS) >= 6


@pytest.mark.parametrize(("page", "snippet"), SNIPPETS)
def test_snippet_runs(tmp_path, monkeypatch, capsys, page, snippet):
    build(tmp_path / "semsearch-index")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(searching, "open_searcher", functools.partial(open_searcher, embedder=WordHashEmbedder()))
    exec(compile(snippet, page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out or "print" not in snippet
