"""The embedded demo authority: its answers satisfy openssl, carry the marks, and are refused as evidence."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from threading import Thread

import pytest
from asn1crypto import tsp as asn1_tsp
from cryptography.hazmat.primitives import serialization

from prereg_kit.evidence.authority import DemoAuthority, loopback_server
from prereg_kit.evidence.token import DEMO_POLICY_OID, Anchors, TokenRejected, verify
from prereg_kit.evidence.tsa import build_query
from prereg_kit.foundation.digest import sha256_bytes

DATA = b"data\n"
DIGEST = sha256_bytes(DATA)
NOW = dt.datetime(2026, 5, 6, 7, 8, 9, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def authority() -> DemoAuthority:
    return DemoAuthority.create(lambda: NOW)


def anchors(authority: DemoAuthority) -> Anchors:
    return Anchors.from_pem(authority.root_pem)


def test_its_token_is_whole_in_every_respect_but_worth(authority: DemoAuthority) -> None:
    query = build_query(DIGEST)
    proof = verify(
        authority.answer(query), data=DATA, query=query, anchors=anchors(authority), now=NOW, allow_demo=True
    )
    assert proof.demo
    assert proof.gen_time == NOW
    assert proof.policy == DEMO_POLICY_OID
    assert "NO EVIDENTIAL VALUE" in proof.tsa.subject


def test_it_is_no_evidence_although_its_root_is_pinned(authority: DemoAuthority) -> None:
    with pytest.raises(TokenRejected) as caught:
        verify(authority.answer(build_query(DIGEST)), data=DATA, anchors=anchors(authority), now=NOW)
    assert caught.value.reason == "demo"


def test_its_certificates_last_a_day_and_every_run_has_its_own(authority: DemoAuthority) -> None:
    for certificate in (authority.root, authority.signer):
        assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == dt.timedelta(days=1)
        assert certificate.not_valid_before_utc < NOW < certificate.not_valid_after_utc
    other = DemoAuthority.create(lambda: NOW)
    assert other.root_sha256 != authority.root_sha256
    assert other.root_sha256 == sha256_bytes(other.root.public_bytes(serialization.Encoding.DER))


def test_two_answers_have_two_serials(authority: DemoAuthority) -> None:
    query = build_query(DIGEST)
    proofs = [
        verify(authority.answer(query), data=DATA, anchors=anchors(authority), now=NOW, allow_demo=True)
        for _ in "ab"
    ]
    assert proofs[0].serial != proofs[1].serial


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_verifies_it_with_data_and_with_query_and_reads_its_refusals(
    authority: DemoAuthority, tmp_path: Path
) -> None:
    query = build_query(DIGEST)
    for name, data in {"d": DATA, "q": query, "r": authority.answer(query), "ca": authority.root_pem}.items():
        (tmp_path / name).write_bytes(data)
    at = str(int(NOW.timestamp()))
    for what in (["-data", "d"], ["-queryfile", "q"]):
        done = subprocess.run(
            ["openssl", "ts", "-verify", *what, "-in", "r", "-CAfile", "ca", "-attime", at],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Verification: OK" in done.stdout, done.stderr
    (tmp_path / "bad").write_bytes(authority.answer(b"nonsense"))
    text = subprocess.run(
        ["openssl", "ts", "-reply", "-in", "bad", "-text"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Rejected" in text
    assert "wrong format" in text


@pytest.mark.parametrize(
    ("query", "word"),
    [
        (b"", "badDataFormat"),
        (b"\x30\x00", "badDataFormat"),
        (b"\x30\x80\x00\x00", "badDataFormat"),
        (build_query(DIGEST)[:-1], "badDataFormat"),
        (build_query(DIGEST) + b"\x00", "badDataFormat"),
        (
            build_query(DIGEST).replace(
                bytes.fromhex("0609608648016503040201"), bytes.fromhex("0609608648016503040202")
            ),
            "badAlg",
        ),
    ],
    ids=["empty", "no fields", "indefinite length", "cut", "trailing byte", "another algorithm"],
)
def test_what_is_no_request_is_refused_with_its_reason(
    authority: DemoAuthority, query: bytes, word: str
) -> None:
    with pytest.raises(TokenRejected) as caught:
        verify(authority.answer(query), data=DATA, anchors=anchors(authority), now=NOW, allow_demo=True)
    assert caught.value.reason == "status"
    assert word in str(caught.value)


@pytest.mark.parametrize(("policy", "granted"), [(DEMO_POLICY_OID, True), ("1.2.3.4", False)])
def test_another_policy_than_its_own_is_refused(authority: DemoAuthority, policy: str, granted: bool) -> None:
    request = asn1_tsp.TimeStampReq.load(build_query(DIGEST))
    request["req_policy"] = policy
    answer = authority.answer(request.dump(force=True))
    if granted:
        verify(answer, data=DATA, query=request.dump(), anchors=anchors(authority), now=NOW, allow_demo=True)
    else:
        with pytest.raises(TokenRejected, match="unacceptedPolicy"):
            verify(answer, data=DATA, anchors=anchors(authority), now=NOW, allow_demo=True)


def test_the_server_listens_on_the_loopback_address_and_takes_only_queries(authority: DemoAuthority) -> None:
    server = loopback_server(authority)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        assert server.server_address[0] == "127.0.0.1"
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        def post(body: bytes, media_type: str) -> int:
            request = urllib.request.Request(url, body, {"Content-Type": media_type})
            try:
                with opener.open(request, timeout=5) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code

        assert post(build_query(DIGEST), "application/timestamp-query") == 200
        assert post(build_query(DIGEST), "text/plain") == 415
        assert post(bytes(5000), "application/timestamp-query") == 413
    finally:
        server.shutdown()
        server.server_close()
