"""The closed set of criteria: data, never code. Each is written `{name: {...}}` in a plan.

A criterion is registered by its name in `Criterion`, the union below. `all`, `any` and `not` stand here because they
hold other criteria.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.at_every import AtEvery
from prereg_kit.plan.criteria.at_majority import AtMajority
from prereg_kit.plan.criteria.clause import Clause
from prereg_kit.plan.criteria.combined import combined, swapped
from prereg_kit.plan.criteria.criterion import BaseCriterion, OneEndpoint, registered
from prereg_kit.plan.criteria.difference import Difference
from prereg_kit.plan.criteria.estimate import Estimate
from prereg_kit.plan.criteria.every_seed import EverySeed
from prereg_kit.plan.criteria.holds import Holds
from prereg_kit.plan.criteria.interval import IntervalEnd
from prereg_kit.plan.criteria.invariant import Invariant
from prereg_kit.plan.criteria.possible import PossibleRegister, Studies
from prereg_kit.plan.criteria.rate import RateCriterion

if TYPE_CHECKING:
    from prereg_kit.plan.criteria.compare import Flags


class _Several(BaseCriterion):
    """One or more clauses; without an obstacle of its own."""

    body: ClassVar[str | None] = "of"
    joint: ClassVar[str]

    of: Annotated[tuple[Criterion, ...], Field(min_length=1)]

    def words(self) -> str:
        """The clauses, joined; one that joins several by another word stands in parentheses."""
        return self.joint.join(
            f"({clause.words()})"
            if isinstance(clause, _Several) and type(clause) is not type(self) and len(clause.of) > 1
            else clause.words()
            for clause in self.of
        )

    def parts(self) -> tuple[BaseCriterion, ...]:
        """The clauses."""
        return self.of

    def replaced(self, names: Mapping[str, str]) -> Self:
        """The same with endpoints exchanged in every clause."""
        return self.model_copy(update={"of": tuple(clause.replaced(names) for clause in self.of)})

    def obstacle(self) -> None:
        """None of its own."""


class All(_Several):
    """Every clause holds."""

    criterion: Literal["all"] = "all"
    joint: ClassVar[str] = " AND "

    def judged(self, answers: Answers) -> Clause:
        """One clause that fails decides."""
        return combined(self, [clause.judged(answers) for clause in self.of], "fail")

    def true_in(self, register: PossibleRegister) -> bool:
        """Every clause is true."""
        return all(clause.true_in(register) for clause in self.of)

    def holds_in(self, studies: Studies) -> Flags:
        """Every clause holds, [simulated study]."""
        return reduce(and_, [clause.holds_in(studies) for clause in self.of])


class AnyOf(_Several):
    """At least one clause holds."""

    criterion: Literal["any"] = "any"
    joint: ClassVar[str] = " OR "

    def judged(self, answers: Answers) -> Clause:
        """One clause that passes decides."""
        return combined(self, [clause.judged(answers) for clause in self.of], "pass")

    def true_in(self, register: PossibleRegister) -> bool:
        """A clause is true."""
        return any(clause.true_in(register) for clause in self.of)

    def holds_in(self, studies: Studies) -> Flags:
        """A clause holds, [simulated study]."""
        return reduce(or_, [clause.holds_in(studies) for clause in self.of])


class Not(BaseCriterion):
    """The clause does not hold."""

    criterion: Literal["not"] = "not"
    body: ClassVar[str | None] = "of"

    of: Criterion

    def words(self) -> str:
        """The clause, negated."""
        return f"NOT ({self.of.words()})"

    def parts(self) -> tuple[BaseCriterion, ...]:
        """The clause."""
        return (self.of,)

    def replaced(self, names: Mapping[str, str]) -> Self:
        """The same with endpoints exchanged."""
        return self.model_copy(update={"of": self.of.replaced(names)})

    def judged(self, answers: Answers) -> Clause:
        """Pass and fail change places."""
        return swapped(self, self.of.judged(answers))

    def true_in(self, register: PossibleRegister) -> bool:
        """The clause is not true."""
        return not self.of.true_in(register)

    def obstacle(self) -> None:
        """None of its own."""

    def holds_in(self, studies: Studies) -> Flags:
        """The clause does not hold, [simulated study]."""
        return ~self.of.holds_in(studies)


def _from_written(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, BaseCriterion):
        return value
    if isinstance(value, str):
        return {"criterion": "holds", "hypothesis": value}
    if not isinstance(value, dict) or (len(value) != 1 and "criterion" not in value):
        raise ValueError(f"one criterion as a mapping with one key out of {', '.join(KINDS)}")
    if "criterion" in value:
        return value
    name, body = next(iter(value.items()))
    if name not in KINDS:
        raise ValueError(f"unknown criterion {name!r}; one of {', '.join(KINDS)}")
    whole = KINDS[name].body
    if whole is not None:
        return {"criterion": name, whole: body}
    if not isinstance(body, dict):
        raise ValueError(f"a mapping under {name}, such as {{endpoint: ..., above: 0}}")
    if "criterion" in body:
        raise ValueError("no field called criterion")
    return {"criterion": name, **body}


_Member = (
    Difference | EverySeed | IntervalEnd | RateCriterion | Estimate | AtEvery | AtMajority | Invariant
    | Holds | All | AnyOf | Not
)  # fmt: skip
Criterion = Annotated[Annotated[_Member, Field(discriminator="criterion")], BeforeValidator(_from_written)]
KINDS = registered(*get_args(_Member))

for _model in (_Several, All, AnyOf, Not):
    _model.model_rebuild()


def walk(criterion: BaseCriterion) -> tuple[BaseCriterion, ...]:
    """The criterion and everything inside it, outermost first."""
    return (criterion, *(inner for part in criterion.parts() for inner in walk(part)))


def about_endpoints(criteria: Iterable[BaseCriterion]) -> tuple[OneEndpoint, ...]:
    """The criteria about an endpoint, in the order of writing, however deep they stand."""
    return tuple(part for rule in criteria for part in walk(rule) if isinstance(part, OneEndpoint))


def endpoints_of(*criteria: BaseCriterion) -> tuple[str, ...]:
    """The endpoints that criteria name, first-named first, each once."""
    return tuple(dict.fromkeys(part.endpoint for part in about_endpoints(criteria)))


def hypotheses_of(*criteria: BaseCriterion) -> tuple[str, ...]:
    """The hypotheses that criteria refer to, each once."""
    parts = (part for rule in criteria for part in walk(rule))
    return tuple(dict.fromkeys(part.hypothesis for part in parts if isinstance(part, Holds)))
