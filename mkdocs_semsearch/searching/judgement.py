"""Judges a question: which kinds of pages it asks for, whether the site answers it, and how good a match must be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.embedding.model_files import is_default_model
from mkdocs_semsearch.lexical.analyzers import identifier_forms
from mkdocs_semsearch.lexical.question import Question

_ASKS_FOR_CHANGES = re.compile(
    r"(?:^|\b(?:in|since|to|from|with|for|of|before|after|until) )v?\d+\.(?:\d|x\b)"  # not `TLS 1.3`
    r"|\bv\d+\.\d|\b(?:versions?|releases?) v?\d"
    r"|\b(?:upgrad|migrat|updat)\w+ (?:from|to|guide|notes) (?:version )?v?\d"
    r"|\b(?:(?:release|version) (?:notes|history)|change ?logs?|what'?s new|new in|what changed|changed in|removed in"
    r"|breaking changes?|(?:latest|new|newest|last|next|which|what) (?:stable )?(?:releases?|versions?)"
    r"|\d+\.\d+ releases?|deprecat\w+|news|blog|announcements?"
    r"|(?:after|since) (?:an? |the )?(?:upgrad|updat)\w+|notas de|nouveautés|neuerungen|novedades)\b",
    re.IGNORECASE,
)

_ASKS_FOR_DEVELOPMENT = re.compile(
    r"\b(?:contribut\w+|develop(?:ers?|ing|ment)?|proposals?|rfcs?|adrs?|enhancements?|pull requests?|source code)\b",
    re.IGNORECASE,
)


def kind_priors(question: Question) -> Mapping[str, float]:
    """Returns the score factor for each kind of page; kinds that the question is about are missing.

    Release notes contain every word of a site and would rank above the pages that explain it. Their scores are lowered
    unless the question is about versions. Proposals and pages for contributors rank below guides unless the question is
    about development, reference entries unless it has an identifier. A site may have thousands of objects documented in
    a sentence each, and some sentence resembles any question, so they rank lower still.
    """
    wanted: list[str] = []
    if _ASKS_FOR_CHANGES.search(question.text):
        wanted += ["changelog", "blog", "archive"]
    if _ASKS_FOR_DEVELOPMENT.search(question.text):
        wanted += ["contributing", "proposal"]
    if any(identifier_forms(word) for word in question.words):
        wanted += ["reference", "documented"]
    return {kind: prior for kind, prior in WEIGHTS["kinds"].items() if kind not in wanted}


_LATIN_LETTERS = re.compile(r"[A-Za-z]")


def is_legible(question: Question) -> bool:
    """Returns whether the default model can read a question: not if all letters are of other scripts than Latin.

    The model reads such a question as unknown tokens or single letters, so that it is near to every text in them.
    """
    text = question.text
    return _LATIN_LETTERS.search(text) is not None or not any(map(str.isalpha, text))


def rule_of_answers(model: str) -> Mapping[str, float] | None:
    """Returns the numbers of `is_answerable` for a model; None if they were not calibrated for it."""
    return WEIGHTS["nothing"] if is_default_model(model) else None


def is_answerable(
    question: Question,
    similarity: float | None,
    words: float | None,
    chunks: int,
    have_all_words: Callable[[], bool],
    rule: Mapping[str, float],
) -> bool:
    """Returns whether a site can answer a question, judged by its best chunks.

    A question with code that the site has, such as `user_id`, is answered whatever its other words are: readers who
    paste code look for that code. If the site has a number such as `422`, it must have more of the question, too. One
    word is answered if the site has it. A short question is answered if the site has all of its words, and if one chunk
    has them all or something is near in meaning. If the best BM25 score is nearly that of a chunk with all words, one
    is assumed to have them; otherwise the index is asked, because they score less in a long chunk.

    Args:
        question: the question as `Backend.read` returns it.
        similarity: the best cosine similarity; None if the model does not know the language well enough.
        words: the best BM25 score; 0 if no chunk that passes the filters has a word, None if no search was made.
        chunks: number of chunks of the site. The largest of n random similarities grows like the square root of ln n,
            so a small site needs less similarity.
        have_all_words: returns whether one chunk has all words of the question; called only if it matters.
        rule: the numbers `nothing` or `static_nothing` of the weights.
    """
    held = min(1.0, _held(question, words or 0.0))
    size = min(1.0, math.sqrt(math.log(max(rule["least_chunks"], chunks)) / math.log(rule["chunks"])))
    if words != 0:
        if question.has_code or (question.has_number and question.known >= rule["number"]):
            return True
        if question.known == 1 and len(question.telling) <= rule["short"]:
            is_near = similarity is None or similarity >= rule["near"] * size
            if len(question.telling) == 1 or words is None or held >= rule["together"] or is_near or have_all_words():
                return True
    if similarity is None:
        return question.known + held >= rule["by_words"]
    needed = rule["similarity"] * size - rule["known"] * question.known - rule["words"] * held
    return bool(similarity >= min(needed, rule["enough"] * size))


def match_share(question: Question, similarity: float | None, words: float | None, rule: Mapping[str, float]) -> float:
    """Returns the share of the best score from which a chunk matches; calibrated for the default model.

    If even the best chunk is not near, or lacks words of the question, the order of the chunks is less certain, so more
    of them match. Without similarities, nothing is known of that, and the share stays as it is.

    Args:
        question: the question as `Backend.read` returns it.
        similarity: the best cosine similarity, or None as in `is_answerable`.
        words: the best BM25 score.
        rule: the numbers `matches` or `static_matches` of the weights.
    """
    if similarity is None:
        return float(rule["share"])
    near = min(1.0, similarity / rule["similarity"])
    held = min(1.0, _held(question, words or 0.0) / rule["words"])
    return float(max(rule["least"], rule["share"] * near * held))


def _held(question: Question, words: float) -> float:
    """Returns the best BM25 score relative to that of a chunk with every word of the question once."""
    return words / question.weight if question.weight else 0.0
