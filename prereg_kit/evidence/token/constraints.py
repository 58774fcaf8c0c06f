"""Name constraints of a CA on the certificates below it (RFC 5280 4.2.1.10), for directory names.

Other kinds of names are not compared here; if a certificate has a name of a constrained kind the answer is
`unsupported`, never a silent yes.
"""

from __future__ import annotations

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.certificate import NAME_CONSTRAINTS, SUBJECT_ALT_NAME, Certificate
from prereg_kit.evidence.token.names import within
from prereg_kit.evidence.token.reason import TokenRejected, TokenUnsupported

_DIRECTORY_NAME, _MAIL = 0xA4, 0x81
_EMAIL_ATTRIBUTE = bytes.fromhex("06092a864886f70d010901")  # DER of the OID emailAddress inside a Name


def check_names(authority: Certificate, below: tuple[Certificate, ...]) -> None:
    """Every certificate below `authority` (signer first) keeps its name constraints, if it has any.

    Self-issued certificates other than the signer are exempt (RFC 5280 6.1.3 b).

    Raises:
        TokenRejected: name_constraints.
        TokenUnsupported: name_constraints, for a kind of name that is not compared here.
        der.DerError: the extension is damaged.
    """
    extension = authority.extensions.get(NAME_CONSTRAINTS)
    if extension is None:
        return
    fields = der.Fields(der.parse(extension.value).expect(der.SEQUENCE))
    permitted, excluded = _subtrees(fields.optional(0xA0)), _subtrees(fields.optional(0xA1))
    fields.close()
    for index, certificate in enumerate(below):
        if index and certificate.subject == certificate.issuer:
            continue
        for kind, names in _names(certificate).items():
            allowed = [base for base in permitted if base.tag == kind]
            barred = [base for base in excluded if base.tag == kind]
            if not allowed and not barred:
                continue
            if kind != _DIRECTORY_NAME:
                raise TokenUnsupported(
                    "name_constraints",
                    f"{authority.title} constrains a kind of name that is not compared here",
                    found=hex(kind),
                )
            for name in names:
                inside = not allowed or any(within(name, base.only().raw) for base in allowed)
                if not inside or any(within(name, base.only().raw) for base in barred):
                    raise TokenRejected(
                        "name_constraints",
                        f"{authority.title} may not certify the name of {certificate.title}",
                    )


def _subtrees(node: der.Node | None) -> list[der.Node]:
    """The bases of GeneralSubtrees; minimum and maximum must be the defaults (4.2.1.10)."""
    bases = []
    for subtree in () if node is None else node.children():
        fields = der.Fields(subtree)
        bases.append(fields.any())
        fields.close()
    return bases


def _names(certificate: Certificate) -> dict[int, list[bytes]]:
    """The certificate's names by the tag of their GeneralName; directory names as the DER of the Name."""
    names: dict[int, list[bytes]] = {}
    if len(certificate.subject) > 2:
        names[_DIRECTORY_NAME] = [certificate.subject]
    if _EMAIL_ATTRIBUTE in certificate.subject:
        names[_MAIL] = [certificate.subject]
    alternative = certificate.extensions.get(SUBJECT_ALT_NAME)
    if alternative is not None:
        for name in der.parse(alternative.value).expect(der.SEQUENCE).children():
            raw = name.only().raw if name.tag == _DIRECTORY_NAME else name.raw
            names.setdefault(name.tag, []).append(raw)
    return names
