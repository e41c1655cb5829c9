r"""Simulates readers who search a site without ten of its pages, and checks whether the report names the missing ones.

    python benchmarks/made_up_readers.py netbox=SITE --config MKDOCS.yml \
        --queries ../shared/eval/changelog_queries.jsonl ../shared/eval/heading_queries.jsonl

For each seed the site is indexed without ten pages, drawn at random among those that two questions or more are about.
Then 5,000 searches are made and recorded as the dialog and the sidecar record them:

* What is asked: a page, by Zipf's law (exponent 0.7) over a random order, then one of its questions.
* How: 45 % as it is, 30 % its three to five longest words, 25 % without some of its words. In 15 % of the searches one
  word has a typo: two letters swapped, one left out, doubled or replaced.
* What is opened: the reader looks at the results from the first to the tenth and stops before each further one with
  probability 0.15. The page of the answer is opened with 0.85, any other with 0.04 (`--other`).
* Rephrasing: a reader who opens nothing asks otherwise with 0.4, at most twice, and else leaves.

An entry of the report, which is a group of questions, counts by the page that most of its searches are about. `gap`:
that page is missing. `hard`: it is in the index, and not among the first three results for most of the searches of the
entry, so that these readers did not get an answer either. `wrong`: it is there and among the first three.

With `--words` no page is missing. For ten pages readers have a word of their own, made up, that stands in for the
longest word of a question, six times each. The output says for how many pages the report proposes that word. It also
says how many pages are first, among the first three and among the first ten for the word alone, for the question with
it, and for the question as the site would write it, before and after the proposal is in the front matter.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mkdocs_semsearch.insights.questions import Group
from mkdocs_semsearch.insights.report import make_report
from mkdocs_semsearch.insights.search_records import Search, read_beacon
from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, read_queries
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
from mkdocs_semsearch.site.built_site import index_built_site
from mkdocs_semsearch.site.pipeline import Settings
from mkdocs_semsearch.site.source_files import SiteConfig, load_site_config

SEARCHES, GAPS, FIRST = 5000, 10, 20
STOP, RIGHT, OTHER, AGAIN, TYPO = 0.15, 0.85, 0.04, 0.4, 0.15


def form_of(question: str, chance: random.Random) -> str:
    words = question.split()
    drawn = chance.random()
    if drawn < 0.3 and len(words) > 3:
        longest = sorted(words, key=len, reverse=True)[: chance.randint(3, 5)]
        words = [word for word in words if word in longest]
    elif drawn < 0.55 and len(words) > 4:
        dropped = set(chance.sample(range(len(words)), chance.randint(1, len(words) // 3)))
        words = [word for place, word in enumerate(words) if place not in dropped]
    if chance.random() < TYPO:
        place = chance.randrange(len(words))
        words[place] = misspelt(words[place], chance)
    return " ".join(words)


def misspelt(word: str, chance: random.Random) -> str:
    if len(word) < 4:
        return word
    at = chance.randrange(1, len(word) - 1)
    return chance.choice(
        [
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + chance.choice("etaoinshr") + word[at + 1 :],
        ]
    )


def opened(results: list[str], answers: tuple[str, ...], other: float, chance: random.Random) -> tuple[str, int] | None:
    for rank, path in enumerate(results, 1):
        if chance.random() < (RIGHT if path in answers else other):
            return path, rank
        if chance.random() < STOP:
            return None
    return None


class Readers:
    """A group of simulated readers that search a site; see the docstring of this module.

    Args:
        searcher: a searcher of the site's index.
        questions: the readers' questions.
        seed: seed of all random choices.
        other: probability that a page without the answer is opened.
    """

    def __init__(self, searcher: Searcher, questions: list[EvaluationQuery], seed: int, other: float = OTHER) -> None:
        self.searcher = searcher
        self.chance = random.Random(seed)
        self.other = other
        self.by_page: dict[str, list[EvaluationQuery]] = defaultdict(list)
        for question in questions:
            self.by_page[question.pages[0]].append(question)
        self.pages = sorted(self.by_page)
        self.chance.shuffle(self.pages)
        self.weights = [1 / (rank + 1) ** 0.7 for rank in range(len(self.pages))]
        self.about: dict[str, Counter[str]] = defaultdict(Counter)
        self.top_three: dict[str, list[bool]] = defaultdict(list)
        """Both map the text of a record: to the page that it is about, and to whether that page was among the first."""

    def searches(self, count: int) -> Iterator[Search]:
        """Yields the records of this many searches."""
        made = 0
        while made < count:
            page = self.chance.choices(self.pages, self.weights)[0]
            question = self.chance.choice(self.by_page[page])
            for attempt in range(3):
                record, found = self.one(form_of(question.query, self.chance), question)
                again = not found and attempt < 2 and self.chance.random() < AGAIN
                yield replace(record, rephrased=again)
                made += 1
                if not again:
                    break

    def one(self, text: str, question: EvaluationQuery) -> tuple[Search, bool]:
        """Searches once; returns the record, and whether a result was opened."""
        response = self.searcher.search(SearchQuery(text, granularity="page", limit=10))
        paths = [result.page.path for result in response.results]
        best = response.results[0] if response.results else None
        hit = opened(paths, question.pages, self.other, self.chance)
        told = {
            "query": text,
            "matches": response.total_results,
            "score": best and best.score,
            "similarity": best and best.scores.semantic,
            "corrected": dict(response.corrected),
            **({"opened": hit[0], "rank": hit[1]} if hit else {}),
        }
        record = read_beacon(json.dumps(told).encode())
        assert record is not None
        self.about[record.query.casefold()][question.pages[0]] += 1
        self.top_three[record.query.casefold()].append(any(path in question.pages for path in paths[:3]))
        return record, hit is not None


def kind_of(group: Group, readers: Readers, gaps: set[str]) -> tuple[str, str]:
    texts = [text.casefold() for text in (group.question, *group.examples)]
    page = sum((readers.about[text] for text in texts), Counter[str]()).most_common(1)[0][0]
    if page in gaps:
        return "gap", page
    seen = [found for text in texts for found in readers.top_three[text]]
    return ("wrong" if sum(seen) >= len(seen) / 2 else "hard"), page


def measure(index: Path, questions: list[EvaluationQuery], gaps: set[str], seed: int, other: float) -> dict[str, Any]:
    with open_searcher(index) as searcher:
        readers = Readers(searcher, questions, seed, other)
        records = list(readers.searches(SEARCHES))
        started = time.process_time()
        report = make_report(records, searcher)
        seconds = time.process_time() - started
    kinds = [kind_of(group, readers, gaps) for group in report.unanswered]
    agreed = [kind_of(group, readers, gaps)[0] for group in report.hard_to_find]
    named = {page for kind, page in kinds[:FIRST] if kind == "gap"}
    searches = Counter(page for about in readers.about.values() for page in about.elements())
    return {
        "searches": len(records),
        "opened": round(report.totals["opened"] / len(records), 3),
        "gaps": len(gaps),
        "gaps_named_first": len(named),
        "gaps_named": len({page for kind, page in kinds if kind == "gap"}),
        "entries": len(kinds),
        **{kind: sum(found == kind for found, _ in kinds) for kind in ("gap", "hard", "wrong")},
        "hard_to_find": {kind: agreed.count(kind) for kind in ("gap", "hard", "wrong")},
        "not_named_first": {page: searches[page] for page in sorted(gaps - named)},
        "report_cpu_seconds": round(seconds, 1),
        "wrong_entries": [
            group.question for group, (kind, _) in zip(report.unanswered, kinds, strict=True) if kind == "wrong"
        ],
    }


def pages_to_leave_out(questions: list[EvaluationQuery], seed: int) -> set[str]:
    often = Counter(item.pages[0] for item in questions)
    return set(random.Random(seed).sample(sorted(page for page, count in often.items() if count > 1), GAPS))


OWN_WORDS = (
    "zorbique",
    "flimtar",
    "quendrol",
    "vaxomir",
    "trelbane",
    "ombriquet",
    "skarvold",
    "plinzeta",
    "wexforn",
    "glim",
)


def with_own_word(question: str, word: str) -> str:
    longest = max(question.split(), key=len)
    return question.replace(longest, word, 1)


def measure_words(
    site: Path, config: SiteConfig, settings: Settings, questions: list[EvaluationQuery], seed: int
) -> dict[str, Any]:
    """Lets readers use words of their own, and gives the pages the keywords that the report proposes."""
    long = {item.pages[0]: item for item in questions if len(item.query.split()) > 3}
    pages = random.Random(seed).sample(sorted(long), len(OWN_WORDS))
    planted = dict(zip(OWN_WORDS, [long[page] for page in pages], strict=True))

    def ranks(searcher: Searcher, texts: dict[str, str]) -> dict[str, int]:
        """Counts the texts for which the page is the first result, and among the first three and ten."""
        found = []
        for word, item in planted.items():
            results = searcher.search(SearchQuery(texts[word], granularity="page", limit=10)).results
            found.append(next((rank for rank, one in enumerate(results, 1) if one.page.path in item.pages), 99))
        return {f"first_{most}": sum(rank <= most for rank in found) for most in (1, 3, 10)}

    def found(index: Path) -> tuple[dict[str, Any], dict[str, str]]:
        with open_searcher(index) as searcher:
            figures = {
                "word_alone": ranks(searcher, {word: word for word in planted}),
                "question": ranks(searcher, {word: with_own_word(item.query, word) for word, item in planted.items()}),
                "question_with_the_word_of_the_site": ranks(
                    searcher, {word: item.query for word, item in planted.items()}
                ),
            }
            readers = Readers(searcher, questions, seed)
            records = list(readers.searches(500))
            for word, item in planted.items():
                records += [readers.one(with_own_word(item.query, word), item)[0] for _ in range(6)]
            proposed = {found["word"]: found["page"]["path"] for found in make_report(records, searcher).words}
        return figures, proposed

    with tempfile.TemporaryDirectory() as made:
        index_built_site(site, replace(settings, index_dir=Path(made) / "before"), config, widget=False)
        before, proposed = found(Path(made) / "before")
        docs = Path(made) / "docs"
        shutil.copytree(config.docs_dir, docs)
        for word in planted:
            page = proposed.get(word)
            if page is not None:
                text = (docs / page).read_text(encoding="utf-8").removeprefix("---\n")
                rest = text if (docs / page).read_text(encoding="utf-8").startswith("---\n") else f"---\n{text}"
                (docs / page).write_text(f"---\nsearch: {{keywords: [{word}]}}\n{rest}", encoding="utf-8")
        index_built_site(
            site, replace(settings, index_dir=Path(made) / "after"), replace(config, docs_dir=docs), widget=False
        )
        after, _ = found(Path(made) / "after")
    return {
        "words": len(planted),
        "proposed": sum(word in proposed for word in planted),
        "for_the_right_page": sum(proposed.get(word) in item.pages for word, item in planted.items()),
        "before": before,
        "after": after,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", metavar="NAME=SITE", help="corpus of the questions, and the built site")
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--queries", type=Path, nargs="+", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[19])
    parser.add_argument("--other", type=float, default=OTHER, help="how often a page without the answer is opened")
    parser.add_argument("--words", action="store_true", help="words of readers in place of missing pages")
    given = parser.parse_args()
    name, _, site = given.site.partition("=")
    config = load_site_config(given.config)
    settings = read_settings(config.plugin_options, given.config)
    excluded = [re.compile(glob.replace("*", ".*")) for glob in settings.exclude]
    questions = []
    for item in (item for path in given.queries for item in read_queries(path) if item.corpus == name):
        pages = tuple(page for page in item.pages if (config.docs_dir / page).is_file())
        if pages and not any(glob.fullmatch(pages[0]) for glob in excluded):
            questions.append(replace(item, pages=pages))
    for seed in given.seeds:
        if given.words:
            found = measure_words(Path(site), config, settings, questions, seed)
            print(json.dumps({"site": name, "seed": seed, **found}), flush=True)
            continue
        gaps = pages_to_leave_out(questions, seed)
        with tempfile.TemporaryDirectory() as folder:
            without = replace(settings, index_dir=Path(folder) / "index", exclude=(*settings.exclude, *sorted(gaps)))
            index_built_site(Path(site), without, config, widget=False)
            found = measure(without.index_dir, questions, gaps, seed, given.other)
        print(json.dumps({"site": name, "seed": seed, **found}), flush=True)


if __name__ == "__main__":
    main()
