"""Collects pages from the build events of MkDocs and ProperDocs."""

from __future__ import annotations

import filecmp
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mkdocs.plugins import get_plugin_logger

from mkdocs_semsearch.chunking.blocks import Block, Heading, without_code_marks
from mkdocs_semsearch.chunking.document import Document
from mkdocs_semsearch.chunking.front_matter import read_front_matter, unreadable
from mkdocs_semsearch.chunking.inline_text import flat_text, plain_title, title_of_index, title_of_name
from mkdocs_semsearch.chunking.main_content import RenderedPage, read_alternates, read_rendered_page
from mkdocs_semsearch.chunking.page_reader import parse_html, read_page
from mkdocs_semsearch.chunking.page_role import unlisted_pages
from mkdocs_semsearch.site.source_files import PageDates

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File, Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

log = get_plugin_logger("semsearch")

_MARKER = re.compile(r"^\s*(?:[-:] |\d+\. )(?:\[[ x]\] )?|\|", re.MULTILINE)
"""Markers of items, definitions and tasks, and the bars of tables, which the text of a page does not have."""

REPEATING_PLUGINS = ("material/blog",)
"""Plugins whose generated pages (views, archives) repeat the text of other pages."""


class MkDocsPages:
    """A `DocumentSource` that the build events fill.

    A build calls `begin`, then `read_navigation` for each language, then `read_source`, `collect` and `read_output` for
    every page, then `finish`. A page is identified by its output file, so a build that renders only modified pages
    replaces only these.
    """

    def __init__(self) -> None:
        self._exclude: tuple[str, ...] = ()
        self._source_paths: set[str] = set()
        self._dates: dict[str, PageDates] = {}  # by folder; git runs once, not for every rebuild
        self._documents: dict[str, Document] = {}
        self._sources: dict[str, str] = {}
        self._problems: dict[str, str] = {}
        self._positions: dict[str, int] = {}
        self._expected: set[str] = set()
        self._in_navigation: set[str] = set()
        self._trails: dict[str, tuple[str, ...]] = {}
        self._unlisted: frozenset[str] = frozenset()
        self._seen: set[str] = set()

    def __iter__(self) -> Iterator[Document]:
        """Yields the pages in the order of the navigation, then those outside of it."""
        last = len(self._positions)
        for key in sorted(self._documents, key=lambda key: self._positions.get(key, last)):
            yield self._documents[key]

    def begin(self, exclude: Sequence[str] = (), *, keep: bool = False) -> None:
        """Starts a build.

        Args:
            exclude: globs on source paths.
            keep: keep the pages of the last build, because a dirty build renders only modified ones.
        """
        self._exclude = tuple(exclude)
        self._source_paths.clear()
        if not keep:
            self._documents.clear()
            self._problems.clear()
            self._seen.clear()
        self._sources.clear()
        self._positions.clear()
        self._expected.clear()
        self._in_navigation.clear()
        self._trails.clear()
        self._unlisted = frozenset()

    def read_navigation(self, nav: Navigation, files: Files, *, preview: bool) -> None:
        """Reads which pages exist and their order from the navigation; drafts count only in a preview."""
        meant = [file for file in files.documentation_pages() if file.inclusion.is_not_in_nav()]  # type: ignore[no-untyped-call]
        for file in (*(page.file for page in nav.pages), *meant):
            self._in_navigation.update((file.src_uri, file.dest_uri))
        for page in nav.pages:
            self._positions.setdefault(page.file.dest_uri, len(self._positions))
        self._trails.update(_trails(nav.items))
        paths = [file.src_uri for file in files.documentation_pages()]
        self._source_paths.update(paths)
        self._unlisted |= unlisted_pages(paths, self._in_navigation)
        inclusion = (lambda level: level.is_in_serve()) if preview else (lambda level: level.is_included())
        self._expected.update(file.dest_uri for file in files.documentation_pages(inclusion=inclusion))

    def in_navigation(self, path: str) -> bool:
        """Returns whether a page is in the navigation or matched by `not_in_nav`."""
        return path in self._in_navigation

    def read_source(self, markdown: str, page: Page, config: MkDocsConfig) -> None:
        """Stores the source text of a page before any plugin edits it, if line numbers can refer to it."""
        file, key = page.file, page.file.dest_uri
        # Line numbers in the JSON of a notebook would be useless.
        if file.src_uri.endswith(".ipynb") or not _has_source(file, config):
            return
        try:
            source = file.content_string
        except (OSError, ValueError):  # another plugin reads the page, from somewhere else
            return
        if source.endswith(markdown):  # otherwise that plugin made something else from it
            self._sources[key] = source
        self._problems.pop(key, None)
        # MkDocs silently treats front matter that it cannot read as text of the page.
        if not page.meta and source.startswith("---") and (header := read_front_matter(source)).problem:
            self._problems[key] = unreadable(file.src_uri, header)

    def preliminary(self, page: Page, html: str, config: MkDocsConfig) -> Document | None:
        """Returns a page of which only the Markdown has been rendered, or None if it is left out of the search.

        Its chunks are already the final ones, unless a plugin changes the HTML once more.
        """
        if self._why_left_out(page, {}, config):
            return None
        return replace(self._document(page, config, dates=None), html=html)

    def collect(self, page: Page, context: Mapping[str, Any], config: MkDocsConfig) -> None:
        """Collects a page just before it is rendered with the theme's template."""
        key = page.file.dest_uri
        self._seen.add(key)
        self._documents.pop(key, None)
        if reason := self._why_left_out(page, context, config):
            log.debug(f"{page.file.src_uri} is left out of the search: {reason}")
            return
        self._documents[key] = self._document(page, config, dates=self._dates_of(page.file, config))

    def read_output(self, page: Page, output: str) -> None:
        """Reads links to translations from the output, and the visible text if the output lacks most of the page.

        The page's template may omit its Markdown, or a plugin may have hidden the text since it was collected.
        """
        key = page.file.dest_uri
        document = self._documents.get(key)
        if document is None:
            return
        alternates = read_alternates(output)
        if alternates:
            document = self._documents[key] = replace(document, alternates=alternates)
        is_filled_by_template = page.meta.get("template") and not document.html.strip()
        if document.html in output and not is_filled_by_template:
            return
        body = " ".join(flat_text(parse_html(output)).replace("|", " ").split())
        # Headings may be in a table of contents although the page itself does not show them.
        blocks = [item for item in read_page(document.html) if isinstance(item, Block)]
        own = [" ".join(_MARKER.sub(" ", without_code_marks(block.text)).split()) for block in blocks]
        if not is_filled_by_template and 2 * sum(text in body for text in own) >= len(own):
            return
        shown = read_rendered_page(output)
        if isinstance(shown, RenderedPage):
            self._documents[key] = replace(document, html=shown.content, source=None)
        else:
            del self._documents[key]

    def finish(self) -> bool:
        """Removes pages that no longer exist.

        Returns:
            Whether every page has been rendered, by this build or an earlier one; False after a dirty build in a
            fresh process.
        """
        for key in self._documents.keys() - self._expected:
            del self._documents[key]
        return self._expected <= self._seen

    def paths(self) -> tuple[str, ...]:
        """Returns the paths of all pages, with those that are left out of the index."""
        return (*self._source_paths, *(document.path for document in self._documents.values()))

    def missing_fields(self, names: Iterable[str]) -> tuple[str, ...]:
        """Returns the names of front-matter fields that no page of the index has."""
        there = {str(name) for document in self._documents.values() for name in document.front_matter}
        return tuple(name for name in names if name not in there and not name.startswith("page."))

    def warnings(self) -> tuple[str, ...]:
        """Returns one sentence for each page of the index whose front matter cannot be read."""
        return tuple(sorted(self._problems[key] for key in self._problems.keys() & self._documents.keys()))

    def _document(self, page: Page, config: MkDocsConfig, *, dates: PageDates | None) -> Document:
        content, file = page.content or "", page.file
        generated = _is_generated(file)
        path = str(file.abs_src_path)
        breadcrumbs = self._trails.get(file.dest_uri)
        if breadcrumbs is None:
            breadcrumbs = _breadcrumbs(page)
        top = breadcrumbs[0] if breadcrumbs else None
        if top is None and page.is_section:  # mkdocs-section-index puts a section's first page in the section's place
            top = plain_title(page.title) or None
        return Document(
            path=file.dest_uri if generated else file.src_uri,
            url=page.url,
            title=_title(page),
            html=content,
            front_matter={key: value for key, value in page.meta.items() if not _OF_PLUGINS.match(str(key))},
            source=self._sources.get(file.dest_uri),
            # A `Path` would take longer to make.
            file_size=len(content.encode()) if generated else os.stat(path).st_size,  # noqa: PTH116
            section=top,
            breadcrumbs=breadcrumbs,
            listed=file.src_uri not in self._unlisted,
            language=getattr(file, "locale", None) or site_language(config),
            committed=None if generated or dates is None else dates.committed(path),
            written=None if generated or dates is None else dates.written(path),
            generated_from=file.src_uri if generated else None,
        )

    def _dates_of(self, file: File, config: MkDocsConfig) -> PageDates:
        """Returns the dates of the docs folder, or of the folder of `mkdocs.yml` for a page from elsewhere in that.

        With mkdocs-monorepo the docs folder is temporary, and the sources of the pages are in several other folders.
        """
        source = os.path.abspath(str(file.abs_src_path))  # noqa: PTH100 - a `Path` would take longer
        folders = (config.docs_dir, str(Path(config.config_file_path).parent.absolute()))
        folder = next((folder for folder in folders if source.startswith(f"{folder}{os.sep}")), config.docs_dir)
        if folder not in self._dates:
            self._dates[folder] = PageDates(Path(folder))
        return self._dates[folder]

    def _why_left_out(self, page: Page, context: Mapping[str, Any], config: MkDocsConfig) -> str:
        """Returns why a page is not collected; empty if it is."""
        if page.file.generated_by in REPEATING_PLUGINS:
            return "it lists posts"
        # mkdocs-encryptcontent encrypts the page later; its plain text must not be in the published files.
        if hasattr(page, "encryptcontent"):
            return "it is encrypted"
        # mkdocs-static-i18n builds a page without a translation again in the default language.
        if context.get("i18n_file_locale") != context.get("i18n_page_locale"):
            return "it is not translated"
        if page.file.dest_uri not in self._positions and _is_read_as_navigation(page.file, config):
            return "the plugin literate-nav reads the navigation from it"
        in_navigation = config.nav is None or page.file.dest_uri in self._positions
        if _is_hidden_from_theme(page, config, in_navigation=in_navigation):
            return "the plugin exclude-search hides it"
        glob = next((glob for glob in self._exclude if fnmatchcase(page.file.src_uri, glob)), None)
        return f"`exclude` has {glob!r}" if glob is not None else ""


def _is_read_as_navigation(file: File, config: MkDocsConfig) -> bool:
    """Returns whether mkdocs-literate-nav reads a page as a list of links, and so removes it from `nav`.

    Readers reach the index page of a folder by its address, whatever the navigation says.
    """
    plugin = config.plugins.get("literate-nav")
    name = plugin.config.get("nav_file") if plugin is not None else None
    is_marked = file.inclusion.is_not_in_nav()  # type: ignore[no-untyped-call]
    return bool(name) and is_marked and file.name != "index" and f"/{file.src_uri}".endswith(f"/{name}")


def _is_hidden_from_theme(page: Page, config: MkDocsConfig, *, in_navigation: bool) -> bool:
    """Returns whether mkdocs-exclude-search takes a page out of the theme's index.

    As in that plugin, globs are compared with addresses, without `.md`, and the home page is never hidden. An entry
    with `#` names a section: in `exclude` it hides nothing here, and in `ignore` it keeps the whole page.
    """
    plugin = config.plugins.get("exclude-search")
    address = unquote(page.url).removesuffix(".html").removesuffix("/")
    if plugin is None or address in ("", ".", "index"):
        return False

    if plugin.config.get("exclude_unreferenced") and not in_navigation:
        return True

    def is_named(option: str, *, with_section: bool) -> bool:
        values = plugin.config.get(option)
        texts = [text for text in (values if isinstance(values, list) else [values]) if isinstance(text, str)]
        globs = (text.partition("#")[0] for text in texts if with_section == ("#" in text))
        return any(fnmatchcase(address, glob.lstrip("/").removesuffix(".md")) for glob in globs)

    return is_named("exclude", with_section=False) and not is_named("ignore", with_section=True)


_OF_PLUGINS = re.compile(r"__|git_(?:site_)?(?:revision|creation)_date_localized")
"""Front matter that no author wrote: `__extends` is from Material's `meta` plugin. The plugin for dates from git adds
up to thirty fields to a page. Some contain HTML, or the time of the build if the page is not committed."""


_LEADING_H1 = re.compile(r"\s*(<h1\b[^>]*\sid=.*?</h1>)", re.DOTALL)
"""The h1 at the start of a page, if it was made from Markdown: only such headings have an id."""


def _title(page: Page) -> str:
    """Returns the title of a page; an index page that has none, which MkDocs calls `Index`, is named after its folder.

    A title that is the page's h1 is read as the chunker reads the h1, because headings equal to the title are not
    repeated below it. MkDocs reads it otherwise: with the description of a logo, for example.
    """
    is_stated = vars(page).get("title") or page.meta.get("title")  # in the navigation, or in the front matter
    h1 = None if is_stated else _LEADING_H1.match(page.content or "")
    title = (h1 and flat_text(parse_html(h1[1]))) or plain_title(page.title)
    title = title or title_of_name(page.file.name) or page.file.src_uri
    folder = page.file.src_uri.rpartition("/")[0]
    if title != "Index" or page.file.name != "index" or page.meta.get("title") or not folder:
        return title
    found = (item for item in read_page(page.content or "") if isinstance(item, Heading) and item.level == 1)
    return title_of_index(folder, next((heading.text for heading in found), None))


def _trails(items: Sequence[Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the output file of every page of a navigation, with the titles of the sections around it.

    `page.ancestors` has sections that readers do not see: mkdocs-static-i18n takes the folder of a language out of the
    navigation, but not out of the ancestors of its pages.
    """
    for item in items:
        if getattr(item, "file", None) is not None:  # a page; with mkdocs-section-index it can be a section, too
            yield item.file.dest_uri, above
        if item.is_section:
            title = plain_title(item.title)
            yield from _trails(item.children, (*above, title) if title else above)


def _breadcrumbs(page: Page) -> tuple[str, ...]:
    """Returns the titles of the sections of the navigation around a page, the outermost first."""
    titles = (plain_title(section.title) for section in reversed(list(page.ancestors)))
    return tuple(filter(None, titles))


def site_language(config: MkDocsConfig) -> str:
    """Returns the language of a site: Material's `theme.language`, else the theme's locale."""
    language = config.theme.get("language")
    return str(language) if isinstance(language, str) and language else str(config.theme.locale).replace("_", "-")


def _is_generated(file: File) -> bool:
    path = file.abs_src_path
    return file.generated_by is not None or path is None or not os.path.isfile(path)  # noqa: PTH113 - as in `MkDocsPages._document`


def _has_source(file: File, config: MkDocsConfig) -> bool:
    """Returns whether the docs folder has the file of a page; mkdocs-gen-files writes to a temporary folder."""
    if _is_generated(file):
        return False
    source = str(file.abs_src_path)
    if source.startswith(f"{config.docs_dir}{os.sep}"):
        return True
    # mkdocs-monorepo gathers copies in the docs folder and then points each page at the file it was copied from.
    copy = Path(config.docs_dir) / file.src_uri
    return copy.is_file() and filecmp.cmp(source, copy, shallow=False)
