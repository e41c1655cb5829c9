"""Which program runs a sentence-transformers model: PyTorch, or ONNX Runtime with 8-bit weights."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from mkdocs_semsearch.embedding.checks import check_text
from mkdocs_semsearch.embedding.onnx.exported_model import OnnxModelEmbedder, default_cache
from mkdocs_semsearch.embedding.onnx.trace import why_not_traceable
from mkdocs_semsearch.embedding.torch import SentenceTransformerEmbedder, open_sentence_transformer
from mkdocs_semsearch.errors import ConfigurationError

__all__ = ["RUNTIMES", "open_model"]

RUNTIMES = ("auto", "torch", "onnx")

# What a driver leaves where PyTorch could compute on a graphics card.
_DRIVERS = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
_WINDOWS_DRIVER = Path("System32", "nvcuda.dll")


def open_model(
    model: str,
    *,
    runtime: str = "torch",
    revision: str | None = None,
    device: str | None = None,
    precision: str = "auto",
    batch_size: int | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    threads: int | None = None,
    cache_dir: str | None = None,
) -> SentenceTransformerEmbedder | OnnxModelEmbedder:
    """Opens a sentence-transformers model; what it is exported to or loaded from waits for the first use.

    Args:
        model: folder or hub id.
        runtime: `torch`; `onnx`, an export in 8 bits where that keeps the vectors (see `export_query_encoder`); or
            `auto`: `onnx`, unless there is a graphics card, an option is set that is PyTorch's, or the model cannot be
            exported.
        revision: as this and the prompts in `open_sentence_transformer`.
        device: PyTorch's, see there.
        precision: PyTorch's, see there.
        batch_size: PyTorch's, see there.
        query_prompt: in front of questions.
        document_prompt: in front of documents.
        threads: of the export, for one text.
        cache_dir: where the export is kept.

    Raises:
        ModelNotFoundError: the model is neither on disk nor to be had.
        ConfigurationError: an option has a value that cannot work.
    """
    if runtime not in RUNTIMES:
        raise ConfigurationError(f"embedder.runtime: {runtime!r} is not one of {', '.join(RUNTIMES)}.")
    check_text(cache_dir=cache_dir)
    of_torch = {"device": device is not None, "precision": precision != "auto", "batch_size": batch_size is not None}
    if runtime == "onnx" and any(of_torch.values()):
        name = next(name for name, given in of_torch.items() if given)
        raise ConfigurationError(
            f"embedder.{name}: only PyTorch has it: leave it out, or set embedder.runtime to torch."
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
    if runtime == "torch" or (runtime == "auto" and (any(of_torch.values()) or not _prefers_onnx(original))):
        return original
    place = Path(cache_dir).expanduser() if cache_dir else default_cache()
    return OnnxModelEmbedder(original, place, threads, falls_back=runtime == "auto")


def _prefers_onnx(original: SentenceTransformerEmbedder) -> bool:
    installed = all(find_spec(name) is not None for name in ("onnx", "onnxruntime"))
    return installed and not _sees_graphics_card() and why_not_traceable(original) is None


def _sees_graphics_card() -> bool:
    """Guesses, without the seconds that importing PyTorch takes, whether it would compute on a graphics card."""
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
