"""Opens a static bundle: its pointer, and its files one by one as a browser would fetch them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_semsearch.errors import IndexCorruptError, IndexFormatError, IndexNotFoundError
from mkdocs_semsearch.static.blocks import Blocks, unpack_blocks
from mkdocs_semsearch.static.layout import BUNDLE_PREFIX, FORMAT, POINTER

__all__ = ["Bundle", "is_bundle", "open_bundle"]


@dataclass(frozen=True, slots=True)
class Bundle:
    """An open bundle.

    Attributes:
        pointer: content of static.json.
        folder: of the files.
        fetched: name of every file that was read, to its bytes; what a browser would have fetched.
    """

    pointer: dict[str, Any]
    folder: Path
    fetched: dict[str, int]

    def read(self, name: str) -> Blocks:
        """Reads a file.

        Raises:
            IndexCorruptError: it is missing or damaged.
        """
        path = self.folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise IndexCorruptError(f"{path} cannot be read ({error.strerror}): build the site again.") from None
        self.fetched[name] = len(content)
        return unpack_blocks(content, str(path))

    def firsts(self, kind: str) -> list[str]:
        """Returns the first key of every shard of a kind."""
        return list(self.pointer["shards"][kind])


def is_bundle(folder: Path) -> bool:
    """Tells whether a folder holds a static bundle."""
    return (folder / POINTER).is_file()


def open_bundle(folder: Path) -> Bundle:
    """Opens the bundle of a published folder.

    Args:
        folder: holds `static.json`; `semsearch/` of a site.

    Raises:
        IndexNotFoundError: no bundle there.
        IndexFormatError: another format.
        IndexCorruptError: not a pointer.
    """
    path = folder / POINTER
    try:
        pointer = json.loads(path.read_text(encoding="utf-8"))
        found, name = pointer["format"], pointer["bundle"]
    except FileNotFoundError:
        raise IndexNotFoundError(
            f"There is no static search in {folder}: build the site with `static: true`, or run "
            "`semsearch index SITE_DIR --static`."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexCorruptError(f"{path} cannot be read ({error!r}): build the site again.") from None
    if found != FORMAT:
        raise IndexFormatError(f"{path} has format {found}, this version reads format {FORMAT}: build the site again.")
    if not str(name).startswith(BUNDLE_PREFIX) or Path(name).name != name:
        raise IndexCorruptError(f"{path} names the folder {name!r}: build the site again.")
    return Bundle(pointer, folder / name, {POINTER: path.stat().st_size})
