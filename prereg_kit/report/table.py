"""A table of plain text, before any format's escaping."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column: its heading and its share of the text width in hundredths (LaTeX)."""

    heading: str
    width: int


@dataclass(frozen=True)
class Table:
    """A table of plain text; every row has as many cells as there are columns."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), self.name
