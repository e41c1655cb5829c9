"""The embedder of an open index: the one in the index where there is one, else the original."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest
from mkdocs_semsearch.artifact.layout import ENCODER
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, MissingExtraError

__all__ = ["QueryEncoder"]


class QueryEncoder:
    """Loads the embedder when the first question needs it, once."""

    def __init__(self, manifest: Manifest, build_dir: Path, embedder: Embedder | None) -> None:
        self._manifest = manifest
        self._build_dir = build_dir
        self._embedder = embedder
        self._lock = threading.Lock()

    def embed(self, text: str) -> NDArray[np.float32]:
        """Embeds one question: float32 `[d]`, unit length.

        Raises:
            EmbeddingError: no embedder can be loaded, or it is not the one that embedded the index.
        """
        vector: NDArray[np.float32] = self.load().embed([text], "query")[0]
        wanted = self._manifest.embedder
        if vector.shape != (wanted.dimension,):
            raise EmbeddingError(
                f"The embedder gave a vector of dimension {vector.size}, the index has {wanted.dimension}: "
                f"ask with {wanted.model}, which embedded it, or build the index again."
            )
        return vector

    def load(self) -> Embedder:
        """Loads the embedder now; later calls return the same."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder

    def _open(self) -> Embedder:
        from mkdocs_semsearch.embedding import open_embedder
        from mkdocs_semsearch.embedding.onnx_encoder import load_query_encoder

        if self._manifest.encoder.exported:
            try:
                return load_query_encoder(self._build_dir / ENCODER)
            except MissingExtraError:
                pass  # no ONNX Runtime here: the original does as well
        wanted = self._manifest.embedder
        try:
            embedder = open_embedder(wanted.kind, wanted.model)
        except ConfigurationError as error:
            raise EmbeddingError(f"The embedder of this index cannot be opened here. {error}") from None
        if embedder.identity.fingerprint != wanted.fingerprint:
            raise EmbeddingError(
                f"The index was embedded by {wanted.model} ({wanted.fingerprint[:12]}), but the model found here under "
                f"that name is another ({embedder.identity.fingerprint[:12]}): build the index again with this one."
            )
        return embedder
