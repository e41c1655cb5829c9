"""Real documentation sites build in strict mode with the plugin, and are indexed whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from mkdocs_semsearch.artifact import open_index
from tests.integration.corpora import CORPORA, SITES, corpus_config, expected_pages
from tests.integration.sites import QUIET, WORD_HASH_HOOK

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.slow,
    pytest.mark.skipif(not CORPORA.is_dir(), reason="../shared/corpora is not here"),
]


def build(config_file, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-f", str(config_file), *arguments],
        capture_output=True,
        text=True,
        env=os.environ | QUIET,
        timeout=600,
    )
    output = done.stdout + done.stderr
    return done.returncode, output, {line for line in output.splitlines() if line.startswith(("WARNING", "ERROR"))}


@pytest.mark.parametrize("name", SITES)
def test_site_is_indexed_whole_and_without_new_warnings(tmp_path, name):
    plain, indexed = tmp_path / "plain", tmp_path / "indexed"
    plain.mkdir()
    indexed.mkdir()
    status, output, own_faults = build(corpus_config(name, plain, plugins=["search"]), "--strict")
    config = corpus_config(name, indexed, plugins=["search", {"semsearch": SITES[name]}], hooks=[str(WORD_HASH_HOOK)])
    with_plugin = build(config, "--strict")
    assert with_plugin[2] <= own_faults, with_plugin[1]
    assert with_plugin[0] == status, with_plugin[1] + output

    index = open_index(indexed / "semsearch-index", verify=True)
    pages = pq.read_table(index.build_dir / "pages.parquet").to_pylist()
    assert {page["path"] for page in pages} == expected_pages(config)
    for page in pages:
        assert (indexed / "site" / page["url"]).exists(), page["url"]
    assert sum(page["chunk_count"] for page in pages) == index.manifest.chunks > len(pages)
    for facet in SITES[name].get("facets", {}):
        assert any(page[f"facet:{facet}"] for page in pages), facet
