"""Indexes a site that a generator has already built."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mkdocs_semsearch.chunking.document import Document
from mkdocs_semsearch.chunking.front_matter import read_front_matter, unreadable
from mkdocs_semsearch.chunking.inline_text import plain_title, title_of_index, title_of_name
from mkdocs_semsearch.chunking.main_content import NoPage, RenderedPage, read_rendered_page
from mkdocs_semsearch.chunking.page_role import split_version, unlisted_pages, version_order
from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.lexical.languages import LANGUAGES, primary_subtag
from mkdocs_semsearch.site import widget_files
from mkdocs_semsearch.site.pipeline import (
    Settings,
    Site,
    SiteReport,
    index_site,
    open_configured_embedder,
    unmatched_globs,
)
from mkdocs_semsearch.site.publishing import publish_search
from mkdocs_semsearch.site.shared_title import name_in_titles
from mkdocs_semsearch.site.source_files import MARKDOWN_SUFFIXES, PageDates, SiteConfig
from mkdocs_semsearch.site.widget_files import publish_assets, write_results_page
from mkdocs_semsearch.theme_files import ASSETS, theme_dir

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.protocol import Progress


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
    pages = tuple(source)
    if not pages:
        raise ConfigurationError(
            f"{site_dir} has no pages, and nothing was written: name the folder with the HTML of the built site."
        )
    site = source.site()
    documents = tuple(page for page in pages if not any(fnmatchcase(page.path, glob) for glob in settings.exclude))
    embedder = open_configured_embedder(settings.embedder)
    report = index_site(documents, site=site, settings=settings, embedder=embedder, progress=progress)
    written = publish_search(site_dir, settings, embedder)
    complaints: tuple[str, ...] = ()
    if widget:
        folder = config.docs_dir / ASSETS if config else None
        own, complaints = _own_config(folder)
        _copy_widget(site_dir, settings, site, own=folder, own_config=own)
        if written is None and settings.static.mode == "auto":
            widget_files.withdraw_static(site_dir)
        widget_files.add_languages(site_dir, report.languages, report.facets, own=own)
    unmatched = (f"{complaint}." for complaint in unmatched_globs(settings, [page.path for page in pages]))
    warnings = (*complaints, *unmatched, *source.warnings(), *report.content_warnings)
    return replace(report, content_warnings=warnings, left_out=source.left_out())


def _own_config(folder: Path | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the keys of the site's own `config.json`, and what is wrong with it."""
    file = folder / "config.json" if folder else None
    if file is None or not file.is_file():
        return {}, ()
    try:
        return widget_files.own_config(file.read_bytes(), str(file)), ()
    except ConfigurationError as error:
        return {}, (str(error),)


def _copy_widget(
    site_dir: Path, settings: Settings, site: Site, *, own: Path | None, own_config: Mapping[str, Any]
) -> None:
    """Copies the widget into a site.

    Args:
        site_dir: folder of the built site.
        settings: the options.
        site: the site.
        own: folder with the site's own files, which replace ours.
        own_config: keys of its own `config.json`.
    """
    source = theme_dir() / ASSETS

    templates = shutil.ignore_patterns("*.html")  # they would be treated as pages of the site

    def kept(folder: str, names: list[str]) -> set[str]:
        if own is None:
            return templates(folder, names)
        place = Path(folder).relative_to(source)
        # The site may exclude a file of the docs folder.
        theirs = [name for name in names if all((top / place / name).is_file() for top in (own, site_dir / ASSETS))]
        return {*templates(folder, names), *theirs}

    shutil.copytree(source, site_dir / ASSETS, dirs_exist_ok=True, ignore=kept)
    publish_assets(site_dir / ASSETS, source)
    results_page = settings.widget.results_page and write_results_page(
        site_dir, settings, language=site.language, site_name=site.name or site_dir.resolve().name
    )
    config = widget_files.widget_config(
        settings,
        language=site.language,
        version=widget_files.site_version(),
        results_page=results_page,
        site_url=site.url,
        folders=[site_dir],
        own=own_config,
    )
    (site_dir / widget_files.CONFIG).write_text(config, encoding="utf-8")


_NO_PAGES = ("404.html", "search.html")
_INDEXES = re.compile(
    r"(?:.*/)?(?:genindex(?:-[^/]*)?|(?:[^/]*-)?modindex)(?:/index)?\.html|(?:.*/)?_(?:modules|static)/.*"
)
"""Files of Sphinx that are not pages: lists of terms and modules, highlighted source code, files of the theme."""
_LISTERS = ("astro", "docusaurus", "eleventy", "gatsby", "hexo", "hugo", "jekyll", "pelican", "zola")
_LIST_PLACE = re.compile(
    r"(?:[a-z]{2}(?:-[a-z]+)?/)?(?:(?:blog|news|posts?)/)?(?:archives?|authors?|categor(?:y|ies)|series|tags?)(?:/|\.html)"
    r"|(?:.*/)?page/\d+/"
)
"""Paths under which generators list pages that exist elsewhere."""
_NEXT_OF_PELICAN = re.compile(r"(?:.*/)?index\d+\.html")
"""Further parts of Pelican's list of posts, after `index.html`."""
_TITLE_SEPARATOR = re.compile(r"\s+[-–—|·•:]\s+")


class SiteFolder:
    """A `DocumentSource` over a folder with a built site: MkDocs, ProperDocs, Zensical, or plain HTML.

    With the generator's configuration, pages are mapped to their Markdown files, from which they get their paths, front
    matter, source lines and places in the navigation. The chunks equal those of the plugin for the same site, with two
    exceptions:

    - pages that other plugins write or move (blog posts, translations, gen-files) have the path of their HTML file
        and no front matter; navigation that a plugin generates is unknown; with `not_in_nav`, no page has the kind
        `unlisted`; Material's `meta` plugin is not applied;
    - Material removes `data-search-exclude` with a value from its output, Zensical also without one. On headings it
      is read from the Markdown source; on other blocks it is lost.
    """

    def __init__(self, site_dir: Path, config: SiteConfig | None = None) -> None:
        """Opens a site.

        Raises:
            ConfigurationError: the folder does not exist.
        """
        if not site_dir.is_dir():
            raise ConfigurationError(f"There is no site folder {site_dir}: build the site first, or name another one.")
        self._site_dir = site_dir
        self._config = config
        self._dates = PageDates(config.docs_dir) if config else None
        self._unlisted: frozenset[str] = frozenset()
        self._problems: dict[str, str] = {}
        self._left_out: dict[str, str] = {}
        self._home: RenderedPage | None = None
        self._titles: list[str] = []
        self._languages: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Document]:
        """Yields the pages in the order of the navigation, then of the paths."""
        sources = _source_files(self._config) if self._config else {}
        self._unlisted = self._left_out_of_navigation(frozenset(sources.values()))
        written: dict[tuple[str, str], str] = {}
        self._home = self._read_home()
        # In many Hugo themes only the home page names the generator.
        generator = self._home.generator if self._home else ""
        self._titles = []
        self._languages.clear()
        found = (file for file in self._site_dir.rglob("*.html") if file.is_file())
        files = (file.relative_to(self._site_dir).as_posix() for file in found)
        for path in sorted(files, key=lambda path: self._position(path, sources)):
            page = self._rendered(path) if path in sources else self._page_without_source(path, generator, written)
            if isinstance(page, NoPage):
                self._left_out[_printable(path)] = page.reason
                continue
            self._titles.append(page.head_title)
            self._languages[_known_language(page)] += 1
            yield self._document(path, sources.get(path), page)

    def _rendered(self, path: str) -> RenderedPage | NoPage:
        return read_rendered_page((self._site_dir / path).read_bytes().decode("utf-8", "replace"))

    def _page_without_source(
        self, path: str, generator: str, written: dict[tuple[str, str], str]
    ) -> RenderedPage | NoPage:
        """Reads an HTML file that was not made from a Markdown file; it may also repeat what other pages show."""
        if reason := self._why_no_page(path):
            return NoPage(reason)
        page = self._rendered(path)
        if isinstance(page, NoPage):
            return page
        reason = _why_repeated(path, page, generator) or _same_page(path, page, written)
        if not reason and self._is_untranslated(path, page):
            reason = "not translated"
        return NoPage(reason) if reason else page

    def _is_untranslated(self, path: str, page: RenderedPage) -> bool:
        """Returns whether a page in a language's folder repeats that of another language, as Starlight writes it."""
        stated, shown = primary_subtag(page.language or ""), primary_subtag(page.content_language or "")
        folder, slash, rest = path.partition("/")
        if not shown or shown == stated or not slash or primary_subtag(folder) != stated:
            return False
        return any((self._site_dir / place).is_file() for place in (rest, f"{page.content_language}/{rest}"))

    def _left_out_of_navigation(self, paths: Set[str]) -> frozenset[str]:
        """Returns `unlisted_pages`; none if a plugin completes or translates the navigation."""
        config = self._config
        if config is None or config.nav is None or config.is_translated:
            return frozenset()
        if not all(entry in paths or ":" in entry for entry in config.nav):  # an address has a colon
            return frozenset()
        return unlisted_pages(paths, set(filter(config.navigation_test(), paths)))

    def _read_home(self) -> RenderedPage | None:
        page = self._rendered("index.html") if (self._site_dir / "index.html").is_file() else None
        return page if isinstance(page, RenderedPage) else None

    def site(self) -> Site:
        """Returns the site as its configuration describes it, else as its pages do; call it after iterating over them.

        The name of the folder, such as `public`, is not used, because the name of a site counts in the ranking.
        """
        if self._config is not None:
            return Site(self._config.site_name, self._config.site_url, self._config.language, self._config.edit_url)
        name = self._home.site_name if self._home else ""
        languages = [language for language, _ in self._languages.most_common() if language]
        language = _known_language(self._home) if self._home else ""
        return Site(name or name_in_titles(self._titles), "", language or next(iter(languages), "en"))

    def warnings(self) -> tuple[str, ...]:
        """Returns one sentence for each file whose front matter could not be read, once the pages have been read."""
        return tuple(self._problems[path] for path in sorted(self._problems))

    def left_out(self) -> Mapping[str, str]:
        """Returns the HTML files that are not pages, each with the reason; call it after iterating over the pages."""
        return dict(self._left_out)

    def _position(self, path: str, sources: Mapping[str, str]) -> tuple[Any, ...]:
        source = sources.get(path)
        entry = self._config.nav_entry(source) if self._config and source else None
        *folders, name = (source or path).split("/")
        is_index = name.partition(".")[0] in ("index", "README")
        # The order of MkDocs: the files of a folder before its folders, the index first. The newest of several versions
        # comes first, because results show that one.
        version = version_order("" if source else split_version(path)[0])
        place = [(1, folder) for folder in folders]
        return (entry is None, entry.position if entry else 0, version, place, not is_index, name)

    def _why_no_page(self, path: str) -> str | None:
        if _printable(path) != path:
            return "its name is not UTF-8"
        if any(part.startswith(".") for part in path.split("/")):
            return "hidden folder"
        if path.rpartition("/")[2] in _NO_PAGES:
            return "error or search page"
        if _INDEXES.fullmatch(path):
            return "list of terms, or source code"
        if self._config is not None and (self._config.docs_dir / path).is_file():
            return "copied from the docs folder, not rendered"
        return None

    def _document(self, path: str, source_path: str | None, page: RenderedPage) -> Document:
        file = self._site_dir / path
        if self._config is None or source_path is None:
            return Document(
                path=path,
                url=_url(path, directory_urls=self._config is None or self._config.use_directory_urls),
                title=page.heading or self._title_of_head(page.head_title) or page.first_h1 or path,
                html=page.content,
                file_size=file.stat().st_size,
                language=page.language,
                alternates=page.alternates,
                translation_key=page.translation_key,
            )
        file = self._config.docs_dir / source_path
        source = _read_source(file)
        header = read_front_matter(source or "")
        if header.problem:
            self._problems[source_path] = unreadable(source_path, header)
        entry = self._config.nav_entry(source_path)
        nav_title = entry.title if entry else None
        breadcrumbs = tuple(filter(None, map(plain_title, entry.sections if entry else ())))
        title = plain_title(nav_title) or _title(header.values, page, source_path)
        return Document(
            path=source_path,
            url=_url(path, directory_urls=self._config.use_directory_urls),
            title=title,
            html=_without_added_h1(page.content, title),
            front_matter={key: value for key, value in header.values.items() if not str(key).startswith("__")},
            source=source,
            file_size=file.stat().st_size,
            section=breadcrumbs[0] if breadcrumbs else None,
            breadcrumbs=breadcrumbs,
            listed=source_path not in self._unlisted,
            language=page.language,
            alternates=page.alternates,
            translation_key=page.translation_key,
            committed=self._dates.committed(file) if self._dates else None,
            written=self._dates.written(file) if self._dates else None,
        )

    def _title_of_head(self, title: str) -> str:
        """Returns `<title>` without the name of the site at its end."""
        site_name = self._config.site_name if self._config else ""
        if site_name and title.endswith(site_name) and title != site_name:
            return title.removesuffix(site_name).rstrip(" -–—|·•:")
        parts = _TITLE_SEPARATOR.split(title)
        return parts[0] if len(parts) == 2 else title


def _without_added_h1(content: str, title: str) -> str:
    """Removes the h1 that Material adds to a page without one: the title from MkDocs, `Index` for an index page.

    It is not in the Markdown file. A later heading with the same text would be taken for it, and give it its lines.
    """
    start = content.find("<h1")
    for text in (title, "Index"):
        added = f"<h1>{escape(text, quote=False)}</h1>"
        if start >= 0 and content.startswith(added, start):
            return content[:start] + content[start + len(added) :]
    return content


def _known_language(page: RenderedPage) -> str:
    language = page.language or ""
    return language if primary_subtag(language) in LANGUAGES else ""


def _why_repeated(path: str, page: RenderedPage, generator: str) -> str | None:
    """Returns why a page repeats what other pages show, or None.

    Args:
        path: path of the file.
        page: the page in that file.
        generator: generator of the site, for pages that do not name theirs.
    """
    writer = (page.generator or generator).lower()
    is_list = writer.startswith(_LISTERS) and _LIST_PLACE.match(path)
    is_next = writer.startswith("pelican") and _NEXT_OF_PELICAN.fullmatch(path)
    return "list of other pages" if page.repeats or is_list or is_next else None


def _same_page(path: str, page: RenderedPage, written: dict[tuple[str, str], str]) -> str | None:
    """Returns why a page is a second copy, such as the first chapter that mdBook also writes as `index.html`."""
    other = written.setdefault((path.rpartition("/")[0], page.content.strip()), path)
    return f"the same as {other}" if other != path and page.content.strip() else None


def _source_files(config: SiteConfig) -> dict[str, str]:
    """Returns HTML path to source path of every Markdown file."""
    found: dict[str, str] = {}
    for file in sorted(_files_below(config.docs_dir)):
        if file.suffix in MARKDOWN_SUFFIXES and file.is_file():
            source_path = file.relative_to(config.docs_dir).as_posix()
            html_path = config.html_path(source_path)
            # Beside an index.md a README.md is not rendered.
            if html_path not in found or file.stem == "index":
                found[html_path] = source_path
    return found


def _files_below(top: Path) -> Iterator[Path]:
    """Yields the files of a folder and, like MkDocs, of linked folders, except those that contain the link."""
    for name, folders, files in os.walk(top, followlinks=True):
        folder = Path(name)
        folders[:] = [sub for sub in folders if not _leads_around(folder / sub)]
        yield from (folder / file for file in files)


def _leads_around(path: Path) -> bool:
    """Returns whether a path is a link to a folder that contains the link."""
    return path.is_symlink() and path.parent.resolve().is_relative_to(path.resolve())


def _printable(path: str) -> str:
    """Returns a path without the bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _url(path: str, *, directory_urls: bool) -> str:
    if directory_urls and (path == "index.html" or path.endswith("/index.html")):
        path = path.removesuffix("index.html")
    return quote(path)


def _title(front_matter: Mapping[Any, Any], page: RenderedPage, source_path: str) -> str:
    """Returns the title that MkDocs would choose: front matter, the first h1, or the name of the file."""
    if (title := plain_title(front_matter.get("title"))) or (title := page.leading_h1 or ""):
        return title
    folder, _, name = source_path.rpartition("/")
    stem = "index" if name.startswith("README.") else name.rpartition(".")[0]
    if stem != "index":
        return title_of_name(stem)
    return title_of_index(folder, page.heading)


def _read_source(file: Path) -> str | None:
    """Returns the text of a source as MkDocs reads it, or None for a file that is not UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return None
