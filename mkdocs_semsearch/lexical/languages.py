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

# Tantivy cannot list its stop words. The search without a server needs those that a site does not have, too: on a small
# site they would count as words that it lacks. These are the ones that stand in questions.
_TANTIVYS_STOP_WORDS = {
    "english": (
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
        "this to was will with"
    ),
    "danish": (
        "ad af alle alt anden at blev blive da de dem den denne der deres det dette dig din disse dog du efter eller "
        "en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvis hvor i ikke ind jeg jer "
        "jo kunne man mange med meget men mig min mine mit mod ned noget nogle nu og om op os over selv sig skal "
        "skulle som thi til ud under var vi vil ville vor"
    ),
    "dutch": (
        "aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge "
        "geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen "
        "maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te "
        "tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wil worden wordt zal ze zelf "
        "zich zij zijn zo zonder zou"
    ),
    "finnish": (
        "ei en et ette he ja joka jos jotka koska kuin kuka kun me mukaan mutta ne niin nyt ole olen olet oli olla on "
        "ovat poikki se tai te tuo vaan vaikka"
    ),
    "french": (
        "ai au aux avec avez avons c ce cela ces d dans de des du elle en et eu eux il ils j je l la le les leur "
        "leurs lui ma mais me mes moi mon n ne nos notre nous on ont ou par pas pour qu que quel quelle quelles quels "
        "qui s sa sans se sera ses soit sont suis sur t ta te tes toi ton tu un une vos votre vous y"
    ),
    "german": (
        "aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei bin bis bist da damit "
        "dann das dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du "
        "durch ein eine einem einen einer eines einmal er es etwas euch euer hab habe haben hat hatte hatten hier hin "
        "hinter ich ihm ihn ihnen ihr ihre im in indem ins ist jede jedem jeden jeder jedes jetzt kann kein keine "
        "keinem keinen keiner machen man manche mein meine meinem meinen meiner mich mir mit muss musste nach nicht "
        "nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner selbst sich sie sind so solche soll "
        "sollte sondern sonst um und uns unser unter viel vom von vor war waren warst was weg weil weiter welche "
        "welchem welchen welcher welches wenn werde werden wie wieder will wir wird wirst wo wollen wollte zu zum zur "
        "zwar zwischen"
    ),
    "hungarian": (
        "a abban ahhoz ahogy ahol aki akik akkor alatt amely ami amikor amit az azok azt azzal be benne csak de e egy "
        "egyes egyik ehhez el ellen ennek erre ez ezek ezen ezt ezzel fel hanem hogy hogyan igen ill ilyen itt jobban "
        "kell ki lehet lenne lesz lett maga majd mely melyek mert mi mikor milyen minden mindig mint mit mivel most "
        "nagyon ne nekem neki nem nincs ott pedig sem semmi sok szemben szerint szinte teljes ugyanis vagy vagyis "
        "valaki valami van vannak vele vissza volna volt"
    ),
    "italian": (
        "a abbia abbiamo ad agli ai al alla alle allo anche c che chi ci coi col come con contro cui da dagli dai dal "
        "dalla dalle degli dei del dell della delle dello di dove ed era gli ha hanno ho i il in io l la le lei li lo "
        "loro lui ma mi mia miei mio ne negli nei nel nella nelle nello noi non nostro o per quale quanto quella "
        "quelle quelli quello questa queste questi questo se sei si sia siamo sono sta stai su sua sue sugli sui sul "
        "sulla sulle suo ti tra tu tua tue tuo tutti tutto un una uno vi voi"
    ),
    "norwegian": (
        "alle at av bare begge ble blei bli da de deg dem den denne der dere deres det dette di din disse ditt du "
        "eller en enn er et etter for fordi fra ha hadde han hans har hva hvem hver hvilken hvis hvor hvordan hvorfor "
        "i ikke ingen inn ja jeg kan kom kun kunne man mange med meg meget mellom men mi min mine mitt mot mykje ned "
        "no noe noen og om opp oss over samme seg selv si sia sidan siden sin sine sitt skal skulle slik som somme "
        "til um upp ut uten var vart ved vi vil ville vore vors vort"
    ),
    "portuguese": (
        "ao aos com como da das de dela dele deles do dos ela elas ele eles em entre era essa essas esse esses "
        "estamos estas este estes estou eu foi foram isso isto lhe lhes mais mas me mesmo meu meus minha minhas muito "
        "na nas nem no nossa nosso num numa o os ou para pela pelas pelo pelos por qual quando que quem se sem seu "
        "seus sua suas te tem temos tenho teu teve tinha tu tua um uma vos"
    ),
    "russian": (
        "а без более больше будет бы был была были было быть в вам вас ведь во вот все всегда всех всю вы где да даже "
        "для до его ее если есть еще же за здесь и из или им их к как какая какой когда кто ли лучше мне много может "
        "можно мой моя мы на над надо нас не него нее нельзя нет ни никогда ним них ничего но ну о об один он она они "
        "от перед по под после потом потому почти при про раз с сам себя сейчас со так такой там тем теперь то тогда "
        "того тоже только том тот тут ты у уж уже хорошо хоть чего чем через что чтоб чтобы чуть эти этого этой этом "
        "этот эту я"
    ),
    "spanish": (
        "a al algo algunas algunos ante antes como con contra de del desde durante e ella ellas ellos en entre era "
        "esa ese eso estamos estas este esto estos estoy fue ha hasta hay he la las le les lo los me mis mucho muchos "
        "muy nada ni no nos nosotros nuestra nuestro o os otra otro otros para pero poco por porque quienes se sea "
        "sido sin sobre son soy su sus tanto te tengo ti tiene tienen todo todos tus un una uno unos vosotros y ya yo"
    ),
    "swedish": (
        "alla allt att av blev bli blir de dem den denna deras dess dessa det detta dig din dina du efter ej eller en "
        "er era ett ha hade han hans har henne hennes hon honom hur i icke ingen inom inte jag ju kan kunde man med "
        "mellan men mig min mina mitt mot mycket ni nu och om oss samma sedan sig sin sina skulle som till under upp "
        "ut utan vad var vara varit varje vars vart vem vi vid vilka vilkas vilken vilket"
    ),
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


def frequent_stop_words(stemmer: str | None) -> tuple[str, ...]:
    """Returns `listed_stop_words`, and the most frequent ones of Tantivy."""
    words = (word for name in (stemmer or "").split() for word in _TANTIVYS_STOP_WORDS.get(name, "").split())
    return tuple(dict.fromkeys((*listed_stop_words(stemmer), *words)))


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
