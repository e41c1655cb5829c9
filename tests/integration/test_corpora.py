"""Real documentation sites build in strict mode with the plugin, and are indexed whole."""

from __future__ import annotations

import os

import pyarrow.parquet as pq
import pytest

from mkdocs_semsearch.artifact import open_index
from tests.integration.corpora import CORPORA, SITES, corpus_config, expected_pages
from tests.integration.sites import QUIET, WORD_HASH_HOOK
from tests.warm_python import run_module

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.slow,
    pytest.mark.skipif(not CORPORA.is_dir(), reason="../shared/corpora is not here"),
]


def build(config_file):
    """Builds in strict mode; returns the exit code, the output, and its warnings and errors."""
    done = run_module(
        *("mkdocs", "build", "--strict", "-f", str(config_file)),
        cwd=config_file.parent,
        environment=os.environ | QUIET,
        timeout=600,
    )
    output = done.stdout + done.stderr
    return done.returncode, output, {line for line in output.splitlines() if line.startswith(("WARNING", "ERROR"))}


@pytest.mark.parametrize("name", SITES)
def test_site_is_indexed_whole_and_without_new_warnings(tmp_path, name):
    plain, indexed = tmp_path / "plain", tmp_path / "indexed"
    plain.mkdir()
    indexed.mkdir()
    config = corpus_config(name, indexed, plugins=["search", {"semsearch": SITES[name]}], hooks=[str(WORD_HASH_HOOK)])
    status, output, faults = build(config)
    if status or faults:  # the site's own, if it has them without the plugin too
        own_status, own_output, own_faults = build(corpus_config(name, plain, plugins=["search"]))
        assert faults <= own_faults, output
        assert status == own_status, output + own_output

    index = open_index(indexed / "semsearch-index", verify=True)
    pages = pq.read_table(index.build_dir / "pages.parquet").to_pylist()
    assert {page["path"] for page in pages} == expected_pages(config)
    for page in pages:
        assert (indexed / "site" / page["url"]).exists(), page["url"]
    assert sum(page["chunk_count"] for page in pages) == index.manifest.chunks > len(pages)
    for facet in SITES[name].get("facets", {}):
        assert any(page[f"facet:{facet}"] for page in pages), facet
