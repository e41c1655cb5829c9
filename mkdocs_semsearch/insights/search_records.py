"""Defines the record of a search: the part that a browser sends, and the part that is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.searching.validation import complaint
from mkdocs_semsearch.wording import visible

MAX_QUERY = 300
"""Number of characters of a query that are stored; longer queries are pasted texts."""

MAX_FILTERS = 2000
"""Number of characters of filters that are stored with a search; the last ones are left out."""

Short = Annotated[str, StringConstraints(max_length=200)]
AnsweredBy = Literal["online", "slow", "better", "degraded", "static", "loading", "reserve", "building", "fallback"]


class Beacon(BaseModel):
    """Record that the search dialog sends when a search has ended: the reader opened a result, left, or rephrased."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: Annotated[
        str, StringConstraints(max_length=8000), Field(description="As typed; empty for a list of pages.")
    ] = ""
    mode: Annotated[AnsweredBy, Field(description="The engine that answered.")] = "online"
    language: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9-]{0,35}$"), Field(description="Language of the dialog.")
    ] = ""
    filters: Annotated[
        dict[Short, Annotated[list[Short], Field(max_length=20)]],
        Field(max_length=20, description="Values by field; a range is `2023..2025`."),
    ] = {}
    matches: Annotated[int, Field(ge=0, le=10**9, description="Number of results that match.")]
    score: Annotated[float | None, Field(ge=0, le=1, description="Score of the best result.")] = None
    similarity: Annotated[
        float | None, Field(ge=0, le=1, description="Similarity of the best result and the query.")
    ] = None
    corrected: Annotated[
        dict[Short, Short], Field(max_length=20, description="Words of the query and their corrections.")
    ] = {}
    opened: Annotated[
        str | None, StringConstraints(max_length=500), Field(description="Path of the page that was opened.")
    ] = None
    rank: Annotated[int | None, Field(ge=1, le=10_000, description="Rank of that page among the results.")] = None
    rephrased: Annotated[bool, Field(description="The reader rephrased the query in the open dialog.")] = False


EXAMPLE = {"query": "rotate api keys", "matches": 3, "filters": {"tags": ["security"]}, "language": "en"}
"""Valid values of a record, for error messages."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search, as it is stored; every text is already redacted.

    Attributes:
        hour: hour in UTC, such as `2026-11-22T14`.
        site: name of the index on a server with several.
        opened: path of the page that was opened, or None.
        rank: rank of that page among the results, from 1.
        rephrased: whether the reader rephrased the query in the open dialog.
        others: as in `Beacon`.
    """

    hour: str
    site: str
    query: str
    mode: str
    language: str
    filters: dict[str, list[str]]
    matches: int
    score: float | None
    similarity: float | None
    corrected: dict[str, str]
    opened: str | None
    rank: int | None
    rephrased: bool


def read_beacon(body: bytes, *, site: str = "", now: datetime | None = None) -> Search | None:
    """Reads a record from a browser, and replaces everything in it that looks private.

    Args:
        body: the JSON text.
        site: name of the index.
        now: time of the record, by default now; only the hour is stored.

    Returns:
        None for a search without words and filters.

    Raises:
        QueryError: the body is not such a record; the sentence names the first wrong field and never a value.
    """
    try:
        sent = Beacon.model_validate_json(body)
    except ValidationError as error:
        raise _refused(error) from None
    query = redact(" ".join(visible(sent.query).split()))[:MAX_QUERY]
    if not query and not sent.filters:
        return None
    return Search(
        hour=(now or datetime.now(UTC)).strftime("%Y-%m-%dT%H"),
        site=site,
        query=query,
        mode=sent.mode,
        language=sent.language,
        filters=_filters(sent.filters),
        matches=sent.matches,
        score=sent.score,
        similarity=sent.similarity,
        corrected=_corrections(sent.corrected, query),
        opened=None if sent.opened is None else _safe(sent.opened),
        rank=None if sent.opened is None else sent.rank,
        rephrased=sent.rephrased,
    )


def _refused(error: ValidationError) -> QueryError:
    first = error.errors(include_input=False, include_url=False)[0]
    if first["type"] == "json_invalid":
        return QueryError(f"The body is not valid JSON: {first['ctx']['error']}.")
    if not first["loc"]:
        return QueryError(f"The body must be a JSON object such as {json.dumps(EXAMPLE)}.")
    sentence, field = complaint(error, Beacon, EXAMPLE)
    return QueryError(sentence, field=field)


def _filters(filters: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    size = 0
    for field, values in filters.items():
        for value in values:
            size += len(field) + len(value)
            if size <= MAX_FILTERS:
                found.setdefault(_safe(field), []).append(_safe(value))
    return found


def _corrections(corrected: Mapping[str, str], query: str) -> dict[str, str]:
    """Returns the corrections of words that are still in the redacted query: others may be parts of a secret."""
    left = query.casefold()
    return {_safe(word): _safe(other) for word, other in corrected.items() if visible(word).casefold() in left}


def _safe(text: str) -> str:
    return redact(visible(text))


def redact(text: str) -> str:
    """Replaces secrets, tokens, e-mail and network addresses, names of home folders, and long numbers.

    Doubtful text is replaced too: losing a word of a query does less harm than storing a secret that somebody pasted.
    """
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return _RUN.sub(_unless_readable, text)


_NAMED = (
    r"pass(?:word|wd|phrase)?|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|account[-_ ]?key|private[-_ ]?key|"
    r"credentials?|authorization|cookie|session[-_ ]?id"
)
_PREFIXES = (
    r"gh[opusr]_|github_pat_|glpat-|sk-|sk_live_|sk_test_|rk_live_|pk_live_|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|"
    r"GOCSPX-|hf_|npm_|pypi-|dop_v1_|SG\.|eyJ|key-|hvs\.|dckr_pat_|shpat_|EAA|AGE-SECRET-KEY-|tskey-|lin_api_|ntn_"
)
_VALUE = r"""(?:"[^"]{0,200}"|'[^']{0,200}'|["']?[^\s"',;&]+)"""
"""What follows the name of a secret: one word, or several in quotes."""

_COOKIE_NAME = r"""[^\s=;,"']{1,100}"""
_COOKIE = r"""(?:"[^"]{1,200}"|[^\s;"']*)"""

_OPTION = r"(?:options?|flags?|arguments?|parameters?|switch)(?![^\s.,;:!?)])"
"""Nouns that follow the name of an option, as in *the --token flag*."""

_NO_PERSON = re.compile(
    r"\d{1,2}(?:\.\d{1,2}){1,2} [(]?(?:19|20)\d\d-\d\d-\d\d"  # a version with its date, as in release notes
    r"|\d\.\d{1,2}(?: \d\.\d{1,2})+"  # several versions
    r"|20[12]\d-\d\d-\d\d/\d{1,2}(?:\.\d{1,2}){1,2}"  # a folder that is a date, with a version in it
)
"""Long numbers that are not telephone numbers or the like."""

# A repetition has a limit, or can begin only where a run of its characters begins. Otherwise the engine tries every
# character of a long text as a beginning, and 8000 characters take minutes.
_PATTERNS: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|$)", re.DOTALL), "[secret]"),
    (re.compile(r"(?<=://)[^/?#\s]+(?=@)"), "[secret]"),
    (re.compile(r"(?<![\w.+%-])[\w.+%-]+(?:@|%40)[\w-]+(?:\.[\w-]+)+"), "[e-mail]"),
    (re.compile(r"\b(bearer|basic)\s+(?=\S*[\d+/=_.-])[\w+/=.~-]{8,}", re.IGNORECASE), r"\1 [secret]"),
    (
        re.compile(
            rf"(cookie:\s{{0,20}}){_COOKIE_NAME}={_COOKIE}(?:;\s{{0,5}}{_COOKIE_NAME}(?:={_COOKIE})?)*", re.IGNORECASE
        ),
        r"\1[secret]",
    ),
    (
        re.compile(
            rf"((?:{_NAMED})[\w-]{{0,40}}[\"']?\s{{0,20}}(?:=>|[=:])\s{{0,20}})(?:bearer\s+|basic\s+)?{_VALUE}",
            re.IGNORECASE,
        ),
        r"\1[secret]",
    ),
    (
        re.compile(rf"((?<![\w-])--(?:[\w-]{{0,40}}-)?(?:{_NAMED}) )(?!-|{_OPTION}){_VALUE}", re.IGNORECASE),
        r"\1[secret]",
    ),
    (re.compile(r"((?<!\S)(?:-u|--user) )[^\s:]+:\S+"), r"\1[secret]"),
    (
        re.compile(
            r"((?<![\w.-])(?:(?:/var)?/(?:home|Users)/|(?:/mnt|/cygdrive)?/[A-Za-z]/[Uu]sers/"
            r"|[\\/]{2}wsl[\w.$]{1,20}[\\/][\w.-]{1,40}[\\/]home[\\/])|\b[A-Za-z]:[\\/]{1,2}[Uu]sers[\\/]{1,2})"
            r"[^\\/\s\"':]+(?: [^\\/\s\"':]+(?=[\\/]))?"
        ),
        r"\1[name]",
    ),
    (re.compile(rf"(?<![A-Za-z0-9])(?:{_PREFIXES})[\w.=+/-]{{10,}}"), "[secret]"),
    (
        re.compile(
            r"(?<![\w/+=])(?=[A-Za-z/+]{0,39}\d)(?=[A-Z0-9/+]{0,39}[a-z])(?=[a-z0-9/+]{0,39}[A-Z])"
            r"[A-Za-z0-9/+]{40}(?![\w/+=])"
        ),
        "[secret]",
    ),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "[secret]"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"), "[address]"),
    (
        re.compile(
            r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){2,7}(?::?[0-9a-fA-F]{1,4}){1,7}(?![\w:])|(?<![\w:])(?:[0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F:]*(?!\w)"
        ),
        "[address]",
    ),
    (
        re.compile(r"\bCVE-(?:19|20)\d\d-\d{4,7}\b|\+?\d(?:[ ()./-]{0,2}\d){8,}", re.IGNORECASE),
        lambda match: match[0] if match[0][0] in "Cc" or _NO_PERSON.fullmatch(match[0]) else "[number]",
    ),
)
_RUN = re.compile(r"[A-Za-z0-9+/=]{16,}")
REDACTED = re.compile(r"\[(?:e-mail|address|secret|number|name)\]")
"""What `redact` writes in place of a secret."""


def _unless_readable(match: re.Match[str]) -> str:
    """Returns a long run of letters and digits unchanged, or `[secret]` if it has no readable words."""
    run = match[0]
    if any(_is_random(part) for part in run.split("/")) or (_is_random(run) and "." not in run and run.count("/") < 3):
        return "[secret]"
    return run


def _is_random(run: str) -> bool:
    """Returns whether a run looks random rather than like words, an identifier or a path."""
    if len(run) < 16:
        return False
    if re.fullmatch(r"[0-9a-fA-F]+", run):
        return any(character.isdigit() for character in run)
    changes = len(re.findall(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])", run))
    if changes >= 4 or (changes >= 3 and len(run) < 24):
        return True
    letters = [character for character in run if character.isalpha()]
    mixed = any(map(str.isupper, letters)) and any(map(str.islower, letters))
    vowels = sum(letter in "aeiouyAEIOUY" for letter in letters)
    return mixed and len(letters) >= 16 and vowels < 0.25 * len(letters)
