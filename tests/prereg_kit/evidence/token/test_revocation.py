"""Stored revocation data: what counts, for which certificate, and what a reason means (RFC 3161 4)."""

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from prereg_kit.evidence.token import Evidence

DAY = timedelta(days=1)
LATER = 100 * DAY


def evidence(*crls, ocsps=()):
    return Evidence(tuple(crls), tuple(ocsps))


def codes(proof):
    return {finding.code for finding in proof.warnings}


REASONS = [
    (None, 1, "revoked_reason_absent"),
    (None, -1, "revoked_reason_absent"),
    (x509.ReasonFlags.key_compromise, 1, "revoked_key_compromise"),
    (x509.ReasonFlags.ca_compromise, 1, "revoked_key_compromise"),
    (x509.ReasonFlags.aa_compromise, 1, "revoked_key_compromise"),
    (x509.ReasonFlags.unspecified, 1, None),
    (x509.ReasonFlags.superseded, 1, None),
    (x509.ReasonFlags.cessation_of_operation, 1, None),
    (x509.ReasonFlags.affiliation_changed, 1, None),
    (x509.ReasonFlags.superseded, 0, "revoked"),
    (x509.ReasonFlags.superseded, -1, "revoked"),
    (x509.ReasonFlags.cessation_of_operation, -1, "revoked"),
    (x509.ReasonFlags.certificate_hold, 1, "revoked"),
    (x509.ReasonFlags.privilege_withdrawn, 1, "revoked"),
]


@pytest.mark.parametrize(("reason", "days", "expected"), REASONS)
@pytest.mark.parametrize("source", ["crl", "ocsp"])
def test_reasons_and_dates(mint, pki, source, reason, days, expected):
    date = pki.WHEN + days * DAY
    if source == "crl":
        given = evidence(pki.crl(mint.inter, [(mint.unit, date, reason)]))
    else:
        given = evidence(
            ocsps=[pki.ocsp(mint.unit, mint.inter, mint.inter, date=date.replace(tzinfo=None), reason=reason)]
        )
    if expected is None:
        assert "revoked_later" in codes(mint.verify(evidence=given))
    else:
        assert mint.refused(evidence=given) == f"reject {expected}"


def test_an_intermediate_is_held_to_the_same(mint, pki):
    revoked = [(mint.inter, pki.WHEN + LATER, x509.ReasonFlags.key_compromise)]
    assert mint.refused(evidence=evidence(pki.crl(mint.root, revoked))) == "reject revoked_key_compromise"
    superseded = [(mint.inter, pki.WHEN + LATER, x509.ReasonFlags.superseded)]
    assert "revoked_later" in codes(mint.verify(evidence=evidence(pki.crl(mint.root, superseded))))


def test_good_needs_data_for_every_certificate_from_genTime_on(mint, pki):
    fresh, old = pki.crl(mint.inter), pki.crl(mint.inter, when=pki.WHEN - DAY)
    root = pki.crl(mint.root)
    assert mint.verify(evidence=evidence(fresh, root)).revocation == "good"
    assert mint.verify(evidence=evidence(fresh)).revocation == "not_checked"
    older = mint.verify(evidence=evidence(old, root))
    assert (older.revocation, "revocation_older" in codes(older)) == ("not_checked", True)
    assert mint.verify(evidence=evidence(old, fresh, root)).revocation == "good"


def test_a_list_inside_the_token_counts(mint, pki):
    content = pki.tstinfo()
    info = pki.signer_info(mint.unit, content)
    inside = pki.crl(mint.inter, [(mint.unit, pki.WHEN, x509.ReasonFlags.key_compromise)])
    blob = pki.response(pki.token(content, [info], [mint.unit.der, mint.inter.der], crls=[inside]))
    assert mint.refused(blob) == "reject revoked_key_compromise"


def test_a_list_by_another_key_or_another_name_says_nothing(mint, pki):
    compromised = [(mint.unit, pki.WHEN, x509.ReasonFlags.key_compromise)]
    forged = mint.verify(evidence=evidence(pki.crl(mint.inter, compromised, key=pki.new_key("ec"))))
    assert "evidence_ignored" in codes(forged)
    stranger = pki.issue("Stranger", ca=True)
    assert "evidence_ignored" not in codes(mint.verify(evidence=evidence(pki.crl(stranger, compromised))))
    blind = pki.issue("Blind CA", mint.root, ca=True, usage={"key_cert_sign"})
    unit = pki.issue("Unit", blind)
    proof = mint.verify(mint.token(unit, bag=(unit, blind)), evidence=evidence(pki.crl(blind)))
    assert "evidence_ignored" in codes(proof)


def extended(mint, pki, *extensions, entries=(), entry_extension=None):
    builder = x509.CertificateRevocationListBuilder().issuer_name(mint.inter.cert.subject)
    builder = builder.last_update(pki.WHEN + LATER).next_update(pki.WHEN + 2 * LATER)
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    for date in entries:
        entry = (
            x509.RevokedCertificateBuilder().serial_number(mint.unit.cert.serial_number).revocation_date(date)
        )
        entry = entry.add_extension(x509.CRLReason(x509.ReasonFlags.superseded), False)
        if entry_extension:
            entry = entry.add_extension(*entry_extension)
        builder = builder.add_revoked_certificate(entry.build())
    return builder.sign(mint.inter.key, hashes.SHA256()).public_bytes(Encoding.DER)


def scope(**changes):
    values = {
        "full_name": None, "relative_name": None, "only_contains_user_certs": False, "only_contains_ca_certs": False,
        "only_some_reasons": None, "indirect_crl": False, "only_contains_attribute_certs": False,
    }  # fmt: skip
    return x509.IssuingDistributionPoint(**{**values, **changes}), True


def test_the_scope_of_a_list(mint, pki):
    root = pki.crl(mint.root)

    def status(*extensions):
        proof = mint.verify(evidence=evidence(extended(mint, pki, *extensions), root))
        return proof.revocation, "evidence_ignored" in codes(proof)

    assert status(scope(only_contains_user_certs=True)) == ("good", False)
    assert status(scope(only_contains_ca_certs=True)) == ("not_checked", False)
    assert status(scope(only_contains_attribute_certs=True)) == ("not_checked", False)
    assert status(scope(only_some_reasons=frozenset([x509.ReasonFlags.superseded]))) == ("not_checked", False)
    assert status(scope(indirect_crl=True)) == ("not_checked", True)
    assert status((x509.DeltaCRLIndicator(3), True)) == ("not_checked", True)
    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.7.8"), b"\x05\x00")
    assert status((unknown, True)) == ("not_checked", True)
    assert status((unknown, False), (x509.CRLNumber(7), False)) == ("good", False)


def test_the_invalidity_date_of_an_entry(mint, pki):
    def entry(moment):
        extension = (x509.InvalidityDate(moment), False)
        return evidence(extended(mint, pki, entries=[pki.WHEN + LATER], entry_extension=extension))

    assert "revoked_later" in codes(mint.verify(evidence=entry(pki.WHEN + DAY)))
    assert mint.refused(evidence=entry(pki.WHEN - DAY)) == "reject revoked"


def test_an_entry_with_an_unknown_critical_extension_is_not_used(mint, pki):
    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.7.8"), b"\x05\x00")
    given = evidence(extended(mint, pki, entries=[pki.WHEN], entry_extension=(unknown, True)))
    assert "evidence_ignored" in codes(mint.verify(evidence=given))


def test_responders(mint, pki):
    root = pki.crl(mint.root)

    def status(responder, issuer=None):
        proof = mint.verify(
            evidence=evidence(root, ocsps=[pki.ocsp(mint.unit, issuer or mint.inter, responder)])
        )
        return proof.revocation, "evidence_ignored" in codes(proof)

    assert status(mint.inter) == ("good", False)
    assert status(pki.issue("Responder", mint.inter, eku="ocsp")) == ("good", False)
    assert status(pki.issue("Not delegated", mint.inter)) == ("not_checked", True)
    assert status(pki.issue("Expired", mint.inter, eku="ocsp", end=2026)) == ("not_checked", True)
    assert status(pki.issue("Of another", mint.root, eku="ocsp")) == ("not_checked", True)
    twin = pki.issue("Mint CA", mint.root, ca=True)
    assert status(pki.issue("Of a twin", twin, eku="ocsp")) == ("not_checked", True)
    assert status(twin, twin) == ("not_checked", False)  # another key: it speaks of another certificate


def test_a_certificate_that_the_responder_does_not_know(mint, pki):
    from cryptography.x509 import ocsp

    builder = ocsp.OCSPResponseBuilder().add_response(
        cert=mint.unit.cert, issuer=mint.inter.cert, algorithm=hashes.SHA256(), cert_status=ocsp.OCSPCertStatus.UNKNOWN,
        this_update=pki.WHEN + LATER, next_update=None, revocation_time=None, revocation_reason=None,
    ).responder_id(ocsp.OCSPResponderEncoding.NAME, mint.inter.cert)  # fmt: skip
    response = builder.sign(mint.inter.key, hashes.SHA256()).public_bytes(Encoding.DER)
    assert mint.verify(evidence=evidence(pki.crl(mint.root), ocsps=[response])).revocation == "not_checked"


def test_an_error_response_is_ignored_aloud(mint):
    from cryptography.x509 import ocsp

    response = ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER).public_bytes(
        Encoding.DER
    )
    assert "evidence_ignored" in codes(mint.verify(evidence=evidence(ocsps=[response])))


def test_a_list_of_an_unknown_version_is_ignored_aloud(mint, pki):
    """Found by the fuzzer: `cryptography` raises an exception of its own kind, which is no ValueError."""
    damaged = pki.crl(mint.inter).replace(b"\x02\x01\x01", b"\x02\x01\x35", 1)
    assert "evidence_ignored" in codes(mint.verify(evidence=evidence(damaged)))
