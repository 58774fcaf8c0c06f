"""Operators, not files, make a quorum; the proven time is the k-th smallest latest time."""

from dataclasses import replace
from datetime import timedelta

import pytest

from prereg_kit.errors import UsageError
from prereg_kit.evidence.token import QuorumError, TokenRejected, quorum

SECOND = timedelta(seconds=1)


def by(proof, operator, *, later=timedelta(0), **changes):
    """The same token as another operator's, stamped `later`."""
    return replace(
        proof,
        gen_time=proof.gen_time + later,
        anchor_key_sha256=operator * 64,
        anchor_fingerprint=operator * 64,
        tsa=replace(proof.tsa, key_sha256=operator * 64),
        **changes,
    )


def test_two_of_two_gives_the_later_time_with_its_accuracy(proof):
    first, second = by(proof, "a"), by(proof, "b", later=4 * SECOND)
    result = quorum([first, second])
    assert result.time == second.gen_time + SECOND
    assert len(result.counted) == 2
    assert not result.warnings


def test_two_of_three_gives_the_second(proof):
    results = [by(proof, name, later=seconds * SECOND) for name, seconds in (("c", 60), ("a", 0), ("b", 7))]
    assert quorum(results, k=2).time == proof.gen_time + 8 * SECOND
    assert quorum(results, k=3).time == proof.gen_time + 61 * SECOND
    assert quorum(results, k=1).time == proof.gen_time + SECOND


def test_a_missing_accuracy_counts_as_a_minute(proof):
    wide = by(proof, "a", accuracy=None)
    assert quorum([wide, by(proof, "b", later=5 * SECOND)], k=2).time == proof.gen_time + 60 * SECOND


def test_the_same_token_twice_is_one_operator(proof):
    with pytest.raises(QuorumError) as caught:
        quorum([proof, proof])
    assert (caught.value.counted, caught.value.required) == (1, 2)
    assert caught.value.findings[0].code == "same_operator"


def test_two_units_under_one_root_are_one_operator(proof):
    second = replace(proof, tsa=replace(proof.tsa, key_sha256="9" * 64))
    with pytest.raises(QuorumError):
        quorum([proof, second])


def test_one_key_under_two_anchors_is_one_operator(proof):
    second = replace(by(proof, "b"), tsa=proof.tsa)
    with pytest.raises(QuorumError):
        quorum([proof, second])


def test_two_roots_of_one_named_operator_are_one(proof):
    results = [by(proof, "a"), by(proof, "b")]
    assert quorum(results, operators={"a" * 64: "A", "b" * 64: "B"}).counted.keys() == {"A", "B"}
    with pytest.raises(QuorumError):
        quorum(results, operators={"a" * 64: "A", "b" * 64: "A"})


def test_the_earliest_token_of_an_operator_counts(proof):
    late, early = by(proof, "a", later=30 * SECOND), by(proof, "a")
    result = quorum([late, early, by(proof, "b")])
    assert result.time == proof.gen_time + SECOND
    assert [finding.code for finding in result.warnings] == ["same_operator"]


def test_bad_extra_tokens_are_reported_and_no_veto(proof):
    bad = TokenRejected("imprint_mismatch", "the token stamps another document")
    demo = by(proof, "c", demo=True)
    result = quorum([("a.tsr", by(proof, "a")), ("x.tsr", bad), ("c.tsr", demo), ("b.tsr", by(proof, "b"))])
    assert [finding.code for finding in result.warnings] == ["not_counted", "demo_not_counted"]
    assert "x.tsr" in result.warnings[0].message


def test_a_demonstration_never_counts(proof):
    with pytest.raises(QuorumError):
        quorum([by(proof, "a"), by(proof, "b", demo=True)])


def test_skew_over_ten_minutes_warns(proof):
    assert not quorum([by(proof, "a"), by(proof, "b", later=timedelta(minutes=10))]).warnings
    result = quorum([by(proof, "a"), by(proof, "b", later=timedelta(days=3))])
    assert [finding.code for finding in result.warnings] == ["skew"]
    assert result.time == proof.gen_time + timedelta(days=3) + SECOND


def test_tokens_of_different_documents_are_a_mistake_of_the_caller(proof):
    with pytest.raises(UsageError):
        quorum([by(proof, "a"), by(proof, "b", imprint_hex="0" * 64)])
    quorum([by(proof, "a"), by(proof, "b", imprint_algorithm="sha512", imprint_hex="0" * 128)])


def test_a_quorum_of_none_is_a_mistake(proof):
    with pytest.raises(UsageError):
        quorum([proof], k=0)


def test_protection_lasts_while_enough_tokens_protect(proof):
    ends = [proof.protected_until - timedelta(days=days) for days in (0, 10, 20)]
    results = [by(proof, name, protected_until=end) for name, end in zip("abc", ends, strict=True)]
    assert quorum(results, k=2).protected_until == ends[1]
    assert quorum(results, k=3).protected_until == ends[2]
    assert quorum(results, k=2).to_json()["required"] == 2


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_order_of_the_files_does_not_matter(proof, order):
    results = [by(proof, name, later=seconds * SECOND) for name, seconds in (("a", 0), ("b", 7), ("c", 60))]
    shuffled = quorum([results[index] for index in order])
    assert shuffled == quorum(results)
    assert list(shuffled.counted) == list(quorum(results).counted)
