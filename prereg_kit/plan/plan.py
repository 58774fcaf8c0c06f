"""The plan: everything that was decided in advance, as one immutable value (`prereg.plan/1`)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from prereg_kit.plan.criteria.criterion import BaseCriterion
from prereg_kit.plan.criteria.rule import about_endpoints, endpoints_of, hypotheses_of
from prereg_kit.plan.endpoint import Arms, Contrast, Distinct, Endpoint, Mean, Selection, StepsToThreshold
from prereg_kit.plan.fields import (
    Moment,
    Name,
    Text,
    Texts,
    Value,
)
from prereg_kit.plan.hypothesis import Family, Gate, Hypothesis, Prediction
from prereg_kit.plan.matrix import ANY, RunMatrix
from prereg_kit.plan.parts import Disclosure, Material, RegisterSpec, Resampling, TimestampPolicy, Variance

FORMAT = "prereg.plan/1"
Place = tuple[str, ...]
MAX_CHAIN = 32
"""How many hypotheses, or combined endpoints, may stand on top of each other."""


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
    variance: dict[Name, Variance] = Field(default_factory=dict)
    endpoints: Annotated[dict[Name, Endpoint], Field(min_length=1)]
    hypotheses: Annotated[dict[Name, Hypothesis], Field(min_length=1)]
    predictions: dict[Name, Prediction] = Field(default_factory=dict)
    gates: dict[Name, Gate] = Field(default_factory=dict)
    families: dict[Name, Family] = Field(default_factory=dict)

    def criteria(self) -> tuple[tuple[Place, BaseCriterion], ...]:
        """Every top-level criterion with its path in the plan."""
        found: list[tuple[Place, BaseCriterion]] = []
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

    def rules_of(self, hypothesis: str) -> tuple[BaseCriterion, ...]:
        """The criteria of one hypothesis: what passes or fails it, its named outcomes, its controls."""
        return tuple(rule for path, rule in self.criteria() if path[:2] == ("hypotheses", hypothesis))

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Plan:
        self._criteria_name_what_exists()
        self._endpoints_combine_what_exists()
        self._readings_name_what_exists()
        for name in self.variance:
            self._known(name, self.endpoints, "endpoint", ("variance", name))
        for number, disclosure in enumerate(self.disclosures):
            if disclosure.endpoint is not None:
                self._known(disclosure.endpoint, self.endpoints, "endpoint", ("disclosures", str(number)))
        for name, prediction in self.predictions.items():
            if prediction.hypothesis is not None:
                self._known(prediction.hypothesis, self.hypotheses, "hypothesis", ("predictions", name))
        for name, family in self.families.items():
            for member in family.members:
                self._known(member, self.hypotheses, "hypothesis", ("families", name))
        self._families_agree()
        self._each_is_admitted()
        self._axes_are_apart()
        self._no_circle()
        return self

    def _criteria_name_what_exists(self) -> None:
        for place, criterion in self.criteria():
            for name in endpoints_of(criterion):
                self._known(name, self.endpoints, "endpoint", place)
            for name in hypotheses_of(criterion):
                self._known(name, self.hypotheses, "hypothesis", place)
            self._fits(criterion, place)

    def _endpoints_combine_what_exists(self) -> None:
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
            for other in endpoint.combines():
                self._known(other, self.endpoints, "endpoint", ("endpoints", name))

    def _readings_name_what_exists(self) -> None:
        owners: tuple[tuple[str, str, Hypothesis | Prediction], ...] = (
            *(("hypotheses", name, owner) for name, owner in self.hypotheses.items()),
            *(("predictions", name, owner) for name, owner in self.predictions.items()),
        )
        for kind, name, owner in owners:
            for reading, body in owner.readings.items():
                self._reading_fits((kind, name), body.replace)
                for names in body.replace.items():
                    for endpoint in names:
                        self._known(endpoint, self.endpoints, "endpoint", (kind, name, "readings", reading))

    def _reading_fits(self, owner: Place, replace: Mapping[str, str]) -> None:
        for path, rule in self.criteria():
            if path[:2] == owner and all(new in self.endpoints for new in replace.values()):
                self._fits(rule.replaced(replace), (*owner, "readings"))

    def _families_agree(self) -> None:
        """A hypothesis and its family name each other, once."""
        for name, hypothesis in self.hypotheses.items():
            if hypothesis.family is not None:
                self._known(hypothesis.family, self.families, "family", ("hypotheses", name))
                if name not in self.families[hypothesis.family].members:
                    raise misfit(
                        ("hypotheses", name, "family"),
                        f"is not among the members of the family {hypothesis.family!r}",
                    )
        for name, family in self.families.items():
            if len(set(family.members)) < len(family.members):
                raise misfit(("families", name, "members"), "names a member twice")
            for member in family.members:
                if self.hypotheses[member].family != name:
                    raise misfit(
                        ("families", name, "members"), f"names {member!r}, whose own `family` is not {name!r}"
                    )

    def family_size(self, family: str) -> int:
        """How many verdicts a family holds: members with `for_each` count once per value, unrun ones count too."""
        return sum(
            1 if (each := self.hypotheses[member].for_each) is None else len(each.values)
            for member in self.families[family].members
        )

    def _each_is_admitted(self) -> None:
        """Where an endpoint's `where` names the column of `for_each`, it admits every value of it."""
        for name, hypothesis in self.hypotheses.items():
            if hypothesis.for_each is None:
                continue
            column, values = hypothesis.for_each.column, hypothesis.for_each.values
            for endpoint_name in endpoints_of(*self.rules_of(name)):
                endpoint = self.endpoints[endpoint_name]
                listed = endpoint.where.get(column) if isinstance(endpoint, Selection) else None
                if listed is not None and not set(values) <= set(listed):
                    raise misfit(
                        ("hypotheses", name, "for_each"),
                        f"runs over {column}, but {endpoint_name!r} admits only {', '.join(listed)}",
                    )

    def _axes_are_apart(self) -> None:
        """Arms, pairs, clusters and an endpoint's axis are four different columns."""
        named = {"arms.column": self.arms.column, "resampling.pairs": self.resampling.pairs}
        if self.resampling.clusters is not None:
            named["resampling.clusters"] = self.resampling.clusters
        if len(set(named.values())) < len(named):
            raise misfit(("resampling",), f"uses one column for two things: {named}")
        self._pairs_have_one_name()
        for name, endpoint in self.endpoints.items():
            over = endpoint.over if isinstance(endpoint, Contrast | Mean) else None
            if over is not None and over.column in named.values():
                raise misfit(
                    ("endpoints", name, "over"), f"runs over {over.column}, which is an arm, pair or cluster"
                )
            if (
                isinstance(endpoint, Contrast | Distinct | StepsToThreshold)
                and endpoint.register_ == "reported"
            ):
                raise misfit(
                    ("endpoints", name), f"a {endpoint.kind} cannot be read from published figures alone"
                )

    def _pairs_have_one_name(self) -> None:
        """`pair` in a planned block is for a pairing column that the block has no other word for."""
        pairs = self.resampling.pairs
        if pairs not in ("seed", "condition"):
            return
        for index, block in enumerate(self.runs.planned):
            if block.pair != (ANY,):
                raise misfit(
                    ("runs", "planned", str(index), "pair"),
                    f"says `pair`, but resampling.pairs is {pairs}: list the pairs under `{pairs}`",
                )

    @staticmethod
    def _known(name: str, among: Mapping[str, object], what: str, place: Place) -> None:
        if name not in among:
            near = difflib.get_close_matches(name, among, n=3) or sorted(among)[:8]
            raise misfit(
                place,
                f"names the {what} {name!r}, which the plan does not define; near it: {', '.join(near)}",
            )

    def _fits(self, criterion: BaseCriterion, place: Place) -> None:
        for part in about_endpoints([criterion]):
            wrong = part.misfit(part.endpoint, self.endpoints[part.endpoint])
            if wrong is not None:
                raise misfit(place, wrong)

    def _no_circle(self) -> None:
        below: dict[str, tuple[str, ...]] = {
            name: hypotheses_of(*self.rules_of(name)) for name in self.hypotheses
        }
        below |= {
            f"endpoint {name}": tuple(f"endpoint {o}" for o in e.combines())
            for name, e in self.endpoints.items()
        }
        depth: dict[str, int] = {}

        def visit(name: str, trail: tuple[str, ...]) -> int:
            if name in trail:
                raise misfit(("hypotheses",), f"{' -> '.join((*trail, name))} goes in a circle")
            if len(trail) > MAX_CHAIN:
                raise misfit(("hypotheses",), f"{trail[0]} refers through more than {MAX_CHAIN} others")
            if name not in depth:
                depth[name] = 1 + max((visit(other, (*trail, name)) for other in below[name]), default=0)
            if len(trail) + depth[name] > MAX_CHAIN:
                raise misfit(
                    ("hypotheses",), f"{(*trail, name)[0]} refers through more than {MAX_CHAIN} others"
                )
            return depth[name]

        for name in below:
            visit(name, ())


def misfit(place: Place, message: str) -> PydanticCustomError:
    """An error about a part of the plan that only the whole plan can see; it carries the part's path."""
    return PydanticCustomError("plan_misfit", "{message}", {"message": message, "path": place})
