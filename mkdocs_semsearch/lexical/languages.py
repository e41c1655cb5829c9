"""Languages of a site: their scripts, and by which of Tantivy's stemmers the words of a page are stemmed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["STEMMERS", "page_stemmers", "primary_subtag", "script_of", "site_stemmers", "stemmer_for"]

STEMMERS = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french", "de": "german",
    "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian", "nn": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip

_SCRIPTS = {
    "arabic": "Arab", "greek": "Grek", "russian": "Cyrl", "tamil": "Taml",
}  # fmt: skip
# Languages whose words Tantivy cannot stem and that are not written in Latin letters.
_OTHER_SCRIPTS = {
    "be": "Cyrl", "bg": "Cyrl", "kk": "Cyrl", "ky": "Cyrl", "mk": "Cyrl", "mn": "Cyrl", "sr": "Cyrl", "uk": "Cyrl",
    "fa": "Arab", "ur": "Arab", "he": "Hebr", "hi": "Deva", "bn": "Beng", "ka": "Geor", "hy": "Armn",
    "zh": "Hani", "ja": "Jpan", "ko": "Kore", "th": "Thai", "lo": "Laoo", "km": "Khmr", "my": "Mymr",
}  # fmt: skip


def primary_subtag(language: str) -> str:
    """Returns the language of a language tag without region or script: `pt-BR` and `pt_PT` are `pt`."""
    return language.replace("_", "-").split("-")[0].lower()


def stemmer_for(language: str) -> str | None:
    """Returns Tantivy's stemmers for a site in one language (`en`, `pt-BR`), or None where no word is stemmed."""
    return site_stemmers((language,))[language]


def site_stemmers(languages: Sequence[str]) -> dict[str, str | None]:
    """Returns for every language of a site the stemmers of its pages: their names, parted by spaces, or None.

    A page has at most one stemmer for each script: its own language's, and for words in other scripts that of the
    site's first language in them. Latin words on a site without a language in Latin letters are taken for English.

    Args:
        languages: of the site, its default language first.
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
        languages: of every page; None for the default language.
        default: language of the site.
    """
    counts = Counter(language or default for language in languages)
    stemmers = site_stemmers([default, *sorted(counts, key=lambda language: (-counts[language], language))])
    return [stemmers[language or default] for language in languages]


def script_of(language: str) -> str:
    """Returns the script of a language by its ISO 15924 code, `Latn` where it is not known."""
    subtag = primary_subtag(language)
    return _OTHER_SCRIPTS.get(subtag) or _SCRIPTS.get(STEMMERS.get(subtag, ""), "Latn")
