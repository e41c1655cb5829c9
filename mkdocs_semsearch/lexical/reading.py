"""Adds to a question what an index knows of its words: corrections, joined names, and weights."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from mkdocs_semsearch.lexical.analyzers import identifier_forms, is_code, joined_name
from mkdocs_semsearch.lexical.compounds import divide_compound
from mkdocs_semsearch.lexical.question import Question, spoken_words
from mkdocs_semsearch.lexical.terms import inverse_frequency

MOST_BESIDE_NAME = 4
"""The site's name ranks with less weight if a question has at most this number of other telling words. In longer
questions the name is part of a sentence: without this limit MRR@10 of real questions falls by .001, or without a server
by .004."""

LEAST_TELLING = 2
"""Least number of words that must remain when words that occur on most pages are not embedded."""

COMPARING = frozenset(("between", "compare", "compared", "difference", "differences", "different", "versus", "vs"))
"""Words of comparisons. They are not counted as remaining words, because they mean little without what is compared."""

SHORTEST_BEGINNING = 2
"""Least number of letters of a last word that is completed."""

MOST_FORMS = 2
"""Number of forms of an identifier that are looked up."""

MAX_CORRECTED = 8
"""Greatest number of divided or corrected words in a query, because each takes time; chosen, not measured."""


_NUMBER = re.compile(r"[0-9]{3,}")
"""A number that names something, such as the code of an error; shorter ones count things."""


class QueryWords(Protocol):
    """Looks up words in an index; a full index and a static bundle implement it, and `read_words` uses it."""

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        ...

    @property
    def links(self) -> Sequence[str]:
        """The letters that may link two parts of a compound, see `links_of`."""
        ...

    def terms(self, text: str) -> Sequence[str]:
        """Returns the words of a text as indexed: lower-cased and not stemmed."""
        ...

    def parts(self, word: str) -> Sequence[str]:
        """Returns the parts of an identifier as indexed."""
        ...

    def tells(self, word: str) -> bool:
        """Returns whether a word is not a stop word."""
        ...

    def is_common(self, word: str) -> bool:
        """Returns whether a word occurs on most pages and is not a stop word, see `common_words`."""
        ...

    def is_name(self, word: str) -> bool:
        """Returns whether a word is in the site's name and occurs on most pages, see `names_among`."""
        ...

    def knows(self, term: str) -> bool:
        """Returns whether the index has a word, in this form or with the same stem."""
        ...

    def chunks_with(self, term: str) -> int:
        """Returns the number of chunks with a word, in any form."""
        ...

    def is_written(self, term: str) -> bool:
        """Returns whether a word occurs in the index in exactly this form."""
        ...

    def chunks_with_identifier(self, form: str) -> int:
        """Returns the number of chunks with an identifier as a whole.

        Args:
            form: one of its `identifier_forms`, or its `joined_name`.
        """
        ...

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        """Returns the longer words that begin with `prefix`, most frequent first."""
        ...

    def chunks_beginning_with(self, prefix: str) -> int:
        """Returns the number of chunks with the most frequent longer word that begins with `prefix`."""
        ...

    def corrections(self, term: str, *, finished: bool) -> Sequence[str]:
        """Returns the words to which a word that is not in the index may be corrected, best first.

        Args:
            term: the word.
            finished: whether the reader has typed the whole word; otherwise a beginning of indexed words is not a typo.
        """
        ...


def read_words(question: Question, words: QueryWords, *, correct: bool = True) -> Question:
    """Returns a question with the corrections, weights and telling words that an index knows for it.

    Args:
        question: as `read_question` returns it.
        words: the words of the index.
        correct: whether words that are not in the index may be corrected.
    """
    telling = tuple(word for word in question.words if words.tells(word)) or question.words
    joined = dict(_joined(telling, words))
    first = itertools.islice(_unknown(telling, words), MAX_CORRECTED)
    unknown = {word: term for word, term in first if word not in joined}

    def is_part(part: str) -> bool:
        return words.tells(part) and words.knows(part)

    compounds: dict[str, tuple[str, ...]] = {}
    corrections: dict[str, tuple[str, ...]] = {}
    for word, term in unknown.items():
        if parts := divide_compound(term, is_part, words.links):
            compounds[word] = parts
        elif correct and (others := words.corrections(term, finished=word != question.words[-1])):
            corrections[word] = tuple(others)
    named = tuple(filter(words.is_name, telling))
    read = replace(
        question,
        telling=telling,
        named=named if 1 <= len(telling) - len(named) <= MOST_BESIDE_NAME else (),
        joined=joined,
        divided=compounds,
        corrections=corrections,
        embedded=_embedded(question.embedded, words, corrections),
    )
    return _weighed(read, words)


def code_forms(word: str) -> Iterator[str]:
    """Yields the forms of a word that is written as code: it as a whole, and its parts that are code themselves.

    For example, `input_type=int` has the form `input_type`, too, but `type=missing_argument` does not have `type`.
    """
    if is_code(word):
        forms = identifier_forms(word)[:MOST_FORMS]
        yield from forms[:1]
        yield from filter(is_code, forms[1:])


def _joined(telling: Iterable[str], words: QueryWords) -> Iterator[tuple[str, str]]:
    """Yields the words that the index has only with their parts joined differently, each with its `joined_name`.

    These are `groupby` for `group_by`, and `time-out` for `timeout`. Another form of the word may be in the index:
    `withColumn`, if `withcolumns` is asked and `with_columns` found.
    """
    for word in dict.fromkeys(telling):
        terms = words.terms(word)
        if len(terms) == 1 and words.is_written(terms[0]):
            continue
        joined = joined_name(word)
        if joined is None:
            continue
        others = (form for form in identifier_forms(word)[:MOST_FORMS] if form != joined)
        if any(map(words.chunks_with_identifier, others)):
            continue
        if words.chunks_with_identifier(joined) or words.is_written(joined):
            yield word, joined


def _unknown(telling: Iterable[str], words: QueryWords) -> Iterator[tuple[str, str]]:
    """Yields the single words of a question that the index has in no form, each with its term."""
    for word in dict.fromkeys(telling):
        terms = words.terms(word) if words.tells(word) else ()
        if len(terms) == 1 and not words.knows(terms[0]):
            yield word, terms[0]


def _embedded(text: str, words: QueryWords, corrections: Mapping[str, tuple[str, ...]]) -> str:
    """Returns a text with corrected typos and without the words that occur on most pages."""
    written = [_corrected(word, corrections) for word in text.split()]
    kept = [word for word in written if not words.is_common(word)]
    if len(kept) < len(written):
        telling = [word for word in kept if words.tells(word) and not COMPARING.issuperset(words.terms(word))]
        if len(telling) < LEAST_TELLING:
            kept = written
    return " ".join(kept)


def _corrected(word: str, corrections: Mapping[str, tuple[str, ...]]) -> str:
    """Returns the correction of a word, or the word itself."""
    bare = next(spoken_words(word), "")
    return word.replace(bare, corrections[bare][0]) if bare in corrections else word


def _weighed(question: Question, words: QueryWords) -> Question:
    """Returns a question with `weight`, `known`, `has_code` and `has_number`.

    An unfinished last word counts as known if it has completions.
    """
    unfinished = () if question.phrases else question.words[-1:]
    counts: list[int] = []
    for word in dict.fromkeys(question.telling):
        if word in question.joined:
            name = question.joined[word]
            counts.append(max(words.chunks_with_identifier(name), words.chunks_with(name)))
            continue
        terms = question.divided.get(word) or words.terms(question.corrections.get(word, (word,))[0])
        for term in terms:
            count = words.chunks_with(term)
            if not count and word in unfinished and len(terms) == 1 and len(term) >= SHORTEST_BEGINNING:
                count = words.chunks_beginning_with(term)
            counts.append(count)
    weights = [float(inverse_frequency(words.chunks, count)) for count in counts]
    total = sum(weights)
    known = sum(weight for weight, count in zip(weights, counts, strict=True) if count)
    has_code = any(words.chunks_with_identifier(form) for word in question.telling for form in code_forms(word))
    has_number = any(words.is_written(word) for word in question.telling if _NUMBER.fullmatch(word))
    share = known / total if total else 0.0
    return replace(question, weight=total, known=share, has_code=has_code, has_number=has_number)
