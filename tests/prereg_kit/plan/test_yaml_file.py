"""Strict YAML: nothing changes type, nothing is silently kept twice, and complaints name their line."""

from __future__ import annotations

import pytest

from prereg_kit.errors import DocumentError
from prereg_kit.plan import yaml_file


def read(text: str) -> object:
    return yaml_file.read(text.encode(), "plan.yaml").value


def test_scalars_stay_the_text_in_the_file() -> None:
    text = "arm: no\nversion: 1.10\nday: 2026-09-08\nat: 2026-09-08T12:33:49Z\ncommit: 84e07311\non: y\nhex: 0x10\n"
    assert read(text) == {
        "arm": "no", "version": "1.10", "day": "2026-09-08", "at": "2026-09-08T12:33:49Z", "commit": "84e07311",
        "on": "y", "hex": "0x10",
    }  # fmt: skip


def test_only_an_unquoted_null_is_null() -> None:
    assert read('a: ~\nb: "~"\nc: null\nd: "null"\ne:\n') == {
        "a": None,
        "b": "~",
        "c": None,
        "d": "null",
        "e": None,
    }


def test_plain_turns_true_and_false_into_booleans_and_nothing_else() -> None:
    assert yaml_file.plain(yaml_file.read(b"a: true\nb: [no, 1.0, yes]\nc: ~", "h").value) == {
        "a": True, "b": ["no", "1.0", "yes"], "c": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: 1\nb: 2\na: 3\n", "lines 1 and 3"),
        ("rule:\n  x: 1\n  y: 2\n  x: 1\n", "lines 2 and 4"),
        ('{"k": 1,\n "k": 1}', "lines 1 and 2"),
    ],
)
def test_a_duplicate_key_is_refused_with_both_lines_even_if_the_values_agree(text: str, lines: str) -> None:
    with pytest.raises(DocumentError, match=lines) as caught:
        read(text)
    assert caught.value.code == "duplicate-key"


def test_a_merge_key_is_a_default_and_not_a_duplicate() -> None:
    assert read("base: &b {x: 1, y: 2}\nrule:\n  <<: *b\n  y: 3\n") == {
        "base": {"x": "1", "y": "2"}, "rule": {"x": "1", "y": "3"},
    }  # fmt: skip


def test_of_several_merged_mappings_the_first_wins() -> None:
    assert read("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n")["c"] == {"x": "1", "y": "2"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"a: !!python/object:os.system x", "tag"),
        (b"a: !custom x", "tag"),
        (b"a: &a [*a]", "alias"),
        (b"a: *nowhere", "anchor|alias"),
        (b"%YAML 1.1\n---\na: 1", "YAML version"),
        (b"a: 1\n---\nb: 2", "second document"),
        (b"a: \xff", "byte 3 is not UTF-8"),
        (b"\xef\xbb\xbf\xef\xbb\xbfa: b", "two byte-order marks"),
        ("a: b".encode("utf-16"), "the file is UTF-16 text"),
        ("a: b".encode("utf-16-be"), "the file is UTF-16 text"),
        (b"", "empty"),
        (b"# only a comment\n", "empty"),
        (b"? [a]\n: b", "key that is not text"),
        (b"a: [1", "not YAML"),
        (b"a: \x07", "not YAML"),
        (b"~: 1", "key that is not text"),
        (b"- " * 100 + b"x", "nested too deeply"),
    ],
)
def test_what_is_not_plain_data_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        yaml_file.read(data, "plan.yaml")


def test_an_alias_bomb_is_refused_quickly() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 9)]
    with pytest.raises(DocumentError, match="too many values"):
        read("\n".join(levels))


def test_too_large_a_file_is_refused() -> None:
    with pytest.raises(DocumentError, match="too large"):
        yaml_file.read(b"#" * (yaml_file.MAX_BYTES + 1), "plan.yaml")


def test_what_a_reader_may_not_see_is_reported() -> None:
    document = yaml_file.read("\ufeffa: e\u0301\r\n".encode(), "plan.yaml")
    assert document.value == {"a": "e\u0301"}
    assert [notice.split()[0] for notice in document.notices] == ["the", "lines", "some"]


def test_lines_are_known_for_every_path_and_fall_back_to_the_nearest_ancestor() -> None:
    document = yaml_file.read(b"a:\n  b:\n    - c: 1\n    - c: 2\n", "plan.yaml")
    assert document.line(("a", "b", 1, "c")) == 4
    assert document.line(("a", "b", 1, "missing")) == 4
    assert document.line(("nothing",)) == 1


def test_merge_keys_that_multiply_are_refused_quickly() -> None:
    """Eight levels of nine aliases each: 9 ** 8 merged keys from less than a kilobyte."""
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 9)]
    assert len("\n".join(lines)) < 1000
    with pytest.raises(DocumentError, match="aliases expand to too many values"):
        read("\n".join(lines))


@pytest.mark.parametrize("step", ["[*a{}]", "{{x: *a{}}}", "{{<<: *a{}}}"])
def test_chains_of_aliases_end_before_the_stack_does(step: str) -> None:
    def chain(length: int) -> str:
        return "\n".join(
            ["a0: &a0 {x: 1}", *(f"a{i + 1}: &a{i + 1} {step.format(i)}" for i in range(length))]
        )

    assert isinstance(read(chain(20)), dict)
    with pytest.raises(DocumentError, match="nest too deeply"):
        read(chain(3000))
