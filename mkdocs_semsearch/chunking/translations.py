"""Finds out which pages are translations of each other, and which were not translated."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from mkdocs_semsearch.chunking.document import ChunkedPage
from mkdocs_semsearch.chunking.page_role import (
    language_of_place,
    link_target,
    page_address,
    split_version,
    stop_words,
)
from mkdocs_semsearch.lexical.analyzers import STEMMERS, primary_subtag


def with_translations(pages: Sequence[ChunkedPage], site_url: str = "") -> list[ChunkedPage]:
    """Returns pages that know their translations.

    Translations have the same address but for a folder or suffix that names their language (`guide/`, `uk/guide/`), or
    the same `translation_key`, or name each other in `<link rel="alternate" hreflang>`. Links that only one of two
    pages has say nothing: some themes link every page to the home page of each language.

    Args:
        pages: pages of the site.
        site_url: URL of the site; links that begin with a slash are relative to its path.
    """
    groups = [[number] for number in range(len(pages))]
    by_address: dict[tuple[str, str], list[int]] = {}
    for number, page in enumerate(pages):
        if page.language:
            by_address.setdefault(_address_without_language(page.url, page.language), []).append(number)
    for group in by_address.values():
        if _languages_differ(pages, group):  # two pages of one language at one address are no translations
            for number in group:
                groups[number] = group
    for number, other in (*_pairs_with_one_key(pages), *_pairs(pages, site_url)):
        merged = sorted({*groups[number], *groups[other]})
        if groups[number] is not groups[other] and _languages_differ(pages, merged):
            for member in merged:
                groups[member] = merged
    return [
        replace(page, translations={str(pages[member].language): pages[member].url for member in group})
        if len(group) > 1
        else page
        for page, group in zip(pages, groups, strict=True)
    ]


def untranslated(pages: Sequence[ChunkedPage]) -> Mapping[str, str]:
    """Returns path to path: pages in the folder of a language that repeat, word for word, the page they translate.

    Generators write them so that every language has every page. Titles are not compared: they come from the navigation,
    which may be translated already.
    """
    same: dict[tuple[object, ...], list[ChunkedPage]] = {}
    for page in pages:
        text = tuple((chunk.heading_hierarchy[1:], chunk.content) for chunk in page.chunks)
        if text:
            address = _address_without_language(page.url, language_of_place(page.url))
            same.setdefault((address, text), []).append(page)
    copies: dict[str, str] = {}
    for group in same.values():
        original = max(group, key=_words_of_its_language)
        copies |= {page.path: original.path for page in group if page.url != original.url}
    return copies


def _words_of_its_language(page: ChunkedPage) -> float:
    """Counts the stop words of the language that the page's address names; without such a language, infinity."""
    placed = language_of_place(page.url)
    if placed is None:
        return math.inf
    words = " ".join(chunk.content for chunk in page.chunks).split()
    stemmer = STEMMERS.get(primary_subtag(placed))
    return stop_words(stemmer, words) if stemmer else 0


def _languages_differ(pages: Sequence[ChunkedPage], group: Sequence[int]) -> bool:
    return len({pages[number].language for number in group}) == len(group)


def _pairs_with_one_key(pages: Sequence[ChunkedPage]) -> list[tuple[int, int]]:
    """Returns pairs of pages with the same `translation_key`: the first of them with each of the others."""
    first: dict[str, int] = {}
    numbered = [(number, page.translation_key) for number, page in enumerate(pages) if page.language]
    return [(first[key], number) for number, key in numbered if key and first.setdefault(key, number) != number]


def _pairs(pages: Sequence[ChunkedPage], site_url: str) -> list[tuple[int, int]]:
    """Returns pairs of pages that name each other as the same page in another language."""
    base = unquote(urlsplit(site_url).path).strip("/")
    numbers = {page_address(unquote(page.url)): number for number, page in enumerate(pages) if page.language}
    named: set[tuple[int, int]] = set()
    for number, page in enumerate(pages):
        folder = posixpath.dirname(unquote(page.url))
        targets = (numbers.get(link_target(href, folder, base)) for href in page.alternates)
        named |= {(number, target) for target in targets if target is not None}
    return sorted((one, other) for one, other in named if one < other and (other, one) in named)


def _address_without_language(url: str, language: str | None) -> tuple[str, str]:
    """Returns version and path of an address without the folder or suffix of its language."""
    version, path = split_version(url)
    folder, slash, rest = path.partition("/")
    if slash and language and _same_tag(folder, language):
        path = rest
        inner, path = split_version(path) if not version else (version, path)
        version = inner
    stem, dot, suffix = path.rpartition(".")
    name, dot_too, tag = stem.rpartition(".")
    if dot and dot_too and language and _same_tag(tag, language):
        path = f"{name}.{suffix}"
    return version, path


def _same_tag(written: str, language: str) -> bool:
    folded = written.replace("_", "-").lower()
    return folded == language.lower() or folded == primary_subtag(language)
