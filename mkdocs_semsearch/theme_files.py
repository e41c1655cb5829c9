"""Finds the files of the search widget, and reads its texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

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


def widget_strings(language: str, folders: Iterable[Path] = ()) -> tuple[str, dict[str, str]]:
    """Returns the texts of the widget by name, and their language: English if there is no translation.

    Args:
        language: language of the site, see `language_of_texts`.
        folders: folders whose `assets/semsearch/` may have a translation that replaces ours, the first one first. A
            file that the widget cannot read either is as good as no translation.
    """
    ours = theme_dir() / ASSETS / "strings"
    english = _texts(ours / "en.json")
    code = language_of_texts(language)
    if not code.replace("-", "").isalpha() or not (ours / f"{code}.json").is_file():
        return "en", english
    shipped = _texts(ours / f"{code}.json")
    name = f"{ASSETS}/strings/{code}.json"
    file = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if file is None:
        return code, {**english, **shipped}
    try:
        own = _texts(file)
    except ValueError:
        own = None
    return (code, {**english, "dir": shipped["dir"], **own}) if isinstance(own, dict) else ("en", english)


def _texts(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8-sig"))


def language_of_texts(tag: str) -> str:
    """Returns the language in which texts are shown for a tag such as `de`, `de-CH` or `de_CH`.

    Of Chinese, `zh-Hant`, `zh-TW`, `zh-HK` and `zh-MO` are written in traditional characters, but not `zh-Hans-HK`.
    """
    first, *others = tag.lower().replace("_", "-").split("-")
    return "zh-hant" if first == "zh" and "hans" not in others and not _TRADITIONAL.isdisjoint(others) else first


def plural_category(language: str, count: int) -> str:
    """Returns the plural category of a number in a language of the widget, such as `one`, `few` or `other`.

    Source: the plural rules of Unicode's CLDR.
    """
    last, last_two = count % 10, count % 100
    if language == "ar":
        few = 3 <= last_two <= 10
        return {0: "zero", 1: "one", 2: "two"}.get(count, "few" if few else "many" if last_two >= 11 else "other")
    if language == "he":
        return {1: "one", 2: "two"}.get(count, "other")
    if language in ("ja", "ko", "zh", "zh-hant"):
        return "other"
    if language == "ru":
        if last == 1 and last_two != 11:
            return "one"
        return "few" if 2 <= last <= 4 and not 12 <= last_two <= 14 else "many"
    ones = (0, 1) if language in ("fa", "fr", "pt") else (1,)
    return "one" if count in ones else "other"
