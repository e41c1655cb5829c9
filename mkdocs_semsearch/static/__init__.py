"""Search without a server: writes files that the browser searches, and implements the same search in Python."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.artifact.manifest import SITE_FOLDER
from mkdocs_semsearch.embedding.token_table import fitting_table
from mkdocs_semsearch.searching import Searcher
from mkdocs_semsearch.static.bundle import is_bundle, open_bundle
from mkdocs_semsearch.static.bundle_writer import BundleReport, copy_bundle, write_bundle
from mkdocs_semsearch.static.search import open_static_searcher

__all__ = [
    "BundleReport",
    "copy_bundle",
    "is_bundle",
    "open_bundle",
    "open_static",
    "open_static_searcher",
    "write_bundle",
]


@contextlib.contextmanager
def open_static(folder: Path) -> Iterator[Searcher]:
    """Opens an index for the search that a browser does.

    Args:
        folder: a folder with `static.json`, or a built site that has it in `SITE_FOLDER`, or an index, from which the
            files of the static search are written into a temporary folder.

    Raises:
        IndexFolderError: the folder is none of these, or is damaged.
    """
    for place in (folder, folder / SITE_FOLDER):
        if is_bundle(place):
            yield open_static_searcher(place)
            return
    table = fitting_table(open_index(folder).manifest.embedder)
    with tempfile.TemporaryDirectory(prefix="semsearch-") as made:
        write_bundle(folder, Path(made), table)
        yield open_static_searcher(Path(made))
