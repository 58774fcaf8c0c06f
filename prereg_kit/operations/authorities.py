"""Whom to ask for stamps, and what a round of requests brought; `freeze`, `stamp`, `amend` and `renew` share it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prereg_kit.errors import UsageError, Where
from prereg_kit.evidence.archive import Stamper, Stamps

if TYPE_CHECKING:
    from datetime import timedelta

    from prereg_kit.evidence.trust import Operator, TrustStore
    from prereg_kit.evidence.tsa import Settings, Source

Say = Callable[[str], None]
"""Takes one line of talk for a person; called from several threads at once."""

DEMO_BANNER = (
    "DEMO LOCAL TSA - NO EVIDENTIAL VALUE: this stamp shows the way and proves nothing about time; "
    "it is never counted."
)


def silent(text: str) -> None:
    """Say nothing: the default for a caller that reads the result."""
    del text


@dataclass(frozen=True)
class Authorities:
    """Timestamping authorities to ask.

    Attributes:
        names: operators of the trust store, or http(s) addresses.
        demo: ask the embedded demo authority as well, whose stamps are never counted.
        trust: further folders of operators with their anchors.
        timeout_s: seconds for one request in all.
        attempts: requests per authority, each with a new nonce.
        revocation: fetch CRLs and OCSP answers too.
        say: gets a line of progress per authority.
    """

    names: tuple[str, ...] = ()
    demo: bool = False
    trust: tuple[str | Path, ...] = ()
    timeout_s: float = 60.0
    attempts: int = 3
    revocation: bool = True
    say: Say = field(default_factory=lambda: silent)

    @property
    def empty(self) -> bool:
        """True if nobody is named."""
        return not self.names and not self.demo

    @functools.cached_property
    def store(self) -> TrustStore:
        """The operators of all layers."""
        from prereg_kit.evidence.trust import TrustStore

        return TrustStore.load(self.trust)

    def settings(self, accuracy_limit: timedelta | None = None) -> Settings:
        """Limits for the client; `accuracy_limit` is what a plan asks of its tokens, None if it says nothing."""
        from prereg_kit.evidence import tsa

        return tsa.Settings(
            limits=tsa.Limits(idle_s=min(20.0, self.timeout_s), total_s=self.timeout_s),
            attempts=self.attempts,
            revocation=self.revocation,
            say=lambda name, text: self.say(f"  {name}: {text}"),
            accuracy_limit=accuracy_limit,
        )

    @functools.cached_property
    def _demo_source(self) -> Source:
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
        """The operators that are named here and in `also`.

        Raises:
            UsageError: an unknown name, or the same address twice.
        """
        found = [self.store.resolve(given) for given in dict.fromkeys([*self.names, *also])]
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
        accuracy_limit: timedelta | None = None,
    ) -> Stamper | None:
        """A function that asks for stamps, or None if nobody is left to ask.

        Args:
            offline: prepare the queries and ask nobody.
            query: a prepared request to send instead of fresh ones.
            also: authorities named elsewhere, for instance the pending ones of a record.
            have: addresses whose stamp is there already; they are not asked again.
            accuracy_limit: the widest accuracy that the plan accepts; None if it says nothing.

        Raises:
            UsageError: an unknown authority, or `offline` without one that has an address.
        """
        from prereg_kit.evidence import tsa
        from prereg_kit.evidence.authority import URL

        operators = [operator for operator in self.operators(also) if operator.url not in have]
        if offline:
            if self.demo or not operators:
                raise UsageError("--offline prepares queries for authorities named with --tsa")
            return tsa.prepare(operators)
        sources = [tsa.Source(operator) for operator in operators]
        if self.demo and URL not in have:
            sources.append(self._demo_source)
        return tsa.stamper(sources, self.settings(accuracy_limit), query) if sources else None


@dataclass(frozen=True)
class Round:
    """What a round of requests brought, against the number of operators that the record asks for."""

    stamps: Stamps
    quorum: int

    @property
    def counted(self) -> frozenset[str]:
        """Operators whose stamp was verified up to a pinned anchor, without the demo authority."""
        return frozenset(stamp.operator for stamp in self.stamps.done if stamp.anchor and not stamp.demo)

    @property
    def _unchecked(self) -> frozenset[str]:
        return frozenset(stamp.operator for stamp in self.stamps.done if not stamp.anchor)

    @property
    def _prepared_only(self) -> bool:
        return bool(self.stamps.pending) and all(item.query for item in self.stamps.pending)

    @property
    def exit_code(self) -> int:
        """0: all that was asked for came, or enough. 1: some is missing and the rest is below the quorum.

        3: what came could not be checked for want of an anchor.
        """
        if self._prepared_only or len(self.counted) >= self.quorum:
            return 0
        return 1 if self.stamps.pending else 3 if self._unchecked else 0

    @property
    def sentence(self) -> str:
        """The result for a person."""
        done, pending = self.stamps.done, self.stamps.pending
        if self._prepared_only:
            return f"{len(pending)} queries prepared; nobody was asked"
        text = f"{len(done)} of {len(done) + len(pending)} authorities stamped it"
        text += f"; {len(self.counted)} count towards a quorum of {self.quorum}"
        if self.exit_code == 3:
            text += f"; {', '.join(sorted(self._unchecked))} could not be checked"
        return text
