"""Tables as rows of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.html.inline_text import flat_text, is_dropped

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["is_code_table", "table_block"]

_ROW_GROUPS = ("thead", "tbody", "tfoot")


def is_code_table(tag: str, attributes: dict[str, str | None]) -> bool:
    """Tells whether a table only sets line numbers beside code."""
    if tag != "table":
        return False
    classes = (attributes.get("class") or "").split()
    return "highlighttable" in classes or "codehilitetable" in classes or "rouge-table" in classes


def table_block(table: LexborNode) -> list[Block]:
    """Returns a table as rows `| a | b |`, after its caption; a table without any text gives nothing."""
    found: list[Block] = []
    header = ""
    rows: list[str] = []
    for kind, node in _rows(table):
        if kind == "caption":
            if caption := flat_text(node):
                found.append(Block("text", caption, leads=True))
            continue
        cells = _cells(node)
        if not any(text for _, text in cells):
            continue
        row = "| " + " | ".join(text for _, text in cells) + " |"
        if not rows and not header and (kind == "thead" or all(tag == "th" for tag, _ in cells)):
            header = row
        else:
            rows.append(row)
    if header or rows:
        found.append(Block("table", "\n".join(([header] if header else []) + rows), header=header if rows else ""))
    return found


def _rows(table: LexborNode) -> list[tuple[str, LexborNode]]:
    """Rows of the table itself (not of tables inside it) with the name of their group; captions too."""
    rows: list[tuple[str, LexborNode]] = []
    for child in table.iter():
        tag = child.tag or ""
        if tag in ("caption", "tr"):
            rows.append((tag, child))
        elif tag in _ROW_GROUPS and not is_dropped(tag, child.attributes):
            rows.extend((tag, row) for row in child.iter() if row.tag == "tr")
    return [(kind, row) for kind, row in rows if not is_dropped(kind, row.attributes)]


def _cells(row: LexborNode) -> list[tuple[str, str]]:
    """Tag and text of a row's cells."""
    cells = (cell for cell in row.iter() if cell.tag in ("td", "th"))
    return [(cell.tag or "td", flat_text(cell)) for cell in cells if not is_dropped(cell.tag or "td", cell.attributes)]
