"""A plan and its amendments, replayed into the plan that is in force. Pure: parsed documents in, values out.

Each amendment names the digest of its parent (the plan's bytes, or the bytes of the amendment before it), so the
order is part of what was frozen. A change that does not apply is an error, never skipped.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prereg_kit.errors import PlanError, Where
from prereg_kit.plan.amendment import Amendment, Change
from prereg_kit.plan.criteria.rule import endpoints_of, hypotheses_of
from prereg_kit.plan.file import plan_of, read_amendment, read_document
from prereg_kit.plan.hypothesis import Hypothesis, Prediction
from prereg_kit.plan.plan import Plan
from prereg_kit.plan.yaml_file import Document, Tree

_SHOWN = 60


@dataclass(frozen=True)
class Source:
    """Exact bytes with their SHA-256 and a name for messages."""

    data: bytes
    digest: str
    name: str


@dataclass(frozen=True)
class Applied:
    """An amendment in force; `changes` says each change in words, with the old value where it was a single one."""

    amendment: Amendment
    source: Source
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EffectivePlan:
    """The plan in force: `original` as frozen, `plan` after the amendments, and who changed what.

    `digest` is that of the original bytes; `changed` maps a slash path to the id of the last amendment that set it.
    """

    original: Plan
    plan: Plan
    source: Source
    amendments: tuple[Applied, ...] = ()
    changed: dict[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the original plan's bytes."""
        return self.source.digest

    def rule_from(self, kind: str, name: str) -> str:
        """`plan`, or the amendments that touched anything this verdict is computed from.

        That is the hypothesis or prediction itself, the endpoints that its rule and its readings name, hypotheses it
        refers to, its family, and what every verdict rests on: arms, resampling, registers, policies for runs.
        """
        places = {f"{kind}/{name}", "arms", "resampling", "registers", "runs/missing", "runs/exclusions"}
        owner = self.plan.predictions[name] if kind == "predictions" else self.plan.hypotheses[name]
        rules = tuple(owner.criteria.values()) if isinstance(owner, Prediction) else self.plan.rules_of(name)
        if isinstance(owner, Hypothesis) and owner.family is not None:
            places.add(f"families/{owner.family}")
        for other in hypotheses_of(*rules):
            places |= self._hypothesis_places(other)
        for endpoint in endpoints_of(*rules):
            places |= self._endpoint_places(endpoint)
        for reading in owner.readings.values():
            for endpoint in reading.replace.values():
                places |= self._endpoint_places(endpoint)
        touched = [
            by
            for path, by in self.changed.items()
            if not path.endswith(("/statement", "/description"))
            and any(_overlap(path, place) for place in places)
        ]
        return ", ".join(dict.fromkeys(touched)) or "plan"

    def _hypothesis_places(self, name: str) -> set[str]:
        places = {f"hypotheses/{name}"}
        rules = self.plan.rules_of(name)
        for endpoint in endpoints_of(*rules):
            places |= self._endpoint_places(endpoint)
        for other in hypotheses_of(*rules):
            places |= self._hypothesis_places(other)
        return places

    def _endpoint_places(self, name: str) -> set[str]:
        inner = self.plan.endpoints[name].combines()
        return {f"endpoints/{name}"}.union(*(self._endpoint_places(other) for other in inner))


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


def replay(plan: Source, amendments: Sequence[Source] = ()) -> EffectivePlan:
    """Read a plan and apply its amendments in the order of their parents.

    Args:
        plan: the original plan.
        amendments: in any order; those of other plans must not be among them.

    Raises:
        DocumentError, PlanError: a file that does not read; an amendment whose parent is missing or taken; a change
            that does not apply; a result that is no valid plan.
    """
    document = read_document(plan.data, plan.name, "prereg.plan/1")
    original = plan_of(document)
    ordered = _in_order(plan, original.id, amendments)
    tree: Tree = copy.deepcopy(document.value)
    changed: dict[str, str] = {}
    effective = original
    replayed = []
    for applied in ordered:
        said = []
        for index, change in enumerate(applied.amendment.changes):
            before = _value_at(tree, change.field)
            _apply(tree, change, Where(file=applied.source.name, field=f"changes[{index}]"))
            said.append(_in_words(change, before))
            changed[change.field] = applied.amendment.id
        replayed.append(replace(applied, changes=tuple(said)))
        try:
            effective = plan_of(Document(tree, {}, plan.name))
        except PlanError as error:
            raise PlanError(
                f"the plan is not valid after amendment {applied.amendment.id}: {error.problem}",
                where=Where(file=applied.source.name, field=error.where.field),
                expected=error.expected,
                next_step="Correct the amendment; a frozen one needs another amendment after it.",
            ) from error
    return EffectivePlan(original, effective, plan, tuple(replayed), changed, document.notices)


def _in_order(plan: Source, plan_id: str, amendments: Sequence[Source]) -> list[Applied]:
    waiting: dict[str, Applied] = {}
    for source in amendments:
        amendment = read_amendment(source.data, source.name)
        if amendment.plan != plan_id:
            raise PlanError(
                "an amendment to another plan",
                where=Where(file=source.name, field="plan"),
                expected=plan_id,
                found=amendment.plan,
            )
        if amendment.amends in waiting:
            raise PlanError(
                f"two amendments ({waiting[amendment.amends].amendment.id} and {amendment.id}) amend the same parent",
                where=Where(file=source.name, field="amends"),
                expected="a chain: each amendment names the one before it",
                found=amendment.amends,
            )
        waiting[amendment.amends] = Applied(amendment, source)
    ordered: list[Applied] = []
    parent = plan.digest
    while parent in waiting:
        ordered.append(waiting.pop(parent))
        parent = ordered[-1].source.digest
    if waiting:
        orphan = next(iter(waiting.values()))
        raise PlanError(
            f"amendment {orphan.amendment.id} amends something that is not here",
            where=Where(file=orphan.source.name, field="amends"),
            expected=f"the digest of the plan or of an amendment in the chain, next: {parent}",
            found=orphan.amendment.amends,
            next_step="Check that the parent's bytes did not change and that no amendment is missing.",
            code="orphan-amendment",
        )
    return ordered


def _apply(tree: Tree, change: Change, where: Where) -> None:
    *above, last = change.field.split("/")
    here: Any = tree
    for depth, part in enumerate(above):
        here = _child(
            here, part, change.field, "/".join(above[: depth + 1]), where, create=change.op == "add"
        )
    if not isinstance(here, dict | list):
        raise PlanError(
            f"{change.field} lies inside a single value", where=where, expected="a path into the plan"
        )
    exists = (
        last in here
        if isinstance(here, dict)
        else isinstance(here, list) and _position(last) and int(last) < len(here)
    )
    if isinstance(here, list):
        key: Any = int(last) if exists else None
        if change.op == "add" and last == "-":
            here.append(_text(change.value))
            return
    else:
        key = last
    if change.op == "add" and exists:
        raise PlanError(
            f"{change.field} exists already", where=where, expected="op: replace to change it", found="add"
        )
    if change.op != "add" and not exists:
        there = ", ".join(here) if isinstance(here, dict) else f"{len(here)} entries"
        raise PlanError(
            f"{change.field} does not exist", where=where, expected=f"one of: {there}", found=last
        )
    if key is None:
        raise PlanError(
            f"{change.field} is not a position of the list", where=where, expected="a number, or - to append"
        )
    if change.op == "remove":
        del here[key]
    else:
        here[key] = _text(change.value)


def _value_at(tree: Tree, path: str) -> Any:  # noqa: ANN401
    here: Any = tree
    for part in path.split("/"):
        if isinstance(here, dict):
            here = here.get(part)
        elif isinstance(here, list) and _position(part) and int(part) < len(here):
            here = here[int(part)]
        else:
            return None
    return here


def _in_words(change: Change, before: object) -> str:
    text = f"{change.op} {change.field}"
    if isinstance(before, str) and len(before) <= _SHOWN:
        text += f", was {before}"
    if isinstance(change.value, str) and len(change.value) <= _SHOWN:
        text += f", now {change.value}"
    return text


def _position(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= 9


def _child(here: Any, part: str, field_name: str, so_far: str, where: Where, *, create: bool) -> Any:  # noqa: ANN401
    if isinstance(here, dict):
        if part not in here and create:
            here[part] = {}
        if part in here:
            return here[part]
    elif isinstance(here, list) and _position(part) and int(part) < len(here):
        return here[int(part)]
    raise PlanError(
        f"{field_name}: {so_far} does not exist in the plan", where=where, expected="a path into the plan"
    )


def _text(value: Any) -> Any:  # noqa: ANN401
    """A private copy: the amendment's own values stay untouched by later changes."""
    return copy.deepcopy(value)
