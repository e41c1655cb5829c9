"""What can be told from a Markdown source without rendering it: headings, code fences, where text is text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mkdocs_semsearch.chunking.code_language import canonical_language
from mkdocs_semsearch.chunking.front_matter import read_front_matter

__all__ = ["Fence", "MarkdownSource", "SourceHeading", "comparable_heading", "read_markdown"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_ATX = re.compile(r"[ \t>]*(#{1,6})(?!#)[ \t]*(\S.*?)[ \t]*#*[ \t]*$")
_SETEXT = re.compile(r"[ \t>]*(=+|-+)[ \t]*$")
_HTML_HEADING = re.compile(r"<h[1-6][^>]*>(.+?)</h[1-6]>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})(.*)$")
_FENCE_LANGUAGE = re.compile(r"\s*(?:\{[^}.]*\.|\{?\s*)([\w#+-][\w#+.-]*)")
_NOT_TEXT = re.compile(
    r"\]\([^)\n]*\)|\]\[[^\]\n]*\]|\[\^[^\]\n]*\]|<!--.*?-->|</?[A-Za-z][^<>\n]*>|\{[:#.%{][^}\n]*\}+|&\w+;|&#\w+;",
    re.DOTALL,
)
_LINK_TARGET = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_TAG_OR_MACRO = re.compile(r"<[^<>]*>|\{\{.*?\}\}|\{%.*?%\}|\{[:#.][^}]*\}\s*$|\{\s+[#.:][^}]*\}\s*$|&\w+;")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}\s*$")
_SHORTCODE = re.compile(r"(?<!\w):[a-z][\w+-]*:(?!\w)")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SourceHeading:
    """A line that may be a heading: its words, the offset of its line, whether the search is to leave it out."""

    comparable: str
    start: int
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced code block: its language and the first lines of its code."""

    language: str | None
    first_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkdownSource:
    """A Markdown source.

    Attributes:
        text: as it is.
        text_only: of the same length, with spaces in place of link targets, tags, attributes and comments.
        body_start: offset after the front matter.
        headings: in order.
        fences: in order.
    """

    text: str
    text_only: str
    body_start: int
    headings: tuple[SourceHeading, ...]
    fences: tuple[Fence, ...]


def read_markdown(source: str) -> MarkdownSource:
    """Reads a source; never fails, since every text is Markdown."""
    header = read_front_matter(source)
    start = len(source) if not source else header.body_start
    text_only = _NOT_TEXT.sub(lambda match: " " * len(match.group()), source)
    reader = _LineReader(source, start)
    reader.read()
    return MarkdownSource(source, text_only, start, tuple(reader.headings), tuple(reader.fences))


def comparable_heading(text: str) -> str:
    """Returns the letters and digits of a heading, so that Markdown and HTML of the same heading agree."""
    text = _LINK_TARGET.sub(r"\1", text)
    text = _SHORTCODE.sub(" ", _TAG_OR_MACRO.sub(" ", text))
    return "".join(_WORD.findall(text)).casefold() or "".join(text.split())


class _LineReader:
    """Goes through the lines once, aware of fences and comments."""

    def __init__(self, source: str, start: int) -> None:
        self.headings: list[SourceHeading] = []
        self.fences: list[Fence] = []
        self._source = source
        self._start = start
        self._never_closed: dict[str, int] = {}

    def read(self) -> None:
        position: int | None = self._start
        while position is not None:
            position = self._read_from(position)

    def _lines(self, start: int) -> Iterator[tuple[int, str]]:
        for match in _LINE.finditer(self._source, start):
            if match.group():
                yield match.start(), match.group().rstrip("\r\n")

    def _read_from(self, start: int) -> int | None:
        """Reads to the end; returns where to go on from when a fence turns out never to be closed."""
        previous: tuple[int, str] = (start, "")
        fence: tuple[str, int, int] | None = None  # mark, number of headings so far, offset of the line after
        code: list[str] = []
        language: str | None = None
        in_comment = False
        for offset, line in self._lines(start):
            mark = _FENCE.match(line)
            if fence is not None:
                if mark and mark[1].startswith(fence[0]) and not mark[2].strip():
                    self.fences.append(Fence(language, tuple(code)))
                    fence = None
                elif len(code) < 2 and line.strip():
                    code.append("".join(line.split()))
                continue
            in_comment = self._comment(line, in_comment)
            if in_comment:
                continue
            if mark and self._opens(mark):
                fence = (mark[1], len(self.headings), offset + len(line))
                code, language = [], _language(mark[2])
                previous = (offset, "")
                continue
            self._heading(offset, line, previous)
            previous = (offset, line)
        if fence is None:
            return None
        self._never_closed[fence[0][0]] = len(fence[0])
        return fence[2]

    def _opens(self, mark: re.Match[str]) -> bool:
        return len(mark[1]) < self._never_closed.get(mark[1][0], 1 << 30) and "`" not in mark[2]

    @staticmethod
    def _comment(line: str, in_comment: bool) -> bool:
        opened, closed = line.rfind("<!--"), line.rfind("-->")
        return opened > closed if opened >= 0 or closed >= 0 else in_comment

    def _heading(self, offset: int, line: str, previous: tuple[int, str]) -> None:
        match = _ATX.match(line)
        if match:
            self._add(match[2], offset)
        elif _SETEXT.match(line) and previous[1].strip():
            self._add(previous[1], previous[0])
        elif "<h" in line.lower() and (match := _HTML_HEADING.search(line)):
            self._add(match[1], offset)

    def _add(self, text: str, offset: int) -> None:
        attributes = _ATTRIBUTES.search(text)
        excluded = attributes is not None and "data-search-exclude" in attributes.group()
        self.headings.append(SourceHeading(comparable_heading(text), offset, excluded))


def _language(info: str) -> str | None:
    match = _FENCE_LANGUAGE.match(info)
    return canonical_language(match[1]) if match and "=" not in match[1] else None
