"""Peers on 127.0.0.1 for the tests: authorities that `openssl ts -reply` signs for, and servers that misbehave.

The tokens are made by openssl, not by prereg_kit, so that client and verifier are tested against another
implementation. Certificates are made here with `cryptography`; keys live as long as the test run's folder.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

OPENSSL = shutil.which("openssl")
REPLY = "application/timestamp-reply"
_PEM = serialization.Encoding.PEM


def _builder(subject: x509.Name, issuer: x509.Name, public, start, end) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(**on: bool) -> x509.KeyUsage:
    names = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement key_cert_sign "
        "crl_sign encipher_only decipher_only"
    )
    return x509.KeyUsage(**(dict.fromkeys(names.split(), False) | on))


@dataclass
class Authority:
    """A root, a signer and the files that `openssl ts -reply` needs."""

    folder: Path
    name: str
    root_certificate: x509.Certificate
    root_key: ec.EllipticCurvePrivateKey
    signer: x509.Certificate
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def root(self) -> Path:
        return self.folder / "root.pem"

    def crl(self) -> bytes:
        """A revocation list of this moment, empty, DER."""
        now = dt.datetime.now(dt.UTC)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.root_key.public_key())
        return (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.root_certificate.subject)
            .last_update(now)
            .next_update(now + dt.timedelta(days=7))
            .add_extension(identifier, critical=False)
            .add_extension(x509.CRLNumber(1), critical=False)
            .sign(self.root_key, hashes.SHA256())
            .public_bytes(serialization.Encoding.DER)
        )

    def ocsp(self) -> bytes:
        """An OCSP answer of this moment: the signer is good."""
        now = dt.datetime.now(dt.UTC)
        builder = ocsp.OCSPResponseBuilder().add_response(
            cert=self.signer,
            issuer=self.root_certificate,
            algorithm=hashes.SHA1(),
            cert_status=ocsp.OCSPCertStatus.GOOD,
            this_update=now,
            next_update=now + dt.timedelta(days=7),
            revocation_time=None,
            revocation_reason=None,
        )
        builder = builder.responder_id(ocsp.OCSPResponderEncoding.HASH, self.root_certificate)
        response = builder.sign(self.root_key, hashes.SHA256())
        return response.public_bytes(serialization.Encoding.DER)

    def answer(self, query: bytes) -> bytes:
        """The response that openssl signs for a query."""
        with self.lock:
            (self.folder / "q.tsq").write_bytes(query)
            subprocess.run(
                [
                    OPENSSL,
                    "ts",
                    "-reply",
                    "-config",
                    "tsa.cnf",
                    "-section",
                    "tsa1",
                    "-queryfile",
                    "q.tsq",
                    "-out",
                    "r.tsr",
                ],
                cwd=self.folder,
                check=True,
                capture_output=True,
            )
            return (self.folder / "r.tsr").read_bytes()


def make_authority(
    folder: Path,
    name: str,
    *,
    lifetime: dt.timedelta = dt.timedelta(days=3650),
    crl_url: str | None = None,
    ocsp_url: str | None = None,
    intermediate: bool = False,
    accuracy_s: int = 1,
) -> Authority:
    """A new authority; its certificates end `lifetime` from now.

    With `intermediate`, the signer hangs from a second certificate, inter.pem, that the tokens leave out.
    """
    folder.mkdir(parents=True)
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    start, end = now - dt.timedelta(hours=1), now + lifetime
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} Root")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} Timestamping Unit")])
    root = (
        _builder(root_name, root_name, root_key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    issuer_key, issuer_name = root_key, root_name
    if intermediate:
        issuer_key = ec.generate_private_key(ec.SECP256R1())
        issuer_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} Issuing CA")])
        inter = (
            _builder(issuer_name, root_name, issuer_key.public_key(), start, end)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
            .sign(root_key, hashes.SHA256())
        )
        (folder / "inter.pem").write_bytes(inter.public_bytes(_PEM))
    builder = (
        _builder(subject, issuer_name, key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    if crl_url:
        point = x509.DistributionPoint([x509.UniformResourceIdentifier(crl_url)], None, None, None)
        builder = builder.add_extension(x509.CRLDistributionPoints([point]), critical=False)
    if ocsp_url:
        place = x509.UniformResourceIdentifier(ocsp_url)
        access = x509.AccessDescription(AuthorityInformationAccessOID.OCSP, place)
        builder = builder.add_extension(x509.AuthorityInformationAccess([access]), critical=False)
    signer = builder.sign(issuer_key, hashes.SHA256())
    (folder / "root.pem").write_bytes(root.public_bytes(_PEM))
    (folder / "tsa.pem").write_bytes(signer.public_bytes(_PEM))
    private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "tsa.key").write_bytes(private)
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(
        "[tsa1]\nserial = ./serial\ncrypto_device = builtin\nsigner_cert = ./tsa.pem\ncerts = ./tsa.pem\n"
        "signer_key = ./tsa.key\nsigner_digest = sha256\ndefault_policy = 1.3.6.1.4.1.55555.1.1\n"
        f"digests = sha256\naccuracy = secs:{accuracy_s}\nordering = no\ntsa_name = no\ness_cert_id_chain = no\n"
        "ess_cert_id_alg = sha256\n"
    )
    return Authority(folder, name, root, root_key, signer)


@dataclass
class Request:
    """A request that a server received."""

    method: str
    path: str
    content_type: str
    body: bytes


Behaviour = Callable[[BaseHTTPRequestHandler, bytes], None]


def reply(status: int, body: bytes, media_type: str | None = REPLY, **headers: str) -> Behaviour:
    """A behaviour that always answers the same."""

    def answer(handler: BaseHTTPRequestHandler, query: bytes) -> None:
        del query
        handler.send_response(status)
        if media_type:
            handler.send_header("Content-Type", media_type)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def signing(authority: Authority) -> Behaviour:
    """A behaviour that answers with an openssl-made token."""
    return lambda handler, query: reply(200, authority.answer(query))(handler, query)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """A behaviour that changes with each request; the last one stays."""
    left = list(behaviours)

    def answer(handler: BaseHTTPRequestHandler, query: bytes) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(handler, query)

    return answer


def hang(seconds: float) -> Behaviour:
    """A behaviour that says nothing for a while and then hangs up."""
    return lambda handler, query: time.sleep(seconds)


def drip(body: bytes, pause: float, sent: list[int]) -> Behaviour:
    """A behaviour that sends one octet at a time and notes each in `sent`."""

    def answer(handler: BaseHTTPRequestHandler, query: bytes) -> None:
        del query
        handler.send_response(200)
        handler.send_header("Content-Type", REPLY)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        with contextlib.suppress(OSError):
            for octet in body:
                handler.wfile.write(bytes([octet]))
                handler.wfile.flush()
                sent.append(octet)
                time.sleep(pause)

    return answer


@dataclass
class Server:
    """A running server: its address and what it received."""

    url: str
    requests: list[Request]


@contextlib.contextmanager
def serving(
    behaviour: Behaviour, get: Behaviour | None = None, *, tls: Authority | None = None
) -> Iterator[Server]:
    """Serve on 127.0.0.1 while the block runs; with `tls`, as https with that authority's certificate."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def _any(self, act: Behaviour) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            requests.append(Request(self.command, self.path, self.headers.get("Content-Type", ""), body))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                act(self, body)

        def do_POST(self) -> None:
            self._any(behaviour)

        def do_GET(self) -> None:
            self._any(get or reply(404, b"", "text/plain"))

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda request, address: None
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.folder / "tsa.pem", tls.folder / "tsa.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Server(f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}/tsr", requests)
    finally:
        server.shutdown()
        server.server_close()


def trust_folder(base: Path, *pairs: tuple[str, Authority, str]) -> Path:
    """A folder of operators: (name, authority, address) each."""
    from prereg_kit.evidence import trust

    for name, authority, url in pairs:
        trust.add(name, [authority.root.read_bytes()], base, url=url)
    return base


def self_signed_leaf() -> bytes:
    """A certificate in PEM that signs itself and may not issue others."""
    now, key = dt.datetime.now(dt.UTC), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Alone")])
    builder = _builder(name, name, key.public_key(), now, now + dt.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(_PEM)


_made: dict[str, Authority] = {}
_shared = tempfile.TemporaryDirectory(prefix="prereg-tsa-")


def authority(name: str) -> Authority:
    """An authority that all tests of a process share."""
    if name not in _made:
        _made[name] = make_authority(Path(_shared.name) / name, name.title())
    return _made[name]
