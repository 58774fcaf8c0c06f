"""Strict JSON: equal to Python's reader on what both accept; what is refused is named with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg_kit.errors import DocumentError
from prereg_kit.foundation.strict_json import read_json, read_json_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_the_standard_writer_writes_comes_back(value: object) -> None:
    assert read_json(json.dumps(value).encode(), "x.json") == value


def refused(text: str | bytes) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_json(text if isinstance(text, bytes) else text.encode(), "x.json")
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "field", "column"),
    [
        ('{"a": 1, "a": 2}', 1, "a", 10),
        ('{"a": {"b": [1, {"c": 1,\n  "d": 2, "c": 3}]}}', 2, "a.b.1.c", 11),
        ('{"a": 1, "\\u0061": 2}', 1, "a", 10),  # the same key, written differently
        ('[{"x": "{\\"x\\": 1}", "y": [],\n "x": null}]', 2, "0.x", 2),  # a string that looks like structure
    ],
)
def test_a_repeated_key_is_refused_where_it_stands(text: str, line: int, field: str, column: int) -> None:
    error = refused(text)
    assert (error.code, error.where.line, error.where.field) == ("repeated-key", line, field)
    assert f"column {column}" in str(error)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_not_finite_is_refused(number: str) -> None:
    error = refused(f'{{"rows": [1.5,\n {{"loss": {number}}}]}}')
    assert (error.code, error.where.line, error.where.field) == ("not-finite", 2, "rows.1.loss")
    assert number in str(error)
    assert refused(number).code == "not-finite"


def test_a_syntax_error_names_its_line_and_column() -> None:
    error = refused('{"a": 1,\n "b": }')
    assert (error.code, error.where.line) == ("json", 2)
    assert "column 7" in str(error)


def test_nesting_and_huge_integers_are_errors_of_ours() -> None:
    assert refused("[" * 100_000).code == "json"
    assert refused("1" * 5000).code == "json"


def test_one_mark_is_accepted_and_two_are_not() -> None:
    assert read_json(b'\xef\xbb\xbf{"a": 1}', "x.json") == {"a": 1}
    assert refused(b'\xef\xbb\xbf\xef\xbb\xbf{"a": 1}').code == "byte-order-marks"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_text_is_called_by_its_name(encoding: str) -> None:
    error = refused('{"a": 1}'.encode(encoding))
    assert error.code == "utf-16"
    assert ("UTF-32" if "32" in encoding else "UTF-16") in str(error)


def test_other_bytes_name_their_line() -> None:
    error = refused(b'{"a": 1,\n "b": "\xff"}')
    assert (error.code, error.where.line) == ("encoding", 2)


def test_an_object_is_asked_for() -> None:
    assert read_json_object(b'{"a": 1}', "x.json") == {"a": 1}
    with pytest.raises(DocumentError, match="not a JSON object"):
        read_json_object(b"[1]", "x.json")
