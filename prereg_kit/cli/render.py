"""`prereg render`: verdicts.json as Markdown, one HTML page, LaTeX or CSV. Nothing is recomputed."""

from __future__ import annotations

from pathlib import Path

import click

from prereg_kit.cli import dialect


@click.command(name="render")
@click.argument("verdicts_file", metavar="VERDICTS", type=dialect.PATH)
@click.option(
    "--format",
    "output",
    default="md",
    show_default=True,
    help="md, html, latex or csv; markdown and tex are known too.",
)
@click.option("--out", type=dialect.PATH, help="Write FILE instead of stdout; never overwritten.")
@click.option("--template", type=dialect.PATH, help="A jinja2 template of yours, run in a sandbox.")
@click.option("--title", help="The title; default: from the plan.")
@click.option("--table", default="outcomes", show_default=True, help="With csv: which table.")
@dialect.json_option("Print prereg.render/1 around the text, or about FILE.")
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
    from prereg_kit.foundation.digest import sha256_bytes
    from prereg_kit.foundation.durable import write_bytes
    from prereg_kit.operations.render import render
    from prereg_kit.report import own_name

    chosen = own_name(output)
    data = render(verdicts_file, chosen, title=title, table=table, template=template).encode()
    digest = sha256_bytes(data)
    if out is not None:
        write_bytes(out, data)
        dialect.talk(f"wrote {out} ({len(data)} bytes, sha256 {digest})")
    if as_json:
        about = {"format": "prereg.render/1", "as": chosen, "source": str(verdicts_file), "sha256": digest}
        body = {"text": data.decode()} if out is None else {"out": str(out)}
        dialect.print_json({**about, "bytes": len(data), **body})
    elif out is None:
        click.echo(data, nl=False)
