"""Name constraints of every comparable kind: by the examples of RFC 5280 4.2.1.10, and by openssl as a second reader."""

import copy
import ipaddress
import shutil
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from prereg_kit.evidence.token import subtrees
from prereg_kit.evidence.token.names import within
from prereg_kit.evidence.token.subtrees import IncomparableError

OPENSSL = shutil.which("openssl")
MAIL, DNS, URI = x509.RFC822Name, x509.DNSName, x509.UniformResourceIdentifier


def address(text):
    return x509.IPAddress(ipaddress.ip_address(text))


def network(text):
    return x509.IPAddress(ipaddress.ip_network(text))


# name, base, whether the name lies in the base's subtree
CASES = [
    (MAIL("root@example.com"), MAIL("root@example.com"), True),
    (MAIL("root@EXAMPLE.com"), MAIL("root@example.com"), True),
    (MAIL("Root@example.com"), MAIL("root@example.com"), False),  # the local part keeps its case
    (MAIL("any@example.com"), MAIL("example.com"), True),
    (MAIL("any@host.example.com"), MAIL("example.com"), False),
    (MAIL("any@host.example.com"), MAIL(".example.com"), True),
    (MAIL("any@example.com"), MAIL(".example.com"), False),
    (MAIL("any@badexample.com"), MAIL("example.com"), False),
    (DNS("www.host.example.com"), DNS("host.example.com"), True),
    (DNS("host.example.com"), DNS("host.example.com"), True),
    (DNS("host1.example.com"), DNS("host.example.com"), False),
    (DNS("badhost.example.com"), DNS("host.example.com"), False),
    (DNS("WWW.Example.COM"), DNS("example.com"), True),
    (URI("https://host.example.com/path"), URI("host.example.com"), True),
    (URI("https://sub.host.example.com/"), URI("host.example.com"), False),
    (URI("https://my.host.example.com:8443/x"), URI(".example.com"), True),
    (URI("https://example.com/"), URI(".example.com"), False),
    (URI("https://example.com@evil.org/"), URI("example.com"), False),
    (address("192.0.2.7"), network("192.0.2.0/24"), True),
    (address("192.0.3.7"), network("192.0.2.0/24"), False),
    (address("2001:db8::1"), network("2001:db8::/32"), True),
    (address("2001:db9::1"), network("2001:db8::/32"), False),
    (address("192.0.2.7"), network("::/0"), False),
    (address("::ffff:192.0.2.7"), network("192.0.2.0/24"), False),
]


def pair(mint, pki, name, permitted=None, excluded=None):
    held = x509.NameConstraints(permitted and [permitted], excluded and [excluded])
    authority = pki.issue("Held", mint.root, ca=True, extra=[(held, True)])
    unit = pki.issue("Unit", authority, extra=[(x509.SubjectAlternativeName([name]), False)])
    return unit, authority


def openssl_accepts(mint, tmp_path, unit, authority):
    for file, one in (("root", mint.root), ("ca", authority), ("unit", unit)):
        (tmp_path / file).write_bytes(one.cert.public_bytes(Encoding.PEM))
    # The certificates are made for time stamping, whose purpose says nothing of names.
    line = [OPENSSL, "verify", "-CAfile", "root", "-untrusted", "ca", "unit"]
    return subprocess.run(line, cwd=tmp_path, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "base", "inside"), CASES, ids=lambda value: str(getattr(value, "value", value))
)
def test_permitted_and_excluded_subtrees(mint, pki, tmp_path, name, base, inside):
    for permitted, excluded, accepted in ((base, None, inside), (None, base, not inside)):
        unit, authority = pair(mint, pki, name, permitted, excluded)
        blob = mint.token(unit, bag=(unit, authority))
        if accepted:
            mint.verify(blob)
        else:
            assert mint.refused(blob) == "reject name_constraints"
        if OPENSSL is not None and "@evil" not in str(name.value):
            assert openssl_accepts(mint, tmp_path, unit, authority) == accepted


def test_a_constraint_binds_only_names_of_its_kind(mint, pki):
    unit, authority = pair(mint, pki, DNS("host.example.org"), permitted=MAIL("example.com"))
    mint.verify(mint.token(unit, bag=(unit, authority)))


def test_an_excluded_name_is_barred_although_it_is_permitted_too(mint, pki):
    unit, authority = pair(mint, pki, DNS("a.example.com"), DNS("example.com"), DNS("a.example.com"))
    assert mint.refused(mint.token(unit, bag=(unit, authority))) == "reject name_constraints"


def test_an_address_in_the_subject_is_held_to_the_constraints(mint, pki):
    held = x509.NameConstraints(None, [MAIL("example.com")])
    authority = pki.issue("Held", mint.root, ca=True, extra=[(held, True)])
    for mail, accepted in (("a@example.org", True), ("a@example.com", False)):
        subject = x509.Name([*pki.name("Unit"), x509.NameAttribute(x509.NameOID.EMAIL_ADDRESS, mail)])
        unit = pki.issue("Unit", authority, subject=subject)
        blob = mint.token(unit, bag=(unit, authority))
        if accepted:
            mint.verify(blob)
        else:
            assert mint.refused(blob) == "reject name_constraints"


UNREADABLE = [
    (MAIL, "a b@example.com"),
    (MAIL, "no-address"),
    (MAIL, '"a@b"@example.org'),
    (DNS, "host..example.org"),
    (DNS, "host example.org"),
    (URI, "urn:x"),
    (URI, "https://192.0.2.1/"),
    (URI, "https://[2001:db8::1]/"),
    (URI, "https://[bad/"),
]


@pytest.mark.parametrize(("kind", "text"), UNREADABLE)
@pytest.mark.parametrize("side", ["permitted", "excluded"])
def test_a_name_that_cannot_be_compared_is_never_let_through(mint, pki, kind, text, side):
    unit, authority = pair(mint, pki, kind(text), **{side: kind("example.com")})
    assert mint.refused(mint.token(unit, bag=(unit, authority))) == "reject name_constraints"


def test_a_directory_name_of_damaged_text_does_not_slip_past_an_excluded_subtree(mint, pki):
    ours = list(pki.name("x"))[:1]
    held = x509.NameConstraints(None, [x509.DirectoryName(x509.Name(ours))])
    authority = pki.issue("Held", mint.root, ca=True, extra=[(held, True)])
    marked = pki.issue("Unit QQQQ", authority)
    assert mint.refused(mint.token(marked, bag=(marked, authority))) == "reject name_constraints"
    # The same certificate with a name of no valid UTF-8, signed anew by the authority.
    forged = copy.copy(marked)
    body = marked.cert.tbs_certificate_bytes.replace(b"QQQQ", b"\xff\xfe\xff\xfe")
    signature = authority.key.sign(body, ec.ECDSA(hashes.SHA256()))
    algorithm = pki.seq(pki.oid(marked.cert.signature_algorithm_oid.dotted_string))
    forged.der = pki.seq(body, algorithm, pki.tlv(0x03, b"\0" + signature))
    assert mint.refused(mint.token(forged, bag=(forged, authority))) == "reject name_constraints"
    raw = marked.cert.subject.public_bytes()
    damaged = raw.replace(b"QQQQ", b"\xff\xfe\xff\xfe")
    for name, base in ((damaged, x509.Name(ours).public_bytes()), (raw, damaged)):
        with pytest.raises(IncomparableError):
            within(name, base)


@pytest.mark.parametrize(
    ("name", "base"),
    [(b"\x01" * 5, b"\0" * 8), (b"\x01" * 4, b"\0" * 7), (b"\x01" * 4, b"\0" * 4 + b"\xff\x00\xff\x00")],
)
def test_a_damaged_address_or_range_cannot_be_compared(name, base):
    with pytest.raises(IncomparableError):
        subtrees.address_within(name, base)


def test_a_base_that_cannot_be_compared_does_not_hide_behind_another():
    with pytest.raises(IncomparableError):
        subtrees.host_within(b"a.example.org", b"exa mple.org")
