"""A command group whose verbs are imported only when they are called: `--help` costs a table look-up.

`run` is the net below every verb: whatever happens, a user reads one line and never a traceback, unless the
environment variable PREREG_DEBUG is 1.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import click

from prereg_kit.errors import PreregError
from prereg_kit.foundation.visible import ERRORS, terminal_line

DEBUG = "PREREG_DEBUG"
READER_GONE = 141
"""128 + SIGPIPE, as any Unix filter ends: 0 would say that everything was printed, 1 that a check failed."""
_UNREACHABLE = frozenset({
    errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EIO,
    errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.EMFILE, errno.ENFILE,
})  # fmt: skip
"""Errors after which nothing was checked (exit code 3); any other refusal of the system exits 1."""


class _ReaderGoneError(Exception):
    """Whoever read our output ended. Not an OSError, since click answers those itself, with exit code 1."""


@contextmanager
def _telling_pipes() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGoneError from error


class LazyGroup(click.Group):
    """A click group that knows each verb's module and one-line help without importing it.

    Args:
        verbs: verb -> (module that defines `command`, one-line help).
    """

    def __init__(self, *args: Any, verbs: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._verbs = dict(verbs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the table, which is the order of a study's life."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module, or None if there is no such verb."""
        if cmd_name not in self._verbs:
            return None
        command: click.Command = importlib.import_module(self._verbs[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of verbs without loading any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_, text) in self._verbs.items()])

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401
        """As click does; `--help` prints here."""
        with _telling_pipes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """As click does."""
        with _telling_pipes():
            return super().invoke(ctx)


def run(group: click.Group, name: str) -> None:
    """Run a command group as a program: every error becomes one line on stderr and an exit code.

    Exit codes: 0 done, 1 checked and fails, 2 usage, 3 not checked, 130 interrupted, 141 the reader of the output
    ended. A refusal of the system is 3 where something could not be reached and 1 otherwise, for instance a full
    disk; an error that nobody foresaw is 3, since whatever was being checked was not.
    """
    _write_what_the_terminal_lacks()
    try:
        try:
            result = group.main(prog_name=name, standalone_mode=False)
            code: int | str | None = result if isinstance(result, int) else 0
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):
                raise error.__context__ from None  # rich ends the program itself, with 1
            code = error.code
        sys.stdout.flush()  # a full disk behind `>` shows here at the latest
    except BaseException as error:
        if os.environ.get(DEBUG) == "1" and not isinstance(error, click.ClickException | PreregError):
            raise
        code = _told(error, name)
        _silence()
    sys.exit(code)


def _write_what_the_terminal_lacks() -> None:
    """Let stdout and stderr write a character that their encoding lacks in ASCII, and not end midway."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def _told(error: BaseException, name: str) -> int:
    """Say an error in one line on stderr; its exit code."""
    if isinstance(error, click.ClickException):
        with suppress(OSError):
            error.show()
        return error.exit_code
    if isinstance(error, _ReaderGoneError | BrokenPipeError):
        return READER_GONE
    code, text = _in_words(error)
    with suppress(OSError):
        click.echo(f"{name}: {terminal_line(text)}", err=True)
    return code


def _in_words(error: BaseException) -> tuple[int, str]:
    if isinstance(error, PreregError):
        return error.exit_code, str(error)
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        return 130, "interrupted; nothing half-written was kept"
    if isinstance(error, OSError):
        place = _place(error)
        said = error.strerror or str(error) or type(error).__name__
        return 3 if error.errno in _UNREACHABLE else 1, f"{place}: {said}" if place else said
    if isinstance(error, MemoryError):
        return 1, "not enough memory for this input; nothing was decided"
    if isinstance(error, RecursionError):
        return 1, "the input is nested too deeply; nothing was decided"
    if isinstance(error, UnicodeEncodeError):
        text = str(error.object)[max(0, error.start - 20) : error.end + 20]
        return 1, f"a name or a text that is not Unicode cannot be written: {text!r}. Rename the file."
    return 3, (
        f"an error that this program did not foresee: {type(error).__name__}: {error}. "
        f"Please report it; with {DEBUG}=1 it shows where it happened"
    )


def _place(error: OSError) -> str:
    names = [each for each in (error.filename, error.filename2) if each is not None]
    return " -> ".join(os.fsdecode(each) if isinstance(each, bytes) else str(each) for each in names)


def _silence() -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush raises no second error."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
