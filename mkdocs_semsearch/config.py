"""The options in mkdocs.yml: what each may be, and what is said when it is something else."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from mkdocs.config import config_options as c
from mkdocs.config.base import BaseConfigOption, Config, ConfigErrors, ConfigWarnings, ValidationError

from mkdocs_semsearch.artifact.facets import FACET_TYPES, FacetDeclaration, FacetType
from mkdocs_semsearch.artifact.layout import DEFAULT_INDEX_DIR
from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.settings import DEFAULT_FACETS, EmbedderSettings, Settings, StoreSettings, WidgetSettings

__all__ = ["SemsearchConfig", "read_settings", "refuse_place"]

EMBEDDER_KINDS = ("sentence-transformers", "onnx", "openai")
STORE_KINDS = ("embedded", "qdrant")
GRAPHS = ("auto", "exact", "nndescent")


class _Integer(BaseConfigOption[int]):
    """A whole number from `minimum` up; `true` is none."""

    def __init__(self, minimum: int, default: int) -> None:
        super().__init__()
        self.minimum = minimum
        self.default = default

    def run_validation(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < self.minimum:
            raise ValidationError(f"{value!r} is not a whole number from {self.minimum} up.")
        return value


class _Flag(BaseConfigOption[bool]):
    """Yes or no."""

    def __init__(self, default: bool) -> None:
        super().__init__()
        self.default = default

    def run_validation(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValidationError(f"{value!r} is neither true nor false.")
        return value


class _Text(BaseConfigOption[str | None]):
    """Text with at least one character, or nothing."""

    def __init__(self, default: str | None = None) -> None:
        super().__init__()
        self.default = default

    def run_validation(self, value: object) -> str | None:
        if value is None:
            return str(self.default) if self.default is not None else None
        if not isinstance(value, str) or not value.strip():
            raise ValidationError(f"{value!r} is not text: write something between the quotes, or drop the option.")
        return value.strip()


class _Choice(BaseConfigOption[str]):
    """One of a few words."""

    def __init__(self, choices: tuple[str, ...], default: str | None = None) -> None:
        super().__init__()
        self.choices = choices
        self.default = default

    def run_validation(self, value: object) -> str:
        if value is None:
            raise ValidationError(f"It is missing: write one of {', '.join(self.choices)}.")
        if value not in self.choices:
            raise ValidationError(f"{value!r} is not one of {', '.join(self.choices)}.")
        return str(value)


class _Url(_Text):
    """An http(s) address, or a path on the site's own origin."""

    def run_validation(self, value: object) -> str | None:
        url = super().run_validation(value)
        if url and not url.startswith(("http://", "https://", "/")):
            raise ValidationError(f"{url!r} starts with none of https://, http:// and /.")
        return str(url).rstrip("/") if url else None


class _Globs(BaseConfigOption[list[str]]):
    """A list of patterns."""

    def __init__(self) -> None:
        super().__init__()
        self.default: list[str] = []

    def run_validation(self, value: object) -> list[str]:
        globs = [] if value is None else value
        if not isinstance(globs, list) or not all(isinstance(item, str) and item for item in globs):
            raise ValidationError(f'{value!r} is not a list of globs on source paths, as in ["changelog/*"].')
        return globs


class _Options(Config):  # type: ignore[no-untyped-call]
    """Options of which an unknown one is an error with the known ones, instead of MkDocs' warning."""

    takes_others: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # type: ignore[no-untyped-call]

    def validate(self) -> tuple[ConfigErrors, ConfigWarnings]:
        known = [name for name, _ in self._schema]
        unknown: ConfigErrors = [(str(key), _unknown(key, known)) for key in self if key not in known]
        if unknown and not self.takes_others:
            return unknown, []
        errors, _ = super().validate()
        return errors, []


def _unknown(key: object, known: list[str]) -> ValidationError:
    close = difflib.get_close_matches(str(key), known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return ValidationError(f"There is no such option; {hint}The options are {', '.join(known)}.")


class _Group(c.SubConfig[Any]):
    """A mapping of options; nothing written is all defaults."""

    def __init__(self, options: type[Config]) -> None:
        super().__init__()
        self.config_class = options

    def run_validation(self, value: object) -> Any:
        if value is not None and not isinstance(value, dict):
            names = ", ".join(name for name, _ in self.config_class._schema)
            raise ValidationError(f"{value!r} is not a mapping: write it with the options {names}.")
        return super().run_validation(value or {})


class _Embedder(_Options):
    """What turns texts into vectors; options beyond these two belong to the kind."""

    takes_others = True
    kind = _Choice(EMBEDDER_KINDS, default="sentence-transformers")
    model = _Text(default="sentence-transformers/all-MiniLM-L6-v2")


class _Facet(_Options):
    type = _Choice(FACET_TYPES)
    label = _Text()


class _Facets(BaseConfigOption[dict[str, "_Facet"]]):
    """Facet fields by name."""

    def __init__(self) -> None:
        super().__init__()
        self.default: dict[str, _Facet] = {}

    def run_validation(self, value: object) -> dict[str, _Facet]:
        if not isinstance(value or {}, dict):
            raise ValidationError(f"{value!r} is not a mapping of front-matter fields, as in tags: {{type: list}}.")
        return {str(name): self._field(name, item) for name, item in dict(value or {}).items()}  # type: ignore[call-overload]

    def _field(self, name: object, item: object) -> _Facet:
        if not isinstance(name, str) or not name:
            raise ValidationError(f"{name!r} is not the name of a front-matter field: put it in quotes.")
        if name.startswith(("page.", "chunk.")) and name != "page.section":
            raise ValidationError(
                f"{name!r} is no front-matter field; of the index's own, only page.section can be one."
            )
        try:
            facet: _Facet = _Group(_Facet).run_validation(item)
        except ValidationError as error:
            raise ValidationError(f"Field {name!r}: {error}") from None
        if name == "page.section" and facet.type != "string":
            raise ValidationError(f"Field 'page.section': its type is string, not {facet.type}.")
        return facet


class _Chunking(_Options):
    max_tokens = _Integer(16, default=220)
    overlap_tokens = _Integer(0, default=20)

    def validate(self) -> tuple[ConfigErrors, ConfigWarnings]:
        errors, warnings = super().validate()
        if not errors and self.overlap_tokens >= self.max_tokens:
            text = f"{self.overlap_tokens} is not smaller than max_tokens, which is {self.max_tokens}."
            errors = [("overlap_tokens", ValidationError(text))]
        return errors, warnings


class _Store(_Options):
    kind = _Choice(STORE_KINDS, default="embedded")
    url = _Text()
    collection = _Text()
    api_key = _Text()

    def validate(self) -> tuple[ConfigErrors, ConfigWarnings]:
        errors, warnings = super().validate()
        missing = [name for name in ("url", "collection") if not self.get(name)] if self.kind == "qdrant" else []
        if not errors and missing:
            errors = [(missing[0], ValidationError(f"kind: qdrant needs {' and '.join(missing)}."))]
        return errors, warnings


class _Strings(BaseConfigOption[dict[str, str]]):
    """Texts of the search box by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.default: dict[str, str] = {}

    def run_validation(self, value: object) -> dict[str, str]:
        texts = value or {}
        if not isinstance(texts, dict) or not all(isinstance(text, str) for pair in texts.items() for text in pair):
            raise ValidationError(
                f"{value!r} is not a mapping of names to texts, as in placeholder: Search the handbook."
            )
        return dict(texts)


class _Widget(_Options):
    shortcut = _Flag(default=True)
    fallback = _Flag(default=True)
    recents = _Flag(default=True)
    strings = _Strings()


class _Related(_Options):
    count = _Integer(0, default=0)
    title = _Text(default="Related pages")


class SemsearchConfig(_Options):
    """The options of the plugin, as a user writes them."""

    embedder = _Group(_Embedder)
    facets = _Facets()
    exclude = _Globs()
    chunking = _Group(_Chunking)
    index_dir = _Text(default=DEFAULT_INDEX_DIR)
    publish_index = _Flag(default=False)
    store = _Group(_Store)
    api_url = _Url()
    widget = _Group(_Widget)
    cache_dir = _Text(default=".cache/plugin/semsearch")
    graph = _Choice(GRAPHS, default="auto")
    related = _Group(_Related)

    def settings(self) -> Settings:
        """Returns the options as one frozen value; relative paths are meant from the folder of mkdocs.yml."""
        root = Path(self.config_file_path).resolve().parent if self.config_file_path else Path.cwd()
        return Settings(
            embedder=_embedder_settings(self.embedder, root),
            facets=tuple(_facet(name, facet) for name, facet in self.facets.items()) or DEFAULT_FACETS,
            exclude=tuple(self.exclude),
            max_tokens=self.chunking.max_tokens,
            overlap_tokens=self.chunking.overlap_tokens,
            index_dir=root / (self.index_dir or DEFAULT_INDEX_DIR),
            publish_index=self.publish_index,
            store=StoreSettings(self.store.kind, self.store.url, self.store.collection, self.store.api_key),
            api_url=self.api_url,
            widget=WidgetSettings(**self.widget),
            cache_dir=root / (self.cache_dir or ""),
            graph=self.graph,  # type: ignore[arg-type]
            related=self.related.count,
            related_title=str(self.related.title),
        )


def read_settings(options: Mapping[str, Any], config_file: Path | None) -> Settings:
    """Checks the plugin's options outside of a build.

    Args:
        options: as written in the configuration.
        config_file: where they are written; relative paths are meant from its folder.

    Raises:
        ConfigurationError: names every option that is wrong.
    """
    config = SemsearchConfig(config_file_path=str(config_file) if config_file else None)
    # `enabled` is MkDocs' own, for every plugin: it switches the plugin off in a build, not this command.
    config.load_dict({name: value for name, value in options.items() if name != "enabled"})
    errors, _ = config.validate()
    if errors:
        complaints = "; ".join(f"{option}: {error}" for option, error in errors)
        raise ConfigurationError(f"{config_file or 'The options'}, plugin semsearch: {complaints}")
    return config.settings()


def _embedder_settings(embedder: _Embedder, root: Path) -> EmbedderSettings:
    options = {key: value for key, value in embedder.items() if key not in ("kind", "model")}
    folder = root / str(embedder.model)
    return EmbedderSettings(embedder.kind, str(folder) if folder.is_dir() else str(embedder.model), options)


def _facet(name: str, facet: _Facet) -> FacetDeclaration:
    type_: FacetType = facet.type  # type: ignore[assignment]
    return FacetDeclaration(name, type_, facet.label or _label(name))


def _label(name: str) -> str:
    """`page.section` and `min_version` become `Section` and `Min version`."""
    words = name.rsplit(".", 1)[-1].replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def refuse_place(option: str, place: Path, *, docs_dir: Path, site_dir: Path) -> str | None:
    """Returns why a folder cannot hold the index or the cache, or None when it can.

    Inside the docs folder every write would start another preview build; inside the site folder the next build would
    wipe it and every upload would publish it.
    """
    for name, folder in (("docs_dir", docs_dir), ("site_dir", site_dir)):
        if place.resolve().is_relative_to(folder.resolve()):
            hint = " (to publish the index with the site, set publish_index: true)" if name == "site_dir" else ""
            return f"{option} {str(place)!r} is inside {name} {str(folder)!r}: name a folder outside of it{hint}."
    if docs_dir.resolve().is_relative_to(place.resolve()):
        return f"{option} {str(place)!r} holds docs_dir {str(docs_dir)!r}: name a folder of its own."
    return None
