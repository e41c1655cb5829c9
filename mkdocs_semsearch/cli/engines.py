"""Opens the two engines of the command line: the sidecar's, and the one of the browser without a server."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.site.publishing import SITE_FOLDER

if TYPE_CHECKING:
    from mkdocs_semsearch.searching import Searcher

__all__ = ["open_engine", "open_static"]


def open_engine(name: str) -> Callable[[str | Path], AbstractContextManager[Searcher]]:
    """Returns what opens an index for the engine `sidecar` or `static`."""
    from mkdocs_semsearch.opening import open_searcher

    return open_static if name == "static" else open_searcher


@contextlib.contextmanager
def open_static(index: str | Path) -> Iterator[Searcher]:
    """Opens the search that a browser would do.

    Args:
        index: a folder with `static.json`, or a built site that has it in `SITE_FOLDER`, or an index (a folder or the
            URL of a published one), from which the files of the static search are written into a temporary folder.

    Raises:
        IndexFolderError: the folder is something else, or damaged.
    """
    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.embedding.token_table import fitting_table
    from mkdocs_semsearch.serving.published_index import local_folder
    from mkdocs_semsearch.static import is_bundle, open_static_searcher, write_bundle

    folder = local_folder(index)
    for place in (folder, folder / SITE_FOLDER):
        if is_bundle(place):
            yield open_static_searcher(place)
            return
    table = fitting_table(open_index(folder).manifest.embedder)
    with tempfile.TemporaryDirectory(prefix="semsearch-") as made:
        write_bundle(folder, Path(made), table)
        yield open_static_searcher(Path(made))
