"""What `verify` accepts, refuses and says, on one good token and the calls around it."""

import base64
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from prereg_kit.errors import DocumentError, NotCheckedError, UsageError
from prereg_kit.evidence.token import (
    Anchors,
    Evidence,
    Proof,
    TokenRejected,
    TokenUnsupported,
    describe,
    embedded_certificates,
    verify,
)
from prereg_kit.evidence.token import der as reader


def refused(vector, blob=None, **changes):
    with pytest.raises((TokenRejected, TokenUnsupported)) as caught:
        vector.verify(blob, **changes)
    return caught.value


def test_a_proof_names_everything_that_was_proven(plain, proof):
    assert isinstance(proof, Proof)
    assert proof.gen_time == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert proof.accuracy == timedelta(seconds=1)
    assert proof.imprint_hex == hashlib.sha256(plain.arguments["data"]).hexdigest()
    assert proof.serial == 77
    assert proof.policy == "1.3.6.1.4.1.99999.7.1"
    assert proof.nonce == 0x8E1F00D5AA55C3
    assert proof.tsa.subject == "CN=Vector unit, O=Vectors, no evidence"
    assert proof.tsa.key == "EC secp256r1"
    assert proof.anchor_fingerprint == plain.arguments["anchors"].fingerprints[0]
    assert len(proof.chain) == 3
    assert hashlib.sha256(proof.chain[-1]).hexdigest() == proof.anchor_fingerprint
    assert (proof.container, proof.form, proof.demo, proof.revocation) == (
        "response",
        "der",
        False,
        "not_checked",
    )
    assert [finding.code for finding in proof.warnings] == ["revocation_not_checked"] * 2


def test_every_form_of_the_same_token_proves_the_same(plain, proof):
    bare = plain.blob[9:]  # after SEQUENCE { status }: the header and five octets of status
    assert bare[0] == 0x30
    armour = (
        b"-----BEGIN PKCS7-----\r\n"
        + base64.encodebytes(bare).replace(b"\n", b"\r\n")
        + b"-----END PKCS7-----\r\n"
    )
    whole = (
        b"-----BEGIN TIMESTAMP RESPONSE-----\n"
        + base64.encodebytes(plain.blob)
        + b"-----END TIMESTAMP RESPONSE-----"
    )
    forms = {
        ("token", "der"): bare,
        ("token", "base64"): base64.b64encode(bare) + b"\n",
        ("token", "pem"): armour,
        ("response", "base64"): base64.b64encode(plain.blob),
        ("response", "pem"): whole,
    }
    for (container, form), blob in forms.items():
        assert plain.verify(blob) == replace(proof, container=container, form=form)


def test_wrapped_base64_is_refused_with_the_remedy(plain):
    error = refused(plain, base64.encodebytes(plain.blob))
    assert error.reason == "unrecognised"
    assert "base64 -d" in str(error)


@pytest.mark.parametrize(
    ("change", "reason", "kind"),
    [
        (lambda blob: blob + b"\0", "trailing_bytes", TokenRejected),
        (lambda blob: blob + b"\n", "trailing_bytes", TokenRejected),
        (lambda blob: b"\x30\x83\0" + blob[2:], "malformed", TokenRejected),
        (lambda blob: b"\x30\x80" + blob[4:] + b"\0\0", "indefinite_length", TokenRejected),
        (lambda blob: blob[:-1], "malformed", TokenRejected),
        (lambda blob: b"", "unrecognised", TokenRejected),
        (lambda blob: b"<html>busy</html>", "unrecognised", TokenRejected),
        (lambda blob: b"\x30\x00", "unrecognised", TokenRejected),
        (lambda blob: b"\0" * 300_000, "too_large", TokenRejected),
        (
            lambda blob: b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "unrecognised",
            TokenRejected,
        ),
        (lambda blob: b"\x30\x84\x7f\xff\xff\xff\x30\x03\x02\x01\x00", "malformed", TokenRejected),
        (lambda blob: b"\x30\x82\x07\xd0" + b"\x30\x80" * 1000, "indefinite_length", TokenRejected),
        (lambda blob: b"\x30\x08\x06\x01\x2a" + b"\xa0\x03\x02\x01\x01", "container", TokenRejected),
    ],
)
def test_bytes_that_are_no_sound_token(plain, change, reason, kind):
    error = refused(plain, change(plain.blob))
    assert (error.reason, type(error)) == (reason, kind)


def test_no_truncation_is_accepted_or_crashes(plain):
    for length in range(0, len(plain.blob), 7):
        refused(plain, plain.blob[:length])


def test_a_rejection_shows_status_text_and_failure(plain):
    rejection = bytes.fromhex("3018 3016 020102 300d 0c0b") + b"quota spent" + bytes.fromhex("0302 0780")
    error = refused(plain, rejection)
    assert error.reason == "status"
    assert "quota spent" in str(error)
    assert "badAlg" in str(error)


def test_a_rejection_with_a_token_is_a_rejection(plain):
    assert plain.blob[:9][-5:] == bytes.fromhex("3003020100")
    assert refused(plain, plain.blob[:8] + b"\x02" + plain.blob[9:]).reason == "status"


def test_the_query_given_for_the_response_is_named(plain):
    assert "query" in refused(plain, plain.arguments["query"]).problem


def test_another_document_shows_both_digests(plain):
    error = refused(plain, data=b"another", query=None)
    assert error.reason == "imprint_mismatch"
    assert hashlib.sha256(b"another").hexdigest() in str(error)
    assert hashlib.sha256(plain.arguments["data"]).hexdigest() in str(error)


def test_digests_in_place_of_the_document(plain, proof):
    data = plain.arguments["data"]
    good = hashlib.sha256(data).hexdigest()
    for digest in (
        good,
        good.upper(),
        f"sha256:{good}",
        f"SHA-256:{good}",
        {"sha256": good, "sha512": "0" * 128},
    ):
        assert plain.verify(data=None, digest=digest) == proof
    assert (
        refused(plain, data=None, digest=hashlib.sha512(data).hexdigest(), query=None).reason
        == "imprint_alg_mismatch"
    )
    for digest in ("", "zz" * 32, "md5:" + "0" * 32, good[:-1], good[:32]):
        with pytest.raises(UsageError):
            plain.verify(data=None, digest=digest)


def test_a_token_is_never_verified_against_nothing(plain):
    for changes in ({"data": None}, {"digest": "0" * 64}):
        with pytest.raises(UsageError):
            plain.verify(**changes)


def test_without_a_root_nothing_is_checked(plain):
    with pytest.raises(NotCheckedError):
        plain.verify(anchors=Anchors(()))


def test_roots_inside_the_token_and_among_the_untrusted_are_not_trusted(plain, vector):
    stranger = vector("leaf_pinned_fail").arguments["anchors"]
    error = refused(plain, anchors=stranger, untrusted=plain.arguments["anchors"].certificates)
    assert error.reason == "untrusted_root"
    assert "Vector root" in str(error)
    error = refused(plain, anchors=stranger)
    assert error.reason == "chain_incomplete"
    assert "Vector root" in str(error)
    assert "missing" in str(error)


def test_an_issuing_authority_can_be_the_anchor_and_the_unit_cannot(plain, proof):
    unit, issuing = proof.chain[:2]
    assert set(embedded_certificates(plain.blob)) == {unit, issuing}
    proof = plain.verify(anchors=Anchors((issuing,)))
    assert len(proof.chain) == 2
    assert refused(plain, anchors=Anchors((unit,))).reason == "chain_incomplete"


def test_an_unreadable_root_is_left_out_and_said(plain):
    root = plain.arguments["anchors"].certificates[0]
    proof = plain.verify(anchors=Anchors((root[:-1], root)))
    assert "anchor_unreadable" in {finding.code for finding in proof.warnings}
    assert refused(plain, anchors=Anchors((root[:-1],))).reason == "unsupported_certificate"


def test_nonce_and_policy(plain):
    assert refused(plain, nonce=1).reason == "nonce_mismatch"
    plain.verify(nonce=0x8E1F00D5AA55C3)
    assert refused(plain, policies=["1.2.3"]).reason == "policy_mismatch"
    plain.verify(policies=["1.2.3", "1.3.6.1.4.1.99999.7.1"])


def test_a_query_that_is_none_or_another(plain, vector):
    with pytest.raises(DocumentError, match="query"):
        plain.verify(query=b"\x30\x00")
    assert refused(plain, query=vector("nonce_high_bit").arguments["query"]).reason == "nonce_mismatch"
    other = plain.arguments["query"].replace(hashlib.sha256(plain.arguments["data"]).digest(), b"\1" * 32)
    assert refused(plain, query=other).reason == "imprint_mismatch"


def test_only_the_future_depends_on_the_present(plain, proof):
    moment = proof.gen_time
    assert plain.verify(now=moment - timedelta(minutes=5)) == proof
    assert refused(plain, now=moment - timedelta(minutes=5, seconds=1)).reason == "future"
    assert refused(plain, now=datetime(2020, 1, 1, tzinfo=UTC)).reason == "future"
    assert plain.verify(now=datetime(2040, 1, 1, tzinfo=UTC)) == proof
    assert "future_not_checked" in {finding.code for finding in plain.verify(now=None).warnings}
    with pytest.raises(UsageError):
        plain.verify(now=datetime(2040, 1, 1))


def test_demonstration_tokens(vector):
    for case in ("demo_subject_fail", "demo_policy_fail"):
        one = vector(case)
        assert refused(one).reason == "demo"
        assert one.verify(allow_demo=True).demo
    assert not vector("plain").verify(allow_demo=True).demo


def test_garbage_as_evidence_is_a_finding_and_no_proof_of_anything(plain):
    proof = plain.verify(evidence=Evidence((b"x", b"\x30\x00"), (b"y", b"\x30\x03\x0a\x01\x06")))
    codes = [finding.code for finding in proof.warnings]
    assert codes.count("evidence_ignored") == 4
    assert proof.revocation == "not_checked"


def test_evidence_of_another_authority_covers_nothing(plain, vector):
    proof = plain.verify(evidence=Evidence(crls=vector("superseded_later").arguments["evidence"].crls))
    assert proof.revocation == "good"  # the same authority, another unit is meant by nothing in it
    assert vector("rsa_pss").verify().revocation == "not_checked"


def test_revocation_data_from_before_the_token_is_not_enough(vector):
    one = vector("ocsp_good")
    assert one.verify().revocation == "good"
    assert one.verify(evidence=Evidence(ocsps=one.arguments["evidence"].ocsps)).revocation == "not_checked"


def test_protection_ends_with_the_first_certificate_or_algorithm(vector):
    assert vector("plain").verify().protected_until == datetime(2045, 1, 1, tzinfo=UTC)
    assert vector("superseded_later").verify().protected_by.startswith("the certificate")


def test_description_is_labelled_and_reads_what_no_verdict_covers(vector):
    shown = describe(vector("expired_fail").blob)
    assert shown.label == "unverified"
    assert shown.to_json()["label"] == "unverified"
    assert shown.tsa == "CN=Vector old, O=Vectors, no evidence"
    assert describe(vector("certificates_apart").blob).tsa is None


def test_a_damaged_certificate_in_the_bag_makes_the_answer_unsupported(vector):
    one = vector("certificates_apart")
    unit, issuing = one.arguments["untrusted"]
    assert refused(one, untrusted=(unit, issuing[:-1])).reason == "unsupported_certificate"
    assert refused(one, untrusted=(unit[:-1], issuing)).reason == "unsupported_certificate"
    assert refused(one, untrusted=(unit,)).reason == "chain_incomplete"
    assert refused(one, untrusted=(issuing,)).reason == "signer_missing"


def test_a_bag_of_look_alikes_is_cut_short(plain):
    many = tuple(embedded_certificates(plain.blob)) * 40
    plain.verify(untrusted=many)  # equal certificates are one
    root = reader.parse_outer(plain.blob)
    assert root.end == len(plain.blob)


def test_verify_reads_no_file_no_network_and_no_clock(plain, monkeypatch):
    import builtins
    import socket
    import time

    def forbidden(*args, **kwargs):
        raise AssertionError("the verifier is pure")

    plain.verify()
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", forbidden)
        patch.setattr(socket, "socket", forbidden)
        patch.setattr(time, "time", forbidden)
        verify(plain.blob, **plain.arguments)
