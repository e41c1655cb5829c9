"""Searches are recorded over HTTP, and the records identify nobody."""

from __future__ import annotations

import json
import threading

import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch.insights.store import FILE, InsightStore
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.live_index import LiveIndex
from tests.unit.serving.small_index import open_small
from tests.waiting import eventually

ENDING = {"query": "rotate keys", "matches": 4, "score": 0.7, "similarity": 0.6, "opened": "guide/auth.md", "rank": 1}
ADDRESS = "/api/v1/insights"


def client_of(index_dir, folder, **options):
    app = create_app(LiveIndex(index_dir, open_index=open_small), insights=folder and str(folder), **options)
    return TestClient(app, base_url="http://localhost")


def send(client, body=ENDING, **headers):
    # As `sendBeacon` sends a text.
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(ADDRESS, content=content, headers={"content-type": "text/plain"} | headers)


def test_nothing_is_recorded_by_default(index_dir, tmp_path):
    with client_of(index_dir, None) as client:
        assert "insights" not in client.get("/api/v1/search", params={"q": "keys"}).json()
        assert send(client).status_code == 404
        assert "semsearch_insights" not in client.get("/metrics").text


def test_a_search_is_recorded(index_dir, tmp_path):
    with client_of(index_dir, tmp_path / "insights") as client:
        answer = client.get("/api/v1/search", params={"q": "keys"})
        assert answer.json()["insights"] is True
        assert client.post("/api/v1/search", json={"query": "keys"}).json()["insights"] is True
        sent = send(client)
        assert (sent.status_code, sent.content) == (204, b"")
        assert "set-cookie" not in sent.headers
        store = InsightStore(tmp_path / "insights")
        assert eventually(lambda: len(store.read()) == 1)
        assert eventually(lambda: 'semsearch_insights_records_total{result="written"} 1' in client.get("/metrics").text)
    (search,) = store.read()
    assert (search.query, search.opened, search.rank, search.site) == ("rotate keys", "guide/auth.md", 1, "")


def test_searches_are_recorded_in_every_run_of_one_application(index_dir, tmp_path):
    client = client_of(index_dir, tmp_path)
    assert "semsearch-insights" not in {thread.name for thread in threading.enumerate()}
    for query in ("one", "two"):
        with client:
            assert send(client, {**ENDING, "query": query}).status_code == 204
    assert {search.query for search in InsightStore(tmp_path).read()} == {"one", "two"}


def test_searches_are_answered_while_none_can_be_recorded(index_dir, tmp_path):
    (tmp_path / FILE).write_bytes(b"no database" * 2000)
    with client_of(index_dir, tmp_path) as client:
        assert client.get("/api/v1/search", params={"q": "keys"}).json()["results"]
        assert send(client).status_code == 204
        assert eventually(lambda: 'semsearch_insights_records_total{result="failed"} 1' in client.get("/metrics").text)


def test_an_etag_from_before_recording_is_not_accepted(index_dir, tmp_path):
    with client_of(index_dir, None) as client:
        tag = client.get("/api/v1/search", params={"q": "keys"}).headers["etag"]
    with client_of(index_dir, tmp_path) as client:
        again = client.get("/api/v1/search", params={"q": "keys"}, headers={"if-none-match": tag})
        assert again.status_code == 200


@pytest.mark.parametrize("header", ["sec-gpc", "dnt"])
def test_readers_who_ask_for_privacy_are_not_recorded(index_dir, tmp_path, header):
    with client_of(index_dir, tmp_path) as client:
        assert send(client, **{header: "1"}).status_code == 204
        assert send(client, {**ENDING, "query": "last"}).status_code == 204
    assert [search.query for search in InsightStore(tmp_path).read()] == ["last"]


def test_each_of_several_indexes_has_its_name_in_the_records(index_dir, tmp_path):
    sources = {name: LiveIndex(index_dir, open_index=open_small) for name in ("latest", "old")}
    with TestClient(create_app(sources, insights=str(tmp_path)), base_url="http://localhost") as client:
        client.post(f"/old{ADDRESS}", content=json.dumps(ENDING))
        client.post(ADDRESS, content=json.dumps(ENDING))
    assert {search.site for search in InsightStore(tmp_path).read()} == {"", "old"}


def test_a_record_that_is_not_a_search_is_refused(index_dir, tmp_path):
    with client_of(index_dir, tmp_path) as client:
        refused = send(client, {**ENDING, "user": "jane"})
        error = refused.json()["error"]
        assert (refused.status_code, error["code"], error["field"]) == (422, "invalid_request", "user")
        assert error["message"].startswith("Unknown key 'user': allowed are ")
        assert send(client, b"\xff").status_code == 422
        assert send(client, b"x" * 70_000).status_code == 413
        assert client.get(ADDRESS).status_code == 405
    assert InsightStore(tmp_path).read() == []


@pytest.mark.parametrize(
    ("options", "headers", "status"),
    [
        ({}, {}, 204),
        ({}, {"sec-fetch-site": "same-origin", "origin": "http://localhost"}, 204),
        ({}, {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, 403),
        ({}, {"sec-fetch-site": "cross-site"}, 403),
        ({"cors_origins": ("https://docs.example",)}, {"origin": "https://docs.example"}, 204),
        ({"cors_origins": ("https://docs.example",)}, {"origin": "https://evil.example"}, 403),
        ({"cors_origin_regex": r"https://.*\.docs\.example"}, {"origin": "https://pr-7.docs.example"}, 204),
    ],
)
def test_pages_of_another_site_cannot_fill_the_records(index_dir, tmp_path, options, headers, status):
    """A browser sends plain text to any URL without a preflight request, with the origin of the page."""
    sent = {"sec-fetch-site": "cross-site"} if options else {}
    with client_of(index_dir, tmp_path, **options) as client:
        assert send(client, **sent, **headers).status_code == status
    assert len(InsightStore(tmp_path).read()) == (status == 204)


def test_beacons_count_against_the_rate_limit(index_dir, tmp_path):
    with client_of(index_dir, tmp_path, rate_limit="3/hour") as client:
        assert [send(client).status_code for _ in range(4)] == [204, 204, 204, 429]


def test_records_have_no_names_or_addresses_of_readers(index_dir, tmp_path):
    """Reads every byte that was written."""
    folder = tmp_path / "insights"
    planted = {
        "user-agent": "PlantedAgent/7",
        "cookie": "session=planted-cookie",
        "referer": "https://docs.example/planted-referer/",
        "x-forwarded-for": "203.0.113.77",
        "accept-language": "de-planted",
        "x-request-id": "planted-request-id",
        "origin": "https://planted-origin.example",
    }
    secrets = [
        "hunter2",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "planted.person@example.org",
        "4111111111111111",
        "203.0.113.99",
        "AKIAIOSFODNN7PLANTED",
        "d41d8cd98f00b204e9800998ecf8427e",
    ]
    with client_of(index_dir, folder, client_header="X-Forwarded-For", log_queries=True) as client:
        for secret in secrets:
            text = f"login fails password={secret}" if secret == "hunter2" else f"login fails {secret} why"
            body = {**ENDING, "query": text, "filters": {"tags": [text]}, "corrected": {text: text}, "opened": text}
            assert send(client, body, **planted).status_code == 204
        store = InsightStore(folder)
        assert eventually(lambda: len(store.read()) == len(secrets))
        written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"login fails" in written
    for private in [*planted.values(), *secrets, "PlantedAgent", "planted-", "testclient"]:
        assert private.encode() not in written, private
