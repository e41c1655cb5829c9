"""Defines the manifest of an index folder, which lists files and settings and names the current build."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import UnionType
from typing import Any

from mkdocs_semsearch.artifact.fields import FACET_TYPES, FacetDeclaration
from mkdocs_semsearch.errors import IndexCorruptError, IndexFormatError

FORMAT = 1
"""Version of the format; increased whenever an older reader could misread a newer index."""

DEFAULT_INDEX_DIR = "semsearch-index"
SITE_FOLDER = "semsearch"
"""Folder of a built site that holds the search without a server, and the published index."""

MANIFEST = "manifest.json"
LOCK = ".lock"
STAGING_PREFIX = ".staging-"
TRIAL_PREFIX = ".trial-"

PAGES = "pages.parquet"
CHUNKS = "chunks.parquet"
VECTORS = "vectors.npy"
GRAPH = "graph.npz"
LEXICAL = "lexical"
ENCODER = "encoder"

ROWS = "rows.npy"
PAGE_ROWS = "page_rows.npy"
TERMS = "terms"
"""Folder with the terms of a build whose chunks are in a Qdrant cluster."""

_BUILD_ID = re.compile(r"[0-9a-f]{16}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the build.

    Attributes:
        path: path relative to the build's folder, with `/`; never outside of it.
        size: size in bytes.
        sha256: hash in hex.
    """

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class EncoderInfo:
    """The place of an index's query encoder.

    Attributes:
        exported: whether the index has an `encoder/` folder.
        bundled: whether it is the default encoder, which is part of this package, so that the index has no copy.
        quantized: whether its weights are int8.
        reason: why it was not exported or not quantised; None otherwise.
    """

    exported: bool = False
    bundled: bool = False
    quantized: bool = False
    reason: str | None = None

    @property
    def at_hand(self) -> bool:
        """Whether queries can be encoded without the original model."""
        return self.exported or self.bundled


@dataclass(frozen=True, slots=True)
class Manifest:
    """The pointer of an index folder, read first and replaced last.

    Attributes:
        build_id: 16 hex digits, a hash of content and settings; also the name of the build's folder.
        generator: name and version of the program that wrote it.
        created: UTC time of the build, ISO 8601; not part of the build id.
        embedder: identity of the model that embedded the chunks; queries need the same.
        facets: declared facet fields in the order of the configuration.
        pages, sections, chunks: counts.
        files: every file of the build, sorted by path.
        graph: how the k-NN lists were made: `method` (`exact`, `nndescent` or `none`) and `neighbors`.
        lexical: settings of the lexical index (`language`, `stemmer`, …).
        encoder: place of the query encoder.
        site_name, site_url, language: name, URL and default language of the site, as configured.
        edit_url: URL for editing a page, with `{path}` or `{path_noext}` for its source path; empty if unknown.
        coverage: language to the factor of the semantic weight of its pages, from 0 to 1; languages with 1 are missing.
        store: empty if the chunks are in the folder; otherwise the `kind` of store and its settings.
    """

    build_id: str
    generator: str
    created: str
    embedder: EmbedderIdentity
    facets: tuple[FacetDeclaration, ...]
    pages: int
    sections: int
    chunks: int
    files: tuple[IndexedFile, ...]
    graph: Mapping[str, Any] = field(default_factory=dict)
    lexical: Mapping[str, Any] = field(default_factory=dict)
    encoder: EncoderInfo = EncoderInfo()
    site_name: str = ""
    site_url: str = ""
    language: str = "en"
    edit_url: str = ""
    coverage: Mapping[str, float] = field(default_factory=dict)
    store: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all files of the build."""
        return sum(file.size for file in self.files)


def collection_name(collection: str, build_id: str) -> str:
    """Returns the name of the collection in a cluster that holds the chunks of one build."""
    return f"{collection}-{build_id}"


def manifest_to_json(manifest: Manifest) -> str:
    """Returns the text of `manifest.json`."""
    body: dict[str, Any] = {"format": FORMAT, **dataclasses.asdict(manifest)}
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def manifest_from_json(text: str, place: str) -> Manifest:
    """Reads the text of a manifest.

    Args:
        text: content of `manifest.json`, possibly from an untrusted source; every field that leads to a file is
            checked.
        place: path of the file, for the messages.

    Raises:
        IndexFormatError: the index has another format.
        IndexCorruptError: the text is not a manifest.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise IndexCorruptError(f"{place} is not valid JSON ({error}): build the index again.") from None
    if not isinstance(body, dict) or "format" not in body:
        raise IndexCorruptError(f"{place} is not the manifest of a search index: build the index again.")
    if type(body["format"]) is not int or body["format"] != FORMAT:
        raise IndexFormatError(
            f"{place} has index format {body['format']!r:.40}, this version reads format {FORMAT}: "
            "rebuild the index with this version, or install the version that wrote it."
        )
    try:
        return _manifest(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise IndexCorruptError(f"{place} is damaged ({error!r}): build the index again.") from None


def is_manifest(text: str | bytes) -> bool:
    """Returns whether a text is the manifest of an index, of any format, and not that of a web application."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and {"format", "build_id"} <= body.keys()


def is_build_id(name: str) -> bool:
    """Returns whether a name is that of a build: 16 hex digits."""
    return _BUILD_ID.fullmatch(name) is not None


def _manifest(body: dict[str, Any]) -> Manifest:
    _check_texts(body)
    known = {f.name for f in dataclasses.fields(Manifest)}
    values = {key: value for key, value in body.items() if key in known}
    _check(values, str, "build_id", "generator", "created", "site_name", "site_url", "language")
    _check(values, int, "pages", "sections", "chunks")
    _check(values, dict, "embedder", "graph", "lexical", "encoder")
    _check(values, list, "facets", "files")
    _check(values["lexical"], str | None, "stemmer")
    _check({"store": {}, "coverage": {}, **values}, dict, "store", "coverage")
    _check({"edit_url": "", **values}, str, "edit_url")
    if not all(isinstance(share, int | float) and 0 <= share <= 1 for share in values.get("coverage", {}).values()):
        raise ValueError(f"coverage {values['coverage']!r}")
    if not is_build_id(values["build_id"]):
        raise ValueError(f"build_id {values['build_id']!r}")
    values["embedder"] = _embedder(values["embedder"])
    values["facets"] = tuple(_facet(item) for item in values["facets"])
    if len({facet.name for facet in values["facets"]}) < len(values["facets"]):
        raise ValueError("a facet is declared twice")
    values["files"] = tuple(_file(item) for item in values["files"])
    values["encoder"] = _encoder(values["encoder"])
    return Manifest(**values)


LONGEST_TEXT = 10_000
"""Greatest number of characters of a text in a manifest, which messages and responses may repeat; chosen."""


def _check_texts(value: Any) -> None:
    """Checks that no text in a manifest is too long."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and len(item) > LONGEST_TEXT:
            raise ValueError(f"a text of {len(item)} characters")
        if isinstance(item, dict):
            waiting += (*item, *item.values())
        elif isinstance(item, list):
            waiting += item


def _embedder(item: dict[str, Any]) -> EmbedderIdentity:
    _check(item, str, "kind", "model", "fingerprint", "query_prompt", "document_prompt")
    _check({"precision": "float32", **item}, str, "precision")
    _check(item, int, "dimension", "max_tokens")
    if not item["dimension"]:
        raise ValueError("dimension 0")
    return EmbedderIdentity(**item)


def _encoder(item: dict[str, Any]) -> EncoderInfo:
    _check({"bundled": False, **item}, bool, "exported", "bundled", "quantized")
    _check(item, str | None, "reason")
    return EncoderInfo(**item)


def _facet(item: dict[str, Any]) -> FacetDeclaration:
    _check(item, str, "name", "type", "label")
    if item["type"] not in FACET_TYPES:
        raise ValueError(f"facet type {item['type']!r}")
    return FacetDeclaration(**item)


def _file(item: dict[str, Any]) -> IndexedFile:
    _check(item, str, "path", "sha256")
    _check(item, int, "size")
    file = IndexedFile(**item)
    path = PurePosixPath(file.path)
    inside = not path.is_absolute() and path.parts and ".." not in path.parts and "\\" not in file.path
    if not inside or ":" in file.path or not file.path.isprintable():
        raise ValueError(f"file path {file.path!r}")
    if not _SHA256.fullmatch(file.sha256):
        raise ValueError(f"hash of {file.path!r}")
    return file


def _check(values: dict[str, Any], kind: type | UnionType, *names: str) -> None:
    """Checks that a value has its type; a number is a count, and `true` is not a number."""
    for name in names:
        value = values.get(name) if isinstance(kind, UnionType) else values[name]
        wrong_number = isinstance(value, int) and (isinstance(value, bool) is not (kind is bool) or value < 0)
        if not isinstance(value, kind) or wrong_number:
            raise ValueError(f"{name} {value!r}")


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Identity of an embedder: equal identities have equal vectors. Part of the manifest and of vector-cache keys.

    Attributes:
        kind: `sentence-transformers`, also if ONNX Runtime runs the model, or `openai`.
        model: the configured name (hub id); for a folder its last component, never a path of this machine.
        fingerprint: hash of weights, tokenizer and pooling settings, or for a remote model its name and revision.
        dimension: length of a vector.
        max_tokens: greatest number of tokens; the encoder truncates longer texts.
        query_prompt, document_prompt: prefix that the model needs for its input; `""` for none.
        precision: precision of the weights that embedded the documents, `float32` or `int8`; vectors of both can be
            compared, but are not equal.
    """

    kind: str
    model: str
    fingerprint: str
    dimension: int
    max_tokens: int
    query_prompt: str = ""
    document_prompt: str = ""
    precision: str = "float32"
