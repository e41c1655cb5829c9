from __future__ import annotations

import pytest

from mkdocs_semsearch.chunking.inline_text import plain_title, title_in_navigation, title_of_name


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


@pytest.mark.parametrize(("name", "title"), [("getting-started", "Getting started"), ("README_first", "README first")])
def test_names_become_titles_as_in_mkdocs(name, title):
    assert title_of_name(name) == title


@pytest.mark.parametrize(
    ("title", "sections", "shown"),
    [
        ("Overview", ("Guides", "Private registries"), "Private registries"),
        ("INTRODUCTION", ("Guides",), "Guides"),
        ("Überblick", ("Abläufe",), "Abläufe"),
        ("概要", ("設定", "はじめに"), "設定"),
        ("Overview", (), "Overview"),
        ("Overview", ("Introduction",), "Overview"),
        ("Overview of backups", ("Backups",), "Overview of backups"),
        ("Install", ("Guides",), "Install"),
    ],
)
def test_a_title_that_says_nothing_becomes_that_of_its_section(title, sections, shown):
    assert title_in_navigation(title, sections) == shown
