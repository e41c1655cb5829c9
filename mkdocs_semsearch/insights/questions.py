"""Groups readers' questions by meaning, and finds the groups that have no good answer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.embedding.model_files import is_default_model
from mkdocs_semsearch.insights.search_records import REDACTED, Search
from mkdocs_semsearch.lexical.analyzers import identifier_forms
from mkdocs_semsearch.searching.searcher import Searcher

SAME_MEANING = 0.5
"""Least cosine similarity of questions in one group, with the default model. Of the values from .45 to .62, .5 put most
missing pages among the first entries (`benchmarks/made_up_readers.py`); with higher values, questions about one page
fall into many groups."""

UNRELATED = (
    "How do I reset my password?",
    "restore the database from a backup",
    "change the colours of the page",
    "which Python versions are supported",
    "certificate has expired",
    "export a report as CSV",
    "the build fails in GitLab CI",
    "rename a column of a table",
    "send e-mail when a job fails",
    "translate the menu into French",
)
"""Questions about different things. Their mean cosine similarity depends on the model."""

USUAL = 0.08
"""That mean with the default model; with `multilingual-e5-small` it is 0.80."""

NEIGHBORS = 40
MOST_QUESTIONS = 5000
"""Greatest number of different questions that are grouped, most frequent first; encoding one takes 2 to 3 ms."""

OPENED_LOW = 4
"""First rank that counts as low: a reader who opens this result has passed over three."""

FEWEST = 2
"""Least number of searches behind anything that is reported."""

SURE = 2.5
"""A group is reported if its searches fail more often than searches in general, by this many standard deviations."""

QUANTILE = 1.96
"""Quantile of the normal distribution for a 95 % confidence interval of the share of failures."""

AGREEING = 3
"""Number of searches that must open the same page before it counts as the answer. Two may be of one reader who came
back."""

FOUND_BY = 0.25
"""Least share of a group's searches that must open that page. With less, the first result of a question without an
answer, which some readers try, would often count as its answer (`benchmarks/made_up_readers.py`)."""

_SHOWN_FILTERS = 3

_OTHER_SCRIPT = re.compile(r"[^\W\d_\0-\u02ff\u1e00-\u1eff]")
"""A letter of another script than Latin."""


@dataclass(slots=True)
class Question:
    """All searches with the same text, apart from case and spaces.

    Attributes:
        text: the text as it was first typed.
        searches: the records.
        vector: float32 `[d]`, unit length; vector of the text with its typos corrected.
        is_comparable: whether the vector can be compared: not if a word is in a script that the model does not know.
    """

    text: str
    searches: list[Search] = field(default_factory=list)
    vector: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    is_comparable: bool = True

    @property
    def failures(self) -> float:
        """Number of failed searches; one that ended with a result far down counts half."""
        return sum(_failure(search) for search in self.searches)


@dataclass(frozen=True, slots=True)
class Group:
    """Questions that mean the same.

    Attributes:
        question: the most frequent one.
        ways: number of different wordings.
        searches: number of searches.
        failures: number of failed searches.
        opened: number of searches in which a result was opened.
        matched: number of searches that had matches.
        rephrased: number of searches that the reader then rephrased.
        rank: median rank of the opened results, or None.
        similarity: mean similarity of the best result, or None.
        examples: further wordings, the most frequent first.
        answer: path of the page that readers agree on, or None; see `AGREEING` and `FOUND_BY`.
        page: that page if it is in the index, else the nearest one in the index, or None.
        answered: whether the index now has a match for the question, without filters.
        filters: the most frequent filters, such as `page.kind=blog`, each with the number of searches that had it.
    """

    question: str
    ways: int
    searches: int
    failures: float
    opened: int
    matched: int
    rephrased: int
    rank: float | None
    similarity: float | None
    examples: tuple[str, ...]
    answer: str | None = None
    page: Mapping[str, str] | None = None
    answered: bool = True
    filters: tuple[tuple[str, int], ...] = ()

    @property
    def remark(self) -> str:
        """A remark on a question that had no matches but has some in the index, else empty."""
        if self.matched or not self.answered:
            return ""
        return "has matches without filters" if self.filters else "now has matches"


def question_key(query: str) -> str:
    """Returns a key that is equal for questions that differ only in case and spaces."""
    return " ".join(query.casefold().split())


def read_questions(searches: Iterable[Search], searcher: Searcher) -> list[Question]:
    """Returns the different questions with their vectors, the most frequent first."""
    questions = _questions(searches)
    manifest = searcher.manifest
    knows_other_scripts = not is_default_model(manifest.embedder.model) and 0 not in manifest.coverage.values()
    for question in questions:
        question.vector = searcher.embed(_as_read(question))
        question.is_comparable = knows_other_scripts or not _OTHER_SCRIPT.search(question.text)
    return questions


def _questions(searches: Iterable[Search]) -> list[Question]:
    """Returns the different questions that have words, the most frequent first."""
    by_key: dict[str, Question] = {}
    for search in searches:
        if _has_words(REDACTED.sub("", search.query)):
            by_key.setdefault(question_key(search.query), Question(search.query)).searches.append(search)
    return sorted(by_key.values(), key=lambda question: (-len(question.searches), question.text))[:MOST_QUESTIONS]


def _has_words(text: str) -> bool:
    """Returns whether a text has words, among them operators such as `:=`."""
    return re.search(r"\w", text) is not None or any(map(identifier_forms, text.split()))


def _as_read(question: Question) -> str:
    """Returns the text with its typos corrected, as in the search."""
    corrected = {word.casefold(): other for search in question.searches for word, other in search.corrected.items()}
    return re.sub(r"\w+", lambda match: corrected.get(match[0].casefold(), match[0]), question.text)


def question_groups(questions: Sequence[Question], least: float) -> list[Group]:
    """Groups questions that mean the same; groups around questions that fail often come first.

    A question with a word that the model cannot read is a group of its own: all such words are alike to the model, so
    all questions in Chinese that name the product would be one group.

    Args:
        questions: the questions.
        least: see `least_similarity`.
    """
    if not questions:
        return []
    clusters = group_by_meaning(
        np.array([question.vector * question.is_comparable for question in questions]),
        [question.failures + 0.01 * len(question.searches) for question in questions],
        least,
    )
    return [_group([questions[member] for member in members]) for members in clusters]


def least_similarity(searcher: Searcher) -> float:
    """Returns the least cosine similarity of questions in one group, for the model of an index.

    Between the mean of unrelated questions and 1, it is as far up as `SAME_MEANING` is with the default model.
    """
    if is_default_model(searcher.manifest.embedder.model):
        return SAME_MEANING
    vectors = np.array([searcher.embed(text) for text in UNRELATED])
    mean = float((vectors @ vectors.T)[np.triu_indices(len(vectors), 1)].mean())
    return mean + (1 - mean) * (SAME_MEANING - USUAL) / (1 - USUAL)


def failing_groups(groups: Sequence[Group]) -> list[Group]:
    """Returns the groups that fail clearly more often than searches in general, those that fail most surely first.

    Groups that never had a match are among them however often other searches fail, as they do on a new site.
    They are sorted by the lower end of the confidence interval of their share of failed searches. Sorted by the number
    of failed searches, rare questions that fail for every reader would come after frequent ones that fail for half of
    them.
    """
    usual = sum(group.failures for group in groups) / max(1, sum(group.searches for group in groups))
    failing = (group for group in groups if _is_failing(group, usual))
    return sorted(failing, key=_surely_failing, reverse=True)


def group_by_meaning(
    vectors: NDArray[np.float32], weights: Sequence[float], least: float = SAME_MEANING
) -> list[list[int]]:
    """Groups rows greedily: the free row with the highest weight takes its free neighbours in the k-NN graph.

    Args:
        vectors: float32 `[n, d]`, unit rows; a row of zeros is near to none.
        weights: weight of every row.
        least: least cosine similarity of neighbours.

    Returns:
        The rows of each group; the row that took the others comes first.
    """
    near = _neighbors(vectors, least)
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


def _neighbors(vectors: NDArray[np.float32], least: float) -> list[list[int]]:
    """Returns for every row the nearest rows with the same meaning, nearest first (a k-NN graph with a threshold)."""
    lists: list[list[int]] = []
    for start in range(0, len(vectors), 512):
        similarity = vectors[start : start + 512] @ vectors.T
        for row, values in enumerate(similarity, start):
            values[row] = -1
            candidates = np.flatnonzero(values >= least)
            lists.append(candidates[np.argsort(-values[candidates], kind="stable")][:NEIGHBORS].tolist())
    return lists


def _group(questions: Sequence[Question]) -> Group:
    questions = sorted(questions, key=lambda question: (-len(question.searches), question.text))
    searches = [search for question in questions for search in question.searches]
    ranks = [search.rank for search in searches if search.rank]
    similarities = [search.similarity for search in searches if search.similarity is not None]
    agreed = _agreed_page(searches)
    return Group(
        question=questions[0].text,
        ways=len(questions),
        searches=len(searches),
        failures=round(sum(question.failures for question in questions), 2),
        opened=sum(search.opened is not None for search in searches),
        matched=sum(search.matches > 0 for search in searches),
        rephrased=sum(search.rephrased for search in searches),
        rank=median(ranks) if ranks else None,
        similarity=round(sum(similarities) / len(similarities), 3) if similarities else None,
        examples=tuple(question.text for question in questions[1:6]),
        answer=agreed[0] if agreed and agreed[1] >= FOUND_BY * len(searches) else None,
        filters=_filters(searches),
    )


def _filters(searches: Iterable[Search]) -> tuple[tuple[str, int], ...]:
    used: Counter[str] = Counter()
    for search in searches:
        used.update(f"{name}={value}" for name, values in search.filters.items() for value in values)
    return tuple(used.most_common(_SHOWN_FILTERS))


def _failure(search: Search) -> float:
    if search.opened is None or search.rephrased or search.matches == 0:
        return 1.0
    return 0.5 if (search.rank or 1) >= 2 * OPENED_LOW else 0.0


def _is_failing(group: Group, usual: float) -> bool:
    if group.searches > FEWEST and not group.matched:
        return True
    spread = math.sqrt(group.searches * max(usual * (1 - usual), 0.01))
    return group.failures >= FEWEST and group.failures - usual * group.searches >= SURE * spread


def _surely_failing(group: Group) -> float:
    """Returns the lower end of the confidence interval of the share of failed searches.

    By Wilson: Probable inference, the law of succession, and statistical inference, JASA 1927.
    """
    share, square = group.failures / group.searches, QUANTILE**2 / group.searches
    spread = math.sqrt(share * (1 - share) * square + square**2 / 4)
    return (share + square / 2 - spread) / (1 + square)


def _agreed_page(searches: Iterable[Search]) -> tuple[str, int] | None:
    """Returns the page that at least `AGREEING` searches opened, and more than half of those that opened any page.

    Returns:
        Its path and the number of searches that opened it, or None.
    """
    opened = Counter(search.opened for search in searches if search.opened and not search.rephrased)
    if not opened:
        return None
    page, agreeing = opened.most_common(1)[0]
    return (page, agreeing) if agreeing >= AGREEING and agreeing > opened.total() / 2 else None


def labelled_questions(searches: Iterable[Search]) -> list[dict[str, Any]]:
    """Returns questions with the page that readers agree on, as `semsearch eval` reads them; see `AGREEING`."""
    labelled = []
    for question in _questions(searches):
        agreed = _agreed_page(question.searches)
        if agreed and not REDACTED.search(f"{question.text} {agreed[0]}"):
            page, agreeing = agreed
            counts = {"opened": agreeing, "searches": len(question.searches)}
            sites = {search.site for search in question.searches}
            corpus = {"corpus": site} if len(sites) == 1 and (site := next(iter(sites))) else {}
            labelled.append({"query": question.text, "answer_page": page, **corpus, **counts})
    return labelled
