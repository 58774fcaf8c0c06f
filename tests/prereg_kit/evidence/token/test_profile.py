"""The signer's certificate, its name in the token, and what the signature may rest on."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"eku": None}, "eku"),
        ({"eku": "both"}, "eku"),
        ({"eku": "any"}, "eku"),
        ({"critical_eku": False}, "eku"),
        ({"usage": {"key_encipherment"}}, "key_usage"),
        ({"usage": {"digital_signature", "key_cert_sign"}}, "key_usage"),
        ({"start": 2027}, "certificate_expired"),
        ({"end": 2026}, "certificate_expired"),
    ],
)
def test_certificates_not_made_for_time_stamping_alone(mint, pki, arguments, reason):
    unit = pki.issue("Odd unit", mint.inter, **arguments)
    assert mint.refused(mint.token(unit)) == f"reject {reason}"


@pytest.mark.parametrize(
    "usage", [{"digital_signature"}, {"content_commitment"}, {"digital_signature", "content_commitment"}]
)
def test_key_usages_for_signatures(mint, pki, usage):
    mint.verify(mint.token(pki.issue("Unit", mint.inter, usage=usage)))


def test_a_signer_that_is_an_authority(mint, pki):
    purpose = x509.ExtendedKeyUsage([x509.ObjectIdentifier("1.3.6.1.5.5.7.3.8")])
    unit = pki.issue("CA unit", mint.inter, ca=True, extra=[(purpose, True)])
    assert mint.refused(mint.token(unit)) == "reject tsa_is_ca"


def test_curves_and_keys(mint, pki):
    for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1(), ec.BrainpoolP256R1()):
        unit = pki.issue("Unit", mint.inter, key=ec.generate_private_key(curve))
        assert mint.verify(mint.token(unit)).tsa.key == f"EC {curve.name}"
    weak = pki.issue("Unit", mint.inter, key=ec.generate_private_key(ec.SECP192R1()))
    assert mint.refused(mint.token(weak)) == "reject weak_key"


def test_a_short_rsa_key_protects_until_its_sunset(mint, pki):
    unit = pki.issue("Unit", mint.inter, kind="rsa2048")
    proof = mint.verify(mint.token(unit))
    assert proof.protected_until.isoformat() == "2029-01-01T00:00:00+00:00"
    assert proof.protected_by.startswith("RSA-2048")


@pytest.mark.parametrize("pss", [False, True])
@pytest.mark.parametrize("digest", ["sha256", "sha384", "sha512"])
def test_digests_of_rsa_signatures(mint, pki, digest, pss):
    unit = pki.issue("Unit", mint.inter, kind="rsa2048")
    mint.verify(mint.token(unit, digest=digest, pss=pss))


def test_pss_on_sha1_is_weak(mint, pki):
    unit = pki.issue("Unit", mint.inter, kind="rsa2048")
    blob = mint.token(unit, pss=True)
    content = pki.tstinfo()
    info = pki.signer_info(unit, content, pss=True)
    number, _ = pki.sign(unit.key, b"", pss=True)
    absent = pki.seq(pki.oid("1.2.840.113549.1.1.10"), pki.seq())  # RFC 4055: absent parts mean SHA-1
    assert mint.verify(blob)
    weakened = pki.response(
        pki.token(content, [resize(pki, info, number, absent)], [unit.der, mint.inter.der])
    )
    assert mint.refused(weakened) == "reject weak_signature_hash"


def resize(pki, info, old, new):
    """A SignerInfo with another AlgorithmIdentifier of the signature."""
    body = info[4:] if info[1] == 0x82 else info[3:]
    assert body.count(old) == 1
    return pki.seq(body.replace(old, new))


def test_an_algorithm_that_does_not_fit_the_key_or_is_not_known(mint, pki):
    content = pki.tstinfo()
    info = pki.signer_info(mint.unit, content)
    number, _ = pki.sign(mint.unit.key, b"")
    for oid, expected in (
        ("1.2.840.113549.1.1.11", "reject bad_signature"),
        ("1.3.101.112", "reject bad_signature"),
        ("1.2.840.10045.4.1", "reject weak_signature_hash"),
        ("1.2.840.113549.1.1.4", "reject weak_signature_hash"),
        ("1.3.101.113", "unsupported unsupported_signature"),
    ):
        changed = resize(pki, info, number, pki.seq(pki.oid(oid)))
        blob = pki.response(pki.token(content, [changed], [mint.unit.der, mint.inter.der]))
        assert mint.refused(blob) == expected


def test_the_tsa_field_is_a_name_of_the_certificate(mint, pki):
    other = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Also known as")])
    alternatives = x509.SubjectAlternativeName([x509.DirectoryName(other), x509.DNSName("tsa.example")])
    unit = pki.issue("Unit", mint.inter, extra=[(alternatives, False)])
    subject = unit.cert.subject.public_bytes()
    respelled = subject.replace(
        b"\x0c\x04Unit", b"\x13\x04uNIT"
    )  # another string type and case: the same name
    assert respelled != subject
    for name in (
        pki.tlv(0xA4, subject),
        pki.tlv(0xA4, respelled),
        pki.tlv(0xA4, other.public_bytes()),
        b"\x82\x0btsa.example",
    ):
        mint.verify(mint.token(unit, content=pki.tstinfo(tsa=name)))
    for name in (pki.tlv(0xA4, pki.name("Unit two").public_bytes()), b"\x82\x0btsb.example", b"\x81\x03a@b"):
        assert mint.refused(mint.token(unit, content=pki.tstinfo(tsa=name))) == "reject tsa_name_mismatch"


def test_a_name_that_says_test_is_a_warning(mint, pki):
    proof = mint.verify(mint.token(pki.issue("DEMO unit", mint.inter)))
    assert "test_authority" in {finding.code for finding in proof.warnings}
    assert not proof.demo
    calm = mint.verify(mint.token(pki.issue("Contest", mint.inter)))
    assert "test_authority" not in {finding.code for finding in calm.warnings}


def test_ess_identifiers(mint, pki):
    unit, other = mint.unit, mint.root
    name = pki.tlv(0xA4, unit.cert.issuer.public_bytes())
    right = pki.seq(pki.seq(name), pki.integer(unit.cert.serial_number))
    wrong = pki.seq(pki.seq(name), pki.integer(unit.cert.serial_number + 1))
    mail = pki.seq(pki.seq(b"\x81\x03a@b"), pki.integer(unit.cert.serial_number))
    mint.verify(mint.token(ess=[pki.ess_v2(unit.der, issuer_serial=right)]))
    sha1 = mint.verify(mint.token(ess=[pki.ess_v1(unit.der)]))
    assert "ess_sha1" in {finding.code for finding in sha1.warnings}
    for ess in (
        [pki.ess_v2(unit.der, issuer_serial=wrong)],
        [pki.ess_v2(unit.der, issuer_serial=mail)],
        [pki.ess_v2(other.der)],
        [pki.ess_v1(other.der)],
        [pki.ess_v1(other.der), pki.ess_v2(unit.der)],
        [pki.ess_v1(unit.der), pki.ess_v2(other.der)],
    ):
        assert mint.refused(mint.token(ess=ess)) == "reject ess_mismatch"
    assert mint.refused(mint.token(ess=[pki.ess_v2(unit.der)] * 2)) == "reject signed_attributes"
    for oid, expected in (
        ("1.2.840.113549.2.5", "reject weak_signature_hash"),
        ("2.16.840.1.101.3.4.2.11", "unsupported unsupported_digest"),
    ):
        value = pki.seq(pki.seq(pki.seq(pki.algorithm(oid), pki.octets(b"0" * 16))))
        assert mint.refused(mint.token(ess=[pki.attribute("1.2.840.113549.1.9.16.2.47", value)])) == expected


def test_of_two_certificates_of_one_issuer_and_serial_the_named_one_counts(mint, pki):
    twin = pki.issue("Twin", mint.inter, serial=mint.unit.cert.serial_number)
    for bag in ((twin, mint.unit, mint.inter), (mint.unit, twin, mint.inter)):
        assert mint.verify(mint.token(bag=bag)).chain[0] == mint.unit.der


def test_a_certificate_signed_on_a_weak_digest(mint, pki, monkeypatch):
    from prereg_kit.evidence.token import algorithm

    sound = dict(algorithm._COMBINED)
    monkeypatch.setattr(
        algorithm, "_WEAK_COMBINED", {**algorithm._WEAK_COMBINED, "1.2.840.10045.4.3.3": "weak for this test"}
    )
    weak = pki.issue("Unit", mint.inter, hash_=hashes.SHA384())
    assert sound["1.2.840.10045.4.3.3"]
    assert mint.refused(mint.token(weak)) == "reject weak_signature_hash"
