"""Small JSON records from disk, hostile until shown otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prereg_kit.errors import Where
from study.errors import ConfigError


def read_json(path: Path, what: str) -> dict[str, Any]:
    """An object from a JSON file.

    Args:
        path: the file.
        what: named in the error.

    Raises:
        FileNotFoundError: there is none.
        ConfigError: it is no regular file, cannot be read, or holds anything but an object.
    """
    if path.exists() and not path.is_file():
        raise ConfigError(f"{what} is no file", where=Where(file=str(path)), expected="a regular file")
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(
            f"{what} cannot be read", where=Where(file=str(path)), found=error.strerror
        ) from error
    except (ValueError, RecursionError) as error:
        found = "nesting too deep" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(
            f"{what} is not JSON", where=Where(file=str(path)), expected="an object", found=found
        ) from error
    if not isinstance(value, dict):
        raise ConfigError(
            f"{what} is no object",
            where=Where(file=str(path)),
            expected="an object",
            found=type(value).__name__,
        )
    return value
