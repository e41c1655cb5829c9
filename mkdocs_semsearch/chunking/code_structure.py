"""Finds the names that the code of a chunk defines and uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.code_languages import load_grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_NAMES = 64
_MAX_NAME_LENGTH = 120
"""Greatest number of names of a chunk, and greatest length of a name. Real code is far below both; data in code is not.
Chosen, not measured."""

_MAX_CODE_LENGTH = 40_000
"""Longer blocks (in characters) are not parsed, because text that is not code can take a parser more than linear time.
Chosen, not measured."""
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)
_SHELL_PROMPT = re.compile(r"[ \t]*\$ ", re.MULTILINE)
_OWN_OBJECT = frozenset({"self", "cls"})
"""Names of a method's own object; as receivers they do not name a type."""
_TYPES = frozenset({"class", "enum", "impl", "interface", "record", "struct", "trait"})
"""Scopes whose functions are methods."""
_ADDED_LINE = re.compile(r"^\+(?!\+)", re.MULTILINE)
_REMOVED_LINE = re.compile(r"^-(?!-).*", re.MULTILINE)


class CodeStructure(NamedTuple):
    """Fields of `Chunk` with the same names."""

    node_type: str | None = None
    node_name: str | None = None
    parent_context: str | None = None
    scope_path: tuple[str, ...] = ()
    node_types: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()
    parent_contexts: tuple[str, ...] = ()
    scope_depth: int | None = None
    definitions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition and its lines; `parents` are the forms in which the scope directly around it is written."""

    node_type: str
    scope_path: tuple[str, ...]
    parents: tuple[str, ...]
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class _Code:
    """Definitions in a piece of code, and the names that it uses with their lines, both in order."""

    definitions: tuple[_Definition, ...] = ()
    references: tuple[tuple[int, str], ...] = ()


def structure_of(blocks: Iterable[Block]) -> CodeStructure:
    """Returns the names that code blocks define and use, with the first outermost definition as the main one.

    A part from the middle of a definition has the definition's name and scope, but is not a definition itself.
    Languages with a grammar in `code_languages` are supported. In incomplete code, only the parts that can be parsed
    are used.
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
        enclosing = [found for found in code.definitions if found.first_line < first <= found.last_line]
        around.extend(sorted(enclosing, key=_depth)[-1:])
        references.update((name, None) for line, name in code.references if first <= line <= last)
    named = [*definitions, *around]
    main = min(definitions, key=_depth) if definitions else max(around, key=_depth, default=None)
    scope_path = main.scope_path if main else ()
    return CodeStructure(
        node_type=main.node_type if main and definitions else None,
        node_name=scope_path[-1] if main else None,
        parent_context=scope_path[-2] if len(scope_path) > 1 else None,
        scope_path=scope_path,
        node_types=_distinct(kind for found in definitions for kind in node_types(found.node_type)),
        node_names=_distinct(found.scope_path[-1] for found in named),
        parent_contexts=_distinct(parent for found in named for parent in found.parents),
        scope_depth=max(map(_depth, named), default=None),
        definitions=_distinct(found.scope_path[-1] for found in definitions),
        references=_distinct(references),
    )


def node_types(node_type: str) -> tuple[str, ...]:
    """Returns the types that a definition matches: a method is a function too."""
    return (node_type, "function") if node_type == "method" else (node_type,)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:_MAX_NAMES]


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
    scopes: dict[int, _Scope] = {}
    places: list[Node] = []
    references: list[tuple[int, str]] = []
    for _, captures in matches:
        used = ((node.start_point[0], _name(node)) for node in captures.get("reference", ()))
        references.extend((line, name) for line, name in used if name not in _OWN_OBJECT)
        for capture, nodes in captures.items():
            kind, _, node_type = capture.partition(".")
            if kind in ("definition", "scope") and "name" in captures:
                receiver = captures.get("parent")
                name = _name(captures["name"][0])
                scopes[nodes[0].id] = _Scope(nodes[0], node_type, name, _name(receiver[0]) if receiver else None)
                if kind == "definition":
                    places.append(nodes[0])
    definitions = [_definition(node, scopes) for node in places]
    return _Code(
        tuple(definition for definition in definitions if all(definition.scope_path)),
        tuple((line, name) for line, name in references if name),
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    """A definition or another scope; `receiver` is the type that a Go method belongs to."""

    node: Node
    node_type: str
    name: str
    receiver: str | None

    @property
    def path(self) -> tuple[str, ...]:
        return (self.name,) if self.receiver is None else (self.receiver, self.name)

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms in which it is written: `Dog`, `impl Dog` and, for a trait, `impl Show for Dog`."""
        trait = self.node.child_by_field_name("trait")
        for_trait = (f"{self.node_type} {_name(trait)} for {self.name}",) if trait else ()
        return (self.name, f"{self.node_type} {self.name}", *for_trait)


def _definition(node: Node, scopes: dict[int, _Scope]) -> _Definition:
    """Returns a definition with the names of the scopes around it."""
    own = scopes[node.id]
    around: list[_Scope] = []
    place = node.parent
    while place is not None:
        if place.id in scopes:
            around.append(scopes[place.id])
        place = place.parent
    path = tuple(name for scope in (*reversed(around), own) for name in scope.path)
    node_type = own.node_type
    if node_type == "function" and around and around[0].node_type in _TYPES:
        node_type = "method"
    if own.receiver is not None:
        parents: tuple[str, ...] = (own.receiver, f"type {own.receiver}")
    else:
        parents = around[0].forms if around else ()
    return _Definition(node_type, path, parents, node.start_point[0], node.end_point[0])


def _name(node: Node) -> str:
    text = node.text.decode("utf-8", "replace") if node.text else ""
    name = text.strip("\"'<>`")
    return name if len(name) <= _MAX_NAME_LENGTH and "\n" not in name else ""


def _bare_code(code: str, language: str) -> str:
    """Returns code line by line without prompts (and then without output), and without the marks of a diff."""
    prompt = {"python": _PROMPT, "bash": _SHELL_PROMPT}.get(language)
    if prompt is not None and prompt.match(code.lstrip()):
        return "\n".join(_typed_lines(code, prompt))
    if language != "bash" and _ADDED_LINE.search(code):
        return _ADDED_LINE.sub("", _REMOVED_LINE.sub("", code))
    return code


def _typed_lines(code: str, prompt: re.Pattern[str]) -> Iterable[str]:
    """Yields the lines that were typed, and empty lines instead of the others."""
    continued = False
    for line in code.split("\n"):
        mark = prompt.match(line)
        if mark:
            yield line[mark.end() :]
        else:
            yield line if continued else ""
        continued = bool(mark or continued) and line.rstrip().endswith("\\")
