"""Options: their values in the settings, and the errors for wrong ones."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import pytest

from mkdocs_semsearch.artifact.fields import FacetDeclaration
from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.plugin.options import SemsearchConfig, check_place


def load(options, folder=Path("/docs-project")):
    config = SemsearchConfig(config_file_path=str(folder / "mkdocs.yml"))
    config.load_dict(options)
    return config, *config.validate()


def settings(options, folder=Path("/docs-project")):
    config, errors, warnings = load(options, folder)
    assert (errors, warnings) == ([], [])
    return config.settings()


def test_defaults():
    defaults = settings({})
    assert (defaults.embedder.kind, defaults.embedder.model) == (
        "sentence-transformers",
        "sentence-transformers/all-MiniLM-L6-v2",
    )
    assert defaults.facets == (
        FacetDeclaration("tags", "list", "Tags"),
        FacetDeclaration("page.section", "string", "Section"),
    )
    assert defaults.index_dir == Path("/docs-project/semsearch-index")
    assert defaults.cache_dir == Path("/docs-project/.cache/plugin/semsearch")
    assert (defaults.max_tokens, defaults.overlap_tokens, defaults.graph) == (220, 20, "auto")
    assert (defaults.publish_index, defaults.api_url, defaults.exclude) == (False, None, ())
    assert (defaults.widget.shortcut, defaults.widget.fallback, defaults.store.kind) == (True, True, "embedded")


def test_reading_the_options_warns_about_nothing():
    """`mkdocs build` shows warnings about deprecated functions of MkDocs, with a traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load({})
        load({"store": {"kind": "qdrant", "url": "http://localhost:6333", "collection": "docs"}})


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings({}).graph = "exact"  # type: ignore[misc]


def test_an_empty_option_means_the_defaults():
    empty = dict.fromkeys(("embedder", "facets", "exclude", "chunking", "widget", "store", "index_dir", "api_url"))
    assert settings(empty) == settings({})


def test_facets_keep_their_order_and_get_labels():
    declared = {
        "min_version": {"type": "number"},
        "tags": {"type": "list", "label": "Schlagworte"},
        "page.section": {"type": "string"},
    }
    assert [(facet.name, facet.type, facet.label) for facet in settings({"facets": declared}).facets] == [
        ("min_version", "number", "Min version"),
        ("tags", "list", "Schlagworte"),
        ("page.section", "string", "Section"),
    ]


def test_model_may_be_a_folder_beside_the_config(tmp_path):
    (tmp_path / "model").mkdir()
    assert settings({"embedder": {"model": "model"}}, tmp_path).embedder.model == str(tmp_path / "model")
    assert settings({"embedder": {"model": "org/model"}}, tmp_path).embedder.model == "org/model"


def test_options_of_the_embedder_are_handed_on():
    options = {"embedder": {"kind": "openai", "model": "m", "base_url": "http://localhost:1/v1"}}
    assert settings(options).embedder.options == {"base_url": "http://localhost:1/v1"}


QDRANT = {"kind": "qdrant", "url": "http://localhost:6333", "collection": "docs"}


@pytest.mark.parametrize(
    ("options", "option", "words"),
    [
        ({"facet": {}}, "facet", ["did you mean facets", "embedder, facets, exclude"]),
        (
            {"embedder": {"kind": "quantum"}},
            "embedder",
            ["kind", "'quantum'", "'onnx', 'openai'"],
        ),
        ({"embedder": "openai"}, "embedder", ["'openai'", "kind, model"]),
        ({"embedder": {"model": ""}}, "embedder", ["model", "''"]),
        ({"facets": {"year": {"type": "int"}}}, "facets", ["'year'", "'int'", "string, list, integer"]),
        ({"facets": {"year": {}}}, "facets", ["Field 'year' has no type: write one of string, list, integer"]),
        ({"facets": {"year": None}}, "facets", ["Field 'year' has no type: write one of string, list, integer"]),
        ({"facets": {"year": {"type": "list", 2: 3}}}, "facets", ["'year'", "'2'", "no such option"]),
        ({"facets": {"year": "integer"}}, "facets", ["'year'", "'integer'", "such as {type: …}", "type, label"]),
        ({"related": 3}, "related", ["3 is not a mapping such as {count: …}: its options are count, title."]),
        ({"static": {"maximum": 3}}, "static", ["There is no such option. The options are tune."]),
        ({"facets": {1: {"type": "list"}}}, "facets", ["1", "quotes"]),
        ({"facets": ["tags"]}, "facets", ["['tags']", "tags: {type: list}"]),
        ({"facets": {"page.path": {"type": "string"}}}, "facets", ["'page.path'", "page.section"]),
        ({"facets": {"page.section": {"type": "list"}}}, "facets", ["page.section", "string", "list"]),
        ({"facets": {"tags": {"type": "list", "lable": "T"}}}, "facets", ["lable", "did you mean label"]),
        ({"synonyms": ["k8s"]}, "synonyms", ["['k8s']", "{k8s: kubernetes}"]),
        ({"synonyms": " "}, "synonyms", ["' '", "{k8s: kubernetes}"]),
        ({"synonyms": {"a": "b", "k8s": []}}, "synonyms", ["'k8s' has no value."]),
        ({"synonyms": {"a": "b", "k8s": None}}, "synonyms", ["'k8s' has no value."]),
        ({"synonyms": {"a": "b", "k8s": ["c", " "]}}, "synonyms", ["'k8s' has no value."]),
        ({"synonyms": {"k8s": [1]}}, "synonyms", ["'k8s' has the value 1, which is not text: write it in quotes."]),
        ({"synonyms": {404: "missing"}}, "synonyms", ["the key 404, which is not text: write it in quotes."]),
        ({"synonyms": {False: "a"}}, "synonyms", ["the key False, as YAML reads the words no, off and false"]),
        ({"pins": ["a.md"]}, "pins", ["guide/auth.md"]),
        ({"pins": {"": "a.md"}}, "pins", ["the key of the value 'a.md' is empty."]),
        ({"pins": {"how": "a.md", 404: "page.md"}}, "pins", ["the key 404, which is not text: write it in quotes."]),
        ({"pins": {"how": ["a.md"]}}, "pins", ["'how' has the value ['a.md'], which is not text."]),
        ({"kinds": {"": "blog"}}, "kinds", ["{'': 'blog'}", "mapping of globs"]),
        ({"exclude": "drafts/*"}, "exclude", ["'drafts/*'", "list of globs"]),
        ({"exclude": [1]}, "exclude", ["[1]", "list of globs"]),
        ({"facets": {"page.kind": {"type": "list"}}}, "facets", ["page.kind", "string", "list"]),
        ({"kinds": ["news/*"]}, "kinds", ["['news/*']", "mapping of globs"]),
        (
            {"kinds": {"news/*": "novel"}},
            "kinds",
            ["'news/*'", "'novel'", "guide, reference, changelog, blog, archive, contributing, proposal, unlisted"],
        ),
        ({"chunking": {"max_tokens": "many"}}, "chunking", ["max_tokens", "'many'", "from 16 up"]),
        ({"chunking": {"max_tokens": True}}, "chunking", ["max_tokens", "True", "from 16 up"]),
        ({"chunking": {"max_tokens": 15}}, "chunking", ["max_tokens", "15", "from 16 up"]),
        ({"chunking": {"overlap_tokens": 220}}, "chunking", ["overlap_tokens", "220", "max_tokens"]),
        ({"chunking": {"overlap_tokens": -1}}, "chunking", ["overlap_tokens", "-1", "from 0 up"]),
        ({"index_dir": 3}, "index_dir", ["3", "not the path of a folder"]),
        ({"index_dir": "~/index"}, "index_dir", ["'~/index'", "does not begin with ~"]),
        ({"cache_dir": "a\0b"}, "cache_dir", ["'a\\x00b'", "not the path of a folder"]),
        ({"publish_index": "yes"}, "publish_index", ["'yes'", "neither true nor false"]),
        ({"store": {"kind": "redis"}}, "store", ["kind", "'redis'", "'embedded', 'qdrant'"]),
        ({"store": {"kind": "qdrant"}}, "store", ["url and collection", "environment variable QDRANT_URL"]),
        (
            {"store": {"url": "http://db:6333", "collection": "d"}},
            "store",
            ["url", "It needs `kind: qdrant` (or `kind: embedded`"],
        ),
        ({"store": QDRANT | {"url": "localhost:6333"}}, "store", ["url", "'localhost:6333'", "http://localhost:6333"]),
        ({"store": QDRANT | {"url": "http://user:key@db"}}, "store", ["url", "QDRANT_API_KEY"]),
        ({"store": QDRANT | {"collection": "a/b"}}, "store", ["collection", "'a/b'"]),
        ({"store": QDRANT | {"api_key": "secret"}}, "store", ["api_key", "no such option"]),
        ({"store": QDRANT | {"replicas": 0}}, "store", ["replicas", "0", "from 1 up"]),
        ({"store": QDRANT, "static": True}, "static", ["store.kind is qdrant"]),
        ({"api_url": "search.example.org"}, "api_url", ["'search.example.org'", "https://"]),
        ({"api_url": "https:///search"}, "api_url", ["'https:///search'", "https://"]),
        ({"api_url": "https://a.example/{verison}"}, "api_url", ["{verison}", "braces other than {version}."]),
        ({"api_url": "https://a.example/{version"}, "api_url", ["{version'", "braces other than {version}."]),
        ({"widget": {"insights_url": "/{version}"}}, "widget", ["'/{version}'", "or braces."]),
        ({"widget": False}, "widget", ["False", "shortcut, fallback"]),
        ({"widget": {"shortcut": "k"}}, "widget", ["shortcut", "'k'", "neither true nor false"]),
        ({"widget": {"strings": ["Search"]}}, "widget", ["strings", "['Search']", "names to texts"]),
        (
            {"widget": {"strings": {"placehoder": "Find"}}},
            "widget",
            ["strings.placehoder", "There is no such text", "did you mean placeholder"],
        ),
        ({"graph": "hnsw"}, "graph", ["'hnsw'", "'auto', 'exact', 'nndescent'"]),
    ],
)
def test_wrong_option_names_itself_its_value_and_what_is_allowed(options, option, words, monkeypatch):
    monkeypatch.delenv("QDRANT_URL", raising=False)
    _, errors, _ = load(options)
    assert [name for name, _ in errors] == [option]
    assert all(word in str(errors[0][1]) for word in words), str(errors[0][1])


def test_texts_with_a_number_may_have_the_plural_forms_of_every_language():
    polish = {
        "count_one": "{count} wynik",
        "count_few": "{count} wyniki",
        "count_many": "{count} wyników",
        "count_other": "{count} wyniku",
        "show_zero": "Nic",
        "show_two": "Oba",
    }
    assert settings({"widget": {"strings": polish}}).widget.strings == polish
    for text in ("count_all", "search_few"):
        assert load({"widget": {"strings": {text: "x"}}})[1]


def test_the_environment_may_name_the_cluster(monkeypatch):
    monkeypatch.setenv("QDRANT_URL", "http://localhost:6333")
    assert settings({"store": {"kind": "qdrant", "collection": "docs"}}).store.url is None
    _, errors, _ = load({"store": {"kind": "qdrant"}})
    assert "needs collection." in str(errors[0][1])


def test_options_of_a_cluster_may_stay_while_the_kind_is_embedded():
    given = settings({"store": {**QDRANT, "kind": "embedded"}}).store
    assert (given.kind, given.collection) == ("embedded", QDRANT["collection"])
    assert settings({"store": {}}).store.kind == settings({"store": None}).store.kind == "embedded"


def test_kinds_keep_their_order():
    kinds = {"news/*": "blog", "old/*": "archive"}
    assert list(settings({"kinds": kinds}).kinds.items()) == list(kinds.items())


def test_globs_on_source_paths_may_be_written_as_on_windows():
    given = settings({"exclude": ["internal\\*"], "kinds": {"news\\*": "blog"}})
    assert (given.exclude, given.kinds) == (("internal/*",), {"news/*": "blog"})


def test_api_url_loses_its_last_slash():
    assert settings({"api_url": "https://search.example.org/"}).api_url == "https://search.example.org"
    for address in ("/-/semsearch", "https://{version}.example.org/a", "http://[::1]:8765/{version}?a=b"):
        assert settings({"api_url": address}).api_url == address


def test_places(tmp_path):
    docs, site = tmp_path / "docs", tmp_path / "site"
    check_place("index_dir", tmp_path / "semsearch-index", docs_dir=docs, site_dir=site)
    for place, complaint in ((docs / "i", "docs_dir"), (site / "i", "publish_index"), (tmp_path, "contains docs_dir")):
        with pytest.raises(ConfigurationError, match=complaint):
            check_place("index_dir", place, docs_dir=docs, site_dir=site)


def test_places_are_compared_after_links_are_followed(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "elsewhere").symlink_to(docs)
    with pytest.raises(ConfigurationError, match="is inside docs_dir"):
        check_place("index_dir", tmp_path / "elsewhere" / "i", docs_dir=docs, site_dir=tmp_path / "site")


def test_an_export_and_the_cache_are_in_one_folder():
    given = settings({"cache_dir": "kept", "cache_max_mb": 50})
    assert given.cache_max_bytes == 50_000_000
    assert given.embedder.options == {"runtime": "auto", "cache_dir": "/docs-project/kept"}
    assert settings({"embedder": {"kind": "onnx"}}).embedder.options.keys() == {"cache_dir"}
    assert settings({"embedder": {"kind": "openai"}}).embedder.options == {}
    own = {"runtime": "torch", "cache_dir": "elsewhere"}
    assert settings({"embedder": own}).embedder.options == own


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1000", True])
def test_the_size_limit_of_the_cache_is_a_whole_number(wrong):
    _, errors, _ = load({"cache_max_mb": wrong})
    assert [name for name, _ in errors] == ["cache_max_mb"]


def test_synonyms_are_written_as_words_lists_or_a_file(tmp_path):
    written = {"k8s": "kubernetes", "vm": ["virtual machine", "guest"]}
    read = {"k8s": ("kubernetes",), "vm": ("virtual machine", "guest")}
    assert settings({"synonyms": written}).synonyms == read
    (tmp_path / "words.yml").write_text("k8s: kubernetes\nvm: [virtual machine, guest]\n")
    assert settings({"synonyms": "words.yml"}, tmp_path).synonyms == read
    (tmp_path / "words.yml").write_text("- k8s\n")
    with pytest.raises(ConfigurationError, match=r"words\.yml is not a mapping such as {k8s: kubernetes}"):
        settings({"synonyms": "words.yml"}, tmp_path)
    (tmp_path / "words.yml").write_text("k8s: kubernetes\nno: nein\n")
    with pytest.raises(ConfigurationError, match=r"words\.yml: the key False, as YAML reads the words no, off and"):
        settings({"synonyms": "words.yml"}, tmp_path)
    (tmp_path / "words.yml").write_text("k8s: [\n")
    with pytest.raises(ConfigurationError, match=r"words\.yml cannot be read: while parsing .*") as caught:
        settings({"synonyms": "words.yml"}, tmp_path)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"missing\.yml cannot be read: No such file or directory\.$"):
        settings({"synonyms": "missing.yml"}, tmp_path)
    assert settings({"pins": {"begin": "a.md"}}).pins == {"begin": "a.md"}


def test_the_lint_is_off_by_default():
    assert settings({}).lint is settings({"lint": False}).lint is settings({"lint": "off"}).lint is None
    assert settings({"lint": True}).lint == ()
    assert settings({"lint": {"quiet": ["orphan", "title"]}}).lint == ("orphan", "title")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lint": "loud"}, ["'loud'", "off, true, false"]),
        ({"lint": {"quiet": ["spelling"]}}, ["spelling", "duplicate, facet-typo"]),
        ({"lint": {"quiet": "orphan"}}, ["is not a list of rules"]),
        ({"lint": True, "store": {"kind": "qdrant", "url": "http://q", "collection": "c"}}, ["index folder", "qdrant"]),
    ],
)
def test_an_invalid_lint_option_is_refused(options, words):
    _, [(option, error)], _ = load(options)
    assert option == "lint"
    assert all(word in str(error) for word in words), error
