"""Finds the place of sections and chunks in the Markdown source."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mkdocs_semsearch.chunking.blocks import Heading
from mkdocs_semsearch.chunking.document import without_fences
from mkdocs_semsearch.chunking.markdown_source import MarkdownSource, comparable_heading

_WORD = re.compile(r"[^\W_]+")
_PROBES = ((6, 12), (3, 4))
"""How many words are searched for together, and how many words at the end may be skipped before fewer are tried."""

_REACH = 4
_REACH_AT_LEAST = 400
"""A chunk is searched for within `_REACH` times its length plus `_REACH_AT_LEAST` words: the search stays linear."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A piece of a source file.

    Attributes:
        start_line, end_line: 1-based, end inclusive.
        char_start, char_end: in characters, end exclusive.
    """

    start_line: int
    end_line: int
    char_start: int
    char_end: int


class SourceMap:
    """Maps the headings of a page and the text under them to its Markdown source.

    Headings are matched in order by their words. Generated text (mkdocstrings, macros, snippets) is not in the source;
    it gets the place of the nearest matched heading before it.
    """

    def __init__(self, markdown: MarkdownSource, headings: Sequence[Heading]) -> None:
        self._markdown = markdown
        self._line_starts = _line_starts(markdown.text)
        self._excluded: set[int] = set()
        self._sections = self._match(headings)

    def is_excluded(self, heading: Heading) -> bool:
        """Returns whether the source has `data-search-exclude` on a heading; Material removes it from the HTML."""
        return id(heading) in self._excluded

    def spans(self, heading: Heading | None, contents: Sequence[str]) -> list[SourceSpan]:
        """Returns the places of the chunks of one section.

        Args:
            heading: one of the page's headings, or None for the text before the first one.
            contents: `Chunk.content` of the section's chunks.
        """
        start, end = self._sections[id(heading) if heading is not None else None]
        if len(contents) == 1:
            return [self._span(start, end)]
        finder = _Finder(self._markdown.text_only, start, end)
        found = [finder.find(content) for content in contents]
        starts = [start] + [chunk_start for chunk_start, _ in found[1:]]
        ends = [chunk_end for _, chunk_end in found[:-1]] + [end]
        return [self._span(*span) for span in _without_gaps(starts, ends)]

    def _match(self, headings: Sequence[Heading]) -> dict[int | None, tuple[int, int]]:
        """Returns start and end of each section, by identity of its heading."""
        places = self._markdown.headings
        matched: list[tuple[Heading, int]] = []
        known: dict[str, list[int]] = {}
        for index, place in enumerate(places):
            known.setdefault(place.comparable, []).append(index)
        next_place = 0
        for heading in headings:
            same = known.get(comparable_heading(heading.text), [])
            nearest = bisect_left(same, next_place)
            if nearest == len(same):
                continue
            place = places[same[nearest]]
            next_place = same[nearest] + 1
            matched.append((heading, place.start))
            if place.excluded:
                self._excluded.add(id(heading))
        ends = [start for _, start in matched] + [len(self._markdown.text)]
        own = {id(heading): (start, end) for (heading, start), end in zip(matched, ends[1:], strict=True)}
        spans: dict[int | None, tuple[int, int]] = {None: (self._markdown.body_start, ends[0])}
        current = spans[None]
        if not self._markdown.text[slice(*current)].strip() and matched:
            current = own[id(matched[0][0])]
        for heading in headings:
            current = own.get(id(heading), current)
            spans[id(heading)] = current
        return spans

    def _span(self, start: int, end: int) -> SourceSpan:
        """Leaves white space at both ends out and adds the lines."""
        text = self._markdown.text
        piece = text[start:end]
        if piece.strip():
            start += len(piece) - len(piece.lstrip())
            # The indentation of a line is part of the chunk.
            line_start = text.rfind("\n", 0, start) + 1
            if not text[line_start:start].strip():
                start = line_start
            end = start + len(text[start:end].rstrip())
        return SourceSpan(self._line(start), self._line(max(start, end - 1)), start, end)

    def _line(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset)


class _Finder:
    """Searches the chunks of one section in the source, one after the other, by their first and last words."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._found = list(_WORD.finditer(text, start, end))
        words = [match.group() for match in self._found]
        self._words = " ".join(["", *words, ""])
        self._starts = list(accumulate((len(word) + 1 for word in words), initial=1))
        self._cursor = 0

    def find(self, content: str) -> tuple[int | None, int | None]:
        """Returns start and end of a chunk, each None where its words are not found."""
        words = _WORD.findall(without_fences(content))
        start = self._start(words)
        return start, self._end(words)

    def _start(self, words: list[str]) -> int | None:
        for size, skipped in _probes(len(words)):
            probe = words[skipped : skipped + size]
            place = next(self._places(probe, self._cursor, len(words)), None)
            if place is not None:
                self._cursor = place + 1
                # The skipped words may be a repeated table header, so the chunk is taken to begin with this line.
                return _to_line_start(self._text, self._found[place].start(), at_any_rate=skipped > 0)
        return None

    def _end(self, words: list[str]) -> int | None:
        """Returns the place after the last words, in their occurrence nearest to where they must at least be."""
        first = max(self._cursor - 1, 0)
        earliest = first + len(words) * 4 // 5
        for size, skipped in _probes(len(words)):
            end = len(words) - skipped
            last = None
            for place in self._places(words[end - size : end], first, len(words)):
                last = place + size - 1
                if last + skipped >= earliest:
                    break
            if last is not None:
                return _to_line_end(self._text, self._found[last].end(), at_any_rate=skipped > 0)
        return None

    def _places(self, probe: list[str], start: int, length: int) -> Iterator[int]:
        """Yields where the words of a probe follow one another, within reach of a chunk of that length."""
        if not probe or start >= len(self._found):
            return
        wanted = " ".join(["", *probe, ""])
        position = self._starts[start] - 1
        stop = self._starts[min(start + _REACH * length + _REACH_AT_LEAST, len(self._found))]
        while (position := self._words.find(wanted, position, stop)) >= 0:
            yield bisect_left(self._starts, position + 1)
            position += 1


def _probes(length: int) -> Iterator[tuple[int, int]]:
    """Yields how many words to search for, and after how many others; the most reliable attempt first."""
    if length <= _PROBES[-1][0]:
        yield length, 0
    for size, most_skipped in _PROBES:
        for skipped in range(min(most_skipped, length - size) + 1):
            yield size, skipped


def _without_gaps(starts: Sequence[int | None], ends: Sequence[int | None]) -> Iterator[tuple[int, int]]:
    """Fills missing places from their neighbours: a start from the end before, an end from the next start."""
    position = 0
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        start = position if start is None else start
        if end is None or end <= start:
            end = next(place for place in (*starts[index + 1 :], ends[-1]) if place is not None and place >= start)
        yield start, end
        position = end


def _to_line_start(text: str, offset: int, *, at_any_rate: bool) -> int:
    """Takes in the markup before the first word of a line: `- **`, `> `, `| `."""
    line_start = text.rfind("\n", 0, offset) + 1
    return offset if not at_any_rate and _WORD.search(text, line_start, offset) else line_start


def _to_line_end(text: str, offset: int, *, at_any_rate: bool) -> int:
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end < 0 else line_end
    return offset if not at_any_rate and _WORD.search(text, offset, line_end) else line_end


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
