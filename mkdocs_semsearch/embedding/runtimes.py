"""Chooses the runtime of a sentence-transformers model: the default encoder, ONNX Runtime with an export, or PyTorch.

On a CPU, ONNX Runtime is twice as fast as PyTorch (`benchmarks/encoders.py`). A model is exported at its first use.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.artifact.user_cache import is_writable, user_cache
from mkdocs_semsearch.embedding.model_files import chooses_default_model, folder_in_environment, resolve_model
from mkdocs_semsearch.embedding.onnx_encoder import (
    ENCODER_FILES,
    DefaultEmbedder,
    OnnxEmbedder,
    is_complete,
    is_default_encoder,
    load_default_encoder,
    load_query_encoder,
    read_identity,
    thread_count,
)
from mkdocs_semsearch.embedding.onnx_export import cached_export, export_query_encoder, why_not_traceable
from mkdocs_semsearch.embedding.protocol import Embedder, Role, check_text
from mkdocs_semsearch.embedding.torch import INSTALL, SentenceTransformerEmbedder, open_sentence_transformer
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, MissingExtraError, ModelNotFoundError

RUNTIMES = ("auto", "torch", "onnx")

# Driver files of graphics cards that PyTorch can use.
_DRIVERS = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
_WINDOWS_DRIVER = Path("System32", "nvcuda.dll")


def open_model(
    model: str,
    *,
    runtime: str = "auto",
    revision: str | None = None,
    device: str | None = None,
    precision: str = "auto",
    batch_size: int | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    threads: int | None = None,
    cache_dir: str | None = None,
) -> Embedder:
    """Opens a sentence-transformers model; it is exported or loaded when it is first used.

    Args:
        model: folder or hub id.
        runtime: `torch`; `onnx`, for the default model the encoder of this package, for others an export in 8 bits if
            that preserves the vectors (see `export_query_encoder`); or `auto`: `onnx`, unless PyTorch can use a
            graphics card, an option of PyTorch is set, or the model cannot be exported.
        revision: branch, tag or commit on the hub; the default model is then treated like any other.
        device: for PyTorch: `cpu`, `cuda`, `mps`, …; by default the best available.
        precision: for PyTorch: `float32`, `float16`, or `auto`: float16 on a CUDA device, float32 elsewhere.
        batch_size: for PyTorch: texts per forward pass; by default 16 on a CPU, 128 on a GPU.
        query_prompt: prefix for queries instead of the one in the model's configuration (E5 models need `query: `, but
            their configuration does not say so).
        document_prompt: the same for documents.
        threads: threads of ONNX Runtime for one text; several texts are encoded in parallel in any case.
        cache_dir: folder for the export; by default `mkdocs-semsearch` in the user's cache folder.

    Raises:
        MissingExtraError: ONNX Runtime or the extra `models`, which the model needs, is not installed.
        ModelNotFoundError: the model is neither on disk nor on the hub.
        ConfigurationError: an option has an invalid value.
    """
    if runtime not in RUNTIMES:
        raise ConfigurationError(f"embedder.runtime: {runtime!r} is not one of {', '.join(RUNTIMES)}.")
    check_text(cache_dir=cache_dir)
    thread_count(threads)
    given = {"device": device is not None, "precision": precision != "auto", "batch_size": batch_size is not None}
    of_torch = [name for name, is_set in given.items() if is_set]
    if runtime == "onnx" and of_torch:
        raise ConfigurationError(
            f"embedder.{of_torch[0]}: only PyTorch has this option: leave it out, or set embedder.runtime to torch."
        )
    wants_torch = runtime == "torch" or bool(of_torch)
    if chooses_default_model(model, revision) and not wants_torch and (runtime == "onnx" or not _runs_on_card(model)):
        check_text(query_prompt=query_prompt, document_prompt=document_prompt)
        return DefaultEmbedder(query_prompt=query_prompt, document_prompt=document_prompt, threads=threads)
    if runtime != "torch" and chooses_default_model(model) and find_spec("sentence_transformers") is None:
        option = [*of_torch, "revision"][0]
        raise MissingExtraError(
            f"embedder.{option}: only PyTorch has this option, and it is not installed: leave it out, or run {INSTALL}."
        )
    original = open_sentence_transformer(
        model,
        revision=revision,
        device=device,
        precision=precision,
        batch_size=batch_size,
        query_prompt=query_prompt,
        document_prompt=document_prompt,
    )
    if wants_torch or (runtime == "auto" and not _prefers_onnx(original)):
        return original
    place = Path(cache_dir).expanduser() if cache_dir else default_cache()
    return OnnxModelEmbedder(original, place, threads, falls_back=runtime == "auto")


def _prefers_onnx(original: SentenceTransformerEmbedder) -> bool:
    installed = all(find_spec(name) is not None for name in ("onnx", "onnxruntime"))
    return installed and not _sees_graphics_card() and why_not_traceable(original) is None


def _runs_on_card(model: str) -> bool:
    """Returns whether PyTorch would use a graphics card, with weights that are already on this disk."""
    if find_spec("sentence_transformers") is None or not _sees_graphics_card():
        return False
    try:
        resolve_model(model, download=False)
    except ModelNotFoundError:
        return False
    return True


def _sees_graphics_card() -> bool:
    """Guesses whether PyTorch would use a graphics card, without importing PyTorch, which takes seconds."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    try:
        if version("torch").endswith("+cpu"):
            return False
    except PackageNotFoundError:
        return False
    if sys.platform == "win32":
        return (Path(os.environ.get("SYSTEMROOT", "C:/Windows")) / _WINDOWS_DRIVER).exists()
    return any(Path(driver).exists() for driver in _DRIVERS)


def open_onnx(
    model: str,
    *,
    revision: str | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    threads: int | None = None,
    cache_dir: str | None = None,
) -> Embedder:
    """Opens the default encoder, an exported one, or a sentence-transformers model that is exported when first used.

    If `model` is a folder with `encoder.onnx`, `tokenizer.json` and `encoder.json`, of the other options only `threads`
    has an effect. For all options and errors, see `open_model`.
    """
    folder = Path(model).expanduser()
    if (folder / ENCODER_FILES[0]).is_file():
        return load_query_encoder(folder, threads=threads)
    return open_model(
        model,
        runtime="onnx",
        revision=revision,
        query_prompt=query_prompt,
        document_prompt=document_prompt,
        threads=threads,
        cache_dir=cache_dir,
    )


_NAME = re.compile(r"[^/\\~.][^/\\]*(?:/[^/\\.][^/\\]*)?")
"""A hub id, or the last component of a folder, see `EmbedderIdentity`. So a manifest cannot name the folder of its own
downloaded files, whose encoder would run here without limits.
"""


def reopen_model(identity: EmbedderIdentity) -> Embedder:
    """Opens the model that an index names in its manifest, with the prompts of the index, see `reopen_embedder`.

    The environment variable `SEMSEARCH_EMBEDDER_MODEL` says where its folder is.
    """
    if is_default_encoder(identity):
        return load_default_encoder(identity)
    if not _NAME.fullmatch(identity.model):
        raise ModelNotFoundError(
            f"The index names its model {identity.model[:200]!r}, which is not a model's name: build the index again."
        )
    return open_model(
        folder_in_environment() or identity.model,
        runtime="torch",
        query_prompt=identity.query_prompt,
        document_prompt=identity.document_prompt,
    )


class OnnxModelEmbedder:
    """An `Embedder` that exports a sentence-transformers model once, and does not need PyTorch afterwards.

    Attributes:
        original: the model that is exported.
    """

    def __init__(
        self,
        original: SentenceTransformerEmbedder,
        cache_dir: Path,
        threads: int | None,
        *,
        falls_back: bool = False,
    ) -> None:
        """Makes an embedder.

        Args:
            original: the model to be exported.
            cache_dir: folder for the export.
            threads: threads for one text.
            falls_back: use the original model if it cannot be exported; otherwise that is an error.
        """
        self.original = original
        self._cache_dir = cache_dir
        self._threads = threads
        self._falls_back = falls_back
        self._lock = threading.RLock()
        self._embedder: OnnxEmbedder | SentenceTransformerEmbedder | None = None
        # Checked here, because an earlier version may have cached an export of a model that cannot be exported.
        self._failure: str | None = why_not_traceable(original)

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the original with the precision of the export; vectors of both can be compared.

        The first call on a machine exports the model, which takes seconds.
        """
        folder = self.encoder_folder
        return self.original.identity if folder is None else read_identity(folder)

    @property
    def tokenizer_file(self) -> Path | None:
        """The model's `tokenizer.json`."""
        return self.original.tokenizer_file

    @property
    def encoder_folder(self) -> Path | None:
        """The folder of the exported encoder; None if the original is used because it cannot be exported.

        Raises:
            EmbeddingError: the model cannot be exported, and the original must not be used instead.
        """
        with self._lock:
            folder = cached_export(self.original, self._cache_dir)
            if not is_complete(folder) and self._failure is None:
                if not is_writable(self._cache_dir):
                    self._cache_dir = self._temporary_folder()
                    folder = cached_export(self.original, self._cache_dir)
                result = export_query_encoder(self.original, folder, cache_dir=self._cache_dir)
                self._failure = None if result.exported else result.reason or "it cannot be exported"
            if self._failure is None:
                return folder
        if self._falls_back:
            return None
        raise EmbeddingError(
            f"The model {self.original.identity.model!r} cannot be used with ONNX Runtime: {self._failure}. Set "
            "embedder.runtime to torch."
        )

    def _temporary_folder(self) -> Path:
        """Creates a temporary folder for this embedder, to be used instead of a cache that cannot be written."""
        folder = tempfile.mkdtemp(prefix="semsearch-encoder-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts, see `Embedder.embed`; the first call may take seconds, for the export."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._load()
            embedder = self._embedder
        return embedder.embed(texts, role)

    def _load(self) -> OnnxEmbedder | SentenceTransformerEmbedder:
        folder = self.encoder_folder
        if folder is None:
            return self.original
        try:
            return load_query_encoder(folder, threads=self._threads)
        except MissingExtraError:
            raise
        except EmbeddingError:  # a file in the cache is damaged: export the model again
            shutil.rmtree(folder, ignore_errors=True)
            return self.original if self.encoder_folder is None else load_query_encoder(folder, threads=self._threads)


def default_cache() -> Path:
    """Returns the default folder for exports, in the user's cache folder."""
    return user_cache("mkdocs-semsearch")
