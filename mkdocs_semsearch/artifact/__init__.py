"""The contract between build and query: manifest, table schemas, file names, atomic publish, verified open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact.fields import FACET_TYPES, FacetDeclaration, FacetType
from mkdocs_semsearch.artifact.index_folder import OpenIndex, current_build, open_index, publish_build, read_manifest
from mkdocs_semsearch.artifact.manifest import (
    DEFAULT_INDEX_DIR,
    FORMAT,
    EmbedderIdentity,
    EncoderInfo,
    IndexedFile,
    Manifest,
)

__all__ = [
    "DEFAULT_INDEX_DIR",
    "FACET_TYPES",
    "FORMAT",
    "WEIGHTS",
    "EmbedderIdentity",
    "EncoderInfo",
    "FacetDeclaration",
    "FacetType",
    "IndexedFile",
    "Manifest",
    "OpenIndex",
    "current_build",
    "open_index",
    "publish_build",
    "read_manifest",
]

WEIGHTS: Mapping[str, Mapping[str, Any]] = json.loads(
    Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
)
"""Every number of the ranking, read from `weights.json`; a static bundle carries the same table for the browser.

`benchmarks/fit_ranking.py` writes the table and measures each set of questions with one site left out at a time.
By group and name:

* `fields`: how much a word counts by where it stands; `clauses`: how much the parts of a question count beside a word.
* `bm25`: `k1` and `b` of the formula; `tie_breaker` is the share of the lesser fields beside the best one.
* `fusion`: `semantic` is the share of meaning, `static_semantic` that of the token table in a browser; the similarity
  at `floor_rank`, or `least_span` below the best, becomes 0; `lexical_limit` hits of the words take part, or down to
  `lexical_least` where filters leave few chunks.
* `pages`: what each of the next so many sections adds to a page's best, as a share of its own score.
* `kinds`: factor for pages of a kind, where the question does not ask for that kind.
* `languages`: factor for pages that are not in the language of the reader.
* `matches`: share of the best score, and of the best similarity where meaning alone ranks, from which a chunk matches.
* `nothing`: a site does not answer a question where the best similarity is below `similarity`, less `known` times the
  share of the question's words that the site has, less `words` times the share of their weight in the best chunk. A
  question of up to `short` words, all of them known, is always answered. Sites of fewer than `chunks` chunks need less
  similarity: the best of few is less similar by chance.
"""
