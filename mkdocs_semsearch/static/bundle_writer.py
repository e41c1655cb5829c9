"""Writes a static bundle: converts an index folder to files for a plain file server."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mkdocs_semsearch import lexical
from mkdocs_semsearch.artifact import WEIGHTS, Manifest, OpenIndex, open_index
from mkdocs_semsearch.artifact import fields as artifact_fields
from mkdocs_semsearch.artifact.atomic_files import part_of, put_in_place, remove_old_parts, replace_file
from mkdocs_semsearch.artifact.index_folder import sha256_of
from mkdocs_semsearch.artifact.manifest import CHUNKS, PAGES, VECTORS
from mkdocs_semsearch.embedding import token_table
from mkdocs_semsearch.embedding.model_files import is_default_model
from mkdocs_semsearch.embedding.token_table import TokenTable
from mkdocs_semsearch.errors import IndexFolderError, IndexWriteError, reason
from mkdocs_semsearch.lexical.analyzers import Analysis, exact_text, lexical_texts, plain_words
from mkdocs_semsearch.lexical.clauses import COMMON_SHARE
from mkdocs_semsearch.lexical.compounds import NO_COMPOUNDS, Compounds, joins_words, links_of
from mkdocs_semsearch.lexical.extra_words import AddedWords, ReaderWords
from mkdocs_semsearch.lexical.languages import (
    frequent_stop_words,
    joined_stems,
    page_stemmers,
    stems_with,
    telling_words,
)
from mkdocs_semsearch.lexical.terms import FIELD_WEIGHTS
from mkdocs_semsearch.searching.ranking import SEMANTIC_WEIGHT, semantic_weight
from mkdocs_semsearch.static.bundle import WrittenShards
from mkdocs_semsearch.static.chunk_words import ChunkText, ChunkWords
from mkdocs_semsearch.static.earlier import NO_PARTS, ChunkTable, Parts, Shards, hash_of, read_parts, write_parts
from mkdocs_semsearch.static.format import BUNDLE_PREFIX, FORMAT, HASHES, POINTER, terms_of
from mkdocs_semsearch.static.meaning import Precision, fit_reduction, write_meaning
from mkdocs_semsearch.static.postings import CLAUSE_UNIT, WEIGHT_UNIT, Postings, index_words, suffix_rules
from mkdocs_semsearch.static.site_writer import NameHashes, Record, language_tags, write_site
from mkdocs_semsearch.static.word_shards import write_positions, write_terms, write_words
from mkdocs_semsearch.wording import counted, file_size

if TYPE_CHECKING:
    import tantivy

_LEAST_DIMENSIONS, _MOST_DIMENSIONS = 96, 128
_VECTOR_BYTES = 200_000
"""Target size of all vectors, which the browser loads before the first response; the fewest dimensions may need more.
Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class BundleReport:
    """The result of writing a bundle.

    Attributes:
        name: name of the bundle folder.
        files: number of files.
        size_bytes: size of all files in bytes.
        changed: False if this bundle was already in place.
        semantic: False without a token table; search is then text-only.
    """

    name: str
    files: int
    size_bytes: int
    changed: bool
    semantic: bool

    def __str__(self) -> str:
        state = "" if self.changed else " (unchanged)"
        if not self.semantic:
            state += ", text-only: the shipped token table is for another model; tune: true makes one for this model"
        return f"static search in {counted(self.files, 'file')}, {file_size(self.size_bytes)}{state}"


def write_bundle(
    index_dir: Path,
    target: Path,
    table: TokenTable | None,
    *,
    precision: Precision | None = None,
    memory: Path | None = None,
) -> BundleReport:
    """Writes the bundle of an index.

    Args:
        index_dir: the index.
        target: folder of the site, created if necessary; other files in it are not changed. The bundle folder is
            written before the pointer, so a reader sees either the previous bundle or this one.
        table: token table of the index's model; None for a text-only bundle.
        precision: that of the vectors; None to choose it by the size of the site.
        memory: file with parts of the last bundle, which is read and then replaced. The bundle is the same without it.

    Raises:
        IndexFolderError: the index is not complete, or the bundle cannot be written.
    """
    index = open_index(index_dir)
    staging = part_of(target / "bundle")
    try:
        staging.mkdir(parents=True)
        made_with = _made_with(index.manifest)
        earlier = NO_PARTS if memory is None else read_parts(memory, made_with)
        pointer, parts = _write_contents(index, staging, table, precision, earlier)
        with ThreadPoolExecutor(1) as pool:
            saving = None if memory is None else pool.submit(write_parts, memory, made_with, parts)
            report = _publish(staging, target, pointer)
        if saving is not None:
            saving.result()
        return report
    except OSError as error:
        raise IndexWriteError(
            f"The static search could not be written to {target} ({reason(error)}): "
            "make room or allow writing there, then build again."
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def copy_bundle(source: Path, target: Path) -> BundleReport:
    """Copies a bundle that `write_bundle` wrote to `source`, in the same order: its folder, then the pointer to it.

    Raises:
        OSError: a file cannot be read or written, or `source` lacks a file.
    """
    pointer = json.loads((source / POINTER).read_text(encoding="utf-8"))
    name = pointer["bundle"]
    files = json.loads((source / name / HASHES).read_text(encoding="utf-8"))["files"]
    if not _is_whole(source / name):
        raise OSError(f"{source / name} lacks files")
    changed = not _is_whole(target / name)
    if changed:
        staging = part_of(target / "bundle")
        try:
            shutil.copytree(source / name, staging, copy_function=shutil.copyfile)
            _put_in_place(staging, target / name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return _point_to(target, pointer, files, changed=changed)


def _publish(staging: Path, target: Path, pointer: dict[str, Any]) -> BundleReport:
    """Names a written folder by a hash of its content, moves it into place and writes the pointer to it."""
    paths = sorted(path for path in staging.rglob("*") if path.is_file())
    files = {path.relative_to(staging).as_posix(): (path.stat().st_size, sha256_of(path)) for path in paths}
    listing = json.dumps({**pointer, "files": files}, ensure_ascii=False, indent=0)
    name = BUNDLE_PREFIX + hashlib.sha256(listing.encode()).hexdigest()[:16]
    changed = not _is_whole(target / name)
    if changed:
        (staging / HASHES).write_text(listing + "\n", encoding="utf-8")
        _put_in_place(staging, target / name)
    return _point_to(target, {**pointer, "bundle": name}, files, changed=changed)


def _put_in_place(staging: Path, folder: Path) -> None:
    put_in_place(staging, folder, lambda: _is_whole(folder))


def _is_whole(folder: Path) -> bool:
    """Returns whether a bundle folder has all its files; one whose removal was interrupted may still have its list."""
    try:
        files = json.loads((folder / HASHES).read_text(encoding="utf-8"))["files"]
        return all((folder / name).stat().st_size == size for name, (size, _) in files.items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _point_to(target: Path, pointer: dict[str, Any], files: dict[str, Any], *, changed: bool) -> BundleReport:
    """Writes the pointer to a bundle in one step, and removes older and unfinished ones: the site does not grow."""
    remove_old_parts(target)
    replace_file(target / POINTER, json.dumps(pointer, ensure_ascii=False) + "\n")
    name = pointer["bundle"]
    for entry in target.glob(f"{BUNDLE_PREFIX}*"):
        if entry.is_dir() and entry.name != name:
            shutil.rmtree(entry, ignore_errors=True)
    size = sum(size for size, _ in files.values())
    return BundleReport(name, len(files) + 1, size, changed, semantic=pointer["semantic"] is not None)


def precision_for(chunks: int) -> Precision:
    """Chooses the number of dimensions, 4 bits each: more for a small site, because all vectors are loaded."""
    affordable = 2 * _VECTOR_BYTES // max(1, chunks) // 16 * 16
    return max(_LEAST_DIMENSIONS, min(_MOST_DIMENSIONS, affordable)), 4


def _made_with(manifest: Manifest) -> bytes:
    """Returns a hash of what all parts of a bundle depend on: the code that makes them, and the site's own words."""
    # Common words are only in the pointer, and one edit may change them.
    settings = {name: value for name, value in manifest.lexical.items() if name not in ("common", "names")}
    return hash_of(code_digest(), manifest.generator.encode(), json.dumps(settings, sort_keys=True).encode())


@functools.cache
def code_digest() -> bytes:
    """Returns a hash of the code that splits texts and writes bundles, and of the weights, which a bundle contains."""
    folders = (Path(__file__).parent, Path(lexical.__file__).parent)
    files = [*(file for folder in folders for file in sorted(folder.glob("*.py"))), *map(Path, _OTHER_CODE)]
    return hash_of(sys.version.encode(), json.dumps(WEIGHTS).encode(), *(file.read_bytes() for file in files))


_OTHER_CODE = (artifact_fields.__file__, token_table.__file__)


def _write_contents(
    index: OpenIndex, folder: Path, table: TokenTable | None, precision: Precision | None, earlier: Parts
) -> tuple[dict[str, Any], Parts]:
    """Writes the files of a bundle; returns its pointer and its parts."""
    manifest, build_dir = index.manifest, index.build_dir
    readers, names, shards = ReaderWords.of(manifest.lexical), NameHashes(earlier.names), Shards(earlier.shards)
    own_shards, meaning = Shards(earlier.shards), None
    # The words take as long as everything else, and much of both is done without the interpreter's lock. With these two
    # threads running, those of the linear algebra would wait for each other, on a busy machine for seconds.
    with ThreadPoolExecutor(1) as pool, threadpool_limits(1, "blas"):
        if table is not None and manifest.chunks:
            vectors: NDArray[np.float32] = np.load(build_dir / VECTORS, allow_pickle=False).astype(np.float32)
            reduction = pool.submit(fit_reduction, vectors, precision or precision_for(len(vectors)))
        pages, chunks = _records(build_dir / PAGES), ChunkTable(build_dir / CHUNKS)
        if pages and "kind" not in pages[0]:
            raise IndexFolderError(
                f"{build_dir} was built by an earlier version, without what the search without a server needs: "
                "build the index again."
            )
        spans = _spans(pages)
        digests = chunks.digests(spans)
        keys, words = _split(manifest, pages, chunks, digests, earlier)
        if table is not None and manifest.chunks:
            meaning = pool.submit(write_meaning, folder, vectors, table, reduction.result(), words.question_words())
        site = pool.submit(
            write_site,
            folder,
            pages,
            chunks,
            manifest.facets,
            readers,
            digests=digests,
            hash_of_name=names,
            compressed=own_shards,
        )
        parts, lexical_part = _write_words(folder, manifest, pages, words, shards)
        texts = site.result()
    semantic = None
    if meaning is not None:
        parts["tokens"], entry = meaning.result()
        semantic = _semantic_entry(manifest, entry)
    pointer = {
        **_site_entries(manifest, pages),
        "semantic": semantic,
        "weights": WEIGHTS,
        "lexical": lexical_part,
        "shards": {"texts": sum(map(len, texts)), **{kind: part.firsts for kind, part in parts.items()}},
        "packs": {"texts": texts, **{kind: part.packs for kind, part in parts.items()}},
    }
    return pointer, Parts(dict(zip(keys, spans, strict=True)), words, names.used, {**own_shards.used, **shards.used})


def _site_entries(manifest: Manifest, pages: Sequence[Record]) -> dict[str, Any]:
    """Returns the entries of the pointer that describe the site."""
    return {
        "format": FORMAT,
        "build_id": manifest.build_id,
        "generator": manifest.generator,
        "site_name": manifest.site_name,
        "language": manifest.language,
        **_languages(pages, manifest),
        "pages": len(pages),
        "sections": manifest.sections,
        "chunks": manifest.chunks,
        "facets": [asdict(facet) for facet in manifest.facets],
    }


def _semantic_entry(manifest: Manifest, semantic: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entry `semantic` of the pointer.

    The token table has a lower semantic weight than the model; a configured weight scales both equally.
    """
    weight = min(1.0, semantic["weight"] * semantic_weight(manifest.lexical) / SEMANTIC_WEIGHT)
    return {**semantic, "weight": weight, "measured": is_default_model(manifest.embedder.model)}


def _spans(pages: Sequence[Record]) -> list[tuple[int, int]]:
    """Returns the first row of every page, and the row after its last one."""
    return [(page["first_chunk"], page["first_chunk"] + page["chunk_count"]) for page in pages]


def _split(
    manifest: Manifest, pages: Sequence[Record], chunks: ChunkTable, digests: Sequence[bytes], earlier: Parts
) -> tuple[list[bytes], ChunkWords]:
    """Returns a key of every page, see `Parts`, and the words of all chunks; only new pages are split."""
    stemmers = page_stemmers([page["language"] for page in pages], manifest.language)
    added = AddedWords(ReaderWords.of(manifest.lexical), _compounds(chunks, stemmers))
    spans = _spans(pages)
    keys = [
        hash_of(digest, repr((page["path"], page["front_matter"], stemmer)).encode("utf-8", "surrogatepass"))
        for digest, page, stemmer in zip(digests, pages, stemmers, strict=True)
    ]
    # The parts of a compound depend on the words of other pages.
    known = [
        earlier.pages.get(key) if not joins_words(stemmer) else None
        for key, stemmer in zip(keys, stemmers, strict=True)
    ]
    new = [number for number, span in enumerate(known) if span is None]

    def texts() -> Iterator[ChunkText]:
        for number in new:
            page, here = pages[number], chunks.rows(*spans[number], _WITH_WORDS)
            places = ((chunk["heading_hierarchy"], chunk["content"]) for chunk in here)
            words = added.of_page(page["path"], json.loads(page["front_matter"]), stemmers[number], places)
            yield from map(_chunk_text, here, words)

    if len(new) == len(pages):
        return keys, ChunkWords.of(texts())
    end = len(earlier.words.added)
    rows = []
    for (first, last), span in zip(spans, known, strict=True):
        if span is None:
            span = end, end + last - first
            end += last - first
        rows.append(np.arange(*span))
    return keys, earlier.words.picked(np.concatenate(rows), texts())


def _write_words(
    folder: Path, manifest: Manifest, pages: Sequence[Record], words: ChunkWords, shards: Shards
) -> tuple[dict[str, WrittenShards], dict[str, Any]]:
    """Writes the words; returns their shards and the entry `lexical` of the pointer."""
    analysis = Analysis.of(manifest.lexical)
    if analysis.is_single:
        stem = stems_with(analysis.stemmers[0])
    else:
        stemmers = page_stemmers([page["language"] for page in pages], manifest.language)
        of_chunks = np.repeat(np.arange(len(pages)), [page["chunk_count"] for page in pages])
        different = list(dict.fromkeys(stemmers))
        numbers = np.array([different.index(stemmer) for stemmer in stemmers], np.int64)[of_chunks]
        stem = joined_stems((stemmer, words.words(numbers == number)) for number, stemmer in enumerate(different))
    stop_words = analysis.stop_words
    analyzer = telling_words(stop_words)
    postings = index_words(words, stem, lambda word: not analyzer.analyze(word))
    parts = {
        "terms": write_terms(folder, postings, _telling(postings, analyzer, len(words.added)), shards),
        "words": write_words(folder, postings.frequency, shards),
        "positions": write_positions(folder, postings.places, shards),
    }
    return parts, {
        "unit": WEIGHT_UNIT * CLAUSE_UNIT,
        "suffixes": suffix_rules(postings.stems),
        "stop": _stop_words(postings, analyzer, stop_words),
        "links": list(links_of(stop_words)),
        **{name: manifest.lexical.get(name, []) for name in ("common", "names")},
    }


def _languages(pages: Sequence[Record], manifest: Manifest) -> dict[str, Any]:
    """Returns the language entries of the pointer; empty if all pages have one language, which the model covers."""
    tags = language_tags(pages)
    if len(tags) < 2 and not manifest.coverage:
        return {}
    return {"languages": {"tags": tags, "coverage": dict(manifest.coverage)}}


def _records(path: Path) -> list[Record]:
    import pyarrow.parquet as pq

    records: list[Record] = pq.ParquetFile(path).read(use_threads=False).to_pylist()
    return records


def _compounds(chunks: ChunkTable, stemmers: Sequence[str | None]) -> Compounds:
    """Splits the compounds of a site, see `site_compounds`."""
    joining = {number: stemmer for number, stemmer in enumerate(stemmers) if stemmer and joins_words(stemmer)}
    if not joining:
        return NO_COMPOUNDS
    words: dict[str, set[str]] = {}
    places = zip(chunks.pages.tolist(), chunks.column("heading_hierarchy"), chunks.column("content"), strict=True)
    for page, heading_hierarchy, content in places:
        if page in joining:
            words.setdefault(joining[page], set()).update(plain_words(exact_text(heading_hierarchy, content)))
    return Compounds(words)


_WITH_WORDS = ("heading_hierarchy", "content", "definitions", "node_name")
"""Columns of `chunks.parquet` that `_chunk_text` reads."""


def _chunk_text(chunk: Record, added: Sequence[str]) -> ChunkText:
    names = (*chunk["definitions"], chunk["node_name"] or "")
    texts = lexical_texts(chunk["heading_hierarchy"], chunk["content"], names, added)
    fields = {name: texts[name] for name in FIELD_WEIGHTS}
    return ChunkText(
        fields,
        tuple(texts["identifiers"].split()),
        heading=chunk["heading_hierarchy"][-1],
        added=len(terms_of("\n".join(added))),
        embedded="\n".join((*chunk["heading_hierarchy"], chunk["content"])),
    )


def _telling(postings: Postings, analyzer: tantivy.TextAnalyzer, chunks: int) -> Callable[[str], bool]:
    """Returns a function that says whether a word may be highlighted: not a stop word, and not in too many chunks."""
    common = COMMON_SHARE * chunks
    return lambda word: postings.frequency[word] < common and bool(analyzer.analyze(word))


def _stop_words(postings: Postings, analyzer: tantivy.TextAnalyzer, stemmer: str | None) -> list[str]:
    """Returns the stop words among the words of the site, and those that stand in questions."""
    here = {word for word in postings.frequency if not analyzer.analyze(word)}
    return sorted(here.union(frequent_stop_words(stemmer)))
