"""Query encoders that several indexes share: builds and versions of a site mostly have the same encoder."""

from __future__ import annotations

import threading
from pathlib import Path
from weakref import WeakValueDictionary

from mkdocs_semsearch.artifact import Manifest, open_index
from mkdocs_semsearch.artifact.manifest import ENCODER
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.errors import EmbeddingError, IndexCorruptError
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher

__all__ = ["EncoderPool"]

Key = tuple[tuple[str, str], ...]


class EncoderPool:
    """Opens indexes; those with the default encoder or with the same `encoder/` files share one, loaded once.

    An encoder takes some 100 MB, the rest of a small index far less. It is released with the last index that uses it.
    The default encoder is the package's own; one that came with a published index runs in a process with bounds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoders: WeakValueDictionary[Key, Embedder] = WeakValueDictionary()

    def open(self, index_dir: Path, *, published: bool = False, store_url: str | None = None) -> Searcher:
        """Opens an index after comparing every file with its hash.

        Args:
            index_dir: the index folder.
            published: it is the copy of an index that somebody else published.
            store_url: see `open_searcher`.

        Raises:
            IndexNotFoundError, IndexFormatError, IndexCorruptError: the index cannot be opened.
        """
        for _ in range(3):
            index = open_index(index_dir, verify=True)
            with self._lock:
                embedder = self._encoder(index.manifest, index.build_dir, published)
            searcher = open_searcher(index_dir, embedder=embedder, verify=False, store_url=store_url)  # it just was
            if searcher.build_id == index.manifest.build_id:  # else the index was replaced
                return searcher
            searcher.close()
        raise IndexCorruptError(f"The index in {index_dir} is being replaced faster than it can be read: try again.")

    def _encoder(self, manifest: Manifest, build_dir: Path, published: bool) -> Embedder | None:
        key: Key = tuple((file.path, file.sha256) for file in manifest.files if file.path.startswith(f"{ENCODER}/"))
        if manifest.encoder.bundled:
            key = (("query", manifest.embedder.query_prompt), ("document", manifest.embedder.document_prompt))
        elif published and key:
            key += (("published", ""),)
        if not (manifest.encoder.at_hand and key):
            return None
        found = self._encoders.get(key)
        if found is None:
            from mkdocs_semsearch.embedding.onnx_encoder import load_default_encoder, load_query_encoder
            from mkdocs_semsearch.serving.bounded_encoder import BoundedEncoder

            try:
                if manifest.encoder.bundled:
                    found = load_default_encoder(manifest.embedder)
                elif published:
                    found = BoundedEncoder(build_dir / ENCODER)
                else:
                    found = load_query_encoder(build_dir / ENCODER)
                self._encoders[key] = found
            except EmbeddingError:
                return None  # the searcher tries again, knows the alternatives, and reports the error
        return found
