"""Fetches files whose size and hash are known, over HTTP, going on where it was interrupted."""

from __future__ import annotations

import hashlib
import time
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact.manifest import IndexedFile
from mkdocs_semsearch.errors import IndexCorruptError, IndexNotFoundError

__all__ = ["Downloads", "open_address", "unreachable"]

TIMEOUT_SECONDS = 30
PATIENCE_SECONDS = 120
SLOWEST_BYTES_PER_SECOND = 20_000
"""A file may take `PATIENCE_SECONDS` and this much more; slower than that, another day is a better day."""

BLOCK = 1 << 20


class Downloads:
    """A folder of files under their hashes; what an attempt got of them, the next one need not fetch again.

    Args:
        folder: made when missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

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
            _fetch(address, file, part)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416:  # the file there ends before the part we have
                part.unlink()
            raise unreachable(address, f"status {error.code}") from None
        except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
            raise unreachable(address, str(getattr(error, "reason", error)) or type(error).__name__) from None
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


def open_address(address: str, headers: dict[str, str] | None = None) -> HTTPResponse:
    """Asks a web server; redirects lead to http and https only.

    Raises:
        OSError: among these `urllib.error.HTTPError` for a status that is none of success.
    """
    given = {"User-Agent": "mkdocs-semsearch", "Cache-Control": "no-cache"} | (headers or {})
    response: Any = _OPENER.open(urllib.request.Request(address, headers=given), timeout=TIMEOUT_SECONDS)
    opened: HTTPResponse = response
    return opened


def unreachable(address: str, reason: str) -> IndexNotFoundError:
    """Returns the error for an address that gives no index."""
    return IndexNotFoundError(f"No index can be read at {address} ({reason}): publish one there, or name its folder.")


def _fetch(address: str, file: IndexedFile, part: Path) -> None:
    """Adds to `part` what it lacks, and at most a little more than the file has."""
    have = part.stat().st_size if part.is_file() else 0
    if have > file.size:
        have = 0
    if have == file.size and part.is_file():
        return
    deadline = time.monotonic() + PATIENCE_SECONDS + file.size / SLOWEST_BYTES_PER_SECOND
    with open_address(address, {"Range": f"bytes={have}-"} if have else None) as response:
        # A server that knows no ranges sends the whole file with status 200.
        have = have if response.status == 206 else 0
        with part.open("ab" if have else "wb") as stream:
            while have <= file.size and (block := response.read(min(BLOCK, file.size + 1 - have))):
                stream.write(block)
                have += len(block)
                if time.monotonic() > deadline:
                    raise TimeoutError("it sends too slowly")


class _WebOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not newurl.lower().startswith(("http://", "https://")):
            raise urllib.error.URLError("it redirects to something that is no web address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_WebOnly)
