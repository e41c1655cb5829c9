"""Describes the languages of pages: the script of each, its stemmer if there is one, and its stop words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tantivy

STEMMERS = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french", "de": "german",
    "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian", "nn": "norwegian",
    "pt": "portuguese portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip
"""Languages with a stemmer, or with several that are applied in turn. Words come without accents, so the first time
Portuguese endings lose only a vowel: `configuraca` and `configuraco` of *configuração* and *configurações*. Of 642
headings of FastAPI's Portuguese pages, with words in their other number, 561 find their page first; with one pass 528.
In French and Spanish a second pass gains a tenth of that."""

_SCRIPTS = {"arabic": "Arab", "greek": "Grek", "russian": "Cyrl", "tamil": "Taml"}
# Languages in other scripts than Latin for which Tantivy has no stemmer.
_OTHER_SCRIPTS = {
    "be": "Cyrl", "bg": "Cyrl", "kk": "Cyrl", "ky": "Cyrl", "mk": "Cyrl", "mn": "Cyrl", "sr": "Cyrl", "uk": "Cyrl",
    "fa": "Arab", "ur": "Arab", "he": "Hebr", "hi": "Deva", "bn": "Beng", "ka": "Geor", "hy": "Armn",
    "zh": "Hani", "ja": "Jpan", "ko": "Kore", "th": "Thai", "lo": "Laoo", "km": "Khmr", "my": "Mymr",
}  # fmt: skip

LANGUAGES = frozenset(
    re.findall(
        r"\w+",
        "af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja jv "
        "ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no pa pl pt ro ru si sk sl sq sr sv sw ta te th tl "
        "tr uk ur uz vi zh",
    )
)
"""Codes of the languages that pages may be in. Names of folders such as `api`, `adr` and `cli` look like codes, too."""


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


# Tantivy has lists of stop words for these.
_WITH_STOP_WORDS = (
    "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese",
    "russian", "spanish", "swedish",
)  # fmt: skip

# Tantivy's lists lack most words that begin a question, and in English contractions. Words are looked up without
# accents, so its frequent words with accents are repeated without them, except common acronyms: CA, HA, SA.
_FURTHER_STOP_WORDS = {
    "english": (
        "can could did do does how i me my should what when where which who why would you your from we aint "
        "arent cant couldnt didnt doesnt dont hadnt hasnt havent heres hows im isnt ive lets mustnt neednt "
        "shouldnt thats theres theyre wasnt werent weve whats wheres wont wouldnt youre youve"
    ),
    "arabic": "كيف ما ماذا لماذا متي اين هل هو هي في من علي الي عن ان او لا هذا هذه التي الذي يمكن",
    "bulgarian": "как какво къде кога защо кой коя кое кои и в с на до не се това е са за от да мога може",
    "catalan": (
        "com que on quan per quin quina quins quines qui i el la els les un una de del al en amb es son no puc pot fer"
    ),
    "czech": (
        "jak co kde kdy proc ktery ktera ktere jaky jaka jake kdo a v z na do ne se to je jsou o po za od ze ale pro "
        "lze muzu mohu"
    ),
    "danish": "hvordan hvorfor hvornar hvem hvilken hvilket hvilke kan pa nar ogsa",
    "dutch": "waarom wanneer waar welke welk kun",
    "finnish": "miten milloin kuinka voin voi onko etta eivat mika mita mina sina han tama missa mista myos",
    "french": (
        "comment pourquoi quand combien quoi est etre avoir faire peut puis a meme ete etes etait etaient etant"
    ),
    "german": (
        "warum wieso weshalb wann wer wen wem wozu wofur woher wohin kannst mussen mochte gibt fur konnen "
        "konnte uber wahrend wurde wurden"
    ),
    "greek": (
        "πωσ τι που ποτε γιατι ποιο ποια ποιοσ και το η ο τα οι του τησ των τον την για με σε απο στο στη "
        "στην ειναι μπορω πρεπει να θα"
    ),
    "hebrew": "איך מה איפה מתי למה מדוע מי איזה איזו כיצד האם של על את עם הוא היא זה זאת או לא אני",
    "hungarian": "hol melyik hova honnan miert es mar meg nelkul ugy igy",
    "indonesian": (
        "bagaimana apa dimana kapan mengapa kenapa siapa yang mana cara dan di ke dari ini itu untuk dengan pada "
        "adalah tidak saya bisa"
    ),
    "italian": "quando quali cosa posso puo fare piu perche e sara",
    "norwegian": "hvilket pa nar ogsa",
    "persian": "چگونه چطور چه چرا كجا كي كدام است و در از به با را اين ان براي كه مي",
    "polish": (
        "jak co czy gdzie kiedy dlaczego ktory ktora ktore jaki jaka jakie kto i w z na do nie sie to jest sa o po za "
        "od ze a ale dla moge mozna"
    ),
    "portuguese": "porque onde quais posso pode fazer nao e sao esta voce a as ate ja tambem so nos sera estao",
    "romanian": (
        "cum ce unde cand care cine pot poate trebuie este sunt fi si sau in la cu de din pe un o pentru se sa nu mai"
    ),
    "russian": "почему какое какие какую сколько могу нужно",
    "spanish": "cual cuales cuando donde quien puedo puede hacer mas el si tu mi que esta estan tambien habia sera",
    "swedish": "varfor gor ar pa for fran da nar an dar nagon nagot nagra sjalv",
    "slovak": (
        "ako co kde kedy preco ktory ktora ktore aky aka ake kto a v z na do nie sa to je su o po za od ze ale pre "
        "mozem mozno"
    ),
    "turkish": "nasil nedir ne neden nicin nerede hangi kac kim mi mu ve veya ile bir bu icin de da",
    "ukrainian": "як що де коли чому який яка яке які хто і й та в у з на до не це є чи від для про можу можна",
}

_WITHOUT_STEMMER = {
    "bg": "bulgarian", "ca": "catalan", "cs": "czech", "fa": "persian", "he": "hebrew", "id": "indonesian",
    "pl": "polish", "sk": "slovak", "uk": "ukrainian",
}  # fmt: skip
"""Languages with stop words but without a stemmer, and the names under which their stop words are listed."""

_ENGLISH_WORDS = frozenset(("care", "comment", "fare", "pot"))
"""Stop words of other languages that carry meaning in English; not stop words on sites that also have English pages."""


def languages_without_stemmer(languages: Iterable[str]) -> tuple[str, ...]:
    """Returns the names of those languages that have stop words but no stemmer."""
    names = (_WITHOUT_STEMMER.get(primary_subtag(language)) for language in languages)
    return tuple(sorted(set(filter(None, names))))


ALL_STOP_WORDS = " ".join(dict.fromkeys((*_WITH_STOP_WORDS, *_FURTHER_STOP_WORDS)))
"""The stemmers of all languages with stop words, for `listed_stop_words` and `telling_words`."""


def listed_stop_words(stemmer: str | None) -> tuple[str, ...]:
    """Returns the stop words that are added to Tantivy's, as they are looked up: without accents.

    Args:
        stemmer: names of stemmers and of `languages_without_stemmer`, separated by spaces.
    """
    names = (stemmer or "").split()
    words = dict.fromkeys(word for name in names for word in _FURTHER_STOP_WORDS.get(name, "").split())
    return tuple(word for word in words if "english" not in names or word not in _ENGLISH_WORDS)


def stems_with(stemmer: str | None) -> Callable[[str], str]:
    """Returns a function that stems a lower-cased word; without a stemmer, it returns the word unchanged."""
    import tantivy

    if stemmer is None:
        return str
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    for name in stemmer.split():
        builder = builder.filter(tantivy.Filter.stemmer(name))
    analyzer = builder.build()
    return lambda word: analyzer.analyze(word)[0]


def joined_stems(texts: Iterable[tuple[str | None, Iterable[str]]]) -> Callable[[str], str]:
    """Returns a function that maps a lower-cased word of a site in several languages to one stem.

    Words that share a stem in any of the languages get the same stem. This is for an index with one stem per word.

    Args:
        texts: for every text of the site, its stemmer and its words.
    """
    used: dict[str | None, set[str]] = {}
    for stemmer, words in texts:
        used.setdefault(stemmer, set()).update(words)
    stem_of = {stemmer: stems_with(stemmer) for stemmer in used}
    known = {stem_of[stemmer](word) for stemmer, words in used.items() for word in words}
    joined: dict[str, str] = {stem: stem for stem in known}

    def root(stem: str) -> str:
        while joined[stem] != stem:
            stem = joined[stem] = joined[joined[stem]]
        return stem

    first: dict[str, str] = {}
    for word in sorted(set().union(*used.values())):
        for stem in {stem_of[stemmer](word) for stemmer in stem_of} & known:
            low, high = sorted((root(stem), root(first.setdefault(word, stem))), key=lambda text: (len(text), text))
            joined[high] = low
    return lambda word: root(first[word])


@cache
def telling_words(stemmer: str | None) -> tantivy.TextAnalyzer:
    """Returns an analyzer that drops stop words and question words; it selects the words that are highlighted."""
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    builder = builder.filter(tantivy.Filter.ascii_fold())
    if words := listed_stop_words(stemmer):
        builder = builder.filter(tantivy.Filter.custom_stopword(list(words)))
    for name in (stemmer or "").split():
        if name in _WITH_STOP_WORDS:
            builder = builder.filter(tantivy.Filter.stopword(name))
    return builder.build()
