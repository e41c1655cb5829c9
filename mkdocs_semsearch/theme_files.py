"""Finds the files of the search widget, and reads its texts."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from mkdocs_semsearch.errors import ConfigurationError

ASSETS = "assets/semsearch"
SCRIPT = f"{ASSETS}/semsearch.js"
_TRADITIONAL = frozenset(("hant", "tw", "hk", "mo"))


def theme_dir() -> Path:
    """Returns the folder whose `assets/semsearch/` contains the widget: in the installed package, or in a checkout.

    Raises:
        ConfigurationError: the installed package lacks the widget.
    """
    package = Path(str(files("mkdocs_semsearch")))
    for folder in (package / "theme", package.parent / "theme"):
        if (folder / SCRIPT).is_file():
            return folder
    raise ConfigurationError(
        f"The search widget ({SCRIPT}) is missing beside {package}: install mkdocs-semsearch again."
    )


def widget_strings(language: str) -> tuple[str, dict[str, str]]:
    """Returns the texts of the widget by name, and their language: English if there is no translation.

    Args:
        language: language of the site, such as `de`, `de-CH` or `de_CH`. Of Chinese, `zh-Hant`, `zh-TW`, `zh-HK` and
            `zh-MO` are written in traditional characters.
    """
    folder = theme_dir() / ASSETS / "strings"
    strings = json.loads((folder / "en.json").read_text(encoding="utf-8"))
    first, *others = language.lower().replace("_", "-").split("-")
    code = "zh-hant" if first == "zh" and not _TRADITIONAL.isdisjoint(others) else first
    file = folder / f"{code}.json"
    if not first.isalpha() or not file.is_file():
        return "en", strings
    return code, {**strings, **json.loads(file.read_text(encoding="utf-8"))}
