"""The default encoder: all-MiniLM-L6-v2 with pooling, normalisation and 8-bit weights, part of this package.

`benchmarks/default_encoder.py` makes the folder `default_encoder`; licence and origin are in it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.embedding.onnx.encoder import TOKENIZER, OnnxEmbedder, load_query_encoder, read_identity
from mkdocs_semsearch.embedding.protocol import EmbedderIdentity, Role
from mkdocs_semsearch.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FOLDER", "DefaultEmbedder", "is_default_encoder", "load_default_encoder"]

FOLDER = Path(__file__).parent.parent / "default_encoder"


def is_default_encoder(identity: EmbedderIdentity) -> bool:
    """Tells whether the default encoder gives vectors that can be compared with those of `identity`.

    The weights, the tokenizer and the pooling must be the same, which the fingerprint says. Prompts may differ, for
    they are put in front of texts; 8-bit and float32 weights give comparable vectors.
    """
    own = _identity()
    return own == replace(
        identity, query_prompt=own.query_prompt, document_prompt=own.document_prompt, precision=own.precision
    )


def load_default_encoder(identity: EmbedderIdentity, *, threads: int | None = None) -> OnnxEmbedder:
    """Loads the default encoder with the prompts of `identity`.

    Raises:
        EmbeddingError: `identity` is of another model, or a file of the package is damaged.
        MissingExtraError: ONNX Runtime is not installed.
    """
    if not is_default_encoder(identity):
        raise EmbeddingError(
            "The index was built with the default encoder of another version of mkdocs-semsearch "
            f"({identity.fingerprint[:12]}, here {_identity().fingerprint[:12]}): rebuild it with this version."
        )
    return load_query_encoder(FOLDER, threads=threads, prompts=(identity.query_prompt, identity.document_prompt))


class DefaultEmbedder:
    """An `Embedder` over the default encoder, which it loads for the first text.

    Attributes:
        identity: that of all-MiniLM-L6-v2 with the prompts of this embedder.
        tokenizer_file: the `tokenizer.json`.
        encoder_folder: where the files of the encoder are.
    """

    def __init__(
        self, *, query_prompt: str | None = None, document_prompt: str | None = None, threads: int | None = None
    ) -> None:
        """Makes an embedder.

        Args:
            query_prompt: put in front of queries; the model itself has none.
            document_prompt: the same for documents.
            threads: threads for one text; several texts are encoded side by side in any case.
        """
        self.identity = replace(_identity(), query_prompt=query_prompt or "", document_prompt=document_prompt or "")
        self.tokenizer_file = FOLDER / TOKENIZER
        self.encoder_folder = FOLDER
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: OnnxEmbedder | None = None

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts, see `Embedder.embed`."""
        with self._lock:
            if self._loaded is None:
                self._loaded = load_default_encoder(self.identity, threads=self._threads)
        return self._loaded.embed(texts, role)


@cache
def _identity() -> EmbedderIdentity:
    return read_identity(FOLDER)
