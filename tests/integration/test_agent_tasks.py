"""An agent finds what it needs: ten tasks on the documentation of uv, with at most three calls each."""

from __future__ import annotations

import os
import subprocess
import sys

import anyio
import pytest

pytest.importorskip("mcp")

from benchmarks.agent_tasks import MOST_CALLS, UV, work_on
from mkdocs_semsearch import open_searcher
from mkdocs_semsearch.serving.mcp import build_server
from mkdocs_semsearch.serving.operations import IndexOperations
from tests.integration.corpora import CORPORA, corpus_config
from tests.integration.sites import QUIET

pytestmark = [pytest.mark.slow, pytest.mark.corpora, pytest.mark.skipif(not CORPORA.is_dir(), reason="no ../shared")]


def test_ten_tasks_are_answered_with_at_most_three_calls_each(tmp_path):
    config = corpus_config("uv", tmp_path, plugins=["search", {"semsearch": {}}])
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | QUIET, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    with open_searcher(tmp_path / "semsearch-index") as searcher:
        server = build_server(IndexOperations(lambda: searcher), site_name="uv")
        outcomes = anyio.run(work_on, UV, server)
    assert len(outcomes) == 10
    assert [outcome.task.question for outcome in outcomes if not outcome.answered] == []
    assert max(outcome.calls for outcome in outcomes) <= MOST_CALLS
