"""Whether a name lies in a subtree, for each kind of name with a rule in RFC 5280 4.2.1.10.

Each function takes the name and the base as they stand in a certificate. A wrong answer in either direction lets a
certificate through (a permitted base, or an excluded one), so whatever is malformed raises IncomparableError.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)


class IncomparableError(ValueError):
    """A name or a base that cannot be prepared for comparison."""


def host_within(name: bytes, base: bytes) -> bool:
    """A DNS name is the base, or has further labels on its left. An empty base holds every name.

    A base that begins with a dot holds names with at least one label more. RFC 5280 does not define it for DNS names;
    this is how the verifiers of OpenSSL, Go and NSS read it.
    """
    labels, wanted = _host(_text(name), wildcard=True), _text(base)
    if not wanted:
        return True
    bare = _host(wanted.removeprefix("."))
    return _ends_with(labels, bare, longer=wanted.startswith("."))


def mailbox_within(name: bytes, base: bytes) -> bool:
    """An e-mail address is the base; or is at the base, a host; or at a host below it, if the base begins with a dot.

    The local part is compared as it is, the host without regard to case (4.2.1.6, 7.5).
    """
    local, host = _mailbox(_text(name))
    wanted = _text(base)
    if not wanted:
        return True
    if "@" in wanted:
        return (local, host) == _mailbox(wanted)
    bare = _host(wanted.removeprefix("."))
    return _ends_with(host, bare, longer=True) if wanted.startswith(".") else host == bare


def uri_within(name: bytes, base: bytes) -> bool:
    """The host of a URI is the base, or lies below it if the base begins with a dot.

    A URI without an authority, or whose host is an IP address, must be rejected wherever URIs are constrained.
    """
    wanted = _text(base)
    try:
        host = urlsplit(_text(name)).hostname
    except ValueError as error:
        raise IncomparableError(str(error)) from error
    if not host:
        raise IncomparableError("a URI without a host")
    if _is_address(host):
        raise IncomparableError("a URI whose host is an IP address")
    labels = _host(host)
    if not wanted:
        return True
    bare = _host(wanted.removeprefix("."))
    return _ends_with(labels, bare, longer=True) if wanted.startswith(".") else labels == bare


def address_within(name: bytes, base: bytes) -> bool:
    """An IP address of 4 or 16 octets lies in a range of 8 or 32: an address and a mask, in the style of CIDR.

    An IPv4 address is never inside an IPv6 range, nor the reverse.
    """
    if len(name) not in (4, 16):
        raise IncomparableError("an IP address is 4 or 16 octets")
    if len(base) not in (8, 32):
        raise IncomparableError("an IP range is 8 or 32 octets")
    half = len(base) // 2
    network, mask = int.from_bytes(base[:half], "big"), int.from_bytes(base[half:], "big")
    host_bits = mask ^ ((1 << 8 * half) - 1)
    if host_bits & (host_bits + 1):
        raise IncomparableError("an IP mask with a gap in it")
    if len(name) != half:
        return False
    return int.from_bytes(name, "big") & mask == network & mask


def _text(raw: bytes) -> str:
    """IA5String; a NUL, a blank or a control character has no place in a name."""
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError as error:
        raise IncomparableError("a name that is not ASCII") from error
    if not text.isprintable() or " " in text:
        raise IncomparableError("a name with blanks or control characters")
    return text


def _host(text: str, *, wildcard: bool = False) -> tuple[str, ...]:
    """A host's labels in lower case. A dot at the end is no part of the name (RFC 1034 3.1)."""
    labels = tuple(text.lower().removesuffix(".").split("."))
    checked = labels[1:] if wildcard and labels[0] == "*" else labels
    if not checked or not all(_LABEL.fullmatch(label) for label in checked):
        raise IncomparableError("a host that is none")
    return labels


def _mailbox(text: str) -> tuple[str, tuple[str, ...]]:
    local, separator, host = text.rpartition("@")
    if not separator or not local or '"' in local or "@" in local:
        raise IncomparableError("an e-mail address that is none, or with a quoted part")
    return local, _host(host)


def _ends_with(labels: tuple[str, ...], base: tuple[str, ...], *, longer: bool) -> bool:
    return labels[-len(base) :] == base and (len(labels) > len(base) or not longer)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
