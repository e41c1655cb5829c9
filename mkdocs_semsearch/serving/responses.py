"""What leaves the process: status, headers and bytes, without a web framework."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

__all__ = ["SECURITY_HEADERS", "ApiResponse", "encode_json", "entity_tag", "json_response", "tag_matches"]

Headers = tuple[tuple[str, str], ...]

SECURITY_HEADERS: Headers = (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"))
"""What every answer has."""

_INERT = ("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
"""An answer that is no page cannot become one."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """One HTTP answer; header names are in lower case, `content-length` is among them."""

    status: int
    headers: Headers
    body: bytes

    @classmethod
    def of(cls, status: int, content_type: str | None, body: bytes, headers: Headers = ()) -> ApiResponse:
        """Makes an answer with the headers that every answer has."""
        kind: Headers = (("content-type", content_type),) if content_type else ()
        length: Headers = (("content-length", str(len(body))),) if status not in (204, 304) else ()
        policy: Headers = () if any(name == _INERT[0] for name, _ in headers) else (_INERT,)
        return cls(status, (*kind, *length, *SECURITY_HEADERS, *policy, *headers), body)

    def without_body(self) -> ApiResponse:
        """The answer to HEAD: the same headers, no body."""
        return ApiResponse(self.status, self.headers, b"")


def json_response(status: int, content: Any, headers: Headers = ()) -> ApiResponse:
    """Makes a JSON answer."""
    return ApiResponse.of(status, "application/json", encode_json(content), headers)


def encode_json(content: Any) -> bytes:
    """Returns UTF-8 JSON that every parser reads: front matter may hold NaN (becomes null) and half surrogates."""
    try:
        return to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:  # what it refuses, half surrogates and 255 levels, the slower one does not
        plain = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        finite = json.loads(plain, parse_constant=lambda name: None)
        return json.dumps(finite, ensure_ascii=False, separators=(",", ":")).encode()


def entity_tag(*parts: str) -> str:
    """Returns a weak entity tag: two answers with it say the same, `took_ms` apart."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    return f'W/"{digest[:32]}"'


def tag_matches(if_none_match: str | None, tag: str) -> bool:
    """Whether an `If-None-Match` header names the tag (weak comparison)."""
    if not if_none_match:
        return False
    given = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return "*" in given or tag.removeprefix("W/") in given
