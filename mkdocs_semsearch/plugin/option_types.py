"""Types of options in mkdocs.yml; a wrong value is an error that says what a right one looks like."""

from __future__ import annotations

from typing import Any, ClassVar

from mkdocs.config.base import BaseConfigOption, Config, ConfigErrors, ConfigWarnings, ValidationError

__all__ = ["Choice", "Flag", "Group", "Integer", "Options", "Strings", "Switch", "Text", "Texts", "Url"]


class Integer(BaseConfigOption[int]):
    """A whole number from `minimum` up; `true` is none."""

    def __init__(self, minimum: int, default: int) -> None:
        super().__init__()
        self.minimum = minimum
        self.default = default

    def run_validation(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < self.minimum:
            raise ValidationError(f"{value!r} is not a whole number from {self.minimum} up.")
        return value


class Flag(BaseConfigOption[bool]):
    """Yes or no."""

    def __init__(self, default: bool) -> None:
        super().__init__()
        self.default = default

    def run_validation(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValidationError(f"{value!r} is neither true nor false.")
        return value


class Text(BaseConfigOption[str | None]):
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


class Choice(BaseConfigOption[str]):
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


class Url(Text):
    """An http(s) address, or a path on the site's own origin."""

    def run_validation(self, value: object) -> str | None:
        url = super().run_validation(value)
        if url and not url.startswith(("http://", "https://", "/")):
            raise ValidationError(f"{url!r} starts with none of https://, http:// and /.")
        return str(url).rstrip("/") if url else None


class Texts(BaseConfigOption[list[str]]):
    """A list of texts; `what` says which, with an example."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.default: list[str] = []

    def run_validation(self, value: object) -> list[str]:
        texts = [] if value is None else value
        if not isinstance(texts, list) or not all(isinstance(item, str) and item for item in texts):
            raise ValidationError(f"{value!r} is not a list of {self.what}.")
        return texts


class Options(Config):  # type: ignore[no-untyped-call]
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
    import difflib

    close = difflib.get_close_matches(str(key), known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return ValidationError(f"There is no such option; {hint}The options are {', '.join(known)}.")


class Group(BaseConfigOption[Any]):
    """A mapping of options; nothing written is all defaults.

    MkDocs has `SubConfig` for this, in a module that loads Jinja and Markdown with it.
    """

    def __init__(self, options: type[Config]) -> None:
        super().__init__()
        self.options = options
        self.default: dict[str, Any] = {}
        self._config_file: str | None = None

    def pre_validation(self, config: Config, key_name: str) -> None:
        self._config_file = config.config_file_path

    def run_validation(self, value: object) -> Any:
        if value is not None and not isinstance(value, dict):
            names = ", ".join(name for name, _ in self.options._schema)
            raise ValidationError(f"{value!r} is not a mapping: write it with the options {names}.")
        config = self.options(config_file_path=self._config_file)
        config.load_dict(value or {})
        errors, _ = config.validate()
        for name, error in errors:
            raise ValidationError(f"Sub-option '{name}': {error}")
        return config


class Switch(Group):
    """A group that `true` switches on as it is; `false`, the default, is None."""

    def __init__(self, options: type[Config]) -> None:
        super().__init__(options)
        self.default = None  # type: ignore[assignment]

    def run_validation(self, value: object) -> Any:
        if value is None or value is False:
            return None
        if value is not True and not isinstance(value, dict):
            names = ", ".join(name for name, _ in self.options._schema)
            raise ValidationError(f"{value!r} is neither true nor false nor a mapping with the options {names}.")
        return super().run_validation({} if value is True else value)


class Strings(BaseConfigOption[dict[str, str]]):
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
