"""Which pages a site's own texts link to, and with which words."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from mkdocs_semsearch.chunking.document import ChunkedPage

__all__ = ["with_inbound_links"]

MAX_TEXTS = 50
"""A page that everything links to says no more about itself with a thousand texts."""


def with_inbound_links(pages: Sequence[ChunkedPage], site_url: str = "") -> list[ChunkedPage]:
    """Returns the pages with `inbound_links` and `link_texts` filled in from each other's `links`.

    Args:
        pages: of the site.
        site_url: of the site; its path is what addresses that begin with a slash are relative to.
    """
    base = unquote(urlsplit(site_url).path).strip("/")
    by_place = {_place(unquote(page.url)): number for number, page in enumerate(pages)}
    texts: list[Counter[str]] = [Counter() for _ in pages]
    linking = [0] * len(pages)
    for number, page in enumerate(pages):
        folder = posixpath.dirname(unquote(page.url))
        targets = ((by_place.get(_target(link.href, folder, base)), link.text) for link in page.links)
        found = {(target, text) for target, text in targets if target is not None and target != number}
        for target in {target for target, _ in found}:
            linking[target] += 1
        for target, text in found:
            texts[target][text] += 1
    return [
        replace(page, inbound_links=count, link_texts=_most_frequent(counted))
        for page, count, counted in zip(pages, linking, texts, strict=True)
    ]


def _most_frequent(texts: Counter[str]) -> tuple[str, ...]:
    """Texts by how many pages use them, equal ones by the alphabet, so that two builds agree."""
    return tuple(sorted(texts, key=lambda text: (-texts[text], text))[:MAX_TEXTS])


def _target(href: str, folder: str, base: str) -> str:
    try:
        path = unquote(urlsplit(href).path)
    except ValueError:  # what a browser could not follow either
        return "\0"
    if path.startswith("/"):
        return _place(posixpath.relpath(f"/{path.strip('/')}", f"/{base}"))
    return _place(posixpath.normpath(posixpath.join(folder, path)))


def _place(path: str) -> str:
    """The same text for every address of a page: `guide/`, `guide`, `guide/index.html`, `./guide/`."""
    place = path.removesuffix("index.html").strip("/")
    return "" if place == "." else place
