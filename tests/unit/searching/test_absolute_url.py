"""The URLs of pages in links."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.searching.records import absolute_url


@pytest.mark.parametrize(
    ("site_url", "url", "whole"),
    [
        ("https://docs.example/manual", "guide/#a", "https://docs.example/manual/guide/#a"),
        ("HTTP://docs.example/", "/guide/", "HTTP://docs.example/guide/"),
        ("", "javascript:alert(1)", "./javascript:alert(1)"),
        ("javascript:alert(1)//", "guide/", "./guide/"),
        ("", "//evil.example/", "./evil.example/"),
    ],
)
def test_a_link_leads_to_the_site(site_url, url, whole):
    assert absolute_url(site_url, url) == whole


def test_a_server_links_from_its_root():
    assert absolute_url("", "guide/", otherwise="/") == "/guide/"
