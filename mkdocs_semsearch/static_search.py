"""Search without a server: which token table a site gets, and the files that are written into it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.settings import Settings

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.protocol import Embedder
    from mkdocs_semsearch.searching.searcher import Searcher
    from mkdocs_semsearch.static import BundleReport

__all__ = ["SITE_FOLDER", "open_static", "write_static_search"]

SITE_FOLDER = "semsearch"
"""Folder of the site in which the browser looks, and a sidecar that is given the address of the site's index."""


def write_static_search(site_dir: Path, settings: Settings, embedder: Embedder) -> BundleReport:
    """Writes what the reader's browser searches into a built site.

    Args:
        site_dir: the site.
        settings: the options; their `index_dir` holds the index that was built from it.
        embedder: the one that embedded it; used when the token table is tuned.

    Raises:
        IndexFolderError: there is no whole index, or no way to write.
        EmbeddingError: a sentence could not be embedded.
    """
    from mkdocs_semsearch.embedding.token_table import fitting_table
    from mkdocs_semsearch.static import write_bundle

    table = fitting_table(open_index(settings.index_dir).manifest.embedder)
    if settings.static.tune:
        from mkdocs_semsearch.static.tuning import tuned_table

        table = tuned_table(settings.index_dir, embedder, base=table, cache_dir=settings.cache_dir)
    return write_bundle(settings.index_dir, site_dir / SITE_FOLDER, table)


@contextlib.contextmanager
def open_static(folder: Path) -> Iterator[Searcher]:
    """Opens the search that a browser would do.

    Args:
        folder: with `static.json`, or a built site that has one in `SITE_FOLDER`, or an index, of which the static
            search is then made for the occasion.

    Raises:
        IndexFolderError: it is none of these, or damaged.
    """
    from mkdocs_semsearch.embedding.token_table import fitting_table
    from mkdocs_semsearch.static import is_bundle, open_static_searcher, write_bundle

    for place in (folder, folder / SITE_FOLDER):
        if is_bundle(place):
            yield open_static_searcher(place)
            return
    table = fitting_table(open_index(folder).manifest.embedder)
    with tempfile.TemporaryDirectory(prefix="semsearch-") as made:
        write_bundle(folder, Path(made), table)
        yield open_static_searcher(Path(made))
