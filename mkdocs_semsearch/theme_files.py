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
_STRINGS = f"{ASSETS}/strings"
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
    """Returns the language of the widget's texts, and the texts by name: English if there is no translation.

    Args:
        language: language of the site, see `language_of_texts`.
        folders: folders whose `assets/semsearch/` may have a translation that replaces ours, in order of preference. A
            file that is not a JSON object is ignored, and English is used.
    """
    ours = theme_dir()
    english = _texts(ours / _STRINGS / "en.json")
    code = language_of_texts(language)
    if not code.replace("-", "").isalpha():
        return "en", english
    name = f"{_STRINGS}/{code}.json"
    file = next((folder / name for folder in (*folders, ours) if (folder / name).is_file()), None)
    if file is None:
        return "en", english
    try:
        texts = _texts(file)
    except ValueError:
        texts = None
    if not isinstance(texts, dict):
        return "en", english
    shipped = _texts(ours / name) if (ours / name).is_file() else english
    return code, {**english, "dir": shipped["dir"], **texts}


def own_strings(folders: Iterable[Path]) -> list[str]:
    """Returns the languages for which a site has texts of its own.

    Args:
        folders: folders whose `assets/semsearch/` may have translations; copies of ours do not count.
    """
    ours = {file.name: file.read_bytes() for file in (theme_dir() / _STRINGS).glob("*.json")}
    files = (file for folder in folders for file in (folder / _STRINGS).glob("[!.]*.json"))  # editors make dot files
    return sorted({file.stem for file in files if file.is_file() and file.read_bytes() != ours.get(file.name)})


def _texts(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8-sig"))


def language_of_texts(tag: str) -> str:
    """Returns the language in which texts are shown for a tag such as `de`, `de-CH` or `de_CH`.

    For `zh-Hant`, `zh-TW`, `zh-HK` and `zh-MO`, but not `zh-Hans-HK`, this is Chinese in traditional characters.
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
