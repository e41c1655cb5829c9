"""What authors write at code: names of languages, brought to one name each, and annotation marks."""

from __future__ import annotations

import re

__all__ = ["canonical_language", "language_of_classes", "without_annotations"]

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
