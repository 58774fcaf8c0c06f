"""The parser: strict JSON to a call, or a refusal that says what and where."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.backoffice.calls import Call, MalformedCall, parse_arguments, parse_call

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, derandomize=True)
@given(st.text(max_size=10), st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_what_json_writes_is_read_back(name, arguments):
    text = json.dumps({"name": name, "arguments": arguments})
    assert parse_call(text) == Call(name, arguments)
    assert parse_call(f"\n {text} ") == Call(name, arguments)
    assert parse_arguments(name, json.dumps(arguments)) == Call(name, arguments)


@settings(max_examples=200, derandomize=True)
@given(st.text(max_size=60) | st.binary(max_size=30).map(lambda data: data.decode("latin-1")))
def test_any_text_gives_a_call_or_a_refusal(text):
    assert isinstance(parse_call(text), (Call, MalformedCall))
    assert isinstance(parse_arguments("get_order", text), (Call, MalformedCall))


@pytest.mark.parametrize(
    ("text", "tool", "field"),
    [
        ("", "", "call"),
        ("[]", "", "call"),
        ('"get_order"', "", "call"),
        ('{"name": "get_order"', "", "call"),
        ('{"name": "get_order", "arguments": {"order_id": "O-1"}}}', "", "call"),
        ("{'name': 'get_order', 'arguments': {}}", "", "call"),
        ('{"name": null, "arguments": {}}', "", "name"),
        ('{"arguments": {}}', "", "name"),
        ('{"name": "finish"}', "finish", "arguments"),
        ('{"name": "finish", "arguments": []}', "finish", "arguments"),
        ('{"name": "finish", "arguments": "{}"}', "finish", "arguments"),
        ('{"name": "finish", "arguments": {}, "x": 1}', "finish", "call"),
        ('{"name": "finish", "name": "get_order", "arguments": {}}', "", "call"),
        ('{"name": "wait", "arguments": {"seconds": NaN}}', "", "call"),
        ('{"name": "wait", "arguments": {"seconds": ' + "9" * 5000 + "}}", "", "call"),
        ('{"name": "wait", "arguments": ' + "[" * 5000 + "}", "", "call"),
        ('{"name": "finish", "arguments": {"summary": "' + "x" * 30_000 + '"}}', "", "call"),
    ],
)
def test_refusals_name_the_tool_and_the_field(text, tool, field):
    found = parse_call(text)
    assert isinstance(found, MalformedCall)
    assert (found.tool, found.field) == (tool, field)
    assert parse_call(text) == found


def test_the_position_is_named():
    assert "character 12" in parse_arguments("get_order", '{"order_id":').expected
    assert "character 0" in parse_arguments("get_order", "").expected
