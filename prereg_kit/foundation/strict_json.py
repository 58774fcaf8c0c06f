"""JSON from elsewhere, read strictly: what two readers could take differently is refused.

Beyond RFC 8259's grammar: no key stands twice in one object (section 4 calls the result unpredictable), and no number
is NaN or infinite (section 6 has no form for them; Python's reader takes them, and turns 1e999 into one). Pure.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import NoReturn

from prereg_kit.errors import DocumentError, Where
from prereg_kit.foundation.text_bytes import read_text

# Only texts that Python's reader has accepted are split with this, so that it need not check the grammar.
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class _RefusedError(ValueError):
    """Python's reader met a repeated key or a number that is not finite; where, it cannot say."""


def read_json(data: bytes, source: str) -> object:
    """The value in a JSON file's bytes.

    Args:
        data: UTF-8, with at most one byte-order mark.
        source: the file's name for errors.

    Returns:
        Objects as dict, arrays as list, numbers as int or finite float.

    Raises:
        DocumentError: not UTF-8, not JSON, nested too deeply (`json`), a key that stands twice (`repeated-key`), or a
            NaN or an infinity (`not-finite`). The line is given, and the field where one is meant.
    """
    text = read_text(data, source)
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
        )
    except _RefusedError as error:
        raise _place(text, source) from error
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"not JSON: {error.msg} at column {error.colno}",
            where=Where(file=source, line=error.lineno),
            found=text[error.pos : error.pos + 20],
            next_step="Restore the file, or mend it where the line says.",
            code="json",
        ) from error
    except RecursionError as error:
        raise DocumentError("JSON nested too deeply", where=Where(file=source), code="json") from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise DocumentError(
            "not acceptable JSON", where=Where(file=source), found=str(error), code="json"
        ) from error


def read_json_object(data: bytes, source: str) -> dict[str, object]:
    """The object in a JSON file's bytes.

    Raises:
        DocumentError: as `read_json`, or another value than an object (`json`).
    """
    value = read_json(data, source)
    if not isinstance(value, dict):
        raise DocumentError(
            "not a JSON object",
            where=Where(file=source, line=1),
            expected="an object, {...}",
            found=type(value).__name__,
            code="json",
        )
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RefusedError
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise _RefusedError(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _RefusedError(text)
    return value


@dataclass
class _Level:
    """One open object or array while the text is walked: the keys so far, and the key or index at hand."""

    is_object: bool
    keys: set[str] = field(default_factory=set)
    here: str | int = 0
    wants_key: bool = True


def _place(text: str, source: str) -> DocumentError:
    """Walk the text once more, to say where the first repeated key or non-finite number stands."""
    levels: list[_Level] = []
    for match in _PIECE.finditer(text):
        piece, level = match[0], levels[-1] if levels else None
        if piece in "{[":
            levels.append(_Level(piece == "{"))
        elif piece in "}]":
            levels.pop()
        elif piece == "," and level is not None:
            if isinstance(level.here, int):
                level.here += 1
            level.wants_key = True
        elif piece.startswith('"'):
            if level is None or not level.is_object or not level.wants_key:
                continue
            level.here, level.wants_key = str(json.loads(piece)), False
            if level.here in level.keys:
                return _refusal(text, match.start(), levels, source, "repeated-key", level.here)
            level.keys.add(level.here)
        elif piece != ":" and not _is_finite(piece):
            return _refusal(text, match.start(), levels, source, "not-finite", piece)
    raise AssertionError("the reader refused a text in which nothing is wrong")


def _is_finite(piece: str) -> bool:
    return piece in ("true", "false", "null") or math.isfinite(float(piece))


def _refusal(text: str, at: int, levels: list[_Level], source: str, code: str, found: str) -> DocumentError:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    problem, expected = {
        "repeated-key": ("a key that stands twice in one object", "each key once"),
        "not-finite": ("a number that is not finite", "a finite number, or null"),
    }[code]
    return DocumentError(
        f"{problem}, at column {column}",
        where=Where(file=source, line=line, field=".".join(str(level.here) for level in levels) or None),
        expected=expected,
        found=found,
        next_step="Nobody can tell which value was meant: mend the file at its source.",
        code=code,
    )
