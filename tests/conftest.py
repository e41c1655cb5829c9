from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def public_path():
    """An empty folder that every user may enter and read; `tmp_path` lies below one that only its owner may."""
    if os.name != "posix" or os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    folder = Path(tempfile.mkdtemp(prefix="semsearch-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
