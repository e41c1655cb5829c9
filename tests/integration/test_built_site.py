"""What `semsearch index --widget` writes into a site that another generator has built."""

from __future__ import annotations

import json

from mkdocs_semsearch.site import built_site
from tests.word_hash import WordHashEmbedder

API_URL = "https://search.example.org/{version}"


def test_dialog_and_results_page_ask_the_version_that_is_built(tmp_path, monkeypatch):
    site, config = tmp_path / "site", tmp_path / "mkdocs.yml"
    site.mkdir()
    (site / "index.html").write_text("<html lang=en><body><main><h1>Home</h1><p>Some text.</p></main></body></html>")
    (tmp_path / "docs").mkdir()
    config.write_text(f"site_name: Demo\nplugins:\n  - semsearch:\n      api_url: {API_URL}\n")
    monkeypatch.setattr(built_site, "open_configured_embedder", lambda settings: WordHashEmbedder())
    monkeypatch.setenv("READTHEDOCS_VERSION", "2.1")

    built_site.index_built_site(site, config_file=config, widget=True)

    widget = json.loads((site / "assets" / "semsearch" / "config.json").read_text(encoding="utf-8"))
    assert widget["version"] == "2.1"
    assert widget["api_url"] == "https://search.example.org/2.1"
    assert 'action="https://search.example.org/2.1/' in (site / "search" / "index.html").read_text(encoding="utf-8")
