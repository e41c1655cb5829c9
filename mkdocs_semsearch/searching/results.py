"""Makes results: ranks sections or pages by their chunks, and gives them text and metadata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.extra_words import ReaderWords, keywords_of, names_in
from mkdocs_semsearch.lexical.matcher import Matcher, WordStems
from mkdocs_semsearch.lexical.question import literal_name
from mkdocs_semsearch.searching.chunk_map import ChunkMap, first_of_runs, group_best
from mkdocs_semsearch.searching.excerpts import NearestSentence, make_excerpt, text_for_excerpt
from mkdocs_semsearch.searching.listing import ListedPage
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.ranking import RULES, Candidates, top
from mkdocs_semsearch.searching.records import PageInfo, Records, SectionInfo
from mkdocs_semsearch.searching.response import PageResult, Result, Scores, SectionResult, presented_score
from mkdocs_semsearch.searching.vector_store import Neighbors

_SHOWN_SHARE: float = WEIGHTS["sections"]["shown"]
"""A section shows its first chunk if that chunk has at least this share of the score of its best chunk."""


@dataclass(frozen=True, slots=True)
class RankedItem:
    """A ranked result, before its text and metadata are read.

    Attributes:
        score: the score by which it is ranked.
        best: position of its best chunk among the candidates.
        sections: for a page, positions of the best chunks of its best sections; None for a section.
        more_sections: for a page, number of further sections that match; for a weak one, of further candidates.
        duplicates: number of other matching sections that are near-duplicates.
        weak: True for a result that does not match.
    """

    score: float
    best: int
    sections: tuple[int, ...] | None = None
    more_sections: int = 0
    duplicates: int = 0
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """One page of results, and the number of results on all pages.

    Attributes:
        results: best first, matches before weaker results.
        total: number of results that match.
        weaker: number of results among the candidates that do not match.
        rows: int64 `[k]`, ascending; the chunks of the results that match.
    """

    results: tuple[RankedItem, ...]
    total: int
    weaker: int
    rows: NDArray[np.int64]

    @property
    def shown(self) -> list[int]:
        """Positions of the best chunks of all sections that are displayed."""
        return [place for item in self.results for place in (item.best, *(item.sections or ()))]


def rank(candidates: Candidates, chunk_map: ChunkMap, query: SearchQuery) -> Ranked:
    """Ranks pages or sections, depending on the granularity of the query."""
    return (_rank_pages if query.granularity == "page" else _rank_sections)(candidates, chunk_map, query)


def matching_rows(candidates: Candidates, chunk_map: ChunkMap, query: SearchQuery) -> NDArray[np.int64]:
    """Returns the chunks of the results that match, see `Ranked.rows`.

    Ranks only if there is a minimum score: without one, every chunk that matches is part of a result that matches.
    """
    return rank(candidates, chunk_map, query).rows if query.min_score else candidates.rows[candidates.matching]


def one_translation(candidates: Candidates, chunk_map: ChunkMap, reader: str) -> Candidates:
    """Keeps the candidates of one page from each group of translations.

    This is the page in the reader's language if it matches, or if no translation matches; else the matching translation
    with the best score.
    """
    languages = chunk_map.languages
    if not languages.have_translations or not len(candidates.rows):
        return candidates
    pages = chunk_map.page_of[candidates.rows]
    scores = np.full(len(languages.group_of), -1.0, np.float32)
    np.maximum.at(scores, pages, candidates.scores)
    matching = np.zeros(len(scores), np.bool_)
    matching[pages[candidates.matching]] = True
    present = np.unique(pages)
    own = ~languages.are_foreign(reader)[present]
    order = present[np.lexsort((present, -scores[present], ~own, ~matching[present]))]
    groups = languages.group_of[order]
    _, first = np.unique(groups, return_index=True)
    shown = np.zeros(len(scores), np.bool_)
    shown[order[first]] = True
    return candidates.only(shown[pages])


def _rank_sections(candidates: Candidates, chunk_map: ChunkMap, query: SearchQuery) -> Ranked:
    """Ranks sections by their best chunk; near-duplicate sections become one result."""
    sections = group_best(chunk_map.section_of[candidates.rows], candidates.scores)
    groups = chunk_map.group_of[candidates.rows[sections.starts]]
    order = np.argsort(groups, kind="stable")
    unique = group_best(groups[order], sections.scores[order])
    section_matches = _any_in(sections.starts, candidates.matching)
    best_rows = candidates.rows[sections.best[order[unique.best]]]
    days = chunk_map.modified[chunk_map.page_of[best_rows]]
    chosen = _Chosen.of(unique.scores, _any_in(unique.starts, section_matches[order]), days, query)
    sizes = np.add.reduceat(section_matches[order].astype(np.int64), unique.starts) if len(order) else unique.starts
    results = []
    for i, score in chosen.page(query):
        best = int(sections.best[order[unique.best[i]]])
        weak = not chosen.matching[i]
        results.append(RankedItem(score, best, duplicates=0 if weak else int(sizes[i]) - 1, weak=weak))
    matching = groups[order[unique.starts]][chosen.matching]
    rows = _rows_in(candidates, chunk_map.group_of, matching, query)
    return Ranked(tuple(results), chosen.total, chosen.weaker, rows)


def _rank_pages(candidates: Candidates, chunk_map: ChunkMap, query: SearchQuery) -> Ranked:
    """Ranks pages by `Candidates.page_scores`; each page shows its matching sections."""
    sections = group_best(chunk_map.section_of[candidates.rows], candidates.scores)
    page_of_section = chunk_map.page_of[candidates.rows[sections.starts]]
    starts = np.flatnonzero(first_of_runs(page_of_section))
    pages = page_of_section[starts]
    scores = np.maximum.reduceat(candidates.page_scores, sections.starts[starts]) if len(pages) else sections.scores
    section_matches = _any_in(sections.starts, candidates.matching)
    chosen = _Chosen.of(scores, _any_in(starts, section_matches), chunk_map.modified[pages], query)
    results = []
    ends = np.append(starts[1:], len(sections.scores))
    for i, score in chosen.page(query):
        members = np.arange(starts[i], ends[i])
        weak = not chosen.matching[i]
        wanted = members if weak else members[section_matches[members]]
        order = wanted[top(sections.scores[wanted], query.sections_per_page)]
        best = tuple(sections.best[order].tolist())
        results.append(RankedItem(score, best[0], best, len(wanted) - len(best), weak=weak))
    matching = pages[chosen.matching]
    rows = _rows_in(candidates, chunk_map.page_of, matching, query)
    return Ranked(tuple(results), chosen.total, chosen.weaker, rows)


def _rows_in(
    candidates: Candidates, result_of: NDArray[np.int32], matching: NDArray[np.int32], query: SearchQuery
) -> NDArray[np.int64]:
    """Returns the matching chunks of the matching results, see `Ranked.rows`.

    Args:
        candidates: the scored chunks.
        result_of: int32 `[chunks]`; the result of every chunk of the index.
        matching: the results that match.
        query: without a minimum score, every chunk that matches is part of such a result.
    """
    rows = candidates.rows[candidates.matching]
    if not query.min_score:
        return rows
    kept = np.zeros(int(result_of.max(initial=-1)) + 1, np.bool_)
    kept[matching] = True
    return rows[kept[result_of[rows]]]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Results divided into matches and weaker ones.

    Attributes:
        scores: float32 `[g]`.
        matching: bool `[g]`.
        days: int32 `[g]`: day of the last change of the page.
        allowed: bool `[g]`: whether the score reaches the query's `min_score`.
    """

    scores: NDArray[np.float32]
    matching: NDArray[np.bool_]
    days: NDArray[np.int32]
    allowed: NDArray[np.bool_]

    @classmethod
    def of(
        cls, scores: NDArray[np.float32], matching: NDArray[np.bool_], days: NDArray[np.int32], query: SearchQuery
    ) -> _Chosen:
        allowed = np.ones(len(scores), np.bool_)
        if query.min_score:
            allowed = np.clip(scores.astype(np.float64), 0, 1).round(6) >= query.min_score
        return cls(scores, matching & allowed, days, allowed)

    @property
    def total(self) -> int:
        return int(np.count_nonzero(self.matching))

    @property
    def weaker(self) -> int:
        return int(np.count_nonzero(self.allowed)) - self.total

    def page(self, query: SearchQuery) -> list[tuple[int, float]]:
        """Returns positions and scores of the requested results; a weaker one never has a higher score than a match."""
        end = query.offset + query.limit
        by_day = query.sort == "newest"
        matches = np.flatnonzero(self.matching)
        places = self._first(matches, end, by_day=by_day)
        scores = self.scores[places]
        if query.include_weak and len(places) < end:
            others = self._first(np.flatnonzero(self.allowed & ~self.matching), end - len(places), by_day=by_day)
            most = self.scores[matches].min(initial=np.inf)
            places = np.concatenate([places, others])
            scores = np.concatenate([scores, np.minimum(self.scores[others], most)])
        return list(zip(places.tolist(), scores.tolist(), strict=True))[query.offset :]

    def _first(self, places: NDArray[np.int64], count: int, *, by_day: bool) -> NDArray[np.int64]:
        """Returns the `count` best results, or with `by_day` the newest, ordered by score within a day."""
        if not by_day:
            return places[top(self.scores[places], count)]
        places = places[np.argsort(-self.scores[places], kind="stable")]
        return places[np.argsort(-self.days[places], kind="stable")][:count]


def shown_rows(best: Sequence[int], candidates: Candidates, chunk_map: ChunkMap) -> dict[int, int]:
    """Chooses the chunk of each section whose text is shown: the best one, or the first one if it is nearly as good.

    A section says in its first chunk what it is about; later chunks are often about a detail. A chunk to which a
    literal rule applies is not replaced by one without, nor one that has words of the question by one that has none.

    Args:
        best: positions of the best chunks of sections.
        candidates: the scored chunks.
        chunk_map: the structure of the index.

    Returns:
        Each of `best` with the row of the chosen chunk.
    """
    chosen = np.asarray(best, np.int64)
    if not len(chosen):
        return {}
    rows, scores, ranks = candidates.rows, candidates.scores, candidates.ranks
    first_rows = np.searchsorted(chunk_map.section_of, chunk_map.section_of[rows[chosen]])
    first = np.searchsorted(rows, first_rows)  # at most `chosen`, because rows ascend
    same = (rows[first] == first_rows) & (ranks[first] == ranks[chosen])
    if (words := candidates.lexical) is not None:
        same &= (words[first] > 0) | (words[chosen] == 0)
    nearly = scores[first] >= _SHOWN_SHARE * scores[chosen].astype(np.float64)  # as a browser compares them
    return dict(zip(chosen.tolist(), rows[np.where(same & nearly, first, chosen)].tolist(), strict=True))


def _any_in(starts: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns bool `[g]`: the groups with at least one member in a mask; `starts` are their first members."""
    return np.logical_or.reduceat(mask, starts) if len(mask) else np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class ResultWriter:
    """Makes results with text and metadata from ranked items; for `shown`, see `shown_rows`."""

    records: Records
    shown: Mapping[int, int]
    boost: NDArray[np.float32]
    matcher: Matcher
    candidates: Candidates
    query: SearchQuery
    nearest: NearestSentence | None
    readers: ReaderWords

    def write(self, item: RankedItem) -> Result:
        """Returns the result for a ranked item."""
        page = self.records.page(self.shown[item.best])
        explain = self._explain(item.best) if self.query.explain else None
        score = presented_score(item.score)
        if item.sections is None:
            section = self._section(item.best)
            scores, duplicates = self._scores(item.best), item.duplicates
            return SectionResult(score, scores, page, section, duplicates=duplicates, weak=item.weak, explain=explain)
        parts = tuple(
            SectionResult(presented_score(self.candidates.scores[part]), self._scores(part), page, self._section(part))
            for part in item.sections
        )
        more = item.more_sections
        return PageResult(score, parts[0].scores, page, parts, more_sections=more, weak=item.weak, explain=explain)

    def _section(self, position: int) -> SectionInfo:
        return _section(self.shown[position], self.records, self.matcher, self.nearest)

    def _scores(self, position: int) -> Scores:
        semantic, lexical = self.candidates.semantic, self.candidates.lexical
        return Scores(
            semantic=None if semantic is None else presented_score(semantic[position]),
            lexical=None if lexical is None else round(float(lexical[position]), 4),
        )

    def _explain(self, position: int) -> Mapping[str, Any]:
        rule = RULES[self.candidates.ranks[position]]
        chunk = self.shown[position]
        page = self.records.page(chunk)
        name = literal_name(self.query.query)
        if rule == "heading" and name in map(literal_name, keywords_of(page.frontmatter)):
            rule = "keyword"
        elif rule == "heading" and name in map(literal_name, names_in(page.path)):
            rule = "file"
        boost = float(self.boost[self.records.page_of[chunk]])
        added = self._keywords(chunk, page, name)
        found = {"keywords": added} if added else {}
        return {"rule": rule or None, "boost": boost, **found, **self.candidates.parts(position)}

    def _keywords(self, chunk: int, page: PageInfo, name: str) -> list[str]:
        """Returns the added keywords that match the query, though the text of the chunk does not contain them.

        Some, such as `C++`, have no word that a text could match, but equal the `literal_name` of the query.
        """
        values = self.records.chunks[chunk]
        own = self.readers.of_page(page.path, page.frontmatter) if values["chunk_index"] == 0 else ()
        added = (*own, *self.readers.of_text(values["heading_hierarchy"], values["content"]))
        return [
            text
            for text in added
            if (name and literal_name(text) == name) or any(map(self.matcher.stems_in, text.split()))
        ]


@dataclass(frozen=True, slots=True)
class RelatedPage:
    """A page that is related to another page.

    Attributes:
        score: see `related_pages`.
        chunk: row of its nearest chunk.
        similarity: cosine similarity of that chunk.
    """

    score: float
    chunk: int
    similarity: float


_MOST_ROUNDS = 5
"""Greatest number of searches for further related pages, because each takes the time of a query for every chunk."""


def related_pages(
    chunk_map: ChunkMap,
    neighbors: Callable[[Sequence[int], NDArray[np.bool_] | None], Iterable[Neighbors]],
    page: int,
    limit: int,
) -> tuple[RelatedPage, ...]:
    """Returns the pages nearest to a page, best first.

    The score of another page is a mean over the chunks of this page: for each chunk, the similarity of its nearest
    neighbour on the other page, or 0 if no neighbour is there. Pages in other languages and translations of this page
    are left out. On a long page about one subject, the neighbours of each chunk can all be on the page itself or on one
    other page; the nearest chunks on further pages are then searched.

    Args:
        chunk_map: the pages of all chunks.
        neighbors: see `Backend.neighbors`.
        page: row of the page.
        limit: greatest number of pages.
    """
    languages = chunk_map.languages
    others = languages.group_of != languages.group_of[page]
    if (own := int(languages.code_of[page])) >= 0:
        others &= ~languages.differ_from(languages.tags[own])
    chunks = chunk_map.chunks_of(page)
    found = _pages_of(chunk_map, neighbors(chunks, None), others, len(chunks))
    for _ in range(_MOST_ROUNDS):
        if len(found) >= limit or not others.any():
            break
        others[[chunk_map.page_of[one.chunk] for one in found]] = False
        # These are farther away, whatever their means, because the lists of the first search had no room for them.
        further = _pages_of(chunk_map, neighbors(chunks, others[chunk_map.page_of]), others, len(chunks))
        least = found[-1].score if found else 1.0
        found += [replace(one, score=min(one.score, least)) for one in further]
    return tuple(found[:limit])


def _pages_of(
    chunk_map: ChunkMap, near: Iterable[Neighbors], others: NDArray[np.bool_], chunks: int
) -> list[RelatedPage]:
    totals: dict[int, float] = defaultdict(float)
    nearest: dict[int, tuple[float, int]] = {}
    for neighbors in near:
        best: dict[int, float] = {}
        for chunk, similarity in zip(neighbors.rows.tolist(), neighbors.similarities.tolist(), strict=True):
            other = int(chunk_map.page_of[chunk])
            if others[other]:
                best[other] = max(best.get(other, 0.0), similarity)
                nearest[other] = max(nearest.get(other, (0.0, chunk)), (similarity, chunk))
        for other, similarity in best.items():
            totals[other] += similarity / chunks
    ranked = sorted(totals, key=lambda other: (-totals[other], other))
    return [RelatedPage(totals[other], nearest[other][1], nearest[other][0]) for other in ranked]


_NO_WORDS = Matcher(frozenset(), None, WordStems(lambda word: ()))
_NO_SCORES = Scores(None, None)


def written_page(listed: ListedPage, records: Records, query: SearchQuery) -> Result:
    """Returns the result for a listed page, without scores; excerpts begin at the start of each section."""
    page = records.page(listed.rows[0])
    parts = tuple(SectionResult(0.0, _NO_SCORES, page, _section(row, records, _NO_WORDS)) for row in listed.rows)
    if query.granularity == "section":
        return parts[0]
    return PageResult(0.0, _NO_SCORES, page, parts, more_sections=listed.more_sections)


def _section(row: int, records: Records, matcher: Matcher, nearest: NearestSentence | None = None) -> SectionInfo:
    text, introduced = text_for_excerpt(row, records)
    excerpt = make_excerpt(text, matcher, nearest, introduced)
    return records.section(row, excerpt.text, excerpt.highlights)
