"""Whole sites in a Qdrant cluster, and its failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("qdrant_client")

import mkdocs_semsearch
from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, IndexCorruptError, StoreUnavailableError
from mkdocs_semsearch.qdrant import collection
from mkdocs_semsearch.qdrant.collection import connect
from mkdocs_semsearch.qdrant.writer import QdrantWriter, Sizing
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.published_index import PublishedIndex
from mkdocs_semsearch.site.publishing import copy_index
from tests.integration.sites import QUIET, DocsSite
from tests.made_index import built, made_page
from tests.publisher import publisher
from tests.qdrant_server import PAGES, running_server
from tests.word_hash import WordHashEmbedder

QUERY = SearchQuery("rotate api keys")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(collection, "_FIRST_PAUSE", 0.001)
    with running_server() as server:
        monkeypatch.setenv("QDRANT_URL", server.url)
        yield server


@pytest.fixture
def build(server, tmp_path):
    """Builds pages into the cluster; every build is a new client, as every command is."""

    def build(pages, **sizing):
        client = connect(timeout=10)
        try:
            return built(tmp_path / "index", pages, store=QdrantWriter(client, "docs", Sizing(**sizing)))
        finally:
            client.close()

    build.index = tmp_path / "index"
    return build


def ask(index, query=QUERY, **options):
    with open_searcher(index, embedder=WordHashEmbedder(), **options) as searcher:
        return searcher.search(query)


def collections(server):
    return sorted(item.name for item in server.client.get_collections().collections)


def shown(server):
    aliases = server.client.get_aliases().aliases
    return {item.alias_name: item.collection_name for item in aliases}


def edited(number):
    return [*PAGES, made_page("new.md", f"Edition {number}")]


def test_a_build_is_published_only_when_it_is_complete(server, build):
    report = build(PAGES)
    assert shown(server) == {"docs": f"docs-{report.build_id}"}
    assert ask(build.index).results[0].page.path == "keys.md"
    assert ask(build.index).build_id == report.build_id
    moved = server.requests.index("POST /collections/aliases")
    uploaded = server.requests.index(f"PUT /collections/docs-{report.build_id}/points")
    assert f"POST /collections/docs-{report.build_id}/points/count" in server.requests[uploaded:moved]


def test_builds_before_the_last_but_one_are_dropped(server, build):
    builds = [f"docs-{build(edited(number)).build_id}" for number in range(4)]
    assert collections(server) == sorted(builds[-2:])
    assert shown(server) == {"docs": builds[-1]}
    build(edited(4), keep=3)
    assert len(collections(server)) == 3
    # Somebody else's upload, and other collections, are left alone.
    server.client.create_collection("docs-0123456789abcdef", {}, metadata={"started": 9e12, "site": ""})
    server.client.create_collection("docs-fedcba9876543210", {}, metadata={"started": 1.0, "site": ""})
    server.client.create_collection("docs-of-others", {})
    build(edited(5), keep=0)
    assert len(collections(server)) == 3
    assert {"docs-0123456789abcdef", "docs-of-others"} < set(collections(server))


def test_builds_of_other_sites_and_of_earlier_versions_are_left_alone(server, build):
    others = {"docs-0123456789abcdef": {"site": "https://other.example.org/"}, "docs-fedcba9876543210": {}}
    for name, stamps in others.items():
        server.client.create_collection(name, {}, metadata={"started": 1.0, "published": 2.0, **stamps})
    for number in range(3):
        build(edited(number), keep=0)
    assert len(collections(server)) == 3
    assert others.keys() < set(collections(server))


def test_two_sites_or_versions_cannot_share_a_collection(server, tmp_path, monkeypatch):
    def site(folder, **config):
        site = DocsSite(tmp_path / folder, word_hash=True, config=config)
        site.options["store"] = {"kind": "qdrant", "collection": "docs"}  # `QDRANT_URL` names the cluster
        return site.write({"index.md": "# Keys\n\nRotate the api keys.\n"})

    first = site("first")
    first.build()
    before = shown(server), collections(server)
    refused = site("second", site_url="https://second.example.org/").build(fails=True)
    assert "'docs' belongs to https://example.org/, and this is https://second.example.org/: each site" in refused
    assert "Traceback" not in refused
    monkeypatch.setenv("MIKE_DOCS_VERSION", "2.0")
    assert "this is https://example.org/ (version 2.0): each site" in first.build(fails=True)
    assert (shown(server), collections(server)) == before
    monkeypatch.delenv("MIKE_DOCS_VERSION")
    first.write({"new.md": "# New\n\nAnother page.\n"}).build()
    assert shown(server) != before[0]


def test_the_previous_build_is_published_again_without_uploads(server, build):
    first = build(PAGES).build_id
    build(edited(1))
    uploads = len([request for request in server.requests if request.startswith("PUT") and request.endswith("/points")])
    assert build(PAGES).build_id == first
    assert shown(server) == {"docs": f"docs-{first}"}
    again = len([request for request in server.requests if request.startswith("PUT") and request.endswith("/points")])
    assert again == uploads
    assert ask(build.index).results


def test_a_build_that_the_cluster_has_lost_is_written_again(server, build):
    report = build(PAGES)
    server.client.delete_collection(f"docs-{report.build_id}")
    with pytest.raises(IndexCorruptError, match="does not exist: build"):
        ask(build.index)
    assert not build(PAGES).changed
    assert ask(build.index).results


def test_requests_are_repeated_after_short_failures(server, build):
    server.refuse = (503, "points$", 3)
    build(PAGES)
    assert server.refuse[2] == 0
    assert ask(build.index).results


@pytest.mark.parametrize(
    ("where", "status"), [("points$", 503), ("index$", 500), ("points$", 400), ("count$", 502), ("aliases$", 503)]
)
def test_a_build_that_fails_leaves_the_last_one(server, build, where, status):
    before = build(PAGES)
    server.refuse = (status, where, 1000)
    with pytest.raises(StoreUnavailableError, match=r"build again"):
        build(edited(1))
    server.refuse = None
    assert shown(server) == {"docs": f"docs-{before.build_id}"}
    assert ask(build.index).results
    after = build(edited(1))
    assert shown(server) == {"docs": f"docs-{after.build_id}"}
    assert ask(build.index).build_id == after.build_id


def test_missing_points_are_reported(server, build):
    before = build(PAGES)
    server.loses_points = True
    with pytest.raises(StoreUnavailableError, match="has 1 points instead of"):
        build(edited(1))
    assert shown(server) == {"docs": f"docs-{before.build_id}"}
    assert ask(build.index).build_id == before.build_id


def test_an_old_cluster_is_refused(server, build):
    server.version = "1.14.2"
    with pytest.raises(StoreUnavailableError, match=r"1\.14\.2, and 1\.19 or newer"):
        build(PAGES)
    assert not collections(server)


def test_a_wrong_key_or_url_is_reported_without_the_key(server, build, monkeypatch):
    build(PAGES)
    monkeypatch.setenv("QDRANT_API_KEY", "secret-key")
    server.refuse = (401, "", 1000)
    with pytest.raises(StoreUnavailableError, match="QDRANT_API_KEY is missing or wrong") as error:
        ask(build.index)
    assert "secret-key" not in str(error.value)
    monkeypatch.delenv("QDRANT_URL")
    with pytest.raises(ConfigurationError, match="set QDRANT_URL"):
        ask(build.index)
    monkeypatch.setenv("QDRANT_URL", "localhost:6333")
    for invalid in ("http://localhost:99999", "http://[::1", "http://a b", "https://"):
        with pytest.raises(
            ConfigurationError, match="has no valid host and port: write it as in http://localhost:6333"
        ):
            connect(invalid, timeout=1)
    with pytest.raises(ConfigurationError, match="does not begin with http"):
        ask(build.index)


@pytest.mark.parametrize(
    ("variable", "value"), [("SSL_CERT_FILE", "/nowhere.pem"), ("ALL_PROXY", "socks://127.0.0.1:9")]
)
def test_certificates_and_proxies_that_cannot_be_used_are_named(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=variable):
        connect("https://localhost:6333", timeout=1)


def test_search_works_again_after_the_cluster_was_down(server, build):
    build(PAGES)
    with open_searcher(build.index, embedder=WordHashEmbedder()) as searcher:
        server.refuse = (503, "query", 1)
        with pytest.raises(StoreUnavailableError, match=r"HTTP 503.*try again"):
            searcher.search(QUERY)
        assert searcher.search(QUERY).results


def test_a_sidecar_reports_that_the_cluster_is_down(server, build, monkeypatch):
    from starlette.testclient import TestClient

    from mkdocs_semsearch.serving.app import create_app

    build(PAGES)
    with TestClient(create_app(build.index)) as client:
        question = {"query": "rotate keys", "mode": "lexical"}
        assert client.post("/api/v1/search", json=question).json()["results"][0]["page"]["path"] == "keys.md"
        server.refuse = (503, "query", 1)
        answer = client.post("/api/v1/search", json=question)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
        assert answer.headers["retry-after"]
        assert client.post("/api/v1/search", json=question).status_code == 200


def test_without_an_embedder_words_rank(server, build):
    class Broken(WordHashEmbedder):
        def embed(self, texts, role):
            raise EmbeddingError("gone")

    build(PAGES)
    with open_searcher(build.index, embedder=Broken()) as searcher:
        response = searcher.search(QUERY)
    assert response.degraded
    assert response.results[0].page.path == "keys.md"


def test_a_sidecar_loads_new_builds(server, build):
    first = build(PAGES).build_id
    live = LiveIndex(build.index, open_index=lambda folder: open_searcher(folder, embedder=WordHashEmbedder()))
    assert live.refresh()
    second = build(edited(1)).build_id
    with live.lease() as old:
        assert live.refresh()
        assert old.search(QUERY).build_id == first
    with live.lease() as new:
        assert new.search(QUERY).build_id == second
    server.refuse = (503, "", 1000)
    assert not live.refresh()
    live.close()


def test_a_published_build_is_copied_when_its_cluster_answers(server, build, tmp_path):
    build(PAGES)
    copy_index(build.index, tmp_path / "web" / "semsearch")
    with publisher(tmp_path / "web") as (url, _):
        published = PublishedIndex(url, tmp_path / "copy")
        server.refuse = (503, "", 1000)
        with pytest.raises(StoreUnavailableError, match="cannot be tried: The Qdrant cluster "):
            published.update()
        live = LiveIndex(published.folder, published=published)
        live.refresh()
        assert live.health.update == "unreachable"
        server.refuse = None
        assert published.update() is True
    assert ask(tmp_path / "copy").results[0].page.path == "keys.md"


def test_a_published_index_is_opened_with_the_cluster_that_a_program_names(server, build, tmp_path, monkeypatch):
    build(PAGES)
    monkeypatch.delenv("QDRANT_URL")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy_index(build.index, tmp_path / "web" / "semsearch")
    with (
        publisher(tmp_path / "web") as (url, _),
        mkdocs_semsearch.open_searcher(url, embedder=WordHashEmbedder(), store_url=server.url) as searcher,
    ):
        assert searcher.search(QUERY).results[0].page.path == "keys.md"


def test_mkdocs_build_and_the_command_line(server, tmp_path):
    site = DocsSite(tmp_path, word_hash=True)
    site.write({"index.md": "# Keys\n\nRotate the api keys.\n", "ops.md": "# Proxy\n\nRun it behind a proxy.\n"})
    site.options["store"] = {"kind": "qdrant", "url": server.url, "collection": "handbook"}
    site.options["related"] = {"count": 1}
    site.build()
    build_id = open_index(site.index_dir).manifest.build_id
    assert shown(server) == {"handbook": f"handbook-{build_id}"}
    assert "Related pages" in (site.site_dir / "ops/index.html").read_text()
    command = [sys.executable, "-m", "mkdocs_semsearch", "query", "rotate keys", "--index", str(site.index_dir)]
    found = subprocess.run(
        [*command, "--mode", "lexical", "--format", "json"], capture_output=True, text=True, env=os.environ | QUIET
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["results"][0]["page"]["path"] == "index.md"
    inspect = [sys.executable, "-m", "mkdocs_semsearch", "inspect", str(site.index_dir), "--verify"]
    assert f"qdrant handbook-{build_id}" in subprocess.run(inspect, capture_output=True, text=True).stdout
    without = {name: value for name, value in os.environ.items() if name != "QDRANT_URL"}
    told = subprocess.run(command, capture_output=True, text=True, env=without | QUIET)
    assert told.returncode == 1
    assert "set QDRANT_URL" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_cluster_that_is_not_there_fails_the_build(tmp_path):
    site = DocsSite(tmp_path, word_hash=True)
    site.write({"index.md": "# Keys\n\nRotate the api keys.\n"})
    site.options["store"] = {"kind": "qdrant", "url": "http://127.0.0.1:9", "collection": "docs"}
    output = site.build(fails=True)
    assert "The Qdrant cluster does not answer" in output
    assert "Traceback" not in output
    assert not site.index_dir.exists()


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_an_index_without_pages_has_no_results(build, mode):
    build([])
    assert len(ask(build.index, QUERY.with_mode(mode))) == 0
