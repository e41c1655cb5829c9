"""Settings of the server: flags win over the environment, the environment over the defaults."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.searching.query import MAX_LIMIT
from mkdocs_semsearch.serving.rate_limit import parse_rate

__all__ = ["LogLevel", "ServerSettings"]

LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a server can be told.

    Attributes:
        index: folder of the index (`SEMSEARCH_INDEX`).
        default_limit: `limit` of requests that give none (`SEMSEARCH_DEFAULT_LIMIT`).
        min_score: `min_score` of requests that give none (`SEMSEARCH_MIN_SCORE`).
        cors_origins: origins whose pages may ask; `*` is any (`SEMSEARCH_CORS_ORIGINS`, with commas).
        cors_origin_regex: pattern that a whole origin must match (`SEMSEARCH_CORS_ORIGIN_REGEX`).
        rate_limit: for one client address, `60/minute`; None is no limit (`SEMSEARCH_RATE_LIMIT`).
        log_level: (`SEMSEARCH_LOG_LEVEL`).
        mcp_hosts: host names besides localhost under which `/mcp` answers (`SEMSEARCH_MCP_HOSTS`, with commas).

    Raises:
        ConfigurationError: a value that cannot work; names the setting.
    """

    index: str = "semsearch-index"
    default_limit: int = 10
    min_score: float = 0.0
    cors_origins: tuple[str, ...] = ()
    cors_origin_regex: str | None = None
    rate_limit: str | None = None
    log_level: LogLevel = "info"
    mcp_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.default_limit <= MAX_LIMIT:
            raise ConfigurationError(f"The default limit is {self.default_limit}: it must be from 1 to {MAX_LIMIT}.")
        if not 0 <= self.min_score <= 1:
            raise ConfigurationError(f"The least score is {self.min_score}: it must be from 0 to 1.")
        if self.log_level not in get_args(LogLevel):
            allowed = ", ".join(get_args(LogLevel))
            raise ConfigurationError(f"The log level is {self.log_level!r}: it must be one of {allowed}.")
        if self.rate_limit is not None:
            parse_rate(self.rate_limit)
        for origin in self.cors_origins:
            _check_origin(origin)
        if self.cors_origin_regex is not None:
            _check_pattern(self.cors_origin_regex)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **flags: Any) -> ServerSettings:
        """Reads the `SEMSEARCH_…` variables; a variable that is empty counts as not set.

        Args:
            environment: `os.environ` by default.
            **flags: what the command line says; None and `()` mean that it says nothing.

        Raises:
            ConfigurationError: a value that cannot work; names the variable or the setting.
        """
        given = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for name, (variable, read) in _VARIABLES.items():
            text = given.get(variable, "").strip()
            if text and flags.get(name) in (None, ()):
                values[name] = _read(variable, text, read)
        return replace(cls(**values), **{name: value for name, value in flags.items() if value not in (None, ())})

    def app_options(self) -> dict[str, Any]:
        """Returns the keyword arguments that `create_app` takes."""
        kept = {field.name for field in fields(self)} - {"index", "log_level"}
        return {name: getattr(self, name) for name in sorted(kept)}


def _read(variable: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        value = read(text)
        ServerSettings(**{_NAMES[variable]: value})
    except (ValueError, ConfigurationError) as error:
        reason = str(error) if isinstance(error, ConfigurationError) else f"{text!r} is not a number."
        raise ConfigurationError(f"Environment variable {variable}: {reason}") from None
    return value


def _list(text: str) -> tuple[str, ...]:
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_VARIABLES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "index": ("SEMSEARCH_INDEX", str),
    "default_limit": ("SEMSEARCH_DEFAULT_LIMIT", int),
    "min_score": ("SEMSEARCH_MIN_SCORE", _finite),
    "cors_origins": ("SEMSEARCH_CORS_ORIGINS", _list),
    "cors_origin_regex": ("SEMSEARCH_CORS_ORIGIN_REGEX", str),
    "rate_limit": ("SEMSEARCH_RATE_LIMIT", str),
    "log_level": ("SEMSEARCH_LOG_LEVEL", str.lower),
    "mcp_hosts": ("SEMSEARCH_MCP_HOSTS", _list),
}
_NAMES = {variable: name for name, (variable, _) in _VARIABLES.items()}


def _check_origin(origin: str) -> None:
    if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s*]+", origin):
        raise ConfigurationError(
            f"The CORS origin {origin!r} is none: write https://docs.example.org without a path, or * for any."
        )


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"The CORS origin pattern {pattern!r} is not a regular expression: {error}.") from None
