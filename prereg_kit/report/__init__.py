"""Reports: `prereg.verdicts/1` as Markdown, one self-contained HTML page, LaTeX or CSV; nothing is recomputed.

    rounding        one rule for every printed number
    words           outcomes and standing sentences
    interval_words  how an interval was made
    spread          many values: a summary and a histogram
    clause_lines    one criterion: what was found, its bound, its margin
    qualifications  what a reader must know before believing an outcome
    outcome_rows    one hypothesis as words and printed numbers
    page            everything that a format prints, laid out
    tables          the tables that the formats share; `flat_outcomes` those for a spreadsheet
    geometry        positions for the plots of the page
    formats         one module for each format: escaping, template, variables
    environment     the jinja2 environments; escaping always on
    sandbox         templates that came from elsewhere, in a bounded child process

This package owns jinja2. `load` reads a file, `render` is pure.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prereg_kit.decision.verdict import Verdicts
from prereg_kit.decision.verdict import read as read_verdicts
from prereg_kit.errors import DocumentError, NotCheckedError, UsageError, Where
from prereg_kit.report.formats import FORMATS, Format, named, own_name
from prereg_kit.report.page import build
from prereg_kit.report.tables import NAMES as TABLES

__all__ = ["FORMATS", "MAX_BYTES", "TABLES", "Format", "load", "own_name", "render"]

MAX_BYTES = 64 << 20


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def load(path: Path) -> Verdicts:
    """Verdicts from a file.

    Raises:
        NotCheckedError: the file is absent or cannot be read.
        DocumentError: not UTF-8, not JSON, a repeated key, over 64 MiB, another format, a field that does not
            fit, or a NaN or an infinity (the field is named).
    """
    where = Where(file=str(path))
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DocumentError(
                "too large for a verdicts file", where=where, expected=f"at most {MAX_BYTES} bytes"
            )
        data = path.read_bytes()
    except OSError as error:
        raise NotCheckedError(
            f"the verdicts file cannot be read ({error.strerror})",
            where=where,
            next_step="`prereg decide --out DIR` writes verdicts.json.",
        ) from error
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise DocumentError("not UTF-8", where=where, found=data[error.start : error.start + 8]) from error
    except json.JSONDecodeError as error:
        place = Where(file=str(path), line=error.lineno)
        raise DocumentError(f"not JSON: {error.msg} at column {error.colno}", where=place) from error
    except RecursionError as error:
        raise DocumentError("JSON nested too deeply", where=where) from error
    except ValueError as error:
        raise DocumentError(f"not acceptable JSON: {error}", where=where) from error
    return read_verdicts(value, str(path))


def render(
    verdicts: Verdicts,
    format: Format = "md",
    *,
    title: str | None = None,
    table: str = "outcomes",
) -> str:
    """Verdicts as text in one format.

    Args:
        verdicts: what `decide` wrote.
        format: `md`, `html` (one self-contained page), `latex` (a document that compiles) or `csv` (one table).
        title: the page's title; default: from the plan.
        table: for `csv`, which table (`TABLES`).

    Raises:
        UsageError: an unknown format or table.
    """
    from prereg_kit.report import environment

    chosen = named(format)
    if table not in TABLES:
        raise UsageError("unknown table", expected=", ".join(TABLES), found=table)
    return environment.write(build(verdicts, title), chosen, table)
