"""Checks of embedder options, which come from YAML and may be anything."""

from __future__ import annotations

from mkdocs_semsearch.errors import ConfigurationError

__all__ = ["check_count", "check_text"]


def check_text(**values: object) -> None:
    """Checks that each value is a text or `None`.

    Raises:
        ConfigurationError: names the first option that is not.
    """
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"embedder.{name}: {value!r} is not a text; put it in quotes.")


def check_count(lowest: int, **values: object) -> None:
    """Checks that each value is a whole number of at least `lowest`, or `None`.

    Raises:
        ConfigurationError: names the first option that is not.
    """
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
            bound = "above 0" if lowest == 1 else f"of {lowest} or more"
            raise ConfigurationError(f"embedder.{name}: {value!r} is not a whole number {bound}.")
