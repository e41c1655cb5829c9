"""Compares look-ups with SQLite FTS5 over the same chunks: headings, and questions cut to three words or one.

FTS5 ranks sections by bm25 over title, headings and text (weights 4, 4, 1), porter stemmer, any word may match; pages
by their best section. Words kept from a question are its rarest on the site.

    python benchmarks/lookups.py fastapi=SITE/semsearch-index netbox=… --queries ../shared/eval/changelog_queries.jsonl
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from mkdocs_semsearch import Searcher, SearchQuery, open_searcher
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, read_queries

WORD = re.compile(r"\w+")
HEADINGS_A_SITE = 400

Ranker = Callable[[str], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    parser.add_argument("--queries", nargs="*", type=Path, default=[])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sites = {name: open_searcher(folder) for name, _, folder in (item.partition("=") for item in given.indexes)}
    figures: dict[str, dict[str, float]] = {}
    rankers = {name: (hybrid(searcher), fts5(searcher)) for name, searcher in sites.items()}
    for name, searcher in sites.items():
        lookups = unique_headings(searcher)
        figures[f"unique headings of {name}"] = compare(lookups, lambda _: rankers[name], first_only=True)  # noqa: B023
        print_row(f"unique headings of {name}", len(lookups), figures[f"unique headings of {name}"])
    for path in given.queries:
        queries = [query for query in read_queries(path) if query.corpus in sites]
        rarity = {name: document_frequency(searcher) for name, searcher in sites.items()}
        for words in (0, 3, 1):
            cut = [(shortened(query, rarity[str(query.corpus)], words), query) for query in queries]
            asked = [(text, query.pages, str(query.corpus)) for text, query in cut if text]
            label = f"{path.stem}, {words or 'all'} words"
            figures[label] = compare(asked, lambda corpus: rankers[corpus], first_only=False)
            print_row(label, len(asked), figures[label])
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def print_row(label: str, count: int, row: dict[str, float]) -> None:
    print(f"{label:<44} {count:>5} " + "  ".join(f"{name} {value:.3f}" for name, value in row.items()), flush=True)


def compare(
    asked: list[tuple[str, tuple[str, ...], str]],
    rankers_of: Callable[[str], tuple[Ranker, Ranker]],
    *,
    first_only: bool,
) -> dict[str, float]:
    figures = {}
    for position, engine in enumerate(("semsearch", "fts5")):
        ranks = []
        for text, pages, corpus in asked:
            found = rankers_of(corpus)[position](text)
            ranks.append(next((place for place, page in enumerate(found, 1) if page in pages), 0))
        gain = [float(rank == 1) if first_only else (1 / rank if rank else 0.0) for rank in ranks]
        figures[f"{engine} {'hit@1' if first_only else 'mrr@10'}"] = statistics.mean(gain) if gain else 0.0
    return figures


def hybrid(searcher: Searcher) -> Ranker:
    def rank(text: str) -> list[str]:
        query = SearchQuery(text[:1000], granularity="page", sections_per_page=1)
        return [result.page.path for result in searcher.search(query).results]

    return rank


def sections(searcher: Searcher) -> list[tuple[str, str, str, str]]:
    """Returns (path, title, headings, text) of every chunk."""
    found = []
    for path, _ in searcher.page_urls():
        for section in searcher.page(path).sections:
            title, *headings = section.heading_hierarchy
            found.append((path, title, " ".join(headings), section.content))
    return found


def fts5(searcher: Searcher) -> Ranker:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE sections USING fts5(path UNINDEXED, title, headings, text, tokenize = porter)"
    )
    database.executemany("INSERT INTO sections VALUES (?, ?, ?, ?)", sections(searcher))

    def rank(text: str) -> list[str]:
        terms = " OR ".join(f'"{word}"' for word in WORD.findall(text))
        if not terms:
            return []
        rows = database.execute(
            "SELECT path FROM sections WHERE sections MATCH ? ORDER BY bm25(sections, 0, 4, 4, 1) LIMIT 200", (terms,)
        )
        return list(dict.fromkeys(path for (path,) in rows))[:10]

    return rank


def unique_headings(searcher: Searcher) -> list[tuple[str, tuple[str, ...], str]]:
    """Returns headings of two to six words that occur on only one page, sampled evenly over the site."""
    pages: dict[str, set[str]] = {}
    for path, _ in searcher.page_urls():
        for section in searcher.page(path).sections:
            pages.setdefault(section.heading_hierarchy[-1], set()).add(path)
    names = Counter(" ".join(WORD.findall(heading.casefold())) for heading in pages)
    unique = [
        heading
        for heading, found in pages.items()
        if len(found) == 1
        and 2 <= len(WORD.findall(heading)) <= 6
        and names[" ".join(WORD.findall(heading.casefold()))] == 1
    ]
    step = max(1, len(unique) // HEADINGS_A_SITE)
    return [(heading, tuple(pages[heading]), "") for heading in unique[::step]]


def document_frequency(searcher: Searcher) -> Counter[str]:
    return Counter(word for _, *texts in sections(searcher) for word in set(WORD.findall(" ".join(texts).casefold())))


def shortened(query: EvaluationQuery, frequency: Counter[str], words: int) -> str:
    if not words:
        return query.query
    known = [word for word in dict.fromkeys(WORD.findall(query.query.casefold())) if frequency[word]]
    rarest = set(sorted(known, key=lambda word: frequency[word])[:words])
    return " ".join(word for word in known if word in rarest)


if __name__ == "__main__":
    main()
