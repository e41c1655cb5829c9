"""The options in mkdocs.yml: their types, defaults and error messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.base import BaseConfigOption, ValidationError
from mkdocs.config.config_options import Choice

import mkdocs_semsearch.plugin.option_types as types
from mkdocs_semsearch.artifact.fields import FACET_TYPES, OWN_FACETS, PAGE_KINDS, FacetDeclaration, FacetType, PageKind
from mkdocs_semsearch.artifact.manifest import DEFAULT_INDEX_DIR
from mkdocs_semsearch.embedding import DEFAULT_MODEL, KINDS
from mkdocs_semsearch.errors import ConfigurationError, reason
from mkdocs_semsearch.plugin.option_types import Entries, Group, Options, Switch, Value
from mkdocs_semsearch.site.pipeline import (
    DEFAULT_FACETS,
    EmbedderSettings,
    Settings,
    StaticSettings,
    StoreSettings,
    WidgetSettings,
)
from mkdocs_semsearch.theme_files import widget_strings

STORE_KINDS = ("embedded", "qdrant")
GRAPHS = ("auto", "exact", "nndescent")


class _Embedder(Options):
    """The embedder; further options depend on its kind."""

    takes_others = True
    kind = Choice(KINDS, default=KINDS[0])
    model = types.text(DEFAULT_MODEL)


_TYPES = ", ".join(FACET_TYPES)


class _Facet(Options):
    type: Value[str | None] = Value(lambda value: value in FACET_TYPES, f"is not one of {_TYPES}.", None)
    label = types.text()


class _Facets(BaseConfigOption[dict[str, "_Facet"]]):
    """Facet fields by name."""

    def __init__(self) -> None:
        super().__init__()
        self.default: dict[str, _Facet] = {}

    def run_validation(self, value: object) -> dict[str, _Facet]:
        given = value or {}
        if not isinstance(given, dict):
            raise ValidationError(f"{value!r} is not a mapping of front-matter fields, as in tags: {{type: list}}.")
        return {str(name): self._field(name, item) for name, item in given.items()}

    def _field(self, name: object, item: object) -> _Facet:
        if not isinstance(name, str) or not name:
            raise ValidationError(f"{name!r} is not the name of a front-matter field: write it as text, in quotes.")
        if name.startswith(("page.", "chunk.")) and name not in OWN_FACETS:
            raise ValidationError(
                f"{name!r} is not a front-matter field. The only fields of the index itself that can be facets are "
                f"{', '.join(OWN_FACETS)}."
            )
        try:
            facet: _Facet = Group(_Facet).run_validation(item)
        except ValidationError as error:
            raise ValidationError(f"Field {name!r}: {error}") from None
        if facet.type is None:
            raise ValidationError(f"Field {name!r} has no type: write one of {_TYPES}.")
        if name in OWN_FACETS and facet.type != "string":
            raise ValidationError(f"Field {name!r}: its type is string, not {facet.type}.")
        return facet


class _Chunking(Options):
    max_tokens = types.integer(16, 220)
    overlap_tokens = types.integer(0, 20)

    def misfits(self) -> Iterator[tuple[str, str]]:
        if self.overlap_tokens >= self.max_tokens:
            yield "overlap_tokens", f"{self.overlap_tokens} is not smaller than max_tokens, which is {self.max_tokens}."


class _Store(Options):
    kind = Choice(STORE_KINDS, default="embedded")
    url = types.text()
    collection = types.text()
    shards = types.integer(0, 0)
    replicas = types.integer(1, 1)
    keep = types.integer(0, 1)

    _written: Sequence[str] = ()

    def load_dict(self, patch: dict[str, Any]) -> None:
        self._written = list(patch)  # MkDocs keeps it too, but warns when it is read
        super().load_dict(patch)

    def misfits(self) -> Iterator[tuple[str, str]]:
        if self._written and "kind" not in self._written:  # `kind: embedded` may come from a variable
            yield self._written[0], "It needs `kind: qdrant` (or `kind: embedded`, which does not use it)."
        if self.kind != "qdrant":
            return
        needed = {"url": self.url or os.environ.get("QDRANT_URL", "").strip(), "collection": self.collection}
        missing = [name for name, value in needed.items() if not value]
        if missing:
            instead = "; in place of url, the environment variable QDRANT_URL may name the cluster"
            yield missing[0], f"kind: qdrant needs {' and '.join(missing)}{instead if 'url' in missing else ''}."
        if self.url and (not self.url.startswith(("http://", "https://")) or "@" in self.url):
            text = f"{self.url!r} is not an address such as http://localhost:6333; the key is read from QDRANT_API_KEY."
            yield "url", text
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}", str(self.collection)):
            text = f"{self.collection!r} has characters other than letters, digits, dot, dash and underscore."
            yield "collection", text


class _Widget(Options):
    shortcut = types.flag(True)
    fallback = types.flag(True)
    recents = types.flag(True)
    results_page = types.flag(True)
    insights_url = types.url()
    suggestions = types.texts('questions, as in ["How do I log in?"]')
    strings = types.mapping("names to texts, as in placeholder: Search the handbook")

    def misfits(self) -> Iterator[tuple[str, str]]:
        known = _names_of_texts() if self.strings else []
        for name in self.strings:
            if name not in known:
                yield f"strings.{name}", types.unknown(name, known, "text")


_PLURALS = ("zero", "one", "two", "few", "many")
"""The categories of Unicode's CLDR for numbers in a text, besides `other`, which every language has."""


def _names_of_texts() -> list[str]:
    """Returns the names of the widget's texts, with the plural forms of all languages."""
    names = list(widget_strings("en")[1])
    numbered = [name.removesuffix("other") for name in names if name.endswith("_other")]
    return list(dict.fromkeys([*names, *(stem + form for stem in numbered for form in _PLURALS)]))


class _Static(Options):
    tune = types.flag(False)


class _Ranking(Options):
    semantic: Value[float | None] = Value(
        lambda share: isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1,
        "is not a weight from 0 to 1.",
        None,
    )


class _Related(Options):
    count = types.integer(0, 0)
    title = types.text()


class _Rules(BaseConfigOption[list[str]]):
    """Names of rules of the lint."""

    def __init__(self) -> None:
        super().__init__()
        self.default: list[str] = []

    def run_validation(self, value: object) -> list[str]:
        if not value:
            return []
        from mkdocs_semsearch.insights.lint import RULES

        if not isinstance(value, list) or not all(rule in RULES for rule in value):
            raise ValidationError(f"{value!r} is not a list of rules; the rules are {', '.join(RULES)}.")
        return value


class _Lint(Options):
    quiet = _Rules()


class SemsearchConfig(Options):
    """The options of the plugin, as a user writes them."""

    embedder = Group(_Embedder)
    facets = _Facets()
    exclude = types.texts('globs on source paths, as in ["changelog/*"]')
    kinds: Value[dict[str, PageKind]] = Value(
        lambda kinds: (
            isinstance(kinds, dict)
            and all(isinstance(glob, str) and glob and kind in PAGE_KINDS for glob, kind in kinds.items())
        ),
        f'is not a mapping of globs on source paths to {", ".join(PAGE_KINDS)}, as in {{"news/*": blog}}.',
        {},
    )
    ranking = Group(_Ranking)
    synonyms: Entries[dict[str, list[str]] | str] = Entries(
        lambda value: bool(value.strip()) if isinstance(value, str) else isinstance(value, dict),
        "is neither a mapping such as {k8s: kubernetes} nor the name of a YAML file that has one.",
        {},
        lists=True,
    )
    pins = types.mapping("questions to source paths of pages, as in How do I log in?: guide/auth.md")
    chunking = Group(_Chunking)
    index_dir = types.folder(DEFAULT_INDEX_DIR)
    publish_index = types.flag(False)
    static = Switch(_Static, default="auto")
    store = Group(_Store)
    api_url = types.url("{version}")
    widget = Group(_Widget)
    cache_dir = types.folder(".cache/plugin/semsearch")
    cache_max_mb = types.integer(1, 1000)
    graph = Choice(GRAPHS, default="auto")
    related = Group(_Related)
    lint = Switch(_Lint, default="off")

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Yields an option that cannot be used with the kind of store, and what to do."""
        kind = self.store.kind
        if kind != "embedded" and self.static not in ("auto", None):
            yield "static", f"It needs an index folder, but store.kind is {kind}: remove one of the two options."
        elif kind != "embedded" and self.lint not in ("off", None):
            yield "lint", f"It needs the chunks in an index folder, but store.kind is {kind}: remove one of them."

    def settings(self) -> Settings:
        """Returns the options as one frozen value; relative paths start at the folder of mkdocs.yml."""
        root = self._root
        cache_dir = root / self.cache_dir
        return Settings(
            embedder=_embedder_settings(self.embedder, root, cache_dir),
            facets=tuple(_facet(name, facet) for name, facet in self.facets.items()) or DEFAULT_FACETS,
            exclude=tuple(map(_glob, self.exclude)),
            kinds={_glob(glob): kind for glob, kind in self.kinds.items()},
            max_tokens=self.chunking.max_tokens,
            overlap_tokens=self.chunking.overlap_tokens,
            index_dir=root / self.index_dir,
            publish_index=self.publish_index,
            store=StoreSettings(**self.store),
            api_url=(self.api_url or "").rstrip("/") or None,
            widget=WidgetSettings(**{**self.widget, "suggestions": tuple(self.widget.suggestions)}),
            cache_dir=cache_dir,
            cache_max_bytes=self.cache_max_mb * 1_000_000,
            graph=self.graph,  # type: ignore[arg-type]
            static=self._static_settings(),
            semantic_weight=None if self.ranking.semantic is None else float(self.ranking.semantic),
            synonyms=self._synonyms(),
            pins=dict(self.pins),
            related=self.related.count,
            related_title=self.related.title,
            facets_declared=bool(self.facets),
            lint=None if self.lint in ("off", None) else tuple(self.lint.quiet),
        )

    def _synonyms(self) -> dict[str, tuple[str, ...]]:
        given: Any = self.synonyms if self.synonyms_file is None else _read_synonyms(self.synonyms_file)
        return {word: tuple(others) if isinstance(others, list) else (others,) for word, others in given.items()}

    @property
    def synonyms_file(self) -> Path | None:
        """The file that `synonyms` names; None if the words are in mkdocs.yml."""
        return self._root / self.synonyms if isinstance(self.synonyms, str) else None

    @property
    def _root(self) -> Path:
        return Path(self.config_file_path).resolve().parent if self.config_file_path else Path.cwd()

    def _static_settings(self) -> StaticSettings:
        if self.static is None or (self.static == "auto" and self.store.kind != "embedded"):
            return StaticSettings("never")
        return StaticSettings() if self.static == "auto" else StaticSettings("always", **self.static)


def _glob(written: str) -> str:
    """Returns a glob on source paths, which have slashes on every system."""
    return written.replace("\\", "/")


def _read_synonyms(file: Path) -> dict[str, Any]:
    """Reads a file of synonyms.

    Raises:
        ConfigurationError: the file cannot be read or is not a mapping of synonyms.
    """
    import yaml

    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        what = " ".join(reason(error).split())
        raise ConfigurationError(f"Option 'synonyms': {file} cannot be read: {what}.") from None
    if not isinstance(given, dict):
        raise ConfigurationError(f"Option 'synonyms': {file} is not a mapping such as {{k8s: kubernetes}}.")
    if wrong := types.wrong_entry(given, lists=True):
        raise ConfigurationError(f"Option 'synonyms': {file}: {wrong}.")
    return given


def read_settings(options: Mapping[str, Any], config_file: Path | None) -> Settings:
    """Checks the plugin's options outside of a build; relative paths start at the folder of `config_file`.

    Raises:
        ConfigurationError: options are invalid; the message names all of them.
    """
    config = SemsearchConfig(config_file_path=str(config_file) if config_file else None)
    # `enabled` is an option of MkDocs for every plugin. It disables the plugin in a build, but not this command.
    config.load_dict({name: value for name, value in options.items() if name != "enabled"})
    errors, _ = config.validate()
    if errors:
        found = "; ".join(f"{option}: {error}" for option, error in errors)
        raise ConfigurationError(f"{config_file or 'The options'}, plugin semsearch: {found}")
    return config.settings()


def _embedder_settings(embedder: _Embedder, root: Path, cache_dir: Path) -> EmbedderSettings:
    """Returns the settings; an exported model is kept beside the vectors, in the folder that CI jobs cache."""
    defaults = {
        "sentence-transformers": {"runtime": "auto", "cache_dir": str(cache_dir)},
        "onnx": {"cache_dir": str(cache_dir)},
    }
    given = {key: value for key, value in embedder.items() if key not in ("kind", "model")}
    options = defaults.get(embedder.kind, {}) | given
    folder = root / str(embedder.model)
    return EmbedderSettings(embedder.kind, str(folder) if folder.is_dir() else str(embedder.model), options)


def _facet(name: str, facet: _Facet) -> FacetDeclaration:
    type_: FacetType = facet.type  # type: ignore[assignment]
    return FacetDeclaration(name, type_, facet.label or _label(name))


def _label(name: str) -> str:
    """Returns the label of a field: `page.section` and `min_version` become `Section` and `Min version`."""
    words = name.rsplit(".", 1)[-1].replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def check_place(option: str, place: Path, *, docs_dir: Path | None, site_dir: Path) -> None:
    """Checks that a folder can be used for the index or the cache.

    In the docs folder, every write would start another preview build. In the site folder, the next build would delete
    it, and every upload would publish it.

    Raises:
        ConfigurationError: the folder is in one of them, or contains the docs folder.
    """
    for name, folder in (("docs_dir", docs_dir), ("site_dir", site_dir)):
        if folder is not None and place.resolve().is_relative_to(folder.resolve()):
            hint = " (to publish the index with the site, set publish_index: true)" if name == "site_dir" else ""
            raise ConfigurationError(
                f"{option} {str(place)!r} is inside {name} {str(folder)!r}: name a folder outside it{hint}."
            )
    if docs_dir is not None and docs_dir.resolve().is_relative_to(place.resolve()):
        raise ConfigurationError(
            f"{option} {str(place)!r} contains docs_dir {str(docs_dir)!r}: name a folder of its own."
        )
