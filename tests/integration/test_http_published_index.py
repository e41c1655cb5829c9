"""A sidecar copies an index that is published at a URL, and loads its new builds."""

from __future__ import annotations

import dataclasses
import errno
import json
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch import open_searcher
from mkdocs_semsearch.artifact import current_build, read_manifest
from mkdocs_semsearch.errors import (
    ConfigurationError,
    IndexCorruptError,
    IndexFormatError,
    IndexNotFoundError,
    IndexWriteError,
)
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.published_index import PublishedIndex, folder_of, local_folder
from tests.publisher import publisher
from tests.unit.serving.small_index import PAGES, build, open_small
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("no_trial")


@pytest.fixture
def web(tmp_path):
    """A web server on a folder: (its URL, the folder, the requested paths)."""
    root = tmp_path / "web"
    root.mkdir()
    with publisher(root) as (url, asked):
        yield url, root, asked


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "copy"


def test_a_published_index_is_copied_once(web, copy):
    url, root, asked = web
    build(root / "semsearch")
    published = PublishedIndex(url, copy)
    assert published.update() is True
    assert current_build(copy) == read_manifest(root / "semsearch")
    asked.clear()
    assert published.update() is False
    assert asked == ["/semsearch/manifest.json"]


@pytest.mark.parametrize("address", ["", "semsearch", "semsearch/", "semsearch/manifest.json"])
def test_the_address_may_be_that_of_the_site_the_index_or_the_manifest(web, copy, address):
    url, root, _ = web
    (root / "manifest.json").write_text('{"name": "a progressive web app"}')
    build(root / "semsearch")
    assert PublishedIndex(url + address, copy).update() is True


def test_only_changed_files_of_a_new_build_are_downloaded(web, copy):
    url, root, asked = web
    build(root)
    published = PublishedIndex(url, copy)
    published.update()
    build(root, (dataclasses.replace(PAGES[0], file_size=101), *PAGES[1:]))
    asked.clear()
    assert published.update() is True
    assert current_build(copy) == read_manifest(root)
    fetched = {path.rpartition("/")[2] for path in asked}
    assert "pages.parquet" in fetched
    assert "vectors.npy" not in fetched


@pytest.mark.parametrize("spoil", ["change", "shorten", "lengthen", "remove"])
def test_a_file_that_is_not_the_manifests_is_refused_and_the_copy_stays(web, copy, spoil):
    url, root, _ = web
    build(root)
    published = PublishedIndex(url, copy)
    published.update()
    before = current_build(copy)
    build(root, PAGES[:3])
    victim = root / read_manifest(root).build_id / "vectors.npy"
    data = victim.read_bytes()
    spoilt = {"change": data[:-1] + b"?", "shorten": data[:-1], "lengthen": data + b"?" * 10_000_000}.get(spoil)
    victim.unlink() if spoilt is None else victim.write_bytes(spoilt)
    expected = IndexNotFoundError if spoil in ("remove", "shorten") else IndexCorruptError
    with pytest.raises(expected, match=r"vectors\.npy"):
        published.update()
    assert current_build(copy) == before
    victim.write_bytes(data)
    assert published.update() is True


def test_a_folder_without_an_index_is_refused_with_a_sentence(web, copy):
    url, root, _ = web
    for content, problem in {
        None: "status 404",
        "<html>": "not the manifest of an index",  # such as a login page
        '{"name": "a progressive web app"}': "not the manifest of an index",
    }.items():
        if content is not None:
            (root / "manifest.json").write_text(content)
        with pytest.raises(IndexNotFoundError) as refused:
            PublishedIndex(url, copy).update()
        assert str(refused.value) == (
            f"No index can be read at {url}manifest.json ({problem}) or {url}semsearch/manifest.json (status 404): "
            "build that site with `publish_index: true`, or name the address of an index."
        )
    build(root / "other")
    manifest = json.loads((root / "other" / "manifest.json").read_text())
    (root / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(IndexFormatError, match="index format 99"):
        PublishedIndex(url, copy).update()
    manifest["files"][0]["path"] = "../../outside"
    (root / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(IndexCorruptError, match="outside"):
        PublishedIndex(url, copy).update()
    assert not copy.exists()


def test_a_copy_that_cannot_be_written_is_a_sentence(web, tmp_path):
    url, root, _ = web
    build(root / "semsearch")
    (tmp_path / "file").write_text("")
    copy = tmp_path / "file" / "copy"
    with pytest.raises(IndexWriteError) as refused:
        PublishedIndex(url, copy).update()
    assert str(refused.value) == (
        f"The copy of {url}semsearch/ in {copy} could not be written (Not a directory): "
        "make room or allow writing there, or set XDG_CACHE_HOME to another folder."
    )


def test_a_missing_server_is_reported_in_one_sentence(copy):
    with pytest.raises(IndexNotFoundError, match=r"No index can be read at http://127\.0\.0\.1:1/manifest\.json"):
        PublishedIndex("http://127.0.0.1:1/", copy).update()


@pytest.mark.parametrize("url", ["ftp://example.org/", "https://", "file:///etc", "semsearch-index", "http://[bad/"])
def test_other_addresses_are_refused(url, copy):
    with pytest.raises(ConfigurationError, match="is not an http or https URL"):
        PublishedIndex(url, copy)


@pytest.mark.parametrize(
    "place",
    [
        "u:sec/ret@127.0.0.1:9/",
        "u:sec?ret@127.0.0.1/",
        "u:5#ret@127.0.0.1/",
        "u:x@5/ret@127.0.0.1/",
        "127.0.0.1:99999/",
    ],
)
def test_a_url_without_a_readable_host_and_port_is_refused_and_not_repeated(place, copy):
    with pytest.raises(ConfigurationError, match="in a user name or password write / as %2F") as refused:
        PublishedIndex(f"http://{place}", copy)
    assert not any(part in str(refused.value) for part in ("sec", "ret@", "127.0.0.1", "99999"))


def test_a_password_with_a_slash_is_not_repeated_for_another_scheme(copy):
    with pytest.raises(ConfigurationError, match=r"^'ftp://example\.org/' is not"):
        PublishedIndex("ftp://u:sec/ret@example.org/", copy)


def test_a_path_may_have_an_at_sign(copy):
    PublishedIndex("https://docs.example.org/package@1.2/", copy)
    PublishedIndex("https://name:password@docs.example.org:8443/package%401.2/", copy)


@pytest.mark.parametrize("open_index", [open_searcher, LiveIndex.at, local_folder])
def test_another_address_is_not_taken_for_a_folder(open_index):
    with pytest.raises(ConfigurationError, match=r"'s3://bucket/index' is not an http or https URL: name one, or a"):
        open_index("s3://bucket/index")


def test_a_sidecar_loads_published_builds_and_answers_without_the_publisher(web, copy, caplog):
    url, root, _ = web
    published = PublishedIndex(url, copy)
    live = LiveIndex(copy, open_index=open_small, published=published)
    assert live.refresh() is False
    assert live.refresh() is False
    assert caplog.text.count("No index can be read") == 1
    build(root)
    assert live.refresh() is True
    with TestClient(create_app(lambda: live._loaded.searcher)) as client:
        assert client.get("/readyz").json()["pages"] == 4
        build(root, PAGES[:3])
        assert live.refresh() is True
        assert client.get("/readyz").json()["pages"] == 3
    live.close()
    (root / "manifest.json").unlink()
    later = LiveIndex(copy, open_index=open_small, published=PublishedIndex(url, copy))
    assert later.refresh() is True
    later.close()


def test_a_copy_that_was_deleted_is_made_again_though_the_publisher_has_nothing_new(tmp_path, copy):
    build(tmp_path / "web")
    with publisher(tmp_path / "web", tag='"1"') as (url, asked):
        live = LiveIndex(copy, open_index=open_small, published=PublishedIndex(url, copy))
        assert live.refresh() is True
        asked.clear()
        live.refresh()
        assert asked == ["/manifest.json"]
        shutil.rmtree(copy)
        live.refresh()
        assert live.health.update == "ok"
        assert current_build(copy) == read_manifest(tmp_path / "web")
        live.close()


@pytest.mark.parametrize("damage", ["change", "shorten", "remove", "remove all"])
def test_a_damaged_copy_is_repaired_though_the_publisher_has_nothing_new(tmp_path, copy, damage):
    build(tmp_path / "web")
    with publisher(tmp_path / "web", tag='"1"') as (url, asked):
        assert PublishedIndex(url, copy).update() is True
        build_dir = copy / read_manifest(copy).build_id
        victim = build_dir / "vectors.npy"
        if damage == "remove all":
            shutil.rmtree(build_dir)
        elif damage == "remove":
            victim.unlink()
        else:
            victim.write_bytes(victim.read_bytes()[:-1] + (b"?" if damage == "change" else b""))
        asked.clear()
        live = LiveIndex(copy, open_index=open_small, published=PublishedIndex(url, copy))
        assert live.refresh() is True
        assert current_build(copy) == read_manifest(tmp_path / "web")
        assert damage == "remove all" or len(asked) == 2  # the manifest and this file
        live.close()


def test_a_file_that_disappears_while_the_copy_is_watched_is_fetched_again(tmp_path, copy):
    build(tmp_path / "web")
    with publisher(tmp_path / "web", tag='"1"') as (url, _):
        published = PublishedIndex(url, copy)
        published.update()
        (copy / read_manifest(copy).build_id / "vectors.npy").unlink()
        assert published.update() is True
        assert current_build(copy) == read_manifest(tmp_path / "web")


def test_one_question_needs_only_the_address(web, monkeypatch, tmp_path, caplog):
    url, root, _ = web
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(IndexNotFoundError):
        local_folder(url)
    build(root)
    folder = local_folder(url)
    assert current_build(folder) == read_manifest(root)
    (root / "manifest.json").unlink()
    assert local_folder(url) == folder
    assert "Using the copy from the last download." in caplog.text
    assert local_folder("semsearch-index") == Path("semsearch-index")


@pytest.mark.parametrize("case", ["damaged", "newer", "full"])
def test_one_question_is_answered_from_the_copy_where_a_new_build_cannot_be_used(
    web, monkeypatch, tmp_path, caplog, case
):
    url, root, _ = web
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build(root)
    folder = local_folder(url)
    copied = read_manifest(folder)
    build(root, PAGES[:3])
    if case == "damaged":
        (root / read_manifest(root).build_id / "vectors.npy").write_bytes(b"")
    elif case == "newer":
        manifest = json.loads((root / "manifest.json").read_text())
        (root / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    else:

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("mkdocs_semsearch.serving.published_index._link", full)
    assert current_build(local_folder(url)) == copied
    assert "Using the copy from the last download." in caplog.text


def test_each_url_has_its_own_copy(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = (LiveIndex.at(f"https://docs.example.org/{version}/") for version in ("1", "2"))
    assert one.index_dir != other.index_dir
    assert one.index_dir == folder_of("https://docs.example.org/1/")
    assert tmp_path in one.index_dir.parents
    assert LiveIndex.at("semsearch-index").index_dir.name == "semsearch-index"


def test_the_log_names_the_address_of_a_published_index(web, copy, monkeypatch, caplog):
    url, root, _ = web
    build(root / "semsearch")
    monkeypatch.setattr("mkdocs_semsearch.serving.live_index.folder_of", lambda address: copy)
    index = LiveIndex.at(url)
    with caplog.at_level("INFO"):
        index.refresh()
    index.close()
    assert f"Index {url} loaded: build " in caplog.text


def test_a_password_in_the_url_is_sent_and_in_no_message(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build(tmp_path / "web")
    with publisher(tmp_path / "web", login="deploy:s3 cret/") as (url, _):
        right, wrong = (url.replace("//", f"//deploy:{password}@") for password in ("s3%20cret%2F", "guess3d"))
        with caplog.at_level("INFO"), TestClient(create_app(right), base_url="http://localhost") as client:
            assert eventually(lambda: client.get("/readyz").status_code == 200)
        with pytest.raises(IndexNotFoundError, match=r"\(status 401\): put the right name and password") as refused:
            PublishedIndex(wrong, tmp_path / "copy").update()
    with pytest.raises(ConfigurationError) as other:
        PublishedIndex("ftp://deploy:guess3d@example.org/", tmp_path / "copy")
    said = f"{caplog.text} {refused.value} {other.value}"
    assert f"Index {url} loaded" in said
    assert not any(secret in said for secret in ("s3%20cret", "s3 cret", "guess3d"))


def test_the_status_of_a_missing_file_is_said_however_long_its_answer_is(web, copy):
    url, root, _ = web
    build(root)
    manifest = read_manifest(root)
    smallest = min(manifest.files, key=lambda file: file.size)
    (root / manifest.build_id / smallest.path).unlink()
    with pytest.raises(IndexNotFoundError, match="status 404"):
        PublishedIndex(url, copy).update()
