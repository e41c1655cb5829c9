from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The time of an example depends more on the machine than on the code.
settings.register_profile("without a deadline", settings(), deadline=None)
settings.load_profile("without a deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the browser tests last: Playwright keeps an event loop in this thread, and no other can run beside it."""
    items.sort(key=lambda item: "tests/browser/" in item.path.as_posix())


@pytest.fixture(scope="session", autouse=True)
def disk_that_writes_later() -> Iterator[None]:
    """Leaves out `fsync`, which only counts when a machine loses power, and takes most of the time of a small build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def encoder_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for one export of the real model, shared by all workers and by the tests that are not about exports."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "encoders"


@pytest.fixture(scope="session")
def another_user() -> None:
    """Skips tests that become another user, if there is none or if that user cannot run this interpreter."""
    if os.name != "posix" or os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    nobody = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/", "capture_output": True}
    try:
        subprocess.run([sys.executable, "-c", "import filelock, sqlite3"], check=True, **nobody)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"another user cannot read {Path(sys.executable).resolve()}: it is below a folder closed to others")


@pytest.fixture
def public_path(another_user: None):
    """An empty folder that every user may enter and read; `tmp_path` is below one that only its owner may enter."""
    folder = Path(tempfile.mkdtemp(prefix="semsearch-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
