from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from mkdocs_semsearch.searching.searcher import Searcher
    from mkdocs_semsearch.serving.api import SearchApi

# The time of an example depends more on the machine than on the code.
settings.register_profile("without a deadline", settings(), deadline=None)
settings.load_profile("without a deadline")


MEMORY = Path("/dev/shm")
GIGABYTE = 2**30


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Puts the folders of the tests into memory where there is plenty: a small build mostly waits for its disk.

    Threads of OpenMP (PyTorch, scikit-learn) sleep while they wait for each other: where workers share the cores, those
    that spin make a t-SNE of twelve points take up to fifty times as long.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if config.option.basetemp is None and _has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def _has_room(folder: Path) -> bool:
    try:
        state = os.statvfs(folder)
        memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    except (AttributeError, OSError):  # not Linux
        return False
    runs_programs = not state.f_flag & os.ST_NOEXEC  # one test installs the package into its folder
    free = min(state.f_bavail * state.f_frsize, 1024 * int(memory["MemAvailable"].split()[0]))
    return runs_programs and free > 8 * GIGABYTE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the browser tests last: Playwright keeps an event loop in this thread, and no other can run beside it.

    Their largest files come first, so that no worker is left with one when the others have ended.
    """
    tests = Counter(item.path for item in items)
    items.sort(
        key=lambda item: tests[item.path] if "tests/browser/" in item.path.as_posix() else sys.maxsize, reverse=True
    )


@pytest.fixture(scope="session", autouse=True)
def disk_that_writes_later() -> Iterator[None]:
    """Leaves out `fsync`, which only counts when a machine loses power, and takes most of the time of a small build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def index_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the index in `tests/unit/serving/small_index.py`, for tests that do not change it."""
    from tests.unit.serving.small_index import build

    return build(tmp_path_factory.mktemp("small") / "index")


@pytest.fixture(scope="session")
def searcher(index_dir: Path) -> Iterator[Searcher]:
    """A searcher of the small index."""
    from tests.unit.serving.small_index import open_small

    with open_small(index_dir) as opened:
        yield opened


@pytest.fixture
def api(searcher: Searcher) -> SearchApi:
    """The API over the small index; each test has its own, whose metrics and answers are new."""
    from tests.api_calls import api_over

    return api_over(lambda: searcher)


@pytest.fixture
def no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets builds of published indexes be used untried: a trial is in an interpreter of its own, and takes a second."""
    from mkdocs_semsearch.serving import published_index

    monkeypatch.setattr(published_index, "try_build", lambda *given, **options: None)


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
