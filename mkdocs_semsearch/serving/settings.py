"""Settings of the server: flags override the environment, the environment overrides the defaults.

pydantic-settings was tried and not taken: it reads lists as JSON, while these variables are lists with commas, it
accepts white space as a value, and its errors name fields instead of the environment variables.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from mkdocs_semsearch.artifact.manifest import DEFAULT_INDEX_DIR
from mkdocs_semsearch.errors import ConfigurationError, reason
from mkdocs_semsearch.searching.query import DEFAULT_LIMIT, MAX_LIMIT
from mkdocs_semsearch.serving.admission import MAX_CONCURRENT, REQUEST_SECONDS, parse_rate
from mkdocs_semsearch.wording import without_login

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]

SHORTEST_TOKEN = 16
MOST_DAYS = 36_500
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_OTHER_VARIABLES = ("EMBEDDER_API_KEY", "EMBEDDER_MODEL", "EMBEDDER_URL", "ENCODER_THREADS", "MAX_INDEX_BYTES")
"""Variables that other modules read; without `SEMSEARCH_`."""
_RESERVED = frozenset({"-", "api", "docs", "healthz", "mcp", "metrics", "openapi.json", "readyz"})
"""First path segments that have another meaning, so no index may have such a name."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of a server.

    Attributes:
        index: folder or URL of the index (`SEMSEARCH_INDEX`).
        indexes: names and places of several indexes, used instead of `index` (`SEMSEARCH_INDEXES`, written as
            `name=place` with commas).
        default_limit: `limit` of requests that do not set it (`SEMSEARCH_DEFAULT_LIMIT`).
        min_score: `min_score` of requests that do not set it (`SEMSEARCH_MIN_SCORE`).
        cors_origins: origins whose pages may send requests; `*` for any (`SEMSEARCH_CORS_ORIGINS`, with commas).
        cors_origin_regex: pattern that a whole origin must match (`SEMSEARCH_CORS_ORIGIN_REGEX`).
        rate_limit: limit for each client address, like `60/minute`; None for no limit (`SEMSEARCH_RATE_LIMIT`).
        client_header: header with the client's address that a trusted proxy sets (`SEMSEARCH_CLIENT_HEADER`).
        max_concurrent: maximum number of requests that run or wait at the same time (`SEMSEARCH_MAX_CONCURRENT`).
        request_seconds: time limit of a request (`SEMSEARCH_REQUEST_SECONDS`).
        token: token that clients must send as `Authorization: Bearer …` (`SEMSEARCH_TOKEN`).
        token_file: a file with such tokens, one per line (`SEMSEARCH_TOKEN_FILE`).
        log_level: log level (`SEMSEARCH_LOG_LEVEL`).
        log_format: `text` or `json` (`SEMSEARCH_LOG_FORMAT`).
        log_queries: whether the log contains the text of queries (`SEMSEARCH_LOG_QUERIES`).
        hosts: host names under which the server answers, in addition to those of this machine and of its sites; empty
            for any name (`SEMSEARCH_HOSTS`, with commas).
        mcp_hosts: host names in addition to localhost under which `/mcp` answers (`SEMSEARCH_MCP_HOSTS`, with commas).
        insights: folder for the records of searches; None to record nothing (`SEMSEARCH_INSIGHTS`).
        insights_days: records older than this are deleted (`SEMSEARCH_INSIGHTS_DAYS`).
        insights_megabytes: above this size the oldest records are deleted (`SEMSEARCH_INSIGHTS_MEGABYTES`).

    Raises:
        ConfigurationError: a setting is invalid; the message names it.
    """

    index: str = DEFAULT_INDEX_DIR
    indexes: tuple[tuple[str, str], ...] = ()
    default_limit: int = DEFAULT_LIMIT
    min_score: float = 0.0
    cors_origins: tuple[str, ...] = ()
    cors_origin_regex: str | None = None
    rate_limit: str | None = None
    client_header: str | None = None
    max_concurrent: int = MAX_CONCURRENT
    request_seconds: float = REQUEST_SECONDS
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    log_level: LogLevel = "info"
    log_format: LogFormat = "text"
    log_queries: bool = False
    hosts: tuple[str, ...] = ()
    mcp_hosts: tuple[str, ...] = ()
    insights: str | None = None
    insights_days: int = 90
    insights_megabytes: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.default_limit <= MAX_LIMIT:
            raise ConfigurationError(f"The default limit is {self.default_limit}: it must be from 1 to {MAX_LIMIT}.")
        if not 0 <= self.min_score <= 1:
            raise ConfigurationError(f"The minimum score is {self.min_score}: it must be from 0 to 1.")
        if self.max_concurrent < 1:
            raise ConfigurationError(
                f"The number of concurrent requests is {self.max_concurrent}: it must be at least 1."
            )
        if not 0.1 <= self.request_seconds <= 3600:
            raise ConfigurationError(
                f"The time for a request is {self.request_seconds} s: it must be from 0.1 to 3600 seconds."
            )
        if not 1 <= self.insights_days <= MOST_DAYS or self.insights_megabytes < 1:
            raise ConfigurationError(
                f"Records are kept for {self.insights_days} days up to {self.insights_megabytes} MB: both must be at "
                f"least 1, and the days at most {MOST_DAYS}."
            )
        _check_choice("log level", self.log_level, get_args(LogLevel))
        _check_choice("log format", self.log_format, get_args(LogFormat))
        if self.rate_limit is not None:
            parse_rate(self.rate_limit)
        if self.client_header is not None and not re.fullmatch(r"[A-Za-z0-9-]+", self.client_header):
            raise ConfigurationError(
                f"The client header {self.client_header!r} is not a header name such as X-Forwarded-For."
            )
        for origin in self.cors_origins:
            _check_origin(origin)
        for host in (*self.hosts, *self.mcp_hosts):
            _check_host(host)
        if self.cors_origin_regex is not None:
            _check_pattern(self.cors_origin_regex)
        if self.token is not None:
            _check_token(self.token, "The token")
        _check_names([name for name, _ in self.indexes])

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **flags: Any) -> ServerSettings:
        """Reads the `SEMSEARCH_…` environment variables; an empty variable counts as not set.

        Args:
            environment: the variables; `os.environ` by default.
            **flags: values from the command line; None, False and `()` count as not set.

        Raises:
            ConfigurationError: a value is invalid; the message names the variable or the setting.
        """
        given = os.environ if environment is None else environment
        said = {name: value for name, value in flags.items() if value is not None and value is not False}
        said = {name: value for name, value in said.items() if value != ()}
        values: dict[str, Any] = {}
        for name, kind in get_type_hints(cls).items():
            text = given.get(f"SEMSEARCH_{name.upper()}", "").strip()
            if text and name not in said:
                values[name] = _read(name, text, _READERS.get(kind, str))
        if "index" in said:  # an index on the command line replaces several in the environment
            values.pop("indexes", None)
        return replace(cls(**values), **said)

    def tokens(self) -> tuple[str, ...]:
        """Returns all valid tokens and reads the token file again; empty if no token is needed.

        Raises:
            ConfigurationError: the file cannot be read or has no valid token; the message never contains a token.
        """
        tokens = [self.token] if self.token is not None else []
        if self.token_file is not None:
            try:
                lines = Path(self.token_file).read_text(encoding="utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"The token file {self.token_file} cannot be read: {reason(error)}.") from None
            found = [line.strip() for line in lines if line.strip()]
            if not found:
                raise ConfigurationError(f"The token file {self.token_file} is empty: write one token per line.")
            for number, token in enumerate(found, 1):
                _check_token(token, f"Token {number} of {self.token_file}")
            tokens += found
        return tuple(tokens)


def misspelt_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns misspelt variables, each with the name that is probably meant.

    Others are not reported: Kubernetes sets variables, such as `…_SERVICE_HOST` and `…_PORT`, for a service of that
    name.
    """
    known = [*(name.upper() for name in get_type_hints(ServerSettings)), *_OTHER_VARIABLES]
    found = {}
    for variable in sorted(environment):
        name = variable.removeprefix("SEMSEARCH_")
        if variable != name and name not in known and not name.endswith("_PORT"):
            for close in get_close_matches(name, known, 1, 0.8):
                found[variable] = f"SEMSEARCH_{close}"
    return found


def _read(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        value = read(text)
        ServerSettings(**{name: value})
    except (ValueError, ConfigurationError) as error:
        wanted = "a whole number" if read is int else "a number"
        reason = str(error) if isinstance(error, ConfigurationError) else f"{text!r} is not {wanted}."
        raise ConfigurationError(f"Environment variable SEMSEARCH_{name.upper()}: {reason}") from None
    return value


def _list(text: str) -> tuple[str, ...]:
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    parts = _list(text)
    if "@" in text and not all(split_name(part)[0] for part in parts):  # a part may be the rest of a password
        raise ConfigurationError(
            "One of the indexes has no name: write each as in latest=https://docs.example.org/, and a comma in a URL "
            "as %2C."
        )
    return tuple(parse_named_index(part) for part in parts)


def split_name(text: str) -> tuple[str | None, str]:
    """Splits `name=place`; the name is None for a place without one, and empty before a leading `=`.

    A `=` in the parameters of a URL does not separate a name.
    """
    name, separator, place = (part.strip() for part in text.partition("="))
    return (name, place) if separator and "://" not in name else (None, text.strip())


def parse_named_index(text: str) -> tuple[str, str]:
    """Parses `name=place`.

    Raises:
        ConfigurationError: the text does not have this form.
    """
    name, place = split_name(text)
    if name and not place:
        raise ConfigurationError(f"The index {name!r} has no place: write {name}=/srv/{name}/semsearch-index.")
    if not name:
        raise ConfigurationError(
            f"The index {without_login(text)!r} has no name: for one of several, write "
            "latest=/srv/latest/semsearch-index; if it is the only one, write it into SEMSEARCH_INDEX."
        )
    return name, place


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _flag(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ConfigurationError(f"{text!r} is neither true nor false.")
    return known[text.lower()]


_READERS: dict[Any, Callable[[str], Any]] = {
    int: int,
    float: _finite,
    bool: _flag,
    tuple[str, ...]: _list,
    tuple[tuple[str, str], ...]: _pairs,
    LogLevel: str.lower,
    LogFormat: str.lower,
}
"""Functions that read a variable, by the type of the setting; every other setting is a text."""


def _check_choice(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"The {what} is {value!r}: it must be one of {', '.join(allowed)}.")


def _check_host(host: str) -> None:
    if host != "*" and not re.fullmatch(r"[\w.-]+|\[[\w.:%]+\]", host):
        raise ConfigurationError(
            f"{host!r} is not a host name: write it as in search.example.org or [::1], without https://, port and path."
        )


def _check_origin(origin: str) -> None:
    if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s*]+", origin):
        raise ConfigurationError(
            f"{origin!r} is not a CORS origin: write https://docs.example.org without a path, or * for any."
        )
    scheme, _, host = origin.partition("://")
    sent = f"{scheme}://{host.lower().removesuffix(_DEFAULT_PORTS.get(scheme, '/'))}"
    if origin not in ("*", sent):
        raise ConfigurationError(f"{origin!r} is not an origin as browsers send it: write {sent}.")


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"The CORS origin pattern {pattern!r} is not a regular expression: {error}.") from None


def _check_token(token: str, name: str) -> None:
    # The characters are those of RFC 6750. No message may contain the token.
    if len(token) < SHORTEST_TOKEN or not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token):
        raise ConfigurationError(
            f"{name} is not a valid token: use {SHORTEST_TOKEN} or more of the letters, digits and ._~+/-, for "
            "example the output of `openssl rand -hex 32`."
        )


def _check_names(names: list[str]) -> None:
    for name in names:
        _check_index_name(name)
        if names.count(name) > 1:
            raise ConfigurationError(f"Two indexes have the name {name!r}: each needs its own.")


def _check_index_name(name: str) -> None:
    """Checks that an index name can be the first path segment of a URL and is not reserved.

    Raises:
        ConfigurationError: the name is not allowed; the message says which names are.
    """
    if name in _RESERVED or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise ConfigurationError(
            f"The index name {name[:80]!r} is not allowed: use at most 64 letters, digits, dots, dashes and "
            f"underscores, and none of these names: {', '.join(sorted(_RESERVED))}."
        )
