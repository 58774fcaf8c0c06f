"""The DER reader against X.690, clause by clause."""

import pytest
from asn1crypto import core
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.evidence.token import der

SETTINGS = settings(max_examples=100, derandomize=True, deadline=None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "8.1: nothing"),
        ("30", "8.1.3: no length"),
        ("3080 0000", "10.1: indefinite length"),
        ("308100", "10.1: a length of 0 in two octets"),
        ("04817f" + "00" * 127, "10.1: 127 in two octets"),
        ("0482008000" + "00" * 127, "10.1: 128 in three octets"),
        ("0485000000000100", "8.1.3.5: more than four octets of length"),
        ("048400ffffff", "8.1.3: longer than the bytes"),
        ("040200", "8.1.3: cut"),
        ("1f2000", "8.1.2.4: high tag number"),
        ("2403040100", "10.2: an octet string in pieces"),
        ("2104 0101ff", "a boolean cannot be constructed"),
        ("1000", "8.9: a sequence cannot be primitive"),
        ("0000", "8.1.5: end of contents outside an indefinite length"),
        ("010101", "11.1: a boolean that is neither 00 nor FF"),
        ("01020000", "8.2: a boolean of two octets"),
        ("0200", "8.3.1: an empty integer"),
        ("02020001", "8.3.2: padded positive integer"),
        ("0202ff80", "8.3.2: padded negative integer"),
        ("0300", "8.6.2: an empty bit string"),
        ("03020800", "8.6.2.2: eight unused bits"),
        ("030101", "8.6.2.3: unused bits of no bits"),
        ("050100", "8.8.2: a NULL with contents"),
        ("0600", "8.19: an empty identifier"),
        ("0602802a", "8.19.2: padded identifier"),
        ("06022a80", "8.19.2: cut identifier"),
        ("0615" + "2a" + "ff" * 19 + "7f", "an arc over 128 bits"),
    ],
)
def test_what_is_not_der_is_refused(text, why):
    with pytest.raises(der.DerError):
        der.parse(bytes.fromhex(text))
    if text:
        with pytest.raises(der.DerError):
            der.parse(der_sequence(bytes.fromhex(text)))


def der_sequence(*parts):
    return core.Sequence(contents=b"".join(parts)).dump()


@SETTINGS
@given(st.integers(-(1 << 200), 1 << 200))
def test_integers_are_read_as_asn1crypto_writes_them(value):
    assert der.parse(core.Integer(value).dump()).integer() == value


@SETTINGS
@given(st.lists(st.integers(0, 1 << 100), min_size=0, max_size=6), st.integers(0, 2), st.integers(0, 39))
def test_identifiers_are_read_as_asn1crypto_writes_them(arcs, first, second):
    dotted = ".".join(map(str, [first, second, *arcs]))
    assert der.parse(core.ObjectIdentifier(dotted).dump()).oid() == dotted


@SETTINGS
@given(st.binary(max_size=70_000))
def test_bytes_come_back_as_they_were(content):
    blob = core.OctetString(content).dump()
    node = der.parse(blob)
    assert node.content == content
    assert node.raw == blob


def test_fields_refuse_what_is_left_over_missing_or_too_many():
    node = der.parse(bytes.fromhex("3006 020101 020102"))
    fields = der.Fields(node)
    assert fields.take(der.INTEGER).integer() == 1
    with pytest.raises(der.DerError, match="unexpected"):
        fields.close()
    assert fields.optional(der.OID) is None
    assert fields.any().integer() == 2
    fields.close()
    for call in (fields.any, lambda: fields.take(der.OID), lambda: der.Fields(der.parse(b"\x05\x00"))):
        with pytest.raises(der.DerError):
            call()
    with pytest.raises(der.DerError, match="fields"):
        der.Fields(der.parse(der_sequence(b"\x05\x00" * 300)))


def test_depth_and_number_are_limited():
    deep = b""
    for _ in range(60):
        deep = der_sequence(deep)
    with pytest.raises(der.DerError, match="levels"):
        der.parse(deep)
    with pytest.raises(der.DerError, match="elements"):
        der.parse(der_sequence(b"\x05\x00" * 25_000))


def test_trailing_bytes_are_an_error_of_their_own():
    for parse in (der.parse, der.parse_outer):
        with pytest.raises(der.TrailingBytesError):
            parse(b"\x05\x00\x00")


def test_values_are_checked_where_they_are_read():
    node = der.parse_outer(bytes.fromhex("3006 010101 020101"))
    with pytest.raises(der.DerError):
        next(node.children()).flag()
    with pytest.raises(der.DerError):
        der.parse_outer(b"\x06\x00").oid()
    with pytest.raises(der.DerError):
        der.parse_outer(b"\x03\x00").bits()
    with pytest.raises(der.DerError):
        der.parse(core.Integer(1 << 1100).dump()).integer()
