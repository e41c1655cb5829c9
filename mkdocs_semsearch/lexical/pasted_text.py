"""The lines of a pasted message that say what happened."""

from __future__ import annotations

import re

__all__ = ["telling_lines"]

LONG_TEXT = 400
"""Characters from which on a text of several lines is taken for a pasted message: real questions are shorter, and the
encoder of the default model reads about this much."""

_ERROR = re.compile(
    r"\s*(?:E\s+)?(?:[\w.$]+(?:Error|Exception|Warning|Failure|Fault|Exit|Interrupt)\b"
    r"|(?:fatal|error|panic|caused by|critical|failed|thread \S+ panicked|FATA|ERRO|ERR!)\b)",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"\s*(?:File \".*\", line \d+|at [\w.$<>]+\s?\(|Traceback \(most recent|During handling of the above|"
    r"The above exception|[\^~]+\s*$|\.{3}|goroutine \d+|\d+: 0x|from .+:\d+:in)"
)
_DETAIL_LINES = 4


def telling_lines(text: str) -> str:
    """Returns what a long pasted text is about; a short text, or one of a single line, as it is.

    Of a traceback or a log these are its error lines, the last one first with the lines below it that explain it, and
    the lines before the first frame, where a reader may have asked something. Of other texts it is everything.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(text) <= LONG_TEXT or len(lines) < 3:
        return text
    errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    if not errors:
        return text
    first_frame = next((number for number, line in enumerate(lines) if _FRAME.match(line)), errors[0])
    last = errors[-1]
    details = [line for line in lines[last + 1 : last + 1 + _DETAIL_LINES] if not _FRAME.match(line)]
    asked = [line for line in lines[:first_frame] if len(line) <= LONG_TEXT][:_DETAIL_LINES]
    others = [lines[number] for number in reversed(errors[:-1]) if lines[number] != lines[last]][:_DETAIL_LINES]
    return "\n".join(dict.fromkeys([*asked, lines[last], *details, *others]))
