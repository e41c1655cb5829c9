"""Languages of code: their names, annotation marks, and the tree-sitter grammars of those whose structure is read.

In a query `@definition.<node type>` marks what is defined, with `@name` inside it; `@scope` marks what gives a parent
to definitions inside it without being one; `@parent` names a parent that stands beside the definition (a Go receiver);
`@reference` marks names that are used: what is called, imported or inherited, and what a method is called on.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

_CANONICAL = {
    "c++": "cpp",
    "c#": "csharp",
    "console": "bash",
    "cs": "csharp",
    "docker": "dockerfile",
    "ir": "r",
    "ipython": "python",
    "ipython2": "python",
    "ipython3": "python",
    "golang": "go",
    "js": "javascript",
    "jsonc": "json",
    "jsx": "javascript",
    "kt": "kotlin",
    "ksh": "bash",
    "make": "makefile",
    "md": "markdown",
    "node": "javascript",
    "objc": "objective-c",
    "objectivec": "objective-c",
    "ps1": "powershell",
    "py": "python",
    "py3": "python",
    "pycon": "python",
    "pycon3": "python",
    "python3": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "shell-session": "bash",
    "ts": "typescript",
    "yml": "yaml",
    "zsh": "bash",
}
_NO_LANGUAGE = frozenset(
    {
        "",
        "default",
        "ipynb",
        "no-highlight",
        "nohighlight",
        "none",
        "output",
        "plain",
        "plaintext",
        "raw",
        "text",
        "txt",
    }
)
_ANNOTATION = re.compile(r"[ \t]*(?:#|//|--|;|%)[ \t]*\(\d+\)![ \t]*$", re.MULTILINE)
_PREFIXES = ("language-", "lang-", "highlight-", "hl-")


def canonical_language(name: str | None) -> str | None:
    """Returns the one name of a language (`py` → `python`), or None for plain text."""
    lowered = (name or "").strip().lower()
    return None if lowered in _NO_LANGUAGE else _CANONICAL.get(lowered, lowered)


def language_of_classes(classes: str | None) -> str | None:
    """Returns the language that class names such as `language-py` give, or None."""
    for name in (classes or "").split():
        for prefix in _PREFIXES:
            if name.startswith(prefix) and (language := canonical_language(name[len(prefix) :])):
                return language
    return None


def without_annotations(code: str) -> str:
    """Returns code without the annotation marks that leave no trace for the reader: `# (1)!`."""
    return _ANNOTATION.sub("", code) if ")!" in code else code


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
    """Returns the grammar of a language; None for other languages, and where tree-sitter is not installed."""
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
