"""What the code of a chunk defines and uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.code_languages import load_grammar

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["CodeStructure", "structure_of"]

_MAX_NAMES = 64
_MAX_NAME_LENGTH = 120
_MAX_CODE_LENGTH = 40_000
"""Longer blocks are not parsed, in characters: text that is not code takes a parser more than linear time."""
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)
_SHELL_PROMPT = re.compile(r"[ \t]*\$ ", re.MULTILINE)
_ADDED_LINE = re.compile(r"^\+(?!\+)", re.MULTILINE)
_REMOVED_LINE = re.compile(r"^-(?!-).*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CodeStructure:
    """Fields of `Chunk` with the same names."""

    node_type: str | None = None
    node_name: str | None = None
    parent_context: str | None = None
    scope_path: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Definition:
    node_type: str
    scope_path: tuple[str, ...]
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class _Code:
    """Definitions of a piece of code, and the names it uses with their lines, both in order."""

    definitions: tuple[_Definition, ...] = ()
    references: tuple[tuple[int, str], ...] = ()


NO_STRUCTURE = CodeStructure()


def structure_of(blocks: Iterable[Block]) -> CodeStructure:
    """Returns what code blocks define and use, and the first outermost definition as the main one.

    Languages: those with a grammar in `code_languages`. Snippets may be broken: what the parser can make out is taken.
    """
    definitions: list[_Definition] = []
    around: list[_Definition] = []
    references: dict[str, None] = {}
    for block in blocks:
        if block.kind != "code" or not block.language:
            continue
        code = _read_code(block.whole or block.text, block.language)
        first, last = block.first_line, block.first_line + block.text.count("\n")
        definitions.extend(found for found in code.definitions if first <= found.first_line <= last)
        around.extend(found for found in code.definitions if found.first_line < first <= found.last_line)
        references.update((name, None) for line, name in code.references if first <= line <= last)
    # A piece from the middle of a definition belongs to the innermost one around it.
    main = min(definitions, key=_depth) if definitions else max(around, key=_depth, default=None)
    if main is None and not references:
        return NO_STRUCTURE
    scope_path = main.scope_path if main else ()
    return CodeStructure(
        node_type=main.node_type if main else None,
        node_name=scope_path[-1] if main else None,
        parent_context=scope_path[-2] if len(scope_path) > 1 else None,
        scope_path=scope_path,
        definitions=tuple(dict.fromkeys(found.scope_path[-1] for found in definitions))[:_MAX_NAMES],
        references=tuple(references)[:_MAX_NAMES],
    )


def _depth(definition: _Definition) -> int:
    return len(definition.scope_path)


@lru_cache(maxsize=4)  # the pieces of a long block follow one another
def _read_code(code: str, language: str) -> _Code:
    grammar = load_grammar(language)
    if grammar is None:
        return _Code()
    from tree_sitter import QueryCursor

    source = _bare_code(code[:_MAX_CODE_LENGTH], language).encode("utf-8", "replace")
    matches = QueryCursor(grammar.query).matches(grammar.parser.parse(source).root_node)
    scopes: dict[int, tuple[str, str]] = {}
    places: list[tuple[Node, str | None]] = []
    references: list[tuple[int, str]] = []
    for _, captures in matches:
        references.extend((node.start_point[0], _name(node)) for node in captures.get("reference", ()))
        for capture, nodes in captures.items():
            kind, _, node_type = capture.partition(".")
            if kind in ("definition", "scope") and "name" in captures:
                scopes[nodes[0].id] = (node_type, _name(captures["name"][0]))
                parent = captures.get("parent")
                if kind == "definition":
                    places.append((nodes[0], _name(parent[0]) if parent else None))
    definitions = [_definition(node, parent, scopes) for node, parent in places]
    return _Code(
        tuple(definition for definition in definitions if all(definition.scope_path)),
        tuple((line, name) for line, name in references if name),
    )


def _definition(node: Node, parent: str | None, scopes: dict[int, tuple[str, str]]) -> _Definition:
    """A definition with the names of the scopes around it."""
    node_type, name = scopes[node.id]
    path = [name]
    enclosing: str | None = None
    around = node.parent
    while around is not None:
        if around.id in scopes:
            scope_type, scope_name = scopes[around.id]
            enclosing = scope_type if enclosing is None else enclosing
            path.append(scope_name)
        around = around.parent
    if parent is not None:
        path.append(parent)
    in_type = enclosing in ("", "class", "interface", "trait", "struct", "enum")
    node_type = "method" if node_type == "function" and in_type else node_type
    return _Definition(node_type, tuple(reversed(path)), node.start_point[0], node.end_point[0])


def _name(node: Node) -> str:
    text = node.text.decode("utf-8", "replace") if node.text else ""
    name = text.strip("\"'<>`")
    return name if len(name) <= _MAX_NAME_LENGTH and "\n" not in name else ""


def _bare_code(code: str, language: str) -> str:
    """Code line by line without prompts (and then without output), and without the marks of a diff."""
    prompt = {"python": _PROMPT, "bash": _SHELL_PROMPT}.get(language)
    if prompt is not None and prompt.match(code.lstrip()):
        return "\n".join(_typed_lines(code, prompt))
    if language != "bash" and _ADDED_LINE.search(code):
        return _ADDED_LINE.sub("", _REMOVED_LINE.sub("", code))
    return code


def _typed_lines(code: str, prompt: re.Pattern[str]) -> Iterable[str]:
    """Lines that were typed; empty ones in place of the others."""
    continued = False
    for line in code.split("\n"):
        mark = prompt.match(line)
        if mark:
            yield line[mark.end() :]
        else:
            yield line if continued else ""
        continued = bool(mark or continued) and line.rstrip().endswith("\\")
