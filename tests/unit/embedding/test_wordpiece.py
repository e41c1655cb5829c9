"""The tokenizer of the default encoder returns the same tokens as the package `tokenizers`."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mkdocs_semsearch.embedding.onnx_encoder import FOLDER, TOKENIZER
from mkdocs_semsearch.embedding.tokens import WordPieceTokenizer, open_tokenizer

FILE = FOLDER / TOKENIZER
OURS, PACKAGE = open_tokenizer(FILE), Tokenizer.from_file(str(FILE))
PACKAGE.no_truncation()
PACKAGE.no_padding()
# Only one of the two knows characters that were assigned later.
OLD = unicodedata.ucd_3_2_0


def is_old(character):
    """Returns whether a character is the same in all versions of Unicode that the two may use."""
    return OLD.category(character) not in ("Cn", "Cs") and OLD.category(character) == unicodedata.category(character)


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Rotate an API key: `foo_bar(baz)` raises E1234 — see https://example.org/a?b=c#d",
        "Größe, naïve café, ΣΊΣΥΦΟΣ, İstanbul, ﬁne, 日本語のテキスト, 한국어, ไทย, 🎉🎉",
        "[MASK] and x[SEP]y, but [mask] not",
        "nul\x00 tab\t line\n vertical\x0b zero\u200bwidth soft\u00adhyphen no\u00a0break",
        "x" * 100 + " " + "x" * 101 + " donaudampfschifffahrtsgesellschaft",
    ],
)
def test_tokens_are_those_of_the_package(text, special):
    ids = OURS.encode(text, add_special_tokens=special).ids
    assert ids == PACKAGE.encode(text, add_special_tokens=special).ids


@settings(max_examples=400, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]).filter(is_old), max_size=40))
def test_any_text_has_the_tokens_of_the_package(text):
    assert OURS.encode(text).ids == PACKAGE.encode(text).ids


@pytest.mark.parametrize("most", [2, 3, 8, 256])
def test_long_texts_are_cut_like_the_package_cuts_them(most):
    ours, package = open_tokenizer(FILE), Tokenizer.from_str(PACKAGE.to_str())
    for tokenizer in (ours, package):
        tokenizer.enable_truncation(max_length=most)
    text = "rotating tokens " * 100
    assert ours.encode(text).ids == package.encode(text).ids


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("normalizer", {"lowercase": False}),
        ("pre_tokenizer", {"type": "Whitespace"}),
        ("model", {"type": "BPE"}),
        ("model", {"vocab": None}),
        ("post_processor", None),
    ],
)
def test_other_tokenizers_use_the_package_tokenizers(part, changes):
    content = json.loads(FILE.read_text(encoding="utf-8"))
    content[part] = changes and content[part] | changes
    assert WordPieceTokenizer.read(json.dumps(content)) is None
