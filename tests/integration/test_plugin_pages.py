"""The pages that are indexed, and their indexed content."""

from __future__ import annotations

import json

import pytest

from mkdocs_semsearch.artifact import open_index
from tests.integration.sites import DocsSite, installed


@pytest.fixture
def site(tmp_path):
    return DocsSite(tmp_path).write({"index.md": "# Welcome\n\nStart here.\n"})


def test_exclude_globs(site):
    site.options["exclude"] = ["changelog/*", "*/internal.md", "docs/a/*"]
    site.write({"changelog/2020/old.md": "# Old\n", "a/internal.md": "# Internal\n", "a/public.md": "# Public\n"})
    output = site.build()
    assert sorted(site.paths()) == ["a/public.md", "index.md"]
    assert [line for line in output.splitlines() if "'exclude'" in line] == [
        "INFO    -  semsearch: Option 'exclude': no page matches 'docs/a/*'; globs are relative to the docs folder"
    ]


def test_a_verbose_build_says_why_a_page_is_left_out(site):
    site.options["exclude"] = ["old/*"]
    site.write({"old/a.md": "# Old\n"})
    assert "semsearch: old/a.md is left out of the search: `exclude` has 'old/*'" in site.build("--verbose")


def test_a_site_whose_pages_are_all_excluded_is_reported(site):
    site.options["exclude"] = ["*"]
    assert [line for line in site.build(strict=False).splitlines() if "WARNING" in line] == [
        "WARNING -  semsearch: The index has no page: every page is excluded, or the site has none."
    ]
    assert site.paths() == []


def test_chunks_that_are_longer_than_the_model_reads_are_reported(site):
    site.options["chunking"] = {"max_tokens": 2_000_000}
    (line,) = [line for line in site.build(strict=False).splitlines() if "'chunking'" in line]
    assert "WARNING -  semsearch: Option 'chunking': max_tokens is 2000000, but " in line
    assert "reads the first 1000000 tokens of a chunk" in line
    site.options["chunking"] = {"max_tokens": 500}
    assert "'chunking'" not in site.build()


def test_a_glob_of_kinds_that_matches_no_page_is_reported(site):
    site.options["kinds"] = {"news/*": "blog", "old/*": "archive"}
    site.write({"news/one.md": "# One\n\nText.\n"})
    assert [line for line in site.build().splitlines() if "'kinds'" in line] == [
        "INFO    -  semsearch: Option 'kinds': no page matches 'old/*'; globs are relative to the docs folder"
    ]
    site.options["exclude"] = ["news/*"]
    assert "'news/*'" not in site.build()


def test_a_declared_facet_that_no_page_has_is_named(site):
    site.options["facets"] = {name: {"type": "list"} for name in ("tags", "tgas")} | {
        "page.section": {"type": "string"}
    }
    output = site.write({"a.md": "---\ntags: [x]\n---\n# A\n"}).build()
    assert [line for line in output.splitlines() if "'facets'" in line] == [
        "INFO    -  semsearch: Option 'facets': no page has tgas in its front matter"
    ]


def test_a_list_of_plugins_without_search_is_named(site):
    assert "The plugin `search` is not in `plugins`" not in site.build()
    site.config["plugins"] = [{"semsearch": {}}]
    assert "INFO    -  semsearch: The plugin `search` is not in `plugins`" in site.build()


def test_a_misspelt_key_of_search_is_reported_and_keys_of_others_are_not(site):
    site.write({"a.md": "---\nsearch: {exclud: true, weight: 3}\n---\n# A\n"})
    site.write({"b.md": "---\nsearch: false\n---\n# B\n", "c.md": "---\nsearch: exclude\n---\n# C\n"})
    assert [line for line in site.build(strict=False).splitlines() if "WARNING" in line] == [
        "WARNING -  semsearch: Front matter field 'search' has the keys exclude, boost, kind, keywords, lint, "
        "but a.md has 'exclud' (did you mean exclude?); the value is left out.",
        "WARNING -  semsearch: Front matter field 'search' must be a mapping such as {exclude: true}, "
        "but b.md has the boolean false; the value is left out (1 more page with values that do not fit).",
    ]


@pytest.mark.parametrize("theme", ["mkdocs", "material"])
def test_authors_can_exclude_pages_and_parts(site, theme):
    site.config["theme"] = {"name": theme}
    site.config["markdown_extensions"] = ["attr_list"]
    site.write(
        {
            "hidden.md": "---\nsearch:\n  exclude: true\n---\n# Hidden\n",
            "parts.md": "# Parts\n\nSeen.\n\n## Secret {data-search-exclude}\n\nUnseen.\n\n## Open\n\nSeen too.\n\n"
            "Hush.\n{data-search-exclude}\n",
        }
    )
    site.build()
    assert sorted(site.paths()) == ["index.md", "parts.md"]
    assert "Seen too." in site.text()
    assert "Unseen" not in site.text()
    assert "Hush" not in site.text()


def test_the_page_for_missing_pages_is_no_result_unless_its_front_matter_says_so(site):
    site.write({"404.md": "# Not found\n\nTry the search.\n", "errors/404.md": "# Status 404\n"})
    site.build()
    assert sorted(site.paths()) == ["errors/404.md", "index.md"]
    site.write({"404.md": "---\nsearch: {exclude: false}\n---\n# Not found\n"})
    site.build()
    assert sorted(site.paths()) == ["404.md", "errors/404.md", "index.md"]


def test_drafts_and_excluded_docs_are_not_in_a_build(site):
    site.config |= {"draft_docs": "draft.md\n", "exclude_docs": "gone.md\n"}
    site.write({"draft.md": "# Draft\n", "gone.md": "# Gone\n"}).build()
    assert site.paths() == ["index.md"]


ZOO = {
    "dates.md": "---\ndate: 2026-01-02\n---\n# A\n",
    "moment.md": "---\ndate: 2026-01-02 10:00:00\n---\n# B\n",
    "version.md": "---\nversion: 1.10\n---\n# C\n",
    "version-quoted.md": '---\nversion: "1.9"\n---\n# D\n',
    "country.md": "---\ncountry: NO\n---\n# E\n",
    "keys.md": "---\nno: maybe\n1: one\n---\n# F\n",
    "title.md": "---\ntitle: 2026\n---\nText.\n",
    "untitled.md": "---\ntitle:\n---\nText.\n",
    "broken.md": "---\ntags: [unclosed\n---\n# G\n",
    "scalar.md": "---\njust text\n---\n# H\n",
    "list.md": "---\ntags: [null, a, 2, 1.5]\n---\n# I\n",
    "multi.md": "Title: Multi\nTags: x\n\nText.\n",
    "null.md": "---\ntags:\n---\n# J\n",
    "nested.md": "---\ntags: {a: b}\n---\n# K\n",
}


def test_front_matter_of_every_kind(site):
    site.options["facets"] = {
        "date": {"type": "date"},
        "version": {"type": "string"},
        "country": {"type": "string"},
        "tags": {"type": "list"},
    }
    output = site.write(ZOO).build(strict=False)
    assert sorted(site.paths()) == sorted([*ZOO, "index.md"])
    assert str(site.page("dates.md")["facet:date"]) == "2026-01-02"
    assert str(site.page("moment.md")["facet:date"]) == "2026-01-02"
    assert site.page("version-quoted.md")["facet:version"] == "1.9"
    assert site.page("version.md")["facet:version"] is None
    assert site.page("country.md")["facet:country"] is None
    assert site.page("title.md")["title"] == "2026"
    assert site.page("untitled.md")["title"] == "Untitled"
    assert site.page("multi.md")["facet:tags"] == ["x"]
    assert set(json.loads(site.page("keys.md")["front_matter"])) == {"false", "1"}
    warnings = [line for line in output.splitlines() if line.startswith("WARNING") and "semsearch" in line]
    assert len(warnings) == 4, warnings
    assert any("The front matter of broken.md cannot be read and is left out: " in line for line in warnings)
    for field, page in (("version", "version.md"), ("country", "country.md"), ("tags", ".md")):
        assert any(f"'{field}'" in line and page in line for line in warnings)


def test_titles_are_plain_text(site):
    site.write({"generic.md": "# The `List<int>` & *friends*\n"}).build()
    assert site.page("generic.md")["title"] == "The List<int> & friends"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# ![Acme logo](logo.svg) Acme\n", "Acme"),
        ("# ![Map of the site](map.svg) Acme\n", "Map of the site Acme"),
        ("# Acme<br>Command line\n", "Acme Command line"),
        ("# Con&shy;fig\n", "Config"),
        ("# Acme <small data-search-exclude>beta</small>\n", "Acme"),
        ("---\ntitle:\n---\n# Acme\n", "Acme"),
        ("---\ntitle: Start\n---\n# Start\n", "Start"),
    ],
)
def test_an_h1_that_is_the_title_is_not_repeated_below_it(site, text, title):
    site.write({"index.md": f"{text}\nSome text.\n", "logo.svg": "", "map.svg": ""}).build()
    assert site.page("index.md")["title"] == title
    assert [row["heading_hierarchy"] for row in site.table("chunks")] == [[title]]


def test_an_overview_has_the_title_of_its_section(site):
    site.config["nav"] = [{"Home": "index.md"}, {"Private registries": [{"Overview": "registries/index.md"}]}]
    site.write({"registries/index.md": "# Overview\n\nSign in to a registry.\n"}).build()
    page = site.page("registries/index.md")
    assert (page["title"], page["breadcrumbs"]) == ("Private registries", ["Private registries"])
    assert site.page("index.md")["title"] == "Home"


def test_a_page_in_the_place_of_a_section_is_in_that_section(site):
    """As mkdocs-section-index replaces a section by its first page."""
    site.add_hook(
        "from mkdocs.structure.nav import Section\n"
        "from mkdocs.structure.pages import Page\n"
        "class SectionPage(Section, Page):\n"
        "    is_section = is_page = True\n"
        "    active = Page.active\n"
        "    __eq__, __hash__ = object.__eq__, object.__hash__\n"
        "def replaced(items):\n"
        "    for number, section in enumerate(items):\n"
        "        if isinstance(section, Section):\n"
        "            page, *others = replaced(section.children)\n"
        "            page.__class__ = SectionPage\n"
        "            page.title, page.parent, page.children = section.title, section.parent, others\n"
        "            for child in others:\n"
        "                child.parent = page\n"
        "            items[number] = page\n"
        "    return items\n"
        "def on_nav(nav, **more):\n"
        "    replaced(nav.items)\n"
    )
    guide = {"User guide": ["guide/index.md", {"Install": "guide/install.md"}, {"More": ["guide/more/index.md"]}]}
    site.config["nav"] = [{"Home": "index.md"}, guide]
    site.write({f"guide/{name}.md": "# A page\n\nText.\n" for name in ("index", "install", "more/index")}).build()
    assert {row["path"]: (row["section"], row["breadcrumbs"]) for row in site.table()} == {
        "index.md": (None, []),
        "guide/index.md": ("User guide", []),
        "guide/install.md": ("User guide", ["User guide"]),
        "guide/more/index.md": ("User guide", ["User guide"]),
    }


@installed("mkdocs_gen_files")
def test_generated_pages_have_no_source(site):
    script = site.root / "gen.py"
    script.write_text(
        "import mkdocs_gen_files\n"
        "with mkdocs_gen_files.open('made/up.md', 'w') as f:\n"
        "    f.write('---\\ntags: [made]\\n---\\n# Made up\\n\\nBy a script.\\n')\n"
    )
    site.plugins = [{"gen-files": {"scripts": [str(script)]}}]
    site.options |= {"kinds": {"made/*.md": "reference"}, "pins": {"who wrote it": "made/up.md"}}
    assert "pins" not in site.build()
    assert open_index(site.index_dir).manifest.lexical["pins"]["who wrote it"] == "made/up/index.html"
    (row,) = [row for row in site.table() if row["title"] == "Made up"]
    assert row["kind"] == "reference"
    assert row["url"] == "made/up/"
    assert row["facet:tags"] == ["made"]
    (chunk,) = [chunk for chunk in site.table("chunks") if "By a script." in chunk["content"]]
    assert chunk["start_line"] is None


def test_page_that_another_plugin_reads_has_no_source(site):
    site.add_hook(
        "from mkdocs.structure.files import File\n"
        "def on_files(files, config):\n"
        "    files.append(File('virtual.md', config.docs_dir, config.site_dir, config.use_directory_urls))\n"
        "    return files\n"
        "def on_page_read_source(page, config):\n"
        "    return '# Virtual\\n\\nOut of thin air.' if page.file.src_uri == 'virtual.md' else None\n"
    )
    site.build()
    (chunk,) = [chunk for chunk in site.table("chunks") if "thin air" in chunk["content"]]
    assert chunk["start_line"] is None


@installed("mkdocs_static_i18n")
@pytest.mark.parametrize("theme", ["mkdocs", "material"])
@pytest.mark.parametrize("first", [True, False], ids=["i18n-first", "i18n-last"])
def test_locales_make_one_index(site, theme, first):
    site.config["theme"] = {"name": theme}
    i18n = {
        "i18n": {
            "docs_structure": "suffix",
            "fallback_to_default": True,
            "languages": [
                {"locale": "en", "default": True, "name": "English", "build": True},
                {"locale": "fr", "name": "Français", "build": True},
            ],
        }
    }
    site.config["plugins"] = ["search", i18n, "semsearch"] if first else ["search", "semsearch", i18n]
    site.write({"guide.md": "# Guide\n\nOnly in English.\n", "index.fr.md": "# Bienvenue\n\nCommencez ici.\n"})
    site.write({"assets/semsearch/config.json": '{"button": false, "languages": ["fr", "en"]}'})
    output = site.build(strict=False)
    assert output.count("semsearch: Indexed") == 1
    assert {(row["path"], row["url"], row["language"]) for row in site.table()} == {
        ("index.md", "", "en"),
        ("guide.md", "guide/", "en"),
        ("index.fr.md", "fr/", "fr"),
    }
    assert site.html("fr/index.html").count("semsearch/semsearch.js") == 1
    assert '<html lang="en"' in site.html("search/index.html")
    config = site.widget_config()
    assert (config["language"], config["button"], config["languages"]) == ("en", False, ["fr", "en"])
    assert "page.language" in [facet["name"] for facet in config["facets"]]
    manifest = open_index(site.index_dir).manifest
    assert (manifest.language, manifest.lexical["language"]) == ("en", "en")


@installed("mkdocs_static_i18n")
def test_breadcrumbs_are_those_of_the_navigation(site):
    """The folder of a language is not in the navigation, but stays among the ancestors of its pages."""
    languages = [
        {"locale": "en", "default": True, "name": "English", "build": True},
        {"locale": "fr", "name": "Français", "build": True},
    ]
    site.plugins = [{"i18n": {"docs_structure": "folder", "languages": languages}}]
    (site.root / "docs" / "index.md").unlink()
    site.write({"en/index.md": "# Start\n\nRead on.\n", "fr/index.md": "# Début\n\nLisez la suite.\n"})
    site.write({"en/guide/keys.md": "# Keys\n\nRotate.\n", "fr/guide/keys.md": "# Clés\n\nRenouvelez.\n"})
    site.build(strict=False)
    trails = {row["path"]: row["breadcrumbs"] for row in site.table()}
    assert trails == {
        "en/index.md": [],
        "fr/index.md": [],
        "en/guide/keys.md": ["Guide"],
        "fr/guide/keys.md": ["Guide"],
    }


def test_pages_that_another_plugin_encrypts_are_left_out(site):
    """As mkdocs-encryptcontent marks them; it encrypts what is published after we have read it."""
    site.add_hook(
        "def on_page_markdown(markdown, page, **more):\n"
        "    if 'password' in page.meta:\n"
        "        page.encryptcontent = {'password': page.meta['password']}\n"
    )
    site.options["static"] = True
    site.write({"secret.md": "---\npassword: x\n---\n# Secret\n\nThe platypus code.\n"}).build(strict=False)
    assert site.paths() == ["index.md"]
    published = [path for path in site.site_dir.rglob("*") if path.is_file() and path.parts[-2] != "secret"]
    assert not [path for path in published if b"platypus" in path.read_bytes() and "search_index" not in path.name]


def test_text_that_another_plugin_hides_is_not_indexed(site):
    site.add_hook(
        "def on_page_context(context, page, **more):\n"
        "    if page.meta.get('locked'):\n"
        "        page.content = '<p>Ask for a key.</p>'\n"
        "    elif page.meta.get('stamped'):\n"
        "        page.content += '<p>Stamped.</p>'\n"
    )
    site.write(
        {
            "secret.md": "---\nlocked: true\n---\n# Secret\n\nThe platypus code.\n",
            "plain.md": "---\nstamped: true\n---\n# Plain\n\nThe open code.\n",
            "table.md": "---\nstamped: true\n---\n# Table\n\n| a | b |\n| --- | --- |\n| `one` | two, `three`. |\n",
            "items.md": "---\nstamped: true\n---\n# Items\n\n- Use `koala`, then\n- `wombat`.\n\n1. Ready.\n",
            "heads.md": "---\nstamped: true\n---\n# Heads\n\n## Only headings\n",
        }
    ).build()
    # A page that still shows its text keeps its source lines.
    lines = {chunk["content"]: chunk["start_line"] for chunk in site.table("chunks")}
    assert all(line for content, line in lines.items() if "Ask for a key" not in content), lines
    assert not any("Stamped" in content for content in lines)
    texts = " ".join(chunk["content"] for chunk in site.table("chunks"))
    assert "Ask for a key." in texts
    assert "platypus" not in texts
    assert "The open code." in texts


def test_pages_that_exclude_search_hides_are_left_out(site):
    """As mkdocs-exclude-search hides them, whose configuration is read; it changes the theme's index only."""
    site.add_hook(
        "from mkdocs.config.config_options import Type\n"
        "from mkdocs.plugins import BasePlugin\n"
        "class ExcludeSearch(BasePlugin):\n"
        "    config_scheme = (('exclude', Type(list, default=[])), ('ignore', Type(list, default=[])),\n"
        "        ('exclude_unreferenced', Type(bool, default=False)))\n"
        "def on_config(config):\n"
        "    plugin = ExcludeSearch()\n"
        "    plugin.load_config({'exclude': ['/h*/*.md', 'guide.md#part', 'nowhere.md', 3],\n"
        "        'ignore': ['h/b.md#b', 'h/a.md'], 'exclude_unreferenced': True})\n"
        "    config.plugins['exclude-search'] = plugin\n"
    )
    site.config["nav"] = ["index.md", "h/a.md", "h/b.md", "guide.md"]
    site.write({"h/a.md": "# A\n", "h/b.md": "# B\n", "guide.md": "# Guide\n\n## Part\n\nText.\n"})
    site.write({"lost.md": "# Lost\n\nIn no navigation.\n"})
    output = site.build()
    assert sorted(site.paths()) == ["guide.md", "h/b.md", "index.md"]
    assert "nowhere" not in output


@pytest.mark.parametrize("name", ["SUMMARY", "README"])
def test_lists_of_links_that_literate_nav_reads_are_left_out(site, name):
    """As mkdocs-literate-nav marks the files that it reads, unless they are in the navigation, or index pages."""
    site.add_hook(
        "from mkdocs.config.config_options import Type\n"
        "from mkdocs.plugins import BasePlugin\n"
        "from mkdocs.structure.files import InclusionLevel\n"
        "class LiterateNav(BasePlugin):\n"
        f"    config_scheme = (('nav_file', Type(str, default='{name}.md')),)\n"
        "def on_config(config):\n"
        "    config.plugins['literate-nav'] = plugin = LiterateNav()\n"
        "    plugin.load_config({})\n"
        "def on_files(files, config):\n"
        "    for file in files:\n"
        f"        if file.src_uri in ('api/{name}.md', 'shown/{name}.md'):\n"
        "            file.inclusion = InclusionLevel.NOT_IN_NAV\n"
    )
    site.config |= {"nav": ["start.md", f"shown/{name}.md"], "not_in_nav": f"*_{name}.md\n"}
    paths = [f"{path}{name}.md" for path in ("A_", "api/", "shown/", "unread/")]
    site.write(dict.fromkeys(("start.md", *paths), "# Summary\n\n- [Start](/start.md)\n")).build(strict=False)
    left_out = {"api/SUMMARY.md"} if name == "SUMMARY" else set()
    assert {"start.md", *paths} - set(site.paths()) == left_out


def test_front_matter_of_folders_counts(site):
    site.config["theme"] = {"name": "material"}
    site.plugins = ["meta"]
    site.write({"guide/.meta.yml": "tags: [inherited]\n", "guide/page.md": "# Page\n"}).build()
    assert site.page("guide/page.md")["facet:tags"] == ["inherited"]
    assert set(json.loads(site.page("guide/page.md")["front_matter"])) == {"tags"}


def test_front_matter_that_a_plugin_adds_to_every_page_does_not_count(site):
    site.add_hook(
        "def on_page_markdown(markdown, page, **_):\n"
        "    for name in ('git_revision_date_localized', 'git_creation_date_localized_raw_iso_date', '__extends'):\n"
        "        page.meta[name] = '<span>2026</span>'\n"
    )
    site.write({"dated.md": "---\ngit_tag: v1\n---\n# Dated\n"}).build()
    assert json.loads(site.page("dated.md")["front_matter"]) == {"git_tag": "v1"}


def test_anchors_do_not_depend_on_the_table_of_contents(site):
    site.config["markdown_extensions"] = [{"toc": {"toc_depth": 2}}]
    site.write({"deep.md": "# Deep\n\n## Two\n\n#### Four\n\nFar down.\n"}).build()
    (chunk,) = [chunk for chunk in site.table("chunks") if "Far down." in chunk["content"]]
    assert chunk["anchor"] == "four"


def test_blog_views_are_left_out(site):
    site.config["theme"] = {"name": "material"}
    site.plugins = ["blog"]
    post = "---\ndate: 2026-01-0{0}\ncategories: [News]\n---\n# Post {0}\n\nThe news of day {0}.\n\n<!-- more -->\n"
    site.write({"blog/index.md": "# Blog\n"} | {f"blog/posts/p{n}.md": post.format(n) for n in (1, 2)})
    site.build()
    posts = [row for row in site.table() if row["title"].startswith("Post")]
    assert len(posts) == 2
    assert sum("news of day 1" in row["content"] for row in site.table("chunks")) == 1


def test_a_page_with_a_template_is_indexed_as_the_reader_sees_it(site):
    overrides = site.root / "overrides"
    overrides.mkdir()
    home = '{% extends "main.html" %}{% block content %}<h2 id="why">Why</h2><p>Words of a template.</p>{% endblock %}'
    note = '{% extends "main.html" %}{% block content %}{{ page.content }}<p>Below the page.</p>{% endblock %}'
    (overrides / "home.html").write_text(home, encoding="utf-8")
    (overrides / "note.html").write_text(note, encoding="utf-8")
    site.config["theme"] = {"name": "mkdocs", "custom_dir": "overrides"}
    site.write(
        {
            "index.md": "---\ntemplate: home.html\ntags: [a]\n---\n# Hidden heading\n\nHidden words.\n",
            "start.md": "---\ntemplate: home.html\ntitle: Start\n---\n",
            "note.md": "---\ntemplate: note.html\n---\n# Note\n\nWords of the page.\n\n- an item\n",
            "deep/er/index.md": "Text before.\n\n# The heading\n",
            "bare/index.md": "Only text.\n",
        }
    )
    site.build()
    text = site.text()
    assert text.count("Words of a template.") == 2
    assert "Hidden words" not in text
    assert "Words of the page." in text
    assert "Below the page" not in text
    assert site.page("deep/er/index.md")["title"] == "The heading"
    assert site.page("bare/index.md")["title"] == "Bare"


def test_a_page_that_was_copied_into_the_docs_folder_keeps_its_source_lines(site):
    original = site.root / "project" / "page.md"
    original.parent.mkdir()
    original.write_text("# Page\n\nText on line three.\n", encoding="utf-8")
    site.add_hook(
        "def on_pre_page(page, config, files):\n"
        "    if page.file.src_uri == 'copied/page.md':\n"
        f"        page.file.abs_src_path = {str(original)!r}\n"
        "    return page\n"
    )
    site.write({"copied/page.md": original.read_text(encoding="utf-8")}).build()
    lines = {row["content"]: row["end_line"] for row in site.table("chunks")}
    assert lines["Text on line three."] == 3


def test_pages_that_link_to_each_other_as_translations_are_translations(site):
    overrides = site.root / "overrides"
    overrides.mkdir()
    link = '<link rel="alternate" hreflang="{{ tag }}" href="{{ path | url }}">'
    loop = f"{{% for tag, path in (page.meta if page else {{}}).get('alternates', {{}}).items() %}}{link}{{% endfor %}}"
    main = f'{{% extends "base.html" %}}{{% block extrahead %}}{loop}{{% endblock %}}'
    (overrides / "main.html").write_text(main, encoding="utf-8")
    site.config["theme"] = {"name": "mkdocs", "custom_dir": "overrides"}
    alternates = "---\nalternates: {en: guide/, uk: uk/posibnyk/}\n---\n"
    site.write(
        {
            "guide.md": f"{alternates}# Guide\n\nThe rules of the firewall.\n",
            "uk/posibnyk.md": f"{alternates}# Посібник\n\nПравила мережевого екрана.\n",
        }
    )
    site.build()
    urls = {"en": "guide/", "uk": "uk/posibnyk/"}
    assert json.loads(site.page("guide.md")["translations"]) == urls
    assert json.loads(site.page("uk/posibnyk.md")["translations"]) == urls
