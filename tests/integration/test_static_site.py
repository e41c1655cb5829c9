"""A site with `static: true`, from mkdocs.yml to an answer, with the real programs."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.integration.sites import DocsSite
from tests.warm_python import run_module

PAGES = {
    "index.md": "# Home\n\nWelcome to the handbook of the vault.\n",
    "keys.md": "---\ntags: [security]\n---\n# Keys\n\n## Rotate keys\n\nRotate the keys of the vault every month.\n",
    "backup.md": "# Backup\n\n## Restore\n\nRestore a backup of the vault before the database starts.\n",
}
QUESTION = {"query": "rotate the keys", "answer_page": "keys.md"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = DocsSite(tmp_path_factory.mktemp("static"), options={"static": {"tune": True}}).write(PAGES)
    said = site.build()
    assert "static search in" in said
    return site


def run(*arguments, cwd, code=0):
    done = run_module(
        "mkdocs_semsearch", *map(str, arguments), cwd=cwd, environment=os.environ | {"HF_HUB_OFFLINE": "1"}
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def test_the_build_puts_the_bundle_into_the_site(site):
    pointer = json.loads((site.site_dir / "semsearch" / "static.json").read_text())
    assert pointer["pages"] == 3
    assert pointer["semantic"]
    assert (site.site_dir / "semsearch" / pointer["bundle"] / "core.bin").is_file()
    assert site.widget_config()["static"] is True
    assert site.widget_config()["api_url"] is None


def test_a_site_without_options_gets_the_bundle(tmp_path):
    site = DocsSite(tmp_path).write(PAGES)
    site.build()
    assert (site.site_dir / "semsearch" / "static.json").is_file()
    assert (site.widget_config()["static"], site.widget_config()["api_url"]) == ("auto", "/-/semsearch")
    site.options["static"] = False
    site.build()
    assert not (site.site_dir / "semsearch").exists()


def test_an_unchanged_site_gets_the_files_from_the_cache(tmp_path):
    site = DocsSite(tmp_path).write(PAGES)
    site.build()
    kept = site.root / ".cache/plugin/semsearch/static-search"
    before, files = (kept / "made-of.txt").stat().st_mtime_ns, content(site.site_dir / "semsearch")
    site.build(fresh=True)
    assert (kept / "made-of.txt").stat().st_mtime_ns == before
    assert content(site.site_dir / "semsearch") == files
    site.write({"index.md": "# Home\n\nOther words.\n"}).build()
    assert (kept / "made-of.txt").stat().st_mtime_ns != before
    assert content(site.site_dir / "semsearch") != files


def test_a_damaged_cache_of_the_files_is_written_again(tmp_path):
    site = DocsSite(tmp_path).write(PAGES)
    site.build()
    files = content(site.site_dir / "semsearch")
    pointer = site.root / ".cache/plugin/semsearch/static-search/static.json"
    pointer.write_text("{")
    for _ in range(2):
        site.build(fresh=True)
        assert content(site.site_dir / "semsearch") == files
    assert json.loads(pointer.read_text())["bundle"]


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_shell_asks_what_a_browser_would(site, tmp_path):
    for place in (site.site_dir, site.site_dir / "semsearch"):
        done = run("query", "rotate keys", "--mode", "static", "--index", place, "--format", "json", cwd=tmp_path)
        answer = json.loads(done.stdout)
        assert answer["mode"] == "hybrid"
        assert answer["results"][0]["page"]["path"] == "keys.md"
        assert answer["results"][0]["scores"]["semantic"] > 0.3
    text = run("query", "restore", "--engine", "static", "--mode", "lexical", "--index", site.site_dir, cwd=tmp_path)
    assert "Restore" in text.stdout
    for place in (site.site_dir, site.site_dir / "semsearch"):
        failed = run("query", "restore", "--index", place, cwd=tmp_path, code=1)
        assert "add --engine static" in failed.stderr


def test_quality_is_measured_of_bundles_and_of_indexes(site, tmp_path):
    (tmp_path / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n")
    for place in (site.site_dir, site.index_dir):
        done = run("eval", "questions.jsonl", place, "--engine", "static", "--format", "json", cwd=tmp_path)
        figures = json.loads(done.stdout)
        assert figures["engine"] == "static"
        assert figures["mrr@10"] == 1


def test_a_tuned_table_is_reused_while_the_sentences_are_unchanged(site):
    tables = list((site.root / ".cache/plugin/semsearch").glob("static-table-*.npz"))
    assert len(tables) == 1
    changed = tables[0].stat().st_mtime_ns
    before = (site.site_dir / "semsearch" / "static.json").read_text()
    site.build(fresh=True)
    assert tables[0].stat().st_mtime_ns == changed
    assert (site.site_dir / "semsearch" / "static.json").read_text() == before


def test_without_a_token_table_the_build_reports_text_only_search(tmp_path):
    site = DocsSite(tmp_path, options={"static": True}).write(PAGES)
    said = site.build(strict=False)
    assert "WARNING" in said
    assert "tune: true" in said
    assert json.loads((site.site_dir / "semsearch" / "static.json").read_text())["semantic"] is None


def test_tuning_without_pytorch_names_the_extra(tmp_path):
    site = DocsSite(tmp_path, options={"static": {"tune": True}}).write(PAGES)
    site.add_hook("import mkdocs_semsearch.static.tuning as tuning\ntuning.find_spec = lambda name: None\n")
    said = site.build(fails=True)
    assert 'tune needs PyTorch: run pip install "mkdocs-semsearch[models]"' in said
    assert "Traceback" not in said


def test_without_an_index_the_error_is_one_sentence(tmp_path):
    done = run("query", "keys", "--mode", "static", "--index", tmp_path, cwd=tmp_path, code=1)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("semsearch: There is no")


@pytest.mark.model
def test_a_built_site_is_made_searchable_with_the_default_model(site, tmp_path):
    shutil.copytree(site.site_dir, tmp_path / "site", ignore=shutil.ignore_patterns("semsearch"))
    run("index", "site", "--static", cwd=tmp_path)
    asked = run("query", "safety copies", "--mode", "static", "--index", "site", "--format", "json", cwd=tmp_path)
    assert json.loads(asked.stdout)["results"][0]["page"]["url"] == "backup/"
