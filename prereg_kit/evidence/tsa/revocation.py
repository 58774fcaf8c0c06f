"""Fetching what the certificates of a chain point to: CRLs and OCSP answers, as received, best effort.

A failure is no error: the report says "not checked". Only http addresses are used (the data is signed), each
under the client's limits; addresses come from a chain that ended at a pinned anchor, never from a stranger's.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtensionOID

from prereg_kit.errors import PreregError
from prereg_kit.evidence.archive.record import Revocation
from prereg_kit.evidence.tsa.http import Limits, exchange

MAX_CRL = 4 << 20
_MAX_FETCHES = 8


def _crl_addresses(certificate: x509.Certificate) -> Iterator[str]:
    try:
        points = certificate.extensions.get_extension_for_class(x509.CRLDistributionPoints).value
    except (x509.ExtensionNotFound, ValueError):
        return
    for point in points:
        for name in point.full_name or ():
            if isinstance(name, x509.UniformResourceIdentifier) and name.value.startswith("http://"):
                yield name.value


def _ocsp_addresses(certificate: x509.Certificate) -> Iterator[str]:
    try:
        extension = certificate.extensions.get_extension_for_oid(ExtensionOID.AUTHORITY_INFORMATION_ACCESS)
    except (x509.ExtensionNotFound, ValueError):
        return
    for access in extension.value:  # type: ignore[attr-defined]
        name = access.access_location
        if (
            access.access_method == AuthorityInformationAccessOID.OCSP
            and isinstance(name, x509.UniformResourceIdentifier)
            and name.value.startswith("http://")
        ):
            yield name.value


def _crl(url: str, limits: Limits) -> bytes | None:
    answer = exchange("GET", url, None, {}, replace(limits, max_bytes=MAX_CRL))
    if answer.status != 200:
        return None
    load = x509.load_pem_x509_crl if answer.body.startswith(b"-----") else x509.load_der_x509_crl
    load(answer.body)
    return answer.body


def _ocsp(url: str, certificate: x509.Certificate, issuer: x509.Certificate, limits: Limits) -> bytes | None:
    request = ocsp.OCSPRequestBuilder().add_certificate(certificate, issuer, hashes.SHA1()).build()  # noqa: S303 - an identifier (RFC 6960 4.1.1), no signature
    body = request.public_bytes(serialization.Encoding.DER)
    answer = exchange("POST", url, body, {"Content-Type": "application/ocsp-request"}, limits)
    if answer.status != 200:
        return None
    parsed = ocsp.load_der_ocsp_response(answer.body)
    return answer.body if parsed.response_status == ocsp.OCSPResponseStatus.SUCCESSFUL else None


def fetch_all(chain_pem: bytes, limits: Limits, clock: Callable[[], datetime]) -> tuple[Revocation, ...]:
    """Revocation data for every certificate of a chain but its anchor.

    Args:
        chain_pem: PEM, signer first, anchor last.
        limits: of each exchange; a CRL may have up to 4 MiB.
        clock: for the time of each fetch.

    Returns:
        What could be fetched and parsed, as received; at most eight items.
    """
    try:
        chain = x509.load_pem_x509_certificates(chain_pem)
    except ValueError:
        return ()
    found: list[Revocation] = []
    seen: set[str] = set()
    for certificate, issuer in itertools.pairwise(chain):
        for url in _crl_addresses(certificate):
            if url not in seen and len(found) < _MAX_FETCHES:
                seen.add(url)
                data = _quiet(functools.partial(_crl, url, limits))
                found += [Revocation("crl", url, data, clock())] if data else []
        for url in _ocsp_addresses(certificate):
            if len(found) < _MAX_FETCHES:
                data = _quiet(functools.partial(_ocsp, url, certificate, issuer, limits))
                found += [Revocation("ocsp", url, data, clock())] if data else []
    return tuple(found)


def _quiet(fetch: Callable[[], bytes | None]) -> bytes | None:
    try:
        return fetch()
    except (PreregError, ValueError, TypeError):
        return None
