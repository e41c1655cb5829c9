"""Finds the languages of code blocks, and the tree-sitter grammars of the languages whose structure is read.

In a tree-sitter query, `@definition.<node type>` marks a definition, with `@name` inside it. `@scope` marks a node that
is the parent of definitions inside it without being a definition. `@parent` marks the name of a parent beside the
definition (a Go receiver). `@reference` marks names that are called, imported or inherited, and the object on which a
method is called.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.chunking.blocks import Block

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

_CANONICAL = {
    "c++": "cpp", "c#": "csharp", "console": "bash", "cs": "csharp", "docker": "dockerfile", "ir": "r",
    "ipython": "python", "ipython2": "python", "ipython3": "python", "golang": "go", "js": "javascript",
    "jsonc": "json", "jsx": "javascript", "kt": "kotlin", "ksh": "bash", "make": "makefile", "md": "markdown",
    "node": "javascript", "objc": "objective-c", "objectivec": "objective-c", "ps1": "powershell", "py": "python",
    "py3": "python", "pycon": "python", "pycon3": "python", "pyodide": "python", "python3": "python", "rb": "ruby",
    "rs": "rust", "sh": "bash", "shell": "bash", "shell-session": "bash", "ts": "typescript", "yml": "yaml",
    "zsh": "bash",
}  # fmt: skip
_NO_LANGUAGE = frozenset({
    "", "default", "ipynb", "no-highlight", "nohighlight", "none", "output", "plain", "plaintext", "raw", "text", "txt",
})  # fmt: skip
_MARKS = r"(?:[ \t]*\(\d+\)!)+[ \t]*"
_ANNOTATION = re.compile(rf"[ \t]*(?:/\*{_MARKS}\*/|<!--{_MARKS}-->|(?:#|//|--|;|%){_MARKS}$)", re.MULTILINE)
_PREFIXES = ("language-", "lang-", "highlight-", "hl-")
_INCLUDE = re.compile(r"-+8<-+|\{%-?include|\{!")
"""A line that includes a file, without its spaces: pymdownx.snippets, mkdocs-macros or include-markdown,
markdown-include.
"""


def canonical_language(name: str | None) -> str | None:
    """Returns the canonical name of a language (`py` → `python`), or None for plain text."""
    lowered = (name or "").strip().lower()
    return None if lowered in _NO_LANGUAGE else _CANONICAL.get(lowered, lowered)


def language_of_classes(classes: str | None) -> str | None:
    """Returns the language in class names such as `language-py`, or None."""
    for name in (classes or "").split():
        for prefix in _PREFIXES:
            if name.startswith(prefix) and (language := canonical_language(name[len(prefix) :])):
                return language
    return None


def without_annotations(code: str) -> str:
    """Returns code without the annotation marks that readers do not see: `# (1)!`, `/* (1)! */`."""
    return _ANNOTATION.sub("", code) if ")!" in code else code


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced code block: its language, the first lines of its code, the offsets of its opening line and its end."""

    language: str | None
    first_lines: tuple[str, ...]
    start: int
    code_start: int
    end: int


class FenceLanguages:
    """Finds the fence of a code block in the Markdown source by the first two lines of its code.

    `pymdownx.highlight` without `pygments_lang_class` writes no language into the HTML. The code of a fence that
    includes a file is not in the source: such fences are identified by their place between others, if there are as many
    blocks in this place.
    """

    def __init__(self, fences: Sequence[Fence]) -> None:
        self._fences = fences
        self._known: dict[tuple[str, ...], deque[int]] = defaultdict(deque)
        for number, fence in enumerate(fences):
            self._known[fence.first_lines].append(number)

    def restore(self, blocks: Sequence[Block]) -> list[Block]:
        """Returns the code blocks of a page, in the same order, with their languages."""
        restored: list[Block] = []
        last, unknown = -1, 0
        for block in blocks:
            number = self._fence_of(block)
            if number is None:
                unknown += 1
            else:
                self._place_included(restored, unknown, self._fences[last + 1 : number])
                last, unknown = max(last, number), 0
            restored.append(block if number is None else _in_language(block, self._fences[number].language))
        self._place_included(restored, unknown, self._fences[last + 1 :])
        return restored

    def _fence_of(self, block: Block) -> int | None:
        lines = (line for line in block.text.split("\n") if line.strip())
        numbers = self._known.get(tuple("".join(line.split()) for _, line in zip(range(2), lines, strict=False)))
        if not numbers:
            return None
        return numbers.popleft() if len(numbers) > 1 else numbers[0]

    def _place_included(self, restored: list[Block], unknown: int, fences: Sequence[Fence]) -> None:
        """Gives the last `unknown` blocks the languages of the fences that include files, if there are as many."""
        included = [fence.language for fence in fences if fence.first_lines and _INCLUDE.match(fence.first_lines[0])]
        if unknown and len(included) == unknown:
            restored[-unknown:] = map(_in_language, restored[-unknown:], included)


def _in_language(block: Block, language: str | None) -> Block:
    return block if block.language or not language else replace(block, language=language)


_PYTHON = """
(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class
(assignment left: (identifier) @name right: (lambda)) @definition.function
(attribute object: [(identifier) @reference (attribute attribute: (identifier) @reference)])
(call function: [(identifier) @reference (attribute attribute: (identifier) @reference)])
(decorator [(identifier) @reference (attribute attribute: (identifier) @reference)])
(class_definition superclasses: (argument_list
  [(identifier) @reference (attribute attribute: (identifier) @reference)]))
(import_statement name: [(dotted_name) @reference (aliased_import name: (dotted_name) @reference)])
(import_from_statement module_name: (_) @reference)
(import_from_statement name: [(dotted_name) @reference (aliased_import name: (dotted_name) @reference)])
"""

_JAVASCRIPT = """
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(class_declaration name: (_) @name) @definition.class
(method_definition name: (property_identifier) @name) @definition.method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function
(member_expression
  object: [(identifier) @reference (member_expression property: (property_identifier) @reference)])
(call_expression function: [(identifier) @reference (member_expression property: (property_identifier) @reference)])
(new_expression constructor: [(identifier) @reference (member_expression property: (property_identifier) @reference)])
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(import_statement source: (string (string_fragment) @reference))
"""

_JAVASCRIPT_FIELDS = """
(field_definition property: (property_identifier) @name value: [(arrow_function) (function_expression)])
  @definition.method
"""

_JSX = """
(jsx_opening_element name: (identifier) @reference)
(jsx_self_closing_element name: (identifier) @reference)
"""

_TYPESCRIPT = """
(abstract_class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.interface
(type_alias_declaration name: (_) @name) @definition.type
(enum_declaration name: (_) @name) @definition.enum
(function_signature name: (identifier) @name) @definition.function
(internal_module name: (identifier) @name) @definition.module
(implements_clause (type_identifier) @reference)
(public_field_definition name: (property_identifier) @name value: [(arrow_function) (function_expression)])
  @definition.method
"""

_GO = """
(function_declaration name: (identifier) @name) @definition.function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (type_identifier) @parent (pointer_type (type_identifier) @parent)
  (generic_type type: (type_identifier) @parent) (pointer_type (generic_type type: (type_identifier) @parent))]))
  name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name
  type: [(type_identifier) (function_type) (map_type) (slice_type) (qualified_type)]) @definition.type
(short_var_declaration left: (expression_list . (identifier) @name .) right: (expression_list . (func_literal) .))
  @definition.function
(call_expression function: [(identifier) @reference (selector_expression field: (field_identifier) @reference)])
(selector_expression
  operand: [(identifier) @reference (selector_expression field: (field_identifier) @reference)])
(import_spec path: (interpreted_string_literal) @reference)
"""

_RUST = """
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name) @definition.module
(macro_definition name: (identifier) @name) @definition.macro
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @scope.impl
(let_declaration pattern: (identifier) @name value: (closure_expression)) @definition.function
(impl_item trait: (type_identifier) @reference)
(call_expression function: [(identifier) @reference (scoped_identifier name: (identifier) @reference)
  (field_expression field: (field_identifier) @reference)])
(call_expression function: (scoped_identifier
  path: [(identifier) @reference (scoped_identifier name: (identifier) @reference)]))
(field_expression value: [(identifier) @reference (field_expression field: (field_identifier) @reference)])
(macro_invocation macro: (identifier) @reference)
(use_declaration argument: [(identifier) (scoped_identifier)] @reference)
(use_declaration argument: (scoped_identifier name: (identifier) @reference))
(use_list [(identifier) (scoped_identifier)] @reference)
"""

_JAVA = """
(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.record
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(variable_declarator name: (identifier) @name value: (lambda_expression)) @definition.function
(method_invocation name: (identifier) @reference)
(method_invocation object: [(identifier) @reference (field_access field: (identifier) @reference)])
(field_access object: (identifier) @reference)
(object_creation_expression type: (type_identifier) @reference)
(import_declaration (scoped_identifier) @reference)
(superclass (type_identifier) @reference)
"""

_C = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  @definition.function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(call_expression function: (identifier) @reference)
(preproc_include path: (_) @reference)
"""

_BASH = """
(function_definition name: (word) @name) @definition.function
(command name: (command_name (word) @reference))
"""


@dataclass(frozen=True, slots=True)
class _Recipe:
    module: str
    query: str
    function: str = "language"


_RECIPES = {
    "bash": _Recipe("tree_sitter_bash", _BASH),
    "c": _Recipe("tree_sitter_c", _C),
    "go": _Recipe("tree_sitter_go", _GO),
    "java": _Recipe("tree_sitter_java", _JAVA),
    "javascript": _Recipe("tree_sitter_javascript", _JAVASCRIPT + _JAVASCRIPT_FIELDS + _JSX),
    "python": _Recipe("tree_sitter_python", _PYTHON),
    "rust": _Recipe("tree_sitter_rust", _RUST),
    "tsx": _Recipe("tree_sitter_typescript", _JAVASCRIPT + _TYPESCRIPT + _JSX, "language_tsx"),
    "typescript": _Recipe("tree_sitter_typescript", _JAVASCRIPT + _TYPESCRIPT, "language_typescript"),
}


GRAMMAR_PACKAGES = tuple(sorted({recipe.module.replace("_", "-") for recipe in _RECIPES.values()}))


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parser and the query to run on its trees."""

    parser: Parser
    query: Query


@cache
def load_grammar(language: str) -> Grammar | None:
    """Returns the grammar of a language; None for other languages, and if tree-sitter is not installed."""
    recipe = _RECIPES.get(language)
    if recipe is None:
        return None
    try:
        tree_sitter: Any = importlib.import_module("tree_sitter")
        module = importlib.import_module(recipe.module)
    except ImportError:
        return None
    grammar = tree_sitter.Language(getattr(module, recipe.function)())
    return Grammar(tree_sitter.Parser(grammar), tree_sitter.Query(grammar, recipe.query))
