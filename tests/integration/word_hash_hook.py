"""A MkDocs hook (`hooks:` in mkdocs.yml) that puts the word-hash embedder into the plugin."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.word_hash import WordHashEmbedder


def on_config(config):
    config.plugins["semsearch"].embedder_factory = lambda settings: WordHashEmbedder()
