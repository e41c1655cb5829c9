from __future__ import annotations

import pytest

from mkdocs_semsearch.serving.api import SearchApi
from tests.api_calls import api_over
from tests.unit.serving.small_index import build, open_small


@pytest.fixture(scope="session")
def index_dir(tmp_path_factory):
    return build(tmp_path_factory.mktemp("small") / "index")


@pytest.fixture(scope="session")
def searcher(index_dir):
    with open_small(index_dir) as opened:
        yield opened


@pytest.fixture
def api(searcher) -> SearchApi:
    return api_over(lambda: searcher)
