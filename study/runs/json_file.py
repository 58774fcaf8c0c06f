"""Small JSON records from disk, hostile until shown otherwise; `foundation.strict_json` reads them strictly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prereg_kit.errors import DocumentError, Where
from prereg_kit.foundation.strict_json import read_json_object
from study.errors import ConfigError


def read_json(path: Path, what: str) -> dict[str, Any]:
    """An object from a JSON file: no key twice in an object, no NaN, no infinity.

    Args:
        path: the file.
        what: named in the error.

    Raises:
        FileNotFoundError: there is none.
        ConfigError: it is no regular file, cannot be read, or holds anything but such an object.
    """
    if path.exists() and not path.is_file():
        raise ConfigError(f"{what} is no file", where=Where(file=str(path)), expected="a regular file")
    try:
        return read_json_object(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(
            f"{what} cannot be read", where=Where(file=str(path)), found=error.strerror
        ) from error
    except DocumentError as error:
        raise ConfigError(
            f"{what} cannot be used: {error.problem}",
            where=error.where,
            expected=error.expected or "one JSON object",
            found=error.found,
        ) from error
