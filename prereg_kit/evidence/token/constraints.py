"""Name constraints of a CA on the certificates below it (RFC 5280 4.2.1.10).

A name is inside a subtree, outside it, or cannot be compared. What cannot be compared is never let through: it does not
count as permitted, and it counts as excluded. Kinds of names that have no comparison here (X.400, EDI, registered OIDs,
other names) give `unsupported` where both the CA constrains them and a certificate has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.certificate import NAME_CONSTRAINTS, SUBJECT_ALT_NAME, Certificate
from prereg_kit.evidence.token.names import email_addresses, within
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported
from prereg_kit.evidence.token.subtrees import (
    IncomparableError,
    address_within,
    host_within,
    mailbox_within,
    uri_within,
)

_MAIL, _DNS, _DIRECTORY, _URI, _IP = 0x81, 0x82, 0xA4, 0x86, 0x87
_KINDS: Mapping[int, tuple[str, Callable[[bytes, bytes], bool]]] = {
    _MAIL: ("e-mail address", mailbox_within),
    _DNS: ("DNS name", host_within),
    _DIRECTORY: ("directory name", within),
    _URI: ("URI", uri_within),
    _IP: ("IP address", address_within),
}
"""GeneralName's tag -> its name for messages, and whether (name, base) lies in the subtree of the base."""


@dataclass(frozen=True)
class _Subtrees:
    """The bases of permittedSubtrees and excludedSubtrees, by the tag of their GeneralName."""

    permitted: Mapping[int, list[bytes]]
    excluded: Mapping[int, list[bytes]]


def check_names(authority: Certificate, below: tuple[Certificate, ...]) -> None:
    """Every certificate below `authority` (signer first) keeps its name constraints, if it has any.

    Self-issued certificates other than the signer are exempt (RFC 5280 6.1.3 b).

    Raises:
        TokenRejected: name_constraints.
        TokenUnsupported: name_constraints, for a kind of name that has no comparison here.
        der.DerError: the extension is damaged.
    """
    extension = authority.extensions.get(NAME_CONSTRAINTS)
    if extension is None:
        return
    fields = der.Fields(der.parse(extension.value).expect(der.SEQUENCE))
    subtrees = _Subtrees(_bases(fields.optional(0xA0)), _bases(fields.optional(0xA1)))
    fields.close()
    for index, certificate in enumerate(below):
        if index and certificate.subject == certificate.issuer:
            continue
        for kind, names in _names(certificate).items():
            _check(authority, certificate, subtrees, kind, names)


def _check(
    authority: Certificate, certificate: Certificate, subtrees: _Subtrees, kind: int, names: list[bytes]
) -> None:
    allowed, barred = subtrees.permitted.get(kind, []), subtrees.excluded.get(kind, [])
    if not allowed and not barred:
        return
    if kind not in _KINDS:
        raise TokenUnsupported(
            "name_constraints",
            f"{authority.title} constrains a kind of name that is not compared here",
            found=hex(kind),
        )
    what, inside = _KINDS[kind]
    for name in names:
        try:
            # Excluded first: a name in both is barred (RFC 5280 4.2.1.10). Every base is asked, since one that cannot
            # be compared must not hide behind another that does not match.
            bars = [inside(name, base) for base in barred]
            lets = [inside(name, base) for base in allowed]
        except IncomparableError as error:
            problem = f"which cannot be compared with it ({error})"
        else:
            if not any(bars) and (not allowed or any(lets)):
                continue
            problem = "which it excludes" if any(bars) else "which it does not permit"
        raise TokenRejected(
            "name_constraints",
            f"{authority.title} may not certify {certificate.title}: the certificate has the {what} below, {problem}",
            found=name,
        )


def _bases(node: der.Node | None) -> dict[int, list[bytes]]:
    """The bases of GeneralSubtrees; minimum and maximum must be the defaults (4.2.1.10)."""
    found: dict[int, list[bytes]] = {}
    for subtree in () if node is None else node.children():
        fields = der.Fields(subtree)
        base = fields.any()
        fields.close()
        found.setdefault(base.tag, []).append(_value(base))
    return found


def _value(name: der.Node) -> bytes:
    """A GeneralName's content; of a directory name the DER of the Name inside its explicit tag."""
    return name.only().raw if name.tag == _DIRECTORY else name.content


def _names(certificate: Certificate) -> dict[int, list[bytes]]:
    """The certificate's names by the tag of their GeneralName.

    An e-mail address in the subject counts as one too. RFC 5280 asks for that where there is no subject alternative
    name; here it always counts, so that an alternative name cannot hide it.
    """
    names: dict[int, list[bytes]] = {}
    if len(certificate.subject) > 2:
        names[_DIRECTORY] = [certificate.subject]
    addresses = email_addresses(certificate.subject)
    if addresses:
        names[_MAIL] = list(addresses)
    alternative = certificate.extensions.get(SUBJECT_ALT_NAME)
    if alternative is not None:
        for name in der.parse(alternative.value).expect(der.SEQUENCE).children():
            names.setdefault(name.tag, []).append(_value(name))
    return names
