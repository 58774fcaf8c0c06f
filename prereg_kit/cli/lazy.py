"""A command group whose verbs are imported only when they are called: `--help` costs a table look-up."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import click

from prereg_kit.errors import PreregError


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


def run(group: click.Group, name: str) -> None:
    """Run a command group as a program: errors of ours become one line on stderr and an exit code.

    Exit codes: 0 done, 1 checked and fails, 2 usage, 3 not checked, 130 interrupted.
    """
    try:
        result = group.main(prog_name=name, standalone_mode=False)
    except click.exceptions.Abort:
        click.echo(f"{name}: interrupted; nothing half-written was kept", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PreregError as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)
