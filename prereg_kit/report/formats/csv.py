"""CSV: one table, RFC 4180, and no cell that a spreadsheet takes for a formula."""

from __future__ import annotations

import re

from prereg_kit.foundation.visible import visible
from prereg_kit.report import tables
from prereg_kit.report.formats.format import ReportFormat
from prereg_kit.report.page import Page

_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII)


def csv_text(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, written so that its text can still be read.

    A leading `=`, `+`, `-`, `@`, tab or line break, also after blanks and also full-width, gets an apostrophe
    before it. A cell that is a number and nothing else is left alone.
    """
    shown = visible(text)
    if _NUMBER.fullmatch(shown):
        return shown
    return "'" + shown if shown.lstrip(" \u00a0")[:1] in _FORMULA and shown.strip() else shown


def csv_field(text: str) -> str:
    """`csv_text` as one RFC 4180 field: always quoted, quotes doubled."""
    return '"' + csv_text(text).replace('"', '""') + '"'


def _context(page: Page, table: str) -> dict[str, object]:
    return {"table": tables.flat(page, table)}


FORMAT = ReportFormat(("csv",), "table.csv.j2", csv_field, _context, line_end="\r\n")  # RFC 4180, section 2
