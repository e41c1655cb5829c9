"""Defines the index folder, the contract between build and query: manifest, schemas, publishing, opening."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact.fields import FacetDeclaration, FacetType
from mkdocs_semsearch.artifact.index_folder import OpenIndex, current_build, open_index, publish_build, read_manifest
from mkdocs_semsearch.artifact.manifest import FORMAT, EmbedderIdentity, EncoderInfo, IndexedFile, Manifest

__all__ = [
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
"""All numbers of the ranking, from `weights.json`; a static bundle contains the same table for the browser.

`benchmarks/fit_ranking.py` writes the table and measures each set of questions with one site left out at a time.
By group and name:

* `fields`: weight of a term by its field; `clauses`: weights of the other parts of a query, relative to a word.
* `bm25`: `k1` and `b` of the formula; `tie_breaker` is the factor of all fields except the best one. In a browser each
  chunk with a word gets `static_lower_bound` of the highest score of this word in addition.
* `fusion`: `semantic` is the weight of the semantic score, `static_semantic` the one for the token table in a browser;
  the similarity at `floor_rank`, or `least_span` below the best, is scaled to 0; `lexical_limit` lexical hits are used,
  and down to `lexical_least` if filters leave few chunks.
* `headings`: what a heading with all words of the question adds to the score, and the factor of the semantic weight
  if there is such a heading; for questions of `least` to `most` words.
* `pages`: each of the next `sections` sections adds `evidence` times its own score to the best score of a page;
  `each_side` is the weight of the best semantic and the best lexical score, which may be those of different sections.
* `short_chunks`: score factor of a chunk without text, which rises to 1 for a text of `bytes`; `repeated`: score factor
  of a text that is on `pages` pages or more, and on at least this `share` of the site's pages.
* `sections`: `leaf` is the score factor of a section without subsections; the first chunk of a section is shown if its
  score is at least `shown` times that of the best one.
* `kinds`: score factor for pages of a kind, unless the question is about that kind.
* `languages`: score factor for pages that are not in the language of the reader.
* `matches`, in a browser `static_matches`: a chunk matches if it has `share` of the best score. The share falls to
  `least` in proportion where the best similarity is below `similarity`, or the best chunk has less than `words` of the
  weight of the question's words. In semantic mode it needs `semantic_share` of the best similarity.
* `nothing`, in a browser `static_nothing`: a site has no answer if the best similarity is below a limit. The limit is
  `similarity`, minus `known` times the share of the question's words that the site has, minus `words` times the share
  of their weight in the best chunk; it is at most `enough`. A question with code that the site has is always answered,
  and one with a number that it has if it has at least `number` of the question. So is one of up to `short` words that
  are all known, if it is a single word, or the best chunk has `together` of them, or the best similarity is `near`.
  Sites with fewer than `chunks` chunks need less similarity, because the best of few random similarities is lower;
  sites with fewer than `least_chunks` need as much as one with so many.
  Where similarities say nothing, the two shares of words must be at least `by_words` together.
"""
