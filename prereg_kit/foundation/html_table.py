"""A plain HTML table for notebooks: every text is made visible and escaped. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from prereg_kit.foundation.visible import visible


def table(headings: Sequence[str], rows: Iterable[Sequence[Sequence[str]]]) -> str:
    """An HTML table; a cell is one or more lines of text, each escaped."""
    head = "".join(f'<th style="text-align:left">{safe(name)}</th>' for name in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left;vertical-align:top">{_cell(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )  # fmt: skip
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(lines: Sequence[str]) -> str:
    first, *others = lines
    return safe(first) + "".join(f"<br><small>{safe(line)}</small>" for line in others if line)


def safe(text: str) -> str:
    """Hostile text as text in HTML."""
    return html.escape(visible(text))
