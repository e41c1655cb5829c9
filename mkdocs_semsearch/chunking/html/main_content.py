"""Finds the page's own content in the HTML file that a theme has rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.html.inline_text import flat_text, normalise

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

__all__ = ["RenderedPage", "read_rendered_page"]

_CONTENT = (
    "article.md-content__inner",  # Material, Zensical
    "div.md-content__inner > header.md-typeset",  # lists of posts of Material's blog
    '[data-md-component="content"] article',
    '[itemprop="articleBody"]',  # readthedocs
    'div[role="main"] .section',
    'div.col-md-9[role="main"]',  # mkdocs
    "main",
    '[role="main"]',
    "article",
)
_CHROME = (
    ".md-content__button, .md-source-file, .md-tags, .md-feedback, .md-path, .md-post__back, #__comments, .giscus,"
    " .source-links, .wy-breadcrumbs, .rst-footer-buttons"
)
_CHROME_OF_BODY = "header, footer, nav, aside, [role=navigation], [role=banner], [role=contentinfo], [role=search]"


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """What an HTML file holds.

    Attributes:
        content: HTML of the page's own content.
        leading_h1: text of the h1 that the content starts with, if it is one made from Markdown (they have ids).
        first_h1: text of the first h1, or None.
        head_title: text of `<title>`.
        language: of the page as the file tells, or None.
        repeats: whether the page is a list of posts, which stand on pages of their own.
    """

    content: str
    leading_h1: str | None
    first_h1: str | None
    head_title: str
    language: str | None
    repeats: bool = False


def read_rendered_page(html: str) -> RenderedPage | None:
    """Finds the content of a page; None for a redirect, and for a page whose robots tag says `noindex`."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html.encode("utf-8", "replace").decode("utf-8"))
    if tree.body is None or _is_no_page(tree):
        return None
    head_title, root = tree.css_first("head title"), tree.css_first("html")
    language = (root.attributes.get("lang") or "").strip().replace("_", "-") if root is not None else ""
    content = _content(tree)
    leading = next((node for node in content.iter(include_text=True) if node.tag != "-text" or _has_text(node)), None)
    is_own_h1 = leading is not None and leading.tag == "h1" and leading.attributes.get("id")
    first_h1 = content.css_first("h1")
    return RenderedPage(
        content=content.inner_html or "",
        leading_h1=flat_text(leading) if leading is not None and is_own_h1 else None,
        first_h1=(flat_text(first_h1) or None) if first_h1 is not None else None,
        head_title=normalise(head_title.text() or "") if head_title is not None else "",
        language=language or None,
        repeats=tree.css_first("article.md-post--excerpt") is not None,
    )


def _is_no_page(tree: LexborHTMLParser) -> bool:
    for meta in tree.css("meta"):
        attributes = meta.attributes
        if (attributes.get("http-equiv") or "").lower() == "refresh":
            return True
        if (attributes.get("name") or "").lower() == "robots" and "noindex" in (
            attributes.get("content") or ""
        ).lower():
            return True
    return False


def _content(tree: LexborHTMLParser) -> LexborNode:
    """The element that holds the content, freed from what the theme puts inside it."""
    for selector in _CONTENT:
        node = tree.css_first(selector)
        if node is not None:
            _remove(node, _CHROME)
            return node
    assert tree.body is not None
    _remove(tree.body, _CHROME_OF_BODY)
    return tree.body


def _remove(node: LexborNode, selector: str) -> None:
    # In reverse, so that inner elements are removed before the ones around them.
    for chrome in reversed(node.css(selector)):
        if chrome.mem_id != node.mem_id:
            chrome.decompose()


def _has_text(node: LexborNode) -> bool:
    return bool((node.text_content or "").strip())
