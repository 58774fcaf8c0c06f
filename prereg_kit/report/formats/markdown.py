"""Markdown: CommonMark with GitHub's extensions."""

from __future__ import annotations

import re

from prereg_kit.foundation.visible import one_line, visible
from prereg_kit.report import tables
from prereg_kit.report.formats.format import ReportFormat
from prereg_kit.report.page import Page

_MD_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", "|": "\\|", "$": "&#36;", "@": "&#64;", "\\": "\\\\"}
    | {c: "\\" + c for c in "`~"}
)
_MD_FLANKING = re.compile(r"\*(?=\S)|(?<=\S)\*")
_MD_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_MD_BRACKET = re.compile(r"^\[|\](?=[\[(:])")
_MD_LINKS = re.compile(r":(?=//)|:(?=(?:[a-z+-][\w+-]*|100|1234):)|(?<=\bwww)\.", re.IGNORECASE)
_MD_BLOCK = re.compile(r"^(?:((?:#+|[-+=]+)(?=\s)|>)|(\d+)([.)])(?=\s))")


def _md_block(match: re.Match[str]) -> str:
    return "\\" + match[1] if match[1] else f"{match[2]}\\{match[3]}"


def markdown(text: str) -> str:
    """`text` as inline CommonMark with GitHub's extensions: no markup, link, mention, formula or row break.

    A `*` between blanks, a `_` inside a word and brackets that no link can start from are left as they are, so
    that `{{ 7 * 7 }}` and `[-0.0039, +0.0779]` stay.
    """
    line = one_line(visible(text)).translate(_MD_ENTITIES)
    line = _MD_FLANKING.sub(r"\\*", line)
    line = _MD_UNDERSCORE.sub(r"\\_", line)
    line = _MD_BRACKET.sub(r"\\\g<0>", line)
    line = _MD_LINKS.sub(lambda m: f"&#{ord(m[0])};", line)
    return _MD_BLOCK.sub(_md_block, line)


def _context(page: Page, _table: str) -> dict[str, object]:
    return {"page": page, "tables": tables.all_tables(page)}


FORMAT = ReportFormat(("md", "markdown"), "page.md.j2", markdown, _context)
