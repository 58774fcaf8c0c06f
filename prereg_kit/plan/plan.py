"""The plan: everything that was decided in advance, as one immutable value (`prereg.plan/1`)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from prereg_kit.plan.criterion import AtEvery, AtMajority, Criterion_, endpoints_of, hypotheses_of, walk
from prereg_kit.plan.endpoint import (
    Arms,
    Contrast,
    Distinct,
    Endpoint,
    Gap,
    LuckShare,
    Mean,
    Rate,
    Ratio,
    Selection,
    Series,
    StepsToThreshold,
)
from prereg_kit.plan.fields import (
    Column,
    Exact,
    Flag,
    Moment,
    Name,
    PercentileMethod,
    Sha256,
    Text,
    Texts,
    Value,
    Whole,
)
from prereg_kit.plan.hypothesis import Family, Gate, Hypothesis, Prediction

FORMAT = "prereg.plan/1"
Place = tuple[str, ...]


class Resampling(Value):
    """How intervals are computed: pairs and clusters are resampled crossed; episodes are never pooled.

    `exact` needs no random numbers; `monte_carlo` draws `resamples` from the stream keyed by `seed` and the
    digest of the original frozen plan; `auto` is exact where its estimated cost is under a minute.
    """

    pairs: Column = "seed"
    clusters: Column | None = "task"
    engine: Literal["auto", "exact", "monte_carlo"] = "auto"
    resamples: Whole = 10_000
    seed: Whole = 0
    interval: PercentileMethod = "percentile"
    level: Exact = Fraction(19, 20)

    @model_validator(mode="after")
    def _ranges(self) -> Resampling:
        if not 0 < self.level < 1:
            raise ValueError("level between 0 and 1")
        if not 100 <= self.resamples <= 10_000_000:
            raise ValueError("resamples between 100 and 10,000,000")
        if self.seed < 0:
            raise ValueError("a seed that is not negative")
        return self


class PlannedRuns(Value):
    """A block of the run matrix: the product of the lists."""

    condition: Texts = ("",)
    arm: Texts
    seed: Texts
    note: Text = ""


class Exclusion(Value):
    """One admissible reason to leave a run out; no other reason excludes."""

    id: Name
    text: Text


class RunMatrix(Value):
    """Every planned run, and the policy for those that are missing, failed or repeated.

    A seed that only one arm has is refused, unless `missing: exclude_pair` leaves the pair out and says so; the ledger
    keeps it, and the verdict shows what the missing pairs could have made of it at worst and at best.
    """

    planned: tuple[PlannedRuns, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    missing: Literal["refuse", "exclude_pair"] = "refuse"
    repeated: Literal["refuse"] = "refuse"

    def cells(self) -> tuple[tuple[str, str, str], ...]:
        """Every planned (condition, arm, seed), in the order of the plan."""
        return tuple(
            dict.fromkeys(
                cell for block in self.planned for cell in product(block.condition, block.arm, block.seed)
            )
        )


class Material(Value):
    """A file that the plan binds: a pool, a config, code. `path` is relative to the plan's repository."""

    path: Text
    sha256: Sha256
    what: Text = ""


class RegisterSpec(Value):
    """What the plan says about a register: its key columns, and how defects are treated."""

    key: Texts | None = None
    repeats: Literal["refuse", "drop_exact"] = "refuse"
    missing_values: Literal["refuse"] = "refuse"
    note: Text = ""


class Disclosure(Value):
    """Something that was known before the freeze.

    Where a number was known, `endpoint` and `seed` say of what: the pair's `difference`, or one arm's `value` (with
    `arm` and, if there is one, the expected value of the reference arm as `baseline`). `prereg check` conditions on it.
    """

    id: Name
    kind: Text
    text: Text
    runs: Texts = ()
    known: Text = ""
    endpoint: Name | None = None
    seed: Text | None = None
    difference: Exact | None = None
    value: Exact | None = None
    arm: Text | None = None
    baseline: Exact | None = None

    @model_validator(mode="after")
    def _of_something(self) -> Disclosure:
        if self.difference is not None and self.value is not None:
            raise ValueError("a difference or one arm's value, not both")
        if (self.difference is not None or self.value is not None) and self.endpoint is None:
            raise ValueError("the endpoint whose number was known")
        if self.value is not None and self.arm is None:
            raise ValueError("the arm whose value was known")
        return self


class TimestampPolicy(Value):
    """How many distinct operators must vouch for the time."""

    quorum: Whole = 2


class Plan(Value):
    """A plan. `kind: retrospective` admits figures that were published and cannot be recomputed."""

    format: Literal["prereg.plan/1"] = "prereg.plan/1"
    id: Name
    title: Text = ""
    kind: Literal["prospective", "retrospective"] = "prospective"
    note: Text = ""
    authors: Texts = ()
    written: Moment | None = None
    thesis: Text = ""
    definitions: dict[Text, Text] = Field(default_factory=dict)
    arms: Arms
    resampling: Resampling = Resampling()
    runs: RunMatrix = RunMatrix()
    materials: tuple[Material, ...] = ()
    registers: dict[Name, RegisterSpec] = Field(default_factory=dict)
    timestamps: TimestampPolicy = TimestampPolicy()
    disclosures: tuple[Disclosure, ...] = ()
    endpoints: Annotated[dict[Name, Endpoint], Field(min_length=1)]
    hypotheses: Annotated[dict[Name, Hypothesis], Field(min_length=1)]
    predictions: dict[Name, Prediction] = Field(default_factory=dict)
    gates: dict[Name, Gate] = Field(default_factory=dict)
    families: dict[Name, Family] = Field(default_factory=dict)
    exploratory: Flag = False

    def criteria(self) -> tuple[tuple[Place, Criterion_], ...]:
        """Every top-level criterion with its path in the plan."""
        found: list[tuple[Place, Criterion_]] = []
        for name, hypothesis in self.hypotheses.items():
            at = ("hypotheses", name)
            for key, rule in (("passes_if", hypothesis.passes_if), ("fails_if", hypothesis.fails_if)):
                if rule is not None:
                    found.append(((*at, key), rule))
            found += [((*at, "outcomes", key), rule) for key, rule in (hypothesis.outcomes or {}).items()]
            found += [((*at, "requires", key), rule) for key, rule in hypothesis.requires.items()]
        for name, prediction in self.predictions.items():
            found += [(("predictions", name, key), rule) for key, rule in prediction.criteria.items()]
        found += [(("gates", name, "if"), gate.if_) for name, gate in self.gates.items()]
        return tuple(found)

    def rules_of(self, hypothesis: str) -> tuple[Criterion_, ...]:
        """The criteria of one hypothesis: what passes or fails it, its named outcomes, its controls."""
        return tuple(rule for path, rule in self.criteria() if path[:2] == ("hypotheses", hypothesis))

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Plan:
        for place, criterion in self.criteria():
            for name in endpoints_of(criterion):
                self._known(name, self.endpoints, "endpoint", place)
            for name in hypotheses_of(criterion):
                self._known(name, self.hypotheses, "hypothesis", place)
            for part in walk(criterion):
                self._fits(part, place)
        for name, endpoint in self.endpoints.items():
            if (
                isinstance(endpoint, Selection)
                and endpoint.register_ == "reported"
                and self.kind != "retrospective"
            ):
                raise misfit(
                    ("endpoints", name, "register"),
                    "reported figures are admitted only under kind: retrospective",
                )
            for other in _combined(endpoint):
                self._known(other, self.endpoints, "endpoint", ("endpoints", name))
        for kind, owners in (("hypotheses", self.hypotheses), ("predictions", self.predictions)):
            for name, owner in owners.items():
                for reading, body in owner.readings.items():
                    for old, new in body.replace.items():
                        for endpoint_name in (old, new):
                            self._known(
                                endpoint_name, self.endpoints, "endpoint", (kind, name, "readings", reading)
                            )
        for number, disclosure in enumerate(self.disclosures):
            if disclosure.endpoint is not None:
                self._known(disclosure.endpoint, self.endpoints, "endpoint", ("disclosures", str(number)))
        for name, prediction in self.predictions.items():
            if prediction.hypothesis is not None:
                self._known(prediction.hypothesis, self.hypotheses, "hypothesis", ("predictions", name))
        for name, family in self.families.items():
            for member in family.members:
                self._known(member, self.hypotheses, "hypothesis", ("families", name))
        for name, hypothesis in self.hypotheses.items():
            if hypothesis.family is not None:
                self._known(hypothesis.family, self.families, "family", ("hypotheses", name))
        self._no_circle()
        return self

    @staticmethod
    def _known(name: str, among: Mapping[str, object], what: str, place: Place) -> None:
        if name not in among:
            near = difflib.get_close_matches(name, among, n=3) or sorted(among)[:8]
            raise misfit(
                place,
                f"names the {what} {name!r}, which the plan does not define; near it: {', '.join(near)}",
            )

    def _fits(self, part: Criterion_, place: Place) -> None:
        name = getattr(part, "endpoint", None)
        if name is None:
            return
        criterion: str = getattr(part, "criterion")  # noqa: B009 - each subclass defines it
        endpoint = self.endpoints[name]
        wanted = _FITTING[criterion]
        if not isinstance(endpoint, wanted):
            kinds = " or ".join(kind.__name__.lower() for kind in wanted)
            raise misfit(
                place,
                f"the criterion {criterion} needs an endpoint of kind {kinds}; {name!r} is a {endpoint.kind}",
            )
        if isinstance(part, AtEvery | AtMajority) and isinstance(endpoint, Series):
            axes = (None, endpoint.axis)
            if part.over not in axes:
                raise misfit(place, f"over {part.over!r}, but the axis of {name!r} is {endpoint.axis!r}")

    def _no_circle(self) -> None:
        below: dict[str, tuple[str, ...]] = {
            name: tuple(other for rule in self.rules_of(name) for other in hypotheses_of(rule))
            for name in self.hypotheses
        }
        below |= {
            f"endpoint {name}": tuple(f"endpoint {o}" for o in _combined(e))
            for name, e in self.endpoints.items()
        }
        done: set[str] = set()

        def visit(name: str, trail: tuple[str, ...]) -> None:
            if name in trail:
                raise misfit(("hypotheses",), f"{' -> '.join((*trail, name))} goes in a circle")
            if name not in done:
                for other in below[name]:
                    visit(other, (*trail, name))
                done.add(name)

        for name in below:
            visit(name, ())


def misfit(place: Place, message: str) -> PydanticCustomError:
    """An error about a part of the plan that only the whole plan can see; it carries the part's path."""
    return PydanticCustomError("plan_misfit", "{message}", {"message": message, "path": place})


def _combined(endpoint: Endpoint) -> tuple[str, ...]:
    if isinstance(endpoint, Gap):
        return (endpoint.of, endpoint.minus)
    return (endpoint.of, endpoint.over) if isinstance(endpoint, Ratio) else ()


_SCALAR: tuple[type, ...] = (Contrast, Mean, Rate, LuckShare, Series, Distinct, Gap, Ratio)
_FITTING: dict[str, tuple[type, ...]] = {
    "difference": (Contrast, Gap),
    "every_seed": (Contrast, StepsToThreshold),
    "interval": (Contrast,),
    "rate": (Rate,),
    "estimate": _SCALAR,
    "at_every": (Series, LuckShare),
    "at_majority": (Series, LuckShare),
    "invariant": (Distinct,),
}
