"""Sends requests generated from the OpenAPI document to the application, and compares the answers with the document.

The test suite runs it with a few examples (`test_http_schema.py`); with more of them:

    python tests/fuzz/fuzz_api.py --examples 2000
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.live_index import LiveIndex
from tests.unit.serving.small_index import build, open_small

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SKIPPED = {("GET", "/docs")}  # HTML, which the document does not describe further


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=1000, help="for each operation")
    wanted = parser.parse_args()
    started = time.monotonic()
    counts = ask_everything(wanted.examples)
    total = sum(counts.values())
    print(f"{total} requests in {(time.monotonic() - started) / 60:.1f} min: {dict(sorted(counts.items()))}")


def ask_everything(examples: int) -> Counter:
    """Sends a number of valid and of invalid requests to each operation; returns the count of each status."""
    counts: Counter = Counter()
    with tempfile.TemporaryDirectory() as folder:
        index = LiveIndex(build(Path(folder) / "index"), open_index=open_small)
        index.refresh()
        schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(lambda: index._loaded.searcher))
        for result in schema.get_all_operations():
            operation = result.ok()
            if (operation.method.upper(), operation.path) not in SKIPPED:
                run(operation, examples, counts)
        index.close()
    return counts


def run(operation, examples: int, counts: Counter) -> None:
    for label, mode in (
        ("valid", schemathesis.GenerationMode.POSITIVE),
        ("invalid", schemathesis.GenerationMode.NEGATIVE),
    ):
        try:
            strategy = operation.as_strategy(generation_mode=mode)
        except Exception as error:  # an operation without parameters has nothing that could be wrong
            print(f"{operation.label}, {label}: nothing to send ({type(error).__name__})")
            continue

        @given(case=strategy)
        @settings(
            max_examples=examples,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        )
        def ask(case) -> None:
            response = case.call()
            counts[f"{label} {response.status_code}"] += 1  # noqa: B023 - called before the next turn
            case.validate_response(response, checks=CHECKS)

        try:
            ask()
        except BaseException as error:
            if "Unsatisfiable" not in type(error).__name__:
                raise
            print(f"{operation.label}, {label}: nothing to send")


if __name__ == "__main__":
    main()
