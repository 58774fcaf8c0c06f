"""The report formats, one module each. A new one is its module, its name in `Format` and its line in `FORMATS`.

    format    what a format is
    markdown, html, latex, csv

A name without its line, or a line without its name, is an error when this package is imported.
"""

from __future__ import annotations

from typing import Literal, get_args

from prereg_kit.errors import UsageError
from prereg_kit.report.formats import csv, html, latex, markdown
from prereg_kit.report.formats.format import ReportFormat

Format = Literal["md", "html", "latex", "csv"]


def complete(names: tuple[Format, ...], *formats: ReportFormat) -> dict[Format, ReportFormat]:
    """Each name with its format.

    Raises:
        TypeError: a name without a format, a format without a name, or two formats of one name.
    """
    own = [made.names[0] for made in formats]
    if sorted(own) != sorted(names):
        raise TypeError(f"formats {sorted(own)} do not match the names {sorted(names)}")
    spelled = [name for made in formats for name in made.names]
    if len(set(spelled)) != len(spelled):
        raise TypeError(f"two formats share a name: {spelled}")
    by_name = {made.names[0]: made for made in formats}
    return {name: by_name[name] for name in names}


FORMATS = complete(get_args(Format), markdown.FORMAT, html.FORMAT, latex.FORMAT, csv.FORMAT)
NAMES = {spelled: name for name, made in FORMATS.items() for spelled in made.names}
"""Every spelling that the command line takes, and the format's own name."""


def own_name(name: str) -> Format:
    """The format's own name for a name or one of its other spellings.

    Raises:
        UsageError: no such format; the names are listed.
    """
    if name not in NAMES:
        raise UsageError("unknown format", expected=", ".join(NAMES), found=name)
    return NAMES[name]


def named(name: str) -> ReportFormat:
    """The format of a name.

    Raises:
        UsageError: no such format; the names are listed.
    """
    return FORMATS[own_name(name)]
