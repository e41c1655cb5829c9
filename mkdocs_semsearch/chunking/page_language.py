"""Determines the language of a page from what its author or generator states, from its address, and from its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from mkdocs_semsearch.chunking.document import Document
from mkdocs_semsearch.chunking.page_role import split_version
from mkdocs_semsearch.lexical.languages import LANGUAGES, STEMMERS, primary_subtag, script_of, telling_words

_KEYS = ("language", "lang", "locale")
_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_CHARACTERS = 4000
"""Number of characters of a page that are examined; chosen, not measured."""

_CERTAIN_SHARE = 0.3
"""Least share of letters of a script on a page in a language of that script; the rest are names and code."""

_FOREIGN_SHARE = 0.02
"""With a lower share of letters of its language's script, a page was not translated into that language."""

_ENGLISH_SHARE = 0.15
"""Least share of English stop words in an English text; code and names have fewer."""

_SCRIPTS = {
    "Jpan": ("ja", re.compile("[\u3040-\u30ff]")),
    "Hani": ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    "Kore": ("ko", re.compile("[\uac00-\ud7af]")),
    "Cyrl": ("ru", re.compile("[\u0400-\u04ff]")),
    "Arab": ("ar", re.compile("[\u0600-\u06ff]")),
    "Hebr": ("he", re.compile("[\u0590-\u05ff]")),
    "Grek": ("el", re.compile("[\u0370-\u03ff]")),
    "Thai": ("th", re.compile("[\u0e00-\u0e7f]")),
    "Deva": ("hi", re.compile("[\u0900-\u097f]")),
    "Taml": ("ta", re.compile("[\u0b80-\u0bff]")),
}
"""For each script its most frequent language, and its characters."""
_LATIN = re.compile("[\0-\u036f]+")  # all code points below those of these scripts
_UKRAINIAN = re.compile("[іїєґІЇЄҐ]")
_PERSIAN = re.compile("[پچژگ]")


def written_language(front_matter: Mapping[str, Any]) -> str | None:
    """Returns the language tag in the front matter (`language`, `lang` or `locale`); None if there is none."""
    for key in _KEYS:
        written = front_matter.get(key)
        if isinstance(written, str) and _TAG.fullmatch(written) and primary_subtag(written) in LANGUAGES:
            return written.replace("_", "-")
    return None


def page_language(document: Document, texts: Iterable[str]) -> str | None:
    """Returns the language tag of a page whose front matter has none; None if it cannot be determined.

    The language that the generator names, `document.language`, is used first, unless the text has another script: many
    themes write `lang="en"` on every page. Then comes a folder or suffix that is a language tag, if the text looks like
    that language.
    """
    stated = document.language.replace("_", "-") if document.language else None
    text = "\n".join(islice(texts, 20))[:_CHARACTERS]
    letters = sum(map(str.isalpha, text))
    others = _LATIN.sub("", text)
    scripts = {script: len(pattern.findall(others)) for script, (_, pattern) in _SCRIPTS.items()}
    certain = max(scripts, key=lambda script: scripts[script]) if letters else ""
    if scripts["Jpan"] > 0.1 * letters:  # Japanese is also written with Chinese characters
        certain, scripts["Jpan"] = "Jpan", letters
    placed = language_of_place(document.url)
    if certain and scripts[certain] > _CERTAIN_SHARE * letters:
        for candidate in (stated, placed):
            if candidate and script_of(candidate) == certain:
                return candidate
        return _language_in(certain, text)
    if placed and primary_subtag(placed) != primary_subtag(stated or "") and _reads_as(placed, stated, text):
        return placed
    if stated and scripts.get(script_of(stated), letters) < _FOREIGN_SHARE * letters and _is_english(text):
        return "en"
    return stated


def language_of_place(url: str) -> str | None:
    """Returns the language named by the first folders or the suffix of a URL."""
    _, path = split_version(url)
    *folders, name = path.split("/")
    for part in (*folders[:1], *name.split(".")[1:-1]):
        if _TAG.fullmatch(part) and primary_subtag(part) in LANGUAGES:
            return part.replace("_", "-")
    return None


def _language_in(script: str, text: str) -> str:
    if script == "Cyrl" and _UKRAINIAN.search(text):
        return "uk"
    if script == "Arab" and _PERSIAN.search(text):
        return "fa"
    return _SCRIPTS[script][0]


def _reads_as(candidate: str, stated: str | None, text: str) -> bool:
    """Returns whether a text has more stop words of one language than of another; both are in Latin letters."""
    stemmer = STEMMERS.get(primary_subtag(candidate))
    if stemmer is None or script_of(candidate) != "Latn":
        return False
    other = STEMMERS.get(primary_subtag(stated or "en"), "english")
    words = text.split()
    return stop_words(stemmer, words) > stop_words(other, words)


def _is_english(text: str) -> bool:
    words = text.split()
    return stop_words("english", words) > _ENGLISH_SHARE * len(words)


def stop_words(stemmer: str, words: Sequence[str]) -> int:
    """Returns the number of these words that are stop words of a language."""
    analyzer = telling_words(stemmer)
    return sum(not analyzer.analyze(word) for word in words if word.isalpha())
