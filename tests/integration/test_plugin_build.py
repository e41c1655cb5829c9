"""`mkdocs build --strict` with the plugin: the contents of the index and of the site."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from mkdocs_semsearch.artifact import current_build, read_manifest
from mkdocs_semsearch.embedding.onnx_encoder import core_count
from tests.integration.sites import ENGINES, THEMES, DocsSite, embedded_and_reused

PAGES = {
    "index.md": "# Welcome\n\nStart *here*.\n",
    "guide/tokens.md": (
        "---\ntags: [security, api]\n---\n# Tokens\n\nIntroduction.\n\n"
        "## Rotate\n\nRotate API tokens every month.\n\n## Revoke\n\nRevoke lost tokens at once.\n"
    ),
    "guide/install.md": "# Install\n\nUnpack the archive.\n",
}


@pytest.fixture
def site(tmp_path):
    return DocsSite(tmp_path).write(PAGES)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("engine", ENGINES)
def test_index_is_complete_and_widget_is_in_place(site, engine, theme):
    site.config["theme"] = {"name": theme}
    site.build(engine=engine)
    assert sorted(site.paths()) == sorted(PAGES)
    assert site.page("guide/tokens.md")["facet:tags"] == ["security", "api"]
    assert site.page("guide/tokens.md")["facet:page.section"] == "Guide"
    assert site.page("index.md")["url"] == ""
    assert (site.site_dir / "assets/semsearch/semsearch.js").is_file()
    for html in (site.html(), site.html("guide/tokens/index.html"), site.html("404.html")):
        assert html.count("assets/semsearch/semsearch.js") == 1
        assert html.count("assets/semsearch/semsearch.css") == 1
    assert site.widget_config()["api_url"] == "/-/semsearch"
    assert [facet["name"] for facet in site.widget_config()["facets"]] == ["tags", "page.section"]


def test_own_styles_come_first(site):
    site.config["extra_css"] = ["mine.css"]
    site.write({"mine.css": "body {}"}).build()
    html = site.html()
    assert html.index("semsearch.css") < html.index("mine.css")


@pytest.mark.parametrize("theme", THEMES)
def test_own_script_runs_before_the_search_of_the_theme(site, theme):
    site.config["theme"] = {"name": theme}
    site.build()
    first = "assets/javascripts/bundle." if theme == "material" else "search/main.js"
    for html in (site.html(), site.html("404.html")):
        script = html[html.rindex("<script", 0, html.index("semsearch.js")) :]
        assert "defer" not in script[: script.index(">")]
        assert html.index("semsearch.js") < html.index(first)


def test_own_script_is_deferred_where_the_theme_has_no_search(site):
    site.config["plugins"] = [{"semsearch": {}}]
    site.build()
    html = site.html()
    script = html[html.rindex("<script", 0, html.index("semsearch.js")) :]
    assert "defer" in script[: script.index(">")]


def test_second_build_embeds_nothing_and_is_the_same_build(site):
    first = site.build()
    before = read_manifest(site.index_dir)
    second = site.build(fresh=True)
    assert embedded_and_reused(first)[0] == before.chunks
    assert embedded_and_reused(second) == (0, before.chunks)
    assert current_build(site.index_dir) == before


def test_edited_section_alone_is_embedded(site):
    site.build()
    edited = PAGES["guide/tokens.md"].replace("every month", "every single week")
    output = site.write({"guide/tokens.md": edited}).build()
    chunks = read_manifest(site.index_dir).chunks
    assert embedded_and_reused(output) == (1, chunks - 1)
    assert "every single week" in site.text()
    assert "every month" not in site.text()


def test_lines_refer_to_the_source_file(site):
    site.build()
    lines = PAGES["guide/tokens.md"].splitlines()
    (row,) = [row for row in site.table("chunks") if "Rotate API" in row["content"]]
    assert lines.index("## Rotate") + 1 == row["start_line"]
    assert "Rotate API tokens every month." in lines[row["start_line"] - 1 : row["end_line"]]


def test_the_report_is_one_line(site):
    lines = [line for line in site.build().splitlines() if "semsearch" in line]
    assert len(lines) == 1
    assert lines[0].startswith("INFO")
    assert "3 pages" in lines[0]


def test_a_site_of_one_page_is_reported_in_the_singular(tmp_path):
    output = DocsSite(tmp_path).write({"index.md": "# Welcome\n\nStart *here*.\n"}).build()
    assert re.search(r"Indexed 1 page, 1 chunk \(1 embedded, 0 reused\) in \S+ s, \d+ kB, build", output)


def test_order_is_that_of_the_navigation_then_the_rest(site):
    site.config["nav"] = [{"Install": "guide/install.md"}, {"Deep": [{"Deeper": [{"Keys": "guide/tokens.md"}]}]}]
    site.config["not_in_nav"] = "index.md"
    site.build()
    assert site.paths() == ["guide/install.md", "guide/tokens.md", "index.md"]
    assert site.page("guide/tokens.md")["title"] == "Keys"
    assert site.page("guide/tokens.md")["section"] == "Deep"
    assert site.page("guide/install.md")["section"] is None


@pytest.mark.parametrize("directory_urls", [True, False])
def test_addresses_are_those_of_the_site(site, directory_urls):
    site.config |= {"use_directory_urls": directory_urls, "site_url": "https://example.org/some/path/"}
    site.build()
    url = site.page("guide/install.md")["url"]
    assert url == ("guide/install/" if directory_urls else "guide/install.html")
    assert (site.site_dir / url).exists()
    assert site.page("index.md")["url"] == ("" if directory_urls else "index.html")


def test_published_index_is_a_whole_index(site):
    site.options["publish_index"] = True
    # A page that is written into the same folder must survive.
    site.write({"semsearch.md": "# About this search\n"}).build()
    assert current_build(site.site_dir / "semsearch") == current_build(site.index_dir)
    assert "About this search" in site.html("semsearch/index.html")


def test_index_that_cannot_be_published_is_a_sentence(site):
    site.options["publish_index"] = True
    site.write({"semsearch": "A file where the folder has to be."})
    output = site.build(fails=True)
    assert "could not be copied" in output
    assert "Traceback" not in output


def test_disabled_plugin_leaves_no_trace(site):
    site.word_hash = False
    site.options["enabled"] = False
    site.build()
    assert not site.index_dir.exists()
    assert "semsearch" not in site.html()
    assert not (site.site_dir / "assets").exists()


def test_dirty_build_does_not_lose_pages(site):
    site.build()
    site.write({"guide/install.md": "# Install\n\nChanged.\n"})
    output = site.build("--dirty", strict=False)
    assert sorted(site.paths()) == sorted(PAGES)
    assert "build without --dirty" in output


def test_wrong_options_are_sentences(site):
    site.word_hash = False
    site.options["embedder"] = {"kind": "quantum"}
    output = site.build(fails=True)
    assert "semsearch" in output
    assert "Expected one of: ('sentence-transformers', 'onnx', 'openai') but received: 'quantum'" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"index_dir": "site/index"}, ["index_dir", "inside site_dir", "publish_index"]),
        ({"index_dir": "docs/index"}, ["index_dir", "inside docs_dir"]),
        ({"index_dir": "."}, ["index_dir", "contains docs_dir"]),
        ({"cache_dir": "docs/.cache"}, ["cache_dir", "inside docs_dir"]),
    ],
)
def test_invalid_folders_are_refused(site, options, words):
    site.options |= options
    output = site.build(fails=True)
    assert all(word in output for word in words), output
    assert "Traceback" not in output


def test_files_of_the_widget_can_be_overridden(site):
    override = site.root / "overrides/assets/semsearch/semsearch.css"
    override.parent.mkdir(parents=True)
    override.write_text("/* mine */")
    site.config["theme"] = {"name": "mkdocs", "custom_dir": "overrides"}
    site.build()
    assert (site.site_dir / "assets/semsearch/semsearch.css").read_text() == "/* mine */"
    assert (site.site_dir / "assets/semsearch/semsearch.js").is_file()


OWN_CONFIG = '{"button": false, "shortcut": ["/"], "facets": [], "static": true, "api_url": "https://own.example"}'


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", ["docs", "overrides"])
def test_keys_of_an_own_config_of_the_widget_replace_ours(site, folder, engine):
    site.config["theme"] = {"name": "mkdocs", "custom_dir": "overrides"}
    site.options["widget"] = {"recents": False}
    own = site.root / folder / "assets/semsearch/config.json"
    own.parent.mkdir(parents=True)
    (site.root / "overrides").mkdir(exist_ok=True)
    own.write_text(OWN_CONFIG, encoding="utf-8-sig")
    site.build(engine=engine)
    config = site.widget_config()
    assert json.loads(OWN_CONFIG).items() <= config.items()
    assert (config["recents"], config["results_page"], config["language"]) == (False, True, "en")


@pytest.mark.parametrize("text", ['{"button": false', '["button"]', "\udcff"])
def test_an_own_config_of_the_widget_that_is_no_json_object_is_a_warning(site, text):
    own = site.root / "docs/assets/semsearch/config.json"
    own.parent.mkdir(parents=True)
    own.write_bytes(text.encode("utf-8", "surrogateescape"))
    output = site.build(strict=False)
    (warning,) = [line for line in output.splitlines() if line.startswith("WARNING")]
    assert f"semsearch: {own} is not used" in warning
    assert site.widget_config()["shortcut"] is True


def test_an_own_config_of_the_widget_that_is_excluded_is_not_used(site):
    site.config["exclude_docs"] = "*.json\n"
    site.write({"assets/semsearch/config.json": OWN_CONFIG}).build()
    assert site.widget_config()["shortcut"] is True


def test_exclusions_of_the_site_do_not_cost_the_widget_its_config(site):
    site.config["exclude_docs"] = "*.json\n"
    site.build()
    assert site.widget_config()["language"] == "en"


def test_version_of_the_documentation_is_handed_to_the_widget(site, monkeypatch):
    monkeypatch.setenv("MIKE_DOCS_VERSION", "2.1")
    site.options["api_url"] = "https://search.example.org/{version}"
    site.build()
    assert site.widget_config()["api_url"] == "https://search.example.org/2.1"


def test_failing_embedder_is_a_sentence(site):
    site.word_hash = False
    site.options["embedder"] = {"model": "./no-such-model"}
    output = site.build(fails=True)
    assert "no-such-model" in output
    assert "Traceback" not in output


def test_a_script_of_the_search_box_that_cannot_be_written_is_a_sentence(site):
    site.add_hook(
        "import pathlib\n"
        "def on_post_build(config):\n"
        "    script = pathlib.Path(config.site_dir, 'assets/semsearch/dialog.js')\n"
        "    script.unlink()\n"
        "    script.mkdir()\n"
    )
    output = site.build(fails=True)
    assert "dialog.js could not be written" in output
    assert "Traceback" not in output


@pytest.mark.parametrize("case", ["languages", "withdrawn"])
def test_a_config_of_the_search_box_that_finds_the_disk_full_is_a_sentence(site, case):
    site.write({"de.md": "---\nlanguage: de\n---\n# Seite\n\nEine zweite Seite.\n"} if case == "languages" else {})
    site.add_hook(
        "from mkdocs_semsearch.site import publishing, widget_files\n"
        "def full(*_):\n"
        "    raise OSError(28, 'No space left on device')\n"
        "widget_files.replace_file = full\n"
        f"publishing.MOST_CHUNKS_IN_BROWSER = {0 if case == 'withdrawn' else 15000}\n"
    )
    output = site.build(fails=True)
    assert f"{site.site_dir} could not be written (No space left on device): make room" in output
    assert "Traceback" not in output


def test_a_file_that_cannot_be_read_is_not_said_to_be_one_that_cannot_be_written(site):
    site.options["lint"] = True
    site.add_hook(
        "from mkdocs_semsearch.insights import lint\n"
        "def locked(*_, **__):\n"
        "    raise PermissionError(13, 'Permission denied', 'chunks.parquet')\n"
        "lint.findings_in = locked\n"
    )
    output = site.build(fails=True)
    assert "Permission denied: 'chunks.parquet'" in output
    assert "could not be written" not in output


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def commit_all(folder):
    """Makes a repository of a folder, with all its files in one commit of May 6, 2021."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    moment = {"GIT_AUTHOR_DATE": "2021-05-06T12:00:00Z", "GIT_COMMITTER_DATE": "2026-06-06T12:00:00Z"}
    for arguments in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "one")):
        subprocess.run(("git", *arguments), cwd=folder, env=os.environ | moment, check=True)


@needs_git
def test_pages_have_the_date_of_their_last_commit(site):
    commit_all(site.root)
    site.write({"guide/new.md": "---\nlast_modified: 2019-09-09\n---\n# New\n\nText.\n"})
    site.build()
    dates = {path: site.page(path)["last_modified"] for path in site.paths()}
    assert dates == {**dict.fromkeys(PAGES, "2021-05-06"), "guide/new.md": "2019-09-09"}
    before = current_build(site.index_dir).build_id
    for file in (site.root / "docs").rglob("*.md"):
        os.utime(file, (1_600_000_000, 1_600_000_000))
    site.build(fresh=True)
    assert current_build(site.index_dir).build_id == before


@needs_git
def test_pages_that_were_copied_to_a_temporary_docs_folder_have_the_date_of_their_source(site, tmp_path_factory):
    """As mkdocs-monorepo gathers the pages of several folders, and then points each at the file it was copied from."""
    gathered, part = tmp_path_factory.mktemp("gathered"), site.root / "part" / "docs"
    part.mkdir(parents=True)
    (part / "page.md").write_text("# A part\n\nText.\n", encoding="utf-8")
    commit_all(site.root)
    (part / "new.md").write_text("---\ndate: 2019-09-09\n---\n# New\n\nText.\n", encoding="utf-8")
    site.add_hook(
        "import os, shutil\n"
        f"GATHERED, PARTS = {str(gathered)!r}, {{'.': {str(site.root / 'docs')!r}, 'part': {str(part)!r}}}\n"
        "def on_config(config):\n"
        "    for name, folder in PARTS.items():\n"
        "        shutil.copytree(folder, os.path.join(GATHERED, name), dirs_exist_ok=True)\n"
        "    config.docs_dir = GATHERED\n"
        "def on_pre_page(page, config, files):\n"
        "    name, _, rest = page.file.src_uri.partition('/')\n"
        "    folder, rest = (PARTS[name], rest) if name in PARTS else (PARTS['.'], page.file.src_uri)\n"
        "    page.file.abs_src_path = os.path.join(folder, rest)\n"
        "    return page\n"
    )
    site.build()
    dates = {path: site.page(path)["last_modified"] for path in site.paths()}
    assert dates == {**dict.fromkeys([*PAGES, "part/page.md"], "2021-05-06"), "part/new.md": "2019-09-09"}


UNLISTED = {f"{name}.md": f"# {name}\n\nAll about {name}.\n" for name in ("index", "one", "two", "lost", "meant")}


@pytest.fixture
def partly_listed(tmp_path):
    """A site whose navigation has the guides one and two."""
    site = DocsSite(tmp_path).write(UNLISTED | {"changelog.md": "# Changelog\n\nNews.\n"})
    site.config |= {"nav": ["one.md", {"Two": "two.md"}], "not_in_nav": "meant.md"}
    site.config["validation"] = {"omitted_files": "ignore"}
    return site


def kinds(site):
    return {path: site.page(path)["kind"] for path in site.paths()}


@pytest.mark.parametrize("engine", ENGINES)
def test_guides_that_the_navigation_leaves_out_are_unlisted(partly_listed, engine):
    partly_listed.build(engine=engine)
    guides = dict.fromkeys(UNLISTED, "guide")  # the home page is one, whatever names it
    assert kinds(partly_listed) == guides | {"lost.md": "unlisted", "changelog.md": "changelog"}


def test_a_changed_navigation_changes_what_is_unlisted(partly_listed):
    partly_listed.build()
    assert kinds(partly_listed)["two.md"] == "guide"
    partly_listed.config["nav"] = ["one.md"]
    partly_listed.build()
    assert kinds(partly_listed)["two.md"] == "unlisted"  # though its text is cached
    partly_listed.write({f"generated/{number}.md": f"# Rule {number}\n\nAll about it.\n" for number in range(9)})
    partly_listed.build()
    # Such a navigation is not a list of what matters.
    assert set(kinds(partly_listed).values()) == {"guide", "changelog"}


LINTED = {
    **{f"{name}.md": f"---\ntags: [android]\n---\n# {name}\n\nAll about {name}.\n" for name in ("one", "two", "three")},
    "four.md": "---\ntags: [andriod]\n---\n# Four\n\nAll about four.\n",
    "lost.md": "# Lost\n\nNobody links to this.\n",
    "meant.md": "# Meant\n\nNobody links to this, and nobody should.\n",
}


@pytest.fixture
def linted(tmp_path):
    """A site in which the lint finds something."""
    site = DocsSite(tmp_path).write(LINTED)
    site.config |= {"nav": ["one.md", "two.md", "three.md", "four.md"], "not_in_nav": "meant.md"}
    site.config["validation"] = {"omitted_files": "ignore"}
    return site


@pytest.mark.parametrize("engine", ENGINES)
def test_a_strict_build_fails_for_what_the_lint_finds(linted, engine):
    linted.options["lint"] = True
    output = linted.build(engine=engine, fails=True)
    assert "four.md:1: facet-typo: tags: 'andriod' looks like 'android'" in output
    assert "lost.md:1: orphan: " in output
    assert "meant.md" not in output
    assert "2 warnings" in output
    assert "four.md:1: facet-typo" in linted.build(engine=engine, strict=False)


def test_a_strict_build_passes_without_the_lint_and_with_what_it_finds_silenced(linted):
    assert "four.md" not in linted.build()  # the lint is off
    linted.options["lint"] = {"quiet": ["orphan"]}
    linted.write({"four.md": LINTED["four.md"].replace("---\n#", "search: {lint: [facet-typo]}\n---\n#")})
    linted.build()


def test_the_index_says_where_pages_are_edited(site):
    site.build()
    assert read_manifest(site.index_dir).edit_url == ""
    site.config["repo_url"] = "https://github.com/me/docs"
    site.build()
    assert read_manifest(site.index_dir).edit_url == "https://github.com/me/docs/edit/master/docs/{path}"
    site.config["edit_uri_template"] = "https://wiki.example/?edit={path_noext!q}"
    site.build()
    assert read_manifest(site.index_dir).edit_url == "https://wiki.example/?edit={path_noext!q}"


WAITS_FOR_EARLY_VECTORS = """
import contextlib, os, sqlite3, time

def has_vectors(file):
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(file)) as cache:
        return cache.execute("SELECT count(*) FROM entries").fetchone()[0] > 0
    return False

def on_page_context(context, page, config, **kwargs):
    file = os.path.join(os.path.dirname(config.config_file_path), ".cache", "plugin", "semsearch", "cache.sqlite")
    end = time.monotonic() + 60
    while not has_vectors(file):
        if time.monotonic() > end:
            raise RuntimeError("no vectors before the first template")
        time.sleep(0.02)
    if FAILS:
        raise RuntimeError("a template failed")
    return context
"""


@pytest.mark.skipif(core_count() < 2, reason="on one core pages are embedded after all are rendered")
def test_first_build_embeds_while_pages_are_rendered(site):
    site.word_hash = False
    site.add_hook(WAITS_FOR_EARLY_VECTORS.replace("FAILS", "False"))
    output = site.build(fresh=True)
    chunks = read_manifest(site.index_dir).chunks
    assert embedded_and_reused(output) == (chunks, 0)


@pytest.mark.skipif(core_count() < 2, reason="on one core pages are embedded after all are rendered")
def test_build_that_fails_meanwhile_ends_and_the_next_one_is_complete(site):
    site.word_hash = False
    site.add_hook(WAITS_FOR_EARLY_VECTORS.replace("FAILS", "True"))
    assert "a template failed" in site.build(fresh=True, fails=True)
    assert not site.index_dir.exists()
    site.hooks.clear()
    site.build(fresh=True)
    assert sorted(site.paths()) == sorted(PAGES)
