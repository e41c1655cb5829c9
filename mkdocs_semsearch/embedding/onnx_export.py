"""Exports a model into the index as one ONNX graph with 8-bit weights, so that queries need no PyTorch."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.embedding.model_files import first_line
from mkdocs_semsearch.embedding.onnx_encoder import (
    ENCODER_FILES,
    GRAPH,
    SETTINGS,
    TOKENIZER,
    OnnxEmbedder,
    encoder_settings,
    import_onnxruntime,
    is_complete,
    load_query_encoder,
)
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.embedding.torch import SentenceTransformerEmbedder, quiet_libraries
from mkdocs_semsearch.errors import EmbeddingError, MissingExtraError

NOT_INSTALLED = 'onnx or onnxruntime is not installed: run pip install "mkdocs-semsearch[models]"'
FAILURE = "failure.json"
# Part of the cache key: increase it if the export of the same model changes.
RECIPE = 1
LOWEST_SIMILARITY = 0.99
"""Least cosine between a vector of the export and that of the original."""

MOST_SAMPLES = 64
"""Greatest number of the caller's texts that are compared, in addition to `PROBES`; chosen, not measured."""

# Compared in addition to the caller's sample, which may be empty or one-sided.
PROBES = (
    "",
    "install",
    "How do I rotate an API key?",
    "TypeError: 'NoneType' object is not subscriptable",
    "def read(path: Path) -> str:\n    return path.read_text(encoding='utf-8')",
    "Größe ändern, naïve café, 日本語のテキスト 🎉",
    "The configuration file is read once when the server starts; later changes take effect after a restart. " * 30,
)


@dataclass(frozen=True, slots=True)
class EncoderExport:
    """Result of an export.

    Attributes:
        exported: whether the folder contains an encoder.
        reason: why nothing was exported, or why float32 was used; a sentence without its full stop.
        quantized: whether the weights have 8 bits.
        files: names of the files in the folder.
    """

    exported: bool
    reason: str | None = None
    quantized: bool = False
    files: tuple[str, ...] = ()


def export_query_encoder(
    embedder: Embedder, folder: Path, sample: Sequence[str] = (), cache_dir: Path | None = None
) -> EncoderExport:
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
        return EncoderExport(False, f"an embedder of kind {embedder.identity.kind!r} has nothing to export")
    reason = why_not_traceable(embedder)
    if reason is not None:
        return EncoderExport(False, reason)
    cached = None if cache_dir is None else cached_export(embedder, cache_dir)
    if cached is not None and is_complete(cached):
        return _publish(cached, folder)
    known = None if cached is None else _known_failure(cached)
    if known is not None:
        return EncoderExport(False, known)
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


def _export(embedder: SentenceTransformerEmbedder, folder: Path, texts: list[str]) -> EncoderExport:
    full, small = folder / "full.onnx", folder / GRAPH
    try:
        import onnx  # noqa: F401

        import_onnxruntime()
    except (ImportError, MissingExtraError):
        return EncoderExport(False, NOT_INSTALLED)
    try:
        trace_encoder(embedder, full)
        _write_tokenizer(embedder, folder / TOKENIZER)
    except Exception as error:  # the exporter raises all kinds of exceptions for a model that it cannot trace
        return _failed(folder, f"the model cannot be traced ({type(error).__name__}: {first_line(error)})")
    doubt = None
    for quantized in (True, False):
        try:
            if quantized:
                quantize_weights(full, small)
            else:
                full.replace(small)
            similarity = _compare(embedder, _describe(embedder, folder, quantized=quantized), texts)
        except (EmbeddingError, MissingExtraError, ValueError) as error:
            doubt = first_line(error)
            continue
        if similarity >= LOWEST_SIMILARITY:
            full.unlink(missing_ok=True)
            return EncoderExport(True, doubt, quantized, ENCODER_FILES)
        doubt = (
            f"{'8-bit' if quantized else 'float32'} weights give a cosine of {similarity:.4f} with the original, "
            f"{LOWEST_SIMILARITY} is required"
        )
    return _failed(folder, doubt)


def _failed(folder: Path, reason: str | None) -> EncoderExport:
    """Writes the reason instead of an encoder, so that the next build does not try again."""
    for file in folder.iterdir():
        file.unlink()
    note = {"reason": reason, "libraries": _libraries()}
    (folder / FAILURE).write_text(json.dumps(note, ensure_ascii=False), encoding="utf-8")
    return EncoderExport(False, reason)


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
    pair = original.embed(texts, "query"), exported.embed(texts, "query")
    return float(np.einsum("ij,ij->i", *pair, dtype=np.float64).min())


def _write_tokenizer(embedder: SentenceTransformerEmbedder, file: Path) -> None:
    if embedder.tokenizer_file is not None:
        shutil.copyfile(embedder.tokenizer_file, file)
    else:
        embedder.model.tokenizer.backend_tokenizer.save(str(file))


def _keep(source: Path, cached: Path) -> None:
    """Copies the export into the cache in one step; does nothing if the disk is full."""
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent, prefix="encoder-new-") as name:
            fresh = Path(name) / "encoder"
            _copy(source, fresh)
            if not is_complete(cached):  # otherwise another build has written it and may be reading it
                shutil.rmtree(cached, ignore_errors=True)
                fresh.replace(cached)
    except OSError:
        return


def _publish(source: Path, folder: Path) -> EncoderExport:
    _copy(source, folder)
    quantized = b'"quantized": true' in (folder / SETTINGS).read_bytes()
    return EncoderExport(True, None, quantized, ENCODER_FILES)


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
    if embedder.identity.query_prompt and not folder.include_prompt:
        return "the model leaves its prompt out of pooling, which the exported encoder cannot do"
    size = sum(file.stat().st_size for file in folder.path.rglob("*.safetensors"))
    if size > LARGEST_WEIGHTS:
        return f"the weights have {size / 1e9:.1f} GB, more than one ONNX file can hold"
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


BLOCK = 128
# Smaller matrices (biases, position tables) take little room and time, so they stay in float32.
SMALLEST_SIDE = 64
SMALLEST_TABLE = 1024
INT8_PRODUCTS = 4
CONTRIB_DOMAIN = "com.microsoft"


def quantize_weights(source: Path, target: Path) -> None:
    """Writes to `target` the graph of `source` with its large weights in 8 bits; the same bytes for the same graph.

    Matrices are rounded in blocks, the embedding table row by row. `onnxruntime.quantization.quantize_dynamic` has one
    scale for all activations of a matrix product: on all-MiniLM-L6-v2 a text's vector then differs from the original by
    a cosine of 0.93 at worst (0.98 with a scale per channel), depends on the other texts in its batch, and on a CPU
    without VNNI the sums saturate. Blocks of 128 with their own scales, in the weights here and in the activations by
    ONNX Runtime's `MatMulNBits` (accuracy level 4: 8-bit products, 32-bit sums), keep 0.998. Of the ten nearest of 1500
    paragraphs 98 % stay the same over 150 questions (`quantize_dynamic` 85 %, per channel 93 %), in the same time.
    """
    import onnx

    model = onnx.load(str(source))
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    nodes: list[Any] = []
    added: list[Any] = []
    for node in graph.node:
        replacement, tensors = _in_8_bits(node, weights)
        nodes.extend(replacement)
        added.extend(tensors)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend({tensor.name: tensor for tensor in added}.values())
    used = {name for node in graph.node for name in node.input}
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)
    if not any(entry.domain == CONTRIB_DOMAIN for entry in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(CONTRIB_DOMAIN, 1))
    target.write_bytes(model.SerializeToString(deterministic=True))


def _in_8_bits(node: Any, weights: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Returns the nodes that replace a node, and their tensors; the node itself if it has no large weight."""
    from onnx import numpy_helper

    # Operands: the activations and the weight of a product, the weight and the row numbers of a look-up.
    weight_at = {"MatMul": 1, "Gather": 0}.get(node.op_type)
    tensor = weights.get(node.input[weight_at]) if weight_at is not None else None
    values = None if tensor is None else numpy_helper.to_array(tensor)
    if values is not None and values.dtype == np.float32 and values.ndim == 2:
        if node.op_type == "MatMul" and min(values.shape) >= SMALLEST_SIDE:
            return _product(node, values)
        by_row = not any(attribute.name == "axis" and attribute.i for attribute in node.attribute)
        if node.op_type == "Gather" and by_row and len(values) >= SMALLEST_TABLE:
            return _look_up(node, values)
    return [node], []


def _product(node: Any, values: NDArray[np.float32]) -> tuple[list[Any], list[Any]]:
    """Returns the node of a product in 8 bits."""
    from onnx import helper

    name = node.input[1]
    inner, outer = values.shape
    packed, scales = _blocks(np.ascontiguousarray(values.T))
    inputs = [node.input[0], f"{name}_int8", f"{name}_scales"]
    sizes = {"K": inner, "N": outer, "bits": 8, "block_size": BLOCK, "accuracy_level": INT8_PRODUCTS}
    product = helper.make_node("MatMulNBits", inputs, list(node.output), name=node.name, domain=CONTRIB_DOMAIN, **sizes)
    return [product], _tensors(name, packed, scales.reshape(-1))


def _blocks(rows: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Returns `[n, blocks, 128]` bytes with 128 for zero, as `MatMulNBits` reads them, and `[n, blocks]` scales."""
    count, length = rows.shape
    blocks = -(-length // BLOCK)
    padded = np.zeros((count, blocks * BLOCK), dtype=np.float32)
    padded[:, :length] = rows
    cut = padded.reshape(count, blocks, BLOCK)
    scales = np.abs(cut).max(axis=2) / 127.0
    scales[scales == 0] = 1.0
    packed = np.rint(cut / scales[:, :, None]) + 128.0
    return packed.astype(np.uint8), scales.astype(np.float32)


def _look_up(node: Any, values: NDArray[np.float32]) -> tuple[list[Any], list[Any]]:
    """Returns the nodes of a look-up in 8 bits: rows and their scales are gathered, then multiplied."""
    from onnx import TensorProto, helper

    (table, wanted), (output,) = node.input, node.output
    scales = np.abs(values).max(axis=1, keepdims=True) / 127.0
    scales[scales == 0] = 1.0
    rows = np.rint(values / scales).astype(np.int8)
    names = {part: f"{output}_{part}" for part in ("int8", "float", "scales")}
    steps = [
        helper.make_node("Gather", [f"{table}_int8", wanted], [names["int8"]], name=f"{node.name}_rows", axis=0),
        helper.make_node("Cast", [names["int8"]], [names["float"]], name=f"{node.name}_cast", to=TensorProto.FLOAT),
        helper.make_node("Gather", [f"{table}_scales", wanted], [names["scales"]], name=f"{node.name}_scales", axis=0),
        helper.make_node("Mul", [names["float"], names["scales"]], [output], name=node.name),
    ]
    return steps, _tensors(table, rows, scales.astype(np.float32))


def _tensors(name: str, values: NDArray[Any], scales: NDArray[np.float32]) -> list[Any]:
    from onnx import numpy_helper

    return [numpy_helper.from_array(values, f"{name}_int8"), numpy_helper.from_array(scales, f"{name}_scales")]
