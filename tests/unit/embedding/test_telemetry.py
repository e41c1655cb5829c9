"""Nothing leaves the machine: ONNX Runtime's telemetry is off before it is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from mkdocs_semsearch.embedding.onnx_encoder import import_onnxruntime
import_onnxruntime()
import os
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_onnx_runtime_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "1"
    assert not [path for path in tmp_path.rglob("*") if "Microsoft" in path.name]
