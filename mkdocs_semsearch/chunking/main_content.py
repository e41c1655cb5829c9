"""Finds the page's own content in the HTML file that a theme has rendered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_semsearch.chunking.inline_text import HEADING_TAGS, class_names, flat_text, normalise

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_CONTENT = (
    "article.md-content__inner",  # Material, Zensical
    "div.md-content__inner > header.md-typeset",  # lists of posts of Material's blog
    '[data-md-component="content"] article',
    ".theme-doc-markdown",  # Docusaurus
    "#__blog-post-container",
    "main .vp-doc",  # VitePress
    ".VPHome",
    ".td-content",  # Docsy
    ".book-page article.markdown",  # Hugo Book
    "#content.hextra-max-content-width > .content",  # Hextra
    '[itemprop="articleBody"]',  # readthedocs
    'div[role="main"] .section',
    'div.col-md-9[role="main"]',  # mkdocs
    "main",
    '[role="main"]',
    "article",
)
_CHROME = ", ".join(
    (
        # MkDocs, Material, readthedocs
        ".md-content__button, .md-source-file, .md-tags, .md-feedback, .md-path, .md-post__back, #__comments, .giscus",
        ".source-links, .wy-breadcrumbs, .rst-footer-buttons",
        # Docusaurus
        ".theme-doc-breadcrumbs, .theme-doc-version-badge, .theme-doc-version-banner, .theme-doc-toc-mobile",
        ".theme-doc-toc-desktop, .theme-doc-footer, .theme-doc-sidebar-container, .theme-edit-this-page",
        ".theme-last-updated, .theme-announcement-bar, .pagination-nav",
        # VitePress
        ".VPDocFooter, .VPDocAside, .VPLocalNav, .VPNav, .VPSidebar, .VPSkipLink, [class*='language-'] > span.lang",
        ".line-numbers-wrapper",
        # Starlight
        ".expressive-code .sr-only, .sl-markdown-content ~ footer, .pagination-links",
        # Pelican
        "footer.post-info",
        # Sphinx and its themes
        # The builder `singlehtml` has the pages themselves in the place of a table of contents.
        ".sphinxsidebar, .related, .toctree-wrapper:not(:has(section, .section)), .topic.contents",
        ".bd-header-article, .bd-sidebar-secondary",
        ".prev-next-area, .prev-next-footer, .content-icon-container, .related-pages, .bottom-of-page, .back-to-top",
        ".viewcode-link, .viewcode-back, .nbinput .prompt, .nboutput .prompt",
        ".bd-footer-article, .bd-footer-content, #jb-print-docs-body, .onlyprint, .cell details.hide > summary",
        ".navigation-prev, .navigation-next, aside#right-sidebar",
        # Jekyll (kramdown) and its theme Just the Docs: a heading without an id comes from the theme
        "ol#markdown-toc, ul#markdown-toc, .text-delta:has(+ #markdown-toc), .details-toc",
        "hr + h2.text-delta:not([id]), hr + h2.text-delta:not([id]) + ul",
        # pdoc: source code beside a documented object; code in its text stays
        ".view-source-button, .view-source-toggle-state ~ .pdoc-code",
        # Hugo themes
        ".td-page-meta, .td-toc, .td-page-feedback, [class^='feedback--'], .feedback--answer",
        ".book-menu, .book-toc, .book-footer, .paginav",
        ".book-header, .hextra-page-context-menu, .hextra-toc, .post-nav, .post-footer, .share-buttons",
        # mdBook
        ".menu-bar, .nav-wrapper, .nav-wide-wrapper, .nav-chapters, .pre > .buttons",
        # any
        # A footer deeper inside may be the author's, such as that of a quotation.
        "main > footer, #content > footer",
        "[role=navigation], [role=search], .breadcrumb, .breadcrumbs, .skip-link, .skip-to-content",
        ".edit-this-page, .edit-page-link, .edit-link, .last-updated, [data-pagefind-ignore]",
    )
)
_CHROME_OF_BODY = ", ".join(
    (
        "header, footer, nav, aside, [role=banner], [role=contentinfo]",
        ".navbar, .bs-sidebar, .modal, .rst-versions",  # mkdocs, readthedocs
        _CHROME,
    )
)
_CHROME_LINKS = frozenset({
    "back to top", "edit on github", "edit page", "edit this page", "edit this page on github", "improve this page",
    "next page", "previous page", "report an issue", "skip to content", "skip to main content", "view page source",
})  # fmt: skip
_VIEWS = frozenset({
    "blog-archive-page", "blog-authors-list-page", "blog-authors-posts-page", "blog-list-page", "blog-tags-list-page",
    "blog-tags-post-list-page", "docs-tag-doc-list-page", "docs-tags-doc-list-page", "docs-tags-list-page",
    "search-page-wrapper", "td-taxonomy", "td-term",
})  # fmt: skip
"""Classes that Docusaurus and Docsy give the root or the body of a page that only lists others."""

_DOCUSAURUS_IDS = ("plugin-id-", "docs-version-", "docs-doc-id-")
_PDOC_OBJECT = re.compile(r'<(?:section id="([^"]+)"|div id="([^"]+)" class="classattr")>')
_NAMELESS = frozenset({"", "home", "index", "untitled"})


class NoPage(NamedTuple):
    """An HTML file that is not a page, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """The content and metadata of an HTML file.

    Attributes:
        content: HTML of the page's own content.
        leading_h1: text of the h1 that the content starts with, if it is one made from Markdown (they have ids).
        first_h1: text of the first h1, or None.
        head_title: text of `<title>`.
        language: language of the page according to the file, or None.
        generator: the program that wrote the file, for example `Hugo 0.150.0`; `""` if the file does not name it.
        repeats: whether the page is a list of posts, which have their own pages.
        alternates: URLs of the page in other languages, as written.
        translation_key: text that a page shares with its translations, as Docusaurus writes it, or None.
        site_name: name of the site, as the page tells social networks; `""` if it does not.
        content_language: language that the element with the content names for itself, or None.
    """

    content: str
    leading_h1: str | None
    first_h1: str | None
    head_title: str
    language: str | None
    generator: str = ""
    repeats: bool = False
    alternates: tuple[str, ...] = ()
    translation_key: str | None = None
    site_name: str = ""
    content_language: str | None = None

    @property
    def heading(self) -> str | None:
        """The first h1, unless it says nothing, such as `Index`."""
        return None if (self.first_h1 or "").casefold() in _NAMELESS else self.first_h1


def read_rendered_page(html: str) -> RenderedPage | NoPage:
    """Extracts the content of a page; returns `NoPage` for redirects, encrypted pages and the robots tag `noindex`."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html.encode("utf-8", "replace").decode("utf-8"))
    if tree.body is None:
        return NoPage("empty")
    if reason := _why_no_page(tree):
        return NoPage(reason)
    head_title, root = tree.css_first("head title"), tree.css_first("html")
    content = _content(tree)
    # Zensical writes an empty anchor, to which its skip link leads, before the h1.
    leading = next((node for node in content.iter(include_text=True) if _has_text(node) or not _is_target(node)), None)
    is_own_h1 = leading is not None and leading.tag == "h1" and leading.attributes.get("id")
    first_h1 = content.css_first("h1")
    return RenderedPage(
        content=_with_names_of_objects(content.inner_html or "") if _is_of_pdoc(content) else content.inner_html or "",
        leading_h1=flat_text(leading) if leading is not None and is_own_h1 else None,
        first_h1=(flat_text(first_h1) or None) if first_h1 is not None else None,
        head_title=normalise(head_title.text() or "") if head_title is not None else "",
        language=_language(root) if root is not None else None,
        generator=_meta(tree, 'meta[name="generator" i]'),
        repeats=tree.css_first("article.md-post--excerpt") is not None or not _VIEWS.isdisjoint(_page_classes(tree)),
        alternates=_alternates(tree),
        translation_key=_translation_key(tree),
        site_name=normalise(_meta(tree, 'meta[property="og:site_name" i]')),
        content_language=_language(content),
    )


def read_alternates(html: str) -> tuple[str, ...]:
    """Returns the URLs of a page in other languages, from the links in its head."""
    from selectolax.lexbor import LexborHTMLParser

    end = html.find("</head>")
    head = html if end < 0 else html[:end]
    return _alternates(LexborHTMLParser(head)) if "hreflang" in head else ()


def _alternates(tree: LexborHTMLParser) -> tuple[str, ...]:
    links = tree.css("link[rel~=alternate i][hreflang][href]")
    others = (link.attributes for link in links if (link.attributes["hreflang"] or "").lower() != "x-default")
    return tuple(dict.fromkeys(attributes["href"] or "" for attributes in others))


def _translation_key(tree: LexborHTMLParser) -> str | None:
    """Returns plugin, version and id of a document of Docusaurus, which its translations share, or None."""
    classes = [name for name in _page_classes(tree) if name.startswith(_DOCUSAURUS_IDS)]
    return " ".join(classes) if any(name.startswith("docs-doc-id-") for name in classes) else None


def _why_no_page(tree: LexborHTMLParser) -> str | None:
    if tree.css_first("#mkdocs-encrypted-content") is not None:  # mkdocs-encryptcontent
        return "encrypted"
    # The search page of Sphinx. Its builder `dirhtml` names the file like any other page.
    if tree.css_first("#search-results") is not None and tree.css_first('script[src*="searchtools.js"]') is not None:
        return "error or search page"
    for meta in tree.css("meta"):
        attributes = meta.attributes
        if (attributes.get("http-equiv") or "").lower() == "refresh":
            return "redirect"
        # The attribute is `name`; Docusaurus writes `property`, which some crawlers accept.
        name = attributes.get("name") or attributes.get("property") or ""
        if name.lower() == "robots" and "noindex" in (attributes.get("content") or "").lower():
            return "noindex"
    return None


def _language(node: LexborNode) -> str | None:
    return (node.attributes.get("lang") or "").strip().replace("_", "-") or None


def _meta(tree: LexborHTMLParser, selector: str) -> str:
    meta = tree.css_first(selector)
    return (meta.attributes.get("content") or "").strip() if meta is not None else ""


def _page_classes(tree: LexborHTMLParser) -> Iterable[str]:
    for node in (tree.css_first("html"), tree.body):
        yield from (class_names(node.attributes) if node is not None else ())


def _content(tree: LexborHTMLParser) -> LexborNode:
    """Returns the element with the content, without the parts that the theme adds inside it.

    A home page made by a template may have its text outside an empty content element; then the body is used.
    """
    empty = None
    for selector in _CONTENT:
        node = tree.css_first(selector)
        # If there are several articles, they are cards or posts, and none of them is the content.
        if node is None or (selector == "article" and len(tree.css(selector)) > 1):
            continue
        _remove_chrome(node, _CHROME)
        if flat_text(node) or node.css_first("img, h1") is not None:
            return node
        empty = empty or node
    assert tree.body is not None
    _remove_chrome(tree.body, _CHROME_OF_BODY)
    return tree.body if empty is None or flat_text(tree.body) else empty


def _is_of_pdoc(content: LexborNode) -> bool:
    return content.tag == "main" and "pdoc" in class_names(content.attributes)


def _with_names_of_objects(html: str) -> str:
    """Returns a page of pdoc with a heading for every documented object; pdoc shows only its signature."""

    def headed(found: re.Match[str]) -> str:
        name, level = (found[1], 2) if found[1] else (found[2], 3)
        return f'{found[0]}<h{level} id="{name}">{name.rpartition(".")[2]}</h{level}>'

    return _PDOC_OBJECT.sub(headed, html)


def _remove_chrome(node: LexborNode, selector: str) -> None:
    # In reverse, so that inner elements are removed before the ones around them.
    for chrome in reversed(node.css(selector)):
        if chrome.mem_id != node.mem_id:
            chrome.decompose()
    for link in node.css("a"):
        # The link may be all that a heading has, as in mdBook.
        if flat_text(link).casefold() in _CHROME_LINKS and (link.parent is None or link.parent.tag not in HEADING_TAGS):
            link.decompose()


def _is_target(node: LexborNode) -> bool:
    """Returns whether a node without text shows nothing: white space, or an empty link target."""
    if node.tag == "-text":
        return True
    return node.tag in ("a", "span") and not flat_text(node) and node.css_first("img, svg") is None


def _has_text(node: LexborNode) -> bool:
    return bool((node.text_content or "").strip())
