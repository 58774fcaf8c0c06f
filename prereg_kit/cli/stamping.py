"""What `freeze`, `stamp`, `renew` and `amend` share on the command line: the options, and how a result is printed."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from prereg_kit.foundation.digest import readable_json
from prereg_kit.foundation.visible import terminal_line

if TYPE_CHECKING:
    from prereg_kit.operations.freeze import FreezeResult
    from prereg_kit.operations.renew import Refusal

_LOCK = threading.Lock()


def say(text: str) -> None:
    """A line of talk on stderr, whole even when several threads talk."""
    with _LOCK:
        sys.stderr.write(terminal_line(text) + "\n")
        sys.stderr.flush()


def stamping_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options that say whom to ask; the command receives them as one `authorities`."""

    @functools.wraps(function)
    def wrapped(
        *args: object,
        tsas: tuple[str, ...],
        demo_tsa: bool,
        trust: tuple[str, ...],
        timeout: float,
        attempts: int,
        no_revocation: bool,
        **kwargs: object,
    ) -> None:
        from prereg_kit.operations.authorities import Authorities

        authorities = Authorities(tsas, demo_tsa, trust, timeout, attempts, not no_revocation, say)
        function(*args, authorities=authorities, **kwargs)

    options = [
        click.option(
            "--tsa", "tsas", multiple=True, metavar="NAME_OR_URL", help="Ask this authority (repeatable)."
        ),
        click.option(
            "--demo-tsa", is_flag=True, help="Use the embedded demo authority: no evidential value."
        ),
        click.option(
            "--trust", multiple=True, metavar="DIR", help="A folder of operators with their anchors."
        ),
        click.option(
            "--timeout", type=click.FloatRange(0.1, 600), default=60.0, help="Seconds per request in all."
        ),
        click.option("--attempts", type=click.IntRange(1, 10), default=3, help="Requests per authority."),
        click.option("--no-revocation", is_flag=True, help="Do not fetch CRLs and OCSP answers."),
    ]
    return functools.reduce(lambda inner, option: option(inner), reversed(options), wrapped)


def print_results(results: Sequence[FreezeResult], refused: Sequence[Refusal], *, as_json: bool) -> None:
    """Results on stdout, refusals on stderr; with `as_json` both as one `prereg.freeze-report/1`."""
    for each in refused:
        say(f"prereg: {each.error}")
    if as_json:
        value = {
            "format": "prereg.freeze-report/1",
            "documents": [result.report().model_dump(mode="json", exclude_none=True) for result in results],
            "refused": [
                {"file": each.name, "problem": str(each.error), "code": each.error.code} for each in refused
            ],
        }
        click.echo(readable_json(value), nl=False)
        return
    for result in results:
        print_result(result)


def print_result(result: FreezeResult) -> None:
    """One result for a person, on stdout: digest, folder, and what was stamped."""
    document, record = result.document, result.document.record
    click.echo(terminal_line(f"{document.digest}  {document.document_path.name}"))
    click.echo(terminal_line(f"frozen: {document.folder}"))
    for stamp in record.stamps:
        kind = (
            " (DEMO, NO EVIDENTIAL VALUE)" if stamp.demo else "" if stamp.anchor else " (anchor not at hand)"
        )
        click.echo(terminal_line(f"stamped by {stamp.operator} at {stamp.gen_time}{kind}"))
    for item in record.pending:
        click.echo(terminal_line(f"missing: {item.operator}; `prereg stamp {document.folder}` asks again"))
