"""Distinguished names: shown to people, compared (RFC 5280 7.1), and held to name constraints (4.2.1.10)."""

from __future__ import annotations

from functools import lru_cache

from asn1crypto import x509

from prereg_kit.evidence.token import der
from prereg_kit.evidence.token.subtrees import IncomparableError

_EMAIL = "1.2.840.113549.1.9.1"

_SHORT = {
    "common_name": "CN",
    "organization_name": "O",
    "organizational_unit_name": "OU",
    "country_name": "C",
    "locality_name": "L",
    "state_or_province_name": "ST",
    "email_address": "emailAddress",
    "serial_number": "serialNumber",
    "organization_identifier": "organizationIdentifier",
}


@lru_cache(maxsize=1024)
def name_text(raw: bytes) -> str:
    """A Name as `CN=..., O=..., C=...`, most specific part first; unreadable parts are shown as bytes."""
    pairs = [f"{_SHORT.get(kind, kind)}={_printable(value)}" for kind, value in reversed(_attributes(raw))]
    return ", ".join(pairs) if pairs else "(empty name)"


def name_values(raw: bytes) -> tuple[str, ...]:
    """The values of a Name's attributes, without their types."""
    return tuple(value for _, value in _attributes(raw))


def same_name(left: bytes, right: bytes) -> bool:
    """Whether two Names are the same: by bytes, else by string preparation (RFC 5280 7.1)."""
    if left == right:
        return True
    key = _prepared(left)
    return key is not None and key == _prepared(right)


def within(name: bytes, base: bytes) -> bool:
    """Whether `base` is a prefix of `name`: the subtree rule for directory names (RFC 5280 4.2.1.10).

    Raises:
        IncomparableError: one of them cannot be prepared (7.1), so that nobody knows whether it is the same name.
    """
    inner, outer = _prepared(name), _prepared(base)
    if inner is None or outer is None:
        raise IncomparableError("a directory name that cannot be prepared")
    return inner[: len(outer)] == outer


def email_addresses(raw: bytes) -> tuple[bytes, ...]:
    """The contents of a Name's emailAddress attributes (RFC 5280 4.1.2.6), as they stand.

    Raises:
        der.DerError: not a Name.
    """
    found = []
    for relative in der.parse(raw).expect(der.SEQUENCE).children():
        for attribute in relative.children():
            fields = der.Fields(attribute)
            if fields.take(der.OID).oid() == _EMAIL:
                found.append(fields.any().content)
    return tuple(found)


@lru_cache(maxsize=1024)
def _prepared(raw: bytes) -> tuple[tuple[str, ...], ...] | None:
    """Each relative name as its sorted `type=value`, values prepared; None if they cannot be prepared."""
    try:
        relative_names = x509.Name.load(raw, strict=True).chosen
        return tuple(
            tuple(sorted(f"{pair['type'].dotted}={pair.prepped_value}" for pair in relative))
            for relative in relative_names
        )
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, UnicodeError):
        return None


@lru_cache(maxsize=1024)
def _attributes(raw: bytes) -> tuple[tuple[str, str], ...]:
    try:
        relative_names = x509.Name.load(raw, strict=True).chosen
        return tuple(
            (pair["type"].native, str(pair["value"].native))
            for relative in relative_names
            for pair in relative
        )
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, UnicodeError):
        return (("unreadable", raw[:64].hex()),)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:200])
