"""Stores and searches the chunks of an index in a Qdrant cluster; loaded only if an index names such a store."""

from __future__ import annotations

from importlib.util import find_spec

from mkdocs_semsearch.errors import ConfigurationError

if find_spec("qdrant_client") is None:
    raise ConfigurationError(
        'This index is in a Qdrant cluster, and its client is missing: run pip install "mkdocs-semsearch[qdrant]".'
    )
