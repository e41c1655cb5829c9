"""Chooses what runs a sentence-transformers model: the default encoder, an export with ONNX Runtime, or PyTorch."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from mkdocs_semsearch.embedding.checks import check_text
from mkdocs_semsearch.embedding.models import is_default_model, resolve_model
from mkdocs_semsearch.embedding.onnx.default_encoder import DefaultEmbedder
from mkdocs_semsearch.embedding.onnx.exported_model import OnnxModelEmbedder, default_cache
from mkdocs_semsearch.embedding.onnx.trace import why_not_traceable
from mkdocs_semsearch.embedding.torch import SentenceTransformerEmbedder, open_sentence_transformer
from mkdocs_semsearch.errors import ConfigurationError, ModelNotFoundError

__all__ = ["RUNTIMES", "open_model"]

RUNTIMES = ("auto", "torch", "onnx")

# Files of the drivers of graphics cards that PyTorch can use.
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
) -> DefaultEmbedder | SentenceTransformerEmbedder | OnnxModelEmbedder:
    """Opens a sentence-transformers model; it is exported or loaded when it is first used.

    Args:
        model: folder or hub id.
        runtime: `torch`; `onnx`, for the default model the encoder of this package, for others an export in 8 bits
            where that keeps the vectors (see `export_query_encoder`); or `auto`: `onnx`, unless PyTorch can use a
            graphics card, an option of PyTorch is set, or the model cannot be exported.
        revision: branch, tag or commit on the hub; the default model is then looked for like any other.
        device: for PyTorch, see `open_sentence_transformer`.
        precision: for PyTorch, see there.
        batch_size: for PyTorch, see there.
        query_prompt: put in front of queries.
        document_prompt: put in front of documents.
        threads: threads of ONNX Runtime for one text.
        cache_dir: where the export is kept.

    Raises:
        MissingExtraError: the model needs the extra `models`, which is not installed.
        ModelNotFoundError: the model is neither on disk nor on the hub.
        ConfigurationError: an option has an invalid value.
    """
    if runtime not in RUNTIMES:
        raise ConfigurationError(f"embedder.runtime: {runtime!r} is not one of {', '.join(RUNTIMES)}.")
    check_text(cache_dir=cache_dir)
    of_torch = {"device": device is not None, "precision": precision != "auto", "batch_size": batch_size is not None}
    if runtime == "onnx" and any(of_torch.values()):
        name = next(name for name, is_set in of_torch.items() if is_set)
        raise ConfigurationError(
            f"embedder.{name}: only PyTorch has it: leave it out, or set embedder.runtime to torch."
        )
    wants_torch = runtime == "torch" or any(of_torch.values())
    if is_default_model(model, revision) and not wants_torch and (runtime == "onnx" or not _runs_on_card(model)):
        check_text(query_prompt=query_prompt, document_prompt=document_prompt)
        return DefaultEmbedder(query_prompt=query_prompt, document_prompt=document_prompt, threads=threads)
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
    """Tells whether PyTorch would compute on a graphics card, with weights that are on this disk already."""
    if find_spec("sentence_transformers") is None or not _sees_graphics_card():
        return False
    try:
        resolve_model(model, download=False)
    except ModelNotFoundError:
        return False
    return True


def _sees_graphics_card() -> bool:
    """Guesses whether PyTorch would compute on a graphics card, without the seconds that importing it takes."""
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
