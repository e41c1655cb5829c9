"""What the records say: questions without a good answer, grouped by meaning; words, pages and facets."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.insights.search_records import Search
from mkdocs_semsearch.lexical.analyzers import stems_with, telling_words
from mkdocs_semsearch.lexical.languages import stemmer_for
from mkdocs_semsearch.searching import Searcher, SearchQuery

__all__ = ["Group", "Report", "group_by_meaning", "labelled_questions", "make_report", "report_text"]

SAME_MEANING = 0.5
"""Cosine similarity from which questions are one group. Of .45 to .62, `benchmarks/made_up_readers.py` named most gaps
first with .5; beyond, the questions about one page are many groups."""

NEIGHBORS = 40
MOST_QUESTIONS = 5000
"""Different questions that are grouped, the most frequent ones; encoding one takes 2 to 3 ms."""

OPENED_LOW = 4
"""Rank from which on a result was opened low: readers passed over the first three."""

FEWEST = 2
"""Searches without success that make a group worth reading."""

SURE = 2.5
"""A group fails when its searches do so this many standard deviations more often than all searches of the site."""

LISTED = 20

AGREEING = 3
"""Readers who must have opened the same page before it counts as the answer: two may have been one reader twice."""


@dataclass(slots=True)
class Question:
    """All searches with the same text, apart from case and spaces."""

    text: str
    searches: list[Search] = field(default_factory=list)
    vector: NDArray[np.float32] | None = None

    @property
    def failures(self) -> float:
        """Number of searches after which the reader had no page, half for one that was opened low."""
        return sum(_failure(search) for search in self.searches)


@dataclass(frozen=True, slots=True)
class Group:
    """Questions that mean the same.

    Attributes:
        question: the most frequent one stands for all.
        ways: number of different texts.
        searches: how often they were asked.
        failures: how often without success.
        opened: how often a result was opened.
        rephrased: how often the reader asked otherwise next.
        rank: mean rank of what was opened, or None.
        similarity: mean similarity of the best result, or None.
        examples: further texts, the most frequent first.
        page: the page that is nearest in the index, or None.
        answered: the index has a match for the question now.
    """

    question: str
    ways: int
    searches: int
    failures: float
    opened: int
    rephrased: int
    rank: float | None
    similarity: float | None
    examples: tuple[str, ...]
    page: Mapping[str, str] | None = None
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is shown; `asdict` gives the JSON form.

    Attributes:
        site: name of the site.
        totals: searches, questions, opened, rephrased, without matches, dropped.
        days: searches and opened results of each day.
        unanswered: groups whose searches fail more often than others, the most missed searches first.
        never_opened: groups with matches of which nothing was ever opened.
        opened_low: groups whose readers passed over the first results.
        rephrased: groups whose readers mostly asked otherwise next.
        words: words of readers that no page has, with the page for which each could be a keyword.
        found: pages that are among the first three for most searches.
        unreached: pages that are among the first ten of no question.
        facets: every facet with how often it was used, and with which values.
        corrections: words that were read as others, with how often.
    """

    site: str
    totals: Mapping[str, int]
    days: tuple[Mapping[str, Any], ...]
    unanswered: tuple[Group, ...]
    never_opened: tuple[Group, ...]
    opened_low: tuple[Group, ...]
    rephrased: tuple[Group, ...]
    words: tuple[Mapping[str, Any], ...]
    found: tuple[Mapping[str, Any], ...]
    unreached: tuple[Mapping[str, str], ...]
    facets: tuple[Mapping[str, Any], ...]
    corrections: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON values."""
        return asdict(self)


def make_report(searches: Sequence[Search], searcher: Searcher, *, dropped: int = 0) -> Report:
    """Makes the report.

    Args:
        searches: the records.
        searcher: the index as it is now: its encoder groups the questions, and its pages are what was missed or found.
        dropped: records that a full queue has lost.
    """
    dimension = searcher.manifest.embedder.dimension
    questions = _questions(searches)
    for question in questions:
        question.vector = searcher.embed(_as_read(question))
    clusters = group_by_meaning(
        np.array([question.vector for question in questions], np.float32).reshape(len(questions), dimension),
        [question.failures + 0.01 * len(question.searches) for question in questions],
    )
    groups = [_group([questions[member] for member in members]) for members in clusters]
    usual = sum(group.failures for group in groups) / max(1, sum(group.searches for group in groups))
    placed = _Places(searcher)
    found, reached = _reached(questions, placed)
    failing = sorted((group for group in groups if _is_failing(group, usual)), key=lambda g: -_missed(g, usual))
    unanswered = [placed.nearest(group) for group in failing[: 2 * LISTED]]
    shown = {group.question for group in unanswered}
    others = [group for group in groups if group.question not in shown and group.searches > FEWEST]
    often = sorted(others, key=lambda group: -group.searches)
    return Report(
        site=searcher.manifest.site_name or "",
        totals={
            "searches": len(searches),
            "questions": len({_key(search.query) for search in searches if search.query}),
            "opened": sum(search.opened is not None for search in searches),
            "rephrased": sum(search.rephrased for search in searches),
            "without_matches": sum(search.matches == 0 for search in searches),
            "dropped": dropped,
        },
        days=_days(searches),
        unanswered=tuple(unanswered),
        never_opened=tuple(_first(often, placed, lambda group: group.opened == 0)),
        opened_low=tuple(_first(often, placed, lambda group: (group.rank or 0) >= OPENED_LOW and group.opened > 1)),
        rephrased=tuple(_first(often, placed, lambda group: group.rephrased > group.searches / 2)),
        words=tuple(_unknown_words(questions, searcher, placed)),
        found=tuple(_page_counts(found, searches, placed)),
        unreached=tuple(placed.page(path) for path in placed.pages if path not in reached),
        facets=tuple(_facets(searches, searcher)),
        corrections=tuple(
            {"word": word, "read_as": other, "searches": count}
            for (word, other), count in Counter(
                pair for search in searches for pair in search.corrected.items()
            ).most_common(LISTED)
        ),
    )


def group_by_meaning(vectors: NDArray[np.float32], weights: Sequence[float]) -> list[list[int]]:
    """Groups rows around the heaviest ones: each takes its neighbours in the k-NN graph that no heavier one has taken.

    Args:
        vectors: float32 `[n, d]`, unit rows.
        weights: of every row.

    Returns:
        The rows of each group, the one that the others gathered around first.
    """
    near = _neighbors(vectors)
    free = set(range(len(vectors)))
    groups = []
    for row in sorted(free, key=lambda item: (-weights[item], item)):
        if row not in free:
            continue
        free.discard(row)
        members = [other for other in near[row] if other in free]
        free.difference_update(members)
        groups.append([row, *members])
    return groups


def _neighbors(vectors: NDArray[np.float32]) -> list[list[int]]:
    """Returns for every row its nearest rows that mean the same, nearest first (a cut k-NN graph)."""
    lists: list[list[int]] = []
    for start in range(0, len(vectors), 512):
        similarity = vectors[start : start + 512] @ vectors.T
        for row, values in enumerate(similarity, start):
            values[row] = -1
            candidates = np.flatnonzero(values >= SAME_MEANING)
            lists.append(candidates[np.argsort(-values[candidates], kind="stable")][:NEIGHBORS].tolist())
    return lists


def _key(query: str) -> str:
    return " ".join(query.casefold().split())


def _questions(searches: Iterable[Search]) -> list[Question]:
    """Returns the different questions, the most frequent first."""
    by_key: dict[str, Question] = {}
    for search in searches:
        if search.query:
            by_key.setdefault(_key(search.query), Question(search.query)).searches.append(search)
    return sorted(by_key.values(), key=lambda question: (-len(question.searches), question.text))[:MOST_QUESTIONS]


def labelled_questions(searches: Iterable[Search]) -> list[dict[str, Any]]:
    """Returns questions with the page that readers opened for them, as `semsearch eval` reads them.

    Only where several agreed: at least `AGREEING` opened one page, and they are the majority of those who opened any.
    """
    labelled = []
    for question in _questions(searches):
        opened = Counter(search.opened for search in question.searches if search.opened and not search.rephrased)
        if not opened:
            continue
        page, agreeing = opened.most_common(1)[0]
        if agreeing >= AGREEING and agreeing > opened.total() / 2:
            counts = {"opened": agreeing, "searches": len(question.searches)}
            labelled.append({"query": question.text, "answer_page": page, **counts})
    return labelled


def _as_read(question: Question) -> str:
    """Returns the text with its typos corrected, as the search did it."""
    corrected = {word.casefold(): other for search in question.searches for word, other in search.corrected.items()}
    return re.sub(r"\w+", lambda match: corrected.get(match[0].casefold(), match[0]), question.text)


def _failure(search: Search) -> float:
    if search.opened is None or search.rephrased or search.matches == 0:
        return 1.0
    return 0.5 if (search.rank or 1) >= 2 * OPENED_LOW else 0.0


def _group(questions: Sequence[Question]) -> Group:
    questions = sorted(questions, key=lambda question: (-len(question.searches), question.text))
    searches = [search for question in questions for search in question.searches]
    ranks = [search.rank for search in searches if search.rank]
    similarities = [search.similarity for search in searches if search.similarity is not None]
    return Group(
        question=questions[0].text,
        ways=len(questions),
        searches=len(searches),
        failures=round(sum(question.failures for question in questions), 2),
        opened=sum(search.opened is not None for search in searches),
        rephrased=sum(search.rephrased for search in searches),
        rank=round(sum(ranks) / len(ranks), 1) if ranks else None,
        similarity=round(sum(similarities) / len(similarities), 3) if similarities else None,
        examples=tuple(question.text for question in questions[1:6]),
    )


def _missed(group: Group, usual: float) -> float:
    """Returns how many more searches failed than would have done for a usual question."""
    return group.failures - usual * group.searches


def _is_failing(group: Group, usual: float) -> bool:
    spread = math.sqrt(group.searches * max(usual * (1 - usual), 0.01))
    return group.failures >= FEWEST and _missed(group, usual) >= SURE * spread


class _Places:
    """Where things are in the index as it is now.

    Args:
        searcher: of the index.
    """

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._root = (searcher.manifest.site_url or "").rstrip("/")
        self.pages = dict(searcher.page_urls())
        self._titles: dict[str, str] = {}

    def first(self, text: str, limit: int = 10, *, weak: bool = False) -> list[str]:
        """Returns the paths of the first pages that match a question, and on request of weaker ones behind them."""
        query = SearchQuery(text, limit=limit, granularity="page", include_weak=weak)
        results = self._searcher.search(query).results
        self._titles |= {result.page.path: result.page.title for result in results}
        return [result.page.path for result in results]

    def page(self, path: str) -> dict[str, str]:
        """Returns path, title and address of a page."""
        title = self._titles.get(path) or self._searcher.page(path).page.title
        return {
            "path": path,
            "title": title,
            "url": f"{self._root}/{self.pages[path]}" if self._root else self.pages[path],
        }

    def nearest(self, group: Group) -> Group:
        """Returns the group with the page that is nearest to it."""
        response = self._searcher.search(SearchQuery(group.question, limit=1, granularity="page", include_weak=True))
        if not response.results:
            return replace(group, answered=False)
        page = response.results[0].page
        self._titles[page.path] = page.title
        return replace(group, page=self.page(page.path), answered=response.total_results > 0)


def _first(groups: Iterable[Group], placed: _Places, wanted: Callable[[Group], bool]) -> list[Group]:
    return [placed.nearest(group) for group in groups if wanted(group)][:LISTED]


def _reached(questions: Sequence[Question], placed: _Places) -> tuple[Counter[str], set[str]]:
    """Asks every question of the index as it is now.

    Returns:
        For each page the number of searches that have it among the first three, and the pages among the first ten.
    """
    found: Counter[str] = Counter()
    reached: set[str] = {search.opened for question in questions for search in question.searches if search.opened}
    for question in questions:
        paths = placed.first(question.text)
        reached.update(paths)
        for path in paths[:3]:
            found[path] += len(question.searches)
    return found, reached


def _page_counts(found: Counter[str], searches: Iterable[Search], placed: _Places) -> list[dict[str, Any]]:
    opened = Counter(search.opened for search in searches)
    return [
        {**placed.page(path), "searches": count, "opened": opened[path]} for path, count in found.most_common(LISTED)
    ]


def _days(searches: Iterable[Search]) -> tuple[dict[str, Any], ...]:
    days: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for search in searches:
        day = days[search.hour[:10]]
        day[0] += 1
        day[1] += search.opened is not None
    return tuple({"day": day, "searches": count, "opened": opened} for day, (count, opened) in sorted(days.items()))


_WORD = re.compile(r"[^\W\d_]{3,}")


def _unknown_words(questions: Sequence[Question], searcher: Searcher, placed: _Places) -> list[dict[str, Any]]:
    """Finds words that readers use and no page does, without typos: each is a keyword for the page it belongs to."""
    stemmer = stemmer_for(searcher.manifest.language or "en")
    stem, telling = stems_with(stemmer), telling_words(stemmer)
    known = {stem(word) for path in placed.pages for word in _words_of_page(searcher, path)}
    using: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        typos = {word.casefold() for search in question.searches for word in search.corrected}
        for word in dict.fromkeys(_WORD.findall(question.text.lower())):
            if word not in typos and stem(word) not in known and telling.analyze(word):
                using[stem(word)].append(question)
    words = []
    for asked in using.values():
        count = sum(len(question.searches) for question in asked)
        if count < FEWEST:
            continue
        forms = Counter(
            word
            for question in asked
            for word in _WORD.findall(question.text.lower())
            if using.get(stem(word)) is asked
        )
        word = forms.most_common(1)[0][0]
        opened = Counter(s.opened for question in asked for s in question.searches if s.opened in placed.pages)
        path = opened.most_common(1)[0][0] if opened else next(iter(placed.first(asked[0].text, 1, weak=True)), None)
        if path is not None:
            words.append(
                {
                    "word": word,
                    "searches": count,
                    "question": asked[0].text,
                    "page": placed.page(path),
                    "opened": bool(opened),
                }
            )
    return sorted(words, key=lambda item: (-item["searches"], item["word"]))[:LISTED]


def _words_of_page(searcher: Searcher, path: str) -> set[str]:
    sections = searcher.page(path).sections
    texts = [text for section in sections for text in (section.content, *section.heading_hierarchy)]
    return {word for text in texts for word in _WORD.findall(text.lower())}


def _facets(searches: Iterable[Search], searcher: Searcher) -> list[dict[str, Any]]:
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for search in searches:
        for name, values in search.filters.items():
            used[name].update(values)
    declared = {facet.name: facet.label for facet in searcher.manifest.facets}
    return [
        {"name": name, "label": label, "used": sum(used[name].values()), "values": dict(used[name].most_common(8))}
        for name, label in declared.items()
    ]


def report_text(report: Report) -> str:
    """Returns the report for a terminal."""
    totals = report.totals
    if not totals["searches"]:
        return "No searches are recorded yet."
    share = round(100 * totals["opened"] / totals["searches"])
    first, last = report.days[0]["day"], report.days[-1]["day"]
    lines = [
        f"{totals['searches']} searches, {totals['questions']} different questions, {first} to {last}: "
        f"{share} % opened a result, {totals['rephrased']} asked otherwise, {totals['without_matches']} found nothing."
    ]
    if totals["dropped"]:
        lines.append(f"{totals['dropped']} records were dropped because too many waited.")
    lines += _chapter("Without a good answer", map(_group_line, report.unanswered))
    lines += _chapter("Answered, never opened", map(_group_line, report.never_opened))
    lines += _chapter("Opened far down", map(_group_line, report.opened_low))
    lines += _chapter("Asked again in other words", map(_group_line, report.rephrased))
    lines += _chapter(
        "Words that no page has (search: keywords in the front matter of the page)",
        (f"{w['word']} ({w['searches']}×, “{w['question']}”) → {w['page']['path']}" for w in report.words),
    )
    lines += _chapter(
        "Found most", (f"{page['path']}: {page['searches']} searches, {page['opened']} opened" for page in report.found)
    )
    lines += _chapter("Reached by no question", (page["path"] for page in report.unreached))
    lines += _chapter("Facets", (f"{facet['label']}: {_uses(facet)}" for facet in report.facets))
    return "\n".join(lines)


def _uses(facet: Mapping[str, Any]) -> str:
    values = ", ".join(f"{value} ({count})" for value, count in facet["values"].items())
    return f"{facet['used']}× {values}" if facet["used"] else "never used"


def _chapter(title: str, items: Iterable[str]) -> list[str]:
    found = [f"  {item}" for item in items]
    return ["", title, *found] if found else []


def _group_line(group: Group) -> str:
    ways = f" in {group.ways} ways" if group.ways > 1 else ""
    page = f" → {group.page['path']}" if group.page else ""
    return f"{group.searches}× “{group.question}”{ways}, {group.opened} opened{page}"
