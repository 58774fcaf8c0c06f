"""A chain protects while every link was made before the one before it lapsed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from prereg_kit.errors import UsageError
from prereg_kit.evidence.token import TokenRejected, renewal_chain, verify_renewals

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


def link(proof, made, until, **changes):
    return replace(proof, gen_time=START + made * DAY, protected_until=START + until * DAY, **changes)


def test_one_token_protects_and_then_lapses(proof):
    chain = [link(proof, 0, 100)]
    assert renewal_chain(chain, at=START + 100 * DAY).status == "protected"
    lapsed = renewal_chain(chain, at=START + 101 * DAY)
    assert (lapsed.status, lapsed.findings[0].code) == ("lapsed", "lapsed")


def test_a_renewal_in_time_carries_on(proof):
    chain = renewal_chain([link(proof, 0, 100), link(proof, 99, 500)], at=START + 400 * DAY)
    assert chain.status == "protected"
    assert chain.protected_until == START + 500 * DAY
    assert chain.proven_time == START + timedelta(seconds=1)


def test_a_late_renewal_is_a_gap_for_good(proof):
    chain = renewal_chain(
        [link(proof, 0, 100), link(proof, 101, 500), link(proof, 400, 900)], at=START + 450 * DAY
    )
    assert chain.status == "gap"
    assert chain.protected_until == START + 100 * DAY
    assert [one.carried for one in chain.links] == [True, False, True]
    assert [finding.code for finding in chain.findings] == ["gap"]


def test_the_accuracy_of_the_renewal_counts_against_it(proof):
    edge = replace(link(proof, 100, 500), accuracy=timedelta(seconds=1))
    assert renewal_chain([link(proof, 0, 100), edge], at=START).status == "gap"
    assert (
        renewal_chain(
            [link(proof, 0, 100), replace(edge, gen_time=edge.gen_time - timedelta(seconds=1))], at=START
        ).status
        == "protected"
    )


def test_a_renewal_from_before_its_object_is_a_gap(proof):
    assert renewal_chain([link(proof, 10, 100), link(proof, 5, 500)], at=START + 20 * DAY).status == "gap"


def test_a_demonstration_in_the_chain_makes_it_one(proof):
    assert renewal_chain([link(proof, 0, 100), link(proof, 9, 500, demo=True)], at=START).status == "demo"


def test_a_chain_needs_a_token_and_an_aware_time(proof):
    for proofs, at in (([], START), ([proof], datetime(2026, 1, 1))):
        with pytest.raises(UsageError):
            renewal_chain(proofs, at=at)


def test_each_token_must_stamp_the_file_before_it(plain):
    arguments = {key: plain.arguments[key] for key in ("data", "anchors", "now")}
    assert verify_renewals([plain.blob], at=START + 90 * DAY, **arguments).status == "protected"
    with pytest.raises(TokenRejected, match="another document"):
        verify_renewals([plain.blob, plain.blob], at=START, **arguments)
