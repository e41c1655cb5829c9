"""Opens an index folder, a URL or a built site as a searcher, for programs and for the command line."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from mkdocs_semsearch.artifact.manifest import DEFAULT_INDEX_DIR
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.searching import searcher
from mkdocs_semsearch.searching.query import QueryOptions
from mkdocs_semsearch.searching.searcher import Searcher

_DEFAULTS = ("SEMSEARCH_DEFAULT_LIMIT", "SEMSEARCH_MIN_SCORE")


def open_searcher(
    index_dir: str | Path | None = None,
    *,
    embedder: Embedder | None = None,
    verify: bool | None = None,
    store_url: str | None = None,
) -> Searcher:
    """Opens an index for queries.

    Args:
        index_dir: the index folder, which needs nothing beside it, neither site nor sources; by default the one that
            `SEMSEARCH_INDEX` names, else `semsearch-index`. Or the URL of a published index: its copy in this user's
            cache is brought up to date, and an encoder in it runs in a process with bounds on memory and time.
        embedder: for queries, instead of the one that the index names; must give vectors of the same kind.
        verify: compare every file with its hash first (about a second a gigabyte); by default where all files together
            have at most 256 MiB, which are read anyway. Sizes are compared in any case.
        store_url: of the cluster that holds the chunks, if they are in one; by default what `QDRANT_URL` says.

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: the index cannot be opened.
        StoreUnavailableError, ConfigurationError: it is in a cluster, which cannot be reached or is not named.
    """
    place = index_dir or os.environ.get("SEMSEARCH_INDEX") or DEFAULT_INDEX_DIR
    if str(place).lower().startswith(("http://", "https://")):
        opened = _open_published(str(place), embedder, verify, store_url)
    else:
        opened = searcher.open_searcher(place, embedder=embedder, verify=verify, store_url=store_url)
    opened.defaults = _environment_defaults()
    return opened


def _open_published(url: str, embedder: Embedder | None, verify: bool | None, store_url: str | None) -> Searcher:
    from mkdocs_semsearch.serving.encoder_pool import EncoderPool
    from mkdocs_semsearch.serving.published_index import local_folder

    folder = local_folder(url)
    if embedder is None:
        return EncoderPool().open(folder, published=True, store_url=store_url)
    return searcher.open_searcher(folder, embedder=embedder, verify=verify, store_url=store_url)


def _environment_defaults() -> QueryOptions:
    """Returns the options of queries that environment variables set.

    Raises:
        ConfigurationError: a value that cannot be one.
    """
    given = {name: os.environ[name] for name in _DEFAULTS if os.environ.get(name)}
    if not given:
        return {}
    from mkdocs_semsearch.serving.settings import ServerSettings

    settings = ServerSettings.from_environment(given)
    return {"limit": settings.default_limit, "min_score": settings.min_score}


def open_engine(name: str) -> Callable[[str | Path], AbstractContextManager[Searcher]]:
    """Returns what opens an index for the engine `sidecar` or `static`."""
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
    from mkdocs_semsearch.site.publishing import SITE_FOLDER
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
