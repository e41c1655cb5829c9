from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_semsearch.chunking import Document
from mkdocs_semsearch.chunking.html.main_content import read_rendered_page
from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.site.built_site import SiteFolder
from mkdocs_semsearch.site.site_config import load_site_config


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
    assert page is not None
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
    assert (entry.position, entry.title, entry.section) == (1, "Last", "Deep")
    assert config.nav_entry("not/in/nav.md") is None


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


@pytest.mark.parametrize("text", ["a: [", "- list", "!!python/name:a.b", "\0"])
def test_a_configuration_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"mkdocs.yml": text, "site/index.html": ""})
    with pytest.raises(ConfigurationError, match=r"mkdocs\.yml"):
        SiteFolder(tmp_path / "site", load_site_config(tmp_path / "mkdocs.yml"))


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
    (sentence,) = source.misfits()
    assert "a.md" in sentence
