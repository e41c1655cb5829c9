"""Opens a static bundle as a `Searcher`.

That searcher is the reference for the engine in the browser, and `semsearch eval` measures it.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mkdocs_semsearch.artifact import WEIGHTS, EmbedderIdentity, FacetDeclaration, Manifest, open_index
from mkdocs_semsearch.artifact.fields import READERS, chunks_schema, facet_column, pages_schema
from mkdocs_semsearch.artifact.manifest import SITE_FOLDER
from mkdocs_semsearch.embedding.token_table import fitting_table
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.searching.backend import EmbeddedBackend
from mkdocs_semsearch.searching.ranking import SEMANTIC_WEIGHT, ranks_of_name
from mkdocs_semsearch.searching.scoring import Sides
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.searching.tables import Tables
from mkdocs_semsearch.static.bundle import Bundle, is_bundle, open_bundle
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.format import CORE, FIELDS, Blocks, fnv1a, normalised_name, shard_name
from mkdocs_semsearch.static.lexical_side import StaticLexical
from mkdocs_semsearch.static.meaning import StaticEncoder, StaticVectors

if TYPE_CHECKING:
    import pyarrow as pa


@contextlib.contextmanager
def open_static(folder: Path) -> Iterator[Searcher]:
    """Opens an index for the search that a browser does.

    Args:
        folder: a folder with `static.json`, or a built site that has it in `SITE_FOLDER`, or an index, from which the
            files of the static search are written into a temporary folder.

    Raises:
        IndexFolderError: the folder is none of these, or is damaged.
    """
    if bundle := bundle_in(folder):
        yield open_static_searcher(bundle)
        return
    table = fitting_table(open_index(folder).manifest.embedder)
    with tempfile.TemporaryDirectory(prefix="semsearch-") as made:
        write_bundle(folder, Path(made), table)
        yield open_static_searcher(Path(made))


def bundle_in(folder: Path) -> Path | None:
    """Returns the folder that contains `static.json`: the given one or its `SITE_FOLDER`; None if neither does."""
    return next(filter(is_bundle, (folder, folder / SITE_FOLDER)), None)


def open_static_searcher(folder: str | Path) -> Searcher:
    """Opens the bundle in a folder for queries.

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: it cannot be opened.
    """
    bundle = open_bundle(Path(folder))
    return Searcher(_manifest(bundle), backend_of(bundle), StaticEncoder(bundle))


def backend_of(bundle: Bundle) -> EmbeddedBackend:
    """Opens the backend of a bundle, with tables read from its files and with a static lexical and semantic side.

    Raises:
        IndexCorruptError: a file of the bundle is damaged.
    """
    try:
        tables = _tables(bundle, _manifest(bundle))
        names = StaticNames(bundle.read(CORE))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(bundle, error) from None
    semantic = bundle.pointer["semantic"] or {}
    sides = Sides(
        vectors=StaticVectors(bundle),
        lexical=StaticLexical(bundle),
        names=names,
        weight=semantic.get("weight", SEMANTIC_WEIGHT),
        nothing=WEIGHTS["static_nothing"] if semantic.get("measured") else None,
        matches=WEIGHTS["static_matches"],
    )
    return EmbeddedBackend(tables, sides)


class StaticNames:
    """Looks up titles and headings by their hash, see `LiteralNames`."""

    def __init__(self, core: Blocks) -> None:
        self._hashes = core.array("name_hash")
        self._rows = core.array("name_row")
        self._ranks = core.array("name_rank")

    def ranks(self, text: str, *, plurals: bool = True) -> dict[int, int]:
        """Returns the rows whose title or heading is `text`, and their ranks, see `ranks_of_name`."""
        name = normalised_name(text)
        return ranks_of_name(name, self._ranks_of, plurals=plurals) if name else {}

    def _ranks_of(self, name: str) -> dict[int, int]:
        begin, end = (int(np.searchsorted(self._hashes, fnv1a(name), side)) for side in ("left", "right"))
        # Ranks rise among equal hashes: the title of a row overwrites its heading.
        return dict(zip(self._rows[begin:end].tolist(), self._ranks[begin:end].tolist(), strict=True))


def _manifest(bundle: Bundle) -> Manifest:
    pointer = bundle.pointer
    try:
        return Manifest(
            build_id=pointer["build_id"],
            generator=pointer["generator"],
            created="",
            embedder=EmbedderIdentity(kind="static", model="token table", fingerprint="", dimension=1, max_tokens=128),
            facets=tuple(FacetDeclaration(**facet) for facet in pointer["facets"]),
            pages=pointer["pages"],
            sections=pointer["sections"],
            chunks=pointer["chunks"],
            files=(),
            site_name=pointer["site_name"],
            language=pointer["language"],
            coverage=pointer.get("languages", {}).get("coverage", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(bundle, error) from None


def _damaged(bundle: Bundle, error: Exception) -> IndexCorruptError:
    return IndexCorruptError(f"{bundle.folder} is damaged ({error!r}): build the site again.")


def _tables(bundle: Bundle, manifest: Manifest) -> Tables:
    """Restores the tables of an index from the files of a bundle."""
    core, fields = bundle.read(CORE), bundle.read(FIELDS)
    records = fields.json("pages")
    columns = [_facet_values(core, number, facet, len(records)) for number, facet in enumerate(manifest.facets)]
    boost = core.array("boost").tolist() or [1.0] * len(records)
    counts = core.array("page_chunks").astype(np.int64)
    firsts = np.cumsum(counts) - counts
    pages = [
        {
            **record,
            "front_matter": json.dumps(record["frontmatter"], ensure_ascii=False),
            "translations": json.dumps(record["translations"]),
            "boost": boost[row],
            "first_chunk": int(firsts[row]),
            **{facet_column(f.name): column[row] for f, column in zip(manifest.facets, columns, strict=True)},
        }
        for row, record in enumerate(records)
    ]
    chunks = _chunk_rows(bundle, core, counts.tolist())
    return Tables(_table(pages, pages_schema(manifest.facets)), _table(chunks, chunks_schema()), manifest)


def _chunk_rows(bundle: Bundle, core: Blocks, counts: list[int]) -> list[dict[str, Any]]:
    import pyarrow as pa

    sections = np.cumsum(core.array("section_starts"), dtype=np.int64) - 1
    groups = np.arange(int(sections[-1]) + 1 if len(sections) else 0)
    groups[core.array("twins").astype(np.int64)] = core.array("twin_of")
    pages = np.repeat(np.arange(len(counts)), counts).tolist()
    shards = (bundle.read(shard_name("texts", number)) for number in range(bundle.pointer["shards"]["texts"]))
    records = (record for shard in shards for record in shard.json("chunks"))
    empty: dict[str, Any] = {field.name: [] for field in chunks_schema() if pa.types.is_list(field.type)}
    return [
        {**empty, **record, "page": page, "section": section, "duplicate_group": int(groups[section])}
        for record, page, section in zip(records, pages, sections.tolist(), strict=True)
    ]


def _facet_values(core: Blocks, number: int, facet: FacetDeclaration, pages: int) -> list[Any]:
    values = [READERS[facet.type](value) for value in core.json(f"facet_{number}_values")]
    rows, codes = (core.array(f"facet_{number}_{part}").tolist() for part in ("rows", "codes"))
    column: list[Any] = [[] if facet.type == "list" else None for _ in range(pages)]
    for row, code in zip(rows, codes, strict=True):
        if facet.type == "list":
            column[row].append(values[code])
        else:
            column[row] = values[code]
    return column


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema).combine_chunks()
