"""Reads a Markdown source without rendering it, and finds the place of sections and chunks in it."""

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
from mkdocs_semsearch.chunking.code_languages import Fence, canonical_language, without_annotations
from mkdocs_semsearch.chunking.document import without_fences
from mkdocs_semsearch.chunking.front_matter import read_front_matter

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_BEFORE = r"[ \t>]*(?:(?:[-*+:]|\d{1,9}[.)])[ \t]+){0,3}"  # marks of quotations and of items
_ATX = re.compile(_BEFORE + r"#{1,6}(?!#)[ \t]*(\S.*)")
_CLOSING_MARKS = " \t#"
_MAX_HEADING = 1000
"""Number of characters of a heading that are compared; a longer line is not a heading."""

_SETEXT = re.compile(r"[ \t>]*(=+|-+)[ \t]*$")
_HTML_HEADING = re.compile(r"<h[1-6][^>]{0,500}>(.{1,1000}?)</h[1-6]>", re.IGNORECASE)
# `!!! note "Title"`, `=== "Label of a tab"`, `/// details | Title`; a note without a title has the name of its type.
_TITLE = re.compile(_BEFORE + r"(?:!!!|\?\?\?\+?|===[+!]{0,2}|/{3,})[ \t]*([\w-]*)[^\"|]*(?:[\"|](.*))?")
_SUMMARY = re.compile(r"<summary\b[^>]{0,500}>(.{1,1000}?)</summary>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})(.*)$")
_FENCE_LANGUAGE = re.compile(r"\s*(?:\{[^}.]*\.|\{?\s*)([\w#+-][\w#+.-]*)(?![\w#+.=-])")
# Every repetition is bounded, and an unclosed comment extends to the end, so no text makes the search quadratic.
_NOT_TEXT = re.compile(
    r"`[^`\n]{1,500}`|\]\([^)\n]{0,1000}\)|\]\[[^\]\n]{0,300}\]|\[\^[^\]\n]{1,100}\]|<!--.*?(?:-->|\Z)"
    r"|</?[A-Za-z][^<>\n]{0,1000}>|\{[:#.%{][^}\n]{0,300}\}+|&#?\w{1,40};",
    re.DOTALL,
)
_TARGET = r"\[([^\[\]]{0,500})\](?:\([^()]{0,1000}(?:\([^()]{0,300}\)[^()]{0,300}){0,2}\)|\[[^\[\]]{0,300}\])"
_LINK_TARGET = re.compile(f"!?{_TARGET}")
_PICTURE = re.compile(f"!{_TARGET}")
_DESCRIBED = re.compile(r"<img\b[^<>]{0,1000}?\balt=\"([^\"<>]{0,300})\"[^<>]{0,1000}>", re.IGNORECASE)
_NOT_IN_HEADING = re.compile(
    r"<[^<>]{1,1000}>|\{\{.{0,300}?\}\}|\{%.{0,300}?%\}|\{[^{}]{1,300}\}\s*$|&#?\w{1,40};|\[\^[^\]]{1,100}\]"
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_ATTRIBUTES = re.compile(r"\{[^{}]{1,500}\}\s*$")
_SHORTCODE = re.compile(r"(?<!\w):[a-z][\w+-]*:(?!\w)")
_WORD = re.compile(r"[^\W_]+")
_LINE_END = re.compile(f"[\n{TITLE_END}]")


@dataclass(frozen=True, slots=True)
class SourceHeading:
    """A line that may be a heading.

    Attributes:
        comparable: its letters and digits.
        start: its offset.
        excluded: whether it is excluded from the search.
        bare: its letters and digits without the descriptions of pictures, which are not always a part of the text.
        title: whether it is the title of a note or the label of a tab.
    """

    comparable: str
    start: int
    excluded: bool = False
    bare: str = ""
    title: bool = False


@dataclass(frozen=True, slots=True)
class MarkdownSource:
    """A Markdown source.

    Attributes:
        text: the unchanged source.
        text_only: a text of the same length with spaces instead of everything invisible: link targets, tags,
            attributes, comments, the opening lines of fences.
        body_start: offset after the front matter.
        headings: possible headings, in order.
        fences: fenced code blocks, in order.
    """

    text: str
    text_only: str
    body_start: int
    headings: tuple[SourceHeading, ...]
    fences: tuple[Fence, ...]


def read_markdown(source: str) -> MarkdownSource:
    """Reads a source; never fails, because every text is Markdown."""
    header = read_front_matter(source)
    start = len(source) if not source else header.body_start
    reader = _LineReader(source, start)
    reader.read()
    return MarkdownSource(
        source, _text_only(source, reader.fences), start, tuple(reader.headings), tuple(reader.fences)
    )


def _text_only(source: str, fences: list[Fence]) -> str:
    parts: list[str] = []
    position = 0
    for fence in fences:
        parts.append(_NOT_TEXT.sub(_blank, source[position : fence.start]))
        parts.append(" " * (fence.code_start - fence.start))
        parts.append(source[fence.code_start : fence.end])
        position = fence.end
    parts.append(_NOT_TEXT.sub(_blank, source[position:]))
    return "".join(parts)


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text[0] == "`" else " " * len(text)


def comparable_heading(text: str) -> str:
    """Returns the letters and digits of a heading, so that Markdown and HTML of the same heading agree.

    Code is compared as it is: the braces in `/users/{id}` are no attributes.
    """
    text = _DESCRIBED.sub(r"\1", text)
    for _ in range(2):  # a picture can be a link
        text = _LINK_TARGET.sub(r"\1", text)
    parts: list[str] = []
    position = 0
    for code in _CODE_SPAN.finditer(text):
        parts += (_visible(text[position : code.start()]), code[2])
        position = code.end()
    parts.append(_visible(text[position:]))
    return _letters("".join(parts)) or "".join(without_annotations(text).split())


def _visible(text: str) -> str:
    return _SHORTCODE.sub(" ", _NOT_IN_HEADING.sub(" ", text))


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text)).casefold()


class _LineReader:
    """Reads the lines once and keeps track of fences and comments."""

    def __init__(self, source: str, start: int) -> None:
        self.headings: list[SourceHeading] = []
        self.fences: list[Fence] = []
        self._lines = [
            (match.start(), match.group().rstrip("\r\n")) for match in _LINE.finditer(source, start) if match.group()
        ]
        self._marks = [_FENCE.match(line) for _, line in self._lines]

    def read(self) -> None:
        closable = self._closable()
        previous = (0, "")
        index = 0
        in_comment = False
        while index < len(self._lines):
            offset, line = self._lines[index]
            in_comment = _comment_goes_on(line, in_comment)
            mark = self._marks[index]
            if not in_comment and mark and closable[index] and "`" not in mark[2]:
                index = self._read_fence(index, mark)
                previous = (offset, "")
            elif not in_comment:
                self._heading(offset, line, previous)
                previous = (offset, line)
            index += 1

    def _closable(self) -> list[bool]:
        """Returns for each line whether a fence that it opens is closed later; unclosed fences are text."""
        longest = {"`": 0, "~": 0}
        closable = [False] * len(self._lines)
        for index in range(len(self._lines) - 1, -1, -1):
            mark = self._marks[index]
            if mark:
                character, length = mark[1][0], len(mark[1])
                closable[index] = longest[character] >= length
                if not mark[2].strip():
                    longest[character] = max(longest[character], length)
        return closable

    def _read_fence(self, opening: int, opener: re.Match[str]) -> int:
        """Records a fence; returns the number of its last line."""
        offset, line = self._lines[opening]
        first_lines: list[str] = []
        index = opening + 1
        while not (mark := self._marks[index]) or not mark[1].startswith(opener[1]) or mark[2].strip():
            text = self._lines[index][1]
            if len(first_lines) < 2 and text.strip():
                first_lines.append("".join(without_annotations(text).split()))
            index += 1
        end = self._lines[index][0]
        self.fences.append(Fence(_language(opener[2]), tuple(first_lines), offset, offset + len(line), end))
        return index

    def _heading(self, offset: int, line: str, previous: tuple[int, str]) -> None:
        match = _ATX.match(line)
        if match:
            self._add(match[1].rstrip(_CLOSING_MARKS), offset)
        elif _SETEXT.match(line) and previous[1].strip():
            self._add(previous[1], previous[0])
        elif "</h" in line.lower() and (match := _HTML_HEADING.search(line)):
            self._add(match[1], offset)
        elif (match := _TITLE.match(line)) and (text := (match[2] or "").strip(' \t"') or match[1]):
            self._add(text, offset, title=True)
        elif "</summary" in line.lower() and (match := _SUMMARY.search(line)):
            self._add(match[1], offset, title=True)

    def _add(self, text: str, offset: int, *, title: bool = False) -> None:
        text = text[:_MAX_HEADING]
        attributes = _ATTRIBUTES.search(text)
        excluded = attributes is not None and "data-search-exclude" in attributes.group()
        comparable = comparable_heading(text)
        has_picture = "![" in text or "<img" in text.lower()
        bare = comparable_heading(_PICTURE.sub("", _DESCRIBED.sub("", text))) if has_picture else comparable
        self.headings.append(SourceHeading(comparable, offset, excluded, bare, title))


def _comment_goes_on(line: str, in_comment: bool) -> bool:
    opened, closed = line.rfind("<!--"), line.rfind("-->")
    return opened > closed if opened >= 0 or closed >= 0 else in_comment


def _language(info: str) -> str | None:
    match = _FENCE_LANGUAGE.match(info)
    return canonical_language(match[1]) if match and "=" not in match[1] else None


_PROBES = ((6, 12), (3, 4))
"""Number of words that are searched together, and of words at the end that may be skipped before fewer are tried."""

_REACH = 4
_REACH_AT_LEAST = 400
_JUMP, _REMEMBERED_PLACES = 10, 4
"""A chunk is searched for within `_REACH` times its length plus `_REACH_AT_LEAST` words after the chunk before. If it
is not there, it is searched for after the last places from which more than `_JUMP` words were passed over: what was
found there may have been a footnote. So the search is linear."""


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
        begins: whether the section begins at `start`; text that is not in the source only follows it.
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
        places = self._markdown.headings
        numbers = _numbers(items, places)
        self._excluded.update(id(heading) for heading, number, _ in numbers if places[number].excluded)
        matched = [(heading, places[number].start, depth) for heading, number, depth in numbers]
        own = self._places(matched)
        current = own[None]
        if not self._markdown.text[slice(current.start, current.end)].strip() and matched:
            current = own[id(matched[0][0])]
        spans: dict[int | None, _Place] = {None: own[None]}
        outer: list[_Place] = []
        for item in items:
            if isinstance(item, SectionEnd):
                current = outer.pop()
                continue
            if item.has_end:
                outer.append(current)
            inside = replace(current, begins=False, shared=current.shared or bool(outer))
            spans[id(item)] = current = own.get(id(item), inside)
        return spans

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


def _numbers(items: Sequence[Heading | SectionEnd], places: Sequence[SourceHeading]) -> list[tuple[Heading, int, int]]:
    """Returns the headings that are in the source, each with its number there and the number of elements around it."""
    known: dict[tuple[bool, str], list[int]] = {}
    for index, place in enumerate(places):
        for comparable in {place.comparable, place.bare}:
            known.setdefault((place.title, comparable), []).append(index)
    next_place = depth = 0
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
        elif (number := _number_of(item, known, range(next_place, len(places)))) is not None:
            # Notes before can have the same title, so that of this one is looked for from its heading backwards.
            above: list[tuple[Heading, int, int]] = []
            stop = number
            while titles:
                title, around = titles.pop()
                if (above_it := _number_of(title, known, range(stop - 1, next_place - 1, -1))) is not None:
                    stop = above_it
                    above.insert(0, (title, above_it, around))
            matched += [*above, (item, number, depth)]
            next_place = number + 1
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
    for comparable in (_letters(heading.text), comparable_heading(heading.text)):
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
        found = list(_WORD.finditer(text, start, end))
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
        lines = [_WORD.findall(line) for line in _LINE_END.split(without_fences(content))]
        words = [word for line in lines for word in line]
        return self._start(words), self._end(words, list(accumulate(map(len, lines))))

    def _start(self, words: list[str]) -> int | None:
        for size, skipped in _probes(len(words)):
            place = next(self._places(words[skipped : skipped + size], self._cursor, len(words)), None)
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
        return _to_line_start(self._text, self._found[place].start(), at_any_rate=skipped > 0)

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
                own = _to_line_end(self._text, self._found[last].end(), at_any_rate=skipped > 0)
                return next(filter(None, lines), own)
        return None

    def _end_of_lines(self, words: list[str], start: int, length: int) -> int | None:
        """Returns the end of the last lines of a chunk if they are whole lines after a place, such as after a note."""
        for place in self._places(words, start, length):
            begin = _to_line_start(self._text, self._found[place].start(), at_any_rate=False)
            end = _to_line_end(self._text, self._found[place + len(words) - 1].end(), at_any_rate=False)
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


def _to_line_start(text: str, offset: int, *, at_any_rate: bool) -> int:
    """Includes the markup before the first word of a line: `- **`, `> `, `| `."""
    line_start = text.rfind("\n", 0, offset) + 1
    return offset if not at_any_rate and _WORD.search(text, line_start, offset) else line_start


def _to_line_end(text: str, offset: int, *, at_any_rate: bool) -> int:
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end < 0 else line_end
    return offset if not at_any_rate and _WORD.search(text, offset, line_end) else line_end


def _is_line_start(text: str, offset: int) -> bool:
    return not offset or text[offset - 1] == "\n"


def _is_line_end(text: str, offset: int) -> bool:
    return text[offset : offset + 1] in ("", "\n")


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
