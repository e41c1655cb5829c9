"""Headings and sentences of documentation inside source archives of Python packages: reStructuredText, Markdown,
docstrings, and the service descriptions of botocore. Read with a few patterns; what they get wrong is dropped.
"""

from __future__ import annotations

import ast
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

DOCUMENTATION = re.compile(r"(^|/)(docs?|documentation|README|tutorial|api-ref)[^/]*(/|\.)", re.IGNORECASE)
OF_NO_USE = re.compile(r"release|changelog|changes|history|locale|license|test|_vendor", re.IGNORECASE)
LARGEST = 2_000_000

FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.DOTALL | re.MULTILINE)
UNDERLINE = re.compile(r"^[=\-~^\"'`#*+.:_<>]{3,}\s*$")
DIRECTIVE = re.compile(r"^\s*(\.\. |:[\w\- ]+:|\+[-=+]+|\|)")
ADMONITION = re.compile(r"^\s*\.\. (note|warning|tip|important|seealso|versionadded|versionchanged|deprecated)::")
BULLET = re.compile(r"^\s*([-*+]|\d+\.|#\.)\s+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"`])")
MARKUP = (
    (re.compile(r":[\w:+\-.]+:`~?!?([^`<]*?)(?:\s*<[^`>]*>)?`"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?"), r"\1"),
    (re.compile(r"``?([^`]+)``?_*"), r"\1"),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\*+|\|"), ""),
    (re.compile(r"<[^>]{1,80}>"), " "),
    (re.compile(r"\[#?\w*\]_"), ""),
    (re.compile(r"\s+"), " "),
)


def sentences_of(archive: Path) -> list[str]:
    """Returns the different headings and sentences of a source archive, in their order."""
    found: dict[str, None] = {}
    with tarfile.open(archive) as tar:
        for text in texts(tar):
            found.update(dict.fromkeys(pieces(text)))
    return list(found)


def texts(tar: tarfile.TarFile) -> Iterator[str]:
    for member in tar:
        name = member.name
        services = name.endswith("service-2.json")
        if not member.isfile() or (member.size > LARGEST and not services):
            continue
        prose = name.endswith((".rst", ".md", ".txt")) and DOCUMENTATION.search(name)
        if not (prose or services or name.endswith(".py")) or OF_NO_USE.search(name.split("/", 1)[-1]):
            continue
        stream = tar.extractfile(member)
        content = stream.read().decode("utf-8", "replace") if stream else ""
        if prose:
            yield content
        else:
            yield from descriptions(json.loads(content)) if services else docstrings(content)


def docstrings(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def descriptions(value: object) -> Iterator[str]:
    """Yields every `documentation` of a service description, which is HTML."""
    if isinstance(value, list):
        for item in value:
            yield from descriptions(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "documentation" and isinstance(item, str):
                yield re.sub(r"<[^>]+>", "", re.sub(r"</?(p|li|ul|note|important)[^>]*>", "\n\n", item))
            else:
                yield from descriptions(item)


def pieces(text: str) -> Iterator[str]:
    """Yields headings of up to 14 words and sentences of 3 to 40, without markup."""
    for is_heading, paragraph in paragraphs(FENCE.sub("\n", text).split("\n")):
        bare = clean(paragraph)
        if is_heading:
            if len(bare.split()) <= 14 and re.search("[a-z]{3}", bare):
                yield bare
            continue
        for sentence in SENTENCE_END.split(bare):
            sentence = sentence.rstrip(":").strip()
            letters = sum(character.isalpha() or character == " " for character in sentence)
            if 3 <= len(sentence.split()) <= 40 and letters > 0.8 * len(sentence) and re.search("[a-z]{3}", sentence):
                yield sentence


def paragraphs(lines: list[str]) -> Iterator[tuple[bool, str]]:
    """Yields (is a heading, text); indented blocks behind a directive or `::` are code and left out."""
    paragraph: list[str] = []
    code_below: int | None = None
    for number, line in enumerate([*lines, ""]):
        indent = len(line) - len(line.lstrip())
        if code_below is not None:
            if not line.strip() or indent > code_below:
                continue
            code_below = None
        if UNDERLINE.match(line.strip()) or re.match(r"#+ ", line):
            if paragraph:
                yield UNDERLINE.match(line.strip()) is not None, " ".join(paragraph)
                paragraph = []
            if line.startswith("#"):
                yield True, line.lstrip("# ")
            continue
        if line.strip() and not DIRECTIVE.match(line) and not BULLET.match(line):
            paragraph.append(line.strip())
            continue
        if paragraph:
            yield False, " ".join(paragraph)
            if paragraph[-1].endswith("::"):
                code_below = len(lines[number - 1]) - len(lines[number - 1].lstrip())
        paragraph = [BULLET.sub("", line).strip()] if BULLET.match(line) and not DIRECTIVE.match(line) else []
        if line.lstrip().startswith(".. ") and not ADMONITION.match(line):
            code_below = indent


def clean(text: str) -> str:
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    return text.strip(" -*#>")
