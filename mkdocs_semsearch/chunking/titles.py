"""Titles of pages, whatever they come from: the navigation, front matter, a heading or a file name."""

from __future__ import annotations

import html
import re

__all__ = ["plain_title", "title_of_name"]

_TAG = re.compile(r"</?(?:a|abbr|b|br|code|em|i|img|kbd|mark|small|span|strong|sub|sup|svg|path|wbr)\b[^>]*>", re.I)


def plain_title(title: object) -> str:
    """Returns a title of any type as text, without inline markup and entities; `Vec<T>` is no markup and stays."""
    return "" if title is None else " ".join(html.unescape(_TAG.sub("", str(title))).split())


def title_of_name(name: str) -> str:
    """Returns the title that MkDocs gives a folder or file: `getting-started` → `Getting started`."""
    title = name.replace("-", " ").replace("_", " ").strip()
    return title.capitalize() if title.lower() == title else title
