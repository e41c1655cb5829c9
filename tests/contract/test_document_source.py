"""The contract of `DocumentSource`, and equal chunks from both implementations for the same site."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.plugins import event_priority

from mkdocs_semsearch.artifact.fields import FacetDeclaration
from mkdocs_semsearch.chunking import ChunkedPage, Chunker, ChunkSettings, Document, DocumentSource
from mkdocs_semsearch.plugin.pages import MkDocsPages
from mkdocs_semsearch.site.built_site import SiteFolder
from mkdocs_semsearch.site.source_files import load_site_config
from tests.integration.sites import THEMES

PAGES = {
    "index.md": "# Welcome\n\nStart [here](guide/auth.md).\n\n## First steps\n\nInstall, then run.\n",
    "guide/auth.md": """---
title: Authentication
tags: [security, api]
source: [one.py]
---

# Sign in & out

Lead text with `code`, **bold**[^1].

## Tokens { #tokens }

| Name | Use |
| ---- | --- |
| read | r   |

=== "Python"

    ```python
    rotate(key)
    ```

=== "Shell"

    ```bash
    rotate --key
    ```

!!! warning
    Never share it.

### Deep

1. one
    - two

## Hidden { data-search-exclude }

Not to be found.

### Hidden as well

No.

## Hidden { data-search-exclude=yes }

Material removes the attribute from the page, but not from the source.

## Visible

Term
:   what it means

[^1]: A note.
""",
    "guide/README.md": "Only text, no heading at all.\n",
    "guide/excluded.md": "---\nsearch:\n  exclude: true\n---\n# Excluded\n\nNo.\n",
    "guide/boosted.md": "---\nsearch: {boost: 3}\ntags: x\n---\n\nSetext\n===\n\nabc\n\nSub *section*\n---\n\nmore\n",
    "guide/keys-&-locks.md": "What this is about.\n\n## Keys & locks\n\nHow they work.\n",
    "guide/empty.md": "---\ntags: x\n---\n",
    "reference/getting-started/list.md": "- a\n- b\n",
    "tag page.md": "<!-- first -->\n# Späßchen\n\nEmoji 😀 text.\n",
}

EXTENSIONS = {
    "toc": {"permalink": True},
    "attr_list": {},
    "admonition": {},
    "def_list": {},
    "footnotes": {},
    "tables": {},
    "pymdownx.superfences": {},
    "pymdownx.tabbed": {"alternate_style": True},
    "pymdownx.highlight": {"linenums": True},
}

NAV = [
    {"Start": "index.md"},
    {"Guides": ["guide/README.md", {"Signing in": [{"Auth": "guide/auth.md"}]}, "guide/boosted.md"]},
]


@dataclasses.dataclass
class BuiltSite:
    config_file: Path
    site_dir: Path
    pages: MkDocsPages


def build_site(folder: Path, theme: str, **options: object) -> BuiltSite:
    docs_dir = folder / "docs"
    for path, text in PAGES.items():
        (docs_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (docs_dir / path).write_text(text, encoding="utf-8")
    (docs_dir / "copied.html").write_text("<html lang=en><h1>Copied</h1>", encoding="utf-8")
    config_file = folder / "mkdocs.yml"
    import yaml

    settings = {
        "site_name": "Docs",
        "site_dir": str(folder / "site"),
        "theme": {"name": theme},
        "repo_url": "https://code.example/a/b",
        "edit_uri": "edit/main/docs/",
        "markdown_extensions": [{name: values} if values else name for name, values in EXTENSIONS.items()],
        "plugins": ["search"],
        **options,
    }
    config_file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    pages = MkDocsPages()
    config = load_config(str(config_file))
    register(config, pages)
    build(config)
    return BuiltSite(config_file, folder / "site", pages)


def register(config, pages: MkDocsPages) -> None:
    def on_nav(nav, *, config, files):
        pages.begin()
        pages.read_navigation(nav, files, preview=False)
        return nav

    @event_priority(1000)
    def on_page_markdown(markdown, *, page, config, files):
        pages.read_source(markdown, page, config)

    @event_priority(100)
    def on_page_context(context, *, page, config, nav):
        pages.collect(page, context, config)

    for name, hook in (("nav", on_nav), ("page_markdown", on_page_markdown), ("page_context", on_page_context)):
        config.plugins._register_event(name, hook)


def chunked(source: DocumentSource) -> list[ChunkedPage]:
    facets = [
        FacetDeclaration("tags", "list", "Tags"),
        FacetDeclaration("page.section", "string", "Section"),
    ]
    chunker = Chunker(ChunkSettings(max_tokens=30, overlap_tokens=5), facets, lambda text: len(text.split()))
    return [page for page in map(chunker.chunk, source) if page is not None]


@pytest.fixture(params=THEMES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> BuiltSite:
    return build_site(tmp_path, request.param)


def test_a_site_folder_has_the_same_chunks_as_the_plugin(site: BuiltSite) -> None:
    from_plugin = chunked(site.pages)
    from_folder = chunked(SiteFolder(site.site_dir, load_site_config(site.config_file)))
    assert [page.path for page in from_folder] == [page.path for page in from_plugin]
    for page, expected in zip(from_folder, from_plugin, strict=True):
        assert page == expected
    hierarchies = {chunk.heading_hierarchy for page in from_folder for chunk in page.chunks}
    assert ("Authentication", "Sign in & out", "Tokens", "Deep") in hierarchies
    assert not any("Hidden" in part for hierarchy in hierarchies for part in hierarchy)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("directory_urls", [True, False])
def test_the_same_with_a_navigation_and_either_kind_of_urls(theme: str, directory_urls: bool, tmp_path: Path) -> None:
    site = build_site(tmp_path, theme, nav=NAV, use_directory_urls=directory_urls)
    from_plugin = chunked(site.pages)
    from_folder = chunked(SiteFolder(site.site_dir, load_site_config(site.config_file)))
    assert from_folder[:4] == from_plugin[:4]
    assert sorted(from_folder, key=lambda page: page.path) == sorted(from_plugin, key=lambda page: page.path)
    sections = {page.path: page.section for page in from_folder}
    assert sections["guide/auth.md"] == "Guides"
    assert {page.path: page.breadcrumbs for page in from_folder}["guide/auth.md"][0] == "Guides"
    assert sections["index.md"] is None
    assert {page.path: page.title for page in from_folder}["guide/auth.md"] == "Auth"


def sources(site: BuiltSite) -> Iterator[tuple[DocumentSource, int]]:
    """Sources with the expected number of pages."""
    yield site.pages, len(PAGES)
    yield SiteFolder(site.site_dir, load_site_config(site.config_file)), len(PAGES)
    yield SiteFolder(site.site_dir), len(PAGES) + 1  # cannot tell the copied file from a page


def test_every_source_keeps_the_contract(site: BuiltSite) -> None:
    for source, count in sources(site):
        documents = list(source)
        assert documents == list(source)
        assert len({document.path for document in documents}) == len(documents) == count
        for document in documents:
            check(document)


def check(document: Document) -> None:
    assert document.title
    assert not document.url.startswith("/")
    assert " " not in document.url
    assert "<nav" not in document.html
    assert "Edit on" not in document.html
    assert document.file_size > 0
    assert document.language == "en"


def test_without_a_configuration_pages_have_their_html_paths(tmp_path: Path) -> None:
    site = build_site(tmp_path, "material")
    pages = {page.path: page for page in chunked(SiteFolder(site.site_dir))}
    assert pages["index.html"].url == ""
    assert pages["guide/auth/index.html"].url == "guide/auth/"
    assert pages["tag page/index.html"].url == "tag%20page/"
    assert pages["guide/auth/index.html"].title == "Sign in & out"
    assert all(chunk.start_line is None for page in pages.values() for chunk in page.chunks)
