"""What the signer's certificate must be (RFC 3161 2.3): made for time stamping and nothing else."""

from __future__ import annotations

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.certificate import (
    CONTENT_COMMITMENT,
    DIGITAL_SIGNATURE,
    EXTENDED_KEY_USAGE,
    SUBJECT_ALT_NAME,
    TIME_STAMPING,
    Certificate,
)
from prereg_kit.evidence.token.names import name_text, name_values, same_name
from prereg_kit.evidence.token.reason import Finding, TokenRejected

_DIRECTORY_NAME = 0xA4


def check_profile(certificate: Certificate) -> tuple[Finding, ...]:
    """Extended key usage critical and time stamping alone; key usage for signatures alone; no CA.

    The length of the key is checked with the path, as for every certificate of it.

    Raises:
        TokenRejected: eku, key_usage, tsa_is_ca.
    """
    if certificate.purposes is None:
        raise TokenRejected("eku", f"the certificate {certificate.title} is not made for time stamping")
    if certificate.purposes != (TIME_STAMPING,):
        raise TokenRejected(
            "eku",
            f"the certificate {certificate.title} is not made for time stamping alone",
            expected=f"{TIME_STAMPING} alone",
            found=list(certificate.purposes),
        )
    if not certificate.extensions[EXTENDED_KEY_USAGE].critical:
        raise TokenRejected("eku", f"the extended key usage of {certificate.title} is not critical")
    if certificate.authority[0]:
        raise TokenRejected("tsa_is_ca", f"the signer {certificate.title} is a certification authority")
    allowed = {DIGITAL_SIGNATURE, CONTENT_COMMITMENT}
    if certificate.key_usage is not None and (
        not certificate.key_usage or not certificate.key_usage <= allowed
    ):
        raise TokenRejected(
            "key_usage",
            f"the key of {certificate.title} is not for signatures alone",
            expected="digitalSignature, contentCommitment or both",
            found=sorted(certificate.key_usage),
        )
    if certificate.key_usage is None:
        return (Finding("key_usage_absent", "the signer's certificate does not limit the use of its key"),)
    return ()


def check_tsa_name(tsa: der.Node | None, certificate: Certificate) -> None:
    """The hint `tsa`, if there, is one of the certificate's subject names (RFC 3161 2.4.2).

    Raises:
        TokenRejected: tsa_name_mismatch.
    """
    if tsa is None:
        return
    if tsa.tag == _DIRECTORY_NAME and same_name(tsa.only().raw, certificate.subject):
        return
    alternative = certificate.extensions.get(SUBJECT_ALT_NAME)
    if alternative is not None:
        for name in der.parse(alternative.value).expect(der.SEQUENCE).children():
            if name.raw == tsa.raw:
                return
            if name.tag == tsa.tag == _DIRECTORY_NAME and same_name(tsa.only().raw, name.only().raw):
                return
    raise TokenRejected(
        "tsa_name_mismatch",
        "the token names another authority than the certificate that signed it",
        expected=name_text(certificate.subject),
        found=name_text(tsa.only().raw) if tsa.tag == _DIRECTORY_NAME else tsa.content[:80],
    )


def names_of_tests(certificates: tuple[Certificate, ...]) -> tuple[Finding, ...]:
    """A finding if a name in the path says that it is for tests: real signatures, yet perhaps no evidence."""
    for certificate in certificates:
        words = {
            word.strip("-_.,()").upper()
            for value in name_values(certificate.subject)
            for word in value.split()
        }
        if words & {"TEST", "DEMO", "TESTING", "SANDBOX", "STAGING"}:
            return (Finding("test_authority", f"{certificate.title} calls itself a test or demonstration"),)
    return ()
