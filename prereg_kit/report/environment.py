"""The jinja2 environments, one per output format: escaping is chosen by the format's name and is always on.

HTML uses automatic escaping. The other formats escape in `finalize`, which jinja2 applies to every printed
expression and to none of the template's own text. No template of ours marks data as safe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from prereg_kit.report import escape
from prereg_kit.report.escape import Format

_ESCAPERS: dict[str, Callable[[str], str]] = {
    "md": escape.markdown,
    "latex": escape.latex,
    "csv": escape.csv_field,
}


def finalizer(output: Format) -> Callable[[Any], Any]:
    """What every printed expression passes through in this format."""
    if output == "html":
        return _html
    escaper = _ESCAPERS[output]
    return lambda value: (
        value if _is_undefined(value) else escaper(value if isinstance(value, str) else str(value))
    )


def _is_undefined(value: Any) -> bool:  # noqa: ANN401 - whatever a template prints
    return isinstance(value, StrictUndefined)


def _html(value: Any) -> Any:  # noqa: ANN401
    # A Markup value was made by escaping already; only text that is still data is cleaned.
    return escape.html_text(value) if type(value) is str else value


def environment(output: Format) -> Environment:
    """The environment for our own templates in one format."""
    return Environment(
        loader=PackageLoader("prereg_kit.report", "templates"),
        autoescape=output == "html",  # noqa: S701 - the other formats escape in finalize
        finalize=finalizer(output),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\r\n" if output == "csv" else "\n",  # RFC 4180, section 2
    )


def sandbox(output: Format) -> ImmutableSandboxedEnvironment:
    """The environment for a template that came from elsewhere: no attributes of Python, no files, no chance."""
    made = ImmutableSandboxedEnvironment(
        autoescape=output == "html",
        finalize=finalizer(output),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    for name in ("lipsum", "cycler", "joiner"):
        made.globals.pop(name, None)
    for name in ("random", "safe"):  # chance, and a way around the escaping
        made.filters.pop(name, None)
    return made
