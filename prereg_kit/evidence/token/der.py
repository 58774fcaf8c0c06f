"""A strict reader of DER (ITU-T X.690, clauses 8 to 11) that keeps the original bytes and re-encodes nothing.

`parse` walks the whole structure once, without recursion, and refuses everything that is not DER in a way
that could give two readers two readings: indefinite or non-minimal lengths, constructed strings, booleans
other than 00 and FF, integers and object identifiers with padding, bytes left over. Whatever was signed goes
through it. `parse_outer` checks the same things, but only where a reader goes. The order of a SET is
not checked: many authorities emit certificates unsorted, and nothing here depends on the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

BOOLEAN, INTEGER, BIT_STRING, OCTET_STRING, NULL, OID = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
UTF8_STRING, GENERALIZED_TIME, UTC_TIME, SEQUENCE, SET = 0x0C, 0x18, 0x17, 0x30, 0x31

_MAX_DEPTH = 40
_MAX_ELEMENTS = 20_000
_CONSTRUCTED = 0x20
_MAX_FIELDS = 256
_INTEGER_BITS = 1024


class DerError(ValueError):
    """Bytes that are not the DER they should be; the message gives the offset."""


class IndefiniteLengthError(DerError):
    """BER with an indefinite length: legal in CMS, not in DER."""


class TrailingBytesError(DerError):
    """A well-formed element followed by something else."""


@dataclass(frozen=True, slots=True)
class Node:
    """One element of a checked buffer: identifier octet `tag`, and where it starts, its contents start, it ends."""

    data: bytes
    tag: int
    start: int
    body: int
    end: int

    @property
    def raw(self) -> bytes:
        """The element's bytes as received, header included."""
        return self.data[self.start : self.end]

    @property
    def content(self) -> bytes:
        """The contents' bytes as received."""
        return self.data[self.body : self.end]

    def children(self) -> Iterator[Node]:
        """The elements inside a constructed element, in the order received."""
        position = self.body
        while position < self.end:
            tag, body, end = _header(self.data, position, self.end)
            yield Node(self.data, tag, position, body, end)
            position = end

    def only(self) -> Node:
        """The single element inside, as in an explicit tag."""
        fields = Fields(self)
        inner = fields.any()
        fields.close()
        return inner

    def integer(self) -> int:
        """The value of an INTEGER of at most 1,024 bits."""
        content = self._checked(INTEGER)
        if len(content) * 8 > _INTEGER_BITS:
            raise DerError(f"an integer of {len(content)} bytes at offset {self.start}")
        return int.from_bytes(content, "big", signed=True)

    def oid(self) -> str:
        """An OBJECT IDENTIFIER in dotted form."""
        arcs: list[int] = []
        value = 0
        for octet in self._checked(OID):
            value = value << 7 | octet & 0x7F
            if not octet & 0x80:
                arcs.append(value)
                value = 0
        first = min(arcs[0] // 40, 2)
        return ".".join(map(str, [first, arcs[0] - 40 * first, *arcs[1:]]))

    def bits(self) -> bytes:
        """The octets of a BIT STRING without unused bits, as signatures are."""
        content = self._checked(BIT_STRING)
        if content[0] != 0:
            raise DerError(f"a bit string with unused bits at offset {self.start}")
        return content[1:]

    def flag(self) -> bool:
        """The value of a BOOLEAN."""
        return self._checked(BOOLEAN) != b"\x00"

    def _checked(self, tag: int) -> bytes:
        _primitive(self.data, self.expect(tag).tag, self.body, self.end)
        return self.content

    def expect(self, tag: int) -> Node:
        """This element, if it has the identifier octet `tag`.

        Raises:
            DerError: it has another.
        """
        if self.tag != tag:
            raise DerError(f"expected element {tag:#04x} at offset {self.start}, found {self.tag:#04x}")
        return self


class Fields:
    """Reads the fields of a constructed element one after the other; `close` refuses what is left over."""

    def __init__(self, node: Node) -> None:
        if not node.tag & _CONSTRUCTED:
            raise DerError(f"expected a structure at offset {node.start}, found a primitive element")
        self._rest = list(islice(node.children(), _MAX_FIELDS + 1))
        if len(self._rest) > _MAX_FIELDS:
            raise DerError(f"more than {_MAX_FIELDS} fields in the structure at offset {node.start}")
        self._rest.reverse()
        self._at = node.start

    def take(self, tag: int) -> Node:
        """The next field, which must be there and have this identifier octet."""
        node = self.optional(tag)
        if node is None:
            found = f"{self._rest[-1].tag:#04x}" if self._rest else "the end"
            raise DerError(
                f"expected element {tag:#04x} in the structure at offset {self._at}, found {found}"
            )
        return node

    def optional(self, tag: int) -> Node | None:
        """The next field if it has this identifier octet, else None."""
        if self._rest and self._rest[-1].tag == tag:
            return self._rest.pop()
        return None

    def any(self) -> Node:
        """The next field, whatever its type."""
        if not self._rest:
            raise DerError(f"the structure at offset {self._at} ends too early")
        return self._rest.pop()

    def close(self) -> None:
        """Refuse fields that no reader expected."""
        if self._rest:
            raise DerError(f"unexpected element {self._rest[-1].tag:#04x} at offset {self._rest[-1].start}")


def parse(data: bytes) -> Node:
    """The single element that `data` consists of, checked to the last octet.

    Raises:
        TrailingBytesError: something follows the element.
        IndefiniteLengthError: BER with indefinite lengths.
        DerError: anything else that is not DER, more than 40 levels or 20,000 elements.
    """
    tag, body, end = _header(data, 0, len(data))
    root = Node(data, tag, 0, body, end)
    _walk(root)
    if end != len(data):
        raise TrailingBytesError(f"{len(data) - end} bytes follow the end at offset {end}")
    return root


def parse_outer(data: bytes) -> Node:
    """Like `parse`, but what is inside is checked only as far as it is read.

    For containers of which nobody signed the whole, and for lists too long to walk.

    Raises:
        TrailingBytesError, IndefiniteLengthError, DerError: as `parse`.
    """
    tag, body, end = _header(data, 0, len(data))
    if end != len(data):
        raise TrailingBytesError(f"{len(data) - end} bytes follow the end at offset {end}")
    return Node(data, tag, 0, body, end)


def _walk(root: Node) -> None:
    data, position = root.data, root.start
    ends = [root.end]
    for _ in range(_MAX_ELEMENTS):
        while position == ends[-1]:
            ends.pop()
            if not ends:
                return
        tag, body, end = _header(data, position, ends[-1])
        if tag & _CONSTRUCTED:
            if tag < 0x40 and tag not in (SEQUENCE, SET):
                raise DerError(f"a string in pieces at offset {position}")
            if len(ends) > _MAX_DEPTH:
                raise DerError(f"more than {_MAX_DEPTH} levels at offset {position}")
            ends.append(end)
            position = body
        else:
            _primitive(data, tag, body, end)
            position = end
    raise DerError(f"more than {_MAX_ELEMENTS} elements")


def _header(data: bytes, position: int, limit: int) -> tuple[int, int, int]:
    """Identifier octet, start of the contents, end of the element (X.690 8.1)."""
    if position + 2 > limit:
        raise DerError(f"the bytes end within an element at offset {position}")
    tag, length = data[position], data[position + 1]
    body = position + 2
    if tag & 0x1F == 0x1F:
        raise DerError(f"a tag number over 30 at offset {position}")
    if length == 0x80:
        raise IndefiniteLengthError(f"an indefinite length at offset {position}")
    if length > 0x80:
        count = length - 0x80
        if count > 4 or body + count > limit:
            raise DerError(f"a length that cannot be at offset {position}")
        length = int.from_bytes(data[body : body + count], "big")
        if length < 0x80 or length >> 8 * (count - 1) == 0:
            raise DerError(f"a length not in its shortest form at offset {position}")
        body += count
    if body + length > limit:
        raise DerError(f"the bytes end within the element at offset {position}")
    return tag, body, body + length


def _primitive(data: bytes, tag: int, body: int, end: int) -> None:
    length = end - body
    if tag == BOOLEAN:
        sound = length == 1 and data[body] in (0x00, 0xFF)
    elif tag == INTEGER:
        sound = length > 0 and (length == 1 or data[body : body + 2] > b"\x00\x7f")
        sound = sound and (length == 1 or not (data[body] == 0xFF and data[body + 1] & 0x80))
    elif tag == BIT_STRING:
        sound = length > 0 and data[body] < 8 and (length > 1 or data[body] == 0)
    elif tag == NULL:
        sound = length == 0
    elif tag == OID:
        sound = length > 0 and not data[end - 1] & 0x80 and _unpadded(data[body:end])
    elif tag in (SEQUENCE & ~_CONSTRUCTED, SET & ~_CONSTRUCTED, 0x00):
        sound = False
    else:
        sound = True
    if not sound:
        raise DerError(f"a primitive value that DER does not allow at offset {body}")


def _unpadded(content: bytes) -> bool:
    """No arc of an object identifier begins with a padding octet, and none has more than 19 octets."""
    run = 0
    for octet in content:
        if run == 0 and octet == 0x80:
            return False
        run = run + 1 if octet & 0x80 else 0
        if run > 18:
            return False
    return True
