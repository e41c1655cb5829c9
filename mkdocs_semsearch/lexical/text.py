"""The lexical index's part of the contract: its fields and how text becomes terms on both sides.

Text is prepared here, in Python, and then tokenised by Tantivy's analyzers, so that builder and searcher cannot differ:

* scripts written without spaces (Chinese, Japanese, Korean, Thai, …) are cut into overlapping bigrams;
* identifiers (`snake_case`, `camelCase`, `a.b.c`, `--flag`, `/path`, `E4521`, `<tag>`) are kept whole in a field of
  their own, and their parts in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

__all__ = [
    "MAX_IDENTIFIER_LENGTH",
    "exact_text",
    "identifier_forms",
    "identifier_parts",
    "lexical_texts",
    "literal_name",
    "prepare",
    "raw_words",
]

# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: a run of these is a phrase, not a word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")

_EDGE_START = "\"'`([{,;:!?*“”‘’«»…"
_EDGE_END = "\"'`)]},;:!?.*“”‘’«»…"
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
_LOOKS_LIKE_IDENTIFIER = re.compile(
    r"[^\W_][._\-/:#@\\][^\W_]|_|[a-z][A-Z]|[A-Z]{2}[a-z]|^[-/@<$.~]|[A-Za-z]\d|\d[A-Za-z]|\(\)$|::|>$"
)
_NOT_WORDS = re.compile(r"[\W_]+")
_SEPARATORS = re.compile(r"[^\w]+|_+")
MAX_IDENTIFIER_LENGTH = 120
"""Longer words are data in base64 or hexadecimal, which nobody searches."""

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def lexical_texts(heading_hierarchy: Sequence[str], content: str, names: Iterable[str]) -> dict[str, str]:
    """Returns the text of a chunk for each of `FIELDS`.

    Args:
        heading_hierarchy: of the chunk; begins with the page's title.
        content: of the chunk.
        names: further identifiers: names that its code defines, the API object that it describes.
    """
    text, code = _split_code(content)
    title, *headings = heading_hierarchy
    everything = exact_text(heading_hierarchy, content)
    found = {word[0]: word for word in map(_identifier, dict.fromkeys(everything.split())) if word is not None}
    identifiers = dict.fromkeys(form for _, forms, _ in found.values() for form in forms)
    parts = [part for _, _, parts in found.values() for part in parts]
    identifiers |= dict.fromkeys(name.lower() for name in names if name)
    return {
        "title": title,
        "headings": "\n".join(headings or (title,)),
        "text": text,
        "code": code,
        "exact": everything,
        "identifiers": " ".join(identifiers),
        "parts": " ".join(parts),
    }


def exact_text(heading_hierarchy: Sequence[str], content: str) -> str:
    """Returns the text in which phrases are looked for: headings, prose, code."""
    return "\n".join((*heading_hierarchy, *_split_code(content)))


@lru_cache(maxsize=1 << 16)  # a site repeats its words
def _identifier(written: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """Returns the identifier in a piece of text without white space, its forms and its parts; None for a plain word."""
    word = next(raw_words(written), "")
    forms, parts = identifier_forms(word), identifier_parts(word)
    return (word, forms, parts) if forms or parts else None


def _split_code(content: str) -> tuple[str, str]:
    """Parts the prose of a chunk from its fenced code."""
    if "```" not in content and "~~~" not in content:
        return content, ""
    pieces = _FENCE.split(content)  # prose, fence, code, prose, …
    return "\n".join(pieces[::3]), "\n".join(pieces[2::3])


def prepare(text: str) -> str:
    """Returns text in which the tokenizer finds terms: runs of unspaced scripts become overlapping bigrams."""
    return _UNSPACED_RUN.sub(lambda match: f" {' '.join(_bigrams(match.group()))} ", text)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for i in range(len(run) - 1):
        yield run[i : i + 2]


def raw_words(text: str) -> Iterator[str]:
    """Yields the pieces between white space, without the punctuation around them."""
    for word in text.split():
        bare = word.lstrip(_EDGE_START).rstrip(_EDGE_END)
        # A call keeps its brackets, also before a comma: `app()` is the identifier `app`.
        bare = f"{bare})" if bare.endswith("(") else bare
        if bare:
            yield bare


def identifier_forms(word: str) -> tuple[str, ...]:
    """Returns the forms under which an identifier is indexed whole, lower-cased; empty when `word` is a plain word.

    `--no-livereload` gives itself and `no-livereload`; `app.include_router()` gives `app.include_router` and
    `include_router`; `<details>` gives `<details>` and `details`.
    """
    if len(word) > MAX_IDENTIFIER_LENGTH or not _LOOKS_LIKE_IDENTIFIER.search(word):
        return ()
    whole = word.lower().removesuffix("()")
    bare = whole.strip("-<>/@$.~=")
    forms = [whole, bare, whole.split("=", 1)[0]]
    if "." in bare and "/" not in bare:
        forms.append(bare.rsplit(".", 1)[1])
    return tuple(dict.fromkeys(form for form in forms if len(form) > 1))


def identifier_parts(word: str) -> tuple[str, ...]:
    """Returns the parts of an identifier, lower-cased: `HTTPException` gives `http` and `exception`."""
    parts = [part.lower() for piece in _SEPARATORS.split(word) for part in _CAMEL.findall(piece)]
    return tuple(parts) if len(parts) > 1 else ()


def literal_name(text: str) -> str:
    """Returns the words of a text, case-folded, one space between them: `site_url` and `Site URL` are equal."""
    return " ".join(_NOT_WORDS.sub(" ", text.casefold()).split())
