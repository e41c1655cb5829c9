"""Makes the report on recorded searches: as text for a terminal, as JSON, and as one HTML file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from mkdocs_semsearch.insights.questions import (
    FEWEST,
    MOST_QUESTIONS,
    OPENED_LOW,
    Group,
    Question,
    failing_groups,
    least_similarity,
    question_groups,
    question_key,
    read_questions,
)
from mkdocs_semsearch.insights.search_records import REDACTED, Search
from mkdocs_semsearch.lexical.analyzers import prepare
from mkdocs_semsearch.lexical.extra_words import ReaderWords, names_in
from mkdocs_semsearch.lexical.languages import ALL_STOP_WORDS, stemmer_for, stems_with, telling_words
from mkdocs_semsearch.lexical.question import spoken_words
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.records import absolute_url
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.wording import counted

LISTED = 20
WIDTH, HEIGHT = 720, 150
"""Size of the plot over time, in SVG units; the page scales it to the width of the screen."""


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of the report.

    Attributes:
        site: name of the site.
        since: hour or day from which on searches are counted; empty for the beginning.
        newest: hour of the newest record, which may be before `since`; empty if there is none.
        totals: searches, questions, opened, rephrased, without matches; since recording began: dropped, failed.
        days: searches and opened results of each day.
        unanswered: groups whose searches fail more often than others, those that fail most surely first.
        hard_to_find: such groups as well, if the readers who opened a result agree on its page.
        found_nothing: groups of the searches that had no matches, the most frequent first.
        never_opened: groups with matches of which nothing was ever opened.
        opened_low: groups whose readers passed over the first results.
        rephrased: groups whose searches were mostly rephrased.
        words: words of readers that no page has, with the page that they opened most; if they opened none, `opened` is
            false and the page is the nearest one.
        found: pages that are among the first three for most searches.
        unreached: pages that are not among the first ten of any question.
        facets: every facet, with the number of its uses by value.
        corrections: corrected words, with the number of corrections.
    """

    site: str
    since: str
    newest: str
    totals: Mapping[str, int]
    days: tuple[Mapping[str, Any], ...]
    unanswered: tuple[Group, ...]
    hard_to_find: tuple[Group, ...]
    found_nothing: tuple[Group, ...]
    never_opened: tuple[Group, ...]
    opened_low: tuple[Group, ...]
    rephrased: tuple[Group, ...]
    words: tuple[Mapping[str, Any], ...]
    found: tuple[Mapping[str, Any], ...]
    unreached: tuple[Mapping[str, str], ...]
    facets: tuple[Mapping[str, Any], ...]
    corrections: tuple[Mapping[str, Any], ...]

    @property
    def nothing(self) -> str:
        """The sentence for a report without searches."""
        if not self.newest:
            return "No searches are recorded yet."
        return f"No searches since {_hour(self.since)} are recorded; the newest one is of {_hour(self.newest)}."

    @property
    def lost(self) -> str:
        """The sentence about records that are missing; empty if there are none."""
        reasons = {"dropped": "because too many were waiting", "failed": "because they could not be written"}
        found = [f"{counted(self.totals[name], 'record')} {why}" for name, why in reasons.items() if self.totals[name]]
        return f"Lost since recording began: {', '.join(found)}." if found else ""

    @property
    def left_out(self) -> str:
        """The sentence about questions that are not compared; empty if all are."""
        more = self.totals["questions"] > MOST_QUESTIONS
        return f"Only the {MOST_QUESTIONS} most frequent questions are compared below." if more else ""

    @property
    def keywords(self) -> dict[str, list[str]]:
        """The words of readers for each page that they opened."""
        found: dict[str, list[str]] = defaultdict(list)
        for item in self.words:
            if item["opened"]:
                found[item["page"]["path"]].append(item["word"])
        return dict(sorted(found.items()))


def make_report(
    searches: Sequence[Search],
    searcher: Searcher,
    *,
    dropped: int = 0,
    failed: int = 0,
    since: str = "",
    newest: str = "",
) -> Report:
    """Makes the report.

    Args:
        searches: the records.
        searcher: a searcher of the current index; its encoder embeds the questions.
        dropped: number of records that were lost because the queue was full.
        failed: number of records that were lost because they could not be written.
        since: hour or day from which on records are included; empty for all.
        newest: hour of the newest record, for a report without records.
    """
    questions = read_questions(searches, searcher)
    least = least_similarity(searcher)
    groups = question_groups(questions, least)
    placed = _Places(searcher)
    found, reached = _reached(questions, placed)
    failing = failing_groups(groups)
    hard = [replace(group, page=placed.page(group.answer)) for group in failing if group.answer in placed.pages]
    unanswered = [group for group in failing if group.answer not in placed.pages][: 2 * LISTED]
    empty = sorted(question_groups(_without_matches(questions), least), key=lambda group: -group.searches)
    shown = {group.question for group in (*unanswered, *hard[:LISTED])}
    others = [group for group in groups if group.question not in shown and group.searches > FEWEST]
    often = sorted(others, key=lambda group: -group.searches)
    return Report(
        site=searcher.manifest.site_name or "",
        since=since,
        newest=max([newest, *(search.hour for search in searches)]),
        totals={
            "searches": len(searches),
            "questions": len({question_key(search.query) for search in searches if search.query}),
            "opened": sum(search.opened is not None for search in searches),
            "rephrased": sum(search.rephrased for search in searches),
            "without_matches": sum(search.matches == 0 for search in searches),
            "dropped": dropped,
            "failed": failed,
        },
        days=_days(searches),
        unanswered=tuple(map(placed.nearest, unanswered)),
        hard_to_find=tuple(hard[:LISTED]),
        found_nothing=tuple(map(placed.nearest, empty[:LISTED])),
        never_opened=tuple(_first(often, placed, lambda group: group.matched > 0 and group.opened == 0)),
        opened_low=tuple(_first(often, placed, lambda group: (group.rank or 0) >= OPENED_LOW and group.opened > 1)),
        rephrased=tuple(_first(often, placed, lambda group: group.rephrased > group.searches / 2)),
        words=tuple(_unknown_words(questions, searcher, placed)),
        found=tuple(_page_counts(found, searches, placed)),
        unreached=tuple(placed.page(path) for path in placed.pages if path not in reached),
        facets=tuple(_facets(searches, searcher)),
        corrections=tuple(_corrections(searches)),
    )


def _without_matches(questions: Iterable[Question]) -> list[Question]:
    """Returns the questions of the searches that had no matches, with these searches only."""
    found = [replace(one, searches=[search for search in one.searches if not search.matches]) for one in questions]
    return [question for question in found if question.searches]


class _Places:
    """Looks up pages in the current index."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._edit_url = searcher.manifest.edit_url
        self._site_url = searcher.manifest.site_url
        self.pages = dict(searcher.page_urls())
        self._titles: dict[str, str] = {}

    def first(self, text: str, limit: int = 10, *, weak: bool = False) -> list[str]:
        """Returns the paths of the first pages that match a question; with `weak`, also of pages that match weakly."""
        query = SearchQuery(text, limit=limit, granularity="page", include_weak=weak)
        results = self._searcher.search(query).results
        self._titles |= {result.page.path: result.page.title for result in results}
        return [result.page.path for result in results]

    def page(self, path: str) -> dict[str, str]:
        """Returns path, title and URL of a page, and the URL for editing it if the site has one."""
        title = self._titles.get(path) or self._searcher.page(path).page.title
        page = {"path": path, "title": title, "url": absolute_url(self._site_url, self.pages[path])}
        edited = _edit_address(self._edit_url, path)
        return {**page, "edit": edited} if edited else page

    def with_page(self, group: Group) -> Group:
        """Returns the group with the page that readers agree on, if it is in the index, else with its nearest page."""
        found = self.nearest(group)
        return replace(found, page=self.page(group.answer)) if group.answer in self.pages else found

    def nearest(self, group: Group) -> Group:
        """Returns the group with its nearest page filled in."""
        response = self._searcher.search(SearchQuery(group.question, limit=1, granularity="page", include_weak=True))
        if not response.results:
            return replace(group, answered=False)
        page = response.results[0].page
        self._titles[page.path] = page.title
        return replace(group, page=self.page(page.path), answered=response.total_results > 0)


def _edit_address(template: str, path: str) -> str:
    """Returns the URL for editing a page; empty for a generated page, or if the site has no such URL."""
    if not template.startswith(("http://", "https://")) or path.endswith(".html"):
        return ""
    for name, value in (("path", path), ("path_noext", path.rpartition(".")[0])):
        template = template.replace(f"{{{name}}}", quote(value)).replace(f"{{{name}!q}}", quote(value, safe=""))
    return template


def _first(groups: Iterable[Group], placed: _Places, wanted: Callable[[Group], bool]) -> list[Group]:
    return [placed.with_page(group) for group in groups if wanted(group)][:LISTED]


def _reached(questions: Sequence[Question], placed: _Places) -> tuple[Counter[str], set[str]]:
    """Searches the current index for every question.

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


def _hour(hour: str) -> str:
    """Returns a day as it is, and an hour as a time."""
    day, _, clock = hour.partition("T")
    return f"{day} {clock}:00 UTC" if clock else day


def _days(searches: Iterable[Search]) -> tuple[dict[str, Any], ...]:
    days: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for search in searches:
        day = days[search.hour[:10]]
        day[0] += 1
        day[1] += search.opened is not None
    return tuple({"day": day, "searches": count, "opened": opened} for day, (count, opened) in sorted(days.items()))


_WORD = re.compile(r"(?<![^\W_])(?=\d{0,20}[^\W\d_])[^\W_]{3,}")
"""A word with a letter, such as *install* and *k8s*, but not a number. It can begin only where a run of letters and
digits begins; otherwise a long number would take quadratic time."""


def _unknown_words(questions: Sequence[Question], searcher: Searcher, placed: _Places) -> list[dict[str, Any]]:
    """Finds words of questions that no page has, apart from typos, and the page for which each could be a keyword."""
    stem, telling = stems_with(stemmer_for(searcher.manifest.language or "en")), telling_words(ALL_STOP_WORDS)
    readers = ReaderWords.of(searcher.manifest.lexical)

    def parts(word: str) -> set[str]:
        """Returns the stem of a word, or the pairs of characters of a run in a script without spaces."""
        return {stem(part) for part in prepare(word).split()}

    known = {part for path in placed.pages for word in _words_of_page(searcher, readers, path) for part in parts(word)}
    using: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        typos = {word.casefold() for search in question.searches for word in search.corrected}
        for word in dict.fromkeys(_words_of_question(question)):
            if word not in typos and known.isdisjoint(parts(word)) and telling.analyze(word):
                using[stem(word)].append(question)
    words: list[dict[str, Any]] = []
    for asked in using.values():
        count = sum(len(question.searches) for question in asked)
        if count < FEWEST:
            continue
        forms = Counter(
            word for question in asked for word in _words_of_question(question) if using.get(stem(word)) is asked
        )
        word = forms.most_common(1)[0][0]
        opened = Counter(search.opened for question in asked for search in question.searches if search.opened)
        there = [path for path, _ in opened.most_common() if path in placed.pages]
        path = next(iter(there or placed.first(asked[0].text, 1, weak=True)), None)
        if path is not None:
            words.append(
                {
                    "word": word,
                    "searches": count,
                    "question": asked[0].text,
                    "page": placed.page(path),
                    "opened": bool(there),
                    "gone": opened.most_common(1)[0][0] if opened and not there else None,
                }
            )
    return sorted(words, key=lambda item: (-item["searches"], item["word"]))[:LISTED]


def _words_of_question(question: Question) -> list[str]:
    return _WORD.findall(" ".join(spoken_words(REDACTED.sub(" ", question.text.lower()))))


def _words_of_page(searcher: Searcher, readers: ReaderWords, path: str) -> set[str]:
    """Returns the words of a page, and those that its keywords, synonyms and file name add to it."""
    found = searcher.page(path)
    texts = [*names_in(path), *readers.of_page(path, found.page.frontmatter)]
    for section in found.sections:
        texts += (section.content, *section.heading_hierarchy)
        texts += readers.of_text(section.heading_hierarchy, section.content)
    return {word for text in texts for word in _WORD.findall(text.lower())}


def _facets(searches: Iterable[Search], searcher: Searcher) -> list[dict[str, Any]]:
    used: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for search in searches:
        used.update(search.filters.keys())  # a mapping would add its values
        for name, values in search.filters.items():
            counts[name].update(values)
    declared = {facet.name: facet.label for facet in searcher.manifest.facets}
    return [
        {"name": name, "label": label, "used": used[name], "values": dict(counts[name].most_common(8))}
        for name, label in declared.items()
    ]


def _corrections(searches: Iterable[Search]) -> Iterator[dict[str, Any]]:
    pairs = Counter(pair for search in searches for pair in search.corrected.items())
    for (word, other), count in pairs.most_common(LISTED):
        yield {"word": word, "read_as": other, "searches": count}


def report_text(report: Report) -> str:
    """Returns the report for a terminal."""
    totals = report.totals
    if not totals["searches"]:
        return report.nothing
    share = round(100 * totals["opened"] / totals["searches"])
    first, last = report.days[0]["day"], report.days[-1]["day"]
    lines = [
        f"{counted(totals['searches'], 'search')}, {counted(totals['questions'], 'different question')}, "
        f"{first} to {last}: {share} % opened a result, {totals['rephrased']} asked again in other words, "
        f"{totals['without_matches']} found nothing."
    ]
    lines += filter(None, [report.lost, report.left_out])
    lines += _chapter("Without a good answer", map(_group_line, report.unanswered))
    lines += _chapter("Hard to find", map(_group_line, report.hard_to_find))
    lines += _chapter("Found nothing", map(_group_line, report.found_nothing))
    lines += _chapter("Answered, never opened", map(_group_line, report.never_opened))
    lines += _chapter("Opened far down", map(_group_line, report.opened_low))
    lines += _chapter("Asked again in other words", map(_group_line, report.rephrased))
    lines += _chapter(
        "Words that no page has (search: keywords in the front matter of the page)",
        map(_word_line, report.words),
    )
    lines += _chapter(
        "Words that were read as others",
        (f"{item['word']} → {item['read_as']} ({item['searches']}×)" for item in report.corrections),
    )
    lines += _chapter(
        "Found most",
        (f"{page['path']}: {counted(page['searches'], 'search')}, {page['opened']} opened" for page in report.found),
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


def _word_line(item: Mapping[str, Any]) -> str:
    opened = f"opened {item['gone']}, which the index lacks" if item["gone"] else "no page opened"
    place = "→" if item["opened"] else f"{opened}, nearest is"
    return f"{item['word']} ({item['searches']}×, “{item['question']}”) {place} {item['page']['path']}"


def _group_line(group: Group) -> str:
    ways = f" in {group.ways} ways" if group.ways > 1 else ""
    page = f" → {group.page['path']}" if group.page else ""
    filters = "".join(f", {count}× with {name}" for name, count in group.filters)
    remark = f", {group.remark}" if group.remark else ""
    return f"{group.searches}× “{group.question}”{ways}, {group.opened} opened{filters}{remark}{page}"


def report_html(report: Report) -> str:
    """Returns the report as a page that is readable on a phone, in light and dark."""
    groups = (*report.unanswered, *report.hard_to_find, *report.found_nothing)
    groups += (*report.never_opened, *report.opened_low, *report.rephrased)
    most = max((group.searches for group in groups), default=1)
    return render_page("report.html.jinja", report=report, bars=_bars(report), width=WIDTH, height=HEIGHT, most=most)


def render_page(template: str, **values: Any) -> str:
    """Renders a template of this folder with its values escaped, and with the common styles as `style`."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["counted"] = counted
    return environment.from_string(read_part(template)).render(style=read_part("page.css"), **values)


def read_part(name: str) -> str:
    """Reads a template, style sheet or script of this folder."""
    return files("mkdocs_semsearch.insights").joinpath(name).read_text(encoding="utf-8")


def _bars(report: Report) -> list[dict[str, Any]]:
    """Returns position and size of the bars of the last 90 days up to the last search; days without one are empty."""
    if not report.days:
        return []
    by_day = {day["day"]: day for day in report.days}
    first, last = (date.fromisoformat(report.days[place]["day"]) for place in (0, -1))
    length = min(90, (last - first).days + 1)
    names = [(last - timedelta(days=back)).isoformat() for back in reversed(range(length))]
    days = [by_day.get(name, {"day": name, "searches": 0, "opened": 0}) for name in names]
    most = max(day["searches"] for day in days)
    wide = min(40.0, WIDTH / len(days))
    return [
        {
            **day,
            "x": round(number * wide, 1),
            "width": round(wide * 0.8, 1),
            "all": round(HEIGHT * day["searches"] / most, 1),
            "with": round(HEIGHT * day["opened"] / most, 1),
        }
        for number, day in enumerate(days)
    ]
