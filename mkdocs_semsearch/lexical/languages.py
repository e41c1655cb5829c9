"""Knows the languages of pages: the script in which each is written, and its stemmer if there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

STEMMERS = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french", "de": "german",
    "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian", "nn": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip

_SCRIPTS = {"arabic": "Arab", "greek": "Grek", "russian": "Cyrl", "tamil": "Taml"}
# Languages in other scripts than Latin for which Tantivy has no stemmer.
_OTHER_SCRIPTS = {
    "be": "Cyrl", "bg": "Cyrl", "kk": "Cyrl", "ky": "Cyrl", "mk": "Cyrl", "mn": "Cyrl", "sr": "Cyrl", "uk": "Cyrl",
    "fa": "Arab", "ur": "Arab", "he": "Hebr", "hi": "Deva", "bn": "Beng", "ka": "Geor", "hy": "Armn",
    "zh": "Hani", "ja": "Jpan", "ko": "Kore", "th": "Thai", "lo": "Laoo", "km": "Khmr", "my": "Mymr",
}  # fmt: skip


def primary_subtag(language: str) -> str:
    """Returns a language tag without region and script: `pt` for `pt-BR` and `pt_PT`."""
    return language.replace("_", "-").split("-")[0].lower()


def stemmer_for(language: str) -> str | None:
    """Returns Tantivy's stemmers for a site in one language (`en`, `pt-BR`), or None without stemming."""
    return site_stemmers((language,))[language]


def site_stemmers(languages: Sequence[str]) -> dict[str, str | None]:
    """Returns the stemmers for the pages in each language of a site: their names, separated by spaces, or None.

    A page has at most one stemmer for each script: that of its own language, and for words in another script that of
    the site's first language in this script. On a site without a language in Latin letters, Latin words are stemmed as
    English.

    Args:
        languages: the languages of the site, the default language first.
    """
    by_script: dict[str, str | None] = {}
    for language in (*languages, "en"):
        by_script.setdefault(script_of(language), STEMMERS.get(primary_subtag(language)))
    stemmers: dict[str, str | None] = {}
    for language in languages:
        own = by_script | {script_of(language): STEMMERS.get(primary_subtag(language))}
        stemmers[language] = " ".join(sorted(filter(None, own.values()))) or None
    return stemmers


def page_stemmers(languages: Sequence[str | None], default: str) -> list[str | None]:
    """Returns the stemmers of each page by its language, see `site_stemmers`.

    Args:
        languages: language of every page; None for the default language.
        default: default language of the site.
    """
    counts = Counter(language or default for language in languages)
    stemmers = site_stemmers([default, *sorted(counts, key=lambda language: (-counts[language], language))])
    return [stemmers[language or default] for language in languages]


def script_of(language: str) -> str:
    """Returns the ISO 15924 code of a language's script; `Latn` if unknown."""
    subtag = primary_subtag(language)
    return _OTHER_SCRIPTS.get(subtag) or _SCRIPTS.get(STEMMERS.get(subtag, ""), "Latn")
