"""How every verb of `prereg` and `study` speaks: stdout is data, stderr is talk, JSON has one writer.

A verb returns its exit code (None counts as 0) and never ends the program itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from prereg_kit.foundation.digest import readable_json
from prereg_kit.foundation.visible import terminal_line

_Command = TypeVar("_Command", bound=Callable[..., Any])
_LOCK = threading.Lock()

PATH = click.Path(path_type=Path)
"""A file or a folder; the verb's reader says what is wrong with it, with its own exit code."""


def json_option(words: str) -> Callable[[_Command], _Command]:
    """The option `--json`, which a verb receives as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=words)


def root_option() -> Callable[[_Command], _Command]:
    """The option `--root`, which a verb receives as `root`."""
    return click.option("--root", type=PATH, help="The repository with frozen/ and amendments/.")


def print_json(value: object) -> None:
    """One JSON value on stdout: UTF-8 whatever the terminal's encoding, keys in the given order.

    Raises:
        ValueError: a NaN or an infinity, which JSON cannot carry.
    """
    click.echo(readable_json(value), nl=False)


def data(text: str) -> None:
    """One line of a result on stdout; hostile characters are written out, blanks at the start stay."""
    click.echo(terminal_line(text))


def talk(text: str) -> None:
    """One line of talk on stderr, whole even where several threads talk."""
    with _LOCK:
        sys.stderr.write(terminal_line(text) + "\n")
        sys.stderr.flush()
