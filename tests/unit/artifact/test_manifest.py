"""A manifest may come from anywhere: an invalid one is refused with a sentence and never used."""

from __future__ import annotations

import contextlib
import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.artifact import (
    FORMAT,
    EmbedderIdentity,
    EncoderInfo,
    FacetDeclaration,
    IndexedFile,
    Manifest,
    open_index,
    read_manifest,
)
from mkdocs_semsearch.artifact.manifest import manifest_from_json, manifest_to_json
from mkdocs_semsearch.errors import IndexCorruptError, IndexFolderError, IndexFormatError, IndexNotFoundError

MANIFEST = Manifest(
    build_id="0123456789abcdef",
    generator="mkdocs-semsearch 0.1.0",
    created="2026-01-01T00:00:00+00:00",
    embedder=EmbedderIdentity("openai", "größe/modell", "f" * 12, 64, 256, "query: ", "passage: "),
    facets=(FacetDeclaration("tags", "list", "Schlagwörter"), FacetDeclaration("date", "date", "Date")),
    pages=2,
    sections=3,
    chunks=4,
    files=(IndexedFile("lexical/meta.json", 12, "a" * 64), IndexedFile("vectors.npy", 0, "b" * 64)),
    graph={"method": "exact", "neighbors": 15},
    lexical={"language": "de", "stemmer": "german"},
    encoder=EncoderInfo(exported=True, quantized=False, reason="because"),
    site_name="Größe 日本語",
    site_url="https://example.org/",
    language="de",
    edit_url="https://git.example/edit/{path}",
)
TEXT = manifest_to_json(MANIFEST)


def changed(**values):
    return json.dumps(json.loads(TEXT) | values)


def with_file(**values):
    return changed(files=[json.loads(TEXT)["files"][0] | values])


def with_embedder(**values):
    return changed(embedder=json.loads(TEXT)["embedder"] | values)


def test_round_trip():
    assert manifest_from_json(TEXT, "here") == MANIFEST
    assert json.loads(TEXT)["format"] == FORMAT
    assert MANIFEST.size == 12


def test_a_field_that_a_later_version_added_is_passed_over():
    assert manifest_from_json(changed(shiny=True), "here") == MANIFEST


@pytest.mark.parametrize(
    "path",
    [
        "../secret", "/etc/passwd", "a/../../b", "..", ".", "", "\\\\host\\share", "a\\..\\b", "C:/x", "c:x", "a\0b",
        "//host/share", 7, None, ["a"],
    ],
)  # fmt: skip
def test_paths_that_climb_out_are_refused(path):
    with pytest.raises(IndexCorruptError, match=r"here is damaged.*build the index again"):
        manifest_from_json(with_file(path=path), "here")


@pytest.mark.parametrize(
    "text",
    [
        changed(build_id="../../../etc/init"),
        changed(build_id="0123456789ABCDEF"),
        changed(build_id="0123456789abcde"),
        changed(build_id="0123456789abcdef\n"),
        changed(build_id=16),
        changed(build_id=None),
        changed(pages=-1),
        changed(chunks="4"),
        changed(chunks=4.0),
        changed(chunks=True),
        changed(sections=None),
        changed(files=None),
        changed(files={"a": 1}),
        changed(files=[1]),
        with_file(size=-1),
        with_file(size="12"),
        with_file(sha256="a" * 63),
        with_file(sha256=None),
        with_file(mode=0o777),
        with_file(path="a\nb"),
        with_file(path="a\x1b[31mb"),
        changed(site_name="x" * 10_001),
        changed(facets=[{"name": "x", "type": "list", "label": "x" * 10_001}]),
        with_embedder(query_prompt="x" * 10_001),
        with_embedder(dimension="64"),
        with_embedder(dimension=0),
        with_embedder(kind=1),
        with_embedder(model=["x"]),
        with_embedder(query_prompt=None),
        with_embedder(precision=8),
        with_embedder(surprise=1),
        changed(embedder=None),
        changed(embedder=[]),
        changed(facets=[{"name": "x", "type": "regex", "label": "X"}]),
        changed(facets=[{"name": ["x"], "type": "list", "label": "X"}]),
        changed(facets=[{"name": "x", "type": "list"}]),
        changed(facets=[{"name": "x", "type": "list", "label": "X"}] * 2),
        changed(facets=7),
        changed(graph=[]),
        changed(lexical="english"),
        changed(lexical={"stemmer": 5}),
        changed(encoder={"exported": "yes"}),
        changed(encoder=None),
        changed(coverage={"de": 1.5}),
        changed(coverage={"de": "half"}),
        changed(site_name=5),
        changed(language=None),
        changed(created={}),
        json.dumps({"format": FORMAT}),
    ],
)
def test_wrong_values_are_reported_as_damage(text):
    with pytest.raises(IndexCorruptError, match=r"here is damaged.*build the index again"):
        manifest_from_json(text, "here")


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "1", '"text"', "{", TEXT[: len(TEXT) // 2], "[" * 100_000, '{"a":' * 100_000, "{}", "\x00"],
)
def test_a_file_that_is_not_a_manifest_is_refused(text):
    with pytest.raises(IndexCorruptError, match=r"here .*build the index again"):
        manifest_from_json(text, "here")


@pytest.mark.parametrize("number", [0, 2, 99, "1", None, True, [1], 1.0, 1.5])
def test_another_format_names_both_versions_and_the_solution(number):
    with pytest.raises(IndexFormatError, match=r"here has index format .*rebuild") as caught:
        manifest_from_json(changed(format=number), "here")
    assert f"has index format {number!r}," in str(caught.value)
    assert f"reads format {FORMAT}" in str(caught.value)


def test_a_format_of_any_length_is_one_short_sentence():
    with pytest.raises(IndexFormatError) as caught:
        manifest_from_json(changed(format="x" * 1_000_000), "here")
    assert len(str(caught.value)) < 300


def test_another_format_is_reported_before_any_other_error():
    with pytest.raises(IndexFormatError):
        manifest_from_json('{"format": 2, "files": "moved"}', "here")


@settings(max_examples=40)  # each puts its value into every field in turn
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=4))
def test_any_value_results_in_a_manifest_or_one_sentence(value):
    body = json.loads(TEXT)
    for place in (*body, *(("embedder", name) for name in body["embedder"]), *(("files", 0, n) for n in ("path",))):
        broken = copy.deepcopy(body)
        *way, last = place if isinstance(place, tuple) else (place,)
        inner = broken
        for step in way:
            inner = inner[step]
        inner[last] = value
        with contextlib.suppress(IndexFolderError):
            manifest_from_json(json.dumps(broken), "here")


def test_reading_says_what_is_wrong_with_the_folder(tmp_path):
    with pytest.raises(IndexNotFoundError, match=r"no search index in .*mkdocs build"):
        read_manifest(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexNotFoundError):
        read_manifest(tmp_path / "file")
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(IndexCorruptError, match="not text"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(IndexFolderError, match="cannot be read"):
        open_index(tmp_path)
