"""Hostile text made visible: what a terminal would obey, or a reader would not see, is written out. Pure."""

from __future__ import annotations

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
        f"[U+{ord(c):04X}]" if c not in "\t\n\r" and unicodedata.category(c) in _HIDDEN else c for c in text
    )


def terminal_line(text: str) -> str:
    """`text` as one line of a terminal: `visible`, breaks and tabs become a space, blanks at the start stay."""
    return visible(_BREAKS.sub(" ", text))
