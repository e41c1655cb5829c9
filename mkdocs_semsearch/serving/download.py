"""Fetches files whose size and hash are known, over HTTP, going on where it was interrupted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from mkdocs_semsearch.artifact.manifest import IndexedFile
from mkdocs_semsearch.errors import IndexCorruptError, IndexNotFoundError
from mkdocs_semsearch.http_client import HttpClient, Reply

__all__ = ["Downloads", "get", "unreachable"]

PATIENCE_SECONDS = 120
SLOWEST_BYTES_PER_SECOND = 20_000
"""A file may take `PATIENCE_SECONDS` and this much more; an attempt that takes longer is given up."""


class Downloads:
    """A folder of files under their hashes; what an attempt got of them, the next one need not fetch again.

    Args:
        folder: made when missing.
        client: sends the requests.
    """

    def __init__(self, folder: Path, client: HttpClient) -> None:
        self._folder = folder
        self._client = client

    def keep_only(self, files: tuple[IndexedFile, ...]) -> None:
        """Removes what is left of other builds."""
        self._folder.mkdir(parents=True, exist_ok=True)
        wanted = {name for file in files for name in (file.sha256, f"{file.sha256}.part")}
        for entry in self._folder.iterdir():
            if entry.name not in wanted:
                entry.unlink()

    def get(self, address: str, file: IndexedFile) -> Path:
        """Returns the path of a file with the wanted size and hash, fetched if it is not there.

        Raises:
            IndexNotFoundError: the server does not answer, or too slowly; what has come so far is kept.
            IndexCorruptError: it sends something else.
        """
        done, part = self._folder / file.sha256, self._folder / f"{file.sha256}.part"
        if done.is_file() and done.stat().st_size == file.size:
            return done
        try:
            status = self._fetch(address, file, part)
        except TimeoutError:
            raise unreachable(address, "it sends too slowly") from None
        except ConnectionError as error:
            raise unreachable(address, str(error)) from None
        if status == 416:  # the file there ends before the part we have
            part.unlink()
        if status not in (200, 206):
            raise unreachable(address, f"status {status}")
        if part.stat().st_size < file.size:
            raise unreachable(address, f"it ends after {part.stat().st_size} of {file.size} bytes")
        with part.open("rb") as stream:
            right = hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
        if not right or part.stat().st_size != file.size:
            part.unlink()
            raise IndexCorruptError(
                f"{address} is not the file that its manifest names: publish the whole index again, manifest last."
            )
        return part.replace(done)

    def _fetch(self, address: str, file: IndexedFile, part: Path) -> int:
        """Adds to `part` what it lacks, and at most one byte more than the file has; returns the status."""
        have = part.stat().st_size if part.is_file() else 0
        if have > file.size:
            have = 0
        if have == file.size and part.is_file():
            return 200

        def open_part(status: int) -> BinaryIO | None:
            # A server that knows no ranges sends the whole file with status 200.
            mode = {200: "wb", 206: "ab"}.get(status)
            return cast(BinaryIO, part.open(mode)) if mode else None

        seconds = PATIENCE_SECONDS + file.size / SLOWEST_BYTES_PER_SECOND
        ranged = {"Range": f"bytes={have}-"} if have else {}
        reply = get(self._client, address, headers=ranged, seconds=seconds, most=file.size + 1, into=open_part)
        return reply.status


def get(client: HttpClient, address: str, *, headers: Mapping[str, str], **bounds: Any) -> Reply:
    """Asks a web server for a file as it is now; redirects are followed within its host.

    Raises:
        OSError: `TimeoutError` or `ConnectionError`, see `HttpClient.send`.
    """
    return client.send("GET", address, headers={"Cache-Control": "no-cache", **headers}, follow=True, **bounds)


def unreachable(address: str, reason: str) -> IndexNotFoundError:
    """Returns the error for an address that gives no index."""
    return IndexNotFoundError(f"No index can be read at {address} ({reason}): publish one there, or name its folder.")
