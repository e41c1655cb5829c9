"""Estimates which languages of a site the embedding model covers, and the semantic weight for each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking import ChunkedPage
from mkdocs_semsearch.embedding.model_files import is_default_model
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.lexical.languages import primary_subtag, script_of

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.tokens import Tokenizer

MULTILINGUAL_MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"

LANGUAGES_OF_DEFAULT_MODEL = frozenset({"en"})

MOST_UNKNOWN = 0.1
"""From this share of unknown tokens on, a model does not cover a language. The default model has 0.74 for Chinese, 0.4
for Japanese, 1.0 for Thai and 0 for European languages; a multilingual model has about 0."""

LEAST_LETTERS = 1.3
"""Below this mean length of a token, a tokenizer only spells words. The default model has 3.9 letters for English, 1.7
to 2.5 for other languages in Latin letters, and 1.0 for Ukrainian, Russian, Greek, Arabic and Hebrew."""

PARTLY_KNOWN = 0.5
"""Factor of the semantic weight for other languages in Latin letters than English, of which English models know names
and shared words. Three words of a German or French section as a question (120, Rocky Linux): MRR .87 for a factor of 0,
.88 for 0.25, .86 for 0.5, .81 for 0.75, .70 for 1. Such questions favour words; others were not tried."""

_SAMPLED_CHUNKS = 50
_WORD = re.compile(r"[^\W\d_]+")
_UNKNOWN = frozenset({"[UNK]", "<unk>", "<UNK>"})
_SYLLABIC = frozenset({"Hani", "Jpan", "Thai", "Laoo", "Khmr", "Mymr"})
"""Scripts in which a single character is a normal token."""

_NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "es": "Spanish", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nb": "Norwegian", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def model_coverage(pages: Sequence[ChunkedPage], embedder: Embedder, default: str) -> dict[str, float]:
    """Returns the languages that a model does not cover well, each with a factor of the semantic weight from 0 to 1.

    The languages of the default model are known. For other models with a tokenizer, a language is not covered if its
    words become unknown tokens or single letters.

    Args:
        pages: the pages of the site.
        embedder: the embedder of the site.
        default: language of pages that do not declare one.
    """
    file: Path | None = getattr(embedder, "tokenizer_file", None)
    if file is None:
        return {}
    texts: dict[str, list[str]] = {}
    for page in pages:
        sample = texts.setdefault(page.language or default, [])
        if len(sample) < _SAMPLED_CHUNKS:
            sample += (chunk.content for chunk in page.chunks[:3] if chunk.kind == "text")
    knows_english_only = is_default_model(embedder.identity.model)
    if knows_english_only and {primary_subtag(language) for language in texts} <= LANGUAGES_OF_DEFAULT_MODEL:
        return {}
    from mkdocs_semsearch.embedding.tokens import open_tokenizer

    tokenizer = open_tokenizer(file)
    found = {}
    for language, sample in sorted(texts.items()):
        script = script_of(language)
        share = _share(tokenizer, sample, script)
        if knows_english_only and primary_subtag(language) not in LANGUAGES_OF_DEFAULT_MODEL:
            share = min(share, PARTLY_KNOWN if script == "Latn" else 0.0)
        if share < 1:
            found[language] = share
    return found


def _share(tokenizer: Tokenizer, texts: Sequence[str], script: str) -> float:
    """Returns the factor for some texts: 1, or 0 if their words become unknown tokens or single letters."""
    words = [word for text in texts for word in _WORD.findall(text) if script == "Latn" or not word.isascii()]
    if not words:
        return 1.0
    vocabulary = tokenizer.get_vocab()
    no_token = {vocabulary.get(name) for name in _UNKNOWN}
    tokens = [number for word in words for number in tokenizer.encode(word, add_special_tokens=False).ids]
    unknown = sum(number in no_token for number in tokens) / max(1, len(tokens))
    letters = sum(map(len, words)) / max(1, len(tokens))
    falls_apart = unknown > MOST_UNKNOWN or (script not in _SYLLABIC and letters < LEAST_LETTERS)
    return 0.0 if falls_apart else 1.0


def coverage_warning(coverage: Mapping[str, float], model: str) -> str | None:
    """Returns one sentence about the languages that a model does not cover, or None if it covers all of the site.

    Args:
        coverage: result of `model_coverage`.
        model: name of the model.
    """
    names = {share: _named(language for language in coverage if coverage[language] == share) for share in (0.0, 0.5)}
    parts = []
    if names[0.0]:
        parts.append(f"does not know {names[0.0]}: these pages are searched in text-only mode")
    if names[0.5]:
        parts.append(f"knows little {names[0.5]}: meaning counts half on these pages")
    if not parts:
        return None
    return (
        f"The model {model.rpartition('/')[2]} {', and '.join(parts)}. For meaning in these languages install "
        f"`mkdocs-semsearch[models]` and write under semsearch: `embedder: {{model: {MULTILINGUAL_MODEL}}}`, "
        "`chunking: {max_tokens: 110}`."
    )


def _named(languages: Iterable[str]) -> str:
    names = [_NAMES.get(primary_subtag(language), language) for language in languages]
    return ", ".join(dict.fromkeys(names))
