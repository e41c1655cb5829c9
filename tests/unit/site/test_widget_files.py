"""The widget's files and its config.json."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import pytest

from mkdocs_semsearch.artifact.fields import FacetDeclaration
from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.plugin.options import SemsearchConfig
from mkdocs_semsearch.site.pipeline import WidgetSettings
from mkdocs_semsearch.site.widget_files import (
    CONFIG,
    RESULTS_PAGE,
    STYLE,
    own_config,
    place_script_first,
    site_version,
    widget_config,
    withdraw_static,
)
from mkdocs_semsearch.theme_files import SCRIPT, theme_dir


@pytest.fixture
def settings():
    config = SemsearchConfig()
    config.load_dict({})
    config.validate()
    return config.settings()


def body(settings, **more):
    values = {"language": "en", "version": None, "results_page": True, **more}
    return json.loads(widget_config(settings, **values))


def test_widget_is_there():
    assert (theme_dir() / SCRIPT).is_file()
    assert (theme_dir() / STYLE).is_file()


def test_nothing_outside_its_own_folder_gets_into_a_site():
    """MkDocs copies every file of a theme folder except templates, so no file of another theme may be replaced."""
    outside = [path for path in theme_dir().rglob("*") if path.is_file() and "assets/semsearch" not in path.as_posix()]
    assert outside == [theme_dir() / RESULTS_PAGE]


def test_config(settings):
    assert body(settings) == {
        "api_url": "/-/semsearch",
        "static": "auto",
        "language": "en",
        "shortcut": True,
        "fallback": True,
        "recents": True,
        "suggestions": [],
        "results_page": True,
        "strings": {},
        "facets": [
            {"name": "tags", "type": "list", "label": "Tags"},
            {"name": "page.section", "type": "string", "label": "Section"},
        ],
    }


def test_a_widget_that_looks_for_a_sidecar_knows_its_site(settings):
    url = "https://example.org/docs/1.0"
    assert body(settings, site_url=url)["site_url"] == url
    assert "site_url" not in body(settings, site_url=url, api_url="/docs/-/semsearch")


def test_options_reach_the_widget(settings):
    facets = (FacetDeclaration("année", "integer", "Année"),)
    settings = replace(settings, facets=facets, widget=WidgetSettings(False, False, False, strings={"close": "Fermer"}))
    found = body(settings, language="fr")
    assert (found["shortcut"], found["fallback"], found["recents"], found["language"]) == (False, False, False, "fr")
    assert found["strings"] == {"close": "Fermer"}
    assert found["facets"] == [{"name": "année", "type": "integer", "label": "Année"}]


def test_the_widget_knows_the_languages_for_which_a_site_has_its_own_texts(settings, tmp_path):
    folder = tmp_path / "docs/assets/semsearch/strings"
    folder.mkdir(parents=True)
    for language in ("it", "de"):
        (folder / f"{language}.json").write_text('{"search": "Trova"}')
    shutil.copy(theme_dir() / "assets/semsearch/strings/en.json", folder)  # as `--widget` copies it into a site
    (folder / "._it.json").write_text("made by a Mac")
    (folder / "fr.json").mkdir()
    assert body(settings, folders=[tmp_path / "docs", theme_dir()])["own_strings"] == ["de", "it"]
    assert "own_strings" not in body(settings, folders=[theme_dir()])


def test_an_own_config_does_not_change_what_answers_in_a_preview(settings):
    own = {"api_url": "https://own.example", "static": True, "triggers": False}
    found = body(settings, api_url="/docs/-/semsearch", own=own)
    assert (found["api_url"], found["static"], found["triggers"]) == ("/docs/-/semsearch", False, False)


def test_a_site_without_files_for_a_search_in_the_browser_says_so_whatever_its_own_config_says(settings, tmp_path):
    (tmp_path / CONFIG).parent.mkdir(parents=True)
    text = widget_config(
        settings, language="en", version=None, results_page=True, own={"static": True, "button": False}
    )
    (tmp_path / CONFIG).write_text(text)
    withdraw_static(tmp_path)
    found = json.loads((tmp_path / CONFIG).read_text())
    assert (found["static"], found["button"]) == (False, False)


def test_preview_answers_for_itself(settings):
    settings = replace(settings, api_url="https://search.example.org")
    assert body(settings)["api_url"] == "https://search.example.org"
    assert body(settings, api_url="/docs/-/semsearch")["api_url"] == "/docs/-/semsearch"


@pytest.mark.parametrize(
    ("api_url", "version", "expected"),
    [
        ("https://search.example.org/{version}", "2.1", "https://search.example.org/2.1"),
        ("https://search.example.org/{version}", None, "/-/semsearch"),
        ("/-/semsearch/{version}", "a b/c", "/-/semsearch/a%20b%2Fc"),
        ("https://search.example.org", "2.1", "https://search.example.org"),
    ],
)
def test_the_version_may_stand_in_the_address(settings, api_url, version, expected):
    found = body(replace(settings, api_url=api_url), version=version)
    assert found["api_url"] == expected
    assert found["static"] == ("auto" if version is None else True)


def test_without_a_version_all_answer_together_if_the_browser_must_not_search(settings):
    settings = replace(settings, api_url="https://example.org/{version}", static=replace(settings.static, mode="never"))
    found = body(settings)
    assert (found["api_url"], found["static"]) == ("https://example.org", False)


@pytest.mark.parametrize(
    ("site_url", "version"),
    [
        ("https://example.org/docs/2.0/", None),
        ("https://example.org/docs/2.0", None),
        ("https://example.org/docs/latest/", "2.0"),
        ("https://example.org/docs/12.0/", "2.0"),
        ("", "2.0"),
    ],
)
def test_the_widget_knows_the_version_if_the_address_does_not_tell_it(settings, site_url, version):
    assert body(settings, version="2.0", site_url=site_url).get("version") == version


@pytest.mark.parametrize(
    ("environment", "version"),
    [
        ({}, None),
        ({"MIKE_DOCS_VERSION": "2.1"}, "2.1"),
        ({"READTHEDOCS_VERSION": "stable"}, "stable"),
        ({"MIKE_DOCS_VERSION": "2.1", "READTHEDOCS_VERSION": "stable"}, "2.1"),
        ({"READTHEDOCS_VERSION": ""}, None),
    ],
)
def test_version(monkeypatch, environment, version):
    for name in ("MIKE_DOCS_VERSION", "READTHEDOCS_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert site_version() == version


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"button": NaN}'])
def test_an_own_config_that_browsers_cannot_read_is_an_error(content):
    with pytest.raises(ConfigurationError, match=r"config\.json is not used"):
        own_config(content, "config.json")


OURS = f'<script src="../{SCRIPT}" defer></script>'
OTHER = '<script src="own.js"></script>'


@pytest.mark.parametrize("theme", ["search/main.js", "../assets/javascripts/bundle.e71a0d61.min.js"])
def test_the_script_stands_before_that_of_the_search_of_the_theme(theme):
    theirs = f'<script src="{theme}"></script>'
    page = place_script_first(f"<p>x</p>{OTHER}{theirs}{OTHER}{OURS}{OTHER}")
    scripts = re.findall(r'<script src="([^"]+)"', page)
    assert scripts == ["own.js", f"../{SCRIPT}", theme, "own.js", "own.js"]
    for unchanged in (f"{OTHER}{theirs}", f"{OTHER}{OURS}", OTHER, "<p>x</p>"):
        assert place_script_first(unchanged) == unchanged
