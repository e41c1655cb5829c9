r"""Filter expressions of the command line: one short text, one filter.

=========================  ==========================================================================
``tags=security``          the field has this value
``status=draft,review``    the field has one of these values
``status!=draft``          the field does not have this value (nor, with commas, any of these)
``year=2023..2025``        from 2023 to 2025, both included
``date=2024-01-01..``      from this day on; ``..2024-12-31`` up to it
``author?``                the field has a value
``author!?``               it has none
``page.path^=guide/``      the text starts with this
=========================  ==========================================================================

A comma, two dots or white space at an end is literal inside double quotes: ``title="a, b"``, ``range="1..2"``. Inside
quotes a backslash makes the next character literal: ``title="say \"hi\""``. Values stay text; the index compares them
by the type of the field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.query import Equals, Exists, Filter, In, Prefix, Range

__all__ = ["parse_filter"]

FORMS = "tags=security, status=draft,review, status!=draft, year=2023..2025, author?, page.path^=guide/"

_EXPRESSION = re.compile(r"\s*(?P<field>[^\s=!^?\"]+)\s*(?P<operator>!\?|\?|!=|\^=|=)(?P<rest>.*)", re.DOTALL)
_PIECE = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>,|\.\.)|(?P<plain>[^",.]+|\.)', re.DOTALL)


@dataclass(slots=True)
class _Value:
    """One value under construction; `given` tells `""` from nothing."""

    text: str = ""
    given: bool = False
    quoted: bool = False


def parse_filter(expression: str) -> Filter:
    """Reads one filter expression.

    Raises:
        FilterError: it is none; the message shows the part that is wrong and the forms there are.
    """
    match = _EXPRESSION.fullmatch(expression)
    if not match:
        raise _wrong(expression, "it has no field name followed by =, !=, ^= or ?")
    field, operator, rest = match["field"], match["operator"], match["rest"]
    if operator in ("?", "!?"):
        if rest.strip():
            raise _wrong(expression, f"nothing may follow {operator}")
        return Exists(field, negate=operator == "!?")
    values, is_range = _values(expression, rest)
    if operator == "^=":
        if len(values) > 1 or is_range:
            raise _wrong(expression, "a beginning is one value: put it in double quotes")
        return Prefix(field, values[0].text)
    negate = operator == "!="
    if is_range:
        low, high = (value.text if value.given else None for value in values)
        if low is None and high is None:
            raise _wrong(expression, "the range has no end: give at least one")
        return Range(field, low, high, negate)
    if len(values) == 1:
        return Equals(field, values[0].text, negate)
    return In(field, tuple(value.text for value in values), negate)


def _values(expression: str, rest: str) -> tuple[list[_Value], bool]:
    """The values in `rest`, and whether they are the two ends of a range."""
    values, marks = _split(expression, rest)
    if ".." in marks:
        if marks != [".."]:
            raise _wrong(expression, "a range has two ends and no commas: put literal dots in double quotes")
        return values, True
    if not all(value.given for value in values):
        raise _wrong(expression, 'a value is missing (write "" for an empty text)')
    return values, False


def _split(expression: str, rest: str) -> tuple[list[_Value], list[str]]:
    values, marks, position = [_Value()], [], 0
    while position < len(rest):
        match = _PIECE.match(rest, position)
        if not match:
            raise _wrong(expression, "a double quote is not closed")
        position = match.end()
        value = values[-1]
        if match["mark"]:
            marks.append(match["mark"])
            values.append(_Value())
        elif match["quoted"] is not None:
            if value.given:
                raise _wrong(expression, "a double quote stands in the middle of a value: quote all of it")
            value.text, value.given, value.quoted = (
                re.sub(r"\\(.)", r"\1", match["quoted"], flags=re.DOTALL),
                True,
                True,
            )
        elif value.quoted:
            if match["plain"].strip():
                raise _wrong(expression, "something follows a closing double quote")
        else:
            value.text += match["plain"]
            value.given = bool(value.text.strip())
    for value in values:
        value.text = value.text if value.quoted else value.text.strip()
    return values, marks


def _wrong(expression: str, reason: str) -> FilterError:
    shown = expression if len(expression) <= 100 else expression[:99] + "…"
    return FilterError(f"The filter {shown!r} is not understood, {reason}. Forms: {FORMS}.", field="filters")
