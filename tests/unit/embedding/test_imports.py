"""The modules that importing and opening load, in fresh processes."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = (
    "torch", "sentence_transformers", "onnxruntime", "onnx", "tokenizers", "transformers", "huggingface_hub",
)  # fmt: skip


def loaded_after(code: str) -> set[str]:
    report = "\nimport json, sys; print(json.dumps([name for name in sys.modules if '.' not in name]))"
    run = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return set(json.loads(run.stdout.splitlines()[-1])) & set(HEAVY)


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import mkdocs_semsearch.embedding") == set()


def test_opening_and_counting_loads_nothing_heavy():
    code = (
        "from mkdocs_semsearch.embedding import open_embedder, open_token_counter\n"
        "embedder = open_embedder()\n"
        "assert embedder.identity.dimension == 384\n"
        "assert open_token_counter(embedder)('one two') == 2"
    )
    assert loaded_after(code) == set()
