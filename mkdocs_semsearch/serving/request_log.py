"""Request logging: one line per request, as text or JSON, with the id of the request."""

from __future__ import annotations

import datetime
import json
import logging
import re
import uuid
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

__all__ = ["REQUEST_ID", "JsonFormatter", "accepted_request_id"]

REQUEST_ID: ContextVar[str | None] = ContextVar("semsearch_request_id", default=None)
"""Id of the request of the current context; worker threads inherit it."""

_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")


def accepted_request_id(given: str | None) -> str:
    """Returns the request id from a proxy if it is safe to log, else a new one."""
    return given if given and _ACCEPTED.fullmatch(given) else uuid.uuid4().hex


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: time, level, message, the id of the request, and what `extra` adds.

    Line breaks in a message are escaped.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line."""
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if (request_id := REQUEST_ID.get()) is not None:
            line["request_id"] = request_id
        details: Mapping[str, Any] = getattr(record, "details", {})
        line |= details
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)
