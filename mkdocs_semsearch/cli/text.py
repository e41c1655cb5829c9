"""Formats results, inspections and evaluations as text for a terminal, and prints JSON."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from dataclasses import asdict, replace
from typing import Any

from mkdocs_semsearch.artifact import FORMAT, Manifest, OpenIndex
from mkdocs_semsearch.artifact.fields import as_text
from mkdocs_semsearch.artifact.manifest import ENCODER, collection_name
from mkdocs_semsearch.searching.evaluation import Evaluation, JudgedQuery, Tuning
from mkdocs_semsearch.searching.filter_hints import facet_hints, filter_hints
from mkdocs_semsearch.searching.filters import filter_expression
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.records import SectionInfo
from mkdocs_semsearch.searching.response import Result, SearchResponse, to_json
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.wording import counted, file_size, visible

_OBEYED = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys and that JSON does not escape."""


def print_as(form: str, value: Any, text: str) -> None:
    """Prints a value as JSON if that is the form, otherwise its text."""
    if form == "json":
        print_json(value)
    else:
        print_text(text)


def print_text(text: str) -> None:
    """Prints a text, without what a terminal would obey: it may come from pages, or from the index of somebody else."""
    print(visible(text, "\n\t"))


def print_json(value: Any) -> None:
    """Prints a value as JSON, with escapes if the terminal cannot show all characters."""
    text = json.dumps(value, ensure_ascii=not _writes_utf8(), indent=2)
    print(_OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def print_html(text: str) -> None:
    """Prints a page that says it is UTF-8, with character references if standard output has another encoding."""
    print(text if _writes_utf8() else text.encode("ascii", "xmlcharrefreplace").decode())


def _writes_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().startswith(("utf-8", "utf8"))


def results_text(response: SearchResponse, *, first: int = 1) -> str:
    """Returns ranked results as text, each with its place in the source file, and the corrections of the query.

    Args:
        response: the results.
        first: number of the first result.
    """
    lines = [_result_text(number, result) for number, result in enumerate(response.results, first)]
    if response.corrected or response.missing_phrases:
        lines.insert(0, "\n".join(_reading(response)))
    for name, counts in response.facets.items():
        values = ", ".join(f"{as_text(item.value)} ({item.count})" for item in counts)
        lines.append(f"{name}: {values or 'no values'}")
    shown, total = len(response.results), response.total_results
    note = " (text-only mode: the embedder does not answer)" if response.degraded else ""
    shown -= sum(result.weak for result in response.results)
    lines.append(f"{shown} of {counted(total, 'result')} in {response.took_ms:.0f} ms{_weaker(response)}{note}")
    return "\n\n".join(lines)


def _reading(response: SearchResponse) -> list[str]:
    """Returns lines about corrected words and about phrases that occur nowhere."""
    lines = []
    if response.corrected:
        read = ", ".join(response.corrected.values())
        typed = ", ".join(response.corrected)
        does = "Showing results" if response.total_results else "Searched"
        lines.append(f"{does} for {read} (add --literal for {typed} as typed).")
    if response.missing_phrases:
        phrases = ", ".join(f"“{phrase}”" for phrase in response.missing_phrases)
        lines.append(f"No phrase {phrases}{': nearest results' if response.results else ''}.")
    return lines


def _weaker(response: SearchResponse) -> str:
    count = response.weaker_results
    if any(result.weak for result in response.results):
        return f", {count} weaker"
    return f", {count} weaker with --include-weak" if count else ""


def _result_text(number: int, result: Result) -> str:
    sections = (result.section,) if result.section else tuple(part.section for part in result.sections)
    scored = result.scores.semantic is not None or result.scores.lexical is not None
    score = f"  [{result.score:.3f}{', weak' if result.weak else ''}]" if scored else ""
    head = f"{number:>2}. {result.page.title}{score}"
    body = [line for section in sections if section is not None for line in _section_lines(section, result)]
    if result.explain is not None:
        parts = {name: value for name, value in result.explain.items() if value is not None}
        body.append("    " + ", ".join(f"{name} {_short(value)}" for name, value in parts.items()))
    return "\n".join([head, *body])


def _section_lines(section: SectionInfo, result: Result) -> list[str]:
    width = max(60, min(110, shutil.get_terminal_size((100, 24)).columns))
    trail = " › ".join(section.heading_hierarchy[1:])
    place = f"{result.page.path}:{section.start_line}-{section.end_line}" if section.start_line else result.page.path
    lines = [f"    {place}  {'#' + section.anchor if section.anchor else ''}".rstrip()]
    if trail:
        lines.insert(0, f"    {trail}")
    for line in section.excerpt.split("\n")[:6]:
        lines += textwrap.wrap(line, width, initial_indent="      ", subsequent_indent="      ")
    return lines


def _short(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def no_results_text(query: SearchQuery, response: SearchResponse, searcher: Searcher) -> str:
    """Returns what to try after a search without results: fewer filters, other words, the nearest weak result."""
    if response.total_results:
        return f"No results after the first {query.offset}: there is a total of {response.total_results}."
    hints = _filter_hints(query, searcher)
    query = replace(query, limit=1, offset=0, facets=())
    hints += _filters_to_drop(query, searcher)
    if not query.query:
        return "\n".join(["No page has these filters.", *hints])
    lines = [*_reading(response), f"Nothing found here for “{response.query}”.", *hints]
    nearest = replace(query, granularity="section", min_score=0.0, include_weak=True)
    found = searcher.search(nearest).results or searcher.search(replace(nearest, filters=())).results
    if found and found[0].section is not None:
        trail = " › ".join(found[0].section.heading_hierarchy)
        lines.append(f"  Nearest: {trail} ({found[0].page.path}).")
    if response.weaker_results:
        lines.append(f"  With --include-weak: {counted(response.weaker_results, 'weaker result')}.")
    lines.append("  Or try other words: a synonym, fewer words, no quotation marks.")
    return "\n".join(lines)


def _filters_to_drop(query: SearchQuery, searcher: Searcher) -> list[str]:
    """Returns how many results there are without each filter, or if there are none, without all of them."""
    found = []
    for dropped in query.filters:
        others = tuple(item for item in query.filters if item != dropped)
        if (query.query or others) and (total := searcher.search(replace(query, filters=others)).total_results):
            found.append(f"  Without the filter {filter_expression(dropped)}: {counted(total, 'result')}.")
    if not found and query.query and len(query.filters) > 1:
        total = searcher.search(replace(query, filters=())).total_results
        return [f"  Without the filters: {counted(total, 'result')}."] if total else []
    return found


def wrong_facets(query: SearchQuery, response: SearchResponse, searcher: Searcher) -> list[str]:
    """Returns a sentence for each facet of a query that no page has."""
    query = replace(query, facets=tuple(name for name, counts in response.facets.items() if not counts))
    names = [facet.name for facet in searcher.facet_fields()] if query.facets else []
    return facet_hints(query, names, lambda one: to_json(searcher.search(one)))


def _filter_hints(query: SearchQuery, searcher: Searcher) -> list[str]:
    names = [facet.name for facet in searcher.facet_fields()]
    return [f"  {hint}" for hint in filter_hints(query, names, lambda one: to_json(searcher.search(one)))]


def inspection(index: OpenIndex, *, verified: bool) -> dict[str, Any]:
    """Returns the facts about an index that `semsearch inspect` prints, ready for JSON."""
    manifest = index.manifest
    return {
        "format": FORMAT,
        "build_id": manifest.build_id,
        "created": manifest.created,
        "generator": manifest.generator,
        "site": {"name": manifest.site_name, "url": manifest.site_url, "language": manifest.language},
        "pages": manifest.pages,
        "sections": manifest.sections,
        "chunks": manifest.chunks,
        "embedder": {
            name: getattr(manifest.embedder, name)
            for name in ("kind", "model", "dimension", "fingerprint", "precision")
        },
        "encoder": asdict(manifest.encoder),
        "graph": dict(manifest.graph),
        "store": {"kind": manifest.store.get("kind", "embedded"), "collection": _collection(manifest)},
        "facets": [asdict(facet) for facet in manifest.facets],
        "size_bytes": manifest.size,
        "parts": _parts(index),
        "files": [asdict(file) for file in manifest.files],
        "verified": verified,
    }


def _collection(manifest: Manifest) -> str | None:
    """Returns the collection that holds the chunks, if they are in a cluster."""
    return collection_name(str(manifest.store.get("collection")), manifest.build_id) if manifest.store else None


def _parts(index: OpenIndex) -> dict[str, int]:
    """Returns the size of each part of an index in bytes, largest first; a part is a file or a folder of the build."""
    sizes: dict[str, int] = {}
    for file in index.manifest.files:
        name = file.path.partition("/")[0].partition(".")[0]
        sizes[name] = sizes.get(name, 0) + file.size
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def inspection_text(found: dict[str, Any]) -> str:
    """Returns an inspection as text."""
    encoder = found["encoder"]
    place = "in the index" if encoder["exported"] else "the default of the package" if encoder["bundled"] else None
    exported = "not exported" if place is None else place + (", 8-bit" if encoder["quantized"] else "")
    rows = [
        ("build", f"{found['build_id']} of {found['created']} by {found['generator']}, format {found['format']}"),
        ("site", " ".join(filter(None, (found["site"]["name"], found["site"]["url"], found["site"]["language"])))),
        ("content", ", ".join(counted(found[f"{noun}s"], noun) for noun in ("page", "section", "chunk"))),
        ("embedder", "{model}, {dimension} dimensions, pages in {precision}".format(**found["embedder"])),
        ("encoder", exported + (f" ({encoder['reason']})" if encoder["reason"] else "")),
        ("graph", f"{found['graph'].get('method')}, {found['graph'].get('neighbors')} neighbors"),
        ("store", " ".join(filter(None, (found["store"]["kind"], found["store"]["collection"])))),
        ("facets", ", ".join(f"{facet['name']} ({facet['type']})" for facet in found["facets"]) or "none"),
        ("size", f"{file_size(found['size_bytes'])} in {counted(len(found['files']), 'file')}"),
        ("parts", ", ".join(_part(name, size, found["chunks"]) for name, size in found["parts"].items())),
    ]
    if found["verified"]:
        rows.append(("verified", "every file has the hash in the manifest"))
    # A published index has the texts of its publisher.
    return "\n".join(f"{name:<10}{visible(value)}" for name, value in rows)


def _part(name: str, size: int, chunks: int) -> str:
    """Returns the size of a part as text, with its bytes per chunk unless it is the encoder."""
    each = "" if name == ENCODER or not chunks else f" ({size / chunks:.0f} bytes per chunk)"
    return f"{name} {file_size(size)}{each}"


def evaluation_text(figures: dict[str, Any], found: Evaluation, *, misses: bool) -> str:
    """Returns the figures as text, and on request the questions that missed or were skipped."""
    lines = [f"{name:<13}{value}" for name, value in figures.items()]
    if misses:
        lines += [
            f"{item.rank or '-':>3}  {item.question.query[:70]}  wanted {_wanted(item)}, first {item.first}"
            for item in found.judged
            if item.rank != 1 or item.lacks_section
        ]
        lines += [
            f"  -  {question.query[:70]}  skipped, the index has no page {question.pages[0]}"
            for question in found.skipped
        ]
    return "\n".join(lines)


def _wanted(item: JudgedQuery) -> str:
    page, anchor = item.question.pages[0], next(iter(item.question.anchors), None)
    place = page if anchor is None else f"{page}#{anchor}"
    return f"{place} (the page has no such section)" if item.lacks_section else place


def tuning_text(found: Tuning) -> str:
    """Returns the figures of `semsearch tune` as text."""
    return (
        f"{found.questions} questions. MRR@10 of those held out: {found.held_out_before:.4f} with the weight of "
        f"meaning {found.before:g}, {found.held_out:.4f} with the weight fitted to the others (standard error "
        f"{found.error:.4f}). Best for all questions: {found.weight:g}."
    )
