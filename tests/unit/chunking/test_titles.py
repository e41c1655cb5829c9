from __future__ import annotations

from dataclasses import replace

import pytest

from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document, with_titles_of_sections
from mkdocs_semsearch.chunking.inline_text import plain_title, title_of_name


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (None, ""),
        (2026, "2026"),
        ("  Two\n words ", "Two words"),
        ("Use <code>Vec</code> &amp; friends", "Use Vec & friends"),
        ("The &nbsp<samp>pihole</samp>&nbsp Command", "The pihole Command"),
        ("<del>Old</del> <ins>new</ins> <u>x</u> <tt>y</tt> <var>z</var> <q>q</q>", "Old new x y z q"),
        ("Vec<T> and friends", "Vec<T> and friends"),
        ("Set<S>, Map<A, B>", "Set<S>, Map<A, B>"),
        ("a < b and c > d", "a < b and c > d"),
        ('<img src="x.svg"> Icons', "Icons"),
    ],
)
def test_titles_lose_inline_markup_only(title, text):
    assert plain_title(title) == text


@pytest.mark.parametrize(
    ("name", "title"),
    [("getting-started", "Getting started"), ("README_first", "README first"), ("_under", "under")],
)
def test_names_become_titles_as_in_mkdocs(name, title):
    assert title_of_name(name) == title


def page(title, *sections, path="guide/page.md", url="guide/page/"):
    return Document(path=path, url=url, title=title, html="", breadcrumbs=sections)


@pytest.mark.parametrize(
    ("document", "title"),
    [
        (page("Overview", "Guides", "Private registries"), "Private registries"),
        (page("INTRODUCTION", "Guides"), "Guides"),
        (page("Überblick", "Abläufe"), "Abläufe"),
        (page("Vue d’ensemble", "Clés"), "Clés"),
        (page("概要", "設定", "はじめに"), "設定"),
        (page("Overview"), "Overview"),
        (page("Overview", "Introduction"), "Overview"),
        (page("Overview of backups", "Backups"), "Overview of backups"),
        (page("Index", "Reference"), "Index"),
        (page("Home", "Start", path="index.md", url=""), "Home"),
        (page("Introduction", "Blog", path="blog/posts/introduction.md"), "Introduction"),
    ],
)
def test_a_title_that_says_nothing_becomes_that_of_its_section(document, title):
    (found,) = with_titles_of_sections([document])
    assert found.title == title
    assert found.own_title == (None if title == document.title else document.title)


def test_one_page_of_a_section_has_its_title():
    titles = ("Introduction", "Overview", "Keys")
    found = with_titles_of_sections([page(title, "Guides") for title in titles] + [page("Overview", "Guides", "Keys")])
    assert [document.title for document in found] == ["Guides", "Overview", "Keys", "Keys"]


def test_the_title_of_a_section_does_not_decide_about_the_kind_of_a_page():
    (document,) = with_titles_of_sections([page("Overview", "Release history")])
    assert document.title == "Release history"
    html = "<h1>Overview</h1><p>How we release.</p>"
    chunked = Chunker(ChunkSettings(), (), lambda text: len(text.split())).chunk(replace(document, html=html))
    assert chunked.kind == "guide"
