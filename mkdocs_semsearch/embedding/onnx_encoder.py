"""Runs the exported encoder of an index, or the default encoder, with ONNX Runtime, a tokenizer and NumPy.

The default encoder is all-MiniLM-L6-v2 with pooling, normalisation and 8-bit weights. It is part of this package and
loads in a fraction of a second. `benchmarks/default_encoder.py` writes its folder, which also contains its licence and
origin.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.embedding.protocol import Role, unit_rows, well_formed
from mkdocs_semsearch.embedding.tokens import Tokenizer, open_tokenizer
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, MissingExtraError, ModelNotFoundError

FORMAT = 1
# The first version of ONNX Runtime that computes with 8-bit weights in blocks on both x86 and ARM.
OLDEST_RUNTIME = "1.23"
GRAPH, TOKENIZER, SETTINGS = "encoder.onnx", "tokenizer.json", "encoder.json"
ENCODER_FILES = (SETTINGS, GRAPH, TOKENIZER)
THREADS_VARIABLE = "SEMSEARCH_ENCODER_THREADS"
# A query has about a dozen tokens: a second thread gains little on an idle machine and costs much on a busy one, and a
# server already encodes several queries in parallel.
DEFAULT_THREADS = 1
MOST_THREADS = 256
"""More threads than any machine can use for one text; ONNX Runtime takes minutes to start 100,000."""
FEW_TEXTS = 4


def load_query_encoder(
    folder: str | Path, *, threads: int | None = None, prompts: tuple[str, str] | None = None
) -> OnnxEmbedder:
    """Loads the encoder that `export_query_encoder` wrote to `folder`.

    Args:
        folder: a folder with `encoder.onnx`, `tokenizer.json` and `encoder.json`.
        threads: threads for one query; by default the environment's `SEMSEARCH_ENCODER_THREADS`, else one.
            Queries that come from several threads are encoded in parallel in any case.
        prompts: prefixes for queries and for documents, instead of those in `encoder.json`.

    Raises:
        MissingExtraError: ONNX Runtime is not installed.
        ModelNotFoundError: the folder lacks one of the files.
        EmbeddingError: one of the files is damaged, or has another format.
        ConfigurationError: the number of threads is not a whole number from 1 to `MOST_THREADS`.
    """
    folder = Path(folder).expanduser()
    for name in ENCODER_FILES:
        if not (folder / name).is_file():
            raise ModelNotFoundError(f"{folder} contains no exported encoder: {name} is missing. Rebuild the index.")
    embedder = OnnxEmbedder(folder, threads=threads, prompts=prompts)
    # A runtime that is too old for 8-bit weights fails at the first computation, so run one now.
    embedder.embed(["probe"], "query")
    return embedder


def is_complete(folder: Path) -> bool:
    """Returns whether a folder has all files of an exported encoder."""
    return all((folder / name).is_file() for name in ENCODER_FILES)


def read_identity(folder: Path) -> EmbedderIdentity:
    """Returns the identity of an exported encoder without loading it.

    Raises:
        EmbeddingError: its description is damaged, or has another format.
    """
    return _identity(_read_settings(folder / SETTINGS))


def encoder_settings(identity: EmbedderIdentity, *, quantized: bool, lower_case: bool) -> str:
    """Returns the text of `encoder.json`."""
    content = {"format": FORMAT, "identity": asdict(identity), "lower_case": lower_case, "quantized": quantized}
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


class OnnxEmbedder:
    """An `Embedder` over an exported encoder, which is loaded for the first text; safe for use from several threads.

    Its identity differs from that of the exported embedder only in the precision, so vectors of both can be compared.
    Texts are encoded one by one, without padding, so a text's vector does not depend on its neighbours.

    Attributes:
        identity: identity of the model, with the prompts and the precision.
        encoder_folder: the folder with its files.
        tokenizer_file: the `tokenizer.json`.
    """

    def __init__(self, folder: Path, *, threads: int | None = None, prompts: tuple[str, str] | None = None) -> None:
        """Reads the description of an encoder; for the arguments, see `load_query_encoder`."""
        settings = _read_settings(folder / SETTINGS)
        self.identity = _identity(settings)
        if prompts is not None:
            self.identity = replace(self.identity, query_prompt=prompts[0], document_prompt=prompts[1])
        self.encoder_folder = folder
        self.tokenizer_file = folder / TOKENIZER
        self._lower_case = bool(settings["lower_case"])
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Tokenizer] | None = None

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts, see `Embedder.embed`."""
        rows = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        prompt = self.identity.query_prompt if role == "query" else self.identity.document_prompt
        for number, row in enumerate(self._encode_all([prompt + well_formed(text) for text in texts])):
            rows[number] = row
        return unit_rows(
            rows,
            count=len(texts),
            dimension=self.identity.dimension,
            source=f"The exported encoder of {self.identity.model!r}",
        )

    def _encode_all(self, texts: list[str]) -> Iterator[NDArray[np.float32]]:
        if not texts:
            return
        encode = partial(self._encode, *self._load())
        if len(texts) < FEW_TEXTS:
            yield from map(encode, texts)
            return
        # One text per core is faster than one text on all cores; ONNX Runtime releases the interpreter's lock.
        with ThreadPoolExecutor(core_count()) as pool:
            yield from pool.map(encode, texts)

    def _load(self) -> tuple[Any, Tokenizer]:
        with self._lock:
            if self._loaded is None:
                session = _open_session(self.encoder_folder / GRAPH, thread_count(self._threads))
                tokenizer = open_tokenizer(self.tokenizer_file)
                tokenizer.enable_truncation(max_length=self.identity.max_tokens)
                self._loaded = session, tokenizer
            return self._loaded

    def _encode(self, session: Any, tokenizer: Tokenizer, text: str) -> NDArray[np.float32]:
        inputs = graph_inputs(tokenizer, text, lower_case=self._lower_case)
        if not inputs["input_ids"].size:
            return np.zeros(self.identity.dimension, dtype=np.float32)
        try:
            (vectors,) = session.run(None, inputs)
            row: NDArray[np.float32] = vectors.reshape(self.identity.dimension)
        except Exception as error:  # ONNX Runtime's own classes derive directly from Exception
            raise EmbeddingError(
                f"The exported encoder of {self.identity.model!r} failed ({error}): install onnxruntime "
                f"{OLDEST_RUNTIME} or newer, or rebuild the index."
            ) from error
        return row


def graph_inputs(tokenizer: Tokenizer, text: str, *, lower_case: bool) -> dict[str, NDArray[np.int64]]:
    """Returns the inputs of the graph for one text, both `[1, tokens]`; an empty text may have no tokens."""
    tokens = np.array([tokenizer.encode(text.lower() if lower_case else text).ids], dtype=np.int64)
    return {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
        found = settings["format"]
        if found == FORMAT:
            EmbedderIdentity(**settings["identity"])
            return {name: settings[name] for name in ("identity", "lower_case", "quantized")}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise EmbeddingError(f"{file} is damaged ({error}): rebuild the index.") from error
    raise EmbeddingError(f"{file} has format {found!r}, but this version reads {FORMAT}: rebuild the index.")


def _identity(settings: dict[str, Any]) -> EmbedderIdentity:
    precision = "int8" if settings["quantized"] else "float32"
    return replace(EmbedderIdentity(**settings["identity"]), precision=precision)


def _open_session(file: Path, threads: int) -> Any:
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # An idle sidecar must not keep a core busy while it waits for the next query.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's own classes derive directly from Exception
        raise EmbeddingError(f"{file} cannot be loaded by ONNX Runtime ({error}): rebuild the index.") from error


def import_onnxruntime() -> Any:
    """Imports ONNX Runtime with its telemetry switched off, which it otherwise sets up while it is imported.

    Raises:
        MissingExtraError: it is not installed.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("The query encoder needs ONNX Runtime: run pip install onnxruntime.") from error
    return onnxruntime


def core_count() -> int:
    """Returns the number of cores that this process may use: in a container often fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """Returns the number of threads for one text: the given one, else that of the environment, else one.

    Raises:
        ConfigurationError: it is not a whole number from 1 to `MOST_THREADS`.
    """
    place = f"Environment variable {THREADS_VARIABLE}" if threads is None else "embedder.threads"
    given = os.environ.get(THREADS_VARIABLE) if threads is None else threads
    if given is None or str(given).strip() == "":
        return DEFAULT_THREADS
    try:
        count = int(given) if isinstance(given, str) or type(given) is int else 0
    except ValueError:
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise ConfigurationError(f"{place}: {given!r} is not a whole number from 1 to {MOST_THREADS}.")
    return count


FOLDER = Path(__file__).with_name("default_encoder")


@cache
def default_tokens() -> frozenset[str]:
    """Returns all tokens of the default model; the token table has only the more frequent ones."""
    return frozenset(json.loads((FOLDER / TOKENIZER).read_text(encoding="utf-8"))["model"]["vocab"])


def is_default_encoder(identity: EmbedderIdentity) -> bool:
    """Returns whether vectors of the default encoder can be compared with those of `identity`.

    The weights, the tokenizer and the pooling must be the same, as the fingerprint shows. Prompts may differ, because
    they are only put before texts; 8-bit and float32 weights give comparable vectors.
    """
    own = _default_identity()
    return own == replace(
        identity, query_prompt=own.query_prompt, document_prompt=own.document_prompt, precision=own.precision
    )


def load_default_encoder(identity: EmbedderIdentity) -> OnnxEmbedder:
    """Loads the default encoder with the prompts of `identity`.

    Raises:
        EmbeddingError: `identity` is of another model, or a file of the package is damaged.
        MissingExtraError: ONNX Runtime is not installed.
    """
    if not is_default_encoder(identity):
        raise EmbeddingError(
            "The index was built with the default encoder of another version of mkdocs-semsearch "
            f"({identity.fingerprint[:12]}, here {_default_identity().fingerprint[:12]}): rebuild it with this version."
        )
    return load_query_encoder(FOLDER, prompts=(identity.query_prompt, identity.document_prompt))


class DefaultEmbedder(OnnxEmbedder):
    """An `Embedder` over the default encoder."""

    def __init__(
        self, *, query_prompt: str | None = None, document_prompt: str | None = None, threads: int | None = None
    ) -> None:
        """Makes an embedder.

        Args:
            query_prompt: prefix for queries; the model itself has none.
            document_prompt: the same for documents.
            threads: threads for one text; several texts are encoded in parallel in any case.
        """
        super().__init__(FOLDER, threads=threads, prompts=(query_prompt or "", document_prompt or ""))


@cache
def _default_identity() -> EmbedderIdentity:
    return read_identity(FOLDER)
