from __future__ import annotations

import os
from pathlib import Path, PureWindowsPath

import pytest

from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document
from mkdocs_semsearch.chunking.blocks import Block, Heading
from mkdocs_semsearch.chunking.main_content import RenderedPage, read_rendered_page
from mkdocs_semsearch.chunking.page_reader import read_page
from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.indexing.duplicates import with_translations
from mkdocs_semsearch.site.built_site import SiteFolder
from mkdocs_semsearch.site.source_files import load_site_config


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def pages(folder: Path, config: str | None = None) -> dict[str, Document]:
    source = SiteFolder(folder / "site", load_site_config(folder / config) if config else None)
    return {document.path: document for document in source}


def test_redirects_errors_and_pages_without_index_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path / "site",
        {
            "index.html": "<title>Home - Docs</title><main><p>x</p></main>",
            "404.html": "<p>no</p>",
            "search.html": "<p>no</p>",
            "old/index.html": "<meta http-equiv=refresh content='0; url=../new/'>",
            "secret/index.html": "<meta name=robots content='noindex, nofollow'><p>x</p>",
            ".cache/a.html": "<p>no</p>",
        },
    )
    (document,) = pages(tmp_path).values()
    assert (document.path, document.url, document.title) == ("index.html", "", "Home")


def test_lists_of_posts_are_left_out_unless_they_have_a_source(tmp_path: Path) -> None:
    listing = (
        '<div class="md-content__inner"><header class="md-typeset"><h1 id="blog">Blog</h1></header>'
        '<article class="md-post md-post--excerpt"><p>excerpt</p></article></div>'
    )
    write(
        tmp_path,
        {
            "mkdocs.yml": "site_name: x\n",
            "docs/blog/index.md": "# Blog\n",
            "site/blog/index.html": listing,
            "site/blog/archive/2026/index.html": listing,
        },
    )
    (document,) = pages(tmp_path, "mkdocs.yml").values()
    assert document.path == "blog/index.md"
    assert "excerpt" not in document.html
    assert pages(tmp_path) == {}


@pytest.mark.parametrize(
    "html",
    [
        "<body><nav>n</nav><header>h</header><p>x</p><footer>f</footer></body>",
        "<body><p>no</p><main><p>x</p></main></body>",
        '<body><div role="main"><div class="section"><p>x</p></div><footer>f</footer></div></body>',
        '<div class="col-md-9" role="main"><div class="source-links"><span>a.py</span></div><p>x</p></div>',
        '<main><article class="md-content__inner"><a class="md-content__button">e</a><nav class="md-tags">t</nav>'
        '<p>x</p><aside class="md-source-file"><nav>who</nav></aside></article></main>',
        "<p>x",
    ],
)
def test_only_the_content_is_taken(html: str) -> None:
    page = read_rendered_page(html)
    assert isinstance(page, RenderedPage)
    assert page.content.replace(" ", "").strip() == "<p>x</p>"


def test_a_configuration_with_tags_of_python_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCS_NAME", "Named")
    write(
        tmp_path,
        {
            "base.yml": "site_name: !ENV [NOT_SET, DOCS_NAME, x]\nuse_directory_urls: false\n",
            "mkdocs.yml": "INHERIT: base.yml\nmarkdown_extensions:\n  - x: {f: !!python/name:a.b , "
            "g: !!python/object/apply:a.b {kwds: {c: d}}}\nhooks: !relative x\nnav:\n"
            "  - a.md\n  - Deep:\n    - Deeper:\n      - Last: ./b/c.md\n",
            "docs/a.md": "",
        },
    )
    config = load_site_config(tmp_path / "mkdocs.yml")
    assert (config.site_name, config.use_directory_urls) == ("Named", False)
    entry = config.nav_entry("b/c.md")
    assert entry is not None
    assert (entry.position, entry.title, entry.sections) == (1, "Last", ("Deep", "Deeper"))
    assert config.nav_entry("not/in/nav.md") is None


@pytest.mark.parametrize(
    ("site_name", "read"),
    [
        ("!ENV DOCS_NAME", "Named"),
        ("!ENV [DOCS_NAME]", "Named"),
        ("!ENV [NOT_SET, x]", "x"),
        ("!ENV NOT_SET", ""),
        ("!ENV [NOT_SET]", ""),
        ("!ENV []", ""),
    ],
)
def test_a_variable_of_the_environment_may_have_a_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site_name: str, read: str
) -> None:
    monkeypatch.setenv("DOCS_NAME", "Named")
    write(tmp_path, {"mkdocs.yml": f"site_name: {site_name}\n", "docs/a.md": ""})
    assert load_site_config(tmp_path / "mkdocs.yml").site_name == read


def test_a_navigation_may_have_backslashes_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"mkdocs.yml": "nav: [a.md, 'b\\c.md']\n", "docs/a.md": ""})
    assert list(load_site_config(tmp_path / "mkdocs.yml").nav or ()) == ["a.md", "b\\c.md"]
    monkeypatch.setattr("mkdocs_semsearch.site.source_files.PurePath", PureWindowsPath)
    assert list(load_site_config(tmp_path / "mkdocs.yml").nav or ()) == ["a.md", "b/c.md"]


def test_an_inherited_configuration_is_merged_as_mkdocs_does(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "base.yml": "theme: {name: mkdocs, locale: de}\nnav: [a.md, b.md]\nplugins:\n  search: {}\n  semsearch:\n"
            "    index_dir: elsewhere\n    facets:\n      tags: {type: list}\n",
            "mkdocs.yml": "INHERIT: base.yml\ntheme: {name: readthedocs}\nnav: [b.md]\nplugins:\n  semsearch:\n"
            "    facets:\n      status: {type: string}\n",
            "docs/a.md": "",
        },
    )
    config = load_site_config(tmp_path / "mkdocs.yml")
    assert config.plugin_options == {
        "index_dir": "elsewhere",
        "facets": {"tags": {"type": "list"}, "status": {"type": "string"}},
    }
    assert config.language == "de"
    assert list(config.nav or ()) == ["b.md"]


@pytest.mark.parametrize(
    ("config", "unlisted"),
    [
        ("nav: [a.md, sub/b.md, https://example.org/]\n", {"lost.md"}),
        ("nav: [a.md, sub/]\n", set()),  # a plugin completes it
        ("nav: [a.md, sub/b.md]\nnot_in_nav: lost.md\n", set()),
        ("nav: [a.md, sub/b.md]\nplugins: [search, {i18n: {docs_structure: suffix}}]\n", set()),
        ("nav: [a.md, lost.md]\nnot_in_nav: |\n  # others\n  /lost.md\n", {"sub/b.md"}),
        ("nav: [a.md]\nnot_in_nav: |\n  *.md\n  !/sub/\n  !/sub/b.md\n", {"sub/b.md"}),
        ("site_name: Docs\n", set()),
    ],
)
def test_pages_that_the_navigation_leaves_out(tmp_path: Path, config: str, unlisted: set[str]) -> None:
    pages = ("index", "a", "sub/b", "lost")
    write(tmp_path, {f"docs/{page}.md": f"# {page}\n" for page in pages})
    html = "<html><body><article><h1>x</h1><p>text</p></article></body></html>"
    write(tmp_path, {f"site/{page}{'' if page == 'index' else '/index'}.html": html for page in pages})
    write(tmp_path, {"mkdocs.yml": config})
    documents = list(SiteFolder(tmp_path / "site", load_site_config(tmp_path / "mkdocs.yml")))
    assert len(documents) == 4
    assert {document.path for document in documents if not document.listed} == unlisted


def test_zensical_toml(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "zensical.toml": '[project]\nsite_name = "Z"\nnav = [{"Start" = "index.md"}]\n',
            "docs/index.md": "---\nlevel: 1\n---\n# Hi\n",
            "site/index.html": '<article class="md-content__inner"><h1 id="hi">Hi</h1></article>',
        },
    )
    document = pages(tmp_path, "zensical.toml")["index.md"]
    assert (document.title, document.front_matter) == ("Start", {"level": 1})


def test_an_empty_link_target_before_the_heading_does_not_hide_it(tmp_path: Path) -> None:
    """Zensical writes the target of its skip link there."""
    html = '<article class="md-content__inner"><a id="__skip"></a>\n<h1 id="k">Rotating keys</h1><p>x</p></article>'
    write(tmp_path, {"mkdocs.yml": "site_name: Z\n", "docs/keys.md": "# Rotating keys\n", "site/keys/index.html": html})
    assert pages(tmp_path, "mkdocs.yml")["keys.md"].title == "Rotating keys"


def test_encrypted_pages_are_left_out(tmp_path: Path) -> None:
    """As mkdocs-encryptcontent writes them."""
    html = '<main><h1>Secret</h1><div id="mkdocs-encrypted-content" style="display:none">a8f3;9b</div></main>'
    write(tmp_path / "site", {"index.html": "<main><h1>Home</h1><p>x</p></main>", "secret/index.html": html})
    source = SiteFolder(tmp_path / "site")
    assert [document.path for document in source] == ["index.html"]
    assert source.left_out() == {"secret/index.html": "encrypted"}


@pytest.mark.parametrize("text", ["a: [", "- list", "!!python/name:a.b", "\0"])
def test_a_configuration_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"mkdocs.yml": text, "site/index.html": ""})
    with pytest.raises(ConfigurationError, match=r"mkdocs\.yml"):
        SiteFolder(tmp_path / "site", load_site_config(tmp_path / "mkdocs.yml"))


def test_options_that_are_no_mapping_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"mkdocs.yml": "plugins:\n  - semsearch: [static]\n", "docs/index.md": "# Home\n"})
    with pytest.raises(ConfigurationError, match=r"mkdocs\.yml, plugin semsearch: \['static'\] is not a mapping"):
        load_site_config(tmp_path / "mkdocs.yml")
    (tmp_path / "mkdocs.yml").write_text("plugins:\n  - semsearch:\n")
    assert load_site_config(tmp_path / "mkdocs.yml").plugin_options == {}
    (tmp_path / "mkdocs.yml").write_bytes(b"site_name: \xff\n")
    with pytest.raises(ConfigurationError, match="it is not UTF-8 text"):
        load_site_config(tmp_path / "mkdocs.yml")


@pytest.mark.parametrize("option", ["site_url", "repo_url"])
@pytest.mark.parametrize("address", ["http://[", "docs.example.org", "/docs/"])
def test_an_address_that_mkdocs_refuses_is_an_error(tmp_path: Path, option: str, address: str) -> None:
    write(tmp_path, {"mkdocs.yml": f"{option}: '{address}'\nedit_uri: edit/\n", "docs/index.md": "# Home\n"})
    with pytest.raises(ConfigurationError, match=rf"mkdocs\.yml: {option} '.*' is not an address such as https://docs"):
        load_site_config(tmp_path / "mkdocs.yml")


def test_missing_folders_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="build the site first"):
        SiteFolder(tmp_path / "nowhere")
    write(tmp_path, {"mkdocs.yml": "site_name: x\n", "site/index.html": ""})
    with pytest.raises(ConfigurationError, match="docs folder"):
        SiteFolder(tmp_path / "site", load_site_config(tmp_path / "mkdocs.yml"))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        SiteFolder(tmp_path / "site", load_site_config(tmp_path / "other.yml"))


def test_broken_front_matter_is_reported_with_its_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "mkdocs.yml": "site_name: x\n",
            "docs/a.md": "---\ntitle: [\n---\n# A\n",
            "site/a/index.html": '<main><h1 id="a">A</h1></main>',
        },
    )
    source = SiteFolder(tmp_path / "site", load_site_config(tmp_path / "mkdocs.yml"))
    (document,) = source
    assert (document.title, document.front_matter) == ("A", {})
    (sentence,) = source.warnings()
    assert "a.md" in sentence


EDIT = '<a href="https://example.org/edit">Edit this page</a>'
BUILT_BY_OTHERS = {
    "docusaurus": '<html class="docs-wrapper docs-doc-page"><body><a class="skipToContent_x" href="#c">Skip to main '
    'content</a><main><article><nav class="theme-doc-breadcrumbs">Home</nav><span class="theme-doc-version-badge">'
    'Version: 3</span><div class="theme-doc-toc-mobile">On this page</div><div class="theme-doc-markdown markdown">'
    f'<header><h1>T</h1></header><p>x</p></div><footer class="theme-doc-footer">{EDIT}</footer></article></main>',
    "docusaurus-blog": "<title>T | Site</title><main><article><header><h1>T</h1><time>28 mai 2019</time></header><div "
    'id="__blog-post-container" class="markdown"><h1>T</h1><p>x</p></div></article></main>',
    "vitepress": '<div id="VPContent"><aside class="VPDocAside">On this page</aside><main class="main"><div '
    'class="vp-doc"><div><h1 id="t">T</h1><p>x</p><div class="language-js"><button class="copy"></button><span '
    f'class="lang">js</span></div></div></div></main><footer class="VPDocFooter">{EDIT}</footer></div>',
    "sphinx": '<div class="document"><div class="body" role="main"><section id="t"><h1>T<a class="headerlink" '
    'href="#t">¶</a></h1><nav class="contents">On this page</nav><div class="toctree-wrapper"><ul><li>Other</li></ul>'
    '</div><p>x</p></section></div></div><div class="sphinxsidebar">menu</div>',
    "jupyter-book": '<main class="bd-main"><div id="jb-print-docs-body" class="onlyprint"><h1>T</h1>'
    '<h2>Contents</h2></div><article class="bd-article"><section id="t"><h1>T</h1><div class="cell tag_hide-input">'
    '<details class="hide"><summary><span>Show code cell source</span></summary><p>x</p></details></div></section>'
    "</article>"
    '<footer class="bd-footer-content"><p>By Jo Doe</p></footer></main>',
    "sphinx-shibuya": '<main><article><h1>T</h1><p>x</p></article><div class="navigation"><div '
    'class="navigation-prev"><a>Previous Home</a></div><div class="navigation-next"><a>Next Use</a></div></div></main>',
    "sphinxawesome": '<main><div><h1>T</h1><p>x</p></div><aside id="right-sidebar"><p>On this page</p></aside></main>',
    "jekyll": '<div role="main"><h1 id="t">T</h1><ul id="markdown-toc"><li><a href="#a">A</a></li></ul><p>x</p></div>',
    "just-the-docs": '<main><h1 id="t">T</h1><h2 class="no_toc text-delta" id="table-of-contents">Table of '
    'contents</h2><ol id="markdown-toc"><li><a href="#a">A</a></li></ol><p>x</p><hr><h2 class="text-delta">Table of '
    'contents</h2><ul><li><a href="/u">U</a></li></ul></main>',
    "just-the-docs-details": '<main><h1 id="t">T</h1><details class="details-toc"><summary>Contents</summary><ol><li>A'
    '</ol></details><details><summary class="text-delta">Contents</summary>\n<ol id="markdown-toc"><li>A</ol></details>'
    "<p>x</p></main>",
    "hugo": '<div class="td-main"><main><nav aria-label="breadcrumb">Docs</nav><div class="td-content"><h1>T</h1>'
    f'<p>x</p></div><div class="td-page-feedback">Was this page helpful?</div>{EDIT}</main></div>',
    "docsy": '<div class="td-main"><main><nav class="td-breadcrumbs">Docs</nav><div class="td-content"><h1>T</h1>'
    '<header class="article-meta"></header><p>x</p><div class="d-print-none"><h2 class="feedback--title">Feedback</h2>'
    '<p class="feedback--question">Was this page helpful?</p><button class="btn feedback--answer">Yes</button><p '
    'class="feedback--response feedback--response-yes">Glad to hear it!</p></div></div></main></div>',
    "hextra": '<main id="content" class="hextra-max-content-width"><div><a href="/docs/">Documentation</a><div>T</div>'
    '</div><div class="content"><h1>T</h1><div class="hextra-page-context-menu">View as Markdown</div><p>x</p></div>'
    "<div>Last updated on <time>May 6, 2026</time></div><div><a>Diagrams</a></div></main>",
    "hugo-book": '<main><div class="book-page"><header class="book-header"><h3>T</h3><img alt="Table of Contents">'
    '</header><article class="markdown book-article"></article><h1>T</h1><p>x</p><footer class="book-footer">'
    f"{EDIT}</footer></div></main>",
    "mdbook": '<div class="menu-bar"><h1>Book</h1></div><main><h1 id="t"><a class="header" href="#t">T</a></h1><p>x</p>'
    '</main><nav class="nav-wide-wrapper">Next chapter</nav>',
    "pelican": '<section id="content"><article><header><h1>T</h1></header><div class="entry-content"><footer '
    'class="post-info">Published: Mon 05 January 2026</footer><p>x</p></div></article></section>',
    "footers": '<main id="content"><h1>T</h1><p>x</p><footer><p>Found a bug? <a>Edit</a></p></footer></main>',
    "starlight-footer": '<main><h1>T</h1><div class="content-panel"><div class="sl-markdown-content"><p>x</p></div>'
    '<footer><p>Last updated: 1 May</p><div class="pagination-links"><a>Next page: U</a></div></footer></div></main>',
    "starlight": '<main><h1 id="_top">T</h1><div class="sl-markdown-content"><p>x</p><div class="expressive-code">'
    '<figure><figcaption><span class="title"></span><span class="sr-only">Terminal window</span></figcaption></figure>'
    "</div></div></main>",
    "plain": f"<main><p>{EDIT}</p><h1>T</h1><p>x</p></main>",
}


@pytest.mark.parametrize("html", BUILT_BY_OTHERS.values(), ids=BUILT_BY_OTHERS)
def test_navigation_of_other_generators_is_left_out(tmp_path: Path, html: str) -> None:
    write(tmp_path / "site", {"index.html": html})
    (document,) = pages(tmp_path).values()
    found = [item.text for item in read_page(document.html)]
    assert (document.title, found) == ("T", ["T", "x"])


def test_headings_that_look_like_those_of_a_navigation_stay() -> None:
    rendered = read_rendered_page(
        '<main><h1>T</h1><hr><h2 class="text-delta" id="parts">Parts</h2><ul><li>One</li></ul><h2 id="markdown-toc">Toc'
        '</h2><p>x</p><h2 id="right-sidebar">Sidebar</h2></main>'
    )
    assert isinstance(rendered, RenderedPage)
    assert [item.text for item in read_page(rendered.content)] == ["T", "Parts", "- One", "Toc", "x", "Sidebar"]


@pytest.mark.parametrize("section", ["<section>", '<div class="section">'])
def test_the_pages_in_a_single_page_of_sphinx_are_read(section: str) -> None:
    toc = '<div class="toctree-wrapper compound">{}</div>'
    page = f"<main><section><h1>T</h1>{toc.format('<ul><li>Other</li></ul>')}{toc.format(section + '<h2>Use</h2><p>x')}"
    rendered = read_rendered_page(page)
    assert isinstance(rendered, RenderedPage)
    assert [item.text for item in read_page(rendered.content)] == ["T", "Use", "x"]


@pytest.mark.parametrize("link", ['class="header" href="#a"', 'class="toc-backref" role="doc-backlink" href="#i"'])
def test_a_heading_with_the_words_of_a_link_of_the_theme_stays(link: str) -> None:
    rendered = read_rendered_page(f'<main><h1>T</h1><h2 id="a"><a {link}>Report an issue</a></h2><p>x</p></main>')
    assert isinstance(rendered, RenderedPage)
    assert [item.text for item in read_page(rendered.content)] == ["T", "Report an issue", "x"]


def test_objects_on_a_page_of_pdoc_are_sections_without_their_source_code() -> None:
    source = '<input class="view-source-toggle-state"><div class="attr"><span>def {0}()</span><label '
    source += 'class="view-source-button">View Source</label></div>'
    source += (
        '<div class="pdoc-code codehilite"><pre>def {0}(): pass</pre></div><div class="docstring"><p>Text of {0}:</p>'
    )
    source += '<div class="pdoc-code codehilite"><pre>{0}()</pre></div></div>'
    method = f'<div id="Box.open" class="classattr">{source.format("open")}</div>'
    page = read_rendered_page(
        f'<main class="pdoc"><h1>m</h1><section id="Box">{source.format("Box")}{method}</section>'
    )
    assert isinstance(page, RenderedPage)
    items = read_page(page.content)
    assert [(item.text, item.anchor) for item in items if isinstance(item, Heading)][1:] == [
        ("Box", "Box"),
        ("open", "Box.open"),
    ]
    texts = [item.text for item in items if isinstance(item, Block)]
    assert texts == ["def Box()", "Text of Box:", "Box()", "def open()", "Text of open:", "open()"]


def test_a_page_that_shows_the_page_of_another_language_is_left_out(tmp_path: Path) -> None:
    page = '<html lang="{}"><main lang="{}"><h1>T</h1><p>Text of {}</p></main></html>'
    files = {
        "a.html": ("en", "en"),
        "fr/a.html": ("fr", "en"),
        "fr/b.html": ("fr", "fr"),
        "fr/quoted.html": ("fr", "en"),
        "fr-own.html": ("fr", "en"),
        "de/c.html": ("de", "de"),
        "pt-br/c.html": ("pt-BR", "de"),
    }
    write(tmp_path / "site", {path: page.format(*languages, path) for path, languages in files.items()})
    source = SiteFolder(tmp_path / "site")
    kept = [document.path for document in source]
    assert kept == ["a.html", "fr-own.html", "de/c.html", "fr/b.html", "fr/quoted.html"]
    assert source.left_out() == dict.fromkeys(("fr/a.html", "pt-br/c.html"), "not translated")


def test_a_footer_that_the_author_writes_stays() -> None:
    quotation = "<blockquote><p>To be.</p><footer>Hamlet</footer></blockquote>"
    page = read_rendered_page(f"<main><article><h1>T</h1>{quotation}<footer>Notes</footer></article></main>")
    assert isinstance(page, RenderedPage)
    assert [item.text for item in read_page(page.content) if isinstance(item, Block)] == ["To be.", "Hamlet", "Notes"]


def test_views_and_lists_of_terms_are_left_out_with_the_reason(tmp_path: Path) -> None:
    hugo = '<meta name="generator" content="Hugo 0.150.0"><main><h1>T</h1><p>x</p></main>'
    write(
        tmp_path / "site",
        {
            "index.html": hugo,
            "tags/a/index.html": hugo,
            "blog/page/2/index.html": hugo,
            "guide/tags/index.html": hugo,
            "blog/archive/index.html": '<html class="blog-wrapper blog-archive-page"><main><p>x</p></main>',
            "secret.html": '<meta property="robots" content="noindex"><p>x</p>',
            "genindex.html": "<p>x</p>",
            "py-modindex.html": "<p>x</p>",
            "_modules/a.html": "<p>x</p>",
            "book/index.html": "<main><p>first chapter</p></main>",
            "book/first.html": "<main><p>first chapter</p></main>",
        },
    )
    source = SiteFolder(tmp_path / "site")
    assert [document.path for document in source] == ["index.html", "book/index.html", "guide/tags/index.html"]
    assert source.left_out() == {
        "tags/a/index.html": "list of other pages",
        "blog/page/2/index.html": "list of other pages",
        "blog/archive/index.html": "list of other pages",
        "secret.html": "noindex",
        "genindex.html": "list of terms, or source code",
        "py-modindex.html": "list of terms, or source code",
        "_modules/a.html": "list of terms, or source code",
        "book/first.html": "the same as book/index.html",
    }


def test_lists_and_the_search_page_of_sphinx_are_left_out_in_folders_of_their_own(tmp_path: Path) -> None:
    page = '<div role="main"><section><h1>{}</h1><p>x</p></section></div>'
    search = (
        '<script src="../_static/searchtools.js"></script><main><h1>Search</h1><div id="search-results"></div></main>'
    )
    names = ("index.html", "usage/index.html", "genindex/index.html", "genindex-A/index.html", "py-modindex/index.html")
    write(tmp_path / "site", {name: page.format(name) for name in names})
    write(tmp_path / "site", {"search/index.html": search, "guide/search/index.html": page.format("Search")})
    source = SiteFolder(tmp_path / "site")
    assert [document.path for document in source] == ["index.html", "guide/search/index.html", "usage/index.html"]
    assert source.left_out()["search/index.html"] == "error or search page"
    assert set(source.left_out()) == {"search/index.html", *names[2:]}


def test_generator_that_only_the_home_page_names_is_that_of_the_site(tmp_path: Path) -> None:
    listed = "<main><h1>T</h1><p>x</p></main>"
    home = f'<meta name="generator" content="Hugo 0.150.0">{listed}'
    write(tmp_path / "site", {"index.html": home, "tags/a/index.html": listed, "guide/index.html": listed})
    source = SiteFolder(tmp_path / "site")
    assert [document.path for document in source] == ["index.html", "guide/index.html"]
    assert source.left_out() == {"tags/a/index.html": "list of other pages"}


@pytest.mark.parametrize(("generator", "is_list"), [("Pelican", True), ("Sphinx 9", False)])
def test_further_parts_of_the_list_of_posts_are_left_out(tmp_path: Path, generator: str, *, is_list: bool) -> None:
    home = f'<meta name="generator" content="{generator}"><main><h1>T</h1><p>x</p></main>'
    write(tmp_path / "site", {"index.html": home, "index2.html": "<main><h1>T</h1><p>more</p></main>"})
    assert list(pages(tmp_path)) == (["index.html"] if is_list else ["index.html", "index2.html"])


def test_a_page_about_tags_of_an_unknown_generator_stays(tmp_path: Path) -> None:
    write(tmp_path / "site", {"tags/index.html": "<main><h1>Tags</h1><p>x</p></main>"})
    assert list(pages(tmp_path)) == ["tags/index.html"]


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Fast docs</title><main><h1>Index</h1><p>x</p></main>", "Fast docs"),
        ("<title>Index - Docs</title><main><h1>Fast docs</h1><p>x</p></main>", "Fast docs"),
        (
            "<title>Fast docs</title><article class='md-content__inner'></article><section><h2>Why</h2></section>",
            "Fast docs",
        ),
    ],
)
def test_a_home_page_is_called_by_its_heading_or_title(tmp_path: Path, html: str, title: str) -> None:
    write(tmp_path / "site", {"index.html": html})
    (document,) = pages(tmp_path).values()
    assert document.title == title


def test_text_around_an_empty_content_element_is_read(tmp_path: Path) -> None:
    html = (
        '<header>menu</header><section class="hero"><h1>Fast docs</h1><p>Words of the hero.</p></section>'
        '<main><article class="md-content__inner"></article></main><footer>f</footer>'
    )
    write(tmp_path / "site", {"index.html": html})
    (document,) = pages(tmp_path).values()
    assert [item.text for item in read_page(document.html)] == ["Fast docs", "Words of the hero."]


def test_the_newest_version_in_a_site_comes_first(tmp_path: Path) -> None:
    names = ("1.0/a.html", "2.0/a.html", "10.0/a.html", "dev/a.html", "index.html")
    write(tmp_path / "site", {name: f"<main><h1>A</h1><p>{name}</p></main>" for name in names})
    assert list(pages(tmp_path)) == ["index.html", "10.0/a.html", "2.0/a.html", "1.0/a.html", "dev/a.html"]


def test_translations_in_a_built_site_know_each_other(tmp_path):
    """As VitePress, Hugo and Docusaurus write them; the theme says `en` on every page."""
    for path, heading in {
        "guide/index.html": "Install the firewall",
        "uk/guide/index.html": "Встановіть мережевий екран",
        "de/guide/index.html": "Die Firewall wird von der Verwaltung installiert",
        "it/team.html": "The people of the team",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f'<html lang="en"><body><main><h1>{heading}</h1><p>{heading}.</p></main></body></html>', "utf-8"
        )
    chunker = Chunker(ChunkSettings(), (), lambda text: len(text.split()))
    found = {page.path: page for page in with_translations([chunker.chunk(page) for page in SiteFolder(tmp_path)])}
    assert {path: page.language for path, page in found.items()} == {
        "guide/index.html": "en",
        "uk/guide/index.html": "uk",
        "de/guide/index.html": "de",
        "it/team.html": "en",
    }
    urls = {"en": "guide/", "uk": "uk/guide/", "de": "de/guide/"}
    assert all(dict(page.translations) == urls for path, page in found.items() if path != "it/team.html")
    assert found["it/team.html"].translations == {}


def test_documents_of_docusaurus_with_one_id_are_translations_whatever_their_addresses(tmp_path):
    """Docusaurus writes the address of another language with the same slug, also where the translation has its own."""
    for path, language, version, name in (
        ("docs/intro/index.html", "en", "1.0", "intro"),
        ("fr/docs/presentation/index.html", "fr", "1.0", "intro"),
        ("docs/next/intro/index.html", "en", "current", "intro"),
        ("fr/docs/autre/index.html", "fr", "1.0", "other"),
    ):
        classes = f"docs-wrapper plugin-docs plugin-id-default docs-version-{version} docs-doc-page docs-doc-id-{name}"
        links = '<link rel="alternate" hreflang="fr" href="/fr/docs/intro/">'
        page = f'<html lang="{language}" class="{classes}">{links}<main><h1>T {path}</h1><p>{language}</p></main>'
        write(tmp_path, {path: page})
    chunker = Chunker(ChunkSettings(), (), lambda text: len(text.split()))
    found = {page.url: page.translations for page in with_translations(list(map(chunker.chunk, SiteFolder(tmp_path))))}
    both = {"en": "docs/intro/", "fr": "fr/docs/presentation/"}
    assert found == {
        "docs/intro/": both,
        "fr/docs/presentation/": both,
        "docs/next/intro/": {},
        "fr/docs/autre/": {},
    }


@pytest.mark.parametrize(
    ("options", "address"),
    [
        (
            "repo_url: https://git.example/me/docs\nedit_uri: edit/main/docs",
            "https://git.example/me/docs/edit/main/docs/{path}",
        ),
        ("edit_uri: https://git.example/edit/", "https://git.example/edit/{path}"),
        ("repo_url: https://git.example/x\nedit_uri: ?edit=", "https://git.example/x?edit=/{path}"),
        (
            "repo_url: https://git.example/x\nedit_uri_template: 'e/{path_noext}'",
            "https://git.example/x/e/{path_noext}",
        ),
        ("repo_url: https://git.example/x", ""),
        ("site_name: Demo", ""),
    ],
)
def test_a_configuration_says_where_pages_are_edited(tmp_path: Path, options: str, address: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(f"{options}\n", encoding="utf-8")
    assert load_site_config(tmp_path / "mkdocs.yml").edit_url == address


def test_sources_are_found_behind_links_to_folders_as_mkdocs_finds_them(tmp_path: Path) -> None:
    write(tmp_path, {"mkdocs.yml": "site_name: x\n", "docs/index.md": "# Home\n", "site/index.html": "<h1>Home</h1>"})
    write(tmp_path, {"other/secret.md": "---\nsearch: {exclude: true}\n---\n# Secret\n"})
    write(tmp_path, {"site/linked/secret/index.html": "<h1>Secret</h1>"})
    (tmp_path / "docs/linked").symlink_to("../other", target_is_directory=True)
    (tmp_path / "other/around").symlink_to("..", target_is_directory=True)
    found = pages(tmp_path, "mkdocs.yml")
    assert found["linked/secret.md"].front_matter == {"search": {"exclude": True}}


def test_folders_and_broken_links_named_like_pages_are_no_pages(tmp_path: Path) -> None:
    write(tmp_path, {"site/index.html": "<h1>Home</h1>", "site/foo.html/index.html": "<h1>Foo</h1>"})
    (tmp_path / "site/gone.html").symlink_to("nowhere.html")
    assert sorted(pages(tmp_path)) == ["foo.html/index.html", "index.html"]


def test_a_file_name_that_is_not_utf8_is_left_out_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, {"site/index.html": "<h1>Home</h1>"})
    try:
        Path(os.fsdecode(os.fsencode(tmp_path / "site") + b"/caf\xe9.html")).write_text("<h1>Old</h1>")
    except (OSError, UnicodeError):
        pytest.skip("this file system accepts UTF-8 only")
    source = SiteFolder(tmp_path / "site")
    assert [document.path for document in source] == ["index.html"]
    assert source.left_out() == {"caf\N{REPLACEMENT CHARACTER}.html": "its name is not UTF-8"}


@pytest.mark.parametrize(
    ("titles", "name"),
    [
        (
            ("Frob 1.3.0 documentation", "Install &#8212; Frob 1.3.0 documentation", "Use - Frob 1.3.0 documentation"),
            "Frob",
        ),
        (
            ("Handbuch 2.1 Dokumentation", "A - Handbuch 2.1 Dokumentation", "B - Handbuch 2.1 Dokumentation"),
            "Handbuch",
        ),
        (("Home | My Docs", "Install | My Docs", "Run - Guide | My Docs"), "My Docs"),
        (("Install :: Relearn", "Use :: Relearn", "A :: Relearn :: B"), "Relearn"),
        (("Install – Guide – Site", "Use – Guide – Site", "Home – Site"), "Site"),
        (("A · Site", "B", "C", "D · Site"), ""),
        (("Install", "Use", "A - B"), ""),
        (("Why - a question",), ""),
    ],
)
def test_without_a_configuration_the_site_is_named_by_the_titles_of_its_pages(
    tmp_path: Path, titles: tuple[str, ...], name: str
) -> None:
    for number, title in enumerate(titles):
        path = f"page{number}.html" if number else "index.html"
        write(tmp_path / "public", {path: f"<title>{title}</title><main><p>Text {number}</p></main>"})
    source = SiteFolder(tmp_path / "public")
    assert len(list(source)) == len(titles)
    assert source.site().name == name


def test_without_a_configuration_the_home_page_names_the_site(tmp_path: Path) -> None:
    name = '<meta property="og:site_name" content="Frob Docs">'
    for path in ("index.html", "a.html", "b.html"):
        write(tmp_path / "site", {path: f"<title>{path} | Frob</title>{name}<main><p>{path}</p></main>"})
    source = SiteFolder(tmp_path / "site")
    assert len(list(source)) == 3
    assert source.site().name == "Frob Docs"


@pytest.mark.parametrize(
    ("home", "others", "language"),
    [
        ("de", ("en", "en"), "de"),
        ("pt-BR", (), "pt-BR"),
        ("{{ lang }}", ("fr", "fr", "en"), "fr"),
        ("", ("", ""), "en"),
        (None, ("en", "de", "de"), "de"),
    ],
)
def test_without_a_configuration_the_language_is_that_of_the_home_page_or_of_most_pages(
    tmp_path: Path, home: str | None, others: tuple[str, ...], language: str
) -> None:
    redirect = "<meta http-equiv=refresh content='0; url=de/'>"
    first = redirect if home is None else f'<html lang="{home}"><main><p>Home</p></main></html>'
    write(tmp_path / "site", {"index.html": first})
    for number, other in enumerate(others):
        text = f'<html lang="{other}"><main><p>Text {number}</p></main></html>'
        write(tmp_path / "site", {f"page{number}.html": text})
    source = SiteFolder(tmp_path / "site")
    list(source)
    assert source.site().language == language
