"""Certificates that are damaged in ways that no certificate writer offers, and what self-issued ones are exempt from."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.certificate import read_certificate
from prereg_kit.evidence.token.reason import TokenRejected


def signed_again(pki, unit, issuer, change, algorithm=None):
    """The certificate of `unit` with changed fields of its TBSCertificate, under a sound signature of `issuer`."""
    fields = [node.raw for node in next(der.parse(unit.der).children()).children()]
    body = pki.seq(*change(fields))
    signature = issuer.key.sign(body, ec.ECDSA(hashes.SHA256()))
    return pki.seq(body, algorithm or fields[2], pki.tlv(0x03, b"\0" + signature))


def extensions_of(fields):
    return [node.raw for node in der.parse(fields[-1]).only().children()]


@pytest.fixture(scope="module")
def outcome(mint, pki):
    """What a token comes to whose signer has the changed certificate."""

    def judge(change, algorithm=None):
        class Changed:
            key, cert = mint.unit.key, mint.unit.cert
            der = signed_again(pki, mint.unit, mint.inter, change, algorithm)

        content = pki.tstinfo()
        info = pki.signer_info(Changed, content)
        blob = pki.response(pki.token(content, [info], [Changed.der, mint.inter.der]))
        return mint, blob

    return judge


def test_the_helper_makes_sound_certificates(outcome):
    mint, blob = outcome(lambda fields: fields)
    mint.verify(blob)


@pytest.mark.parametrize(
    "change",
    [
        lambda pki, fields: [
            *fields[:-1],
            pki.tlv(0xA3, pki.seq(*extensions_of(fields), extensions_of(fields)[0])),
        ],
        lambda pki, fields: [pki.tlv(0xA0, pki.integer(1)), *fields[1:]],
        lambda pki, fields: [pki.tlv(0xA0, pki.integer(9)), *fields[1:]],
        lambda pki, fields: [*fields, b"\x05\x00"],
        lambda pki, fields: [
            *fields[:4],
            pki.seq(pki.tlv(0x17, b"2501010000Z"), pki.tlv(0x17, b"450101000000Z")),
            *fields[5:],
        ],
        lambda pki, fields: [
            *fields[:4],
            pki.seq(pki.tlv(0x17, b"250101000000+0100"), pki.tlv(0x17, b"450101000000Z")),
            *fields[5:],
        ],
        lambda pki, fields: fields[:4],
    ],
    ids=[
        "extension twice",
        "extensions in version 2",
        "version 10",
        "a field too many",
        "no seconds",
        "local time",
        "cut",
    ],
)
def test_a_damaged_signer_certificate_proves_nothing(outcome, pki, change):
    mint, blob = outcome(lambda fields: change(pki, fields))
    assert mint.refused(blob) == "unsupported unsupported_certificate"


def test_two_different_signature_algorithms(outcome, pki):
    mint, blob = outcome(lambda fields: fields, pki.seq(pki.oid("1.2.840.10045.4.3.3")))
    assert mint.refused(blob) == "unsupported unsupported_certificate"


def test_an_unknown_kind_of_key(outcome, pki):
    strange = pki.seq(pki.seq(pki.oid("1.3.6.1.4.1.99999.7.30")), pki.tlv(0x03, b"\0abc"))
    mint, blob = outcome(lambda fields: [*fields[:6], strange, *fields[7:]])
    assert mint.refused(blob) == "unsupported unsupported_certificate"


def test_a_certificate_that_is_too_long_is_not_read():
    with pytest.raises(TokenRejected, match="damaged"):
        read_certificate(b"\x30" * 70_000)


def test_self_issued_certificates_are_exempt_from_name_constraints(mint, pki):
    leaf_only = x509.NameConstraints([x509.DirectoryName(pki.name("Leaf"))], None)
    top = pki.issue("Top", mint.root, ca=True, extra=[(leaf_only, True)])
    renewed = pki.issue("Top", top, ca=True)
    unit, other = pki.issue("Leaf", renewed), pki.issue("Other", renewed)
    mint.verify(mint.token(unit, bag=(unit, renewed, top)))
    assert mint.refused(mint.token(other, bag=(other, renewed, top))) == "reject name_constraints"


def test_self_issued_certificates_do_not_count_for_policies(mint, pki):
    top = pki.issue("Top", mint.root, ca=True, extra=[(x509.PolicyConstraints(2, None), True)])
    renewed, other = pki.issue("Top", top, ca=True), pki.issue("Middle", top, ca=True)
    counted, exempt = pki.issue("Leaf", other), pki.issue("Leaf", renewed)
    mint.verify(mint.token(exempt, bag=(exempt, renewed, top)))
    assert mint.refused(mint.token(counted, bag=(counted, other, top))) == "reject policy_constraints"
