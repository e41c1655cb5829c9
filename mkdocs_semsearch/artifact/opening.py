"""Opening an index folder: the manifest, the current build, and its verification."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mkdocs_semsearch.artifact.layout import MANIFEST
from mkdocs_semsearch.artifact.manifest import IndexedFile, Manifest, manifest_from_json
from mkdocs_semsearch.errors import IndexCorruptError, IndexNotFoundError

__all__ = ["OpenIndex", "open_index", "read_manifest", "sha256_of", "verify_build"]


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """A manifest together with the folder of the build it names."""

    manifest: Manifest
    build_dir: Path


def read_manifest(index_dir: Path) -> Manifest:
    """Reads the manifest of an index folder.

    Raises:
        IndexNotFoundError: no index there.
        IndexFormatError: another format.
        IndexCorruptError: not a manifest.
    """
    path = Path(index_dir) / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise IndexNotFoundError(
            f"There is no search index in {index_dir}: run `mkdocs build` with the semsearch plugin, "
            "or `semsearch index SITE_DIR`, or name another folder."
        ) from None
    except UnicodeDecodeError:
        raise IndexCorruptError(f"{path} is not text: build the index again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return manifest_from_json(text, str(path))


def open_index(index_dir: Path, *, verify: bool = False) -> OpenIndex:
    """Opens the current build of an index folder.

    Every file must be there with the size that the manifest says; with `verify` its SHA-256 must match too (about a
    second a gigabyte).

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: as `read_manifest`, and for a bad file with its name.
    """
    index_dir = Path(index_dir)
    for _ in range(3):
        manifest = read_manifest(index_dir)
        build_dir = index_dir / manifest.build_id
        try:
            verify_build(manifest, build_dir, hashes=verify)
        except IndexCorruptError:
            # A build that was published between the two reads may have removed the one we were looking at.
            if read_manifest(index_dir).build_id != manifest.build_id:
                continue
            raise
        return OpenIndex(manifest, build_dir)
    raise IndexCorruptError(f"The index in {index_dir} is being replaced faster than it can be read: try again.")


def verify_build(manifest: Manifest, build_dir: Path, *, hashes: bool) -> None:
    """Compares every file of a build with what the manifest says of it.

    Raises:
        IndexCorruptError: names the first file that is missing or differs.
    """
    for file in manifest.files:
        _verify_file(file, build_dir / file.path, hashes=hashes)


def _verify_file(file: IndexedFile, path: Path, *, hashes: bool) -> None:
    try:
        size = path.stat().st_size
        if size != file.size:
            raise IndexCorruptError(f"{path} has {size} bytes instead of {file.size}: build the index again.")
        if hashes and sha256_of(path) != file.sha256:
            raise IndexCorruptError(f"{path} differs from its SHA-256 in the manifest: build the index again.")
    except (FileNotFoundError, NotADirectoryError):
        raise IndexCorruptError(f"{path} is missing: build the index again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> IndexCorruptError:
    return IndexCorruptError(
        f"{path} cannot be read ({error.strerror or error}): allow reading it, or build the index again."
    )


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file in hex."""
    import hashlib  # brings OpenSSL, which MkDocs would load with the plugin whatever it was started for

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
