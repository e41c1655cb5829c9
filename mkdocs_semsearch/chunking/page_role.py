"""Determines the role of a page in its site: its kind and version, and the links of other pages to it."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from mkdocs_semsearch.artifact.fields import PageKind
from mkdocs_semsearch.chunking.document import ChunkedPage, Document
from mkdocs_semsearch.lexical.languages import LANGUAGES, primary_subtag

LEAST_DATED, DATED_SHARE = 3, 0.6
"""Least number and least share of a page's top headings that must be versions or dates. On the thirteen sites used to
develop the rules, change logs have a share of at least .98, guides of at most .33."""

LEAST_NAMED, NAMED_SHARE = 6, 0.7
"""Least number and least share of a page's headings that must be names in code. Guides that list some names at their
end have a share of up to .69 (MkDocs' guide to themes)."""

_HOME_PAGES = frozenset({"index.md", "README.md"})
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][a-z]{2,4})?")
_LANGUAGE_CODES = LANGUAGES | {"br", "cn", "cz", "dk", "gr", "jp", "kr", "tw", "ua"}
"""Includes codes of countries that sites use as folder names instead of the codes of their languages."""

_BLOG_FOLDERS = frozenset({"announcements", "blog", "news", "posts"})
_ARCHIVE_FOLDERS = frozenset({"archive", "archived", "archives"})
_OUTDATED_FOLDER = re.compile(r"(?:deprecated|obsolete)(?:[-_ ].*)?|legacy")
"""Top folders of what is no longer maintained. `legacy-apps` may be a living feature, and `deprecation` is news."""

_LIST_FOLDERS = _ARCHIVE_FOLDERS | {"author", "authors", "categories", "category", "page", "tag", "tags"}
_CONTRIBUTING_FOLDERS = frozenset(
    {"contribute", "contributing", "contributor-guide", "contributors", "developer-guide", "development", "internals"}
)
_CONTRIBUTING_NAMES = frozenset({"contribute", "contributing", "development", "hacking"})
_CONTRIBUTING_SECTIONS = frozenset({"contribute", "contributing", "contributors"})
"""Sections of the navigation; *Development* or *Developer guide* may be about what readers develop with the product."""

_PROPOSAL_FOLDERS = frozenset(
    {"adr", "adrs", "decision-records", "design-docs", "enhancements", "keps", "proposal", "proposals", "rfc", "rfcs"}
)
_REFERENCE_WORDS = frozenset({"api", "cli", "command", "commands", "reference"})
_ERROR_PAGE = re.compile(r"404(?:/index)?\.\w+")
_DATED_NAME = re.compile(r"(?:19|20)\d\d-\d\d-\d\d\b.*")

_CHANGELOG = r"(?:change ?logs?|release ?notes?|what ?s ?new|new features|breaking changes|(?:release|version) history)"
_CHANGELOG_NAME = re.compile(
    rf"{_CHANGELOG}(?: (?:in|for|of)\b.*| [\w.]*\d.*)?|(?:.* )?v?\d+(?:\.\w+)+ (?:announcement|notes)"
)
_CHANGELOG_MAYBE = re.compile(r"change(?:s| history)|history|news|releases|versions?")
_NO_CHANGELOG = re.compile(r"\b(?:migrat|upgrad)")

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY = r"\d\d?(?:st|nd|rd|th)?"
_DATE = rf"(?:\d{{4}}[-/.]\d\d?(?:[-/.]\d\d?)?|(?:{_DAY}\.? )?{_MONTH} (?:{_DAY},? )?\d{{4}}|\d{{4}})"
_VERSION = r"(?:version |release |v(?:er)?\.? ?)?\d+(?:\.(?:\d+|x))+(?:[-.+]?[a-z]+[-.\d]*)?"
_VERSION_OR_DATE = re.compile(
    rf"\W*(?:{_VERSION}|{_DATE}|(?:[\w.-]+ )?{_VERSION}\W+{_DATE}|unreleased|latest changes)"
    rf"(?:\W*{_DATE}|\W*\([^)]*\))?(?: [–—-] .*)?\W*",
    re.IGNORECASE,
)

_NAMED_VERSION = re.compile(rf"\W*(?:[^\W\d][\w.-]* ){{1,3}}{_VERSION}(?:\W*{_DATE}|\W*\([^)]*\))?\W*", re.IGNORECASE)
"""A version after the name of the product, as headings of a page *Releases* have it: `Klipper 0.13.0`."""

_VERSIONS_ONLY = re.compile(rf"{_VERSION}(?:\W+(?:to )?{_VERSION})?", re.IGNORECASE)
"""The whole title of a page with the changes of one version, `v2.0 to 2.1`. Most readers have another version."""

_NAME_IN_CODE = re.compile(
    r"[-$@.\[<]*[a-z][\w$.:@<>\[\]*=-]*(?:\(.*\))?"  # name, --flag, [tool.name], function(argument)
    r"|\w+(?:_|\.|::|\()[^\s/]*"  # MAX_SIZE, Class.method
    r"|[A-Z]+[a-z0-9]+[A-Z]\w*"  # ClassName
)
_REFERENCE_TITLE = re.compile(
    r"(?:.* )?(?:api|cli|class|command|command[- ]line|config(?:uration)?|module|options?|settings?) reference"
)
_COMMAND_HEADINGS = frozenset({"options", "see also", "synopsis", "usage"})
_COBRA_HEADING = "options inherited from parent commands"
"""Heading that the generator Cobra writes on the page of a command, in whatever folder the pages are."""

_LOWER_OR_CODE = re.compile(r"[a-z$_.<\[`-]")


def page_kind(path: str, title: str, headings: Sequence[Sequence[str]], documented: int = 0) -> PageKind:
    """Determines the kind of a page; `guide` in doubt.

    Args:
        path: path of the source file, or of the HTML file if there is no source.
        title: title of the page.
        headings: heading path of every section, in reading order, without the page's title; empty for the text
            before the first heading.
        documented: number of these sections that document an object, as mkdocstrings renders it.
    """
    folders, name = _place(path)
    root = folders[1:] if folders and (folders[0] == "docs" or _is_language(folders[0])) else folders
    # An index page has the name of its folder and belongs to it. In a built site, any page may be `name/index.html`.
    is_of_folder = _is_index(path) and (name in _BLOG_FOLDERS or not path.endswith(".html"))
    within = [*root, name] if is_of_folder else root
    top = within[0] if within else ""
    if top in _ARCHIVE_FOLDERS or _OUTDATED_FOLDER.fullmatch(top):
        return "archive"
    if top in _BLOG_FOLDERS:
        return "archive" if not root or _LIST_FOLDERS & {*root[1:], name} else "blog"
    if not _BLOG_FOLDERS.isdisjoint(folders) and (
        _DATED_NAME.fullmatch(name) or ("blog", "posts") in pairwise(folders)
    ):
        return "blog"
    if _is_changelog(folders, name, title, headings):
        return "blog" if name == "news" else "changelog"
    if name == "roadmap" or not _PROPOSAL_FOLDERS.isdisjoint(within[:2]):
        return "proposal"
    if _is_reference(folders, title, headings, documented):
        return "reference"
    if top in _CONTRIBUTING_FOLDERS or name in _CONTRIBUTING_NAMES:
        return "contributing"
    return "guide"


def _is_language(folder: str) -> bool:
    return _LANGUAGE.fullmatch(folder) is not None and primary_subtag(folder) in _LANGUAGE_CODES


def is_error_page(path: str) -> bool:
    """Returns whether a page is `404` at the top of the docs folder, which web servers show for missing pages."""
    return _ERROR_PAGE.fullmatch(path) is not None


def kind_in_site(kind: PageKind, *, listed: bool, sections: Sequence[str] = ()) -> PageKind:
    """Returns the recognised kind of a page; a guide may have another one by its place in the navigation.

    Args:
        kind: what `page_kind` returns.
        listed: False for a page that the navigation leaves out.
        sections: titles of the navigation's sections that contain the page, the outermost first. Titles that are names
            of folders with proposals, and some names of folders for contributors, count too.
    """
    if kind != "guide":
        return kind
    if not listed:
        return "unlisted"
    named = [_words(section).replace(" ", "-") for section in sections[:2]]
    if not _PROPOSAL_FOLDERS.isdisjoint(named):
        return "proposal"
    return "guide" if _CONTRIBUTING_SECTIONS.isdisjoint(named[:1]) else "contributing"


def unlisted_pages(paths: Collection[str], listed: Container[str]) -> frozenset[str]:
    """Returns the source paths that the navigation leaves out, without the home page; none if it leaves out over half.

    Such a navigation does not list the pages that matter: it names one page of each group, or a plugin completes it.
    """
    left_out = frozenset(path for path in paths if path not in listed and path not in _HOME_PAGES)
    return left_out if 2 * len(left_out) <= len(paths) else frozenset()


# Titles in the languages that most sites use.
_GENERIC_TITLES = frozenset(
    {
        *("home", "intro", "introduction", "overview", "readme"),
        *("einführung", "einleitung", "überblick", "übersicht"),
        *("accueil", "aperçu", "présentation", "vue d'ensemble"),
        *("inicio", "introducción", "introdução", "visión general", "visão geral"),
        *("введение", "обзор", "概述", "概览", "简介", "介绍", "概要", "はじめに", "개요", "소개"),
    }
)


def with_titles_of_sections(documents: Iterable[Document]) -> Iterator[Document]:
    """Yields the pages of a site; a page called *Overview* or the like gets the title of its section.

    Such a title says nothing in a list of results. This holds for the first such page of each section of the
    navigation, but not for the home page and posts of a blog.

    Args:
        documents: the pages in the order of the navigation.
    """
    named = set()
    for document in documents:
        section = next((title for title in reversed(document.breadcrumbs) if not _is_generic(title)), None)
        if (
            section
            and _is_generic(document.title)
            and document.url
            and document.breadcrumbs not in named
            and page_kind(document.path, document.title, ()) not in ("archive", "blog")
        ):
            named.add(document.breadcrumbs)
            yield replace(document, title=section, own_title=document.title)
        else:
            yield document


def _is_generic(title: str) -> bool:
    return title.replace("’", "'").casefold() in _GENERIC_TITLES


def _place(path: str) -> tuple[list[str], str]:
    """Returns folders and name of a page in lower case; an index page has the name of its folder."""
    *folders, file = path.lower().split("/")
    if not _is_index(path):
        return folders, file.rpartition(".")[0] or file
    return (folders[:-1], folders[-1]) if folders else ([], "index")


def _is_index(path: str) -> bool:
    return path.lower().rpartition("/")[2].partition(".")[0] in ("index", "readme")


def _is_changelog(folders: Sequence[str], name: str, title: str, headings: Sequence[Sequence[str]]) -> bool:
    names = [_words(name), _words(title)]
    if _VERSIONS_ONLY.fullmatch(title.strip()):
        return True
    if any(_NO_CHANGELOG.search(text) for text in names):
        return False
    if any(_CHANGELOG_NAME.fullmatch(text) for text in (*names, *map(_words, folders))):
        return True
    is_likely = any(_CHANGELOG_MAYBE.fullmatch(text) for text in names)
    least, patterns = (1, (_VERSION_OR_DATE, _NAMED_VERSION)) if is_likely else (LEAST_DATED, (_VERSION_OR_DATE,))
    # The list of versions may be one section of the page.
    for texts in (_top_headings(headings), [path[-1] for path in headings if path]):
        dated = sum(any(pattern.fullmatch(text) for pattern in patterns) for text in texts)
        if dated >= least and dated >= DATED_SHARE * len(texts):
            return True
    return False


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+(?:\.\d+)*", text.lower()))


def _top_headings(headings: Sequence[Sequence[str]]) -> list[str]:
    """Returns the headings of the highest level that has more than one."""
    for depth in range(max(map(len, headings), default=0)):
        level = list(dict.fromkeys(tuple(path[: depth + 1]) for path in headings if len(path) > depth))
        if len(level) > 1:
            return [path[depth] for path in level]
    return [path[-1] for path in headings if path]


def _is_reference(folders: Sequence[str], title: str, headings: Sequence[Sequence[str]], documented: int) -> bool:
    if documented and documented * 2 >= len(headings):
        return True
    if _REFERENCE_TITLE.fullmatch(title.lower()):
        return True
    among_references = any(_REFERENCE_WORDS & set(re.split(r"[-_ ]", folder)) for folder in folders)
    names = [path[-1] for path in headings if path]
    lower = set(map(str.lower, names))
    if _COBRA_HEADING in lower:
        return True
    if among_references and (_LOWER_OR_CODE.match(title) or len(_COMMAND_HEADINGS & lower) > 1):
        return True
    in_code = sum(map(_is_name_in_code, names))
    return len(names) >= LEAST_NAMED and in_code >= NAMED_SHARE * len(names)


def _is_name_in_code(text: str) -> bool:
    """Returns whether a heading is a name in code; a version is not, though it looks like an attribute."""
    return _NAME_IN_CODE.fullmatch(text) is not None and _VERSION_OR_DATE.fullmatch(text) is None


_NEWEST = ("stable", "latest", "current")
_UNSTABLE = re.compile(r"dev|devel|develop|main|master|next|nightly|trunk")
_NUMBER = re.compile(r"(?:v|version-|release-)?(\d+(?:\.\d+)*)(?:\.x)?((?:[-.]?(?:a|b|rc|alpha|beta|dev|pre)[-.\d]*)?)")


def split_version(path: str) -> tuple[str, str]:
    """Returns the version at the beginning of a path, `""` if there is none, and the path without it.

    Docusaurus has its versions inside the folder of the documentation, `docs/2.0/`. On sites in several languages, they
    are inside the folder of each language: `de/docs/2.0/`, and on Read the Docs `en/stable/`.
    """
    language, slash, _ = path.partition("/")
    outer = f"{language}/" if slash and _is_language(language) else ""
    if path.startswith("docs/", len(outer)):
        outer += "docs/"
    folder, slash, rest = path[len(outer) :].partition("/")
    is_version = folder in _NEWEST or _UNSTABLE.fullmatch(folder) or _NUMBER.fullmatch(folder)
    return (folder, f"{outer}{rest}") if slash and is_version else ("", path)


def version_order(version: str) -> tuple[int, tuple[int, ...]]:
    """Returns the sort key of a version: none, the stable one, numbers from the newest on, then unreleased ones."""
    if not version:
        return 0, ()
    if version in _NEWEST:
        return 1, (_NEWEST.index(version),)
    number = _NUMBER.fullmatch(version)
    if number is None:
        return 4, ()
    # The last entry makes the shorter number the older one: 2.1 comes before 2.
    parts = tuple(-int(part) for part in number[1].split("."))
    return (3 if number[2] else 2), (*parts, 1)


MAX_TEXTS = 50
"""Greatest number of link texts of a page; further ones add no information. Chosen, not measured."""


def with_inbound_links(pages: Sequence[ChunkedPage], site_url: str = "") -> list[ChunkedPage]:
    """Returns the pages with `inbound_links` and `link_texts` filled in from each other's `links`.

    Args:
        pages: pages of the site.
        site_url: URL of the site; links that begin with a slash are relative to its path.
    """
    base = unquote(urlsplit(site_url).path).strip("/")
    by_place = {page_address(unquote(page.url)): number for number, page in enumerate(pages)}
    texts: list[Counter[str]] = [Counter() for _ in pages]
    linking = [0] * len(pages)
    for number, page in enumerate(pages):
        folder = posixpath.dirname(unquote(page.url))
        targets = ((by_place.get(link_target(link.href, folder, base)), link.text) for link in page.links)
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
    """Returns texts by the number of pages that use them; ties are sorted alphabetically, to be reproducible."""
    return tuple(sorted(texts, key=lambda text: (-texts[text], text))[:MAX_TEXTS])


def link_target(href: str, folder: str, base: str) -> str:
    """Returns the `page_address` of a link's target; hosts are not compared.

    Args:
        href: the link as written.
        folder: folder of the page with the link, relative to the site.
        base: path of the site, without slashes around it.
    """
    try:
        path = unquote(urlsplit(href).path)
    except ValueError:  # a browser could not follow it either
        return "\0"
    if path.startswith("/"):
        return page_address(posixpath.relpath(f"/{path.strip('/')}", f"/{base}"))
    return page_address(posixpath.normpath(posixpath.join(folder, path)))


def page_address(path: str) -> str:
    """Returns the same text for every URL of a page: `guide/`, `guide`, `guide/index.html`, `./guide/`."""
    place = path.removesuffix("index.html").strip("/")
    return "" if place == "." else place
