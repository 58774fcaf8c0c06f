"""Asking authorities for stamps: one request each, several at a time, verified before anything is kept.

A request carries the digest and a nonce of 63 random bits whose top bit is set; every retry has a new one. An
answer is kept only if it is a granted token over this digest and this nonce, signed as RFC 3161 asks, with a
time inside the exchange. Only *whose* signature it is may stay open: without a pinned anchor the stamp is kept
and marked, so that the anchor can be supplied later.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from prereg_kit.errors import NotCheckedError, PreregError, TimestampError, Where
from prereg_kit.evidence.archive.record import NewStamp, Pending, Stamper, Stamps, rfc3339
from prereg_kit.evidence.token import (
    Anchors,
    Proof,
    TokenRejected,
    TokenUnsupported,
    describe,
    embedded_certificates,
    verify,
)
from prereg_kit.evidence.token.demo import is_demo as is_demo_marked
from prereg_kit.evidence.trust import Operator, pem
from prereg_kit.evidence.tsa.http import Answer, ExchangeError, Limits, Send, post_query, printable
from prereg_kit.evidence.tsa.revocation import fetch_all

REPLY = "application/timestamp-reply"
UNANCHORED = frozenset({"untrusted_root", "chain_incomplete", "signer_missing"})
_RETRY_STATUS = {408, 429, 500, 502, 503, 504}
_LONGEST_WAIT_S = 30.0

Say = Callable[[str, str], None]
Clock = Callable[[], datetime]


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _silent(operator: str, text: str) -> None:
    del operator, text


@dataclass(frozen=True)
class Source:
    """An operator and the way to reach it; `send` is HTTP, or a function call for the demo authority."""

    operator: Operator
    send: Send = post_query
    demo: bool = False


@dataclass(frozen=True)
class Settings:
    """How requests are made.

    Attributes:
        limits: of one exchange.
        attempts: requests per authority, each with a new nonce.
        pause_s: before the second request; doubled for each further one.
        tolerance: how far a token's time may lie outside the exchange.
        revocation: fetch CRLs and OCSP answers named by the certificates (best effort).
        clock, sleep: this machine's clock and pause, replaceable in tests.
        accuracy_limit: the widest accuracy that the plan accepts; None if it says nothing.
        say: called from the threads with an operator's name and a line of progress.
    """

    limits: Limits = field(default_factory=Limits)
    attempts: int = 3
    pause_s: float = 1.0
    tolerance: timedelta = timedelta(minutes=5)
    revocation: bool = True
    clock: Clock = _utc_now
    sleep: Callable[[float], None] = time.sleep
    say: Say = _silent
    accuracy_limit: timedelta | None = None


def fresh_nonce() -> int:
    """63 random bits with the top bit set: eight octets in DER, never a leading zero."""
    return secrets.randbits(63) | 1 << 62


def build_query(digest: str, nonce: int | None = None) -> bytes:
    """A DER request for a SHA-256 digest, with the signer's certificate asked for (RFC 3161 2.4.1).

    Args:
        digest: 64 hex digits.
        nonce: a fresh one by default.
    """
    import rfc3161ng

    request = rfc3161ng.make_timestamp_request(
        digest=bytes.fromhex(digest),
        hashname="sha256",
        nonce=fresh_nonce() if nonce is None else nonce,
        include_tsa_certificate=True,
    )
    return bytes(rfc3161ng.encode_timestamp_request(request))


def _body(answer: Answer, url: str) -> tuple[bytes, tuple[str, ...]]:
    """The body of an answer that may be a token, with a warning for an unusual media type."""
    described = f"status {answer.status}, media type {answer.media_type or 'none'}"
    begins = printable(answer.body)
    shown = f"{described}, body {'begins ' + repr(begins) if begins else 'empty'}"
    if answer.status != 200:
        text = f"the authority answered {shown}"
        if 300 <= answer.status < 400:
            text += f"; redirects are not followed (to {answer.location!r}): a POST must not turn into a GET"
        raise ExchangeError(text, url, retry=answer.status in _RETRY_STATUS, code="tsa-status")
    if not answer.body:
        raise ExchangeError(f"the authority answered nothing: {shown}", url, code="tsa-empty")
    if answer.media_type == REPLY:
        return answer.body, ()
    return answer.body, (
        f"unusual media type {answer.media_type or 'none'!r}; RFC 3161 3.4 asks for {REPLY}",
    )


def accept(
    response: bytes,
    query: bytes,
    digest: str,
    operator: Operator,
    *,
    not_before: datetime | None,
    not_after: datetime,
    settings: Settings,
    demo: bool = False,
) -> NewStamp:
    """Examine an answer against its query and describe it for the archive.

    Args:
        response: the answer's bytes, kept as they are.
        query: the request that it must answer.
        digest: SHA-256 of the document in hex.
        operator: who was asked.
        not_before: when the request was made; None if unknown (the time is then not checked from below).
        not_after: when the answer was received.
        settings: tolerance and clock.
        demo: the source is the demonstration authority.

    Raises:
        TokenRejected: any check of the verifier, but for a missing anchor.
        TokenUnsupported: a token that cannot be examined.
        TimestampError: a time outside the exchange.
    """
    claims = describe(response)
    is_demo = demo or is_demo_marked(claims.policy, [claims.tsa or ""])
    pinned = operator.pinned()
    embedded = embedded_certificates(response)
    # Without an anchor every other check is still made, up to the embedded certificates; the stamp stays marked.
    anchors = pinned if pinned.certificates else Anchors(embedded)
    anchored = bool(pinned.certificates) or is_demo
    proof: Proof | None = None
    warnings: list[str] = []
    try:
        proof = verify(
            response,
            digest=digest,
            query=query,
            anchors=anchors,
            untrusted=operator.intermediates(),
            now=not_after,
            allow_demo=is_demo,
            accuracy_limit=operator.accuracy_limit(settings.accuracy_limit),
        )
    except TokenRejected as error:
        if error.reason not in UNANCHORED or anchored:
            raise
    except (TokenUnsupported, NotCheckedError) as error:
        anchored = False
        warnings.append(f"not checked: {error.problem}")
    if not anchored and not warnings:
        warnings.append(f"whose signature it is was not checked; {operator.missing()}")
    accuracy = claims.accuracy.total_seconds() if claims.accuracy is not None else None
    slack = settings.tolerance + timedelta(seconds=accuracy or 0)
    early = not_before is not None and claims.gen_time < not_before - slack
    if early or claims.gen_time > not_after + slack:
        begin = rfc3339(not_before) if not_before else "any time"
        raise TimestampError(
            "the token's time lies outside the exchange",
            where=Where(file=operator.url, field="genTime"),
            expected=f"{begin} to {rfc3339(not_after)}, give or take {slack.total_seconds():g} s",
            found=rfc3339(claims.gen_time),
            next_step="Compare this machine's clock with a time server; or it is an old answer sent again.",
            code="time-outside-exchange",
        )
    if proof:
        # Revocation data is fetched after this, and judged whenever the stamp is verified.
        found = [f for f in proof.warnings if not f.code.startswith("revocation")]
        warnings += [] if is_demo else [finding.message for finding in found]
        if operator.policies and proof.policy not in operator.policies:
            warnings.append(f"policy {proof.policy} is not one of those known of {operator.name}")
    return NewStamp(
        operator=operator.name,
        url=operator.url,
        query=query,
        response=response,
        demo=is_demo,
        chain=b"".join(map(pem, proof.chain if proof else embedded)),
        anchor=pem(proof.chain[-1]) if proof and anchored else b"",
        anchor_sha256=() if is_demo else pinned.fingerprints,
        gen_time=claims.gen_time,
        accuracy_s=accuracy,
        policy=claims.policy,
        serial=claims.serial,
        tsa=proof.tsa.subject if proof else claims.tsa,
        warnings=tuple(warnings),
    )


def request_stamp(source: Source, digest: str, settings: Settings, query: bytes | None = None) -> NewStamp:
    """One authority's stamp over a digest.

    Args:
        source: whom to ask.
        digest: SHA-256 in hex.
        settings: limits and number of attempts.
        query: a prepared request to send once, instead of fresh ones; its age is then unknown.

    Raises:
        TimestampError: no usable answer after all attempts; the last problem.
    """
    operator, url = source.operator, source.operator.url
    for attempt in range(1, settings.attempts + 1):
        sent = query or build_query(digest)
        begun, started = settings.clock(), time.monotonic()
        settings.say(operator.name, f"asking {url}" + (f", attempt {attempt}" if attempt > 1 else ""))
        wait = settings.pause_s * 2 ** (attempt - 1)
        try:
            answer = source.send(url, sent, settings.limits)
            if answer.retry_after.isdigit():
                wait = float(answer.retry_after)
            received = begun + timedelta(seconds=time.monotonic() - started)
            body, warnings = _body(answer, url)
            try:
                stamp = accept(
                    body,
                    sent,
                    digest,
                    operator,
                    not_before=None if query else begun,
                    not_after=received,
                    settings=settings,
                    demo=source.demo,
                )
            except TokenRejected as error:
                if error.reason not in ("unrecognised", "malformed", "trailing_bytes"):
                    raise
                text = f"not a timestamp: status {answer.status}, media type {answer.media_type or 'none'}, "
                raise ExchangeError(f"{text}body begins {printable(body)!r}: {error.problem}", url) from error
        except ExchangeError as error:
            if not error.retry or attempt == settings.attempts or query or wait > _LONGEST_WAIT_S:
                raise
            settings.say(operator.name, f"{error.problem}; again in {wait:g} s with a new nonce")
            settings.sleep(wait)
            continue
        stamp = replace(stamp, sent_at=begun, received_at=received, warnings=(*warnings, *stamp.warnings))
        if settings.revocation and not stamp.demo and stamp.anchor:
            settings.say(operator.name, "fetching revocation data")
            stamp = replace(stamp, revocation=fetch_all(stamp.chain, settings.limits, settings.clock))
        return stamp
    raise ExchangeError("no attempt was allowed", url)


def _one(source: Source, digest: str, settings: Settings, query: bytes | None) -> NewStamp | Pending:
    asked = settings.clock()
    name, url = source.operator.name, source.operator.url
    try:
        stamp = request_stamp(source, digest, settings, query)
    except PreregError as error:
        text = str(error) if url in str(error) else f"{url}: {error}"
        settings.say(name, f"failed: {text}")
        return Pending(name, url, text, asked)
    said = f"stamped at {rfc3339(stamp.gen_time)}" if stamp.gen_time else "stamped"
    settings.say(name, said + ("; DEMO, NO EVIDENTIAL VALUE" if stamp.demo else ""))
    for warning in stamp.warnings:
        settings.say(name, f"note: {warning}")
    return stamp


def stamper(sources: Sequence[Source], settings: Settings, query: bytes | None = None) -> Stamper:
    """A function that asks all sources at once and waits for each; a failure becomes a pending entry.

    The order of the result is the order of `sources`, whichever answered first. Threads are daemons, so that an
    interruption ends the program at once.
    """

    def stamp(digest: str) -> Stamps:
        results: queue.SimpleQueue[tuple[int, NewStamp | Pending | BaseException]] = queue.SimpleQueue()

        def work(place: int, source: Source) -> None:
            try:
                results.put((place, _one(source, digest, settings, query)))
            except BaseException as error:  # handed to the caller's thread, which raises it
                results.put((place, error))

        for place, source in enumerate(sources):
            threading.Thread(target=work, args=(place, source), daemon=True).start()
        found: dict[int, NewStamp | Pending] = {}
        while len(found) < len(sources):
            place, result = results.get()
            if isinstance(result, BaseException):
                raise result
            found[place] = result
        ordered = [found[place] for place in sorted(found)]
        return Stamps(
            done=tuple(item for item in ordered if isinstance(item, NewStamp)),
            pending=tuple(item for item in ordered if isinstance(item, Pending)),
        )

    return stamp
