"""The previous copy stays if the origin of a published index fails, or if its publisher is malicious."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import io
import json
import shutil
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch.artifact import current_build, read_manifest
from mkdocs_semsearch.errors import (
    ConfigurationError,
    IndexCorruptError,
    IndexFolderError,
    IndexNotFoundError,
    IndexWriteError,
)
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.serving import published_index, trial
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.published_index import PublishedIndex
from tests.made_index import built, made_page
from tests.publisher import publisher
from tests.unit.serving.small_index import PAGES, build, open_small
from tests.waiting import eventually


class Origin(http.server.ThreadingHTTPServer):
    """Serves a folder, with ranges.

    Attributes:
        asked: (path, Range header) of every request.
        dies_after: bytes of a body after which the connection breaks; None for never.
        endless: names of files that never end.
        knows_ranges: answers a `Range` with the part that it names.
        zips: names of files that it sends compressed, although nobody asked for it.
        trickles: names of files of which a byte is sent every 50 ms.
    """

    daemon_threads = True

    def __init__(self, root):
        super().__init__(("127.0.0.1", 0), Handler)
        self.root, self.asked, self.dies_after, self.endless = root, [], None, ()
        self.knows_ranges = True
        self.zips: tuple[str, ...] = ()
        self.trickles: tuple[str, ...] = ()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        origin = self.server
        given = self.headers.get("Range")
        origin.asked.append((self.path, given))
        given = given if origin.knows_ranges else None
        path = origin.root / self.path.lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        start = int(given.removeprefix("bytes=").rstrip("-")) if given else 0
        if start and start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if given else 200)
        if path.name in origin.zips:
            data = gzip.compress(data)
            self.send_header("Content-Encoding", "gzip")
        if path.name not in origin.endless:
            self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        body = data[start:]
        if origin.dies_after is not None and path.name != "manifest.json":
            body = body[: origin.dies_after]
        with contextlib.suppress(OSError):
            if path.name in origin.trickles:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.05)
            self.wfile.write(body)
            while path.name in origin.endless:
                self.wfile.write(b"\0" * 65536)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def origin(tmp_path):
    (tmp_path / "web").mkdir()
    with Origin(tmp_path / "web") as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def full_origin(origin, index_dir):
    """An origin with the small index."""
    shutil.copytree(index_dir, origin.root, dirs_exist_ok=True)
    return origin


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "cache" / "copy"


@pytest.mark.usefixtures("no_trial")
def test_a_download_resumes_after_the_origin_died(origin, copy):
    build(origin.root)
    published = PublishedIndex(origin.url, copy)
    origin.dies_after = 300
    attempts = 0
    while current_build(copy) is None:
        attempts += 1
        assert attempts < 200
        with contextlib.suppress(IndexNotFoundError):
            published.update()
    assert attempts > 3
    assert current_build(copy) == read_manifest(origin.root)
    assert [entry.name for entry in copy.iterdir() if entry.name.startswith(".")] in ([".lock"], [])
    largest = max(read_manifest(origin.root).files, key=lambda file: file.size)
    starts = [int(given[6:-1]) if given else 0 for path, given in origin.asked if path.endswith(largest.path)]
    assert starts == list(range(0, largest.size, 300))


@pytest.mark.usefixtures("no_trial")
def test_files_of_other_builds_are_removed(origin, copy):
    build(origin.root)
    origin.dies_after = 300
    published = PublishedIndex(origin.url, copy)
    with pytest.raises(IndexNotFoundError):
        published.update()
    first = {entry.name for entry in (copy / ".downloads").iterdir()}
    build(origin.root, PAGES[:2])
    with pytest.raises(IndexNotFoundError):
        published.update()
    wanted = {file.sha256 for file in read_manifest(origin.root).files}
    assert first
    assert all(entry.name.removesuffix(".part") in wanted for entry in (copy / ".downloads").iterdir())
    origin.dies_after = None
    assert published.update() is True


@pytest.mark.usefixtures("no_trial")
def test_a_server_without_ranges_sends_it_whole(origin, copy):
    build(origin.root)
    published = PublishedIndex(origin.url, copy)
    origin.dies_after = 300
    with pytest.raises(IndexNotFoundError):
        published.update()
    origin.dies_after, origin.knows_ranges = None, False
    assert published.update() is True


@pytest.mark.usefixtures("no_trial")
def test_a_part_that_is_longer_than_the_file_there(origin, copy):
    build(origin.root)
    largest = max(read_manifest(origin.root).files, key=lambda file: file.size)
    published = PublishedIndex(origin.url, copy)
    origin.dies_after = largest.size - 1
    with pytest.raises(IndexNotFoundError):
        published.update()
    victim = origin.root / read_manifest(origin.root).build_id / largest.path
    whole = victim.read_bytes()
    origin.dies_after = None
    victim.write_bytes(whole[:100])
    with pytest.raises(IndexNotFoundError, match="status 416"):
        published.update()
    victim.write_bytes(whole)
    assert published.update() is True


def test_a_publisher_that_trickles_bytes_is_abandoned(origin, copy, monkeypatch):
    """Every byte arrives within a socket's timeout, but the whole file would take minutes."""
    build(origin.root)
    origin.trickles = ("vectors.npy",)
    monkeypatch.setattr(published_index, "PATIENCE_SECONDS", 0.5)
    with pytest.raises(IndexNotFoundError, match="it sends too slowly"):
        PublishedIndex(origin.url, copy).update()
    assert current_build(copy) is None


@pytest.mark.usefixtures("no_trial")
@pytest.mark.parametrize("name", ["manifest.json", "vectors.npy"])
def test_a_server_that_compresses_is_named_and_its_bytes_are_not_kept(origin, copy, name):
    build(origin.root)
    published = PublishedIndex(origin.url, copy)
    origin.zips = (name,)
    with pytest.raises(
        IndexNotFoundError, match=rf"{name} \(it is sent compressed, with gzip\): switch compression off"
    ):
        published.update()
    assert not list(copy.glob(".downloads/*.part"))
    origin.zips = ()
    assert published.update() is True


def test_a_file_without_an_end_is_read_to_its_size(origin, copy):
    build(origin.root)
    origin.endless = ("vectors.npy",)
    with pytest.raises(IndexCorruptError, match=r"vectors\.npy is not the file that its manifest names"):
        PublishedIndex(origin.url, copy).update()
    assert sum(entry.stat().st_size for entry in (copy / ".downloads").iterdir()) < 1_000_000


def test_redirects_lead_to_the_web_only(tmp_path):
    with (
        publisher(redirect=lambda path: "ftp://127.0.0.1/manifest.json") as (url, _),
        pytest.raises(IndexNotFoundError, match="not a web address"),
    ):
        PublishedIndex(url, tmp_path / "copy").update()


def rewritten(root, change):
    """Publishes a manifest that was changed by hand."""
    body = json.loads((root / "manifest.json").read_text())
    change(body)
    (root / "manifest.json").write_text(json.dumps(body))


NAMES = [
    "../../escaped",
    "/tmp/escaped",
    "a/../../../escaped",
    "..",
    "",
    ".",
    "a\\..\\..\\escaped",
    "C:escaped",
    "a\0b",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_in_a_manifest_escapes_the_copy(full_origin, copy, tmp_path, name):
    rewritten(full_origin.root, lambda body: body["files"][0].update(path=name))
    with pytest.raises(IndexFolderError):
        PublishedIndex(full_origin.url, copy).update()
    assert not list(tmp_path.rglob("escaped*"))
    assert not Path("/tmp/escaped").exists()
    assert not copy.exists()


@pytest.mark.parametrize("build_id", ["../../escaped", "/tmp/escaped", "", ".", "0" * 15, "0" * 17, "0123456789ABCDEF"])
def test_no_build_id_escapes_the_copy(full_origin, copy, build_id):
    rewritten(full_origin.root, lambda body: body.update(build_id=build_id))
    with pytest.raises(IndexCorruptError):
        PublishedIndex(full_origin.url, copy).update()
    assert not copy.exists()


@pytest.mark.parametrize("size", [-1, 1.5, True, "10", None])
def test_invalid_sizes_are_refused(full_origin, copy, size):
    rewritten(full_origin.root, lambda body: body["files"][0].update(size=size))
    with pytest.raises(IndexCorruptError):
        PublishedIndex(full_origin.url, copy).update()


def test_an_index_that_is_too_large_is_not_downloaded(full_origin, copy, monkeypatch):
    rewritten(full_origin.root, lambda body: body["files"][0].update(size=10**15))
    with pytest.raises(IndexCorruptError, match="bytes, but 8589934592 are allowed: set SEMSEARCH_MAX_INDEX_BYTES"):
        PublishedIndex(full_origin.url, copy).update()
    monkeypatch.setenv("SEMSEARCH_MAX_INDEX_BYTES", str(10**16))
    with pytest.raises(IndexFolderError, match="has room for"):
        PublishedIndex(full_origin.url, copy).update()
    monkeypatch.setenv("SEMSEARCH_MAX_INDEX_BYTES", "8 GB")
    with pytest.raises(ConfigurationError, match="SEMSEARCH_MAX_INDEX_BYTES: '8 GB' is not a number of bytes"):
        PublishedIndex(full_origin.url, copy).update()
    assert [path for path, _ in full_origin.asked] == ["/manifest.json"] * 3


@pytest.mark.usefixtures("no_trial")
def test_an_interrupted_download_needs_room_only_for_the_rest(origin, copy, monkeypatch):
    build(origin.root)
    origin.dies_after = 300
    published = PublishedIndex(origin.url, copy)
    with pytest.raises(IndexNotFoundError):
        published.update()
    origin.dies_after = None
    whole = read_manifest(origin.root).size
    there = sum(entry.stat().st_size for entry in (copy / ".downloads").iterdir())
    assert there
    (copy / ".downloads" / "of-another-build").write_bytes(bytes(1000))
    usage = shutil.disk_usage(copy)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=whole - there - 1))
    with pytest.raises(IndexWriteError, match=f"it needs {whole - there} more bytes, and the disk has room for "):
        published.update()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=whole - there))
    assert published.update() is True


def test_a_manifest_without_an_end(origin, copy):
    origin.endless = ("manifest.json",)
    (origin.root / "manifest.json").write_text("{")
    with pytest.raises(IndexNotFoundError, match="longer than 8388608 bytes"):
        PublishedIndex(origin.url, copy).update()


def spoil(root, name, data):
    """Replaces a file of the published build and updates the manifest: the hash is correct, the content is not."""
    build = root / read_manifest(root).build_id
    (path,) = build.glob(name)
    path.write_bytes(data)
    name = path.relative_to(build).as_posix()

    def change(body):
        (entry,) = [file for file in body["files"] if file["path"] == name]
        entry.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
        body["build_id"] = hashlib.sha256(data).hexdigest()[:16]

    rewritten(root, change)
    build.rename(root / read_manifest(root).build_id)


def parquet_bomb(root):
    """Half a gigabyte of text, one value repeated many times, in a few kilobytes."""
    path = root / read_manifest(root).build_id / "chunks.parquet"
    table = pq.read_table(path)
    place = table.schema.get_field_index("content")
    text = pa.array(["x" * (8 << 20)])
    content = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), text)
    table = table.set_column(place, pa.field("content", content.type, nullable=False), content)
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd", store_schema=False)
    assert len(stream.getvalue()) < 1_000_000
    return stream.getvalue()


def npz_bomb(root):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, megabytes in (("indptr", 600), ("indices", 1)):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                header = {"descr": "<i8", "fortran_order": False, "shape": (megabytes << 17,)}
                np.lib.format.write_array_header_1_0(file, header)
                for _ in range(megabytes):
                    file.write(bytes(1 << 20))
    return stream.getvalue()


def lying_npy(root):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f2", "fortran_order": False, "shape": (1 << 40, 64)})
    return stream.getvalue() + bytes(100)


def pickled_npy(root):
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    return stream.getvalue()


def vectors_of(value):
    def spoiled(root):
        file = root / read_manifest(root).build_id / "vectors.npy"
        vectors = np.load(file)
        vectors[-1] = value
        stream = io.BytesIO()
        np.save(stream, vectors)
        return stream.getvalue()

    return spoiled


def column_of(file, name, changed):
    """Replaces a column of a table by what `changed` makes of its values."""

    def spoiled(root):
        table = pq.read_table(root / read_manifest(root).build_id / file)
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        stream = io.BytesIO()
        pq.write_table(table.set_column(place, field, pa.array(changed(table[name].to_pylist()), field.type)), stream)
        return stream.getvalue()

    return spoiled


def last_value(file, name, value):
    """Changes one value, in a row that the queries of the trial need not find."""
    return column_of(file, name, lambda values: [*values[:-1], value])


def large_values(file, name, value):
    """Puts the same value into every row, so that answers are thousands of times as large as the file."""
    made = column_of(file, name, lambda values: [value] * len(values))

    def spoiled(root):
        content = made(root)
        assert len(content) < 200_000
        return content

    return spoiled


def lying_store(root):
    """Tantivy allocates what the store of documents says before it reads it, and ends the process if it cannot."""
    (file,) = (root / read_manifest(root).build_id / "lexical").glob("*.store")
    store = bytearray(file.read_bytes())
    footer = len(store) - 8 - int.from_bytes(store[-8:-4], "little")
    offsets = int.from_bytes(store[footer - 24 : footer - 16], "little")
    store[offsets : offsets + 5] = b"\x7f" * 5
    return bytes(store)


EVIL = {
    "chunks.parquet": (
        parquet_bomb,
        b"garbage",
        b"PAR1" + bytes(1000) + b"PAR1",
        large_values("chunks.parquet", "anchor", "x" * (1 << 20)),
        large_values("chunks.parquet", "heading_hierarchy", ["keys", "x" * 100_000]),
    ),
    "graph.npz": (npz_bomb, b"garbage"),
    "vectors.npy": (lying_npy, pickled_npy, b"garbage", vectors_of(np.nan), vectors_of(0)),
    "pages.parquet": (
        b"garbage",
        large_values("pages.parquet", "title", "x" * (1 << 20)),
        last_value("pages.parquet", "front_matter", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        last_value("pages.parquet", "front_matter", "garbage"),
        last_value("pages.parquet", "front_matter", "[]"),
        last_value("pages.parquet", "translations", "[" * 20_000 + "]" * 20_000),
    ),
    "lexical/meta.json": (b"garbage", b"[" * 100_000, b"{}"),
    "lexical/*.store": (b"garbage", lying_store),
}


@pytest.fixture(scope="module")
def two_builds(tmp_path_factory):
    """A folder with the build that a server has, and the one that its publisher replaces it by."""
    folder = tmp_path_factory.mktemp("builds")
    built(folder / "before", [made_page("good.md", "The keys of before.")])
    built(folder / "after", [made_page(f"{n}.md", f"Number {n} of the keys.") for n in range(64)])
    return folder


@pytest.mark.parametrize(
    ("name", "content"),
    [pytest.param(name, content, id=f"{name}-{number}") for name in EVIL for number, content in enumerate(EVIL[name])],
)
def test_a_hostile_publisher_does_no_harm(two_builds, origin, copy, tmp_path, name, content, caplog, monkeypatch):
    monkeypatch.setattr(trial, "MEMORY", 384 << 20)
    for place in (origin.root, copy):
        shutil.copytree(two_builds / "before", place, dirs_exist_ok=True)
    live = LiveIndex(copy, open_index=open_small, published=PublishedIndex(origin.url, copy))
    assert live.refresh() is True
    caplog.clear()
    shutil.copytree(two_builds / "after", origin.root, dirs_exist_ok=True)
    spoil(origin.root, name, content(origin.root) if callable(content) else content)
    before = _memory()
    assert live.refresh() is False
    assert _memory() - before < 100 << 20
    with live.lease() as searcher:
        assert searcher.search(SearchQuery("keys")).results[0].page.path == "good.md"
    (record,) = caplog.records
    assert record.getMessage().startswith(f"The index at {origin.url} is refused: ")
    assert record.getMessage().endswith("stays in use.")
    assert {path.name for path in tmp_path.iterdir()} <= {"web", "cache"}
    asked = len(origin.asked)
    monkeypatch.setattr(published_index, "try_build", lambda *_, **__: pytest.fail("the refused build is tried again"))
    assert live.refresh() is False  # and it is neither fetched nor tried again every minute
    assert len(origin.asked) == asked + 1
    live.close()


@pytest.mark.parametrize("later", ["on request", "after a while"])
def test_a_build_whose_trial_was_killed_is_tried_again(origin, copy, monkeypatch, later):
    build(origin.root)
    published = PublishedIndex(origin.url, copy)
    live = LiveIndex(copy, open_index=open_small, published=published)
    monkeypatch.setattr(trial, "_wait", lambda process, given_up: -9)
    assert live.refresh() is False
    assert live.health.update == "refused"
    monkeypatch.undo()
    asked = len(origin.asked)
    assert live.refresh() is False
    if later == "after a while":
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + published_index.SECONDS_UNTIL_RETRY + 1)
        # The trial itself needs a clock that goes on.
        monkeypatch.setattr(published_index, "try_build", lambda *_, **__: None)
    assert live.refresh(again=later == "on request") is True
    assert len(origin.asked) == asked + 2  # only the manifest, twice
    live.close()


def _memory():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def until_ready(client):
    """Waits for the first index, which the app fetches after it has started."""
    assert eventually(lambda: client.get("/readyz").status_code == 200)


@pytest.mark.slow
@pytest.mark.usefixtures("no_trial")
def test_every_answer_belongs_to_one_build_while_the_index_is_replaced(origin, copy):
    """Ten builds, each with its number in every section, while four readers search without a pause."""

    def publish(number):
        texts = [f"This is build {number}, section {section} about keys." for section in range(5)]
        built(origin.root, [made_page(f"page-{page}.md", *texts) for page in range(6)])
        builds[read_manifest(origin.root).build_id] = f"build {number},"

    builds = {}
    publish(0)
    live = LiveIndex(copy, open_index=open_small, published=PublishedIndex(origin.url, copy), poll_seconds=0.05)
    stop, wrong, seen, answers = threading.Event(), [], set(), []
    with TestClient(create_app(live)) as client:

        def ask(mode):
            while not stop.is_set():
                answer = client.get(f"/api/v1/search?q=build+about+keys&mode={mode}&limit=30")
                body = answer.json()
                answers.append(answer.status_code)
                texts = [result["section"]["content"] for result in body.get("results", [])]
                if (
                    answer.status_code != 200
                    or not texts
                    or not all(builds[body["build_id"]] in text for text in texts)
                ):
                    wrong.append(body)
                seen.add(body.get("build_id"))

        until_ready(client)
        threads = [threading.Thread(target=ask, args=[mode]) for mode in ("hybrid", "semantic", "lexical", "hybrid")]
        for thread in threads:
            thread.start()
        try:
            for number in range(1, 11):
                publish(number)
                wanted = read_manifest(origin.root).build_id
                assert eventually(lambda wanted=wanted, number=number: wanted in seen and len(answers) > 10 * number)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert wrong == []
    assert len(seen) == 11
    assert len(answers) > 100
