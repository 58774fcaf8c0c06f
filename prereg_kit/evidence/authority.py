"""The embedded demonstration authority: RFC 3161 answers that show the way and prove nothing.

It makes a root and a signer anew for every run (ECDSA P-256, valid for one day), signs with a policy and a
subject that `prereg_kit.evidence.token` rejects as evidence whatever is trusted, and forgets its keys when it ends. It
answers in-process, or over HTTP on the loopback address alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from asn1crypto import algos, cms, core, tsp
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from prereg_kit.evidence.token.demo import DEMO_POLICY_OID, DEMO_SUBJECT
from prereg_kit.foundation.digest import sha256_bytes

OPERATOR = "demo"
URL = "demo:in-process"
LIFETIME = timedelta(days=1)
BACKDATED = timedelta(minutes=10)
_LENGTHS = {"sha256": 32, "sha384": 48, "sha512": 64}
_MAX_QUERY = 4096

Clock = Callable[[], datetime]


class _Response(core.Sequence):  # type: ignore[misc]  # asn1crypto is untyped
    """TimeStampResp whose token is optional, as RFC 3161 2.4.2 has it (asn1crypto's class requires it)."""

    _fields: ClassVar = [
        ("status", tsp.PKIStatusInfo),
        ("time_stamp_token", cms.ContentInfo, {"optional": True}),
    ]


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _refusal(bit: str, text: str) -> bytes:
    status = tsp.PKIStatusInfo({"status": "rejection", "status_string": [text], "fail_info": {bit}})
    return bytes(_Response({"status": status}).dump())


@dataclass(frozen=True)
class DemoAuthority:
    """One run's authority: its root and signer certificates, the signer's key, and the clock it states."""

    root: x509.Certificate
    signer: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    clock: Clock = _utc_now

    @classmethod
    def create(cls, clock: Clock = _utc_now) -> DemoAuthority:
        """A new root and signer, valid for a day from ten minutes before the clock's present."""
        start = clock().replace(microsecond=0) - BACKDATED
        root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{DEMO_SUBJECT} (ROOT)")])
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, DEMO_SUBJECT)])
        usage = {
            "content_commitment": False,
            "key_encipherment": False,
            "data_encipherment": False,
            "key_agreement": False,
            "encipher_only": False,
            "decipher_only": False,
        }

        def build(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
            return (
                x509.CertificateBuilder()
                .subject_name(subject)
                .issuer_name(root_name)
                .public_key(public)
                .serial_number(x509.random_serial_number())
                .not_valid_before(start)
                .not_valid_after(start + LIFETIME)
                .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
                .add_extension(
                    x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False
                )
            )

        root = (
            build(root_name, root_key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=False, key_cert_sign=True, crl_sign=True, **usage),
                critical=True,
            )
            .sign(root_key, hashes.SHA256())
        )
        signer = (
            build(name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **usage),
                critical=True,
            )
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
            .sign(root_key, hashes.SHA256())
        )
        return cls(root, signer, key, clock)

    @property
    def root_pem(self) -> bytes:
        """The root certificate in PEM. To pin it makes no demo token evidence."""
        return self.root.public_bytes(serialization.Encoding.PEM)

    @property
    def root_sha256(self) -> str:
        """The root's fingerprint: SHA-256 of its DER in hex."""
        return sha256_bytes(self.root.public_bytes(serialization.Encoding.DER))

    def answer(self, query: bytes) -> bytes:
        """The DER response to a DER request: a demo token, or a refusal with its reason (RFC 3161 2.4.2)."""
        try:
            request = tsp.TimeStampReq.load(query, strict=True)
            version = request["version"].native
            algorithm = request["message_imprint"]["hash_algorithm"]["algorithm"].native
            imprint = request["message_imprint"]["hashed_message"].native
            policy, nonce = request["req_policy"].native, request["nonce"].native
            wants_certificates = bool(request["cert_req"].native)
        except (ValueError, TypeError, KeyError):
            return _refusal("bad_data_format", "not a timestamp request")
        if version != "v1":
            return _refusal("bad_request", "unknown version of the request")
        if _LENGTHS.get(algorithm) != len(imprint):
            return _refusal("bad_alg", "wanted: a SHA-256, SHA-384 or SHA-512 imprint")
        if policy not in (None, DEMO_POLICY_OID):
            return _refusal("unaccepted_policy", "only the demo policy is served")
        info = tsp.TSTInfo(
            {
                "version": "v1",
                "policy": DEMO_POLICY_OID,
                "message_imprint": request["message_imprint"],
                "serial_number": secrets.randbits(63) | 1 << 62,
                "gen_time": self.clock().astimezone(UTC).replace(microsecond=0),
                "accuracy": {"seconds": 1},
                **({} if nonce is None else {"nonce": nonce}),
            }
        )
        token = self._signed(info.dump(), wants_certificates)
        return bytes(_Response({"status": {"status": "granted"}, "time_stamp_token": token}).dump())

    def _signed(self, content: bytes, with_certificates: bool) -> cms.ContentInfo:
        signer = asn1_x509.Certificate.load(self.signer.public_bytes(serialization.Encoding.DER))
        root = asn1_x509.Certificate.load(self.root.public_bytes(serialization.Encoding.DER))
        state = hashes.Hash(hashes.SHA256())
        state.update(content)
        identifier = tsp.ESSCertIDv2({"cert_hash": bytes.fromhex(sha256_bytes(signer.dump()))})
        attributes = cms.CMSAttributes(
            [
                _attribute("content_type", "tst_info"),
                _attribute("message_digest", state.finalize()),
                _attribute("signing_certificate_v2", tsp.SigningCertificateV2({"certs": [identifier]})),
            ]
        )
        signature = self.key.sign(attributes.dump(), ec.ECDSA(hashes.SHA256()))
        sha256 = algos.DigestAlgorithm({"algorithm": "sha256"})
        signer_info = cms.SignerInfo(
            {
                "version": "v1",
                "sid": cms.SignerIdentifier(
                    "issuer_and_serial_number",
                    {"issuer": signer.issuer, "serial_number": signer.serial_number},
                ),
                "digest_algorithm": sha256,
                "signed_attrs": attributes,
                "signature_algorithm": {"algorithm": "sha256_ecdsa"},
                "signature": signature,
            }
        )
        signed: dict[str, Any] = {
            "version": "v3",
            "digest_algorithms": [sha256],
            "encap_content_info": {"content_type": "tst_info", "content": core.ParsableOctetString(content)},
            "signer_infos": [signer_info],
        }
        if with_certificates:
            signed["certificates"] = [signer, root]
        return cms.ContentInfo({"content_type": "signed_data", "content": cms.SignedData(signed)})


def _attribute(kind: str, value: object) -> cms.CMSAttribute:
    return cms.CMSAttribute({"type": kind, "values": [value]})


def loopback_server(authority: DemoAuthority, port: int = 0) -> ThreadingHTTPServer:
    """An HTTP server for the authority on 127.0.0.1 and nowhere else; the caller runs and closes it.

    Args:
        authority: whose answers to serve.
        port: 0 picks a free one; `server.server_address[1]` tells which.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if self.headers.get_content_type() != "application/timestamp-query":
                self.send_error(415, "expected application/timestamp-query")
            elif not length.isdigit() or int(length) > _MAX_QUERY:
                self.send_error(413, "expected a timestamp request")
            else:
                body = authority.answer(self.rfile.read(int(length)))
                self.send_response(200)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
