"""`search/` in built sites: it exists in every theme, does not replace a site's own page, and can be switched off."""

from __future__ import annotations

import shutil

import pytest
from selectolax.lexbor import LexborHTMLParser

from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.widget_files import RESULTS_PAGE, write_results_page

from .sites import ENGINES, THEMES, DocsSite

PAGES = {"index.md": "# Home\n\nWelcome.\n", "guide.md": "# Guide\n\nHow to.\n"}


def form_of(html):
    (form,) = LexborHTMLParser(html).css("form[data-semsearch=page]")
    return form


@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_gets_a_page_with_a_form_that_needs_no_script(tmp_path, theme):
    site = DocsSite(tmp_path, config={"theme": {"name": theme}, "site_name": "A & B"}).write(PAGES)
    site.build()
    html = site.html(RESULTS_PAGE)
    form = form_of(html)
    assert form.attributes["action"] == "/-/semsearch/api/v1/search.html"
    assert form.attributes.get("method", "get") == "get"
    assert form.css_first("input").attributes["name"] == "q"
    tree = LexborHTMLParser(html)
    assert tree.css_first("title").text() == "Search - A & B"
    assert tree.css_first("meta[name=robots]").attributes["content"] == "noindex"
    assert tree.css_first("script[type=module]").attributes["src"] == "../assets/semsearch/page.js"
    assert (site.site_dir / "assets/semsearch/page.js").is_file()
    assert "search" not in " ".join(site.paths())
    assert "search/" not in site.html("sitemap.xml").replace("research/", "")
    assert site.widget_config()["results_page"] is True


@pytest.mark.parametrize("engine", ENGINES)
def test_the_page_speaks_the_language_and_knows_the_address_of_the_sidecar(tmp_path, engine):
    options = {"api_url": "https://search.example.org/x/", "widget": {"strings": {"placeholder": 'Frag "mich"'}}}
    theme = {"name": "mkdocs", "locale": "de"}
    site = DocsSite(tmp_path, options=options, config={"theme": theme, "use_directory_urls": False}).write(PAGES)
    site.build(engine=engine)
    form = form_of(site.html(RESULTS_PAGE))
    assert form.attributes["action"] == "https://search.example.org/x/api/v1/search.html"
    assert form.css_first("button").text() == "Suche"
    assert form.css_first("input").attributes["placeholder"] == 'Frag "mich"'


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", ["docs", "overrides"])
def test_the_page_has_the_sites_own_translation(tmp_path, folder, engine):
    options = {"widget": {"strings": {"placeholder": "Frag mich"}}}
    theme = {"name": "mkdocs", "locale": "de", "custom_dir": "overrides"}
    site = DocsSite(tmp_path, options=options, config={"theme": theme}).write(PAGES)
    (tmp_path / "overrides").mkdir()
    own = tmp_path / folder / "assets/semsearch/strings/de.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"search": "Finden", "placeholder": "Im Handbuch suchen"}')
    site.build(engine=engine)
    form = form_of(site.html(RESULTS_PAGE))
    assert form.css_first("button").text() == "Finden"
    assert form.css_first("input").attributes["placeholder"] == "Frag mich"


@pytest.mark.parametrize("language", ["it", "en"])
def test_a_site_may_bring_a_language_and_reword_english(tmp_path, language):
    site = DocsSite(tmp_path, config={"theme": {"name": "mkdocs", "locale": language}}).write(PAGES)
    site.write({f"assets/semsearch/strings/{language}.json": '{"search": "Trova"}'}).build()
    form = form_of(site.html(RESULTS_PAGE))
    assert form.css_first("button").text() == "Trova"
    assert form.css_first("input").attributes["placeholder"] == "Search the documentation"
    assert site.widget_config()["own_strings"] == [language]


@pytest.mark.parametrize(("static", "needs"), [(True, True), (False, False)])
def test_without_a_sidecar_the_page_says_that_it_needs_javascript(tmp_path, static, needs):
    site = DocsSite(tmp_path, options={"static": static}, word_hash=False).write(PAGES)
    site.build()
    assert ("<noscript><p>This search needs JavaScript.</p></noscript>" in site.html(RESULTS_PAGE)) is needs


@pytest.mark.parametrize("own", ["search.md", "search/index.html"])
def test_a_page_of_the_sites_own_stays(tmp_path, own):
    text = "# Own\n\nOurs.\n" if own.endswith(".md") else "<p>Ours.</p>"
    site = DocsSite(tmp_path).write({**PAGES, own: text})
    site.build()
    assert "Ours." in site.html(RESULTS_PAGE)
    assert "data-semsearch=" not in site.html(RESULTS_PAGE)
    assert site.widget_config()["results_page"] is False


def test_a_template_of_the_sites_own_theme_takes_precedence(tmp_path):
    site = DocsSite(tmp_path, config={"theme": {"name": "mkdocs", "custom_dir": "overrides"}}).write(PAGES)
    own = tmp_path / "overrides" / RESULTS_PAGE
    own.parent.mkdir(parents=True)
    own.write_text('{% extends "main.html" %}{% block content %}<p>{{ semsearch.api_url }}</p>{% endblock %}')
    site.build()
    assert "<p>/-/semsearch</p>" in site.html(RESULTS_PAGE)


def test_a_theme_whose_pages_have_another_block_gets_the_plain_page(tmp_path):
    site = DocsSite(tmp_path, config={"theme": {"name": None, "custom_dir": "own"}, "site_name": "A & B"}).write(PAGES)
    own = tmp_path / "own"
    own.mkdir()
    page = "<html><head><title>x</title></head><body>{% block page %}{{ page.content }}{% endblock %}</body></html>"
    (own / "main.html").write_text(page)
    (own / "base.html").write_text(page)
    site.build()
    html = site.html(RESULTS_PAGE)
    assert form_of(html).attributes["action"] == "/-/semsearch/api/v1/search.html"
    assert LexborHTMLParser(html).css_first("title").text() == "Search - A & B"
    assert site.widget_config()["results_page"] is True


MINIFIES = """
import re
from mkdocs.plugins import event_priority

@event_priority(1)  # as a plugin that is listed before this one
def on_post_template(output_content, *, template_name, config):
    return re.sub(r'="([\\w./-]+)"', r"=\\1", output_content)
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("theme", THEMES)
def test_a_page_that_is_minified_later_keeps_its_theme_and_its_script(tmp_path, theme, engine):
    site = DocsSite(tmp_path, config={"theme": {"name": theme}}).write(PAGES)
    site.add_hook(MINIFIES)
    site.build(engine=engine)
    html = site.html(RESULTS_PAGE)
    assert "data-semsearch=page" in html
    assert "plain.css" not in html
    first = "assets/javascripts/bundle." if theme == "material" else "search/main.js"
    for page in (html, site.html("404.html")):
        assert page.index("semsearch.js") < page.index(first)


NEED_A_PAGE = (
    "{{ page.meta.title }}",
    "{% for item in page.toc.items %}{{ item.title }}{% endfor %}",
    "{{ page.title | tojson }}",
    "{% if not page %}{% include 'missing.html' %}{% endif %}",
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("needed", NEED_A_PAGE)
def test_a_theme_that_needs_a_page_gets_the_plain_page(tmp_path, needed, engine):
    site = DocsSite(tmp_path, config={"theme": {"name": None, "custom_dir": "own"}, "site_name": "A & B"}).write(PAGES)
    own = tmp_path / "own"
    own.mkdir()
    (own / "main.html").write_text(needed + "{% block content %}{{ page.content }}{% endblock %}")
    output = site.build(engine=engine)
    assert form_of(site.html(RESULTS_PAGE)).attributes["action"] == "/-/semsearch/api/v1/search.html"
    assert LexborHTMLParser(site.html(RESULTS_PAGE)).css_first("title").text() == "Search - A & B"
    assert output.count("The results page search/index.html is shown without the theme") == 1


def test_a_broken_template_of_the_sites_own_fails_the_build(tmp_path):
    site = DocsSite(tmp_path, config={"theme": {"name": "mkdocs", "custom_dir": "overrides"}}).write(PAGES)
    own = tmp_path / "overrides" / RESULTS_PAGE
    own.parent.mkdir(parents=True)
    own.write_text("{{ page.meta.title }}")
    assert "has no attribute 'meta'" in site.build(fails=True)


def test_it_can_be_switched_off(tmp_path):
    site = DocsSite(tmp_path, options={"widget": {"results_page": False}}).write(PAGES)
    site.build()
    assert not (site.site_dir / RESULTS_PAGE).exists()
    assert site.widget_config()["results_page"] is False


def test_suggestions_reach_the_dialog(tmp_path):
    site = DocsSite(tmp_path, options={"widget": {"suggestions": ["How do I log in?"]}}).write(PAGES)
    site.build()
    assert site.widget_config()["suggestions"] == ["How do I log in?"]
    site.options = {"widget": {"suggestions": "How"}}
    assert "'How' is not a list of questions" in site.build(fails=True)


@pytest.mark.parametrize("language", ["ar", "fa", "he"])
def test_sites_of_other_generators_get_a_results_page(tmp_path, language):
    settings = read_settings({}, None)
    assert write_results_page(tmp_path, settings, language=language, site_name="<b>Site</b>")
    html = (tmp_path / RESULTS_PAGE).read_text()
    assert form_of(html).attributes["action"] == "/-/semsearch/api/v1/search.html"
    tree = LexborHTMLParser(html)
    assert tree.css_first("html").attributes == {"lang": language, "dir": "rtl"}
    assert tree.css_first("header a").text() == "<b>Site</b>"
    assert write_results_page(tmp_path, settings, language="xx", site_name="Site"), "its own page is written again"
    tree = LexborHTMLParser((tmp_path / RESULTS_PAGE).read_text())
    assert tree.css_first("html").attributes == {"lang": "en", "dir": "ltr"}
    own = tmp_path / f"assets/semsearch/strings/{language}.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"search": "Find"}')
    write_results_page(tmp_path, settings, language=language, site_name="Site")
    tree = LexborHTMLParser((tmp_path / RESULTS_PAGE).read_text())
    assert tree.css_first("html").attributes == {"lang": language, "dir": "rtl"}
    assert (tree.css_first("h1").text(), tree.css_first("button").text()) == ("Find", "Find")
    own.write_text("{")
    write_results_page(tmp_path, settings, language=language, site_name="Site")
    assert LexborHTMLParser((tmp_path / RESULTS_PAGE).read_text()).css_first("html").attributes["lang"] == "en"
    shutil.rmtree(tmp_path / "search")
    (tmp_path / "search").mkdir()
    (tmp_path / RESULTS_PAGE).write_text("<p>Theirs</p>")
    assert not write_results_page(tmp_path, settings, language="en", site_name="Site")
    assert (tmp_path / RESULTS_PAGE).read_text() == "<p>Theirs</p>"
