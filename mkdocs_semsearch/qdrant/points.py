"""Makes the points of a Qdrant collection: one for each chunk, with a dense and a sparse vector, and one for each page.

The sparse vector has the BM25 score of every term of the chunk, computed when the index is built. A query is then one
dot product, and the result equals the score of the lexical index. A word is stemmed in titles, headings and text, but
not in code, so its score is split over two dimensions: one for the stem, one for what the unstemmed word adds.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qdrant_client import models

from mkdocs_semsearch.artifact.fields import (
    CHUNK_COLUMNS,
    CHUNK_FIELDS,
    PAGE_FIELDS,
    FacetType,
    facet_column,
    front_matter_values,
    stored_field,
)
from mkdocs_semsearch.chunking import Chunk
from mkdocs_semsearch.indexing.lexical_texts import prepared_texts
from mkdocs_semsearch.indexing.writers import IndexedRows, chunk_rows, page_rows
from mkdocs_semsearch.lexical.analyzers import FIELDS, STEMMED_FIELDS, Analysis, prepare
from mkdocs_semsearch.lexical.question import AddedNames, NamedChunk, literal_name, literal_names
from mkdocs_semsearch.lexical.terms import FIELD_WEIGHTS, best_field, inverse_frequency, rounded_length, saturation
from mkdocs_semsearch.qdrant.collection import (
    CHUNK,
    CHUNK_POINT,
    EXACT_TEXT,
    HEADING_NAME,
    HEADING_STEMS,
    KIND,
    MEANING,
    PAGE,
    PAGE_POINT,
    PIN_NAME,
    TITLE_NAME,
    WORDS,
    CollectionField,
    collection_fields,
    fitting_type,
    word_dimension,
)
from mkdocs_semsearch.searching.records import PAGE_COLUMNS

if TYPE_CHECKING:
    import tantivy

_WRITTEN = ("code", "parts")
Scores = dict[str, float]

_dimension = functools.lru_cache(maxsize=500_000)(word_dimension)
"""Caches the dimensions of words in chunks, which repeat; words of queries are not cached. Size not measured."""


class SparseWords:
    """Makes the sparse vectors of chunks from statistics of all chunks.

    Args:
        chunks: all chunks of the site, each with the words that are added to it; they are read once and not kept.
        stemmers: stemmer for the language of every chunk.

    Attributes:
        chunks_with: field to term to the number of chunks with the term.
    """

    def __init__(self, chunks: Iterable[tuple[Chunk, Sequence[str]]], stemmers: Sequence[str | None]) -> None:
        self._analysis = analysis = Analysis(stemmers)
        self.chunks_with: dict[str, Counter[str]] = {field: Counter() for field in FIELDS}
        lengths = Counter[str]()
        for (chunk, added), stemmer in zip(chunks, stemmers, strict=True):
            for field, terms in _terms(chunk, added, analysis.of_page(stemmer)).items():
                self.chunks_with[field].update(set(terms))
                lengths[field] += len(terms)
        number = len(stemmers)
        self._mean_length = {field: max(lengths[field] / max(1, number), 1e-9) for field in FIELDS}
        self._stems_of = functools.cache(
            lambda word, stemmer: list(analysis.of_page(stemmer)["text"].analyze(prepare(word)))
        )
        self._inverse_of = functools.cache(lambda found: float(inverse_frequency(number, found)))

    def of(self, chunk: Chunk, added: Sequence[str], stemmer: str | None) -> tuple[models.SparseVector, str]:
        """Returns the scores of a chunk's words and those added to it, and its `EXACT_TEXT`.

        The words are stemmed by the language of the page.
        """
        terms = _terms(chunk, added, self._analysis.of_page(stemmer))
        scores = {field: self._field_scores(field, words) for field, words in terms.items()}
        sums: dict[int, float] = {}
        for dimension, score in itertools.chain(self._words(scores, stemmer), self._names(scores), self._pairs(terms)):
            sums[dimension] = sums.get(dimension, 0.0) + score
        ordered = sorted(dimension for dimension, score in sums.items() if score > 0)
        vector = models.SparseVector(indices=ordered, values=[sums[dimension] for dimension in ordered])
        return vector, " ".join(terms["exact"])

    def heading_stems(self, chunk: Chunk) -> list[str]:
        """Returns the stems of a chunk's heading, for all languages of the site, as a question is stemmed."""
        return list(dict.fromkeys(self._analysis.terms("text", prepare(chunk.heading_hierarchy[-1]))))

    def _field_scores(self, field: str, terms: list[str]) -> Scores:
        length = self._relative_length(field, terms)
        counts = Counter(terms)
        return {term: self._inverse(field, term) * saturation(count, length) for term, count in counts.items()}

    def _relative_length(self, field: str, terms: list[str]) -> float:
        return rounded_length(len(terms)) / self._mean_length[field]

    def _inverse(self, field: str, term: str) -> float:
        return self._inverse_of(self.chunks_with[field][term])

    def _words(self, scores: Mapping[str, Scores], stemmer: str | None) -> Iterable[tuple[int, float]]:
        """Yields the scores of words in any field."""
        for stem in set().union(*(scores[field] for field in STEMMED_FIELDS)):
            yield _dimension("stem", stem), best_field(self._weighted(scores, STEMMED_FIELDS, stem))
        for word in set().union(*(scores[field] for field in _WRITTEN)):
            by_stem = [
                score
                for stem in self._stems_of(word, stemmer)
                for score in self._weighted(scores, STEMMED_FIELDS, stem)
            ]
            everywhere = best_field([*by_stem, *self._weighted(scores, _WRITTEN, word)])
            yield _dimension("word", word), everywhere - best_field(by_stem)

    def _names(self, scores: Mapping[str, Scores]) -> Iterable[tuple[int, float]]:
        """Scores whole identifiers, and their parts by themselves."""
        for kind, field in (("identifier", "identifiers"), ("part", "parts")):
            for term, score in scores[field].items():
                yield _dimension(kind, term), score

    def _pairs(self, terms: Mapping[str, list[str]]) -> Iterable[tuple[int, float]]:
        """Scores neighbours in the text and in code, as phrases of two words."""
        for kind, field in (("pair", "text"), ("code_pair", "code")):
            length = self._relative_length(field, terms[field])
            for pair, count in Counter(itertools.pairwise(terms[field])).items():
                inverse = sum(self._inverse(field, term) for term in pair)
                yield _dimension(kind, *pair), inverse * saturation(count, length)

    def _weighted(self, scores: Mapping[str, Scores], fields: Iterable[str], term: str) -> list[float]:
        return [FIELD_WEIGHTS[field] * scores[field][term] for field in fields if term in scores[field]]


def _terms(chunk: Chunk, added: Sequence[str], analyzers: Mapping[str, tantivy.TextAnalyzer]) -> dict[str, list[str]]:
    texts = zip(FIELDS, prepared_texts(chunk, added), strict=True)
    return {field: list(analyzers[field].analyze(text)) for field, text in texts}


def fields_of(rows: IndexedRows) -> tuple[CollectionField, ...]:
    """Returns every field that some page or chunk may have."""
    declared = {facet.name: facet.type for facet in rows.facets}
    types: dict[str, FacetType] = {**PAGE_FIELDS, **CHUNK_FIELDS, **declared}
    front_matter = [page.front_matter for page in rows.pages]
    for name in dict.fromkeys(name for page in front_matter for name in _names(page)):
        if name not in types:
            kind, values = front_matter_values(front_matter, name)
            types[name] = fitting_type(kind, values)
    return collection_fields(types)


def points_of(rows: IndexedRows, fields: Sequence[CollectionField], words: SparseWords) -> Iterator[models.PointStruct]:
    """Yields the points in the order of their ids: row i of the chunks is point i, page j is point `chunks + j`."""
    pages = list(page_rows(rows.pages, rows.facets))
    of_pages = _page_payloads(rows, pages, fields)
    chunk_fields = [field for field in fields if field.name in CHUNK_FIELDS]
    records = chunk_rows(rows.pages, rows.groups.tolist())
    every = zip(records, rows.chunks_with_added_words(), _literal_names(rows), strict=True)
    for row, (record, (chunk, added), (headings, titles, pins)) in enumerate(every):
        page = record["page"]
        sparse, exact_text = words.of(chunk, added, rows.stemmers[page])
        payload = {
            **of_pages[page],
            **_payload(chunk_fields, record),
            KIND: CHUNK_POINT,
            CHUNK: {name: record[name] for name in CHUNK_COLUMNS},
            EXACT_TEXT: exact_text,
            HEADING_STEMS: words.heading_stems(chunk),
        }
        if titles or pins:
            payload[TITLE_NAME] = list(map(literal_name, (*titles, *pins)))
        if pins:
            payload[PIN_NAME] = list(map(literal_name, pins))
        if headings:
            payload[HEADING_NAME] = list(map(literal_name, headings))
        yield models.PointStruct(id=row, vector={MEANING: rows.vectors[row].tolist(), WORDS: sparse}, payload=payload)
    for number, (record, of_page) in enumerate(zip(pages, of_pages, strict=True), len(rows.vectors)):
        payload = {**of_page, KIND: PAGE_POINT, PAGE: {name: record[name] for name in PAGE_COLUMNS}}
        yield models.PointStruct(id=number, vector={}, payload=payload)


def _literal_names(rows: IndexedRows) -> Iterator[AddedNames]:
    chunks = (
        NamedChunk(
            number,
            chunk.section_index,
            chunk.heading_hierarchy,
            chunk.scope_path if chunk.kind == "api" else (),
            len(page.chunks) == 1 and chunk.content == chunk.heading_hierarchy[-1],
        )
        for number, page in enumerate(rows.pages)
        for chunk in page.chunks
    )
    pages = rows.pages
    return literal_names(chunks, lambda page: rows.added.readers.names_of(pages[page].path, pages[page].front_matter))


def _page_payloads(
    build: IndexedRows, rows: Sequence[Mapping[str, Any]], fields: Sequence[CollectionField]
) -> list[dict[str, Any]]:
    """Returns the payload for the fields of each page, which every point of the page has.

    `rows` are the rows of `pages.parquet`.
    """
    declared = {facet.name for facet in build.facets}
    front_matter = [page.front_matter for page in build.pages]
    payloads: list[dict[str, Any]] = [{} for _ in rows]
    for field in fields:
        if field.name in declared:
            values: Sequence[Any] = [row[facet_column(field.name)] for row in rows]
        elif field.name in PAGE_FIELDS:
            column, read = stored_field(field.name)
            values = [read(row[column]) for row in rows]
        elif field.name not in CHUNK_FIELDS:
            values = front_matter_values(front_matter, field.name)[1]
        else:
            continue
        for payload, value in zip(payloads, values, strict=True):
            payload.update(field.payload(value))
    return payloads


def _payload(fields: Iterable[CollectionField], row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the payload of fields that the indexer sets, read from a row of `chunks.parquet`."""
    payload: dict[str, Any] = {}
    for field in fields:
        column, read = stored_field(field.name)
        payload |= field.payload(read(row[column]))
    return payload


def _names(front_matter: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields every key of front matter; keys inside mappings as paths with dots."""
    for key, value in front_matter.items():
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
