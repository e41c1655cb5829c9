"""Writes the lexical index: one Tantivy document for each chunk, whose field `row` is the row of the chunk."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.artifact.manifest import LEXICAL
from mkdocs_semsearch.indexing.content_cache import ContentCache, digest_of
from mkdocs_semsearch.indexing.lexical_texts import SiteTexts, texts_code
from mkdocs_semsearch.lexical.analyzers import FIELDS, TOKENIZERS, lexical_analyzers, lexical_schema

if TYPE_CHECKING:
    import tantivy

_HEAP_BYTES = 256_000_000
_META = "meta.json"

_LEAST_RUN_ROWS = 600
"""Least number of rows in a segment. An edit rewrites one segment, in 0.04 ms of processor time for each row."""

_MOST_RUNS = 6
"""Greatest number of segments. Up to seven do not slow down queries (14,000 rows: 1.2 ms with one segment, 1.1 with
four, 1.4 with seven), and from eight on Tantivy would merge them."""

_RUN_GROWTH = 1.1
"""Factor between two possible least sizes of a segment. As these are few, an edit rarely changes the least size."""

_CUT_BELOW = 16
"""A page whose digest begins with a byte below this, one page in sixteen, may begin a segment; chosen, not measured."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Pages that share a segment of the index; runs with equal keys have equal segments."""

    pages: slice
    first_row: int
    key: str


def write_lexical_runs(
    site: SiteTexts,
    folder: Path,
    build_id: str,
    earlier: Path | None,
    handed_over: Callable[[], object] = lambda: None,
) -> None:
    """Writes the index of a site in a few segments, and reuses those without a changed page from an earlier index.

    Args:
        site: the texts of the site.
        folder: folder to create; must not exist.
        build_id: identifier of the new build, under which its segments are cached.
        earlier: folder of a build whose segments may be taken; their files are linked, or else copied.
        handed_over: called when Tantivy has all texts; from then on it works without the interpreter's lock.

    Raises:
        OSError: the folder cannot be written.
    """
    runs = _runs(site)
    known = _known_segments(site.contents, earlier)
    fresh = [run for run in runs if run.key not in known]
    with _clean_folder(folder):
        written = _write_segments(site, fresh, folder, handed_over)
        for run in runs:
            if earlier is not None and run.key in known:
                site.touch(run.pages)
                _take_segment(known[run.key], earlier / LEXICAL, folder)
        # Tantivy lists its segments in any order. Sort them by row, so that equal scores keep the order of the site.
        segments = [known.get(run.key) or written[run.key] for run in runs]
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        (folder / _META).unlink()  # Tantivy makes it readable only for this user; a new file gets the usual permissions
        (folder / _META).write_text(json.dumps({**meta, "segments": segments}), encoding="utf-8")
    entries = {run.key: segment for run, segment in zip(runs, segments, strict=True)}
    site.contents.put({_segments_key(build_id): json.dumps(entries).encode()})


def _take_segment(segment: Mapping[str, Any], source: Path, target: Path) -> None:
    files = list(source.glob(f"{segment['segment_id'].replace('-', '')}.*"))
    if not files:
        raise OSError(f"{source} was replaced by another build")
    for file in files:
        try:
            os.link(file, target / file.name)  # nothing ever writes into the files of a build
        except OSError:  # some file systems have no links, and no link leads to another file system
            shutil.copyfile(file, target / file.name)


def _runs(site: SiteTexts) -> list[_Run]:
    """Divides the pages into runs, at positions that depend on their content, so that an edit changes few runs."""
    sizes = [len(page.chunks) for page in site.pages]
    least: float = _LEAST_RUN_ROWS
    while sum(sizes) > _MOST_RUNS * least:
        least *= _RUN_GROWTH
    cuts, rows = [0], 0
    for number, size in enumerate(sizes):
        if rows >= 2 * least or (rows >= least and site.digests[number][0] < _CUT_BELOW):
            cuts.append(number)
            rows = 0
        rows += size
    starts = [0, *accumulate(sizes)]
    places = zip(cuts, [*cuts[1:], len(sizes)], strict=True)
    return [
        _Run(slice(first, end), starts[first], _run_key(site, slice(first, end), starts[first]))
        for first, end in places
        if starts[first] < starts[end]  # Tantivy does not write segments without documents
    ]


@cache
def _code() -> str:
    """Returns a hash of the code that prepares and writes texts, so that a new version does not reuse old segments."""
    return digest_of(texts_code().encode() + Path(__file__).read_bytes()).hex()


def _run_key(site: SiteTexts, pages: slice, first_row: int) -> str:
    settings = [_code(), version("tantivy"), first_row, list(site.analysis.stemmers), list(site.stemmers[pages])]
    return digest_of(json.dumps(settings).encode() + b"".join(site.digests[pages])).hex()


def _segments_key(build_id: str) -> bytes:
    return digest_of(f"lexical segments of {build_id}".encode())


def _known_segments(contents: ContentCache, earlier: Path | None) -> dict[str, Any]:
    """Returns the segment entries of an earlier build's Tantivy metadata, by the keys of their runs."""
    if earlier is None:
        return {}
    value = contents.value(_segments_key(earlier.name))
    try:
        known: dict[str, Any] = json.loads(value or b"{}")
        present = json.loads((earlier / LEXICAL / _META).read_text(encoding="utf-8"))["segments"]
    except (OSError, ValueError, KeyError):
        return {}
    return {key: segment for key, segment in known.items() if segment in present}


def _write_segments(
    site: SiteTexts, runs: Sequence[_Run], folder: Path, handed_over: Callable[[], object]
) -> dict[str, Any]:
    """Writes a segment for every run; returns Tantivy's metadata of each segment by the key of the run."""
    written: dict[str, Any] = {}
    with _lexical_writer(folder) as writer:
        for run in runs:
            _add_documents(writer, site.terms(run.pages), run.first_row)
            if run is runs[-1]:
                handed_over()
            writer.commit()
            segments = json.loads((folder / _META).read_text(encoding="utf-8"))["segments"]
            written[run.key] = next(segment for segment in segments if segment not in written.values())
    return written


@contextlib.contextmanager
def _clean_folder(folder: Path) -> Iterator[None]:
    """Creates a folder in which Tantivy writes an index, and removes all other files afterwards."""
    folder.mkdir()
    try:
        yield
    except UnicodeError:
        raise
    except ValueError as error:  # Tantivy raises ValueError if the disk is full
        raise OSError(f"lexical index: {error}") from error
    # Remove lock files and Tantivy's list of managed files: an immutable folder does not need them, and many hosts do
    # not serve files whose names begin with a dot.
    for leftover in folder.glob(".*"):
        leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def _lexical_writer(folder: Path) -> Iterator[tantivy.IndexWriter]:
    """Opens an index for terms joined by spaces; the analyzer of identifiers, which splits at spaces, is enough."""
    import tantivy

    opened = tantivy.Index(lexical_schema(), path=str(folder))
    between_spaces = lexical_analyzers(None)["identifiers"]
    for name in set(TOKENIZERS.values()):
        opened.register_tokenizer(name, between_spaces)
    writer = opened.writer(heap_size=_HEAP_BYTES, num_threads=1)
    yield writer
    writer.wait_merging_threads()


def _add_documents(writer: tantivy.IndexWriter, terms: Iterable[Sequence[str]], first_row: int) -> None:
    import tantivy

    for row, fields in enumerate(terms, first_row):
        document = tantivy.Document()
        document.add_unsigned("row", row)
        for name, content in zip(FIELDS, fields, strict=True):
            document.add_text(name, content)
        writer.add_document(document)
