"""Languages of code blocks whose HTML does not tell them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import replace

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.markdown_source import Fence

__all__ = ["FenceLanguages"]


class FenceLanguages:
    """Finds the fence of a code block in the Markdown source by the first two lines of its code.

    `pymdownx.highlight` without `pygments_lang_class` leaves no language in the HTML.
    """

    def __init__(self, fences: Iterable[Fence]) -> None:
        self._known: dict[tuple[str, ...], deque[str | None]] = defaultdict(deque)
        for fence in fences:
            self._known[fence.first_lines].append(fence.language)

    def restore(self, block: Block) -> Block:
        """Returns a block with its language; to be called with the blocks of a page in order."""
        if block.kind != "code":
            return block
        lines = (line for line in block.text.split("\n") if line.strip())
        key = tuple("".join(line.split()) for _, line in zip(range(2), lines, strict=False))
        languages = self._known.get(key)
        if not languages:
            return block
        language = languages.popleft() if len(languages) > 1 else languages[0]
        return block if block.language or not language else replace(block, language=language)
