"""Types of options in mkdocs.yml, whose errors name the invalid value and describe a valid one.

MkDocs' `Choice` and `SubConfig` do this and are used. Its `Type` names Python types but not the value, and accepts
`true` as a number, so `Value` replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from mkdocs.config.base import BaseConfigOption, Config, ConfigErrors, ConfigWarnings, ValidationError
from mkdocs.config.config_options import SubConfig

T = TypeVar("T")


class Value(BaseConfigOption[T], Generic[T]):
    """An option whose value must pass a test; an empty value means the default."""

    def __init__(self, holds: Callable[[Any], bool], message: str, default: T) -> None:
        """Defines an option.

        Args:
            holds: returns whether a value is valid.
            message: follows the value in the error, as in "is neither true nor false.".
            default: the value of a missing option.
        """
        super().__init__()
        self.holds = holds
        self.message = message
        self.default = default

    def run_validation(self, value: object) -> T:
        value = self.default if value is None else value
        if value is not None and not self.holds(value):
            raise ValidationError(f"{value!r} {self.message}")
        return value.strip() if isinstance(value, str) else value  # type: ignore[return-value]


def flag(default: bool) -> Value[bool]:
    """Returns an option that is true or false."""
    return Value(lambda value: isinstance(value, bool), "is neither true nor false.", default)


def integer(minimum: int, default: int) -> Value[int]:
    """Returns an option that is a whole number of at least `minimum`."""
    return Value(
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= minimum,
        f"is not a whole number from {minimum} up.",
        default,
    )


def text(default: str | None = None) -> Value[str | None]:
    """Returns an option that is text with at least one character."""
    return Value(
        lambda value: isinstance(value, str) and bool(value.strip()),
        "is not text: write something between the quotes, or drop the option.",
        default,
    )


def folder(default: str) -> Value[str]:
    """Returns an option that is the path of a folder; a leading `~` is refused: it would not mean the home folder."""
    return Value(
        lambda value: isinstance(value, str) and bool(value.strip()) and "\0" not in value and value.strip()[0] != "~",
        "is not the path of a folder: write one that does not begin with ~, or drop the option.",
        default,
    )


def texts(what: str) -> Value[list[str]]:
    """Returns an option that is a list of texts; `what` describes them, with an example."""
    return Value(
        lambda value: isinstance(value, list) and all(isinstance(item, str) and item for item in value),
        f"is not a list of {what}.",
        [],
    )


def mapping(what: str) -> Entries[dict[str, str]]:
    """Returns an option that is a mapping of texts to texts; `what` describes it, with an example."""
    return Entries(lambda value: isinstance(value, dict), f"is not a mapping of {what}.", {})


class Entries(Value[T]):
    """An option that is a mapping of texts to texts; an error names the first entry with something else.

    Attributes:
        lists: whether a value may also be a list of texts.
    """

    def __init__(self, holds: Callable[[Any], bool], message: str, default: T, *, lists: bool = False) -> None:
        super().__init__(holds, message, default)
        self.lists = lists

    def run_validation(self, value: object) -> T:
        checked = super().run_validation(value)
        if isinstance(checked, dict) and (wrong := wrong_entry(checked, lists=self.lists)):
            raise ValidationError(f"{wrong}.")
        return checked


def wrong_entry(entries: Mapping[Any, Any], *, lists: bool = False) -> str:
    """Describes the first entry of a mapping whose key or value is not text; returns the empty text without one.

    Args:
        entries: the mapping.
        lists: whether a value may also be a list of texts; then no text may be empty.
    """
    for key, value in entries.items():
        if not isinstance(key, str):
            return f"the key {_not_text(key)}"
        if not key.strip():
            return f"the key of the value {value!r} is empty"
        items = value if lists and isinstance(value, list) else [value]
        if not items or None in items or (lists and any(isinstance(item, str) and not item.strip() for item in items)):
            return f"{key!r} has no value"
        for item in items:
            if not isinstance(item, str):
                return f"{key!r} has the value {_not_text(item)}"
    return ""


def _not_text(value: object) -> str:
    if isinstance(value, dict | list):
        return f"{value!r}, which is not text"
    if isinstance(value, bool):
        spellings = "yes, on and true" if value else "no, off and false"
        return f"{value}, as YAML reads the words {spellings}: write it in quotes"
    return f"{'null' if value is None else value}, which is not text: write it in quotes"


def url(placeholder: str = "") -> Value[str | None]:
    """Returns an option that is an http(s) address, or a path on the site's own origin.

    Args:
        placeholder: the only text in braces that the address may contain, such as `{version}`.
    """
    address = re.compile(rf"(?:https?://(?=[^/])|/)(?:[^\s{{}}]|{re.escape(placeholder)})*")
    braces = f"braces other than {placeholder}" if placeholder else "braces"
    return Value(
        lambda value: isinstance(value, str) and address.fullmatch(value.strip()) is not None,
        f"is not an address that starts with https://, http:// or /, without white space or {braces}.",
        None,
    )


class Options(Config):  # type: ignore[no-untyped-call]
    """A group of options; an unknown option is an error that lists the known ones, while MkDocs only warns."""

    takes_others: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # type: ignore[no-untyped-call]

    def validate(self) -> tuple[ConfigErrors, ConfigWarnings]:
        known = [name for name, _ in self._schema]
        others = [(str(key), unknown(key, known)) for key in self if key not in known and not self.takes_others]
        errors: ConfigErrors = [] if others else super().validate()[0]
        return errors or [(name, ValidationError(text)) for name, text in others or self.misfits()], []

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Yields options that are wrong although their types are right, and what is wrong with each."""
        yield from ()


def unknown(key: object, known: list[str], what: str = "option") -> str:
    """Returns the message about a key that does not exist; it names the most similar one, and all that exist."""
    import difflib

    close = difflib.get_close_matches(str(key), known, n=1)
    hint = f"; did you mean {close[0]}?" if close else "."
    return f"There is no such {what}{hint} The {what}s are {', '.join(known)}."


class Group(SubConfig[Any]):
    """Like MkDocs' `SubConfig`, but an empty value means all defaults, and errors list the options."""

    def __init__(self, options: type[Options]) -> None:
        super().__init__(options)
        self.config_class = options
        self.names = ", ".join(name for name, _ in options._schema)
        self.example = f"{{{options._schema[0][0]}: …}}"

    def run_validation(self, value: object) -> Any:
        if value is not None and not isinstance(value, dict):
            raise ValidationError(f"{value!r} is not a mapping such as {self.example}: its options are {self.names}.")
        return super().run_validation(value or {})


class Switch(Group):
    """A group of options that may also be `true` (all defaults), `false` (None), or one word, which is the default."""

    def __init__(self, options: type[Options], default: str) -> None:
        super().__init__(options)
        self.default = default

    def run_validation(self, value: object) -> Any:
        if value is False:
            return None
        if value is None or value == self.default:
            return self.default
        if value is not True and not isinstance(value, dict):
            allowed = f"{self.default}, true, false or a mapping with the options {self.names}"
            raise ValidationError(f"{value!r} is not one of {allowed}.")
        return super().run_validation({} if value is True else value)
