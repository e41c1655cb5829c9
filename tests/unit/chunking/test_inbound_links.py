from __future__ import annotations

import pytest

from mkdocs_semsearch.chunking import ChunkedPage, Chunker, ChunkSettings, Document, with_inbound_links


def linked(pages: dict[str, str], site_url: str = "") -> dict[str, ChunkedPage]:
    chunker = Chunker(ChunkSettings(40, 0), [], lambda text: len(text.split()))
    chunked = [chunker.chunk(Document(url or "index", url, url or "Home", html)) for url, html in pages.items()]
    return {page.url: page for page in with_inbound_links([page for page in chunked if page], site_url)}


@pytest.mark.parametrize(
    ("url", "href"),
    [
        ("guide/auth/", "guide/auth/"),
        ("guide/auth/", "./guide/auth"),
        ("guide/auth/", "guide/auth/index.html#tokens"),
        ("guide/auth/", "/docs/guide/auth/?x=1"),
        ("guide/auth.html", "guide/auth.html"),
        ("guide/%C3%BCber/", "guide/über/"),
    ],
)
def test_every_address_of_a_page_leads_to_it(url, href):
    pages = linked({"": f'<p><a href="{href}">Sign <b>in</b></a></p>', url: "<p>x</p>"}, "https://example.org/docs/")
    assert pages[url].inbound_links == 1
    assert pages[url].link_texts == ("Sign in",)


def test_addresses_are_relative_to_the_linking_page():
    pages = linked(
        {"guide/a/": '<p><a href="../b/">B</a> <a href="../../">Home</a></p>', "guide/b/": "<p>x</p>", "": "<p>x</p>"}
    )
    assert (pages["guide/b/"].inbound_links, pages[""].inbound_links) == (1, 1)


def test_a_page_that_links_twice_counts_once_and_the_most_frequent_text_comes_first():
    pages = linked(
        {
            "a/": '<p><a href="../t/">Tokens</a> <a href="../t/#x">Tokens</a> <a href="../t/">all about tokens</a></p>',
            "b/": '<p><a href="../t/">Tokens</a></p>',
            "t/": '<p><a href="../t/">this page</a></p>',
        }
    )
    assert pages["t/"].inbound_links == 2
    assert pages["t/"].link_texts == ("Tokens", "all about tokens")


def test_links_of_navigations_other_sites_and_headings_do_not_count():
    html = (
        '<nav><a href="t/">Next</a></nav><h2 id="s">S<a class="headerlink" href="t/#s">¶</a></h2>'
        '<p><a href="https://example.org/t/">t</a> <a href="//t/">t</a> <a href="mailto:t@t">t</a></p>'
    )
    assert linked({"": html, "t/": "<p>x</p>"})["t/"].inbound_links == 0


def test_an_invalid_address_is_skipped():
    assert (
        linked({"": '<p><a href="http[://[t/">t</a> <a href="../../../t/">t</a></p>', "t/": "<p>x</p>"})[
            "t/"
        ].link_texts
        == ()
    )
