"""`prereg render`: verdicts.json as Markdown, one HTML page, LaTeX or CSV. Nothing is recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from prereg_kit.report import Format

_ALIASES = {"markdown": "md", "tex": "latex"}


@click.command(name="render")
@click.argument("verdicts_file", metavar="VERDICTS", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "output",
    default="md",
    show_default=True,
    type=click.Choice(["md", "markdown", "html", "latex", "tex", "csv"]),
    help="The form of the output.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write FILE instead of stdout; never overwritten."
)
@click.option(
    "--template", type=click.Path(path_type=Path), help="A jinja2 template of yours, run in a sandbox."
)
@click.option("--title", help="The title; default: from the plan.")
@click.option("--table", default="outcomes", show_default=True, help="With csv: which table.")
@click.option("--json", "as_json", is_flag=True, help="Print prereg.render/1 around the text, or about FILE.")
def command(
    *,
    verdicts_file: Path,
    output: str,
    out: Path | None,
    template: Path | None,
    title: str | None,
    table: str,
    as_json: bool,
) -> None:
    """Render VERDICTS, the verdicts.json that `prereg decide --out DIR` writes.

    Exit codes: 0 rendered; 1 the file, or the template, was refused; 2 usage; 3 the file is absent.
    """
    from prereg_kit.foundation.digest import readable_json, sha256_bytes
    from prereg_kit.foundation.durable import write_bytes
    from prereg_kit.operations.render import render

    chosen: Format = _ALIASES.get(output, output)  # type: ignore[assignment]
    text = render(verdicts_file, chosen, title=title, table=table, template=template)
    data = text.encode()
    if out is not None:
        write_bytes(out, data)
        click.echo(f"wrote {out} ({len(data)} bytes, sha256 {sha256_bytes(data)})", err=True)
    if as_json:
        about = {
            "format": "prereg.render/1",
            "as": chosen,
            "source": str(verdicts_file),
            "sha256": sha256_bytes(data),
        }
        body = {"text": text} if out is None else {"out": str(out)}
        click.echo(readable_json({**about, "bytes": len(data), **body}), nl=False)
    elif out is None:
        click.echo(data, nl=False)
