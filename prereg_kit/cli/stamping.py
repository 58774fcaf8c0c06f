"""Options and steps that `freeze`, `stamp`, `renew` and `amend` share: whom to ask, and how to say what came."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from prereg_kit.errors import UsageError, Where
from prereg_kit.evidence.archive import Frozen, Stamper, Stamps

if TYPE_CHECKING:
    from prereg_kit.evidence.trust import Operator, TrustStore
    from prereg_kit.evidence.tsa import Settings, Source

BANNER = (
    "DEMO LOCAL TSA - NO EVIDENTIAL VALUE: this stamp shows the way and proves nothing about time; "
    "it is never counted."
)
_LOCK = threading.Lock()


def plain(text: str) -> str:
    """Text that may come from a server or a record, with control characters written out."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def say(text: str) -> None:
    """A line of talk on stderr, whole even when several threads talk."""
    with _LOCK:
        sys.stderr.write(plain(text) + "\n")
        sys.stderr.flush()


@dataclass
class Asking:
    """Whom to ask for stamps and how patiently, as the shared options say it."""

    tsas: tuple[str, ...]
    demo_tsa: bool
    trust: tuple[str, ...]
    timeout: float
    attempts: int
    no_revocation: bool

    @functools.cached_property
    def store(self) -> TrustStore:
        """The operators of all layers."""
        from prereg_kit.evidence.trust import TrustStore

        return TrustStore.load(self.trust)

    @functools.cached_property
    def settings(self) -> Settings:
        """Limits and progress lines for the client."""
        from prereg_kit.evidence import tsa

        return tsa.Settings(
            limits=tsa.Limits(idle_s=min(20.0, self.timeout), total_s=self.timeout),
            attempts=self.attempts,
            revocation=not self.no_revocation,
            say=lambda name, text: say(f"  {name}: {text}"),
        )

    @functools.cached_property
    def demo(self) -> Source:
        """The embedded authority, made once per run."""
        from prereg_kit.evidence import tsa
        from prereg_kit.evidence.authority import OPERATOR, URL, DemoAuthority
        from prereg_kit.evidence.trust import Operator

        authority = DemoAuthority.create()

        def send(url: str, body: bytes, limits: tsa.Limits) -> tsa.Answer:
            del url, limits
            return tsa.Answer(200, "application/timestamp-reply", authority.answer(body))

        return tsa.Source(Operator(OPERATOR, url=URL, anchors=(authority.root_pem,)), send, demo=True)

    def operators(self, also: Sequence[str] = ()) -> list[Operator]:
        """The operators named by --tsa and in `also`.

        Raises:
            UsageError: an unknown name, or the same address twice.
        """
        found = [self.store.resolve(given) for given in dict.fromkeys([*self.tsas, *also])]
        if len({operator.url for operator in found}) < len(found):
            raise UsageError(
                "the same authority twice", where=Where(field="--tsa"), found=[o.url for o in found]
            )
        return found

    def stamper(
        self,
        *,
        offline: bool = False,
        query: bytes | None = None,
        also: Sequence[str] = (),
        have: Collection[str] = (),
    ) -> Stamper | None:
        """A stamper, or None if no authority was named.

        Args:
            offline: prepare the queries and ask nobody.
            query: a prepared request to send instead of fresh ones.
            also: authorities named elsewhere, for instance the pending ones of a record.
            have: addresses whose stamp is there already; they are not asked again.

        Raises:
            UsageError: an unknown authority, or `offline` without one that has an address.
        """
        from prereg_kit.evidence import tsa
        from prereg_kit.evidence.authority import URL

        operators = [operator for operator in self.operators(also) if operator.url not in have]
        if offline:
            if self.demo_tsa or not operators:
                raise UsageError("--offline prepares queries for authorities named with --tsa")
            return tsa.prepare(operators)
        sources = [tsa.Source(operator) for operator in operators] + (
            [self.demo] if self.demo_tsa and URL not in have else []
        )
        return tsa.stamper(sources, self.settings, query) if sources else None


def stamping_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options that say whom to ask; the command receives them as one `asking`."""

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
        asking = Asking(tsas, demo_tsa, trust, timeout, attempts, no_revocation)
        function(*args, asking=asking, **kwargs)

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


def outcome(stamps: Stamps, quorum: int) -> tuple[int, str]:
    """The exit code of a round of requests and a sentence for a person.

    0: everything asked for came, or enough of it; 1: some did not come and the rest is below the quorum;
    3: what came could not be checked for want of an anchor.
    """
    counted = {s.operator for s in stamps.done if s.anchor and not s.demo}
    unchecked = {s.operator for s in stamps.done if not s.anchor}
    got, asked = len(stamps.done), len(stamps.done) + len(stamps.pending)
    offline = bool(stamps.pending) and all(p.query for p in stamps.pending)
    if offline:
        return 0, f"{len(stamps.pending)} queries prepared; nobody was asked"
    text = f"{got} of {asked} authorities stamped it; {len(counted)} count towards a quorum of {quorum}"
    if stamps.pending and len(counted) < quorum:
        return 1, text
    if unchecked and len(counted) < quorum:
        return 3, f"{text}; {', '.join(sorted(unchecked))} could not be checked"
    return 0, text


def report(frozen: Frozen) -> dict[str, Any]:
    """What `--json` prints for one document."""
    document, record = frozen.document, frozen.document.record
    return {
        "id": document.id,
        "folder": str(document.folder),
        "document": document.document_path.name,
        "sha256": document.digest,
        "existed": frozen.existed,
        "quorum": record.quorum,
        "stamps": [stamp.model_dump(mode="json", exclude_none=True) for stamp in record.stamps],
        "pending": [item.model_dump(mode="json", exclude_none=True) for item in record.pending],
    }


def show(frozen: Frozen) -> None:
    """The result for a person, on stdout: digest, folder, and what was stamped."""
    document, record = frozen.document, frozen.document.record
    click.echo(f"{document.digest}  {document.document_path.name}")
    click.echo(f"frozen: {document.folder}")
    for stamp in record.stamps:
        kind = (
            " (DEMO, NO EVIDENTIAL VALUE)" if stamp.demo else "" if stamp.anchor else " (anchor not at hand)"
        )
        click.echo(plain(f"stamped by {stamp.operator} at {stamp.gen_time}{kind}"))
    for item in record.pending:
        click.echo(plain(f"missing: {item.operator}; `prereg stamp {document.folder}` asks again"))
