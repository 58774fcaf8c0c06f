"""A starting plan for a table at hand: its columns proposed as arms, pairs, clusters and value, with the reasons.

Proposals are read off names and values, stand in the plan as comments, and decide nothing: a person reads them before
anything is frozen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from prereg_kit.errors import UsageError, Where
from prereg_kit.plan.fields import exact
from prereg_kit.registers.file.convert import Column, convert_csv
from prereg_kit.registers.formats import REPEATS

_ARMS = (
    "arm",
    "arms",
    "group",
    "treatment",
    "variant",
    "system",
    "method",
    "model",
    "condition",
    "policy",
    "agent",
)
_PAIRS = ("seed", "fold", "split_seed", "run", "trial")
_CLUSTERS = ("task", "task_id", "item", "question", "prompt", "example", "problem", "id", "subject", "case")
_VALUES = (
    "true_success",
    "success",
    "correct",
    "passed",
    "score",
    "accuracy",
    "reward",
    "value",
    "loss",
    "error",
)
_REFERENCES = (
    "reference",
    "control",
    "baseline",
    "base",
    "old",
    "independent",
    "standard",
    "none",
    "false",
    "0",
)
_MOST_PAIRS = 200
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True)
class Proposal:
    """A column for a field of the plan, and why; None where no column offers itself."""

    column: Column | None
    reason: str


def plan_for_csv(table: Path, plan_id: str) -> bytes:
    """A plan for a CSV table, as YAML.

    Args:
        table: the file; only its names and values are read, and no effect is computed.
        plan_id: the plan's id.

    Raises:
        NotCheckedError, RegisterError: as `convert_csv`.
        UsageError: no column has exactly two values, or none holds an outcome.
    """
    columns = convert_csv(table).columns
    arms = _arms(columns)
    if arms.column is None:
        raise UsageError(
            "no column with exactly two values, which could be the arms", where=Where(file=str(table)),
            found=[f"{c.name}: {len(_levels(c))} values" for c in columns][:20],
            next_step="Add a column that says which of two arms each row belongs to, or keep two arms of the table.",
        )  # fmt: skip
    value = _value([c for c in columns if c is not arms.column])
    if value.column is None:
        raise UsageError(
            "no column of truth values or numbers, which could be the outcome", where=Where(file=str(table)),
            found=[f"{c.name}: {c.type}" for c in columns][:20], next_step="Add the column of outcomes.",
        )  # fmt: skip
    rest = [c for c in columns if c is not arms.column and c is not value.column and c.name not in REPEATS]
    pairs = _pairs(rest, arms.column)
    clusters = _clusters([c for c in rest if c is not pairs.column])
    others = [
        c
        for c in rest
        if c is not pairs.column and c is not clusters.column and c.type in ("text", "integer")
    ]
    return _written(table, plan_id, (arms, value, pairs, clusters), others).encode()


def _levels(column: Column) -> list[str]:
    """The values of a column as a plan writes them, in order of appearance."""
    return list(
        dict.fromkeys(
            str(v).lower() if isinstance(v, bool) else str(v) for v in column.values if v is not None
        )
    )


def _named(columns: Sequence[Column], names: Sequence[str]) -> Column | None:
    """The first column with one of these names, in the order of the names."""
    return next((c for name in names for c in columns if c.name.lower() == name), None)


def _arms(columns: Sequence[Column]) -> Proposal:
    two = [c for c in columns if len(_levels(c)) == 2]
    found = _named(two, _ARMS)
    if found is not None:
        return Proposal(found, "two values, and a name that arms often have")
    texts = [c for c in two if c.type == "text"]
    return Proposal(texts[0] if texts else None, "the first column of texts with exactly two values")


def _value(columns: Sequence[Column]) -> Proposal:
    able = [c for c in columns if c.type in ("boolean", "number", "integer")]
    found = _named(able, _VALUES)
    if found is not None:
        return Proposal(found, "numbers or truth values, and a name that outcomes often have")
    first = next((c for kind in ("boolean", "number") for c in able if c.type == kind), None)
    return Proposal(first, "the first column of truth values, else of fractions")


def _pairs(columns: Sequence[Column], arms: Column) -> Proposal:
    def crossed(column: Column) -> bool:
        sides: dict[object, set[object]] = {}
        for arm, value in zip(arms.values, column.values, strict=True):
            sides.setdefault(value, set()).add(arm)
        return all(len(side) == 2 for side in sides.values()) and len(sides) > 1

    able = [c for c in columns if c.type in ("integer", "text") and crossed(c)]
    found = _named(able, _PAIRS)
    if found is not None:
        return Proposal(found, "every value occurs in both arms, and pairs often have this name")
    numbers = [c for c in able if c.type == "integer" and c.name.lower() not in _CLUSTERS]
    return Proposal(min(numbers, key=lambda c: len(_levels(c)), default=None),
                    "the whole numbers with the fewest values that occur in both arms")  # fmt: skip


def _clusters(columns: Sequence[Column]) -> Proposal:
    able = [c for c in columns if c.type in ("text", "integer") and len(_levels(c)) > 1]
    found = _named(able, _CLUSTERS)
    if found is not None:
        return Proposal(found, "a name that repeated units often have")
    texts = [c for c in able if c.type == "text"]
    return Proposal(max(texts, key=lambda c: len(_levels(c)), default=None), "the texts with the most values")


def _unit(column: Column) -> tuple[str, str]:
    """The unit that rows of this kind have, and why."""
    if column.type == "boolean" or set(_levels(column)) <= {"0", "1"}:
        return "proportion", "every row is true or false"
    numbers = [exact(v) for v in column.values if v is not None]
    if all(Fraction(0) <= number <= 1 for number in numbers):
        return "fraction", "every row is a number from 0 to 1"
    return "points", "name your unit; `range: [0, 100]` would refuse rows outside"


def _written(
    table: Path, plan_id: str, chosen: tuple[Proposal, Proposal, Proposal, Proposal], others: Sequence[Column]
) -> str:
    arms, value, pairs, clusters = chosen
    assert arms.column is not None
    assert value.column is not None
    levels = sorted(_levels(arms.column), key=lambda text: text.lower() in _REFERENCES)
    treatment, reference = map(_text, levels)
    unit, why = _unit(value.column)
    lines = [
        "format: prereg.plan/1            # always the first line",
        f"id: {_text(plan_id)}",
        "title: <the question, in one line>",
        "",
        f"# Proposed for {_comment(table.name)}. Only names and kinds of values were looked at: check each line.",
        "# A rule written after its results is no prediction: say so under `disclosures`, or plan for new runs.",
        "",
        f"# {_comment(arms.column.name)}: {arms.reason}. Differences are treatment minus reference.",
        f"arms: {{column: {_text(arms.column.name)}, treatment: {treatment}, reference: {reference}}}",
        "",
        f"# pairs: {_said(pairs)}",
        f"# clusters: {_said(clusters)}",
        f"resampling: {{pairs: {_name(pairs, 'seed')}, clusters: {_name(clusters, 'null')}}}",
        "",
        *_planned(pairs.column, treatment, reference),
        f"# {_comment(value.column.name)}: {value.reason}. {unit}: {why}.",
        "endpoints:",
        "  outcome:",
        "    register: episodes",
        f"    value: {_text(value.column.name)}",
        f"    unit: {unit}",
        *_other_columns(others),
        "",
        "hypotheses:",
        "  H1:",
        "    statement: <what you will have shown if this rule passes>",
        "    passes_if: {difference: {endpoint: outcome, above: 0}}   # or below: 0, where less is better",
    ]
    return "\n".join(lines) + "\n"


def _planned(pairs: Column | None, treatment: str, reference: str) -> list[str]:
    if pairs is None:
        return []
    found = _levels(pairs)
    if len(found) > _MOST_PAIRS:
        return [
            f"# {len(found)} values of {_comment(pairs.name)} are too many to list: add `runs.planned` yourself.",
            "",
        ]
    field = "seed" if pairs.name == "seed" else "pair"
    return [
        "# Every run that you intend to make; these are the pairs that the table has.",
        "runs:",
        "  planned:",
        f"    - {{arm: [{treatment}, {reference}], {field}: [{', '.join(map(_text, found))}]}}",
        "",
    ]


def _other_columns(others: Sequence[Column]) -> list[str]:
    """Columns with several values, which may be different measurements: a person has to say which."""
    lines = []
    for each in others:
        found = _levels(each)
        if len(found) > 1:
            shown = ", ".join(_comment(text) for text in found[:5]) + (", ..." if len(found) > 5 else "")
            lines.append(
                f"    # {_comment(each.name)} has {len(found)} values ({shown}): name one in `where`, or declare the "
                "register's `key` without it"
            )
    return lines


def _said(proposal: Proposal) -> str:
    if proposal.column is None:
        return "no column offers itself"
    return f"{_comment(proposal.column.name)}, {proposal.reason}"


def _name(proposal: Proposal, otherwise: str) -> str:
    return otherwise if proposal.column is None else _text(proposal.column.name)


def _text(text: str) -> str:
    """A text in YAML: bare where that is safe, else in double quotes, which JSON's are."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text)


def _comment(text: str) -> str:
    """A text of the table inside a comment: on one line, whatever it holds."""
    return text if text.isprintable() else json.dumps(text)
