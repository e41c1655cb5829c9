"""The option `static`, and its effect on the widget's configuration."""

from __future__ import annotations

import json

import pytest

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.pipeline import StaticSettings
from mkdocs_semsearch.site.widget_files import widget_config


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, StaticSettings()),
        ("auto", StaticSettings(mode="auto")),
        (False, StaticSettings("never")),
        (True, StaticSettings("always")),
        ({}, StaticSettings("always")),
        ({"tune": True}, StaticSettings("always", tune=True)),
    ],
)
def test_static_is_a_switch_with_options(value, wanted):
    assert read_settings({"static": value}, None).static == wanted


@pytest.mark.parametrize(
    ("value", "complaint"), [("yes", "not one of auto, true, false or a mapping"), ({"tuned": True}, "tuned"), (3, "3")]
)
def test_other_values_are_refused(value, complaint):
    with pytest.raises(ConfigurationError, match=f"static: .*{complaint}"):
        read_settings({"static": value}, None)


def config(**options):
    settings = read_settings(options, None)
    return json.loads(widget_config(settings, language="en", version=None, results_page=False))


def test_cluster_leaves_nothing_for_the_browser():
    store = {"kind": "qdrant", "url": "http://localhost:6333", "collection": "docs"}
    assert read_settings({"store": store}, None).static == StaticSettings("never")


def test_widget_looks_for_a_sidecar_unless_it_is_told_that_there_is_none():
    assert (config()["api_url"], config()["static"]) == ("/-/semsearch", "auto")
    assert (config(static=False)["api_url"], config(static=False)["static"]) == ("/-/semsearch", False)
    named = config(api_url="https://search.example.org")
    assert (named["api_url"], named["static"]) == ("https://search.example.org", True)
    assert (config(static=True)["api_url"], config(static=True)["static"]) == (None, True)
    both = config(static=True, api_url="https://search.example.org")
    assert (both["api_url"], both["static"]) == ("https://search.example.org", True)
