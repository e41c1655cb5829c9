"""Links to related pages, written into the pages of a build: no server and no JavaScript needed."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mkdocs_semsearch.site import widget_files
from mkdocs_semsearch.site.build_settings import Settings

__all__ = ["PLACEHOLDER", "write_related_links"]

PLACEHOLDER = "<div data-semsearch-related hidden></div>"
"""What stands in a page until the index is built; an element, because plugins that shrink pages drop comments."""

_PLACEHOLDER = re.compile(r"<div\b[^>]*\bdata-semsearch-related\b[^>]*>\s*</div>", re.IGNORECASE)


def write_related_links(site_dir: Path, settings: Settings) -> None:
    """Puts links to the nearest pages where the placeholders are.

    Args:
        site_dir: the built site; only pages that hold a placeholder are touched.
        settings: the options; their `index_dir` holds the index that was built from it.

    Raises:
        IndexFolderError: there is no whole index.
    """
    from jinja2 import Environment, FileSystemLoader

    from mkdocs_semsearch.searching.searcher import open_searcher

    folder = widget_files.theme_dir() / widget_files.ASSETS
    template = Environment(loader=FileSystemLoader(folder), autoescape=True).get_template("related.html")
    with open_searcher(settings.index_dir, store_url=settings.store.url) as searcher:
        for path, url in searcher.page_urls():
            file = site_dir / _file_of(url)
            html = file.read_text(encoding="utf-8") if file.is_file() else ""
            if _PLACEHOLDER.search(html):
                pages = [result.page for result in searcher.related(path, settings.related)]
                links = [{"title": page.title, "url": _relative(page.url, url)} for page in pages]
                block = template.render(title=settings.related_title, links=links) if links else ""
                _replace(file, _PLACEHOLDER.sub(lambda match: block, html, count=1))  # noqa: B023


def _file_of(url: str) -> str:
    path = unquote(urlsplit(url).path)
    return f"{path}index.html" if path.endswith("/") or not path else path


def _relative(url: str, base: str) -> str:
    """Address of a page as seen from another, both relative to the site root."""
    start = base if base.endswith("/") or not base else posixpath.dirname(base)
    relative = posixpath.relpath(url or ".", start or ".")
    return f"{relative}/" if url.endswith("/") or not url else relative


def _replace(file: Path, text: str) -> None:
    part = file.with_name(f".{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
