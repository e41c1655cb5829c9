"""A local copy of an index that is published at a URL (`publish_index: true`), kept up to date."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from mkdocs_semsearch.artifact import publish_build, read_manifest
from mkdocs_semsearch.artifact.manifest import IndexedFile, Manifest, manifest_from_json
from mkdocs_semsearch.errors import (
    ConfigurationError,
    IndexCorruptError,
    IndexFolderError,
    IndexFormatError,
    IndexNotFoundError,
)

__all__ = ["PublishedIndex", "default_folder", "is_url", "local_folder"]

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"
PUBLISHED_UNDER = "semsearch/"
"""Where the plugin puts the index of a site."""

MAX_MANIFEST_BYTES = 8 * 1024 * 1024
TIMEOUT_SECONDS = 30
BLOCK = 1 << 20


def is_url(index: str) -> bool:
    """Whether an INDEX names a place on the web rather than a folder."""
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

    Where the URL does not answer, the copy of last time has to do.

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
    whole, so the copy is readable at any moment. What the previous build has already is not fetched again.

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
        self._tag: str | None = None

    def update(self) -> bool:
        """Looks at the published manifest once; returns whether there was a new build to copy.

        Raises:
            IndexFolderError: it cannot be reached, read or copied; the copy is as it was.
        """
        found = self._published()
        if found is None:
            return False
        place, manifest, tag = found
        here = self._copied()
        if here is None or here.build_id != manifest.build_id:
            publish_build(self.folder, manifest.build_id, lambda staging: self._fetch(place, manifest, here, staging))
        self._places, self._tag = [place], tag
        return here is None or here.build_id != manifest.build_id

    def _published(self) -> tuple[str, Manifest, str | None] | None:
        """Where the index is, its manifest and the entity tag of it; None when nothing has changed."""
        problem: IndexFolderError | None = None
        for place in self._places:
            address = urljoin(place, MANIFEST)
            try:
                with _open(address, self._tag) as response:
                    text = response.read(MAX_MANIFEST_BYTES).decode("utf-8", "replace")
                    return place, manifest_from_json(text, address), response.headers.get("ETag")
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 304:
                    return None
                problem = problem or _unreachable(address, f"status {error.code}")
            except IndexFormatError:
                raise
            except IndexCorruptError as error:  # many sites have a manifest.json of another kind
                problem = error
            except (OSError, HTTPException) as error:
                raise _unreachable(address, str(getattr(error, "reason", error))) from None
        assert problem is not None
        raise problem

    def _copied(self) -> Manifest | None:
        try:
            return read_manifest(self.folder)
        except IndexFolderError:
            return None

    def _fetch(self, place: str, manifest: Manifest, here: Manifest | None, staging: Path) -> Manifest:
        known = {file.sha256: self.folder / here.build_id / file.path for file in here.files} if here else {}
        for file in manifest.files:
            target = staging / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            old = known.get(file.sha256)
            if old is None or not _copy(old, file, target):
                _download(urljoin(place, quote(f"{manifest.build_id}/{file.path}")), file, target)
        return manifest


def _open(address: str, tag: str | None = None) -> HTTPResponse:
    headers = {"User-Agent": "mkdocs-semsearch", "Cache-Control": "no-cache"}
    request = urllib.request.Request(address, headers=headers | ({"If-None-Match": tag} if tag else {}))
    response: Any = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    opened: HTTPResponse = response
    return opened


def _copy(old: Path, file: IndexedFile, target: Path) -> bool:
    try:
        shutil.copyfile(old, target)
    except OSError:
        return False
    with target.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256


def _download(address: str, file: IndexedFile, target: Path) -> None:
    digest, size = hashlib.sha256(), 0
    try:
        with _open(address) as response, target.open("wb") as stream:
            while size <= file.size and (block := response.read(BLOCK)):
                stream.write(block)
                digest.update(block)
                size += len(block)
    except urllib.error.HTTPError as error:
        error.close()
        raise _unreachable(address, f"status {error.code}") from None
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
        raise _unreachable(address, str(getattr(error, "reason", error))) from None
    if size != file.size or digest.hexdigest() != file.sha256:
        raise IndexCorruptError(
            f"{address} is not the file that its manifest names: publish the whole index again, manifest last."
        )


def _unreachable(address: str, reason: str) -> IndexNotFoundError:
    return IndexNotFoundError(f"No index can be read at {address} ({reason}): publish one there, or name its folder.")
