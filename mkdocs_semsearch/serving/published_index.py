"""Keeps a local copy of an index that is published at a URL (`publish_index: true`) up to date.

Size and hash of every file are known in advance, and an interrupted download is resumed.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote, unquote, urljoin, urlsplit

from mkdocs_semsearch.artifact.atomic_files import rename
from mkdocs_semsearch.artifact.index_folder import manifest_or_none, open_index, publish_build, sha256_of
from mkdocs_semsearch.artifact.manifest import (
    MANIFEST,
    SITE_FOLDER,
    IndexedFile,
    Manifest,
    is_manifest,
    manifest_from_json,
)
from mkdocs_semsearch.artifact.user_cache import user_cache
from mkdocs_semsearch.errors import (
    ConfigurationError,
    IndexCorruptError,
    IndexFolderError,
    IndexNotFoundError,
    IndexWriteError,
    reason,
)
from mkdocs_semsearch.http_client import HttpClient, Reply
from mkdocs_semsearch.serving.trial import try_build
from mkdocs_semsearch.wording import without_login

PATIENCE_SECONDS = 120
SLOWEST_BYTES_PER_SECOND = 20_000
"""A file may take `PATIENCE_SECONDS` plus the time for its size at this rate; both are chosen, not measured."""

SECONDS_UNTIL_RETRY = 600
"""Time before a refused build is tried again: memory may have been short. Chosen, not measured."""


class Downloads:
    """Downloads files into a folder and names them by hash; a partial download is resumed by the next attempt."""

    def __init__(self, folder: Path, client: HttpClient) -> None:
        self._folder = folder
        self._client = client

    def keep_only(self, files: tuple[IndexedFile, ...]) -> None:
        """Removes the files of other builds.

        Raises:
            OSError: the disk has no room for what is missing of these files.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        wanted = {name for file in files for name in (file.sha256, f"{file.sha256}.part")}
        for entry in self._folder.iterdir():
            if entry.name not in wanted:
                entry.unlink()
        missing = sum(file.size for file in files) - sum(entry.stat().st_size for entry in self._folder.iterdir())
        free = shutil.disk_usage(self._folder).free
        if missing > free:
            raise OSError(errno.ENOSPC, f"it needs {missing} more bytes, and the disk has room for {free}")

    def get(self, address: str, file: IndexedFile) -> Path:
        """Returns the path of a file with the expected size and hash; downloads it if it is missing.

        Raises:
            IndexNotFoundError: the server does not answer or sends too slowly; the received part is kept.
            IndexCorruptError: the server sends other content.
        """
        done, part = self._folder / file.sha256, self._folder / f"{file.sha256}.part"
        if done.is_file() and done.stat().st_size == file.size:
            return done
        status = self._fetch(address, file, part)
        if status == 416:  # the published file is shorter than the part that is already here
            part.unlink()
        if status not in (200, 206):
            raise _unreachable(address, f"status {status}", INCOMPLETE)
        if part.stat().st_size < file.size:
            raise _unreachable(address, f"it ends after {part.stat().st_size} of {file.size} bytes", INCOMPLETE)
        if sha256_of(part) != file.sha256 or part.stat().st_size != file.size:
            part.unlink()
            raise IndexCorruptError(
                f"{address} is not the file that its manifest names: publish the whole index again, manifest last."
            )
        rename(part, done)
        return done

    def _fetch(self, address: str, file: IndexedFile, part: Path) -> int:
        """Appends the missing bytes to `part`, at most one more than the file's size; returns the HTTP status."""
        have = part.stat().st_size if part.is_file() else 0
        if have > file.size:
            have = 0
        if have == file.size and part.is_file():
            return 200

        def open_part(status: int, headers: Mapping[str, str]) -> BinaryIO | None:
            # A server without support for ranges sends the whole file with status 200.
            mode = {200: "wb", 206: "ab"}.get(status) if not _compression(headers) else None
            return cast(BinaryIO, part.open(mode)) if mode else None

        seconds = PATIENCE_SECONDS + file.size / SLOWEST_BYTES_PER_SECOND
        ranged = {"Range": f"bytes={have}-"} if have else {}
        reply = _get(
            self._client,
            address,
            "it sends too slowly",
            headers=ranged,
            seconds=seconds,
            most=file.size + 1,
            into=open_part,
        )
        return reply.status


def _get(client: HttpClient, address: str, too_late: str, *, headers: Mapping[str, str], **bounds: Any) -> Reply:
    """Requests the current version of a file, bypassing caches; follows redirects within the host.

    Raises:
        IndexNotFoundError: there is no answer, or it is compressed; the message has `too_late` if none came in time.
    """
    try:
        reply = client.send("GET", address, headers={"Cache-Control": "no-cache", **headers}, follow=True, **bounds)
    except TimeoutError:
        raise _unreachable(address, too_late, NO_ANSWER) from None
    except ConnectionError as error:
        raise _unreachable(address, str(error), NO_ANSWER) from None
    if reply.status in (200, 206) and (compression := _compression(reply.headers)):
        raise _unreachable(address, f"it is sent compressed, with {compression}", COMPRESSED)
    return reply


def _compression(headers: Mapping[str, str]) -> str:
    """Returns the encoding that a server uses though none was asked for; empty if it uses none."""
    encoding = headers.get("content-encoding", "").strip().lower()[:20]
    return encoding if encoding != "identity" else ""


NOT_PUBLISHED = "build that site with `publish_index: true`, or name the address of an index"
NO_ACCESS = "put the right name and password into the address as in https://name:password@docs.example.org/"
INCOMPLETE = "publish the whole index again, manifest last"
COMPRESSED = f"switch compression off for {SITE_FOLDER}/ on that server, or name the folder of an index"
NO_ANSWER = "check the address and its server, or name the folder of an index"


def _unreachable(address: str, reason: str, advice: str) -> IndexNotFoundError:
    """Returns the error for a URL at which no index can be read."""
    return IndexNotFoundError(f"No index can be read at {address} ({reason}): {advice}.")


log = logging.getLogger(__name__)

MAX_MANIFEST_BYTES = 8 * 1024 * 1024
MANIFEST_SECONDS = 30.0
"""Time limit for downloading a manifest, which has a few kilobytes; chosen, not measured."""

DOWNLOADS = ".downloads"

SIZE_VARIABLE = "SEMSEARCH_MAX_INDEX_BYTES"
LARGEST_INDEX = 8 << 30
"""Default limit for the size of a published index in bytes (8 GiB); chosen, not measured."""


def is_url(index: str | Path) -> bool:
    """Returns whether an index is a URL, of whatever scheme, and not a folder."""
    return "://" in str(index)


def _check_address(url: str) -> None:
    """Checks that a URL can be requested, and that it is clear where its password ends.

    Raises:
        ConfigurationError: it is not; the message does not repeat what may be part of a password.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # such as brackets around something that is not an IPv6 address
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigurationError(f"{without_login(url)!r} is not an http or https URL: name one, or a folder.")
    escapes = "write / as %2F, ? as %3F, # as %23, @ as %40 and a comma as %2C"
    try:
        _ = parts.port
    except ValueError:
        raise ConfigurationError(
            "The URL of an index has no readable host and port: the port must be a number from 0 to 65535, and in a "
            f"user name or password {escapes}."
        ) from None
    if re.search("[:@]", parts.netloc) and "@" in url.partition(parts.netloc)[2]:
        raise ConfigurationError(
            "It is not clear where the password in the URL of an index ends: write @ in its path as %40, and in a user "
            f"name or password {escapes}."
        )


def without_credentials(index: str | Path) -> str:
    """Returns the URL of an index without user name and password, for messages; a folder stays as it is."""
    text = str(index)
    return re.sub(r"^([^/?#]*//)[^/?#]*@", r"\1", text) if is_url(text) else text


def _credentials(url: str) -> dict[str, str]:
    """Returns the header for the user name and the password in a URL; empty without one."""
    parts = urlsplit(url)
    if parts.username is None:
        return {}
    given = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(given.encode()).decode()}"}


def folder_of(index: str | Path) -> Path:
    """Returns the folder of an index; for a URL, that of its copy in this user's cache, which is not updated."""
    if not is_url(index):
        return Path(index)
    return user_cache("semsearch") / hashlib.sha256(without_credentials(index).encode()).hexdigest()[:16]


def local_folder(index: str | Path, store_url: str | None = None) -> Path:
    """Returns the folder of an index; for a URL, updates the copy in this user's cache and returns its folder.

    If the URL does not answer, or its index cannot be read or copied, the existing copy is used.

    Raises:
        ConfigurationError: the URL is invalid.
        IndexFolderError: the URL has no index that can be read and copied, and there is no copy.
    """
    if not is_url(index):
        return folder_of(index)
    published = PublishedIndex(str(index), folder_of(index), store_url)
    try:
        published.update()
    except IndexFolderError as error:
        if not published.has_copy():
            raise
        log.warning("%s Using the copy from the last download.", error)
    return published.folder


class PublishedIndex:
    """Copies a published index whenever its build id changes.

    Every file must have the size and the SHA-256 hash in the manifest. A build replaces the previous one as a whole, so
    the copy is always readable; a damaged copy is replaced by the same build. Files that the previous build has, and
    the results of an interrupted download, are not downloaded again. Before a build is used, a separate process opens
    it, so that a bad build cannot break the server.

    Args:
        url: URL of the index, of its manifest, or of a site that has the index under `semsearch/`; it may have a user
            name and a password, which no message repeats.
        folder: folder of the copy.
        store_url: URL of the cluster with the chunks, if they are in one; by default the value of `QDRANT_URL`.

    Raises:
        ConfigurationError: the URL is not an http or https URL, or its host and port are not clear.
    """

    def __init__(self, url: str, folder: Path, store_url: str | None = None) -> None:
        _check_address(url)
        self._store_url = store_url
        address = without_credentials(url)
        self.folder = folder
        base = address.partition("#")[0].partition("?")[0].removesuffix(MANIFEST).rstrip("/") + "/"
        self._places = [base, urljoin(base, f"{SITE_FOLDER}/")]
        self._client = HttpClient(_credentials(url))
        self._closed = threading.Event()
        self._tag: str | None = None
        self._verified = False
        self._refused: tuple[Manifest, str, float] | None = None

    def close(self) -> None:
        """Cancels an update that another thread is running; the next `update` starts again."""
        self._closed.set()
        self._client.close()

    def start_over(self) -> None:
        """Lets the next `update` try a refused build again and compare all hashes of the copy."""
        self._refused, self._verified = None, False

    def update(self) -> bool:
        """Checks the published manifest once and copies a new build; returns whether there was one.

        Raises:
            IndexFolderError: the index cannot be reached, read or copied; the existing copy is unchanged.
            StoreUnavailableError: its chunks are in a cluster that does not answer; the existing copy is unchanged.
        """
        self._closed.clear()
        has_copy = self.has_copy()
        # If a file is missing here, the answer "not changed" would leave it missing until the next build.
        found = self._published(self._tag if has_copy else None)
        if found is None:
            return False
        place, manifest, tag = found
        here = manifest_or_none(self.folder)
        is_new = not has_copy or here is None or here.build_id != manifest.build_id
        if is_new:
            self._refuse_if_known(manifest)
            _refuse_if_too_large(manifest, place)
            try:
                publish_build(
                    self.folder, manifest.build_id, lambda staging: self._fetch(place, manifest, here, staging)
                )
            except IndexWriteError as error:
                cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
                raise IndexWriteError(
                    f"The copy of {place} in {self.folder} could not be written ({reason(cause)}): "
                    "make room or allow writing there, or set XDG_CACHE_HOME to another folder."
                ) from cause
            self._verified = True
            shutil.rmtree(self.folder / DOWNLOADS, ignore_errors=True)
        self._places, self._tag = [place], tag
        return is_new

    def has_copy(self) -> bool:
        """Returns whether the copy is complete: every file has its size, and when first checked its hash, too."""
        try:
            open_index(self.folder, verify=not self._verified)
        except IndexFolderError:
            return False
        self._verified = True
        return True

    def _published(self, known: str | None) -> tuple[str, Manifest, str | None] | None:
        """Returns URL, manifest and entity tag of the published index; None if its tag is still the known one."""
        headers = {"If-None-Match": known} if known else {}
        too_late = f"no answer within {MANIFEST_SECONDS:g} s"
        problems: dict[str, str] = {}
        for place in self._places:
            address = urljoin(place, MANIFEST)
            reply = _get(
                self._client, address, too_late, headers=headers, seconds=MANIFEST_SECONDS, most=MAX_MANIFEST_BYTES
            )
            if reply.status == 304:
                return None
            if reply.status == 200 and is_manifest(reply.body):
                manifest = manifest_from_json(reply.body.decode("utf-8", "replace"), address)
                return place, manifest, reply.headers.get("etag")
            problems[address] = f"status {reply.status}" if reply.status != 200 else "not the manifest of an index"
        raise _unpublished(problems)

    def _fetch(self, place: str, manifest: Manifest, here: Manifest | None, staging: Path) -> Manifest:
        known = {file.sha256: self.folder / here.build_id / file.path for file in here.files} if here else {}
        downloads = Downloads(self.folder / DOWNLOADS, self._client)
        downloads.keep_only(manifest.files)
        fetched: dict[str, Path] = {}
        for file in manifest.files:
            if self._closed.is_set():
                raise IndexNotFoundError(f"The update from {place} was cancelled.")
            target = staging / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            old = known.get(file.sha256)
            if old is None or not _copy(old, file, target):
                address = urljoin(place, quote(f"{manifest.build_id}/{file.path}"))
                fetched[file.path] = downloads.get(address, file)
        for name, path in fetched.items():
            _link(path, staging / name)
        try:
            try_build(manifest, staging, place, given_up=self._closed, store_url=self._store_url)
        except IndexCorruptError as error:
            self._refused = manifest, str(error), time.monotonic() + SECONDS_UNTIL_RETRY
            raise
        return manifest

    def _refuse_if_known(self, manifest: Manifest) -> None:
        """Raises the error of a build that was refused a short time ago, so that it is not tried again every minute."""
        if self._refused is None:
            return
        refused, message, until = self._refused
        if refused == manifest and time.monotonic() < until:
            raise IndexCorruptError(message)


def _unpublished(problems: Mapping[str, str]) -> IndexNotFoundError:
    """Returns the error for addresses that have no manifest, each with its problem."""
    *others, (last, reason) = problems.items()
    places = "".join(f"{address} ({problem}) or " for address, problem in others) + last
    advice = NOT_PUBLISHED
    for problem in problems.values():
        if problem in ("status 401", "status 403"):
            advice = NO_ACCESS
        elif problem.startswith("status 5"):
            advice = NO_ANSWER
    return _unreachable(places, reason, advice)


def largest_index() -> int:
    """Returns the size limit of a published index in bytes.

    Raises:
        ConfigurationError: the environment variable is not a whole number above 0.
    """
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    if text and not (text.isdecimal() and int(text)):
        raise ConfigurationError(
            f"Environment variable {SIZE_VARIABLE}: {text!r} is not a number of bytes such as {LARGEST_INDEX}."
        )
    return int(text) if text else LARGEST_INDEX


def _refuse_if_too_large(manifest: Manifest, place: str) -> None:
    allowed = largest_index()
    if manifest.size > allowed:
        raise IndexCorruptError(
            f"The index at {place} has {manifest.size} bytes, but {allowed} are allowed: "
            f"set {SIZE_VARIABLE} if that is right."
        )


def _link(source: Path, target: Path) -> None:
    """Adds a file to a build, as a hard link if possible, because the source is deleted soon."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _copy(old: Path, file: IndexedFile, target: Path) -> bool:
    try:
        shutil.copyfile(old, target)
    except OSError:
        return False
    return sha256_of(target) == file.sha256
