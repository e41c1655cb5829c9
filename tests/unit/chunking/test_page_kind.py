from __future__ import annotations

import time
from typing import Any

import pytest

from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document
from mkdocs_semsearch.chunking.page_role import kind_in_site, page_kind, unlisted_pages

PROSE = [(), ("Install",), ("Configure the client",), ("Configure the client", "Proxies"), ("Next steps",)]
VERSIONS = [
    ("Unreleased",),
    ("1.4.0 (2024-05-01)",),
    ("1.4.0 (2024-05-01)", "Fixed"),
    ("1.3.2",),
    ("v1.3.1 - 2024-04-02",),
]
NAMES = [
    ("site_name",),
    ("docs_dir",),
    ("--strict",),
    ("repo_url",),
    ("BasePlugin",),
    ("load_config(path)",),
    ("Notes",),
]


@pytest.mark.parametrize(
    ("path", "title", "headings", "kind"),
    [
        ("guide/install.md", "Install", PROSE, "guide"),
        ("changelog.md", "Changelog", [], "changelog"),
        ("about/release-notes.md", "Release notes", PROSE, "changelog"),
        ("release-notes/version-4.5.md", "NetBox v4.5", PROSE, "changelog"),
        ("release-notes-2.1.md", "2.1", PROSE, "changelog"),
        ("new.md", "What's new in 1.13", PROSE, "changelog"),
        ("new-features.md", "New features in v4.1 (2026-08-11)", PROSE, "changelog"),
        ("community/3.15-announcement.md", "Search 3.15", PROSE, "changelog"),
        ("releases/1.10-NOTES.md", "Significant changes", PROSE, "changelog"),
        ("breaking-changes/0.146.0.md", "v0.146.0 renames the schema", PROSE, "changelog"),
        (
            "release.md",
            "Release process/changelog",
            [("Versioning",), *(("Changes", f"0.{n}.0") for n in range(5))],
            "changelog",
        ),
        ("CHANGELOG.md", "Index", PROSE, "changelog"),
        ("operator-manual/upgrading/2.0-2.1.md", "v2.0 to 2.1", PROSE, "changelog"),
        ("migrate/1.x-2.x.md", "1.x → 2.x", PROSE, "changelog"),
        ("upgrade/v3.md", "Version 3.2", PROSE, "changelog"),
        ("history/hatch.md", "Hatch", VERSIONS, "changelog"),
        ("history.md", "History", [("2.0.1",), ("Thanks",)], "guide"),
        ("releases.md", "Releases", [("2.0.1",)], "changelog"),
        ("Releases.md", "Releases", [("Klipper 0.13.0",), ("Klipper 0.12.0 (2023-11-10)",)], "changelog"),
        ("Config_Reference.md", "Configuration reference", PROSE, "reference"),
        ("blog/posts/release-1.0.md", "Release 1.0", PROSE, "blog"),
        ("de/blog/posts/hallo.md", "Hallo", PROSE, "blog"),
        ("news/posts/2024-01-18-release.md", "A release", PROSE, "blog"),
        ("community/posts/2024-01-18-release.md", "A release", PROSE, "blog"),
        ("news.md", "News", [("May 2024",), ("April 12, 2024",)], "blog"),
        ("blog/index.md", "Blog", [], "archive"),
        ("blog/archive/2024/index.html", "2024", [], "archive"),
        ("blog/category/search.md", "Search", [], "archive"),
        ("archive/v1/install.md", "Install", PROSE, "archive"),
        ("deprecated_images/docker-readarr.md", "readarr", PROSE, "archive"),
        ("deprecated/install.md", "Install", PROSE, "archive"),
        ("de/obsolete/install.md", "Install", PROSE, "archive"),
        ("legacy/install.md", "Install", PROSE, "archive"),
        ("legacy/index.md", "Version 1", PROSE, "archive"),
        ("deprecated-features/index.html", "Deprecated features", PROSE, "guide"),
        ("images/enhancements/index.html", "Enhancements", PROSE, "guide"),
        ("news/index.html", "News", PROSE, "archive"),
        ("user-guide/configuration.md", "Configuration", NAMES, "reference"),
        ("user-guide/commands/app_list.md", "`app list`", PROSE, "reference"),
        (
            "cli/argo_list.md",
            "Argo list",
            [("argo list",), ("argo list", "Synopsis"), ("argo list", "Options")],
            "reference",
        ),
        ("api/index.md", "API reference", [], "reference"),
        (
            "generated/tool/tool_undo.md",
            "Tool undo",
            [("Synopsis",), ("Options",), ("Options inherited from parent commands",), ("See Also",)],
            "reference",
        ),
        ("proposals/2022-07-13-rollout.md", "Rollout strategy", PROSE, "proposal"),
        ("jp/proposals/0042.md", "A new format", NAMES, "proposal"),
        ("de/community/rfcs/0042.md", "A new format", NAMES, "proposal"),
        ("adr/0001-use-postgres.md", "Use Postgres", PROSE, "proposal"),
        ("rfc/0042.md", "A new format", PROSE, "proposal"),
        ("enhancements/README.md", "Enhancement proposals", PROSE, "proposal"),
        ("community/blog/posts/hello.md", "Hello", PROSE, "blog"),
        ("tutorials/blog/hello.md", "Build a blog", PROSE, "guide"),
        ("forum/posts/hello.md", "Posts of a forum", PROSE, "guide"),
        ("roadmap.md", "Roadmap", PROSE, "proposal"),
        ("contributing/ROADMAP.md", "What comes next", PROSE, "proposal"),
        ("getting-started/roadmap/index.md", "Roadmap", PROSE, "proposal"),
        ("developer-guide/releases.md", "Releases", PROSE, "contributing"),
        ("contributing/changelog-entries.md", "Changelog entries", PROSE, "contributing"),
        ("contributing/release-notes.md", "Release notes", VERSIONS, "changelog"),
        ("developer-guide/settings.md", "Settings", NAMES, "reference"),
        ("about/contributing.md", "Contributing", PROSE, "contributing"),
        ("docs/contributing/chart.md", "Helm chart", PROSE, "contributing"),
        ("contributors/index.md", "Getting Started", PROSE, "contributing"),
        ("docs/developer-guide/index.md", "Developer guide", PROSE, "contributing"),
    ],
)
def test_kind_follows_path_title_and_headings(path, title, headings, kind):
    assert page_kind(path, title, headings) == kind


@pytest.mark.parametrize(
    ("path", "title", "headings"),
    [
        ("upgrade.md", "How to upgrade", [("9.0",), ("8.0",), ("7.0",)]),
        ("upgrade.md", "How to upgrade", [("5.0.1",), ("5.0",), ("v4.2.0",), ("v4.1.0-rc1",), ("4.0",), ("3.x",)]),
        ("migration.md", "Migrate from 1.x", VERSIONS),
        ("plugins/development/releases.md", "Releases", PROSE),
        ("compatibility.md", "Compatibility", [("Python 3.11",), ("Python 3.12",), ("Python 3.13",)]),
        ("migrate/v2.md", "From 1.x to 2.x", PROSE),
        ("requirements/python.md", "Python 3.11 to 3.14", PROSE),
        ("proposals.md", "Proposals", PROSE),
        ("orders/quotes/proposals/sign.md", "Sign a proposal", PROSE),
        ("features/change-logging.md", "Change logging", PROSE),
        ("workflow-archive.md", "Workflow archive", PROSE),
        ("features/archive/index.md", "Archive", PROSE),
        ("deprecated.md", "Deprecated features", PROSE),
        ("deprecation/features.md", "Features", PROSE),
        ("legacy-apps/install.md", "Legacy apps", PROSE),
        ("guide/use_cases/legacy_app_integration/index.md", "Legacy target groups", PROSE),
        ("reference/deprecated/options.md", "Options", PROSE),
        ("api/legacy/install.md", "Install", PROSE),
        ("app/news/index.md", "News", PROSE),
        ("features/roadmap-view.md", "The roadmap view", PROSE),
        ("install/windows-11-notes.md", "Windows 11 notes", PROSE),
        ("setup/send-an-announcement.md", "Send an announcement", PROSE),
        ("setup/setting-up-a-blog.md", "Setting up a blog", PROSE),
        ("plugins/blog.md", "Built-in blog plugin", PROSE),
        ("tutorials/blogs/basic.md", "Getting started", PROSE),
        ("reference/admonitions.md", "Admonitions", PROSE),
        ("install/linux.md", "Linux", [("Ubuntu 22.04",), ("Debian 12",), ("Fedora 40",), ("CentOS 7.9",)]),
        ("tutorial.md", "Tutorial", [("1.1 Overview",), ("1.2 Setup",), ("1.3 First steps",), ("2.1 Deploy",)]),
        ("guide/projects.md", "Projects", [("pyproject.toml",), (".venv",), ("uv.lock",), *PROSE]),
        ("zh/api/kuaisu.md", "快速入门", PROSE),
    ],
)
def test_guides_that_look_like_something_else_stay_guides(path, title, headings):
    assert page_kind(path, title, headings) == "guide"


def test_only_a_guide_that_the_navigation_leaves_out_is_unlisted():
    assert kind_in_site("guide", listed=False) == "unlisted"
    assert kind_in_site("guide", listed=True) == "guide"
    assert kind_in_site("blog", listed=False) == "blog"


@pytest.mark.parametrize(
    ("sections", "kind"),
    [
        (("Design docs",), "proposal"),
        (("Community", "RFCs"), "proposal"),
        (("Contributing",), "contributing"),
        (("Contributing", "Checks"), "contributing"),
        (("Guides", "Contributing"), "guide"),
        (("Guides", "Plans", "RFCs"), "guide"),
        (("Development",), "guide"),
        (("Design",), "guide"),
        ((), "guide"),
    ],
)
def test_sections_of_the_navigation_are_named_like_folders(sections, kind):
    assert kind_in_site("guide", listed=True, sections=sections) == kind
    assert chunked("design/run.md", breadcrumbs=sections)[0].kind == kind


def test_the_navigation_changes_the_kind_of_guides_only():
    assert kind_in_site("reference", listed=True, sections=("Contributing",)) == "reference"
    assert kind_in_site("guide", listed=False, sections=("Contributing",)) == "unlisted"


def test_a_navigation_that_leaves_out_most_pages_lists_nothing():
    assert unlisted_pages(["index.md", "a.md", "b.md", "c.md"], {"a.md"}) == {"b.md", "c.md"}
    assert unlisted_pages(["index.md", "a.md", "b.md", "c.md", "d.md"], {"a.md"}) == set()


def test_a_page_that_documents_objects_is_a_reference():
    assert page_kind("client.md", "Client", [(), ("Client",), ("Client", "get")], documented=2) == "reference"
    assert page_kind("client.md", "Client", [*PROSE, ("Client",)], documented=1) == "guide"


def chunked(
    path: str, html: str = "<p>Text.</p>", front_matter: dict | None = None, kinds: dict | None = None, **fields: Any
):
    chunker = Chunker(ChunkSettings(40, 0), [], lambda text: len(text.split()), kinds=kinds)
    page = chunker.chunk(Document(path, "x/", "Title", html, front_matter or {}, **fields))
    assert page is not None
    return page, chunker.warnings()


def test_kind_is_read_from_the_rendered_page():
    html = "<h2 id=a>2.1.0</h2><p>x</p><h3>Fixed</h3><p>y</p><h2 id=b>2.0.1</h2><p>x</p><h2 id=c>2.0.0</h2><p>x</p>"
    assert chunked("versions/all.md", html)[0].kind == "changelog"


def test_objects_of_mkdocstrings_make_a_reference():
    html = (
        '<div class="doc doc-object doc-class"><h2 id="pkg.Client" class="doc doc-heading">Client</h2><p>Talks.</p>'
        '<div class="doc doc-object doc-function"><h3 id="pkg.Client.get" class="doc doc-heading">get</h3><p>Gets.</p>'
        "</div></div>"
    )
    assert chunked("client.md", html)[0].kind == "reference"


def test_a_stub_of_mkdocstrings_without_docstrings_is_a_reference():
    assert chunked("codex.md", "<h1>Codex</h1>", source="# Codex\n\n::: agents.codex\n")[0].kind == "reference"
    assert chunked("codex.md", "<h1>Codex</h1>", source="# Codex\n")[0].kind == "guide"


def test_front_matter_overrides_options_and_options_override_recognition():
    kinds = {"notes/*": "archive", "notes/new/*": "blog"}
    assert chunked("changelog.md", front_matter={"search": {"kind": "guide"}})[0].kind == "guide"
    assert chunked("notes/a.md", kinds=kinds)[0].kind == "archive"
    assert chunked("notes/new/a.md", kinds=kinds)[0].kind == "archive"  # the first glob that fits
    assert chunked("notes/a.md", front_matter={"search": {"kind": "guide"}}, kinds=kinds)[0].kind == "guide"


def test_an_unknown_kind_is_reported_and_left_out():
    page, warnings = chunked("changelog.md", front_matter={"search": {"kind": "novel"}})
    assert page.kind == "changelog"
    assert warnings == (
        "Front matter field 'search.kind' must be one of guide, reference, changelog, blog, archive, "
        "contributing, proposal, unlisted, "
        "but changelog.md has 'novel'; the value is left out.",
    )


def test_time_grows_moderately_with_the_length_of_a_heading():
    def seconds(letters: int) -> float:
        heading = "Http" + "A" * letters + "!"
        return min(_timed(lambda: page_kind("a.md", "A", [(heading,)] * 5)) for _ in range(5))

    assert seconds(24) < 100 * seconds(12)  # 4,096 times if the letters are divided in every way


def _timed(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
