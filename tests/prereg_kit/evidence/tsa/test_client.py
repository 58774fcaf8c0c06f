"""The client against authorities that openssl signs for, and against servers that misbehave."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import loopback
import pytest

from prereg_kit.errors import PreregError, TimestampError
from prereg_kit.evidence.archive.record import NewStamp, Stamps
from prereg_kit.evidence.token import Evidence, TokenRejected, read_query, verify
from prereg_kit.evidence.trust import Operator
from prereg_kit.evidence.tsa import (
    Answer,
    ExchangeError,
    Limits,
    Settings,
    Source,
    accept,
    build_query,
    request_stamp,
    stamper,
)
from prereg_kit.evidence.tsa.client import fresh_nonce
from prereg_kit.evidence.tsa.revocation import fetch_all
from prereg_kit.foundation.digest import sha256_bytes

pytestmark = pytest.mark.skipif(
    loopback.OPENSSL is None, reason="openssl, the independent peer, is not installed"
)
DATA = b"a document\n"
DIGEST = sha256_bytes(DATA)
QUICK = Settings(limits=Limits(idle_s=2, total_s=4), pause_s=0.01, revocation=False)


def operator(url: str, name: str = "alpha") -> Operator:
    return Operator(name, url=url, anchors=(loopback.authority(name).root.read_bytes(),))


def ask(behaviour, settings: Settings = QUICK, name: str = "alpha") -> tuple[NewStamp, list]:
    with loopback.serving(behaviour) as server:
        return request_stamp(Source(operator(server.url, name)), DIGEST, settings), server.requests


def refused(behaviour, settings: Settings = QUICK) -> tuple[PreregError, list]:
    with loopback.serving(behaviour) as server:
        with pytest.raises(PreregError) as caught:
            request_stamp(Source(operator(server.url)), DIGEST, settings)
        assert server.url in str(caught.value) or isinstance(caught.value, TokenRejected)
        return caught.value, server.requests


def test_a_good_answer_is_kept_as_received_with_its_query_and_chain() -> None:
    raw: list[bytes] = []

    def behaviour(handler, query: bytes) -> None:
        raw.append(loopback.authority("alpha").answer(query))
        loopback.reply(200, raw[-1])(handler, query)

    stamp, requests = ask(behaviour)
    assert stamp.response == raw[0]
    assert [r.body for r in requests] == [stamp.query]
    assert requests[0].content_type == "application/timestamp-query"
    assert stamp.chain.count(b"BEGIN CERTIFICATE") == 2
    assert stamp.anchor.strip() == loopback.authority("alpha").root.read_bytes().strip()
    assert stamp.sent_at <= stamp.received_at
    assert abs(stamp.gen_time - stamp.sent_at) < timedelta(minutes=1)
    assert not stamp.demo


def test_the_query_holds_the_digest_and_63_random_bits_with_the_top_bit_set() -> None:
    nonces = {fresh_nonce() for _ in range(200)}
    assert len(nonces) == 200
    assert all(nonce.bit_length() == 63 for nonce in nonces)
    query = read_query(build_query(DIGEST))
    assert (query.imprint.algorithm, query.imprint.hex) == ("sha256", DIGEST)
    assert query.nonce.bit_length() == 63
    assert query.certificate_requested


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_authority_is_asked_again_with_another_nonce(status: int) -> None:
    busy = loopback.reply(status, b"later", "text/plain")
    stamp, requests = ask(loopback.in_turn(busy, busy, loopback.signing(loopback.authority("alpha"))))
    nonces = [read_query(r.body).nonce for r in requests]
    assert len(set(nonces)) == 3
    assert stamp.query == requests[-1].body


def test_retry_after_is_obeyed_up_to_half_a_minute() -> None:
    waits: list[float] = []
    settings = Settings(limits=Limits(2, 4), revocation=False, sleep=waits.append)
    busy = loopback.reply(503, b"", None, Retry_After="7")
    ask(loopback.in_turn(busy, loopback.signing(loopback.authority("alpha"))), settings)
    assert waits == [7.0]
    _, requests = refused(loopback.reply(503, b"", None, Retry_After="3600"), settings)
    assert len(requests) == 1


def test_attempts_end() -> None:
    error, requests = refused(loopback.reply(503, b"busy", "text/plain"))
    assert len(requests) == 3
    assert "503" in str(error)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_reported_and_not_followed(status: int) -> None:
    error, requests = refused(loopback.reply(status, b"", "text/html", Location="/login"))
    assert [(r.method, r.path) for r in requests] == [("POST", "/tsr")]
    assert str(status) in str(error)
    assert "/login" in str(error)


@pytest.mark.parametrize(
    ("body", "media_type"),
    [(b"<html>\n<h1>Not found</h1>", "text/html; charset=utf-8"), (b"<html>\nsorry", loopback.REPLY)],
)
def test_a_page_with_status_200_is_refused_with_its_first_line(body: bytes, media_type: str) -> None:
    error, _ = refused(loopback.reply(200, body, media_type))
    assert "'<html>'" in str(error)
    assert media_type.split(";")[0] in str(error)
    assert "200" in str(error)


def test_an_error_with_json_names_status_type_and_text() -> None:
    error, requests = refused(loopback.reply(401, b'{"error": "\x1b[31mkey"}', "application/json"))
    assert len(requests) == 1
    for part in ("401", "application/json", '{"error"'):
        assert part in str(error)
    assert "\x1b" not in str(error)


def test_an_empty_answer_is_refused() -> None:
    error, _ = refused(loopback.reply(200, b""))
    assert "empty" in str(error)


def test_parameters_of_the_media_type_do_not_matter_and_another_type_is_a_warning() -> None:
    def typed(media_type: str):
        return lambda h, q: loopback.reply(200, loopback.authority("alpha").answer(q), media_type)(h, q)

    stamp, _ = ask(typed("Application/Timestamp-Reply; charset=binary"))
    assert stamp.warnings == ()
    stamp, _ = ask(typed("application/octet-stream"))
    assert len(stamp.warnings) == 1
    assert "application/octet-stream" in stamp.warnings[0]
    stamp, _ = ask(typed("x-application/timestamp-reply-not"))
    assert "unusual media type" in stamp.warnings[0]


def test_a_huge_body_is_cut_off_and_refused() -> None:
    error, _ = refused(loopback.reply(200, bytes(256 * 1024 + 1)))
    assert error.code == "tsa-too-large"


def test_a_body_at_the_limit_is_read() -> None:
    error, _ = refused(loopback.reply(200, bytes(256 * 1024)))
    assert error.code != "tsa-too-large"


def test_silence_and_a_slow_drip_end_at_the_deadline() -> None:
    settings = Settings(limits=Limits(idle_s=0.3, total_s=0.6), attempts=1, revocation=False)
    error, _ = refused(loopback.hang(1.5), settings)
    assert error.code == "tsa-timeout"
    sent: list[int] = []
    error, _ = refused(loopback.drip(bytes(400), 0.05, sent), settings)
    assert error.code == "tsa-timeout"
    assert len(sent) < 300, "the client hung up long before the last octet"


def test_no_listener_is_no_answer() -> None:
    with loopback.serving(loopback.hang(0)) as server:
        url = server.url
    with pytest.raises(ExchangeError) as caught:
        request_stamp(Source(operator(url)), DIGEST, QUICK)
    assert caught.value.code == "tsa-connection"


def test_another_documents_token_is_refused() -> None:
    other = build_query(sha256_bytes(b"other"), nonce=5)
    error, _ = refused(loopback.reply(200, loopback.authority("alpha").answer(other)))
    assert error.reason == "imprint_mismatch"


def test_an_earlier_token_over_the_same_document_is_refused_by_its_nonce() -> None:
    earlier = loopback.authority("alpha").answer(build_query(DIGEST))
    error, _ = refused(loopback.reply(200, earlier))
    assert error.reason == "nonce_mismatch"


@pytest.mark.parametrize("hours", [-24, 24])
def test_a_time_outside_the_exchange_is_refused(hours: int) -> None:
    # The token's time is right; the machine that asks is a day off. It cannot tell the two apart and must not try.
    settings = Settings(
        limits=Limits(2, 4), revocation=False, clock=lambda: datetime.now(UTC) + timedelta(hours=hours)
    )
    with loopback.serving(loopback.signing(loopback.authority("alpha"))) as server:
        asked = Source(operator(server.url))
        with pytest.raises(TimestampError) as caught:
            request_stamp(asked, DIGEST, settings)
    assert caught.value.code == ("time-outside-exchange" if hours > 0 else "future")


def test_a_token_from_beyond_a_narrow_tolerance_is_refused() -> None:
    settings = replace(
        QUICK, tolerance=timedelta(seconds=10), clock=lambda: datetime.now(UTC) - timedelta(minutes=1)
    )
    with loopback.serving(loopback.signing(loopback.authority("alpha"))) as server:
        asked = Source(operator(server.url))
        with pytest.raises(TimestampError) as caught:
            request_stamp(asked, DIGEST, settings)
    assert caught.value.code == "time-outside-exchange"


def test_the_tolerance_is_a_bound_on_both_sides() -> None:
    query = build_query(DIGEST)
    response = loopback.authority("alpha").answer(query)
    time = accept(
        response,
        query,
        DIGEST,
        operator("http://x/"),
        not_before=None,
        not_after=datetime.now(UTC),
        settings=QUICK,
    ).gen_time
    slack = QUICK.tolerance + timedelta(seconds=1)

    def window(before: datetime, after: datetime) -> NewStamp:
        return accept(
            response, query, DIGEST, operator("http://x/"), not_before=before, not_after=after, settings=QUICK
        )

    window(time + slack, time + slack)
    with pytest.raises(TimestampError, match="outside the exchange"):
        window(time + slack + timedelta(microseconds=1), time + slack + timedelta(seconds=1))


def test_the_wrong_operators_anchor_is_refused() -> None:
    with loopback.serving(loopback.signing(loopback.authority("beta"))) as server:
        asked = Source(operator(server.url, "alpha"))
        with pytest.raises(TokenRejected) as caught:
            request_stamp(asked, DIGEST, QUICK)
    assert caught.value.reason in ("untrusted_root", "chain_incomplete")


def test_without_an_anchor_everything_else_is_still_checked_and_the_stamp_is_marked() -> None:
    with loopback.serving(loopback.signing(loopback.authority("alpha"))) as server:
        stamp = request_stamp(Source(Operator("nobody", url=server.url)), DIGEST, QUICK)
    assert stamp.anchor == b""
    assert "anchor not at hand" in stamp.warnings[0]
    good = loopback.authority("alpha").answer(build_query(DIGEST))
    with loopback.serving(loopback.reply(200, good)) as server, pytest.raises(TokenRejected) as caught:
        request_stamp(Source(Operator("nobody", url=server.url)), DIGEST, QUICK)
    assert caught.value.reason == "nonce_mismatch"

    def spoiled(handler, query: bytes) -> None:
        response = bytearray(loopback.authority("alpha").answer(query))
        response[-1] ^= 1  # the last octet of the signature
        loopback.reply(200, bytes(response))(handler, query)

    with loopback.serving(spoiled) as server, pytest.raises(TokenRejected) as caught:
        request_stamp(Source(Operator("nobody", url=server.url)), DIGEST, QUICK)
    assert caught.value.reason in ("bad_signature", "malformed")


def test_three_authorities_one_failing_gives_two_stamps_and_one_pending_in_the_given_order() -> None:
    said: list[tuple[str, str]] = []
    settings = Settings(
        limits=Limits(2, 4), pause_s=0.01, revocation=False, say=lambda name, text: said.append((name, text))
    )
    barrier = threading.Barrier(2, timeout=3)

    def together(name: str):
        def act(handler, query: bytes) -> None:
            barrier.wait()  # passes only if both are asked at the same time
            loopback.signing(loopback.authority(name))(handler, query)

        return act

    with (
        loopback.serving(together("beta")) as one,
        loopback.serving(loopback.reply(500, b"oops", "text/plain")) as two,
        loopback.serving(together("alpha")) as three,
    ):
        sources = [
            Source(operator(one.url, "beta")),
            Source(Operator("broken", url=two.url)),
            Source(operator(three.url, "alpha")),
        ]
        stamps = stamper(sources, settings)(DIGEST)
    assert isinstance(stamps, Stamps)
    assert [s.operator for s in stamps.done] == ["beta", "alpha"]
    assert [p.operator for p in stamps.pending] == ["broken"]
    assert "500" in stamps.pending[0].problem
    assert {name for name, _ in said} == {"alpha", "beta", "broken"}


def test_a_programming_error_in_a_thread_is_raised_and_not_swallowed() -> None:
    def broken(url: str, body: bytes, limits: Limits):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stamper([Source(Operator("x", url="http://127.0.0.1/"), broken)], QUICK)(DIGEST)


@pytest.mark.parametrize("kind", ["crl", "ocsp"])
def test_revocation_data_named_by_the_chain_is_fetched_raw_and_its_absence_is_no_error(
    tmp_path: Path, kind: str
) -> None:
    made: list = []
    given: list[bytes] = []

    def revocation(handler, body: bytes) -> None:
        given.append(made[0].crl() if kind == "crl" else made[0].ocsp())
        loopback.reply(200, given[-1], "application/octet-stream")(handler, body)

    def post(handler, body: bytes) -> None:
        asked = handler.headers["Content-Type"]
        if asked == "application/ocsp-request":
            revocation(handler, body)
        else:
            loopback.signing(made[0])(handler, body)

    settings = Settings(limits=Limits(2, 4))
    with loopback.serving(post, revocation) as server:
        made.append(loopback.make_authority(tmp_path / "a", "Crl", **{f"{kind}_url": server.url + "/status"}))
        known = Operator("crl", url=server.url, anchors=(made[0].root.read_bytes(),))
        stamp = request_stamp(Source(known), DIGEST, settings)
        assert [(r.kind, r.data) for r in stamp.revocation] == [(kind, given[0])]
        assert server.requests[-1].method == ("GET" if kind == "crl" else "POST")
        evidence = Evidence(**{f"{kind}s": (given[0],)})
        proof = verify(
            stamp.response, data=DATA, anchors=known.pinned(), evidence=evidence, now=datetime.now(UTC)
        )
        assert proof.revocation == "good"
    silent = Operator("crl", url="http://x/", anchors=known.anchors)
    query = build_query(DIGEST)

    def send(url: str, body: bytes, limits: Limits) -> Answer:
        return Answer(200, loopback.REPLY, made[0].answer(query))

    assert request_stamp(Source(silent, send), DIGEST, settings, query).revocation == ()


def test_what_is_no_revocation_data_is_not_kept(tmp_path: Path) -> None:
    with loopback.serving(loopback.hang(0), loopback.reply(200, b"<html>", "text/html")) as server:
        made = loopback.make_authority(tmp_path / "a", "Crl", crl_url=server.url, ocsp_url=server.url)
        chain = (made.folder / "tsa.pem").read_bytes() + made.root.read_bytes()
        assert fetch_all(chain, Limits(2, 4), lambda: datetime.now(UTC)) == ()
        assert {r.method for r in server.requests} == {"GET", "POST"}
    elsewhere = loopback.make_authority(
        tmp_path / "b", "File", crl_url="file:///etc/passwd", ocsp_url="ldap://x/"
    )
    chain = (elsewhere.folder / "tsa.pem").read_bytes() + elsewhere.root.read_bytes()
    assert fetch_all(chain, Limits(2, 4), lambda: datetime.now(UTC)) == ()
    assert fetch_all(b"no chain", Limits(2, 4), lambda: datetime.now(UTC)) == ()


def test_an_https_server_with_an_unknown_certificate_is_refused_once(tmp_path: Path) -> None:
    made = loopback.make_authority(tmp_path / "a", "Tls")
    said: list[str] = []
    settings = replace(QUICK, say=lambda name, text: said.append(text))
    with loopback.serving(loopback.signing(made), tls=made) as server:
        with pytest.raises(ExchangeError, match="CERTIFICATE_VERIFY_FAILED"):
            request_stamp(Source(operator(server.url)), DIGEST, settings)
        assert server.url.startswith("https://")
        assert server.requests == []
    assert len(said) == 1


def test_a_proxy_from_the_environment_receives_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback.serving(loopback.signing(loopback.authority("alpha"))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("/tsr", ""))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        request_stamp(Source(operator("http://authority.invalid/tsr")), DIGEST, QUICK)
        assert [r.path for r in proxy.requests] == ["http://authority.invalid/tsr"]


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "http:///x", "http://127.0.0.1:99999/", "file:///etc/passwd", "http://a b/"]
)
def test_other_addresses_are_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(ExchangeError) as caught:
        request_stamp(Source(Operator("x", url=url)), DIGEST, QUICK)
    assert caught.value.code == "tsa-address"
