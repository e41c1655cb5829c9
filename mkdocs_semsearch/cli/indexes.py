"""Finds the indexes that a command line names: a folder, a URL, or several by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.artifact.manifest import DEFAULT_INDEX_DIR
from mkdocs_semsearch.errors import IndexNotFoundError, SemsearchError

if TYPE_CHECKING:
    from mkdocs_semsearch.searching.searcher import Searcher


def opener(engine: str) -> Callable[[str | Path], AbstractContextManager[Searcher]]:
    """Returns the function that opens an index, for the engine `sidecar` or `static`."""
    if engine != "static":
        return _open_index
    from mkdocs_semsearch.static.search import open_static

    return lambda place: open_static(index_dir(place))


def _open_index(place: str | Path) -> Searcher:
    """Opens an index; if there are only the files of the static search, the error says how to search them."""
    from mkdocs_semsearch import open_searcher

    try:
        return open_searcher(place)
    except IndexNotFoundError:
        from mkdocs_semsearch.static.search import bundle_in

        if bundle_in(Path(place)) is None:
            raise
        raise IndexNotFoundError(
            f"There is no search index in {place}, only the files of the search without a server: "
            "add --engine static to search them, or name the index folder."
        ) from None


def one_of_several(index: str | None) -> tuple[str | None, str | None]:
    """Reads `NAME=INDEX`, for the records of one of several indexes, or only the index."""
    from mkdocs_semsearch.serving.settings import parse_named_index

    return parse_named_index(index) if index is not None and has_name(index) else (None, index)


def has_name(index: str) -> bool:
    """Returns whether this is `NAME=INDEX`, and not a folder whose name has a `=`."""
    from mkdocs_semsearch.serving.settings import split_name

    return split_name(index)[0] is not None and not Path(index).is_dir()


def served_indexes(given: Sequence[str]) -> dict[str, Any]:
    """Reads the options `--index` of a server: its setting `index` for a single one without a name, else `indexes`."""
    from mkdocs_semsearch.serving.settings import parse_named_index

    if len(given) == 1 and not has_name(given[0]):
        return {"index": given[0]}
    return {"indexes": tuple(map(parse_named_index, given))}


def named_indexes(given: Sequence[str]) -> dict[str | None, str]:
    """Reads `DIR` or any number of `corpus=DIR`."""
    from mkdocs_semsearch.serving.settings import split_name

    if len(given) < 2 and not any(map(has_name, given)):
        return {None: index_place(given[0] if given else None)}
    pairs = [split_name(item) for item in given]
    if not all(name and folder for name, folder in pairs):
        raise SemsearchError("Give one INDEX, or for each a corpus and its folder: fastapi=a/semsearch-index.")
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise SemsearchError(f"Two indexes have the name {name!r}: each needs its own.")
    return dict(pairs)


def check_corpora(file: Path, indexes: Iterable[str | None], corpora: Iterable[str | None]) -> None:
    """Checks that each index with a name has questions; a wrong name would leave them out silently."""
    there = sorted(filter(None, corpora))
    for name in indexes:
        if name is not None and name not in there:
            advice = f"its corpora are {', '.join(there)}" if there else "write it as `corpus` in each line"
            raise SemsearchError(
                f"No question of {file} is about the corpus {name!r}: {advice}, or give one INDEX without a name."
            )


def index_place(given: str | None) -> str:
    """Returns the folder or URL of an index: the given one, else the one that the environment names."""
    return given or os.environ.get("SEMSEARCH_INDEX") or DEFAULT_INDEX_DIR


def index_dir(given: str | Path | None) -> Path:
    """Returns the folder of an index, or of the local copy of one that is published at a URL."""
    from mkdocs_semsearch.serving.published_index import local_folder

    return local_folder(given or index_place(None))
