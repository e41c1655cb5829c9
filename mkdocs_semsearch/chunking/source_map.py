"""Where in the Markdown source a section or a chunk stands."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mkdocs_semsearch.chunking.blocks import Heading
from mkdocs_semsearch.chunking.markdown_source import MarkdownSource, comparable_heading

__all__ = ["SourceMap", "SourceSpan"]

_WORD = re.compile(r"[^\W_]+")
_PROBES = (6, 3, 2, 1)
"""How many words are looked for together: the more, the surer; the fewer, the less a difference in markup matters."""


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

    Headings are matched in order by their words. What was generated (by mkdocstrings, macros, snippets) has no
    place of its own and gets that of the nearest matched heading before it.
    """

    def __init__(self, markdown: MarkdownSource, headings: Sequence[Heading]) -> None:
        self._markdown = markdown
        self._line_starts = _line_starts(markdown.text)
        self._excluded: set[int] = set()
        self._sections = self._match(headings)

    def is_excluded(self, heading: Heading) -> bool:
        """Tells whether the source has `data-search-exclude` on a heading; Material removes it from the HTML."""
        return id(heading) in self._excluded

    def spans(self, heading: Heading | None, contents: Sequence[str]) -> list[SourceSpan]:
        """Returns the places of the chunks of one section, given their contents in order.

        Args:
            heading: one of the headings given, or None for what stands before the first one.
            contents: `Chunk.content` of the section's chunks.
        """
        start, end = self._sections[id(heading) if heading is not None else None]
        if len(contents) == 1:
            return [self._span(start, end)]
        finder = _Finder(self._markdown.text_only, start, end)
        return [
            self._span(*finder.find(content, first=index == 0, last=index == len(contents) - 1))
            for index, content in enumerate(contents)
        ]

    def _match(self, headings: Sequence[Heading]) -> dict[int | None, tuple[int, int]]:
        """Start and end of each section, by identity of its heading."""
        places = self._markdown.headings
        matched: list[tuple[Heading, int]] = []
        next_place = 0
        for heading in headings:
            wanted = comparable_heading(heading.text)
            for index in range(next_place, len(places)):
                if wanted and places[index].comparable == wanted:
                    matched.append((heading, places[index].start))
                    next_place = index + 1
                    if places[index].excluded:
                        self._excluded.add(id(heading))
                    break
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
            # Indentation belongs to what is indented.
            line_start = text.rfind("\n", 0, start) + 1
            if not text[line_start:start].strip():
                start = line_start
            end = start + len(text[start:end].rstrip())
        return SourceSpan(self._line(start), self._line(max(start, end - 1)), start, end)

    def _line(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset)


class _Finder:
    """Looks for the chunks of one section, one after the other, by their first and last words."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._section = (start, end)
        self._found = list(_WORD.finditer(text, start, end))
        self._words = [match.group() for match in self._found]
        self._cursor = 0
        self._previous_end = start

    def find(self, content: str, *, first: bool, last: bool) -> tuple[int, int]:
        """Returns start and end of a chunk; the nearest certain places where its words are not found."""
        words = _WORD.findall(content)
        start = self._section[0] if first else self._start(words)
        end = self._section[1] if last else self._end(words, start)
        self._previous_end = max(start, end)
        return start, self._previous_end

    def _start(self, words: list[str]) -> int:
        for count in _PROBES:
            place = next(self._places(words[:count], self._cursor), None)
            if place is not None:
                self._cursor = place + 1
                return _to_line_start(self._text, self._found[place].start())
        return self._previous_end

    def _end(self, words: list[str], start: int) -> int:
        """After the occurrence of the last words that is nearest to where they must be at the least."""
        first_word = bisect_left(self._found, start, key=lambda match: match.start())
        earliest = first_word + len(words) * 4 // 5
        for count in _PROBES:
            probe = words[-count:]
            end = None
            for place in self._places(probe, first_word):
                end = place + len(probe) - 1
                if end >= earliest:
                    break
            if end is not None:
                return _to_line_end(self._text, self._found[end].end())
        return self._section[1]

    def _places(self, probe: list[str], start: int) -> Iterator[int]:
        """Yields where the words of a probe follow one another."""
        if not probe:
            return
        words, first, size = self._words, probe[0], len(probe)
        place = start - 1
        while True:
            try:
                place = words.index(first, place + 1)
            except ValueError:
                return
            if words[place : place + size] == probe:
                yield place


def _to_line_start(text: str, offset: int) -> int:
    """Takes in the markup before the first word of a line: `- **`, `> `, `| `."""
    line_start = text.rfind("\n", 0, offset) + 1
    return offset if _WORD.search(text, line_start, offset) else line_start


def _to_line_end(text: str, offset: int) -> int:
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end < 0 else line_end
    return offset if _WORD.search(text, offset, line_end) else line_end


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
