"""Exports a model into the index as one ONNX graph with 8-bit weights, so that queries need no PyTorch."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import EncoderInfo
from mkdocs_semsearch.artifact.atomic_files import put_in_place
from mkdocs_semsearch.embedding.model_files import first_line
from mkdocs_semsearch.embedding.onnx_encoder import (
    ENCODER_FILES,
    GRAPH,
    SETTINGS,
    TOKENIZER,
    OnnxEmbedder,
    encoder_settings,
    graph_inputs,
    import_onnxruntime,
    is_complete,
    load_query_encoder,
)
from mkdocs_semsearch.embedding.protocol import Embedder, Role
from mkdocs_semsearch.embedding.quantization import quantize_in_blocks, quantize_weights
from mkdocs_semsearch.embedding.tokens import open_tokenizer
from mkdocs_semsearch.embedding.torch import SentenceTransformerEmbedder, quiet_libraries
from mkdocs_semsearch.errors import EmbeddingError, MissingExtraError, reason

NOT_INSTALLED = 'onnx or onnxruntime is not installed: run pip install "mkdocs-semsearch[models]"'
FAILURE = "failure.json"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error numbers of a full disk. Any other OSError, such as for a missing compiler, comes from the model's own code."""

# Part of the cache key: increase it if the export of the same model changes.
RECIPE = 2
LOWEST_SIMILARITY = 0.99
"""Least cosine between a vector of the export and that of the original."""

MOST_SAMPLES = 64
"""Greatest number of the caller's texts that are compared, in addition to `PROBES`; chosen, not measured."""

# Compared in addition to the caller's sample, which may be empty or one-sided. They also show which columns of the
# activations are large (see quantization.py).
PROBES = (
    "",
    "install",
    "How do I rotate an API key?",
    "TypeError: 'NoneType' object is not subscriptable",
    "def read(path: Path) -> str:\n    return path.read_text(encoding='utf-8')",
    "Größe ändern, naïve café, 日本語のテキスト 🎉",
    "The configuration file is read once when the server starts; later changes take effect after a restart. " * 30,
)


def export_query_encoder(
    embedder: Embedder, folder: Path, sample: Sequence[str] = (), cache_dir: Path | None = None
) -> EncoderInfo:
    """Writes the encoder of `embedder` to `folder` as ONNX with 8-bit weights, `tokenizer.json` and `encoder.json`.

    The vectors are compared with those of the original model. If a cosine is below 0.99, the weights stay in float32;
    if it is still below 0.99, nothing is exported. An error of the libraries becomes the reason in the result, because
    an index without an encoder still works with PyTorch.

    Args:
        embedder: a `SentenceTransformerEmbedder` is exported; one with an `encoder_folder` is already exported, so its
            files are copied; for others the result says that there is nothing to export.
        folder: created if it does not exist; gets no encoder files if nothing is exported.
        sample: texts like the expected queries; the first 64 are used.
        cache_dir: folder for cached exports, named by the model's fingerprint; `None` for no cache.
    """
    exported: Path | None = getattr(embedder, "encoder_folder", None)
    if exported is not None:
        return _publish(exported, folder)
    embedder = getattr(embedder, "original", embedder)
    if not isinstance(embedder, SentenceTransformerEmbedder):
        return EncoderInfo(reason=f"an embedder of kind {embedder.identity.kind!r} has nothing to export")
    reason = why_not_traceable(embedder)
    if reason is not None:
        return EncoderInfo(reason=reason)
    cached = None if cache_dir is None else cached_export(embedder, cache_dir)
    if cached is not None and is_complete(cached):
        return _publish(cached, folder)
    known = None if cached is None else _known_failure(cached)
    if known is not None:
        return EncoderInfo(reason=known)
    with tempfile.TemporaryDirectory(prefix="semsearch-encoder-") as name:
        result = _export(embedder, Path(name), [*PROBES, *sample[:MOST_SAMPLES]])
        if cached is not None and (result.exported or result.reason != NOT_INSTALLED):
            _keep(Path(name), cached)
        if result.exported and cached != folder:
            _publish(Path(name), folder)
    return result


def cached_export(embedder: SentenceTransformerEmbedder, cache_dir: Path) -> Path:
    """Returns the folder for the export of `embedder` in `cache_dir`; it may not exist."""
    described = repr((RECIPE, sorted(asdict(embedder.identity).items())))
    return cache_dir / f"encoder-{hashlib.sha256(described.encode()).hexdigest()[:32]}"


def probe_inputs(embedder: SentenceTransformerEmbedder, tokenizer_file: Path) -> list[dict[str, NDArray[np.int64]]]:
    """Returns the inputs of the graph for `PROBES`, without a prompt, so that the graph does not depend on it."""
    tokenizer = open_tokenizer(tokenizer_file)
    tokenizer.enable_truncation(max_length=embedder.identity.max_tokens)
    inputs = [graph_inputs(tokenizer, text, lower_case=embedder.folder.lower_case) for text in PROBES]
    return [given for given in inputs if given["input_ids"].size]


def _export(embedder: SentenceTransformerEmbedder, folder: Path, texts: list[str]) -> EncoderInfo:
    full, small = folder / "full.onnx", folder / GRAPH
    try:
        import onnx  # noqa: F401

        import_onnxruntime()
    except (ImportError, MissingExtraError):
        return EncoderInfo(reason=NOT_INSTALLED)
    try:
        trace_encoder(embedder, full)
        _write_tokenizer(embedder, folder / TOKENIZER)
    except Exception as error:  # the exporter raises all kinds of exceptions for a model that it cannot trace
        if isinstance(error, OSError) and error.errno in _FULL:
            raise _not_written(folder, error) from error
        return _failed(folder, f"the model cannot be traced ({type(error).__name__}: {first_line(error)})")
    doubt = None
    for method in ("columns", "blocks", "float32"):
        quantized = method != "float32"
        try:
            if method == "columns":
                quantize_weights(full, small, probe_inputs(embedder, folder / TOKENIZER))
            elif method == "blocks":
                quantize_in_blocks(full, small)
            else:
                full.replace(small)
            similarity = _compare(embedder, _describe(embedder, folder, quantized=quantized), texts)
        except OSError as error:
            raise _not_written(folder, error) from error
        except Exception as error:  # ONNX Runtime's own classes derive directly from Exception
            doubt = first_line(error)
            continue
        if similarity >= LOWEST_SIMILARITY:
            full.unlink(missing_ok=True)
            return EncoderInfo(True, quantized=quantized, reason=None if quantized else doubt)
        doubt = (
            f"{'8-bit' if quantized else 'float32'} weights give a cosine of {similarity:.4f} with the original, "
            f"{LOWEST_SIMILARITY} is required"
        )
    return _failed(folder, doubt)


def _not_written(folder: Path, error: OSError) -> EmbeddingError:
    """Returns the error for a full disk: it says nothing about the model, so the next build tries again."""
    return EmbeddingError(f"The encoder cannot be exported to {folder} ({reason(error)}): make room.")


def _failed(folder: Path, reason: str | None) -> EncoderInfo:
    """Writes the reason instead of an encoder, so that the next build does not try again."""
    for file in folder.iterdir():
        file.unlink()
    note = {"reason": reason, "libraries": _libraries()}
    (folder / FAILURE).write_text(json.dumps(note, ensure_ascii=False), encoding="utf-8")
    return EncoderInfo(reason=reason)


def _known_failure(cached: Path) -> str | None:
    """Returns why an earlier export failed; None if the libraries have changed since then."""
    try:
        note = json.loads((cached / FAILURE).read_text(encoding="utf-8"))
        return str(note["reason"]) if note["libraries"] == _libraries() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _libraries() -> list[str]:
    return [f"{name} {version(name)}" for name in ("torch", "transformers", "sentence-transformers", "onnxruntime")]


def _describe(embedder: SentenceTransformerEmbedder, folder: Path, *, quantized: bool) -> OnnxEmbedder:
    settings = encoder_settings(embedder.identity, quantized=quantized, lower_case=embedder.folder.lower_case)
    (folder / SETTINGS).write_text(settings, encoding="utf-8")
    return load_query_encoder(folder)


def _compare(original: SentenceTransformerEmbedder, exported: OnnxEmbedder, texts: list[str]) -> float:
    roles: tuple[Role, ...] = ("query", "document")
    if original.identity.query_prompt == original.identity.document_prompt:
        roles = roles[:1]
    pairs = [(original.embed(texts, role), exported.embed(texts, role)) for role in roles]
    return min(float(np.einsum("ij,ij->i", *pair, dtype=np.float64).min()) for pair in pairs)


def _write_tokenizer(embedder: SentenceTransformerEmbedder, file: Path) -> None:
    if embedder.tokenizer_file is not None:
        shutil.copyfile(embedder.tokenizer_file, file)
    else:
        # Its own `save` raises no OSError if the disk is full.
        file.write_bytes(embedder.model.tokenizer.backend_tokenizer.to_str(pretty=True).encode())


def _keep(source: Path, cached: Path) -> None:
    """Copies the export into the cache in one step; does nothing if the disk is full."""
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent, prefix="encoder-new-") as name:
            fresh = Path(name) / "encoder"
            _copy(source, fresh)
            put_in_place(fresh, cached, lambda: is_complete(cached))  # another build may have written it
    except OSError:
        return


def _publish(source: Path, folder: Path) -> EncoderInfo:
    _copy(source, folder)
    quantized = b'"quantized": true' in (folder / SETTINGS).read_bytes()
    return EncoderInfo(True, quantized=quantized)


def _copy(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name in (FAILURE,) if (source / FAILURE).is_file() else ENCODER_FILES:
        shutil.copyfile(source / name, target / name)


INPUTS = ("input_ids", "attention_mask")
OUTPUT = "embedding"
OPSET = 17
TRACEABLE = frozenset({"Transformer", "Pooling", "Dense", "Normalize"})
# A graph in one file is a protobuf message, which is limited to 2 GiB.
LARGEST_WEIGHTS = 1_800_000_000


def why_not_traceable(embedder: SentenceTransformerEmbedder) -> str | None:
    """Returns why the model cannot be traced, as a sentence without its full stop, or `None`."""
    folder = embedder.folder
    strange = [module for module in folder.modules if module not in TRACEABLE]
    if strange:
        return f"the model has a module {strange[0]}, and only {', '.join(sorted(TRACEABLE))} can be exported"
    if folder.modules[:1] != ("Transformer",):
        return "the model does not begin with a Transformer module"
    if (folder.query_prompt or folder.document_prompt) and not folder.include_prompt:
        return "the model leaves its prompt out of pooling, which the exported encoder cannot do"
    size = sum(file.stat().st_size for file in folder.path.rglob("*.safetensors"))
    if size > LARGEST_WEIGHTS:
        return f"the weights take {size / 1e9:.1f} GB, more than one ONNX file can hold"
    return None


def trace_encoder(embedder: SentenceTransformerEmbedder, file: Path) -> None:
    """Writes the model of `embedder`, with its pooling and normalisation, to `file` in float32.

    It uses the older exporter, based on TorchScript: it needs neither `onnxscript` nor several seconds for
    torch.export, and writes the same bytes for the same model.

    Raises:
        Exception: any error of the exporter for a model that it cannot trace.
    """
    import torch

    class QueryEncoder(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, transformer: Any, rest: list[Any]) -> None:
            super().__init__()
            self.transformer = transformer
            self.rest = torch.nn.ModuleList(rest)

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)[0]
            features = {"token_embeddings": tokens, "attention_mask": attention_mask}
            for module in self.rest:
                features = module(features)
            vectors = features["sentence_embedding"][:, : embedder.identity.dimension]
            return torch.nn.functional.normalize(vectors, p=2.0, dim=1)

    with quiet_libraries(), torch.no_grad():
        # The exporter cannot trace fused attention; the plain one computes the same.
        model = embedder.load_model(device="cpu", attention="eager")
        encoder = QueryEncoder(model[0].auto_model, list(model)[1:]).eval()
        # Ids that every vocabulary has and that are not the padding.
        ids = torch.arange(12).reshape(2, 6) + 5
        mask = torch.ones_like(ids)
        mask[1, 4:] = 0
        torch.onnx.export(
            encoder,
            (ids, mask),
            str(file),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes={**{name: {0: "texts", 1: "tokens"} for name in INPUTS}, OUTPUT: {0: "texts"}},
        )
