"""The benchmarks name things of the package that other tests know nothing of."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = sorted(file.stem for file in FOLDER.glob("*.py"))


@pytest.fixture(autouse=True)
def as_started(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("name", MODULES)
def test_benchmark_can_be_imported(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("mkdocs_semsearch", "tests", *MODULES):
            raise
        pytest.skip(f"{error.name} is not installed")


def test_stages_of_a_question_exist():
    for places in importlib.import_module("question_stages").STAGES.values():
        for place in places:
            assert callable(pkgutil.resolve_name(f"mkdocs_semsearch.{place}")), place
