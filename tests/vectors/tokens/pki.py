"""A throw-away PKI and a token writer with every screw loose, for `remake.py`. Keys never leave the process."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DATA = b"We predict that paired seeds halve the variance.\n"
WHEN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
POLICY = "1.3.6.1.4.1.99999.7.1"
NONCE = 0x8E1F00D5AA55C3
TST, DATA_OID, SIGNED = "1.2.840.113549.1.9.16.1.4", "1.2.840.113549.1.7.1", "1.2.840.113549.1.7.2"
SHA = {
    "sha256": "2.16.840.1.101.3.4.2.1",
    "sha384": "2.16.840.1.101.3.4.2.2",
    "sha512": "2.16.840.1.101.3.4.2.3",
    "sha1": "1.3.14.3.2.26",
}


def tlv(tag, *parts):
    body = b"".join(parts)
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    size = (len(body).bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + len(body).to_bytes(size, "big") + body


def seq(*parts):
    return tlv(0x30, *parts)


def set_(*parts):
    return tlv(0x31, *parts)


def octets(data):
    return tlv(0x04, data)


def integer(value, tag=0x02):
    return tlv(tag, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def oid(text):
    first, second, *rest = (int(part) for part in text.split("."))
    out = b""
    for arc in [40 * first + second, *rest]:
        chunk = bytes([arc & 0x7F])
        while arc := arc >> 7:
            chunk = bytes([0x80 | arc & 0x7F]) + chunk
        out += chunk
    return tlv(0x06, out)


def algorithm(name):
    return seq(oid(name), b"\x05\x00")


def new_key(kind):
    if kind.startswith("rsa"):
        return rsa.generate_private_key(65537, int(kind[3:]))
    return (
        ed25519.Ed25519PrivateKey.generate() if kind == "ed25519" else ec.generate_private_key(ec.SECP256R1())
    )


class Unit:
    """A key and its certificate."""

    def __init__(self, key, cert):
        self.key, self.cert = key, cert
        self.der = cert.public_bytes(serialization.Encoding.DER)
        self.pem = cert.public_bytes(serialization.Encoding.PEM)


def name(common):
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Vectors, no evidence"),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
        ]
    )


def issue(
    common,
    issuer=None,
    *,
    kind="ec",
    ca=False,
    length=None,
    start=2025,
    end=2045,
    eku="tsa",
    critical_eku=True,
    usage=None,
    extra=(),
    subject=None,
    key=None,
    serial=None,
    hash_=None,
    constraints=True,
):
    """A certificate; `issuer` None makes it self-signed; `eku` is tsa, both, any, tls, ocsp or None."""
    key = key or new_key(kind)
    subject = subject or name(common)
    signer = issuer.key if issuer else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.cert.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(datetime(start, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(end, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )
    if constraints:
        builder = builder.add_extension(x509.BasicConstraints(ca, length), True)
    bits = usage or ({"key_cert_sign", "crl_sign"} if ca else {"digital_signature"})
    flags = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
    )
    builder = builder.add_extension(
        x509.KeyUsage(**{flag: flag in bits for flag in flags}, encipher_only=False, decipher_only=False),
        True,
    )
    purposes = {
        "tsa": [ExtendedKeyUsageOID.TIME_STAMPING],
        "both": [ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.CODE_SIGNING],
        "any": [ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE],
        "ocsp": [ExtendedKeyUsageOID.OCSP_SIGNING],
    }.get(eku)
    if purposes and not ca:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical_eku)
    for extension, critical in extra:
        builder = builder.add_extension(extension, critical)
    digest = None if isinstance(signer, ed25519.Ed25519PrivateKey) else hash_ or hashes.SHA256()
    return Unit(key, builder.sign(signer, digest))


def tstinfo(
    *,
    data=DATA,
    digest="sha256",
    when=b"20260301120000Z",
    version=1,
    serial=77,
    nonce=NONCE,
    policy=POLICY,
    accuracy=None,
    tsa=None,
    extensions=None,
    imprint=None,
    raw_nonce=None,
):
    parts = [
        integer(version),
        oid(policy),
        seq(algorithm(SHA[digest]), octets(imprint or hashlib.new(digest, data).digest())),
    ]
    parts += [integer(serial), tlv(0x18, when), seq(integer(1)) if accuracy is None else accuracy]
    if raw_nonce is not None:
        parts.append(tlv(0x02, raw_nonce))
    elif nonce is not None:
        parts.append(integer(nonce))
    if tsa is not None:
        parts.append(tlv(0xA0, tsa))
    if extensions is not None:
        parts.append(tlv(0xA1, extensions))
    return seq(*parts)


def ess_v2(cert, digest="sha256", issuer_serial=None):
    body = octets(hashlib.new(digest, cert).digest())
    inner = seq(
        *([] if digest == "sha256" else [algorithm(SHA[digest])]),
        body,
        *([issuer_serial] if issuer_serial else []),
    )
    return attribute("1.2.840.113549.1.9.16.2.47", seq(seq(inner)))


def ess_v1(cert):
    return attribute("1.2.840.113549.1.9.16.2.12", seq(seq(seq(octets(hashlib.sha1(cert).digest())))))


def attribute(kind, *values):
    return seq(oid(kind), set_(*values))


def sign(key, message, digest="sha256", *, pss=False):
    """(AlgorithmIdentifier, signature)."""
    chosen = {
        "sha256": hashes.SHA256(),
        "sha384": hashes.SHA384(),
        "sha512": hashes.SHA512(),
        "sha1": hashes.SHA1(),
    }[digest]
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return seq(oid("1.3.101.112")), key.sign(message)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        number = {
            "sha1": "1.2.840.10045.4.1",
            "sha256": "1.2.840.10045.4.3.2",
            "sha384": "1.2.840.10045.4.3.3",
            "sha512": "1.2.840.10045.4.3.4",
        }
        return seq(oid(number[digest])), key.sign(message, ec.ECDSA(chosen))
    if pss:
        mask = tlv(0xA1, seq(oid("1.2.840.113549.1.1.8"), algorithm(SHA[digest])))
        params = seq(tlv(0xA0, algorithm(SHA[digest])), mask, tlv(0xA2, integer(32)))
        return seq(oid("1.2.840.113549.1.1.10"), params), key.sign(
            message, padding.PSS(padding.MGF1(chosen), 32), chosen
        )
    return algorithm("1.2.840.113549.1.1.1"), key.sign(message, padding.PKCS1v15(), chosen)


def signer_info(
    unit,
    content,
    *,
    attributes=None,
    digest="sha256",
    content_type=TST,
    sid=None,
    pss=False,
    key=None,
    message_digest=None,
    extra=(),
    ess=None,
    bare=False,
):
    """One SignerInfo; `bare` leaves the signed attributes out."""
    if attributes is None:
        attributes = [
            attribute("1.2.840.113549.1.9.3", oid(content_type)),
            attribute(
                "1.2.840.113549.1.9.4", octets(message_digest or hashlib.new(digest, content).digest())
            ),
            *([ess_v2(unit.der)] if ess is None else ess),
            *extra,
        ]
    attributes = sorted(attributes)
    number, signature = sign(key or unit.key, content if bare else set_(*attributes), digest, pss=pss)
    issuer = unit.cert.issuer.public_bytes()
    identifier = sid or seq(issuer, integer(unit.cert.serial_number))
    version = 3 if identifier[0] == 0x80 else 1
    signed = [] if bare else [tlv(0xA0, *attributes)]
    return seq(integer(version), identifier, algorithm(SHA[digest]), *signed, number, octets(signature))


def token(content, infos, certificates, *, content_type=TST, crls=None, unsorted=False):
    parts = [integer(3), set_(algorithm(SHA["sha256"])), seq(oid(content_type), tlv(0xA0, octets(content)))]
    if certificates:
        parts.append(tlv(0xA0, *sorted(certificates, reverse=unsorted)))
    if crls:
        parts.append(tlv(0xA1, *crls))
    return seq(oid(SIGNED), tlv(0xA0, seq(*parts, set_(*infos))))


def response(inner, status=0):
    return seq(seq(integer(status)), inner)


def query(*, data=DATA, nonce=NONCE, policy=None, digest="sha256"):
    parts = [integer(1), seq(algorithm(SHA[digest]), octets(hashlib.new(digest, data).digest()))]
    parts += [oid(policy)] if policy else []
    return seq(*parts, *([integer(nonce)] if nonce is not None else []), b"\x01\x01\xff")


def crl(issuer, revoked=(), *, key=None, when=WHEN + timedelta(days=200)):
    """A revocation list; `revoked` holds (certificate, date, reason or None)."""
    builder = x509.CertificateRevocationListBuilder().issuer_name(issuer.cert.subject)
    builder = builder.last_update(when).next_update(when + timedelta(days=30))
    for unit, date, reason in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(unit.cert.serial_number).revocation_date(date)
        if reason:
            entry = entry.add_extension(x509.CRLReason(reason), False)
        builder = builder.add_revoked_certificate(entry.build())
    return builder.sign(key or issuer.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def ocsp(unit, issuer, responder, *, date=None, reason=None, when=WHEN + timedelta(days=200)):
    """An OCSP response about `unit`, signed by `responder`, whose certificate is embedded."""
    from cryptography.x509 import ocsp as module

    revoked = date is not None
    builder = module.OCSPResponseBuilder().add_response(
        cert=unit.cert,
        issuer=issuer.cert,
        algorithm=hashes.SHA1(),
        this_update=when,
        next_update=when + timedelta(days=7),
        cert_status=module.OCSPCertStatus.REVOKED if revoked else module.OCSPCertStatus.GOOD,
        revocation_time=date,
        revocation_reason=reason,
    )
    builder = builder.responder_id(module.OCSPResponderEncoding.HASH, responder.cert).certificates(
        [responder.cert]
    )
    return builder.sign(responder.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)
