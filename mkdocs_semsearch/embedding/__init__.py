"""Embeds texts as unit vectors: one `Embedder` protocol with several implementations, each loaded only when needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.embedding.model_files import DEFAULT_MODEL
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.embedding.tokens import open_token_counter
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError

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
        ConfigurationError: the kind is unknown, or has no option of that name.
        ModelNotFoundError: the model is neither on disk nor reachable.
    """
    open_kind, _ = _openers(kind)
    allowed = (open_kind.__kwdefaults__ or {}).keys()
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


def reopen_embedder(identity: EmbedderIdentity) -> Embedder:
    """Opens the embedder that an index names in its manifest, for queries.

    The options that determine the vectors are those of the index; this machine decides where a model is found, such as
    the URL of an endpoint.

    Raises:
        ModelNotFoundError: the model is neither on disk nor reachable.
        EmbeddingError: the model found under that name is not the one that embedded the index.
        ConfigurationError: the index names a kind of embedder that this version does not support.
    """
    _, reopen_kind = _openers(identity.kind)
    embedder = reopen_kind(identity)
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
    from mkdocs_semsearch.embedding.model_files import folder_in_environment
    from mkdocs_semsearch.embedding.onnx_encoder import thread_count

    thread_count(None)
    folder_in_environment()
    if any(name.startswith("SEMSEARCH_EMBEDDER_") for name in os.environ):  # the import would delay every start
        from mkdocs_semsearch.embedding.openai import check_own_variables

        check_own_variables()


_OPENERS = {
    "sentence-transformers": ("runtimes", "open_model", "reopen_model"),
    "onnx": ("runtimes", "open_onnx", "reopen_model"),
    "openai": ("openai", "open_openai", "reopen_openai"),
}
"""The module of each kind, which is imported when an embedder of that kind is opened, and two functions in it.

The first takes the name of a model and the options of mkdocs.yml, the second the identity in an index.
"""

KINDS = tuple(_OPENERS)


def _openers(kind: str) -> tuple[Callable[..., Any], Callable[[EmbedderIdentity], Embedder]]:
    if kind not in _OPENERS:
        raise ConfigurationError(f"embedder.kind: {kind!r} is not one of {', '.join(KINDS)}.")
    name, opener, reopener = _OPENERS[kind]
    module = import_module(f"{__name__}.{name}")
    return getattr(module, opener), getattr(module, reopener)
