"""`prereg tsa serve`: the embedded demo authority over HTTP, on the loopback address."""

from __future__ import annotations

import json
from pathlib import Path

import click

from prereg_kit.cli.stamping import say


@click.group()
def command() -> None:
    """Serve the embedded demo authority."""


@command.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 picks a free port.")
@click.option(
    "--root-out", type=click.Path(dir_okay=False), help="Write this run's root certificate (PEM) here."
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def serve(port: int, root_out: str | None, as_json: bool) -> None:
    """Answer timestamp requests on 127.0.0.1 until interrupted.

    The keys are made for this run and never stored; the tokens carry the demo marks and are never evidence.
    """
    from prereg_kit.evidence.authority import DemoAuthority, loopback_server
    from prereg_kit.foundation.durable import write_bytes
    from prereg_kit.operations.authorities import DEMO_BANNER

    authority = DemoAuthority.create()
    server = loopback_server(authority, port)
    if root_out:
        write_bytes(Path(root_out), authority.root_pem)
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    say(DEMO_BANNER)
    click.echo(
        json.dumps({"format": "prereg.tsa-serve/1", "url": url, "root_sha256": authority.root_sha256})
    ) if as_json else click.echo(url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        server.server_close()
