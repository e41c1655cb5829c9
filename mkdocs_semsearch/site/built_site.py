"""Indexes a site that some generator has already built."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mkdocs_semsearch.chunking.document import Document
from mkdocs_semsearch.chunking.html.inline_text import plain_title, title_of_name
from mkdocs_semsearch.chunking.html.main_content import RenderedPage, read_rendered_page
from mkdocs_semsearch.chunking.source.front_matter import read_front_matter
from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.site import widget_files
from mkdocs_semsearch.site.build_settings import Settings
from mkdocs_semsearch.site.pipeline import Site, SiteReport, index_site, open_configured_embedder
from mkdocs_semsearch.site.publishing import publish_search
from mkdocs_semsearch.site.site_config import MARKDOWN_SUFFIXES, SiteConfig
from mkdocs_semsearch.site.widget_files import write_results_page

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.protocol import Progress

__all__ = [
    "SiteFolder",
    "index_built_site",
]


def index_built_site(
    site_dir: Path,
    settings: Settings,
    config: SiteConfig | None = None,
    *,
    widget: bool = False,
    progress: Progress | None = None,
) -> SiteReport:
    """Indexes a folder of HTML pages.

    Args:
        site_dir: the built site.
        settings: the options.
        config: the generator's configuration, for front matter and source lines.
        widget: also copy the search box into the site, for generators that run no plugins.
        progress: called while texts are being embedded.

    Raises:
        SemsearchError: the site or an option cannot be used; the previous index is untouched.
    """
    source = SiteFolder(site_dir, config)
    site = (
        Site(config.site_name, config.site_url, config.language) if config else Site(site_dir.resolve().name, "", "en")
    )
    documents = tuple(page for page in source if not any(fnmatchcase(page.path, glob) for glob in settings.exclude))
    embedder = open_configured_embedder(settings.embedder)
    report = index_site(documents, site=site, settings=settings, embedder=embedder, progress=progress)
    written = publish_search(site_dir, settings, embedder)
    if widget:
        _copy_widget(site_dir, settings, site)
        if written is None and settings.static.mode == "auto":
            widget_files.withdraw_static(site_dir)
    return replace(report, misfits=(*source.misfits(), *report.misfits))


def _copy_widget(site_dir: Path, settings: Settings, site: Site) -> None:
    templates = shutil.ignore_patterns("*.html")  # they would be taken for pages of the site
    source = widget_files.theme_dir() / widget_files.ASSETS
    shutil.copytree(source, site_dir / widget_files.ASSETS, dirs_exist_ok=True, ignore=templates)
    results_page = settings.widget.results_page and write_results_page(
        site_dir, settings, language=site.language, site_name=site.name
    )
    config = widget_files.widget_config(
        settings,
        language=site.language,
        version=widget_files.site_version(os.environ),
        results_page=results_page,
    )
    (site_dir / widget_files.CONFIG).write_text(config, encoding="utf-8")


_NO_PAGES = ("404.html", "search.html")
_TITLE_SEPARATOR = re.compile(r"\s+[-–—|·•:]\s+")


class SiteFolder:
    """A `DocumentSource` over a folder with a built site: MkDocs, ProperDocs, Zensical, or plain HTML.

    With the generator's configuration pages are mapped back to their Markdown files, which gives them their paths,
    front matter, source lines and place in the navigation. The chunks are those that the plugin makes of the same site,
    but for what only a plugin can know:

    - pages that other plugins write or move (blog posts, translations, gen-files) have the path of their HTML file
      and no front matter; a navigation made by a plugin is not known; Material's `meta` plugin is not applied;
    - Material removes `data-search-exclude` with a value from its output, Zensical without one too. On headings it is
      found in the Markdown source; on other blocks it is lost.
    """

    def __init__(self, site_dir: Path, config: SiteConfig | None = None) -> None:
        """Opens a site.

        Args:
            site_dir: the folder with the site's `index.html`.
            config: the generator's configuration, if there is one.

        Raises:
            ConfigurationError: there is no such folder.
        """
        if not site_dir.is_dir():
            raise ConfigurationError(f"There is no site folder {site_dir}: build the site first, or name another one.")
        self._site_dir = site_dir
        self._config = config
        self._problems: dict[str, str] = {}

    def __iter__(self) -> Iterator[Document]:
        """Yields the pages in the order of the navigation, then of the paths."""
        sources = _source_files(self._config) if self._config else {}
        files = (file.relative_to(self._site_dir).as_posix() for file in self._site_dir.rglob("*.html"))
        for path in sorted(files, key=lambda path: self._position(path, sources)):
            if not self._is_page(path, sources):
                continue
            page = read_rendered_page((self._site_dir / path).read_bytes().decode("utf-8", "replace"))
            if page is not None and (path in sources or not page.repeats):
                yield self._document(path, sources.get(path), page)

    def misfits(self) -> tuple[str, ...]:
        """Returns one sentence for each file whose front matter could not be read, once the pages have been read."""
        return tuple(
            f"The front matter of {path} cannot be read and is left out: {reason}"
            for path, reason in sorted(self._problems.items())
        )

    def _position(self, path: str, sources: Mapping[str, str]) -> tuple[Any, ...]:
        source = sources.get(path)
        entry = self._config.nav_entry(source) if self._config and source else None
        *folders, name = (source or path).split("/")
        is_index = name.partition(".")[0] in ("index", "README")
        # As MkDocs walks: the files of a folder before its folders, the index first.
        return (entry is None, entry.position if entry else 0, [(1, folder) for folder in folders], not is_index, name)

    def _is_page(self, path: str, sources: Mapping[str, str]) -> bool:
        if path in sources:
            return True
        if any(part.startswith(".") for part in path.split("/")) or path.rpartition("/")[2] in _NO_PAGES:
            return False
        # A file that lies in the docs folder as it is was copied, not rendered.
        return self._config is None or not (self._config.docs_dir / path).is_file()

    def _document(self, path: str, source_path: str | None, page: RenderedPage) -> Document:
        file = self._site_dir / path
        if self._config is None or source_path is None:
            return Document(
                path=path,
                url=_url(path, directory_urls=self._config is None or self._config.use_directory_urls),
                title=page.first_h1 or self._title_of_head(page.head_title) or path,
                html=page.content,
                file_size=file.stat().st_size,
                language=page.language,
            )
        file = self._config.docs_dir / source_path
        source = _read_source(file)
        header = read_front_matter(source or "")
        if header.problem:
            self._problems[source_path] = header.problem
        entry = self._config.nav_entry(source_path)
        nav_title = entry.title if entry else None
        return Document(
            path=source_path,
            url=_url(path, directory_urls=self._config.use_directory_urls),
            title=plain_title(nav_title) or _title(header.values, page, source_path),
            html=page.content,
            front_matter={key: value for key, value in header.values.items() if not str(key).startswith("__")},
            source=source,
            file_size=file.stat().st_size,
            section=plain_title(entry.section) or None if entry else None,
            language=page.language,
        )

    def _title_of_head(self, title: str) -> str:
        """`<title>` without the name of the site at its end."""
        site_name = self._config.site_name if self._config else ""
        if site_name and title.endswith(site_name) and title != site_name:
            return title.removesuffix(site_name).rstrip(" -–—|·•:")
        parts = _TITLE_SEPARATOR.split(title)
        return parts[0] if len(parts) == 2 else title


def _source_files(config: SiteConfig) -> dict[str, str]:
    """HTML path to source path of every Markdown file."""
    found: dict[str, str] = {}
    for file in sorted(config.docs_dir.rglob("*")):
        if file.suffix in MARKDOWN_SUFFIXES and file.is_file():
            source_path = file.relative_to(config.docs_dir).as_posix()
            html_path = config.html_path(source_path)
            # Beside an index.md a README.md is not rendered.
            if html_path not in found or file.stem == "index":
                found[html_path] = source_path
    return found


def _url(path: str, *, directory_urls: bool) -> str:
    if directory_urls and (path == "index.html" or path.endswith("/index.html")):
        path = path.removesuffix("index.html")
    return quote(path)


def _title(front_matter: Mapping[Any, Any], page: RenderedPage, source_path: str) -> str:
    """The title as MkDocs finds it: front matter, the h1 that the page starts with, the name of the file."""
    if (title := plain_title(front_matter.get("title"))) or (title := page.leading_h1 or ""):
        return title
    folder, _, name = source_path.rpartition("/")
    stem = "index" if name.startswith("README.") else name.rpartition(".")[0]
    return "Home" if stem == "index" and not folder else title_of_name(stem)


def _read_source(file: Path) -> str | None:
    """Text of a source as MkDocs reads it, or None for what is not UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return None
