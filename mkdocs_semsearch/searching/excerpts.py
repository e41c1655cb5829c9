"""Cuts excerpts: the part of a chunk that shows why it is a result, with the matching words highlighted.

Where a chunk ends with a colon, or is a heading alone, the excerpt also shows text of the chunks after it.
"""

from __future__ import annotations

import functools
import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mkdocs_semsearch.artifact.fields import colon_after
from mkdocs_semsearch.lexical.matcher import DistinctWords, Found, Matcher
from mkdocs_semsearch.searching.records import Records

NearestSentence = Callable[[Sequence[str]], int | None]
"""A function that returns the position of the sentence nearest to the query, or None if it cannot compare them."""

MAX_CHARACTERS = 320
"""Greatest length of an excerpt; chosen, not measured."""

_LEAST_BEGINNING = 120
"""Least length of the shown beginning of a block; chosen, not measured."""

_SHORTEST_FENCE = 3
"""Least number of backticks or tildes that end a block of code."""

_LONGEST_UNCUT = 80
"""Greatest length of a word or of inline code that is left out rather than cut; chosen, not measured."""

_DEPTH = 3
"""Number of chunks after a bare heading that are searched for a text; chosen, not measured."""

_REMEMBERED_TEXTS = 2000
"""Number of chunks whose passages and sentences are cached, of about 5 kB each: those of about 200 responses with ten
results."""

FENCE = re.compile(
    r"^(?P<open>(?P<mark>`{3,}|~{3,})[^\n]*)(?:\n|\Z)(?P<code>.*?)(?:^(?P=mark)[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""Code in fences; it may end with the text."""

_BREAK = re.compile(r"\n\n+")
_FILE_NAME = re.compile(r"[^ \t\n]{1,60}")
_CODE_SPAN = re.compile(r"`[^`\n]+`")
# The set of first characters halves the time; the group is what follows the end of a sentence or of a line. No sentence
# ends after `e.g.`
_SENTENCE_END = re.compile(r"[.!?。！？\n](?<!\.[A-Za-z]\.)((?<=\n)[ \t]*|\s+)")
_UNDIVIDED = re.compile(r"\||[ \t]*[0-9]+\.\Z")
_BARS = re.compile(r"\n\|[\s|]*\Z")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text.

    Attributes:
        text: light Markdown; begins or ends with `…` where a block was cut.
        highlights: `[start, end)` of the matching words, in code points of `text`, in ascending order.
    """

    text: str
    highlights: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Passage:
    """A block of a text; fenced code begins and ends with its fence.

    Attributes:
        text: text of the block.
        fenced: whether it is code.
        begin, end: the range of the whole text that is searched for words: the block, or the code inside its fence.
        shift: the offset that turns a position in the whole text into a position in the block.
    """

    text: str
    fenced: bool
    begin: int
    end: int
    shift: int


@dataclass(slots=True)
class _Block:
    """A passage and the query words that occur in it."""

    text: str
    fenced: bool
    found: list[Found]

    @property
    def stems(self) -> frozenset[str]:
        return frozenset().union(*(stems for _, _, stems in self.found)) if self.found else frozenset()


def make_excerpt(
    content: str, matcher: Matcher, nearest: NearestSentence | None = None, introduced: str = ""
) -> Excerpt:
    """Cuts the part with the most different query words, in whole blocks where they fit.

    If no word matches, the excerpt has no highlights and begins with the sentence that is nearest in meaning, or at the
    start of the text if `nearest` cannot tell.

    Args:
        content: text of a chunk, light Markdown.
        matcher: decides which words match.
        nearest: chooses the sentence nearest to the query.
        introduced: the text that it announces with a colon at its end; empty if there is none.
    """
    blocks = _blocks(content, matcher)
    if not blocks:
        return Excerpt("", ())
    best = 0
    if len(blocks) > 1:
        best = max(range(len(blocks)), key=lambda i: (len(blocks[i].stems), not blocks[i].fenced, -i))
    if nearest is not None and not blocks[best].found:
        best, begin = _nearest_place(content, nearest) or (best, 0)
        from_there = begin and len(blocks[best].text) > MAX_CHARACTERS
        excerpt = _prose_from(blocks[best], begin) if from_there else _with_lead(blocks, best, begin)
    else:
        excerpt = _with_lead(blocks, best)
    following = [*blocks[best + 1 :], *(_blocks(introduced, matcher) if introduced else ())]
    while following and len(excerpt.text) + len(following[0].text) + 2 <= MAX_CHARACTERS:
        excerpt = _join(excerpt, _whole(following.pop(0)))
    room = MAX_CHARACTERS - len(excerpt.text) - 2
    if following and (room >= _LEAST_BEGINNING or _introduces(excerpt.text, following[0])):
        # The beginning of an announced block is shown even if there is little room.
        excerpt = _join(excerpt, _beginning(following[0], max(room, _LEAST_BEGINNING)))
    return excerpt


def _with_lead(blocks: Sequence[_Block], number: int, place: int = 0) -> Excerpt:
    """Cuts a block. The text that announces it goes before its beginning if this leaves out nothing that matters.

    What matters are the words that match, and the sentence that begins at `place`.
    """
    excerpt = _cut(blocks[number])
    if number and not (lead := blocks[number - 1]).fenced and _introduces(lead.text, blocks[number]):
        room = MAX_CHARACTERS - len(lead.text) - 2
        if room >= _LEAST_BEGINNING and (not place or len(blocks[number].text) <= room):
            beginning = _beginning(blocks[number], room)
            if len(beginning.highlights) >= len(excerpt.highlights):
                return _join(_whole(lead), beginning)
    return excerpt


def _introduces(text: str, following: _Block) -> bool:
    """Returns whether a text announces the next block: it ends with a colon, or with the file name of code."""
    named = following.fenced and _FILE_NAME.fullmatch(text.rpartition("\n\n")[2])
    return bool(named) or _ends_with_colon(text)


def _nearest_place(content: str, nearest: NearestSentence) -> tuple[int, int] | None:
    """Returns the block of the nearest sentence and its start in that block; None if it cannot be told."""
    places, sentences = _sentences(content)
    chosen = nearest(sentences) if len(sentences) > 1 else None
    return None if chosen is None else places[chosen]


@functools.lru_cache(_REMEMBERED_TEXTS)
def _sentences(content: str) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Returns the sentences of a text outside of code, each with its block and its start in that block; cached."""
    places: list[tuple[int, int]] = []
    sentences: list[str] = []
    for number, passage in enumerate(_passages(content)[0]):
        starts = () if passage.fenced else _sentence_starts(passage.text)
        places += ((number, start) for start in starts)
        sentences += (passage.text[start:end] for start, end in itertools.pairwise([*starts, len(passage.text)]))
    return tuple(places), tuple(sentences)


@functools.lru_cache(_REMEMBERED_TEXTS)
def _sentence_starts(text: str) -> tuple[int, ...]:
    """Returns where sentences and lines begin, but no place inside a row of a table or after the number of an item.

    The first place is 0. Cached like passages.
    """
    starts = [0]
    for match in _SENTENCE_END.finditer(text):
        end = match.start(1)
        if "\n" in match[0] or not _UNDIVIDED.match(text, text.rfind("\n", 0, end) + 1, end):
            starts.append(match.end())
    return tuple(starts)


def _blocks(content: str, matcher: Matcher) -> list[_Block]:
    """Returns the passages of a text with the words of the query in each."""
    passages, words = _passages(content)
    blocks = [_Block(part.text, part.fenced, []) for part in passages]
    number = 0
    for start, end, stems in matcher.found_in(content, words):
        while number < len(passages) and passages[number].end <= start:
            number += 1
        if number == len(passages):
            break
        if passages[number].begin <= start:
            shift = passages[number].shift
            blocks[number].found.append((start + shift, end + shift, stems))
    return blocks


@functools.lru_cache(_REMEMBERED_TEXTS)
def _passages(content: str) -> tuple[tuple[_Passage, ...], DistinctWords]:
    """Splits a text into passages; cached, because results repeat from keystroke to keystroke."""
    return tuple(_read(content)), DistinctWords.of(content)


def _read(content: str) -> Iterator[_Passage]:
    position = 0
    fenced = FENCE.finditer(content) if "```" in content or "~~~" in content else ()
    for match in (*fenced, None):
        yield from _prose(content, position, match.start() if match else len(content))
        if match and (code := match["code"].strip("\n")).strip():
            text = f"{match['open']}\n{code}\n{match['mark']}"  # closed, even where the chunk ends inside the code
            begin = content.index(code, match.start("code"))
            yield _Passage(text, True, begin, begin + len(code), len(match["open"]) + 1 - begin)
        position = match.end() if match else position


def _prose(content: str, begin: int, end: int) -> Iterator[_Passage]:
    """Yields the blocks between two places of a text that has no code between them."""
    for match in (*_BREAK.finditer(content, begin, end), None):
        text = content[begin : match.start() if match else end]
        if text.strip():
            begin += len(text) - len(text.lstrip("\n"))
            block = text.strip("\n")
            yield _Passage(block, False, begin, begin + len(block), -begin)
        begin = match.end() if match else end


def _cut(block: _Block) -> Excerpt:
    if len(block.text) <= MAX_CHARACTERS:
        return _whole(block)
    if not block.fenced:
        return _cut_prose(block)
    first = block.text.count("\n", 0, _window_start_in_code(block)) - 1 if block.found else 0
    return _cut_code(block, first, MAX_CHARACTERS)


def _window_start_in_code(block: _Block) -> int:
    """Returns the start of the first word in the window with the most different stems.

    A word is skipped if a later identifier has its stem and others: in a commented configuration, the comment of the
    previous option often has parts of an option's name.
    """
    window = _window_start(block)
    inside = [(start, stems) for start, end, stems in block.found if window <= start and end <= window + MAX_CHARACTERS]
    for number, (start, stems) in enumerate(inside):
        if not any(stems < others for _, others in inside[number + 1 :]):
            return start
    return window


def _cut_code(block: _Block, first: int, room: int) -> Excerpt:
    """Keeps whole lines from a line on, inside the block's fence; cuts that line if it is too long."""
    fence, *lines, closing = block.text.split("\n")
    begin = len(fence) + 1 + sum(len(line) + 1 for line in lines[:first])
    end = begin + len(lines[first])
    if len(lines[first]) > room:
        found = next((part for part in block.found if part[0] >= begin), None)
        if found and begin + room < found[1] <= end:
            begin = found[0] - room // 4
        end = min(end, begin + room)
    else:
        for line in lines[first + 1 :]:
            if end + 1 + len(line) - begin > room:
                break
            end += 1 + len(line)
    kept = block.text[begin:end].rstrip("\n")
    return Excerpt(f"{fence}\n{kept}\n{closing}", _moved(block, begin, len(kept), len(fence) + 1))


def _cut_prose(block: _Block) -> Excerpt:
    """Keeps the window with the most different query words; starts it at the beginning of a sentence if one is near."""
    window = begin = _window_start(block)
    if window:
        starts = _sentence_starts(block.text)
        begin = starts[bisect_right(starts, window) - 1]
    if block.found and window - begin > MAX_CHARACTERS // 2:
        begin = _word_start(block.text, window - MAX_CHARACTERS // 4)
    return _prose_from(block, begin)


def _prose_from(block: _Block, begin: int, room: int = MAX_CHARACTERS) -> Excerpt:
    begin = _before_code(block.text, begin)
    end = _before_code(block.text, _word_end(block.text, begin + room))
    before, after = ("… " if begin else ""), (" …" if end < len(block.text) else "")
    kept = block.text[begin:end].rstrip()
    if after:
        kept = _BARS.sub("", kept)  # the bars of a row of which nothing else is left
    return Excerpt(before + kept + after, _moved(block, begin, len(kept), len(before)))


def _before_code(text: str, place: int) -> int:
    """Moves a position inside inline code to the start of that code."""
    if not 0 < place < len(text):
        return place
    line = text.rfind("\n", 0, place) + 1
    if text.find("`", line, place) < 0:
        return place
    for match in _CODE_SPAN.finditer(text, line):
        start, end = match.span()
        if end > place:
            return start if start < place and end <= start + _LONGEST_UNCUT else place
    return place


def _window_start(block: _Block) -> int:
    """Returns the start of the window of `MAX_CHARACTERS` with the most different stems; the first one wins a tie."""
    best, best_start, most = 0, 0, len(block.stems)
    for i, (start, _, _) in enumerate(block.found):
        if best == most:
            break
        seen = {stem for s, e, stems in block.found[i:] if e <= start + MAX_CHARACTERS for stem in stems}
        if len(seen) > best:
            best, best_start = len(seen), start
    return best_start


def _moved(block: _Block, begin: int, length: int, shift: int) -> tuple[tuple[int, int], ...]:
    end_of_part, moved = begin + length, shift - begin
    return tuple((start + moved, end + moved) for start, end, _ in block.found if start >= begin and end <= end_of_part)


def _beginning(block: _Block, room: int) -> Excerpt:
    """Keeps the first lines of a block, or the first words of a long line."""
    if block.fenced:
        return _cut_code(block, 0, room)
    if len(block.text) <= room:
        return _whole(block)
    end = block.text.rfind("\n", 0, room + 1)
    if end > 0:
        return Excerpt(f"{block.text[:end]}\n…", _moved(block, 0, end, 0))
    return _prose_from(block, 0, room)


def _whole(block: _Block) -> Excerpt:
    return Excerpt(block.text, tuple((start, end) for start, end, _ in block.found))


def _join(excerpt: Excerpt, following: Excerpt) -> Excerpt:
    offset = len(excerpt.text) + 2
    marks = tuple((start + offset, end + offset) for start, end in following.highlights)
    return Excerpt(f"{excerpt.text}\n\n{following.text}", excerpt.highlights + marks)


def _word_start(text: str, position: int) -> int:
    space = text.find(" ", max(0, position))
    return space + 1 if 0 <= space < position + 40 else max(0, position)


def _word_end(text: str, position: int) -> int:
    if position >= len(text):
        return len(text)
    space = text.rfind(" ", max(0, position - _LONGEST_UNCUT), position)
    return space if space > 0 else position


def following_rows(records: Records, rows: Iterable[int]) -> list[int]:
    """Returns the rows that `text_for_excerpt` may need for some rows, beyond those that the records have."""
    found = {
        other
        for row in set(rows)
        for other in range(row + 1, min(row + 1 + _reach(records, row), len(records.page_of)))
        if records.page_of[other] == records.page_of[row] and other not in records.chunks
    }
    return sorted(found)


def text_for_excerpt(row: int, records: Records) -> tuple[str, str]:
    """Returns the text from which the excerpt of a chunk is cut, and the text that it introduces.

    This is the chunk's own text. For a heading without own text it is the first text below, introduced by the heading
    of that text, or the description of its page.
    """
    if not _is_bare(records, row):
        return records.content(row), _introduced(row, records)
    path = records.chunks[row]["heading_hierarchy"]
    for other in range(row + 1, row + 1 + _DEPTH):
        if not _has(records, other, row) or records.chunks[other]["heading_hierarchy"][: len(path)] != path:
            break
        if not _is_bare(records, other):
            heading = records.chunks[other]["heading_hierarchy"][-1]
            return f"{heading}{colon_after(heading)}\n\n{records.content(other)}", ""
    description = records.page(row).frontmatter.get("description")
    return (description if isinstance(description, str) and description.strip() else records.content(row)), ""


def _introduced(row: int, records: Records) -> str:
    """Returns the text of the next chunk if it is in the same section, and a colon ends this one or its code."""
    if not _ends_with_colon(records.content(row)) or not _has(records, row + 1, row):
        return ""
    own, other = records.chunks[row], records.chunks[row + 1]
    same = own["anchor"] == other["anchor"] and own["heading_hierarchy"] == other["heading_hierarchy"]
    return records.content(row + 1) if same else ""


def _reach(records: Records, row: int) -> int:
    """Returns how many of the next chunks are needed."""
    return _DEPTH if _is_bare(records, row) else int(_ends_with_colon(records.content(row)))


def _has(records: Records, other: int, row: int) -> bool:
    """Returns whether the records have another chunk, of the same page."""
    return other in records.chunks and bool(records.page_of[other] == records.page_of[row])


def _ends_with_colon(text: str) -> bool:
    """Returns whether a text ends with a colon, or with code that does."""
    code = text.rstrip("`~")
    if len(text) - len(code) >= _SHORTEST_FENCE:
        return code.endswith((":\n", "：\n"))  # such as an option whose comment is in the next chunk
    return text.endswith((":", "："))


def _is_bare(records: Records, row: int) -> bool:
    return is_bare(records.chunks[row]["heading_hierarchy"], records.content(row))


def is_bare(heading_hierarchy: Sequence[str], content: str) -> bool:
    """Returns whether the whole text of a chunk is its heading; only the text has backticks around code."""
    return bool(heading_hierarchy) and content.replace("`", "") == heading_hierarchy[-1].replace("`", "")
