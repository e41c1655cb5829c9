"""Encodes with sentence-transformers on PyTorch: any model of that library, on a GPU if there is one."""

from __future__ import annotations

import contextlib
import logging
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.embedding.model_files import ModelFolder, canonical_name, read_model_folder, resolve_model
from mkdocs_semsearch.embedding.protocol import Role, check_count, check_text, unit_rows, well_formed
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, MissingExtraError

INSTALL = 'pip install "mkdocs-semsearch[models]"'
PRECISIONS = ("auto", "float32", "float16")
CPU_BATCH = 16
GPU_BATCH = 128
"""Default batch sizes on a CPU and on a GPU; chosen, not measured."""

LIBRARIES = (
    "sentence_transformers",
    "transformers",
    "huggingface_hub",
    "torch",
    "onnxruntime",
    "onnxscript",
    "onnx_ir",
)


def open_sentence_transformer(
    model: str,
    *,
    revision: str | None = None,
    device: str | None = None,
    precision: str = "auto",
    batch_size: int | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
) -> SentenceTransformerEmbedder:
    """Finds the model and reads its configuration; PyTorch and the weights are loaded by the first `embed`.

    For the options and errors, see `runtimes.open_model`.
    """
    if precision not in PRECISIONS:
        raise ConfigurationError(f"embedder.precision: {precision!r} is not one of {', '.join(PRECISIONS)}.")
    check_count(1, batch_size=batch_size)
    check_text(
        model=model, revision=revision, device=device, query_prompt=query_prompt, document_prompt=document_prompt
    )
    if find_spec("sentence_transformers") is None:  # checked before gigabytes of weights are downloaded
        raise MissingExtraError(f"The model {model!r} needs PyTorch and sentence-transformers: run {INSTALL}.")
    folder = read_model_folder(resolve_model(model, revision=revision))
    folder = replace(
        folder,
        query_prompt=folder.query_prompt if query_prompt is None else query_prompt,
        document_prompt=folder.document_prompt if document_prompt is None else document_prompt,
    )
    return SentenceTransformerEmbedder(
        folder, name=canonical_name(model), device=device, precision=precision, batch_size=batch_size
    )


class SentenceTransformerEmbedder:
    """An `Embedder` over a model folder; safe for use from several threads, which take turns.

    On a CPU a text's vector does not depend on its neighbours (within 1e-5); in float16 on a GPU within 1e-3.
    """

    def __init__(
        self,
        folder: ModelFolder,
        *,
        name: str,
        device: str | None,
        precision: str,
        batch_size: int | None,
    ) -> None:
        self.folder = folder
        self._name = name
        self._device = device
        self._precision = precision
        self._batch_size = batch_size
        self._lock = threading.RLock()
        self._model: Any = None
        self._identity: EmbedderIdentity | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """Identity of the model that computes the vectors; the first call reads the weights once, to hash them."""
        with self._lock:
            if self._identity is None:
                self._identity = EmbedderIdentity(
                    kind="sentence-transformers",
                    model=self._name,
                    fingerprint=self.folder.fingerprint(),
                    dimension=self.folder.dimension or int(self.model.get_embedding_dimension()),
                    max_tokens=self.folder.max_tokens,
                    query_prompt=self.folder.query_prompt,
                    document_prompt=self.folder.document_prompt,
                )
            return self._identity

    @property
    def tokenizer_file(self) -> Path | None:
        """The model's `tokenizer.json`."""
        return self.folder.tokenizer_file

    @property
    def model(self) -> Any:
        """The loaded `SentenceTransformer`; the first call takes seconds."""
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts, see `Embedder.embed`."""
        identity = self.identity
        if not texts:
            return np.zeros((0, identity.dimension), dtype=np.float32)
        model = self.model
        encode, prompt = (
            (model.encode_query, identity.query_prompt)
            if role == "query"
            else (model.encode_document, identity.document_prompt)
        )
        batch_size = self._batch_size or (CPU_BATCH if model.device.type == "cpu" else GPU_BATCH)
        with self._lock:
            try:  # sentence-transformers sorts the texts by length itself
                vectors = encode(
                    [well_formed(text) for text in texts],
                    prompt=prompt,
                    batch_size=batch_size,
                    show_progress_bar=False,
                    normalize_embeddings=False,
                )
            except (RuntimeError, ValueError, IndexError) as error:
                raise EmbeddingError(f"The model {self._name!r} failed on {len(texts)} texts: {error}") from error
        return unit_rows(
            np.asarray(vectors, dtype=np.float32),
            count=len(texts),
            dimension=identity.dimension,
            source=f"The model {self._name!r}",
        )

    def load_model(self, *, device: str | None = None, attention: str | None = None) -> Any:
        """Loads another `SentenceTransformer` of the same model, in float32; from the disk, never from the hub.

        Args:
            device: as PyTorch names it; by default the best there is.
            attention: the implementation for transformers to use, such as `eager`.

        Raises:
            EmbeddingError: the library cannot load it.
        """
        with quiet_libraries():
            try:
                from sentence_transformers import SentenceTransformer
                from transformers.utils import logging as transformers_logging
            except ImportError as error:
                raise MissingExtraError(
                    f"The model {self._name!r} needs PyTorch and sentence-transformers, which cannot be imported "
                    f"({error}): run {INSTALL}."
                ) from error
            bars = transformers_logging.is_progress_bar_enabled()
            transformers_logging.disable_progress_bar()
            try:
                model = SentenceTransformer(
                    str(self.folder.path),
                    device=device,
                    local_files_only=True,
                    model_kwargs=None if attention is None else {"attn_implementation": attention},
                )
            except Exception as error:  # the library and the model's own code may raise anything
                raise EmbeddingError(
                    f"The model in {self.folder.path} cannot be loaded: {type(error).__name__}: {error}"
                ) from error
            finally:
                if bars:
                    transformers_logging.enable_progress_bar()
            if "Transformer" in self.folder.modules:
                # The identity states this length; the library's own default changed between its versions.
                model.max_seq_length = self.folder.max_tokens
            return model.float().eval()

    def _load(self) -> Any:
        model = self.load_model(device=self._device)
        half = self._precision == "float16" or (self._precision == "auto" and model.device.type == "cuda")
        return model.half() if half else model


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """Hides the libraries' progress bars, warnings and log lines; errors are still raised."""
    levels = {name: logging.getLogger(name).level for name in LIBRARIES}
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
