"""Hostile text made visible: what a terminal would obey, or a reader would not see, is written out. Pure."""

from __future__ import annotations

import codecs
import re
import unicodedata

# Cc and Cf hold ESC (terminal control), NUL, direction overrides and zero-width marks; Cs cannot be encoded.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SPACES = re.compile(r"[\s\x85\u2028\u2029]+")
_BREAKS = re.compile(r"[\t\n\r]+")


def one_line(text: str) -> str:
    """Line breaks, tabs and runs of blanks become one space each; ends are trimmed."""
    return _SPACES.sub(" ", text).strip()


def hidden(text: str) -> list[str]:
    """The invisible or direction-changing characters in `text`, as `U+202E`, without line breaks and tabs."""
    found = dict.fromkeys(c for c in text if c not in "\t\n\r" and unicodedata.category(c) in _HIDDEN)
    return [f"U+{ord(c):04X}" for c in found]


def visible(text: str) -> str:
    """`text` with every control, direction or zero-width character written out as `[U+202E]`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _written_out(c) if c not in "\t\n\r" and unicodedata.category(c) in _HIDDEN else c for c in text
    )


def _written_out(c: str) -> str:
    return f"[U+{ord(c):04X}]"


def terminal_line(text: str) -> str:
    """`text` as one line of a terminal: `visible`, breaks and tabs become a space, blanks at the start stay."""
    return visible(_BREAKS.sub(" ", text))


_PLAIN = {
    "\u2713": "+", "\u2717": "x", "\u2248": "~", "\u2205": "0", "\u25cb": "o", "\u00b7": "-", "\u2026": "...",
    "\u2265": ">=", "\u2264": "<=", "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00d7": "x", "\u00b1": "+-",
    "\u2192": "->", "\u2190": "<-", "\u00a0": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"',
    "\u00b5": "u", "\u00b2": "2",
}  # fmt: skip
ERRORS = "prereg-visible"
"""The name of the codec error handler that `as_encodable` is; for streams of a terminal."""


def as_encodable(text: str, encoding: str) -> str:
    """`text` with each character that `encoding` lacks in ASCII: `>=` for the sign, `[U+4E2D]` where none is known."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, ERRORS).decode(encoding)
    except LookupError:
        return as_encodable(text, "ascii")
    return text


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or _written_out(c) for c in lacking), error.end


codecs.register_error(ERRORS, _replaced)
