"""Every criterion against worked examples: bounds, ties, three-valued logic, reasons and distances."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from pydantic import TypeAdapter

from prereg_kit.decision.verdict import Clause, Interval, Reason
from prereg_kit.plan.criteria.answers import Ends
from prereg_kit.plan.criteria.compare import meets
from prereg_kit.plan.criteria.measured import Groups, Measured, Paired, Reach, Scalar, Steps, Units, Unknown
from prereg_kit.plan.criteria.rule import Criterion
from prereg_kit.statistics.interval import Percentile

CRITERION = TypeAdapter(Criterion)
GONE = Unknown("gone", "not_run", (Reason(code="runs-not-run", message="no run"),))
BROKEN = Unknown("broken", "not_evaluable", (Reason(code="rows-missing", message="no row"),))


def paired(*rows: list[int], denominator: int = 100, name: str = "e") -> Paired:
    return Paired(
        name, "proportion", tuple(map(str, range(len(rows)))), np.array(rows, dtype=np.int64), denominator
    )


class Given:
    """An evaluator with given answers."""

    def __init__(
        self, ends: tuple[F, F] = (F(0), F(0)), mc_sd: F | None = None, **measured: Measured
    ) -> None:
        self.answers = measured | {"gone": GONE, "broken": BROKEN}
        self.ends = ends
        self.mc_sd = mc_sd
        self.outcomes = {"P": "pass", "F": "fail", "N": "not_run", "V": "void"}

    def measured(self, endpoint: str) -> Measured:
        return self.answers[endpoint]

    def interval(self, contrast: Paired, level: F, method: str) -> Ends:
        lower, upper = self.ends
        engine = "exact" if self.mc_sd is None else "monte_carlo"
        sds = None if self.mc_sd is None else (self.mc_sd, self.mc_sd)
        shown = Interval(
            level=float(level), lower=float(lower), upper=float(upper), engine=engine,
            mc_sd=None if self.mc_sd is None else (float(self.mc_sd), float(self.mc_sd)),
        )  # fmt: skip
        return Ends(
            shown, lower, upper, Percentile(level, lower, upper, engine, "crossed", "crossed", mc_sd=sds)
        )

    def widened(self, level: F) -> F:
        return level

    def outcome_of(self, hypothesis: str) -> tuple[str, str]:
        return self.outcomes[hypothesis], "recomputed"


def judge(rule: object, given: Given) -> Clause:
    return CRITERION.validate_python(rule).judged(given)


def outcome(rule: object, given: Given) -> str:
    return judge(rule, given).outcome


# The table of comparisons: (op, value below the bound, value at it, value above it).
COMPARISONS = [
    ("above", "fail", "fail", "pass"),
    ("at_least", "fail", "pass", "pass"),
    ("below", "pass", "fail", "fail"),
    ("at_most", "pass", "pass", "fail"),
]


@pytest.mark.parametrize(("op", "low", "tie", "high"), COMPARISONS)
def test_comparisons_hold_at_below_and_above_the_bound(op: str, low: str, tie: str, high: str) -> None:
    for value, expected in ((F(2, 100), low), (F(3, 100), tie), (F(4, 100), high)):
        assert meets(op, value, F(3, 100)) is (expected == "pass")  # type: ignore[arg-type]


@pytest.mark.parametrize(("op", "low", "tie", "high"), COMPARISONS)
@pytest.mark.parametrize(
    "criterion", ["difference", "every_seed", "rate", "estimate", "at_every", "at_majority"]
)
def test_each_criterion_compares_strictly_where_it_says_so(
    criterion: str, op: str, low: str, tie: str, high: str
) -> None:
    for percent, expected in ((2, low), (3, tie), (4, high)):
        if criterion in ("difference", "every_seed"):
            measured: Measured = paired([percent], [percent])
        elif criterion in ("at_every", "at_majority"):
            measured = Units("e", "ratio", {"0": F(percent, 100), "20": F(percent, 100)})
        else:
            measured = Scalar("e", "proportion", F(percent, 100))
        assert outcome({criterion: {"endpoint": "e", op: "0.03"}}, Given(e=measured)) == expected


@pytest.mark.parametrize(
    ("bound", "ends", "expected"),
    [
        ("lower_above", (F(3, 100), F(9)), "fail"),
        ("lower_above", (F(4, 100), F(9)), "pass"),
        ("lower_at_least", (F(3, 100), F(9)), "pass"),
        ("lower_at_least", (F(2, 100), F(9)), "fail"),
        ("lower_below", (F(3, 100), F(9)), "fail"),
        ("lower_below", (F(2, 100), F(9)), "pass"),
        ("upper_below", (F(-9), F(3, 100)), "fail"),
        ("upper_below", (F(-9), F(2, 100)), "pass"),
        ("upper_at_most", (F(-9), F(3, 100)), "pass"),
        ("upper_at_most", (F(-9), F(4, 100)), "fail"),
        ("upper_above", (F(-9), F(3, 100)), "fail"),
        ("upper_above", (F(-9), F(4, 100)), "pass"),
    ],
)
def test_interval_ends_against_their_bound(bound: str, ends: tuple[F, F], expected: str) -> None:
    given = Given(ends=ends, e=paired([0]))
    assert outcome({"interval": {"endpoint": "e", bound: "0.03"}}, given) == expected


def test_a_tie_at_a_strict_bound_says_that_it_is_a_tie() -> None:
    clause = judge(
        CRITERION.validate_python({"difference": {"endpoint": "e", "above": 0}}), Given(e=paired([1, -1]))
    )
    assert [reason.code for reason in clause.reasons] == ["tie-at-strict-bound"]


def test_an_interval_end_within_its_monte_carlo_error_is_undecided_on_both_sides_of_the_bound() -> None:
    rule = {"interval": {"endpoint": "e", "lower_above": "-0.03"}}
    for lower, expected in ((F(-31, 1000), "inconclusive"), (F(-29, 1000), "inconclusive"), (F(-27, 1000), "pass"),
                            (F(-33, 1000), "fail")):  # fmt: skip
        assert outcome(rule, Given(ends=(lower, F(1)), mc_sd=F(2, 1000), e=paired([0]))) == expected


def test_every_seed_needs_every_seed_and_names_the_one_that_does_not() -> None:
    rule = CRITERION.validate_python({"every_seed": {"endpoint": "e", "above": 0}})
    assert judge(rule, Given(e=paired([1], [2], [3]))).outcome == "pass"
    clause = judge(rule, Given(e=paired([5], [-1], [5])))
    assert clause.outcome == "fail"
    assert "seed 1" in clause.reasons[0].message
    assert clause.distance is not None and clause.distance.exact == "-1/100"


def test_the_mean_may_pass_while_a_seed_is_zero() -> None:
    """Seed differences .06, .05, .00: the mean 11/300 reaches 0.03 and "every positive" fails."""
    e = paired([6], [5], [0])
    assert outcome({"difference": {"endpoint": "e", "at_least": "0.03"}}, Given(e=e)) == "pass"
    assert outcome({"every_seed": {"endpoint": "e", "above": 0}}, Given(e=e)) == "fail"
    assert e.value == F(11, 300)


@pytest.mark.parametrize(
    ("value", "expected"), [("0.50", "pass"), ("0.64", "pass"), ("0.499", "fail"), ("0.641", "fail")]
)
def test_within_includes_both_ends(value: str, expected: str) -> None:
    given = Given(e=Scalar("e", "proportion", F(value)))
    assert outcome({"rate": {"endpoint": "e", "within": "0.07", "of": "0.57"}}, given) == expected


@pytest.mark.parametrize(
    ("held", "points", "expected"),
    [(2, 3, "pass"), (2, 4, "fail"), (3, 4, "pass"), (1, 1, "pass"), (0, 1, "fail")],
)
def test_a_majority_is_more_than_half(held: int, points: int, expected: str) -> None:
    units = Units("e", "ratio", {str(i): F(1, 2) if i < held else F(2) for i in range(points)})
    assert outcome({"at_majority": {"endpoint": "e", "below": 1}}, Given(e=units)) == expected


def test_a_named_point_that_is_missing_is_not_evaluable_and_never_false() -> None:
    units = Units("e", "ratio", {"0": F(2)})
    for criterion in ("at_every", "at_majority"):
        assert (
            outcome({criterion: {"endpoint": "e", "points": ["0", "20"], "below": 1}}, Given(e=units))
            == "not_evaluable"
        )


def test_named_points_leave_the_others_out() -> None:
    units = Units("e", "ratio", {"0": F(2), "20": F(1, 2)})
    assert outcome({"at_every": {"endpoint": "e", "points": ["20"], "below": 1}}, Given(e=units)) == "pass"


def test_an_estimate_needs_every_unit_and_its_bound() -> None:
    rule = {"estimate": {"endpoint": "e", "at_least": "0.15", "lower_above": "0.05", "level": "0.95"}}
    level = F(19, 20)
    good = Units("e", "share", {"a": F(2, 10), "b": F(3, 10)}, lower={("", level): F(6, 100)})
    assert outcome(rule, Given(e=good)) == "pass"
    tie = Units("e", "share", {"a": F(2, 10)}, lower={("a", level): F(5, 100)})
    assert outcome(rule, Given(e=tie)) == "fail"
    low = Units("e", "share", {"a": F(2, 10), "b": F(14, 100)}, lower={("", level): F(6, 100)})
    assert outcome(rule, Given(e=low)) == "fail"
    unknown = Units("e", "share", {"a": F(2, 10)}, lower={("a", F(9, 10)): F(6, 100)})
    assert outcome(rule, Given(e=unknown)) == "not_evaluable"


def test_a_false_part_decides_an_estimate_even_where_its_bound_is_unknown() -> None:
    rule = {"estimate": {"endpoint": "e", "at_least": "0.15", "lower_above": "0.05"}}
    assert outcome(rule, Given(e=Units("e", "share", {"a": F(1, 10)}))) == "fail"


@pytest.mark.parametrize(
    ("one", "one_value", "several"), [(4, "pass", "fail"), (0, "fail", "pass"), (3, "fail", "fail")]
)
def test_invariants_count_groups(one: int, one_value: str, several: str) -> None:
    given = Given(e=Groups("e", "groups", 4, one))
    assert outcome({"invariant": {"endpoint": "e", "each_group_has": "one_value"}}, given) == one_value
    assert outcome({"invariant": {"endpoint": "e", "each_group_has": "several_values"}}, given) == several


TRUE, FALSE = {"holds": "P"}, {"holds": "F"}
NOT_RUN, UNKNOWN = (
    {"difference": {"endpoint": "gone", "above": 0}},
    {"difference": {"endpoint": "broken", "above": 0}},
)


@pytest.mark.parametrize(
    ("clauses", "all_of", "any_of"),
    [
        ([TRUE, TRUE], "pass", "pass"),
        ([TRUE, FALSE], "fail", "pass"),
        ([FALSE, FALSE], "fail", "fail"),
        ([TRUE, UNKNOWN], "not_evaluable", "pass"),
        ([FALSE, UNKNOWN], "fail", "not_evaluable"),
        ([FALSE, NOT_RUN], "fail", "not_run"),
        ([TRUE, NOT_RUN], "not_run", "pass"),
        ([NOT_RUN, NOT_RUN], "not_run", "not_run"),
        ([NOT_RUN, UNKNOWN], "not_evaluable", "not_evaluable"),
    ],
)
def test_logic_has_three_values(clauses: list[object], all_of: str, any_of: str) -> None:
    for order in (clauses, clauses[::-1]):
        assert outcome({"all": order}, Given()) == all_of
        assert outcome({"any": order}, Given()) == any_of


@pytest.mark.parametrize(
    ("rule", "expected"), [(TRUE, "fail"), (FALSE, "pass"), (NOT_RUN, "not_run"), (UNKNOWN, "not_evaluable")]
)
def test_not_swaps_true_and_false_only(rule: object, expected: str) -> None:
    assert outcome({"not": rule}, Given()) == expected


def test_de_morgan() -> None:
    for one, other in product((TRUE, FALSE, NOT_RUN, UNKNOWN), repeat=2):
        left = outcome({"not": {"all": [one, other]}}, Given())
        right = outcome({"any": [{"not": one}, {"not": other}]}, Given())
        assert left == right


def test_a_hypothesis_that_is_void_is_unknown_to_those_that_refer_to_it() -> None:
    assert outcome({"holds": "V"}, Given()) == "not_evaluable"
    assert outcome({"holds": "N"}, Given()) == "not_run"


def test_reported_evidence_taints_the_clause_that_decides_and_no_other() -> None:
    given = Given(r=Scalar("r", "share", F(1), "reported"), c=Scalar("c", "share", F(0)))
    rules = [{"rate": {"endpoint": "r", "above": 0}}, {"rate": {"endpoint": "c", "above": 0}}]
    clause = judge(CRITERION.validate_python({"all": rules}), given)
    assert (clause.outcome, clause.evidence) == ("fail", "recomputed")
    clause = judge(CRITERION.validate_python({"any": rules}), given)
    assert (clause.outcome, clause.evidence) == ("pass", "reported")


def censored(first: int | None, second: int | None, horizon: int) -> Steps:
    """One seed: steps of the treatment and of the reference, None where the curve never arrives."""
    reach = [Reach(None if at is None else F(at), F(horizon)) for at in (first, second)]
    return Steps("e", "steps", {"0": reach[0]}, {"0": reach[1]})


BELOW = censored(60, None, 100)  # known to lie strictly below -40
ABOVE = censored(None, 80, 100)  # known to lie strictly above 20


@pytest.mark.parametrize(
    ("measured", "bound", "expected"),
    [
        (BELOW, {"at_most": -40}, "pass"),
        (BELOW, {"below": -40}, "pass"),
        (BELOW, {"at_least": -40}, "fail"),
        (BELOW, {"above": -40}, "fail"),
        (BELOW, {"below": -41}, "not_evaluable"),
        (BELOW, {"above": -41}, "not_evaluable"),
        (ABOVE, {"at_least": 20}, "pass"),
        (ABOVE, {"above": 20}, "pass"),
        (ABOVE, {"at_most": 20}, "fail"),
        (ABOVE, {"below": 20}, "fail"),
        (ABOVE, {"above": 21}, "not_evaluable"),
        (ABOVE, {"below": 21}, "not_evaluable"),
        (censored(None, None, 100), {"above": -1000}, "not_evaluable"),
        (censored(40, 60, 100), {"at_most": -20}, "pass"),
        (censored(40, 60, 100), {"below": -20}, "fail"),
    ],
)
def test_a_censored_difference_decides_where_its_bound_does(
    measured: Steps, bound: dict[str, int], expected: str
) -> None:
    assert outcome({"every_seed": {"endpoint": "e", **bound}}, Given(e=measured)) == expected


def test_a_bound_at_exactly_one_monte_carlo_sd_is_undecided() -> None:
    rule = {"interval": {"endpoint": "e", "lower_above": 0}}
    assert outcome(rule, Given(ends=(F(1, 4), F(1)), mc_sd=F(1, 4), e=paired([0]))) == "inconclusive"
