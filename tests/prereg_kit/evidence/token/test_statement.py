"""TSTInfo, the signed attributes and the signer, one fault at a time."""

import hashlib
from datetime import timedelta

import pytest

from prereg_kit.evidence.token import QuorumError, TokenRejected, quorum


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        (b"20260301120000Z", None),
        (b"20260301120000.5Z", None),
        (b"20260301120000.123456789012Z", None),
        (b"20260301120000.0Z", "gen_time_encoding"),
        (b"20260301120000.Z", "gen_time_encoding"),
        (b"20260301120000,5Z", "gen_time_encoding"),
        (b"20260301120000", "gen_time_encoding"),
        (b"20260301120000+0000", "gen_time_encoding"),
        (b"202603011200Z", "gen_time_encoding"),
        (b"20260230120000Z", "gen_time_encoding"),
        (b"20260301240000Z", "gen_time_encoding"),
        (b"20260301120060Z", "gen_time_encoding"),
        (b"00000301120000Z", "gen_time_encoding"),
        (b"2026\xb2301120000Z", "gen_time_encoding"),
        (b"", "gen_time_encoding"),
    ],
)
def test_the_form_of_genTime(mint, pki, when, reason):
    blob = mint.token(content=pki.tstinfo(when=when))
    if reason is None:
        assert mint.verify(blob).gen_time.replace(microsecond=0) == pki.WHEN
    else:
        assert mint.refused(blob) == f"reject {reason}"


def test_fractions_are_kept_to_the_microsecond(mint, pki):
    proof = mint.verify(mint.token(content=pki.tstinfo(when=b"20260301120000.1234569Z")))
    assert proof.gen_time - pki.WHEN == timedelta(microseconds=123456)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3000", timedelta(0)),
        ("3003020105", timedelta(seconds=5)),
        ("3003800164", timedelta(milliseconds=100)),
        ("3003810101", timedelta(microseconds=1)),
        ("300a0201028002020b810103", timedelta(seconds=2, milliseconds=523, microseconds=3)),
        ("30030201ff", None),
        ("3003800100", None),
        ("3004800203e8", None),
        ("3004810203e8", None),
        ("30038001ff", None),
        ("300702050100000000", None),
        ("3006810101800101", None),
    ],
)
def test_the_range_of_the_accuracy(mint, pki, text, expected):
    blob = mint.token(content=pki.tstinfo(accuracy=bytes.fromhex(text)))
    if expected is None:
        assert mint.refused(blob) in ("reject accuracy_encoding", "reject malformed")
    else:
        proof = mint.verify(blob)
        assert proof.accuracy == expected
        assert proof.latest - proof.earliest == 2 * expected


def test_a_missing_accuracy_is_a_minute_and_said(mint, pki):
    proof = mint.verify(mint.token(content=pki.tstinfo(accuracy=b"")))
    assert proof.accuracy is None
    assert proof.latest - proof.gen_time == timedelta(seconds=60)
    assert "accuracy_assumed" in {finding.code for finding in proof.warnings}


@pytest.mark.parametrize(
    ("seconds", "limit", "accepted"),
    [
        (300, None, True),
        (301, None, False),
        (7200, 7200, True),
        (7201, 7200, False),
        (31_536_000, None, False),
    ],
)
def test_a_stated_accuracy_over_the_limit_names_no_time(mint, pki, seconds, limit, accepted):
    number = seconds.to_bytes(4, "big").lstrip(b"\0")
    number = b"\0" * (number[0] >> 7) + number
    element = bytes([0x30, len(number) + 2, 0x02, len(number)]) + number
    blob = mint.token(content=pki.tstinfo(accuracy=element))
    more = {} if limit is None else {"accuracy_limit": timedelta(seconds=limit)}
    if accepted:
        assert not mint.verify(blob, **more).wide
        return
    assert mint.refused(blob, **more) == "reject accuracy_wide"
    bound = mint.verify(blob, allow_wide=True, **more)
    assert bound.wide
    assert bound.latest - bound.gen_time == timedelta(seconds=seconds)
    assert "accuracy_wide" in {finding.code for finding in bound.warnings}
    assert not mint.verify(blob, accuracy_limit=None).wide


def test_a_wide_token_never_counts_for_a_quorum(mint, pki):
    blob = mint.token(content=pki.tstinfo(accuracy=bytes.fromhex("300402021c20")))
    bound = mint.verify(blob, allow_wide=True)
    with pytest.raises(QuorumError) as caught:
        quorum([bound], k=1)
    assert {finding.code for finding in caught.value.findings} == {"wide_not_counted"}


def test_imprints(mint, pki):
    for digest in ("sha256", "sha384", "sha512"):
        assert mint.verify(mint.token(content=pki.tstinfo(digest=digest))).imprint_algorithm == digest
    assert mint.refused(mint.token(content=pki.tstinfo(digest="sha1"))) == "reject weak_imprint_hash"
    assert mint.refused(mint.token(content=pki.tstinfo(imprint=b"0" * 20))) == "reject imprint_length"
    for oid, expected in (
        ("2.16.840.1.101.3.4.2.4", "reject weak_imprint_hash"),
        ("2.16.840.1.101.3.4.2.11", "unsupported unsupported_digest"),
    ):
        content = pki.tstinfo().replace(pki.oid(pki.SHA["sha256"]), pki.oid(oid))
        assert mint.refused(mint.token(content=content)) == expected


def test_versions_and_leftovers(mint, pki):
    assert mint.refused(mint.token(content=pki.tstinfo(version=2))) == "reject tstinfo_version"
    content = pki.tstinfo()
    longer = pki.seq(content[2:] if content[1] < 0x80 else content[3:], pki.octets(b"x"))
    assert mint.refused(mint.token(content=longer)) == "reject malformed"
    assert mint.refused(mint.token(content=content + b"\0")) == "reject malformed"
    assert mint.refused(mint.token(content=pki.tstinfo(serial=1 << 1100))) == "reject malformed"
    assert mint.verify(mint.token(content=pki.tstinfo(serial=1 << 159))).serial == 1 << 159


def test_extensions_of_the_statement(mint, pki):
    def extension(critical):
        return pki.seq(pki.oid("1.3.6.1.4.1.99999.7.9"), critical, pki.octets(b"\x05\x00"))

    mint.verify(mint.token(content=pki.tstinfo(extensions=extension(b""))))
    assert (
        mint.refused(mint.token(content=pki.tstinfo(extensions=extension(b"\x01\x01\xff"))))
        == "reject tstinfo_extension"
    )


def attributes(pki, unit, content):
    return {
        "type": pki.attribute("1.2.840.113549.1.9.3", pki.oid(pki.TST)),
        "digest": pki.attribute("1.2.840.113549.1.9.4", pki.octets(hashlib.sha256(content).digest())),
        "ess": pki.ess_v2(unit.der),
    }


def test_signed_attributes(mint, pki):
    content = pki.tstinfo()
    parts = attributes(pki, mint.unit, content)
    mint.verify(mint.token(content=content, attributes=list(parts.values())))
    other = pki.attribute("1.2.840.113549.1.9.3", pki.oid(pki.DATA_OID))
    twice = pki.attribute("1.2.840.113549.1.9.4", *[pki.octets(hashlib.sha256(content).digest())] * 2)
    for chosen in (
        [parts["digest"], parts["ess"]],
        [parts["type"], parts["ess"]],
        [other, parts["digest"], parts["ess"]],
        [*parts.values(), parts["type"]],
        [*parts.values(), parts["digest"]],
        [parts["type"], twice, parts["ess"]],
        [*parts.values(), other],
    ):
        assert mint.refused(mint.token(content=content, attributes=chosen)) == "reject signed_attributes"
    assert mint.refused(mint.token(message_digest=b"0" * 32)) == "reject message_digest_mismatch"
    assert mint.refused(mint.token(bare=True)) == "reject signed_attributes"
    unknown = pki.attribute("1.2.840.113549.1.9.16.2.99", b"\x05\x00")
    mint.verify(mint.token(extra=[unknown, unknown]))


def test_algorithm_protection(mint, pki):
    def protection(digest, signature):
        value = pki.seq(pki.algorithm(pki.SHA[digest]), pki.tlv(0xA1, pki.oid(signature)))
        return pki.attribute("1.2.840.113549.1.9.52", value)

    mint.verify(mint.token(extra=[protection("sha256", "1.2.840.10045.4.3.2")]))
    for wrong in (protection("sha512", "1.2.840.10045.4.3.2"), protection("sha256", "1.2.840.10045.4.3.4")):
        assert mint.refused(mint.token(extra=[wrong])) == "reject signed_attributes"


def test_signers(mint, pki):
    content = pki.tstinfo()
    one = pki.signer_info(mint.unit, content)
    bag = [mint.unit.der, mint.inter.der]
    for infos, reason in (([], "signer_count"), ([one, one], "signer_count"), ([one], None)):
        blob = pki.response(pki.token(content, infos, bag))
        if reason:
            assert mint.refused(blob) == f"reject {reason}"
        else:
            mint.verify(blob)
    assert mint.refused(pki.response(pki.token(content, [one], []))) == "reject signer_missing"
    assert mint.refused(mint.token(key=pki.new_key("ec"))) == "reject bad_signature"


def test_the_signer_identifier_must_mean_the_certificate(mint, pki):
    issuer, serial = mint.unit.cert.issuer.public_bytes(), mint.unit.cert.serial_number
    stranger = pki.name("Somebody").public_bytes()
    for sid in (
        pki.seq(issuer, pki.integer(serial + 1)),
        pki.seq(stranger, pki.integer(serial)),
        pki.tlv(0x80, b"x" * 20),
    ):
        assert mint.refused(mint.token(sid=sid)) == "reject signer_missing"
    mint.verify(mint.token(sid=pki.seq(issuer, pki.integer(serial))))


def test_a_query_for_another_digest_of_the_same_document(mint, pki):
    asked = pki.query(digest="sha512", nonce=None)
    assert mint.refused(query=asked) == "reject imprint_alg_mismatch"
    mint.verify(mint.token(content=pki.tstinfo(digest="sha512")), query=asked)


def test_content_of_another_type(mint, pki):
    content = pki.tstinfo()
    info = pki.signer_info(mint.unit, content, content_type=pki.DATA_OID)
    blob = pki.response(pki.token(content, [info], [mint.unit.der], content_type=pki.DATA_OID))
    assert mint.refused(blob) == "reject econtent_type"


@pytest.mark.parametrize("status", [2, 3, 4, 5, 6, 255, -1])
def test_only_granted_statuses_pass(mint, pki, status):
    inner = mint.token()[9:] if mint.token()[1] == 0x82 else b""
    assert mint.refused(pki.response(inner, status=status)) == "reject status"
    mint.verify(pki.response(inner, status=1))
    assert mint.refused(pki.seq(pki.seq(pki.integer(0)))) == "reject status"


def test_a_modified_grant_that_changes_the_policy(mint, pki):

    blob = pki.response(mint.token()[9:], status=1)
    with pytest.raises(TokenRejected, match="modified the request"):
        mint.verify(blob, query=pki.query(policy="1.2.3"))
    mint.verify(blob, query=pki.query(policy=pki.POLICY))
    mint.verify(mint.token(content=pki.tstinfo(nonce=5)), query=pki.query(nonce=None))


def test_a_missing_nonce_is_called_missing(mint, pki):
    with pytest.raises(TokenRejected, match="the token has none") as caught:
        mint.verify(mint.token(content=pki.tstinfo(nonce=None)), query=pki.query(nonce=77))
    assert caught.value.reason == "nonce_mismatch"
    assert "found None" not in str(caught.value)
    with pytest.raises(TokenRejected, match="its nonce is another.*0x4d.*0x5"):
        mint.verify(mint.token(content=pki.tstinfo(nonce=5)), query=pki.query(nonce=77))
