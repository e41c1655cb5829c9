"""Reads the description of a sentence-transformers model from its small files, without PyTorch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_semsearch.errors import EmbeddingError

__all__ = ["ModelFolder", "read_model_folder"]

UNLIMITED_TOKENS = 1_000_000
# Longest text, in tokens, where the files do not say: the cost of attention grows with its square.
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
        pooling: pooling modes in the order of their concatenation.
        include_prompt: whether the prompt's tokens take part in pooling.
        dimension: length of a vector; `None` where only the loaded model knows it.
        max_tokens: tokens after which a text is cut.
        query_prompt, document_prompt: put in front of texts, by the model's own configuration.
        lower_case: whether texts are lower-cased before they are tokenized.
    """

    path: Path
    modules: tuple[str, ...]
    transformer_dir: Path
    pooling: tuple[str, ...]
    include_prompt: bool
    dimension: int | None
    max_tokens: int
    query_prompt: str
    document_prompt: str
    lower_case: bool

    @property
    def tokenizer_file(self) -> Path | None:
        """The `tokenizer.json`, or `None` for a model that comes without one."""
        for folder in (self.transformer_dir, self.path):
            if (folder / "tokenizer.json").is_file():
                return folder / "tokenizer.json"
        return None

    def fingerprint(self) -> str:
        """Returns a SHA-256 over all files that the vectors depend on; reads the weights once."""
        digest = hashlib.sha256()
        for file in sorted(self._files()):
            with file.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
            digest.update(f"{file.relative_to(self.path).as_posix()} {content}\n".encode())
        return digest.hexdigest()

    def _files(self) -> Iterator[Path]:
        folders = {self.path, self.transformer_dir, *(child for child in self.path.iterdir() if child.is_dir())}
        for folder in folders:
            is_module = folder in (self.path, self.transformer_dir) or (folder / "config.json").is_file()
            if not is_module:
                continue
            weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
            yield from weights
            names = (*TOKENIZER_FILES, "config.json", "modules.json", "sentence_bert_config.json")
            yield from (folder / name for name in names if (folder / name).is_file())


def read_model_folder(path: Path) -> ModelFolder:
    """Reads the description of the model in `path`; opens no weights.

    Raises:
        EmbeddingError: a file that must be JSON is not.
    """
    modules = _read_modules(path)
    types = tuple(str(module["type"]).rsplit(".", 1)[-1] for module in modules)
    folders = [path / str(module.get("path", "")) for module in modules]
    transformer_dir = next((f for f, t in zip(folders, types, strict=True) if t == "Transformer"), path)
    config = _read_json(transformer_dir / "config.json")
    sentence_config = _read_json(transformer_dir / "sentence_bert_config.json")
    pooling_config = _read_json(
        next((f for f, t in zip(folders, types, strict=True) if t == "Pooling"), path) / "config.json"
    )
    pooling = _pooling_modes(pooling_config) if "Pooling" in types else ()
    settings = _read_json(path / "config_sentence_transformers.json")
    prompts = {str(name): str(text or "") for name, text in (settings.get("prompts") or {}).items()}
    default = prompts.get(settings.get("default_prompt_name") or "", "")
    return ModelFolder(
        path=path,
        modules=types,
        transformer_dir=transformer_dir,
        pooling=pooling,
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
        return [{"type": "Transformer", "path": ""}, {"type": "Pooling", "path": "1_Pooling"}]
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
    # RoBERTa and similar models count positions from the padding id on: their table is 2 longer than a text may be.
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
        raise EmbeddingError(f"{path} has other content than expected: fetch the model again.")
    return value
