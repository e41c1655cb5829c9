"""Finds the places of sections and chunks in the Markdown source of their page."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from mkdocs_semsearch.artifact.fields import TITLE_END
from mkdocs_semsearch.chunking.blocks import Block, Heading, PageItem, SectionEnd
from mkdocs_semsearch.chunking.document import without_fences
from mkdocs_semsearch.chunking.markdown_source import (
    WORD,
    MarkdownSource,
    SourceHeading,
    comparable_heading,
    letters_and_digits,
)

_LINE_END = re.compile(f"[\n{TITLE_END}]")

_PROBES = ((6, 12), (3, 4))
"""Number of words that are searched for together, and of words at the start or end of a chunk that may be skipped
before fewer words are tried."""

_REACH = 4
_REACH_AT_LEAST = 400
_JUMP, _REMEMBERED_PLACES = 10, 4
"""A chunk is searched for within `_REACH` times its length plus `_REACH_AT_LEAST` words after the previous chunk. If it
is not there, it is searched for from the last places where the search jumped over more than `_JUMP` words, because such
a jump may have led to a footnote. So the search is linear."""


class SourceSpan(NamedTuple):
    """A piece of a source file.

    Attributes:
        start_line, end_line: lines, 1-based, end inclusive; None without a source.
        char_start, char_end: offsets in characters, end exclusive; None without a source.
    """

    start_line: int | None
    end_line: int | None
    char_start: int | None
    char_end: int | None


NO_SPAN = SourceSpan(None, None, None, None)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the text of a section is in the source.

    Attributes:
        start, end: offsets, end exclusive.
        begins: whether the section begins at `start`; generated text only follows it.
        shared: whether other sections can have a part of this place, so that its own text must be searched.
    """

    start: int
    end: int
    begins: bool
    shared: bool


class SourceMap:
    """Maps the headings of a page and the text under them to its Markdown source.

    Headings are matched in order by their words. Generated text (mkdocstrings, macros, snippets) is not in the source;
    its place is that of the nearest matched heading before it.
    """

    def __init__(self, markdown: MarkdownSource, found: Iterable[PageItem]) -> None:
        """Matches the headings among the items of a page."""
        self._markdown = markdown
        self._line_starts = _line_starts(markdown.text)
        self._excluded: set[int] = set()
        self._read: tuple[tuple[int, int], _Words] | None = None
        self._sections = self._match([item for item in found if not isinstance(item, Block)])

    def is_excluded(self, heading: Heading) -> bool:
        """Returns whether the source has `data-search-exclude` on a heading; Material removes it from the HTML."""
        return id(heading) in self._excluded

    def spans(self, heading: Heading | None, contents: Sequence[str]) -> list[SourceSpan]:
        """Returns the places of the chunks of one section.

        Args:
            heading: one of the page's headings, or None for the text before the first one.
            contents: `Chunk.content` of the section's chunks.
        """
        place = self._sections[id(heading) if heading is not None else None]
        if len(contents) == 1 and not place.shared:
            return [self._span(place.start, place.end)]
        finder = _Finder(self._markdown.text_only, self._words_of(place))
        found = [finder.find(content) for content in contents]
        starts = [place.start] + [chunk_start for chunk_start, _ in found[1:]]
        ends = [chunk_end for _, chunk_end in found[:-1]] + [place.end]
        if place.shared:
            first, last = found[0][0], found[-1][1]
            starts[0] = place.start if place.begins or first is None else first
            ends[-1] = place.end if last is None else last
        return [self._span(*span) for span in _without_gaps(starts, ends)]

    def _words_of(self, place: _Place) -> _Words:
        """Returns the words of a place; sections that share one follow one another, so the last one is kept."""
        bounds = (place.start, place.end)
        if self._read is None or self._read[0] != bounds:
            self._read = bounds, _Words.of(self._markdown.text_only, *bounds)
        return self._read[1]

    def _match(self, items: Sequence[Heading | SectionEnd]) -> dict[int | None, _Place]:
        """Returns the place of each section, by identity of its heading."""
        in_source = self._markdown.headings
        numbers = _numbers(items, in_source)
        self._excluded.update(id(heading) for heading, number, _ in numbers if in_source[number].excluded)
        matched = [(heading, in_source[number].start, depth) for heading, number, depth in numbers]
        own = self._places(matched)
        current = own[None]
        if not self._markdown.text[slice(current.start, current.end)].strip() and matched:
            current = own[id(matched[0][0])]
        places: dict[int | None, _Place] = {None: own[None]}
        around: list[_Place] = []
        for item in items:
            if isinstance(item, SectionEnd):
                current = around.pop()
                continue
            if item.has_end:
                around.append(current)
            generated = replace(current, begins=False, shared=current.shared or bool(around))
            places[id(item)] = current = own.get(id(item), generated)
        return places

    def _places(self, matched: Sequence[tuple[Heading, int, int]]) -> dict[int | None, _Place]:
        """Returns the places of the text before all headings, and of the sections of some headings.

        The text of a section may go on after an element with headings, such as a note, so it ends where the next
        heading outside of this element begins.

        Args:
            matched: headings with their start in the source and the number of elements around them.
        """
        starts = [(self._markdown.body_start, 0), *((start, depth) for _, start, depth in matched)]
        ends = [len(self._markdown.text)] * len(starts)
        later: list[tuple[int, int]] = []  # headings that can end a section, with growing numbers of elements
        for index in range(len(starts) - 1, -1, -1):
            start, depth = starts[index]
            while later and later[-1][1] > depth:
                later.pop()
            ends[index] = later[-1][0] if later else ends[index]
            later.append((start, depth))
        following = [start for start, _ in starts[1:]] + ends[-1:]
        places = [
            _Place(start, end, begins=True, shared=depth > 0 or end != after)
            for (start, depth), end, after in zip(starts, ends, following, strict=True)
        ]
        return {None: places[0]} | {
            id(heading): place for (heading, *_), place in zip(matched, places[1:], strict=True)
        }

    def _span(self, start: int, end: int) -> SourceSpan:
        """Removes white space at both ends and adds the line numbers."""
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
        last = max(len(self._markdown.text) - 1, 0)  # a page with only a title is at the end of its front matter
        return bisect_right(self._line_starts, min(offset, last))


def _numbers(
    items: Sequence[Heading | SectionEnd], in_source: Sequence[SourceHeading]
) -> list[tuple[Heading, int, int]]:
    """Returns the headings that are in the source, each with its number there and the number of elements around it."""
    known: dict[tuple[bool, str], list[int]] = {}
    for index, line in enumerate(in_source):
        for comparable in {line.comparable, line.bare}:
            known.setdefault((line.title, comparable), []).append(index)
    following = depth = 0
    matched: list[tuple[Heading, int, int]] = []
    titles: list[tuple[Heading, int]] = []  # of notes whose first heading is still to come
    for item in items:
        if isinstance(item, SectionEnd):
            depth -= 1
            titles.clear()
            continue
        depth += item.has_end
        if item.level == 0:
            titles.append((item, depth))
        elif (number := _number_of(item, known, range(following, len(in_source)))) is not None:
            # Several notes can have the same title: search backwards from the heading, for the title nearest above it.
            above: list[tuple[Heading, int, int]] = []
            stop = number
            while titles:
                title, around = titles.pop()
                if (above_it := _number_of(title, known, range(stop - 1, following - 1, -1))) is not None:
                    stop = above_it
                    above.insert(0, (title, above_it, around))
            matched += [*above, (item, number, depth)]
            following = number + 1
    return matched


def _number_of(heading: Heading, known: dict[tuple[bool, str], list[int]], possible: range) -> int | None:
    """Returns the number of the heading of a source that a heading of HTML was made from, or None.

    Args:
        heading: a heading of HTML.
        known: the numbers of the headings of the source, in ascending order, by their letters and digits, titles of
            notes apart.
        possible: the numbers that are possible, the best first.
    """
    # As it is, `GET /users/{id}` is not the same as `GET /users`. Other texts still have Markdown: attributes, macros.
    for comparable in (letters_and_digits(heading.text), comparable_heading(heading.text)):
        numbers = known.get((heading.level == 0, comparable), [])
        nearest = (
            bisect_left(numbers, possible.start) if possible.step > 0 else bisect_right(numbers, possible.start) - 1
        )
        if 0 <= nearest < len(numbers) and numbers[nearest] in possible:
            return numbers[nearest]
    return None


class _Words(NamedTuple):
    """The words of a place in the source.

    Attributes:
        found: the matches of the words.
        text: the words, separated by spaces.
        starts: where each word begins in `text`.
    """

    found: list[re.Match[str]]
    text: str
    starts: list[int]

    @classmethod
    def of(cls, text: str, start: int, end: int) -> _Words:
        found = list(WORD.finditer(text, start, end))
        words = [match.group() for match in found]
        return cls(found, " ".join(["", *words, ""]), list(accumulate((len(word) + 1 for word in words), initial=1)))


class _Finder:
    """Searches the chunks of one section in the source, one after the other, by their first and last words."""

    def __init__(self, text: str, words: _Words) -> None:
        self._text = text
        self._found, self._words, self._starts = words
        self._cursor = self._expected = 0
        self._before_jumps: deque[int] = deque(maxlen=_REMEMBERED_PLACES)

    def find(self, content: str) -> tuple[int | None, int | None]:
        """Returns start and end of a chunk; each is None if its words are not in the source."""
        lines = [WORD.findall(line) for line in _LINE_END.split(without_fences(content))]
        words = [word for line in lines for word in line]
        return self._start(words), self._end(words, list(accumulate(map(len, lines))))

    def _start(self, words: list[str]) -> int | None:
        for size, skipped in _probes(len(words)):
            probe = words[skipped : skipped + size]
            places = self._places(probe, self._cursor + skipped, len(words))
            # If the words occur several times, the chunk begins with those nearest to the end of the previous chunk.
            place = min(places, key=lambda place: abs(place - skipped - self._expected), default=None)
            if place is not None:
                if place > self._expected + _JUMP:
                    self._before_jumps.append(self._cursor)
                return self._begin(place, words, skipped)
        for cursor in reversed(self._before_jumps):
            place = next(self._places(words[: _PROBES[0][0]], cursor, len(words)), None)
            if place is not None:
                self._before_jumps.clear()
                return self._begin(place, words, 0)
        return None

    def _begin(self, place: int, words: list[str], skipped: int) -> int:
        self._cursor, self._expected = place + 1, place + len(words) - skipped
        # The skipped words may be a repeated table header, so the chunk begins with this line.
        return _to_line_start(self._text, self._found[place].start(), always=skipped > 0)

    def _end(self, words: list[str], line_ends: list[int]) -> int | None:
        """Returns the position after the last words: their occurrence nearest to the earliest possible position."""
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
                after = (begin for begin in line_ends if end <= begin < len(words))
                lines = (self._end_of_lines(words[begin:], last + 1, len(words)) for begin in after)
                own = _to_line_end(self._text, self._found[last].end(), always=skipped > 0)
                return next(filter(None, lines), own)
        return None

    def _end_of_lines(self, words: list[str], start: int, length: int) -> int | None:
        """Returns the end of the last lines of a chunk, such as a text after a note, or None.

        They are found only as whole lines of the source.

        Args:
            words: the words of these lines.
            start: the first word of the source that is searched.
            length: number of words of the chunk.
        """
        for place in self._places(words, start, length):
            begin = _to_line_start(self._text, self._found[place].start(), always=False)
            end = _to_line_end(self._text, self._found[place + len(words) - 1].end(), always=False)
            if _is_line_start(self._text, begin) and _is_line_end(self._text, end):
                return end
        return None

    def _places(self, probe: list[str], start: int, length: int) -> Iterator[int]:
        """Yields the positions where the words of a probe occur in order, within reach of a chunk of that length."""
        if not probe or start >= len(self._found):
            return
        wanted = " ".join(["", *probe, ""])
        position = self._starts[start] - 1
        stop = self._starts[min(start + _REACH * length + _REACH_AT_LEAST, len(self._found))]
        while (position := self._words.find(wanted, position, stop)) >= 0:
            yield bisect_left(self._starts, position + 1)
            position += 1


def _probes(length: int) -> Iterator[tuple[int, int]]:
    """Yields the number of words to search for, and of words before them; the most reliable attempt comes first."""
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
            later = (place for place in (*starts[index + 1 :], ends[-1]) if place is not None and place >= start)
            end = next(later, start)
        yield start, end
        position = end


def _to_line_start(text: str, offset: int, *, always: bool) -> int:
    """Includes the markup before the first word of a line (`- **`, `> `, `| `); with `always`, also words."""
    line_start = text.rfind("\n", 0, offset) + 1
    return offset if not always and WORD.search(text, line_start, offset) else line_start


def _to_line_end(text: str, offset: int, *, always: bool) -> int:
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end < 0 else line_end
    return offset if not always and WORD.search(text, offset, line_end) else line_end


def _is_line_start(text: str, offset: int) -> bool:
    return not offset or text[offset - 1] == "\n"


def _is_line_end(text: str, offset: int) -> bool:
    return text[offset : offset + 1] in ("", "\n")


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
