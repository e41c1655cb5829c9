"""Writes into a built site: a copy of the index, the files of the search without a server, links to related pages."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from mkdocs_semsearch.artifact.atomic_files import part_of, put_in_place, remove_old_parts, replace_file
from mkdocs_semsearch.artifact.index_folder import (
    OpenIndex,
    manifest_or_none,
    open_index,
    read_manifest,
    remove_builds,
    verify_build,
)
from mkdocs_semsearch.artifact.manifest import MANIFEST, SITE_FOLDER, manifest_to_json
from mkdocs_semsearch.errors import IndexFolderError, IndexWriteError, reason
from mkdocs_semsearch.memory import collecting_only_new
from mkdocs_semsearch.site.pipeline import Settings
from mkdocs_semsearch.theme_files import ASSETS, language_of_texts, theme_dir

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.protocol import Embedder
    from mkdocs_semsearch.embedding.token_table import TokenTable
    from mkdocs_semsearch.static.bundle_writer import BundleReport

MOST_CHUNKS_IN_BROWSER = 15_000
"""Greatest number of chunks for which `static: auto` writes the files; a first query then loads 0.9 MB."""

_LOCK_SECONDS = 60
"""Seconds that a build waits for another one that is writing the same files; chosen, not measured."""


@collecting_only_new()
def publish_search(site_dir: Path, settings: Settings, embedder: Embedder) -> BundleReport | None:
    """Adds to a built site what the options request: a copy of the index, and the files of the search without a server.

    Args:
        site_dir: the site.
        settings: the options; their `index_dir` contains the index of this site.
        embedder: the one that embedded it.

    Returns:
        The report on these files; None if the options or the size of the site exclude them.

    Raises:
        IndexFolderError: the index is not complete, or a file cannot be written.
        EmbeddingError: a sentence could not be embedded.
    """
    if settings.publish_index:
        copy_index(settings.index_dir, site_dir / SITE_FOLDER)
    if not _wants_static(settings):
        return None
    from mkdocs_semsearch.embedding.token_table import fitting_table

    table = fitting_table(open_index(settings.index_dir).manifest.embedder)
    if settings.static.tune:
        from mkdocs_semsearch.static.tuning import tuned_table

        table = tuned_table(settings.index_dir, embedder, base=table, cache_dir=settings.cache_dir)
    return _bundle_from_cache(settings, table, site_dir / SITE_FOLDER)


def _wants_static(settings: Settings) -> bool:
    if settings.static.mode == "auto":
        return read_manifest(settings.index_dir).chunks <= MOST_CHUNKS_IN_BROWSER
    return settings.static.mode == "always"


def _bundle_from_cache(settings: Settings, table: TokenTable | None, target: Path) -> BundleReport:
    """Writes the bundle into the cache, unless the cached one has the same source, and copies it."""
    from filelock import FileLock, Timeout

    from mkdocs_semsearch.static.bundle_writer import copy_bundle, write_bundle

    place = settings.cache_dir / "static-search"
    source, mark = _source_of_bundle(settings.index_dir, table), place / "made-of.txt"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / ".lock", timeout=_LOCK_SECONDS):
            if not mark.is_file() or mark.read_text(encoding="utf-8") != source:
                mark.unlink(missing_ok=True)
                write_bundle(settings.index_dir, place, table, memory=place / "parts.bin")
                mark.write_text(source, encoding="utf-8")
            return copy_bundle(place, target)
    except (OSError, ValueError, KeyError, IndexWriteError, Timeout):
        # The cache or the site cannot be written; in the second case the next call raises the right error.
        with contextlib.suppress(OSError):
            mark.unlink()
        return write_bundle(settings.index_dir, target, table)


def _source_of_bundle(index_dir: Path, table: TokenTable | None) -> str:
    """Returns a hash of everything from which a bundle is made: the index, the table, and the code that writes it."""
    from mkdocs_semsearch.embedding.token_table import shipped_table
    from mkdocs_semsearch.static.bundle_writer import code_digest

    digest = hashlib.sha256(manifest_to_json(replace(read_manifest(index_dir), created="")).encode())
    digest.update(("shipped" if table is shipped_table() else table.fingerprint if table else "none").encode())
    digest.update(code_digest())
    return digest.hexdigest()


def copy_index(index_dir: Path, target: Path) -> None:
    """Copies the current build into a folder that may contain other files; its manifest is copied last, in one step.

    Args:
        index_dir: the index.
        target: the folder, created if necessary; readers see either the previous build or this one.

    Raises:
        IndexFolderError: the index is not complete, or the target cannot be written.
    """
    index = open_index(index_dir)
    try:
        previous = manifest_or_none(target)
        remove_old_parts(target)
        _copy_build(index, target)
        replace_file(target / MANIFEST, manifest_to_json(index.manifest))
        remove_builds(target, keep={index.manifest.build_id, previous.build_id if previous else ""})
    except OSError as error:
        raise IndexWriteError(
            f"The index could not be copied to {target} ({reason(error)}): "
            "make room or allow writing there, then build again."
        ) from error


def _copy_build(index: OpenIndex, target: Path) -> None:
    build_dir = target / index.manifest.build_id

    def is_whole() -> bool:
        with contextlib.suppress(IndexFolderError):
            verify_build(index.manifest, build_dir, hashes=True)
            return True
        return False

    if is_whole():  # it has been copied before
        return
    staging = part_of(target / "build")
    try:
        for file in index.manifest.files:
            (staging / file.path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(index.build_dir / file.path, staging / file.path)
        put_in_place(staging, build_dir, is_whole)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


PLACEHOLDER = "<div data-semsearch-related hidden></div>"
"""Placeholder in a page until the index is built; an element, because plugins that minify pages drop comments."""

_PLACEHOLDER = re.compile(r"<div\b[^>]*\bdata-semsearch-related\b[^>]*>\s*</div>", re.IGNORECASE)


_LANGUAGE = re.compile(r"<html\b[^>]*?\slang=[\"']?([a-z_-]+)", re.IGNORECASE)
_RELATED = {
    "ar": "صفحات ذات صلة",
    "de": "Verwandte Seiten",
    "es": "Páginas relacionadas",
    "fa": "صفحه‌های مرتبط",
    "fr": "Pages associées",
    "he": "דפים קשורים",
    "ja": "関連ページ",
    "ko": "관련 페이지",
    "pt": "Páginas relacionadas",
    "ru": "Похожие страницы",
    "zh": "相关页面",
    "zh-hant": "相關頁面",
}


def write_related_links(site_dir: Path, settings: Settings) -> None:
    """Replaces the placeholders in pages with links to the nearest pages.

    Args:
        site_dir: the built site; only pages with a placeholder are changed.
        settings: the options; their `index_dir` contains the index of this site.

    Raises:
        IndexFolderError: the index is not complete, or a page cannot be written.
    """
    from jinja2 import Environment, FileSystemLoader

    from mkdocs_semsearch.searching.searcher import open_searcher

    folder = theme_dir() / ASSETS
    template = Environment(loader=FileSystemLoader(folder), autoescape=True).get_template("related.html")
    remove_old_parts(site_dir)  # MkDocs keeps hidden files at the top of a site, so they would be published
    with open_searcher(settings.index_dir, store_url=settings.store.url) as searcher:
        for path, url in searcher.page_urls():
            file = site_dir / _file_of(url)
            html = file.read_bytes().decode("utf-8") if file.is_file() else ""  # with its own line endings
            if _PLACEHOLDER.search(html):
                pages = [result.page for result in searcher.related(path, settings.related)]
                links = [{"title": page.title, "url": _relative(page.url, url)} for page in pages]
                title = settings.related_title or _related_title(html)
                block = template.render(title=title, links=links) if links else ""
                _write_page(file, _PLACEHOLDER.sub(lambda match: block, html, count=1))  # noqa: B023


def _write_page(file: Path, html: str) -> None:
    try:
        replace_file(file, html)
    except OSError as error:
        raise IndexWriteError(
            f"{file} could not get its links to related pages ({reason(error)}): "
            "make room or allow writing there, then build again."
        ) from error


def _related_title(html: str) -> str:
    """Returns the title of the links in the language that a page names, in English if there is no translation."""
    found = _LANGUAGE.search(html)
    return _RELATED.get(language_of_texts(found[1]) if found else "", "Related pages")


def _file_of(url: str) -> str:
    path = unquote(urlsplit(url).path)
    return f"{path}index.html" if path.endswith("/") or not path else path


def _relative(url: str, base: str) -> str:
    """Returns the URL of a page relative to another page; both are relative to the site root."""
    start = base if base.endswith("/") or not base else posixpath.dirname(base)
    relative = posixpath.relpath(url or ".", start or ".")
    return f"{relative}/" if url.endswith("/") or not url else relative
