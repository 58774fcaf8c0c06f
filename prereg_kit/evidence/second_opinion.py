"""What other programs say of a token: `openssl ts` and rfc3161-client, where they are installed.

Never the verdict: both accept tokens that the strict verifier refuses, and refuse kinds that it accepts. They
are given the pinned anchors alone.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from prereg_kit.evidence.trust import pem


@dataclass(frozen=True)
class Opinion:
    """One program's answer; `unavailable` if it is not installed or no anchor could be given to it."""

    program: str
    answer: Literal["accept", "reject", "unavailable"]
    said: str


def openssl(
    document: bytes,
    query: bytes,
    response: bytes,
    *,
    anchors: Sequence[bytes],
    untrusted: bytes,
    at: datetime,
) -> Opinion:
    """`openssl ts -verify`, once with the document and once with the query: each checks what the other does not.

    Args:
        document: the stamped bytes.
        query: the DER request.
        response: the DER response.
        anchors: pinned certificates, DER.
        untrusted: other certificates, PEM.
        at: the time at which the path is judged.
    """
    program = shutil.which("openssl")
    if program is None or not anchors:
        return Opinion("openssl", "unavailable", "no anchor" if program else "not installed")
    with tempfile.TemporaryDirectory(prefix="prereg-") as name:
        folder = Path(name)
        files = {"data": document, "q.tsq": query, "r.tsr": response, "ca.pem": b"".join(map(pem, anchors))}
        tail = ["-in", "r.tsr", "-CAfile", "ca.pem", "-partial_chain", "-attime", str(int(at.timestamp()))]
        if untrusted:
            files["untrusted.pem"] = untrusted
            tail += ["-untrusted", "untrusted.pem"]
        for file, data in files.items():
            (folder / file).write_bytes(data)
        for what in (["-data", "data"], ["-queryfile", "q.tsq"]):
            try:
                done = subprocess.run(
                    [program, "ts", "-verify", *what, *tail],
                    cwd=folder,
                    capture_output=True,
                    timeout=30,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return Opinion("openssl", "unavailable", str(error))
            if done.returncode != 0:
                lines = done.stderr.decode(errors="replace").splitlines()
                reason = next((line for line in lines if "error" in line.lower()), "refused")
                return Opinion("openssl", "reject", f"{what[0]}: {reason}")
    return Opinion("openssl", "accept", "-data and -queryfile")


def rfc3161_client(
    digest: bytes, response: bytes, *, anchors: Sequence[bytes], chain: Sequence[bytes]
) -> Opinion:
    """rfc3161-client's verifier.

    Args:
        digest: the raw digest in the token's own algorithm.
        response: the DER response.
        anchors: pinned certificates, DER.
        chain: the path found by the strict verifier, signer first; only the signer is given, since this
            library takes every other certificate for an anchor.
    """
    name = "rfc3161-client"
    if importlib.util.find_spec("rfc3161_client") is None or not anchors:
        return Opinion(name, "unavailable", "no anchor" if anchors else "not installed")
    import rfc3161_client as library
    from cryptography import x509

    try:
        builder = library.VerifierBuilder()
        for der in anchors:
            builder = builder.add_root_certificate(x509.load_der_x509_certificate(der))
        if chain:
            builder = builder.tsa_certificate(x509.load_der_x509_certificate(chain[0]))
        builder.build().verify(library.decode_timestamp_response(response), digest)
    except (ValueError, TypeError, library.VerificationError) as error:
        return Opinion(name, "reject", str(error) or type(error).__name__)
    return Opinion(name, "accept", "verified")
