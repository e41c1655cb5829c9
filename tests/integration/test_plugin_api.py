"""The plugin in this process: the embedded texts, and the state after a failed build."""

from __future__ import annotations

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from mkdocs_semsearch.artifact import current_build
from mkdocs_semsearch.errors import EmbedderUnavailableError
from mkdocs_semsearch.theme_files import theme_dir
from tests.integration.sites import DocsSite
from tests.word_hash import WordHashEmbedder


@pytest.fixture
def site(tmp_path):
    pages = {"index.md": "# Welcome\n\nStart here.\n", "tokens.md": "# Tokens\n\nRotate.\n\n## Revoke\n\nAt once.\n"}
    return DocsSite(tmp_path, word_hash=False).write(pages)


def prepare(site, embedder):
    config = load_config(str(site.write_config()), strict=True)
    config.plugins["semsearch"].embedder_factory = lambda settings: embedder
    return config


def embedded(site):
    """Builds the site and returns the texts that were embedded for it."""
    embedder = WordHashEmbedder()
    build(prepare(site, embedder))
    return embedder.embedded


def test_only_new_texts_are_embedded(site):
    assert sum("Rotate." in text for text in embedded(site)) == 1
    assert embedded(site) == []
    site.write({"tokens.md": "# Tokens\n\nRotate.\n\n## Revoke\n\nWithin a minute.\n"})
    (text,) = embedded(site)
    assert "Within a minute." in text


def test_same_plugin_builds_twice(site):
    embedder = WordHashEmbedder()
    config = prepare(site, embedder)
    build(config)
    site.write({"new.md": "# New\n"})
    build(config)
    assert sorted(site.paths()) == ["index.md", "new.md", "tokens.md"]
    for places in (map(str, config.extra_javascript), config.extra_css):
        assert sum("semsearch" in place for place in places) == 1
    assert config.theme.dirs.count(str(theme_dir())) == 1


class _Unavailable(WordHashEmbedder):
    def embed(self, texts, role):
        raise EmbedderUnavailableError("The embedder is away: try again later.")


def test_failed_build_leaves_the_index_and_the_plugin_usable(site, caplog):
    embedded(site)
    before = current_build(site.index_dir)
    site.write({"tokens.md": "# Tokens\n\nOther words.\n"})
    config = prepare(site, _Unavailable())
    with pytest.raises(Abort):
        build(config)
    assert "The embedder is away: try again later." in caplog.text
    assert current_build(site.index_dir) == before

    config.plugins["semsearch"].embedder_factory = lambda settings: WordHashEmbedder()
    build(config)
    assert "Other words." in site.text()


def test_build_that_fails_half_way_does_not_confuse_the_next_one(site):
    config = prepare(site, WordHashEmbedder())

    def fail(env, **_):
        raise RuntimeError("half way")

    config.plugins.events["env"].append(fail)
    with pytest.raises(RuntimeError, match="half way"):
        build(config)
    assert not site.index_dir.exists()
    config.plugins.events["env"].remove(fail)
    build(config)
    assert site.paths() == ["index.md", "tokens.md"]
