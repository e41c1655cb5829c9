"""What the code of a chunk defines and uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mkdocs_semsearch.chunking.blocks import Block

__all__ = ["CodeStructure", "structure_of"]


@dataclass(frozen=True, slots=True)
class CodeStructure:
    """Fields of `Chunk` with the same names."""

    node_type: str | None = None
    node_name: str | None = None
    parent_context: str | None = None
    scope_path: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def structure_of(blocks: Iterable[Block]) -> CodeStructure:
    """Returns what the code blocks define and use."""
    return CodeStructure()
