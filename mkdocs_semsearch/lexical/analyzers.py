"""Tantivy's side of the lexical index: its schema, and the analyzers that turn prepared text into terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mkdocs_semsearch.lexical.text import MAX_IDENTIFIER_LENGTH

if TYPE_CHECKING:
    import tantivy

__all__ = [
    "FIELDS",
    "lexical_analyzers",
    "lexical_schema",
    "register_analyzers",
    "stemmer_for",
    "stems_with",
    "telling_words",
]

FIELDS = ("title", "headings", "text", "code", "exact", "identifiers", "parts")
"""`title`, `headings` and `text` are stemmed; `code`, `exact` (headings, text and code together) and `parts` are
lower-cased words; `identifiers` holds whole identifiers."""

_STEMMED = "semsearch_stemmed"
_PLAIN = "semsearch_plain"
_WHOLE = "semsearch_whole"
# Positions where neighbours count. Of words as they are written, and of identifiers, not even how often: phrases are
# looked for in the texts themselves, see `lexical.queries`, since positions of every word would take a quarter of the
# index.
_KEPT = dict.fromkeys(("headings", "text"), "position") | dict.fromkeys(("exact", "identifiers"), "basic")
_TOKENIZER = dict.fromkeys(("title", "headings", "text"), _STEMMED) | dict.fromkeys(("code", "exact", "parts"), _PLAIN)

_STEMMERS = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french", "de": "german",
    "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian", "nn": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip

# Tantivy has lists of stop words for these.
_WITH_STOP_WORDS = (
    "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese",
    "russian", "spanish", "swedish",
)  # fmt: skip

# Tantivy's English list is Lucene's, which lacks the words that begin a question.
_QUESTION_WORDS = (
    "can", "could", "did", "do", "does", "how", "i", "me", "my", "should", "what", "when", "where", "which", "who",
    "why", "would", "you", "your", "from", "we",
)  # fmt: skip


def stemmer_for(language: str) -> str | None:
    """Returns Tantivy's stemmer for a language tag (`en`, `pt-BR`), or None where there is none."""
    return _STEMMERS.get(language.replace("_", "-").split("-")[0].lower())


def stems_with(stemmer: str | None) -> Callable[[str], str]:
    """Returns a function from a lower-cased word to its stem; without a stemmer, to the word itself."""
    import tantivy

    if stemmer is None:
        return str
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.stemmer(stemmer))
    analyzer = builder.build()
    return lambda word: analyzer.analyze(word)[0]


def lexical_schema() -> tantivy.Schema:
    """Returns the schema: the text fields of `FIELDS`, and `row`, the row in `chunks.parquet`."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in FIELDS:
        option = _KEPT.get(name, "freq")
        builder.add_text_field(name, stored=False, tokenizer_name=_TOKENIZER.get(name, _WHOLE), index_option=option)
    builder.add_unsigned_field("row", stored=False, indexed=True, fast=True)
    return builder.build()


def register_analyzers(index: tantivy.Index, stemmer: str | None) -> dict[str, tantivy.TextAnalyzer]:
    """Registers the analyzers of the schema with an open index.

    Returns:
        Field name to analyzer, so that queries are analysed like the texts.
    """
    analyzers = lexical_analyzers(stemmer)
    for field, analyzer in analyzers.items():
        index.register_tokenizer(_TOKENIZER.get(field, _WHOLE), analyzer)
    return analyzers


def lexical_analyzers(stemmer: str | None) -> dict[str, tantivy.TextAnalyzer]:
    """Returns field name to analyzer."""
    analyzers = {_STEMMED: _words(stemmer), _PLAIN: _words(None), _WHOLE: _whitespace()}
    return {field: analyzers[_TOKENIZER.get(field, _WHOLE)] for field in FIELDS}


def telling_words(stemmer: str | None) -> tantivy.TextAnalyzer:
    """Returns an analyzer that drops stop words and question words; it chooses which words are marked, not ranking."""
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    builder = builder.filter(tantivy.Filter.ascii_fold())
    if stemmer == "english":
        builder = builder.filter(tantivy.Filter.custom_stopword(list(_QUESTION_WORDS)))
    if stemmer in _WITH_STOP_WORDS:
        builder = builder.filter(tantivy.Filter.stopword(stemmer))
    return builder.build()


def _words(stemmer: str | None) -> tantivy.TextAnalyzer:
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(MAX_IDENTIFIER_LENGTH)).filter(tantivy.Filter.lowercase())
    builder = builder.filter(tantivy.Filter.ascii_fold())
    if stemmer:
        builder = builder.filter(tantivy.Filter.stemmer(stemmer))
    return builder.build()


def _whitespace() -> tantivy.TextAnalyzer:
    import tantivy

    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
