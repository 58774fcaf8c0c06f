"""What kind of bytes these are: response or bare token, DER, PEM or base64 (RFC 3161 2.4.2, RFC 7468, RFC 4648).

The form is recognised by content, never by a file's name. PEM needs its armour. Bare base64 is taken in one
line only: RFC 4648 3.1 and 3.3 have it without line feeds, and a body wrapped into lines without armour is a
mail fragment of which nobody can say that it is whole.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Literal

from prereg_kit.errors import DocumentError
from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.reason import TokenRejected

Container = Literal["response", "token"]
Form = Literal["der", "pem", "base64"]

#: No honest token comes near it; the largest public one known to the authors has 13 kB.
MAX_BYTES = 256 * 1024

SIGNED_DATA = "1.2.840.113549.1.7.2"
_STATUS = {
    0: "granted",
    1: "granted with modifications",
    2: "rejection",
    3: "waiting",
    4: "revocation warning",
    5: "revocation notification",
}
_FAILURE = {
    0: "badAlg: unrecognised or unsupported algorithm",
    2: "badRequest: transaction not permitted or supported",
    5: "badDataFormat: the data submitted has the wrong format",
    14: "timeNotAvailable: the authority's time source is not available",
    15: "unacceptedPolicy: the requested policy is not supported",
    16: "unacceptedExtension: the requested extension is not supported",
    17: "addInfoNotAvailable: the additional information is not available",
    25: "systemFailure: the request cannot be handled due to a system failure",
}
_PEM = re.compile(
    rb"-----BEGIN ([A-Z0-9 ]{1,40})-----[ \t]*\r?\n([A-Za-z0-9+/=\r\n \t]*)-----END \1-----", re.ASCII
)
_TOKEN_LABELS = (
    b"PKCS7",
    b"CMS",
    b"TIMESTAMP TOKEN",
    b"TIMESTAMP RESPONSE",
    b"TS RESPONSE",
    b"TIME STAMP TOKEN",
)
_NO_TOKEN = "a time-stamp response or token: DER, PEM, or base64 in one line"  # noqa: S105 (no secret)


@dataclass(frozen=True)
class Contained:
    """A token taken out of what came: `content_info` is its outer structure, checked DER."""

    content_info: der.Node
    container: Container
    form: Form
    modified: bool


def unwrap(blob: bytes) -> Contained:
    """Recognise the form and the container, read the status, return the token.

    Raises:
        TokenRejected: too_large, unrecognised, malformed, trailing_bytes, status, container.
        der.DerError: not DER; see `reasoned`.
    """
    if len(blob) > MAX_BYTES:
        raise TokenRejected(
            "too_large", "too large for a token", expected=f"at most {MAX_BYTES} bytes", found=len(blob)
        )
    data, form = _to_der(blob)
    root = _outer(data)
    first = next(root.children(), None) if root.tag == der.SEQUENCE else None
    if first is None or first.tag not in (der.SEQUENCE, der.OID):
        query = first is not None and first.tag == der.INTEGER
        raise TokenRejected(
            "unrecognised",
            "a time-stamp query, not the response to it" if query else "not a token",
            expected=_NO_TOKEN,
            found=blob[:40],
        )
    if first.tag == der.OID:
        return Contained(root, "token", form, modified=False)
    fields = der.Fields(root)
    status = _status(fields.take(der.SEQUENCE))
    token = fields.optional(der.SEQUENCE)
    fields.close()
    if token is None:
        raise TokenRejected("status", "the response grants the request and carries no token")
    return Contained(token, "response", form, modified=status == 1)


def reasoned(error: der.DerError) -> TokenRejected:
    """The verdict that a fault of the encoding comes to, wherever in a token it was met.

    BER is legal in CMS at large, but an authority answers in DER (RFC 3161 3.2 to 3.4).
    """
    if isinstance(error, der.IndefiniteLengthError):
        return TokenRejected(
            "indefinite_length",
            f"the token is in BER, not in DER: {error}",
            next_step="Ask the authority for the DER that RFC 3161 requires.",
        )
    return TokenRejected("malformed", f"the token is damaged, or not built as RFC 3161 says: {error}")


def _outer(data: bytes) -> der.Node:
    try:
        return der.parse_outer(data)
    except der.TrailingBytesError as error:
        raise TokenRejected("trailing_bytes", f"something was appended to the token: {error}") from error


def signed_data(content_info: der.Node) -> der.Node:
    """The SignedData inside a ContentInfo (RFC 5652 3 and 5.1).

    Raises:
        TokenRejected: container.
    """
    fields = der.Fields(content_info)
    kind = fields.take(der.OID).oid()
    if kind != SIGNED_DATA:
        raise TokenRejected("container", "not CMS signed-data", expected=SIGNED_DATA, found=kind)
    explicit = der.Fields(fields.take(0xA0))
    fields.close()
    content = explicit.take(der.SEQUENCE)
    explicit.close()
    return content


def certificates_in(blob: bytes) -> tuple[bytes, ...]:
    """The certificates in a PEM file, or the one certificate that `blob` is in DER; not yet examined.

    Raises:
        DocumentError: there is none, or a block does not decode.
    """
    found = _pem_blocks(blob, (b"CERTIFICATE", b"X509 CERTIFICATE"))
    if not found and blob[:1] == b"\x30":
        found = [blob]
    if not found:
        raise DocumentError(
            "no certificate in the file", expected="PEM with BEGIN CERTIFICATE, or DER", found=blob[:40]
        )
    return tuple(found)


def crls_in(blob: bytes) -> tuple[bytes, ...]:
    """The revocation lists in a PEM file, or the one that `blob` is in DER; not yet examined.

    Raises:
        DocumentError: there is none, or a block does not decode.
    """
    found = _pem_blocks(blob, (b"X509 CRL",))
    if not found and blob[:1] == b"\x30":
        found = [blob]
    if not found:
        raise DocumentError(
            "no revocation list in the file", expected="PEM with BEGIN X509 CRL, or DER", found=blob[:40]
        )
    return tuple(found)


def _pem_blocks(blob: bytes, labels: tuple[bytes, ...]) -> list[bytes]:
    found = []
    for label, body in _PEM.findall(blob):
        if label in labels:
            try:
                found.append(base64.b64decode(b"".join(body.split()), validate=True))
            except binascii.Error as error:
                raise DocumentError("a PEM block that is not base64", found=body[:40]) from error
    return found


def _to_der(blob: bytes) -> tuple[bytes, Form]:
    if blob[:1] == b"\x30" and not blob.isascii():
        return blob, "der"
    text = blob.strip()
    if text.startswith(b"-----BEGIN "):
        match = _PEM.fullmatch(text)
        if match is None or match[1] not in _TOKEN_LABELS:
            label = text.splitlines()[0][:60].decode("ascii", "replace")
            raise TokenRejected(
                "unrecognised",
                "a PEM file that is not one whole token",
                expected="one block BEGIN PKCS7, CMS or TIMESTAMP RESPONSE",
                found=label,
            )
        return _base64(b"".join(match[2].split())), "pem"
    if text[:1] == b"M" and re.fullmatch(rb"[A-Za-z0-9+/]+={0,2}", text):
        return _base64(text), "base64"
    if text[:1] == b"M" and re.fullmatch(rb"[A-Za-z0-9+/\r\n]+={0,2}", text):
        raise TokenRejected(
            "unrecognised",
            "base64 in several lines without PEM armour",
            expected=_NO_TOKEN,
            next_step="`base64 -d FILE > token.tsr` gives the DER to verify.",
        )
    if blob[:1] == b"\x30":
        return blob, "der"
    raise TokenRejected("unrecognised", "neither a response nor a token", expected=_NO_TOKEN, found=blob[:40])


def _base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise TokenRejected("malformed", f"base64 that does not decode: {error}") from error


def _status(node: der.Node) -> int:
    """PKIStatusInfo (RFC 3161 2.4.2), read by hand because a rejection has no token."""
    fields = der.Fields(node)
    status = fields.take(der.INTEGER).integer()
    texts = fields.optional(der.SEQUENCE)
    failure = fields.optional(der.BIT_STRING)
    fields.close()
    if status not in (0, 1):
        said = [_STATUS.get(status, f"status {status}")]
        said += [f"{text!r}" for text in _free_text(texts)]
        said += _failures(failure)
        raise TokenRejected(
            "status",
            f"the authority refused the request: {'; '.join(said)}",
            next_step="There is no token; ask again, or ask another authority.",
        )
    return status


def _free_text(node: der.Node | None) -> list[str]:
    if node is None:
        return []
    return [
        child.expect(der.UTF8_STRING).content.decode("utf-8", "replace")[:200] for child in node.children()
    ][:8]


def _failures(node: der.Node | None) -> list[str]:
    if node is None:
        return []
    content = node.content[1:5]
    bits = [index for index in range(len(content) * 8) if content[index // 8] >> (7 - index % 8) & 1]
    return [_FAILURE.get(bit, f"failure bit {bit}") for bit in bits]
