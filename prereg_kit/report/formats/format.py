"""What a report format is: its names, its escaping, its template, and what the template gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from prereg_kit.report.page import Page


@dataclass(frozen=True)
class ReportFormat:
    """One format.

    `names` are what the command line takes, the first one the format's own. `escape` makes hostile text safe and is
    applied to every printed expression; where `markup` is set, jinja2 escapes HTML after it. `context` gives the
    template its variables for a page and a table's name. `line_end` ends each line of the output.
    """

    names: tuple[str, ...]
    template: str
    escape: Callable[[str], str]
    context: Callable[[Page, str], Mapping[str, object]]
    markup: bool = False
    line_end: Literal["\n", "\r\n"] = "\n"
