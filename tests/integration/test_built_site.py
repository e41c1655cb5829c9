"""The files that `semsearch index --widget` writes into a site from another generator."""

from __future__ import annotations

import json
import shutil

import pytest

from mkdocs_semsearch import open_searcher
from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.cli import main
from mkdocs_semsearch.indexing import build
from mkdocs_semsearch.indexing.chunk_vectors import chunk_vectors
from mkdocs_semsearch.site import built_site, publishing
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

    assert main(["index", str(site), "--config", str(config), "--widget"]) == 0

    widget = json.loads((site / "assets" / "semsearch" / "config.json").read_text(encoding="utf-8"))
    assert widget["api_url"] == "https://search.example.org/2.1"
    assert 'action="https://search.example.org/2.1/' in (site / "search" / "index.html").read_text(encoding="utf-8")


def test_files_of_the_widget_that_the_site_has_itself_stay(tmp_path, monkeypatch, capsys):
    site, own = tmp_path / "site", tmp_path / "docs/assets/semsearch"
    for folder in (site / "assets/semsearch", own):
        folder.mkdir(parents=True)
        (folder / "semsearch.css").write_text("/* mine */")
    (site / "assets/semsearch/semsearch.js").write_text("// of an earlier version")
    (own / "dialog.js").write_text("// not in the site, which excludes it")
    (site / "assets/semsearch/strings").mkdir()
    (site / "assets/semsearch/strings/it.json").write_text('{"search": "Trova"}')
    (site / "index.html").write_text("<html lang=en><body><main><h1>Home</h1><p>Some text.</p></main></body></html>")
    (site / "404.html").write_text("<html lang=en><body><main><h1>Not found</h1></main></body></html>")
    (tmp_path / "mkdocs.yml").write_text("site_name: Demo\nplugins: [semsearch]\n")
    monkeypatch.setattr(built_site, "open_configured_embedder", lambda settings: WordHashEmbedder())

    assert main(["index", str(site), "--config", str(tmp_path / "mkdocs.yml"), "--widget"]) == 0

    assert (site / "assets/semsearch/semsearch.css").read_text() == "/* mine */"
    assert "earlier" not in (site / "assets/semsearch/semsearch.js").read_text()
    assert (site / "assets/semsearch/dialog.js").is_file()
    assert json.loads((site / "assets/semsearch/config.json").read_text())["own_strings"] == ["it"]
    assert "semsearch: 1 HTML file left out: 1 × error or search page\n" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"button": false, "recents": false}', "[]"])
def test_an_own_config_of_the_widget_counts_in_a_built_site(tmp_path, monkeypatch, capsys, text):
    site, own = tmp_path / "site", tmp_path / "docs/assets/semsearch/config.json"
    for folder in (site, own.parent):
        folder.mkdir(parents=True)
    own.write_text(text)
    (site / "index.html").write_text("<html lang=en><body><main><h1>Home</h1><p>Some text.</p></main></body></html>")
    (tmp_path / "mkdocs.yml").write_text("site_name: Demo\nplugins: [semsearch]\n")
    monkeypatch.setattr(built_site, "open_configured_embedder", lambda settings: WordHashEmbedder())

    for _ in range(2):  # the second time, the site has the file of the first
        assert main(["index", str(site), "--config", str(tmp_path / "mkdocs.yml"), "--widget"]) == 0

    widget = json.loads((site / "assets/semsearch/config.json").read_text())
    used = text != "[]"
    assert (widget.get("button", True), widget["recents"], widget["language"]) == (not used, not used, "en")
    assert (f"{own} is not used" in capsys.readouterr().err) is not used


def test_front_matter_that_cannot_be_read_is_reported(tmp_path, monkeypatch, capsys):
    site, docs = tmp_path / "site", tmp_path / "docs"
    for folder in (site / "guide", docs):
        folder.mkdir(parents=True)
    (site / "guide" / "index.html").write_text(
        "<html lang=en><body><main><h1>Guide</h1><p>Text.</p></main></body></html>"
    )
    (docs / "guide.md").write_text("---\ntags: [a\n---\n# Guide\n\nText.\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: Demo\nplugins: [semsearch]\n")
    monkeypatch.setattr(built_site, "open_configured_embedder", lambda settings: WordHashEmbedder())

    assert main(["index", str(site), "--config", str(tmp_path / "mkdocs.yml")]) == 0

    assert "warning: The front matter of guide.md cannot be read and is left out: " in capsys.readouterr().err


@pytest.mark.parametrize("config", [[], ["--config", "mkdocs.yml"]], ids=["HTML only", "with its sources"])
def test_the_page_for_missing_pages_is_no_result(tmp_path, monkeypatch, config):
    for name in ("index", "guide", "404"):
        page = tmp_path / "site" / ("" if name == "index" else name) / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"<html lang=en><body><main><h1>{name}</h1><p>Text of {name}.</p></main></body></html>")
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\nText of {name}.\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: Demo\nplugins: [semsearch]\n")
    monkeypatch.setattr(built_site, "open_configured_embedder", lambda settings: WordHashEmbedder())
    monkeypatch.chdir(tmp_path)

    assert main(["index", "site", "--index", "index", *config]) == 0

    assert open_index(tmp_path / "index").manifest.pages == 2


def test_a_folder_without_pages_is_refused_and_the_index_stays(page, tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n")
    assert main(["index", str(page), "--index", "index"]) == 0
    before = (tmp_path / "index" / "manifest.json").read_bytes()

    assert main(["index", "docs", "--index", "index"]) == 1

    assert capsys.readouterr().err.startswith("semsearch: docs has no pages, and nothing was written: name the folder")
    assert (tmp_path / "index" / "manifest.json").read_bytes() == before


@pytest.fixture
def page(tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    text = "<html lang=en><body><main><h1>Home</h1><p>Some text.</p></main></body></html>"
    (tmp_path / "site" / "index.html").write_text(text)
    monkeypatch.setattr(built_site, "open_configured_embedder", lambda settings: WordHashEmbedder())
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site"


def test_the_name_of_the_folder_is_pinned_to_no_page(page, tmp_path):
    assert main(["index", str(page), "--index", "index", "--widget"]) == 0
    manifest = open_index(tmp_path / "index").manifest
    assert (manifest.site_name, manifest.lexical.get("pins", {})) == ("", {})
    assert '<a href="../">site</a>' in (page / "search" / "index.html").read_text(encoding="utf-8")


def test_globs_that_match_no_page_are_reported(page, tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\nSome text.\n")
    options = "{exclude: [drafts/*], kinds: {news/*: blog, index.*: guide}}"
    (tmp_path / "mkdocs.yml").write_text(f"site_name: Demo\nplugins:\n  - semsearch: {options}\n")
    assert main(["index", str(page)]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"semsearch: warning: Option {option}: no page matches {glob}; globs are relative to the docs folder."
        for option, glob in (("'exclude'", "'drafts/*'"), ("'kinds'", "'news/*'"))
    ]


def test_a_cache_that_cannot_be_written_is_reported(page, tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: Demo\nplugins: [{semsearch: {cache_dir: kept}}]\n")
    assert main(["index", str(page)]) == 0
    assert capsys.readouterr().err == ""
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "kept").write_text("a file, not a folder")
    assert main(["index", str(page)]) == 0
    said = capsys.readouterr().err
    assert f"warning: Nothing can be cached in {tmp_path / 'kept'} (File exists), so every build embeds the" in said


def test_a_cache_that_can_be_read_but_not_written_is_reported(page, tmp_path, capsys, monkeypatch):
    def read_only(pages, digests, embedder, contents, progress):
        contents._connection.execute("PRAGMA query_only = 1")
        return chunk_vectors(pages, digests, embedder, contents, progress)

    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: Demo\nplugins: [{semsearch: {cache_dir: kept}}]\n")
    monkeypatch.setattr(build, "chunk_vectors", read_only)
    assert main(["index", str(page)]) == 0
    assert f"warning: Nothing can be cached in {tmp_path / 'kept'} (attempt to write a re" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "limit", "files", "static"),
    [
        (["--widget"], 1, True, "auto"),
        (["--widget"], 0, False, False),
        (["--widget", "--static"], 0, True, True),
        (["--static"], 1, True, None),
        ([], 1, False, None),
    ],
)
def test_files_for_the_browser_come_with_the_box_up_to_a_size(page, monkeypatch, arguments, limit, files, static):
    monkeypatch.setattr(publishing, "MOST_CHUNKS_IN_BROWSER", limit)
    assert main(["index", "site", *arguments]) == 0
    assert (page / "semsearch" / "static.json").is_file() is files
    config = page / "assets" / "semsearch" / "config.json"
    assert (json.loads(config.read_text(encoding="utf-8"))["static"] if config.is_file() else None) == static


LANGUAGES = {
    "guide/index.html": ("en", "/docs/guide/", "The rules of the firewall, and what they are for."),
    "uk/posibnyk/index.html": ("uk", "/docs/uk/posibnyk/", "Правила мережевого екрана та їхні назви."),
    "de/guide/index.html": ("de", "/docs/de/guide/", "The rules of the firewall, and what they are for."),
}
"""A page, its translation with another name, and an untranslated page with its English text."""


def test_a_page_in_several_languages_names_its_translations(tmp_path, monkeypatch):
    site = tmp_path / "site"
    links = "".join(f'<link rel="alternate" hreflang="{tag}" href="{url}">' for tag, url, _ in LANGUAGES.values())
    for path, (tag, _, text) in LANGUAGES.items():
        (site / path).parent.mkdir(parents=True)
        page = f"<html lang={tag}><head>{links}</head><body><main><h1>Guide</h1><p>{text}</p></main></body></html>"
        (site / path).write_text(page, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: Demo\nsite_url: https://example.org/docs/\nplugins: [semsearch]\n")
    monkeypatch.setattr(built_site, "open_configured_embedder", lambda settings: WordHashEmbedder())
    monkeypatch.chdir(tmp_path)

    assert main(["index", str(site), "--config", "mkdocs.yml"]) == 0

    with open_searcher("semsearch-index", embedder=WordHashEmbedder()) as searcher:
        (found,) = searcher.search("firewall", mode="lexical")
    assert found.url == "guide/"
    assert found.page.translations == {"en": "guide/", "uk": "uk/posibnyk/"}
