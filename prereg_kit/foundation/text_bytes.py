"""Bytes to text: strict UTF-8, with the usual wrong encodings called by their names. Pure.

One byte-order mark at the start is accepted (RFC 8259 8.1 lets a reader ignore it; Windows programs write it). A
second one is part of the text, which no text of ours can start with, so it is refused.
"""

from __future__ import annotations

import codecs

from prereg_kit.errors import DocumentError, Where

# UTF-32 comes first: its little-endian mark begins with the UTF-16 one.
_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def wide_encoding(data: bytes) -> str | None:
    """`UTF-16` or `UTF-32` if the bytes look like it, by their mark or by a NUL beside each ASCII character."""
    for mark, name in _WIDE:
        if data.startswith(mark):
            return name
    start = data[:8]
    if len(start) >= 4 and (
        start[1::2].count(0) == len(start) // 2 or start[::2].count(0) == len(start) // 2
    ):
        return "UTF-32" if start[:4].count(0) >= 3 else "UTF-16"
    return None


def read_text(data: bytes, source: str) -> str:
    """The text in a file's bytes, without its byte-order mark; line breaks stay as they are.

    Args:
        data: the file's bytes.
        source: named in the error.

    Raises:
        DocumentError: UTF-16 or UTF-32 (`utf-16`), two byte-order marks (`byte-order-marks`), or other bytes that
            are not UTF-8 (`encoding`); with the line where one is known.
    """
    wide = wide_encoding(data)
    if wide is not None:
        raise DocumentError(
            f"the file is {wide} text",
            where=Where(file=source),
            expected="UTF-8",
            found=data[:8],
            next_step="Save it again as UTF-8 (in Windows programs: `UTF-8`, not `Unicode`).",
            code="utf-16",
        )
    body = data.removeprefix(codecs.BOM_UTF8)
    if body.startswith(codecs.BOM_UTF8):
        raise DocumentError(
            "the file starts with two byte-order marks",
            where=Where(file=source, line=1),
            expected="one or none",
            found=data[:9],
            next_step="Two programs added one each: remove the first three bytes of the file.",
            code="byte-order-marks",
        )
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        offset = len(data) - len(body) + error.start
        raise DocumentError(
            f"byte {offset} is not UTF-8",
            where=Where(file=source, line=body.count(b"\n", 0, error.start) + 1),
            expected="UTF-8 text",
            found=data[offset : offset + 4],
            next_step="Save the file as UTF-8; nothing was guessed.",
            code="encoding",
        ) from error
