"""Programs that use the Python API pass the checks of their authors: mypy and pyright, both strict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER_CODE = Path(__file__).parents[1] / "user_code.py"
WRONG_CODE = """
from mkdocs_semsearch import open_searcher

open_searcher("semsearch-index").search("keys", limit="5")
open_searcher("semsearch-index").search("keys", limits=5)
open_searcher("semsearch-index").search("keys", mode="fast")
open_searcher("semsearch-index").search("keys")[0].sections[0].duplicates.lower()
open_searcher("semsearch-index").search("keys", granularity="page")[0].section.content
"""


@pytest.mark.slow
def test_code_of_a_user_passes_mypy_strict(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG_CODE, encoding="utf-8")
    options = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, str(USER_CODE), str(tmp_path / "wrong.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    errors = [line.split(":") for line in done.stdout.splitlines() if ": error:" in line]
    assert {Path(place).name for place, *_ in errors} == {"wrong.py"}, done.stdout + done.stderr
    assert {int(line) for _, line, *_ in errors} == {4, 5, 6, 7, 8}


@pytest.mark.slow
def test_code_of_a_user_passes_pyright_strict(tmp_path):
    pytest.importorskip("pyright")
    (tmp_path / "user.py").write_text(f"# pyright: strict\n{USER_CODE.read_text(encoding='utf-8')}", encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG_CODE, encoding="utf-8")
    settings = {"include": ["."], "extraPaths": [str(ROOT)], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip(f"pyright could not be fetched: {(done.stderr or done.stdout)[-200:]}")
    wrong = [one for one in found if Path(one["file"]).name == "wrong.py" and one["severity"] == "error"]
    assert [one for one in found if Path(one["file"]).name == "user.py"] == []
    assert {one["range"]["start"]["line"] for one in wrong} == {3, 4, 5, 6, 7}
