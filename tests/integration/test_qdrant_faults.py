"""A Qdrant cluster with keys, TLS, silence, lost replicas and several writers.

The server is the client's local mode behind HTTP; differences from a real cluster are not tested here.
"""

from __future__ import annotations

import concurrent.futures
import datetime
import ipaddress
import ssl
import threading
import time

import pytest

pytest.importorskip("qdrant_client")

from mkdocs_semsearch.errors import IndexCorruptError, SemsearchError, StoreUnavailableError
from mkdocs_semsearch.qdrant import backend, collection
from mkdocs_semsearch.qdrant.collection import connect
from mkdocs_semsearch.qdrant.writer import QdrantWriter
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.qdrant_server import PAGES, running_server
from tests.word_hash import WordHashEmbedder

KEY = "a-key-that-nobody-else-has"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(collection, "_FIRST_PAUSE", 0.001)


@pytest.fixture
def server(monkeypatch):
    with running_server() as server:
        monkeypatch.setenv("QDRANT_URL", server.url)
        yield server


def build(index, pages=PAGES, *, timeout=10):
    to = connect(timeout=timeout)
    try:
        return built(index, pages, store=QdrantWriter(to, "docs"))
    finally:
        to.close()


def ask(index):
    with open_searcher(index, embedder=WordHashEmbedder()) as searcher:
        return searcher.search(SearchQuery("rotate api keys"))


def test_a_cluster_with_a_key_requires_it_for_builds_and_searches(server, tmp_path, monkeypatch, caplog):
    server.key = KEY
    with pytest.raises(StoreUnavailableError, match="QDRANT_API_KEY is missing or wrong"):
        build(tmp_path / "index")
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    build(tmp_path / "index")
    assert ask(tmp_path / "index").results[0].page.path == "keys.md"
    monkeypatch.setenv("QDRANT_API_KEY", "another-key")
    with pytest.raises(StoreUnavailableError, match="missing or wrong") as error:
        ask(tmp_path / "index")
    assert set(server.keys_sent) == {None, KEY, "another-key"}
    assert "key is sent to the Qdrant cluster unencrypted" in caplog.text.replace("key in QDRANT_API_KEY", "key")
    assert KEY not in caplog.text + str(error.value)
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.fixture
def certificate(tmp_path):
    """Makes a self-signed certificate for localhost; returns its file and a context for a server."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "key.pem").write_bytes(pem)
    (tmp_path / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return tmp_path / "cert.pem", context


def test_a_certificate_that_nobody_trusts_is_refused_before_the_key_is_sent(certificate, tmp_path, monkeypatch):
    file, context = certificate
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    with running_server(tls=context) as server:
        monkeypatch.setenv("QDRANT_URL", server.url)
        with pytest.raises(StoreUnavailableError, match=r"does not answer .*CERTIFICATE_VERIFY_FAILED"):
            build(tmp_path / "index")
        assert server.keys_sent == []
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        build(tmp_path / "index")
        assert ask(tmp_path / "index").results[0].page.path == "keys.md"
        assert set(server.keys_sent) == {KEY}


def test_a_silent_cluster_ends_a_build_and_a_search_with_a_sentence(server, tmp_path, monkeypatch):
    build(tmp_path / "index")
    monkeypatch.setattr(collection, "_RETRIES", 1)
    monkeypatch.setattr(backend, "_QUERY_SECONDS", 1)
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
        server.silent.set()
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError, match=r"does not answer .*timed out"):
            searcher.search(SearchQuery("rotate api keys"))
        with pytest.raises(StoreUnavailableError, match="does not answer"):
            build(tmp_path / "index", [*PAGES, made_page("new.md", "New")], timeout=1)
        assert time.monotonic() - began < 30
        server.silent.clear()
        assert searcher.search(SearchQuery("rotate api keys")).results


def test_with_a_lost_replica_builds_retry_and_searches_fail(server, tmp_path):
    """A cluster answers 500 or 503 while a shard has too few replicas."""
    server.refuse = (500, "points$", 3)
    build(tmp_path / "index")
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
        for status in (500, 503):
            server.refuse = (status, "query", 1)
            with pytest.raises(StoreUnavailableError, match=f"HTTP {status}"):
                searcher.search(SearchQuery("rotate api keys"))
            assert searcher.search(SearchQuery("rotate api keys")).results


def test_a_collection_that_lost_points_is_not_opened_and_is_written_again(server, tmp_path):
    report = build(tmp_path / "index")
    name = f"docs-{report.build_id}"
    points, _ = server.client.scroll(name, limit=1)
    server.client.delete(name, [points[0].id])
    with pytest.raises(IndexCorruptError, match=name):
        ask(tmp_path / "index")
    build(tmp_path / "index")
    assert ask(tmp_path / "index").results[0].page.path == "keys.md"


def at_once(*calls):
    """Runs calls in threads that begin together; returns what each returned or raised."""
    gate = threading.Barrier(len(calls))

    def run(call):
        gate.wait()
        try:
            return call()
        except SemsearchError as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_two_writers_of_different_builds_each_get_a_whole_collection(server, tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    sites = [[*PAGES, made_page(f"{folder.name}.md", f"Site {folder.name}")] for folder in folders]
    reports = at_once(*(lambda f=folder, s=site: build(f, s) for folder, site in zip(folders, sites, strict=True)))
    names = {f"docs-{report.build_id}" for report in reports}
    assert len(names) == 2
    assert {item.name for item in server.client.get_collections().collections} == names
    (alias,) = server.client.get_aliases().aliases
    assert alias.collection_name in names
    for folder, report in zip(folders, reports, strict=True):
        assert ask(folder).build_id == report.build_id


def test_two_writers_of_the_same_build_leave_one_whole_collection(server, tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    ends = at_once(*(lambda f=folder: build(f) for folder in folders))
    whole = [(folder, end) for folder, end in zip(folders, ends, strict=True) if not isinstance(end, SemsearchError)]
    assert whole
    assert all(isinstance(end, StoreUnavailableError) for end in ends if isinstance(end, SemsearchError))
    assert len(server.client.get_collections().collections) == 1
    for folder, _ in whole:
        assert ask(folder).results[0].page.path == "keys.md"
