"""Checks an index for problems that keep readers from finding pages; each finding has a file and a line."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact import Manifest, OpenIndex, open_index
from mkdocs_semsearch.artifact.fields import facet_column
from mkdocs_semsearch.artifact.manifest import CHUNKS, PAGES
from mkdocs_semsearch.errors import SemsearchError
from mkdocs_semsearch.lexical.question import literal_name
from mkdocs_semsearch.searching.searcher import Searcher

PAGES_WITH_A_HEADING = 4
LONGEST_HEADING = 2
"""Greatest number of words of a heading that is checked; longer headings are specific enough."""

LONGEST_SECTION = 8
"""Greatest number of chunks of a section, about 1,500 words; a longer section is about several subjects."""

TITLE_RANK, CLEARLY_NEARER = 5, 0.1
"""A title is reported if this many other pages have a text nearer to it than its own, by this cosine similarity."""

RARER = 3
"""A value is reported as a typo of another one only if the other one is at least this many times as frequent."""

_HOME = ("", "index.html")
Row = Mapping[str, Any]
Found = tuple[Row, int, str]
"""The page, the line and the message of a finding."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A problem that an author should look at.

    Attributes:
        path: path of the source file, relative to the docs folder.
        line: 1 for the page as a whole.
        rule: one of `RULES`.
        message: a sentence.
    """

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class _Site:
    """The tables of an index, with one mapping for each row."""

    pages: Sequence[Row]
    chunks: Sequence[Row]
    manifest: Manifest
    searcher: Searcher
    in_navigation: Callable[[str], bool] | None
    reached: Collection[str]

    @classmethod
    def read(cls, index: OpenIndex, searcher: Searcher, **others: Any) -> _Site:
        import pyarrow.parquet as pq

        folder = index.build_dir
        if not (folder / CHUNKS).is_file():
            raise SemsearchError("The chunks of this index are in a cluster: lint an index whose store is embedded.")
        columns = ["page", "section", "duplicate_group", "heading_hierarchy", "kind", "start_line", "content"]
        older = {"kind": "guide", "inbound_links": 1}  # an index of version 0.1.0 lacks these columns
        pages = [older | page for page in pq.read_table(folder / PAGES).to_pylist()]
        chunks = pq.read_table(folder / CHUNKS, columns=columns).to_pylist()
        return cls(pages, chunks, index.manifest, searcher, **others)

    def language_of(self, page: Row) -> str:
        return page["language"] or self.manifest.language

    def coverage_of(self, page: Row) -> float:
        """Returns how much of the language of a page the model knows, 0 to 1."""
        return self.manifest.coverage.get(self.language_of(page), 1.0)

    def sections(self) -> Iterator[tuple[Row, Row, int]]:
        """Yields page, first chunk and number of chunks of every section."""
        for (page, _), chunks in groupby(self.chunks, key=itemgetter("page", "section")):
            first, *others = chunks
            yield self.pages[page], first, 1 + len(others)


def findings_in(
    index_dir: Path,
    searcher: Searcher,
    *,
    quiet: Collection[str] = (),
    in_navigation: Callable[[str], bool] | None = None,
    reached: Collection[str] = (),
) -> list[Finding]:
    """Applies every rule of `RULES` and returns the different findings, sorted by page and line.

    The front matter of a page can turn rules off for that page: `search: {lint: [duplicate]}`, or `false` for all.

    Args:
        index_dir: the index.
        searcher: a searcher of the same index.
        quiet: rules to leave out.
        in_navigation: returns whether a page is in the navigation; None if all pages are.
        reached: paths of pages that readers opened.

    Raises:
        SemsearchError: the chunks are in a cluster.
    """
    site = _Site.read(open_index(index_dir), searcher, in_navigation=in_navigation, reached=reached)
    return sorted(
        {
            Finding(page["path"], line, rule, message)
            for rule, look in RULES.items()
            if rule not in quiet
            for page, line, message in look(site)
            if rule not in _silenced(page)
        }
    )


def _silenced(page: Row) -> Collection[str]:
    """Returns the rules that the front matter of a page turns off, as written there."""
    search = json.loads(page["front_matter"]).get("search")
    lint = search.get("lint") if isinstance(search, dict) else None
    if lint is False:
        return RULES
    return [str(rule) for rule in lint] if isinstance(lint, list) else [lint] if isinstance(lint, str) else ()


def _unknown_rules(site: _Site) -> Iterator[Found]:
    """Reports names of rules in front matter that do not exist."""
    for page in site.pages:
        for rule in _silenced(page):
            if rule not in RULES:
                message = f"search.lint names {rule!r}, but the rules are {', '.join(RULES)}."
                yield page, 1, message


def _place(page: Row, chunk: Row) -> str:
    return f"{page['path']}:{chunk['start_line'] or 1}"


def _duplicates(site: _Site) -> Iterator[Found]:
    """Reports near-duplicates of an earlier section on another page, unless they have to repeat it.

    Change logs have to, and so do API references: mkdocstrings writes an inherited member under every class with it.
    """
    sections = list(site.sections())
    first_of: dict[int, tuple[Row, Row]] = {}
    for number, (page, chunk, _) in enumerate(sections):
        group = chunk["duplicate_group"]
        if group == number:
            first_of[group] = (page, chunk)
        elif group in first_of and first_of[group][0] is not page and not _repeats(page, chunk):
            message = f"says nearly the same as {_place(*first_of[group])}: results show only one of them."
            yield page, chunk["start_line"] or 1, f"“{_heading(chunk)}” {message}"


def _repeats(page: Row, chunk: Row) -> bool:
    return page["kind"] in ("changelog", "reference") or chunk["kind"] == "api"


def _heading(chunk: Row) -> str:
    return str(chunk["heading_hierarchy"][-1])


def _same_headings(site: _Site) -> Iterator[Found]:
    """Reports a short heading that occurs on several pages, where it first occurs.

    Pages that turn the rule off do not count.
    """
    silent = {page["path"] for page in site.pages if "same-heading" in _silenced(page)}
    places: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for page, chunk, _ in site.sections():
        name = literal_name(_heading(chunk))
        is_short = len(chunk["heading_hierarchy"]) > 1 and len(name.split()) <= LONGEST_HEADING
        if is_short and page["kind"] == "guide" and page["path"] not in silent:
            places[name].append((page, chunk))
    for found in places.values():
        pages = len({page["path"] for page, _ in found})
        if pages >= PAGES_WITH_A_HEADING:
            page, chunk = found[0]
            others = ", ".join(_place(*place) for place in found[1:4])
            message = f"“{_heading(chunk)}” is a heading on {pages} pages, as in {others}: say what it is about."
            yield page, chunk["start_line"] or 1, message


def _titles(site: _Site) -> Iterator[Found]:
    """Reports titles whose vectors are nearer to the texts of other pages; only where the model knows the language."""
    import numpy as np

    pages = [page for page in site.pages if page["chunk_count"] and page["kind"] == "guide" and page["title"].strip()]
    pages = [page for page in pages if page["url"] not in _HOME and site.coverage_of(page) == 1]
    if len(pages) <= TITLE_RANK:
        return
    texts = np.array([site.searcher.embed(_beginning(site, page)) for page in pages])
    for number, page in enumerate(pages):
        similarity = texts @ site.searcher.embed(page["title"])
        nearer = np.flatnonzero(similarity > similarity[number] + CLEARLY_NEARER)
        if len(nearer) >= TITLE_RANK:
            other = pages[int(np.argmax(similarity))]["path"]
            message = f"“{page['title']}” fits the text of {len(nearer)} other pages better, {other} best."
            yield page, 1, message


def _beginning(site: _Site, page: Row) -> str:
    first = page["first_chunk"]
    return "\n".join(chunk["content"] for chunk in site.chunks[first : first + min(3, page["chunk_count"])])[:1500]


def _orphans(site: _Site) -> Iterator[Found]:
    """Reports pages to which neither the navigation nor a link leads, and that no reader opened."""
    if site.in_navigation is None:
        return
    for page in site.pages:
        is_found = page["inbound_links"] or page["url"] in _HOME or page["path"] in site.reached
        if not is_found and not site.in_navigation(page["path"]):
            yield page, 1, "Neither the navigation nor a link in the text leads to this page."


def _facet_typos(site: _Site) -> Iterator[Found]:
    """Reports facet values that look like typos of other ones."""
    from rapidfuzz.distance import OSA

    for name in (facet.name for facet in site.manifest.facets if facet.type in ("string", "list")):
        pages_with: dict[str, list[Row]] = defaultdict(list)
        for page in site.pages:
            value = page[facet_column(name)]
            for item in value if isinstance(value, list) else [value]:
                if item is not None:
                    pages_with[item].append(page)
        counts = Counter({value: len(pages) for value, pages in pages_with.items()})
        for value, pages in pages_with.items():
            other = next(
                (o for o, count in counts.most_common() if _is_typo(value, o, counts[value], count, OSA)), None
            )
            for page in pages if other is not None else ():
                message = f"{name}: {value!r} looks like {other!r}, which {counts[other or '']} pages have."
                yield page, 1, message


def _is_typo(value: str, other: str, count: int, others: int, distance: Any) -> bool:
    if value == other or others < RARER * count or any(map(str.isdigit, value)):
        return False
    if value.casefold() == other.casefold():
        return True
    near = 0 if len(value) < 5 else 1 if len(value) < 9 else 2
    return bool(near) and distance.distance(value.casefold(), other.casefold(), score_cutoff=near) <= near


def _long_sections(site: _Site) -> Iterator[Found]:
    """Reports sections that are so long that they match many queries but none of them well."""
    for page, chunk, chunks in site.sections():
        if chunks > LONGEST_SECTION and page["kind"] == "guide":
            message = f"“{_heading(chunk)}” is {chunks} chunks long: add headings, so that readers find its parts."
            yield page, chunk["start_line"] or 1, message


def _languages(site: _Site) -> Iterator[Found]:
    """Reports each language of which the model knows little or nothing once, at its first page."""
    pages_in: dict[str, list[Row]] = defaultdict(list)
    for page in site.pages:
        if site.coverage_of(page) < 1 and "language" not in _silenced(page):
            pages_in[site.language_of(page)].append(page)
    for language, pages in pages_in.items():
        share = site.coverage_of(pages[0])
        known = "knows little of" if share else "does not know"
        more = len(pages) - 1
        others = f" and on {more} more page{'s' if more > 1 else ''}" if more else ""
        model = f"The model {site.manifest.embedder.model} {known} {language!r}"
        message = f"{model}: the weight of meaning is {share:.0%} here{others}."
        yield pages[0], 1, message


RULES: Mapping[str, Callable[[_Site], Iterator[Found]]] = {
    "duplicate": _duplicates,
    "facet-typo": _facet_typos,
    "language": _languages,
    "long-section": _long_sections,
    "orphan": _orphans,
    "same-heading": _same_headings,
    "title": _titles,
    "unknown-rule": _unknown_rules,
}
"""The name of every rule, and the function that finds what it reports."""


def github_annotation(finding: Finding, docs_dir: str) -> str:
    """Returns a finding as a workflow command, which GitHub shows beside the line of a pull request."""

    def escaped(text: str, more: str = "") -> str:
        for character in f"%\r\n{more}":
            text = text.replace(character, f"%{ord(character):02X}")
        return text

    file = f"{docs_dir.strip('/')}/{finding.path}" if docs_dir.strip("/.") else finding.path
    place = f"file={escaped(file, ':,')},line={finding.line},title={escaped(f'semsearch {finding.rule}', ':,')}"
    return f"::warning {place}::{escaped(finding.message)}"
