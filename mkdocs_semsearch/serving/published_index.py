"""A local copy of an index that is published at a URL (`publish_index: true`), kept up to date.

Files have a known size and hash; a download goes on where it was interrupted.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote, urljoin, urlsplit

from mkdocs_semsearch.artifact import publish_build, read_manifest
from mkdocs_semsearch.artifact.manifest import IndexedFile, Manifest, manifest_from_json
from mkdocs_semsearch.errors import (
    ConfigurationError,
    IndexCorruptError,
    IndexFolderError,
    IndexFormatError,
    IndexNotFoundError,
    IndexWriteError,
)
from mkdocs_semsearch.http_client import HttpClient, Reply
from mkdocs_semsearch.serving.trial import try_build

__all__ = ["Downloads", "PublishedIndex", "default_folder", "get", "is_url", "local_folder", "unreachable"]

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


log = logging.getLogger(__name__)

MANIFEST = "manifest.json"
PUBLISHED_UNDER = "semsearch/"
"""Where the plugin puts the index of a site."""

MAX_MANIFEST_BYTES = 8 * 1024 * 1024
MANIFEST_SECONDS = 30.0
"""A manifest has some kilobytes; a publisher that needs longer counts as unreachable."""

DOWNLOADS = ".downloads"

SIZE_VARIABLE = "SEMSEARCH_MAX_INDEX_BYTES"
LARGEST_INDEX = 8 << 30
"""The most bytes that a published index may have, unless the environment sets another limit."""


def is_url(index: str) -> bool:
    """Returns whether an index is named by a URL rather than a folder."""
    return index.lower().startswith(("http://", "https://"))


def default_folder(url: str) -> Path:
    """Returns the folder of this user's cache where the copy of a published index lives."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a container user without a home
        cache = Path(tempfile.gettempdir())
    return cache / "semsearch" / hashlib.sha256(url.encode()).hexdigest()[:16]


def local_folder(index: str | Path) -> Path:
    """Returns the folder of an index; of a URL, that of its copy in this user's cache, brought up to date.

    If the URL does not answer, the existing copy is used.

    Raises:
        ConfigurationError: the URL cannot be one of an index.
        IndexFolderError: there is nothing at the URL, nor a copy of it.
    """
    if not is_url(str(index)):
        return Path(index)
    published = PublishedIndex(str(index), default_folder(str(index)))
    try:
        published.update()
    except IndexNotFoundError as error:
        if not (published.folder / MANIFEST).exists():
            raise
        log.warning("%s The copy from last time is used.", error)
    return published.folder


class PublishedIndex:
    """Copies what is published, whenever its build id changes.

    Only files whose size and SHA-256 are those of the manifest get into the copy, and a build gets into place as a
    whole, so the copy is readable at any moment. What the previous build has already is not fetched again, nor what an
    attempt that was interrupted got. Before it gets into place a build is opened in a process of its own, so that a
    bad build cannot break the server.

    Args:
        url: of the index, of its manifest, or of the site that has the index under `semsearch/`.
        folder: of the copy.

    Raises:
        ConfigurationError: not an http or https URL.
    """

    def __init__(self, url: str, folder: Path) -> None:
        if not is_url(url) or not urlsplit(url).netloc:
            raise ConfigurationError(f"{url!r} is no http or https address of an index.")
        self.folder = folder
        base = url.partition("#")[0].partition("?")[0].removesuffix(MANIFEST).rstrip("/") + "/"
        self._places = [base, urljoin(base, PUBLISHED_UNDER)]
        self._client = HttpClient()
        self._closed = threading.Event()
        self._tag: str | None = None
        self._refused: tuple[Manifest, str] | None = None

    def close(self) -> None:
        """Gives up an update that is under way, in whichever thread; the next `update` begins anew."""
        self._closed.set()
        self._client.close()

    def update(self) -> bool:
        """Looks at the published manifest once; returns whether there was a new build to copy.

        Raises:
            IndexFolderError: it cannot be reached, read or copied; the copy is as it was.
        """
        self._closed.clear()
        found = self._published()
        if found is None:
            return False
        place, manifest, tag = found
        here = self._copied()
        if here is None or here.build_id != manifest.build_id:
            self._refuse_if_known(manifest)
            _refuse_if_too_large(manifest, place, self.folder)
            publish_build(self.folder, manifest.build_id, lambda staging: self._fetch(place, manifest, here, staging))
            shutil.rmtree(self.folder / DOWNLOADS, ignore_errors=True)
        self._places, self._tag = [place], tag
        return here is None or here.build_id != manifest.build_id

    def _published(self) -> tuple[str, Manifest, str | None] | None:
        """Returns address, manifest and entity tag of the published index; None when nothing has changed."""
        problem: IndexFolderError | None = None
        for place in self._places:
            address = urljoin(place, MANIFEST)
            tag = {"If-None-Match": self._tag} if self._tag else {}
            try:
                reply = get(self._client, address, headers=tag, seconds=MANIFEST_SECONDS, most=MAX_MANIFEST_BYTES)
            except TimeoutError:
                raise unreachable(address, f"no answer within {MANIFEST_SECONDS:g} s") from None
            except ConnectionError as error:
                raise unreachable(address, str(error)) from None
            if reply.status == 304:
                return None
            if reply.status != 200:
                problem = problem or unreachable(address, f"status {reply.status}")
                continue
            try:
                manifest = manifest_from_json(reply.body.decode("utf-8", "replace"), address)
            except IndexFormatError:
                raise
            except IndexCorruptError as error:  # many sites have a manifest.json of another kind
                problem = error
            else:
                return place, manifest, reply.headers.get("etag")
        assert problem is not None
        raise problem

    def _copied(self) -> Manifest | None:
        try:
            return read_manifest(self.folder)
        except IndexFolderError:
            return None

    def _fetch(self, place: str, manifest: Manifest, here: Manifest | None, staging: Path) -> Manifest:
        known = {file.sha256: self.folder / here.build_id / file.path for file in here.files} if here else {}
        downloads = Downloads(self.folder / DOWNLOADS, self._client)
        downloads.keep_only(manifest.files)
        fetched: dict[str, Path] = {}
        for file in manifest.files:
            if self._closed.is_set():
                raise unreachable(place, "the update was given up")
            target = staging / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            old = known.get(file.sha256)
            if old is None or not _copy(old, file, target):
                address = urljoin(place, quote(f"{manifest.build_id}/{file.path}"))
                fetched[file.path] = downloads.get(address, file)
        for name, path in fetched.items():
            _link(path, staging / name)
        try:
            try_build(manifest, staging, place, given_up=self._closed)
        except IndexCorruptError as error:
            self._refused = manifest, str(error)
            raise
        return manifest

    def _refuse_if_known(self, manifest: Manifest) -> None:
        """Raises the error of a build that was refused before, so that it is not fetched again every minute."""
        if self._refused is not None and self._refused[0] == manifest:
            raise IndexCorruptError(self._refused[1])


def _refuse_if_too_large(manifest: Manifest, place: str, folder: Path) -> None:
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    if text and not text.isdecimal():
        raise ConfigurationError(f"Environment variable {SIZE_VARIABLE}: {text!r} is not a number of bytes.")
    allowed = int(text) if text else LARGEST_INDEX
    if manifest.size > allowed:
        raise IndexCorruptError(
            f"The index at {place} has {manifest.size} bytes, {allowed} are allowed: "
            f"set {SIZE_VARIABLE} if that is right."
        )
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if manifest.size > free:
        raise IndexWriteError(
            f"The index at {place} has {manifest.size} bytes, {folder} has room for {free}: make room."
        )


def _link(source: Path, target: Path) -> None:
    """Puts a file into a build, by a hard link where possible; the source is deleted soon."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _copy(old: Path, file: IndexedFile, target: Path) -> bool:
    try:
        shutil.copyfile(old, target)
    except OSError:
        return False
    with target.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
