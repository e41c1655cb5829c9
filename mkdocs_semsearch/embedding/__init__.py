"""Embeds texts as unit vectors: one `Embedder` protocol with several implementations, each loaded only when needed."""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import Any

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.embedding.model_files import DEFAULT_MODEL
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.embedding.tokens import open_token_counter
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, ModelNotFoundError

__all__ = [
    "DEFAULT_MODEL",
    "KINDS",
    "EmbedderIdentity",
    "check_environment",
    "open_embedder",
    "open_token_counter",
    "reopen_embedder",
]


def open_embedder(kind: str = "sentence-transformers", model: str = DEFAULT_MODEL, **options: Any) -> Embedder:
    """Opens an embedder; fast, because the first `embed` loads the weights.

    Args:
        kind: `sentence-transformers`, `onnx` (the same models through ONNX Runtime, or a folder with an exported
            encoder) or `openai` (an OpenAI-compatible endpoint).
        model: hub id, folder, or the model name at an endpoint.
        options: the options of `open_model`, `open_onnx` or `open_openai`.

    Raises:
        ConfigurationError: the kind is unknown, or does not have an option.
        ModelNotFoundError: the model is neither on disk nor reachable.
    """
    if kind not in _OPENERS:
        raise ConfigurationError(f"embedder.kind: {kind!r} is not one of {', '.join(KINDS)}.")
    module, function = _OPENERS[kind]
    open_kind = getattr(import_module(f"{__name__}.{module}"), function)
    allowed = open_kind.__kwdefaults__.keys()
    unknown = sorted(set(options) - allowed)
    if unknown:
        from difflib import get_close_matches

        close = get_close_matches(unknown[0], (*allowed, "kind", "model"), n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ConfigurationError(
            f"embedder.{unknown[0]}: the kind {kind!r} has no such option; it has {', '.join(sorted(allowed))}.{hint}"
        )
    given = {name: value for name, value in options.items() if value is not None}  # an empty option in YAML
    embedder: Embedder = open_kind(model, **given)
    return embedder


_NAME = re.compile(r"[^/\\~.][^/\\]*(?:/[^/\\.][^/\\]*)?")
"""A hub id, or the last component of a folder, see `EmbedderIdentity`. A manifest cannot name the folder of the files
that have just been downloaded, where nothing limits an encoder.
"""


def reopen_embedder(identity: EmbedderIdentity) -> Embedder:
    """Opens the embedder that an index names in its manifest, for queries.

    Prompts and lengths are those of the index. An index does not contain the URL of an `openai` endpoint; it comes from
    `SEMSEARCH_EMBEDDER_URL`, see `open_openai`.

    Raises:
        ModelNotFoundError: the model is neither on disk nor reachable.
        EmbeddingError: the model of that name does not have the weights with which the index was embedded.
        ConfigurationError: the index names a kind of embedder that this version does not support.
    """
    if identity.kind == "openai":
        from mkdocs_semsearch.embedding.openai import reopen_openai

        return reopen_openai(identity)
    from mkdocs_semsearch.embedding.onnx_encoder import is_default_encoder, load_default_encoder

    if is_default_encoder(identity):
        return load_default_encoder(identity)
    if not _NAME.fullmatch(identity.model):
        raise ModelNotFoundError(
            f"The index names its model {identity.model[:200]!r}, which is no name of a model: build the index again."
        )
    options = {"query_prompt": identity.query_prompt, "document_prompt": identity.document_prompt}
    if identity.kind == "sentence-transformers":
        options["runtime"] = "torch"
    embedder = open_embedder(identity.kind, identity.model, **options)
    found = embedder.identity.fingerprint
    if found != identity.fingerprint:
        raise EmbeddingError(
            f"The index was embedded by {identity.model} ({identity.fingerprint[:12]}), but the model found here under "
            f"that name is a different one ({found[:12]}): rebuild the index with it."
        )
    return embedder


def check_environment() -> None:
    """Checks the environment variables that embedders read.

    Raises:
        ConfigurationError: a value is invalid; the message names the variable.
    """
    from mkdocs_semsearch.embedding.onnx_encoder import thread_count

    thread_count(None)
    if any(name.startswith("SEMSEARCH_EMBEDDER_") for name in os.environ):  # the import would delay every start
        from mkdocs_semsearch.embedding.openai import check_own_variables

        check_own_variables()


_OPENERS = {
    "sentence-transformers": ("runtimes", "open_model"),
    "onnx": ("runtimes", "open_onnx"),
    "openai": ("openai", "open_openai"),
}
"""The module and the function that open each kind; they are imported when an embedder of that kind is opened."""

KINDS = tuple(_OPENERS)
