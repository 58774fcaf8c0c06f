"""`prereg trust check`: does every configured authority answer? Needs a network; `make check-tsa` calls it."""

from __future__ import annotations

import json
import sys

import click


@click.command()
@click.argument("names", nargs=-1)
@click.option("--timeout", type=click.FloatRange(0.1, 600), default=30.0, help="Seconds per request in all.")
@click.option("--trust", multiple=True, metavar="DIR", help="A further folder of operators.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(names: tuple[str, ...], timeout: float, trust: tuple[str, ...], as_json: bool) -> None:
    """Ask every configured authority for one stamp over random bytes; needs a network."""
    import secrets

    from prereg_kit.evidence import tsa
    from prereg_kit.evidence.trust import TrustStore
    from prereg_kit.foundation.digest import sha256_bytes

    store = TrustStore.load(trust)
    operators = [store.resolve(name) for name in names] or [o for o in store.operators.values() if o.url]
    settings = tsa.Settings(
        limits=tsa.Limits(idle_s=min(15.0, timeout), total_s=timeout),
        attempts=1,
        revocation=False,
        say=lambda name, text: click.echo(f"  {name}: {text}", err=True),
    )
    digest = sha256_bytes(secrets.token_bytes(32))
    stamps = tsa.stamper([tsa.Source(operator) for operator in operators], settings)(digest)
    good = [stamp for stamp in stamps.done if stamp.anchor and not stamp.demo]
    rows = [{"name": s.operator, "result": "verified" if s in good else "not anchored"} for s in stamps.done]
    rows += [{"name": p.operator, "result": "failed", "problem": p.problem} for p in stamps.pending]
    if as_json:
        click.echo(
            json.dumps({"format": "prereg.trust-check/1", "operators": rows}, indent=2, ensure_ascii=False)
        )
    else:
        for row in rows:
            click.echo(f"{row['name']:<16} {row['result']:<14} {row.get('problem', '')}")
    sys.exit(1 if stamps.pending else 0 if len(good) == len(rows) else 3)
