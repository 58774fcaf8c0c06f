"""`prereg check`: whether a plan's rules can be decided, and how often they pass, before the freeze (`prereg.check/1`).

Three questions, each answered with a witness: can every rule be evaluated (dry runs, and the run matrix), do its
outcomes partition all possible registers, and how often would it pass under effects that somebody might believe in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from prereg_kit.decision.evaluator import Evaluator
from prereg_kit.decision.ledger import counted_runs
from prereg_kit.design import plots as figures
from prereg_kit.design.characteristics import Cell, Family, Rule, Setting, family
from prereg_kit.design.dry_run import failures
from prereg_kit.design.matrix_check import matrix_faults, planned_seeds
from prereg_kit.design.operating import (
    OperatingCharacteristics,
    largest_bound,
    operating_characteristics,
    rule_of,
)
from prereg_kit.design.partition import Partition, examine
from prereg_kit.design.spread import read_pilot, spread_of
from prereg_kit.errors import PreregError
from prereg_kit.foundation.durable import write_bytes
from prereg_kit.foundation.html_table import safe, table
from prereg_kit.plan.criteria.measured import Paired, Units
from prereg_kit.plan.criteria.possible import Point, PossibleRegister
from prereg_kit.plan.criteria.rule import endpoints_of
from prereg_kit.plan.endpoint import Contrast, Mean, Selection
from prereg_kit.plan.fields import is_placeholder
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.plan.matrix import RunMatrix
from prereg_kit.plan.plan import Plan
from prereg_kit.registers.file import Registers
from prereg_kit.registers.formats import FORMATS
from prereg_kit.statistics.random_stream import StreamKey

FAMILY_STUDIES = 5_000


@dataclass(frozen=True)
class Finding:
    """A defect of a plan. `witness` is a possible register, or a piece of the plan, that shows it.

    Codes: not-evaluable, not-planned, pairs-unnamed, overlap, gap, unreachable, constant, sample-refused, placeholder,
    unit, unused, empty-key, disclosure, material.
    """

    code: str
    hypothesis: str | None
    message: str
    witness: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The finding as `prereg.check/1` carries it."""
        return {
            "code": self.code, "hypothesis": self.hypothesis, "witness": dict(self.witness), "message": self.message,
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Findings, operating characteristics per hypothesis, and notes that are no defects."""

    plan: str
    digest: str
    seeds: int
    findings: tuple[Finding, ...]
    characteristics: tuple[OperatingCharacteristics, ...]
    family: Family | None = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing stands against the freeze."""
        return not self.findings

    def with_findings(self, more: Sequence[Finding]) -> CheckReport:
        """The report with findings that only a repository can show."""
        return replace(self, findings=(*self.findings, *more))

    def __repr__(self) -> str:
        against = f"{len(self.findings)} findings" if self.findings else "nothing stands against the freeze"
        return f"<CheckReport of plan {self.plan!r}: {against}>"

    def _repr_html_(self) -> str:
        """The report for a notebook: findings, what each rule is worth, notes; every text is escaped."""
        said = f"Plan {self.plan}, sha256 {self.digest}"
        against = f"{len(self.findings)} findings" if self.findings else "Nothing stands against the freeze."
        parts = [f"<p>{safe(said)}</p><p><b>{safe(against)}</b></p>"]
        if self.findings:
            rows = [[[each.code], [each.hypothesis or "-"], [each.message]] for each in self.findings]
            parts.append(table(("finding", "hypothesis", "what stands against the freeze"), rows))
        if counted := [each for each in self.characteristics if each.counted]:
            parts.append(table(("hypothesis", "what its rule is worth"), _operating_rows(counted)))
        parts += [f"<p><small>note: {safe(note)}</small></p>" for note in self.notes]
        return "".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The `prereg.check/1` object."""
        return {
            "format": "prereg.check/1",
            "ok": self.ok,
            "plan": {"id": self.plan, "digest": self.digest},
            "seeds": self.seeds,
            "findings": [finding.to_json() for finding in self.findings],
            "characteristics": {each.hypothesis: each.rows() for each in self.characteristics},
            "worth": {each.hypothesis: _summary(each) for each in self.characteristics},
            "family": None
            if self.family is None
            else {
                "any_pass_without_effect": self.family.any_pass,
                "expected_passes": self.family.expected,
                "each": self.family.each,
            },
            "notes": list(self.notes),
        }


def _operating_rows(counted: Sequence[OperatingCharacteristics]) -> Iterator[list[list[str]]]:
    """For each rule its sentence and the share of studies that pass, at each effect and seed deviation tried."""
    for each in counted:
        cells = (
            f"true effect {cell.effect:+.3g}, sd {cell.seed_sd:.3g}: {cell.shares['pass']:.3f} pass"
            for cell in each.cells
        )
        yield [[each.hypothesis], [each.sentence, *cells]]


_KEPT = 4
_checked: list[tuple[EffectivePlan, CheckReport]] = []


def _check_once(effective: EffectivePlan) -> CheckReport:
    """The check of a plan alone; the report of the same plan is not computed twice in one process."""
    for known, report in _checked:
        if known.digest == effective.digest and known.plan == effective.plan:
            return report
    report = _examined(effective, None, None, None)
    _checked[:] = [(effective, report), *_checked[: _KEPT - 1]]
    return report


def check(
    effective: EffectivePlan,
    sample: Registers | None = None,
    *,
    pilot: Registers | None = None,
    sd: float | None = None,
) -> CheckReport:
    """Examine a plan's rules.

    Args:
        effective: the plan with its amendments.
        sample: a register on which the rules are tried as well; nothing is decided on it.
        pilot: a register that says how much pairs vary.
        sd: the standard deviation between pairs, above 0; it comes before the pilot's and the plan's.
    """
    if sample is None and pilot is None and sd is None:
        return _check_once(effective)
    return _examined(effective, sample, pilot, sd)


def _examined(
    effective: EffectivePlan, sample: Registers | None, pilot: Registers | None, sd: float | None
) -> CheckReport:
    plan = effective.plan
    seeds, notes = planned_seeds(plan)
    findings: list[Finding] = []
    bare = replace(
        effective, plan=plan.model_copy(update={"runs": RunMatrix()})
    )  # invented rows lack planned runs
    for name, hypothesis in plan.hypotheses.items():
        seen = set()
        for rule in plan.rules_of(name):
            for failure in failures(bare, rule, seeds):
                if failure.endpoint not in seen:
                    seen.add(failure.endpoint)
                    witness = {"endpoint": failure.endpoint, "rows": failure.variant}
                    message = f"cannot be evaluated on {failure.variant} rows: {failure.message}"
                    findings.append(Finding("not-evaluable", name, message, witness))
        findings += _matrix(plan, name)
        findings += _units(plan, name)
        findings += partition_findings(name, examine(hypothesis, plan.endpoints, seeds))
    said = list(notes)
    if effective.amendments:
        applied = ", ".join(each.amendment.id for each in effective.amendments)
        said.append(f"the rules are those in force after amendment {applied}")
    if sample is not None:
        on_sample = list(_on_sample(bare, sample))
        findings += on_sample
        if not on_sample:
            said.append(
                "every endpoint of every rule can be computed on the sample; nothing was decided on it"
            )
    findings += _placeholders(plan)
    findings += _loose_ends(plan)
    known = None
    if pilot is not None:
        read = endpoints_of(*(rule for name in plan.hypotheses for rule in plan.rules_of(name)))
        known = read_pilot(bare, pilot, read)
        said += known.notes
    valued: list[OperatingCharacteristics] = []
    said += _uncounted(plan)
    for name in plan.hypotheses:
        read = endpoints_of(*plan.hypotheses[name].rules().values())
        found = operating_characteristics(effective, name, seeds, spread_of(plan, read, sd, known))
        if isinstance(found, str):
            said.append(found)
        else:
            valued.append(found)
            said += [f"{name}: {line}" for line in _warnings(found)]
    claims = [each.hypothesis for each in valued if each.null == 0 and each.counted]
    together = _family(effective, claims, seeds)
    return CheckReport(
        plan.id, effective.digest, seeds, tuple(findings), tuple(valued), together, tuple(said)
    )


def _placeholders(plan: Plan) -> Iterator[Finding]:
    """Texts of `prereg new` that nobody has replaced: `<...>`."""
    texts: list[tuple[str | None, str, str]] = [(None, "title", plan.title), (None, "thesis", plan.thesis)]
    texts += [(name, "statement", hypothesis.statement) for name, hypothesis in plan.hypotheses.items()]
    texts += [
        (each.hypothesis, f"prediction {name}", each.statement) for name, each in plan.predictions.items()
    ]
    for name, where, text in texts:
        if is_placeholder(text):
            yield Finding(
                "placeholder",
                name,
                f"the {where} still reads {text!r}: say what you mean to find out",
                {"text": text},
            )


def _summary(each: OperatingCharacteristics) -> dict[str, Any]:
    return {
        "sentence": each.sentence, "unit": each.unit, "seed_sd": each.sd, "seed_sd_source": each.sd_source,
        "effect_of_80_percent_power": each.effect_80,
        "pairs_for_80_percent_power": [
            {"effect": effect, "pairs": pairs} for effect, pairs in each.pairs_80.items()
        ],
        "binding_clause": each.binding,
        "interval_level": None if each.actual_level is None else dict(
            zip(("nominal", "if_only_seeds_vary"), each.actual_level, strict=True)
        ),
    }  # fmt: skip


def _uncounted(plan: Plan) -> Iterator[str]:
    """Rules with named results of which none counts as a pass: every verdict of theirs will read inconclusive."""
    for name, hypothesis in plan.hypotheses.items():
        if hypothesis.outcomes is not None and "pass" not in hypothesis.counts_as.values():
            named = ", ".join(hypothesis.outcomes)
            yield f"{name}: no result ({named}) counts as a pass; `counts_as` says which do, else all are inconclusive"


def _warnings(each: OperatingCharacteristics) -> Iterator[str]:
    if each.actual_level is not None and each.actual_level[1] < each.actual_level[0] - 0.02:
        nominal, actual = each.actual_level
        share = f"{100 * actual:.0f} % of the time"
        yield f"its {100 * nominal:g} % interval covers {share} if nothing but seed pairs varies"


def _family(effective: EffectivePlan, names: list[str], seeds: int) -> Family | None:
    """The chance that any of the rules passes without any effect, each on an endpoint of its own."""
    plan = effective.plan
    if len(names) < 2:
        return None
    setting = Setting(StreamKey(plan.resampling.seed, effective.digest), FAMILY_STUDIES)
    bounds = {name: float(largest_bound(plan.hypotheses[name])) or 1.0 for name in names}
    rules = {name: _scaled(rule_of(plan.hypotheses[name]), bounds[name]) for name in names}
    return family(rules, setting, seed_sd=1.0, seeds=seeds)


def _scaled(rule: Rule, unit: float) -> Rule:
    """The rule on differences in its own unit, so that rules of different scales can stand in one family."""
    return lambda differences: rule(differences * unit)


def draw(report: CheckReport, folder: Path) -> Iterator[Path]:
    """Draw the pass probability of every hypothesis: a map over effect and seed sd, a curve over seed pairs.

    Raises:
        NotCheckedError: matplotlib is not installed.
        ArchiveError: a picture of that name exists.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for each in report.characteristics:
        pictures = {
            "map": figures.pass_map(each.cells, each.hypothesis, null=each.null),
            "seeds": figures.seed_curve(
                [*each.curve, *(cell for cell in each.cells if _on_curve(cell, each))], each.hypothesis
            ),
        }
        for kind, data in pictures.items():
            path = folder / f"{each.hypothesis}-{kind}.svg"
            write_bytes(path, data)
            yield path


def _on_curve(cell: Cell, each: OperatingCharacteristics) -> bool:
    known = {(other.effect, other.seed_sd) for other in each.curve}
    return (cell.effect, cell.seed_sd) in known


def _units(plan: Plan, name: str) -> Iterator[Finding]:
    """Means of true and false are proportions: another unit would print 0.05 percent for five points."""
    for endpoint_name in endpoints_of(*plan.rules_of(name)):
        endpoint = plan.endpoints[endpoint_name]
        if not isinstance(endpoint, Contrast | Mean) or endpoint.unit == "proportion":
            continue
        known = FORMATS.get(endpoint.register_)
        column = known.column(endpoint.value) if known else None
        if column is not None and column.type == "boolean":
            yield Finding(
                "unit", name, f"{endpoint_name} averages true and false: a proportion, not {endpoint.unit!r}",
                {"endpoint": endpoint_name, "unit": endpoint.unit},
            )  # fmt: skip


def _matrix(plan: Plan, name: str) -> Iterator[Finding]:
    """Endpoints that the plan's own matrix does not serve: their hypothesis could never be decided."""
    for fault in matrix_faults(plan, name):
        yield Finding(
            fault.code, name, f"{fault.endpoint} {fault.words}", {"endpoint": fault.endpoint, **fault.needs}
        )


def _loose_ends(plan: Plan) -> Iterator[Finding]:
    """Parts of the plan that name something which nothing reads, so that they would have no effect."""
    read = {e.register_ for e in plan.endpoints.values() if isinstance(e, Selection)}
    for kind, spec in plan.registers.items():
        if kind not in read:
            message = f"registers.{kind} has no effect: no endpoint reads a register {kind!r}"
            yield Finding("unused", None, message, {"register": kind, "read": sorted(read)})
        if spec.key is not None and not spec.key:
            message = f"registers.{kind}.key is empty: rows could not be told apart, nor repeated rows found"
            yield Finding("empty-key", None, message, {"register": kind})
    planned = {seed for _, _, seed in plan.runs.cells()} | {p for b in plan.runs.planned for p in b.pair}
    for item in plan.disclosures:
        if item.arm is not None and item.arm not in (plan.arms.treatment, plan.arms.reference):
            message = f"disclosure {item.id} names the arm {item.arm!r}, which the plan does not compare"
            yield Finding("disclosure", None, message, {"disclosure": item.id, "arm": item.arm})
        if item.seed is not None and planned and item.seed not in planned:
            message = f"disclosure {item.id} names the seed {item.seed}, which the plan does not plan"
            yield Finding("disclosure", None, message, {"disclosure": item.id, "seed": item.seed})


def partition_findings(name: str, partition: Partition) -> Iterator[Finding]:
    """The defects of a partition as findings, each with its witness."""
    for problem in partition.problems:
        witness = {} if problem.register is None else witness_of(problem.register)
        if problem.outcomes:
            witness = {**witness, "outcomes": list(problem.outcomes)}
        yield Finding(problem.code, name, problem.message + _at(witness), witness)


def witness_of(register: PossibleRegister) -> dict[str, Any]:
    """A possible register as JSON: the first contrast's difference and per-seed values, then every endpoint."""
    points = register.points
    shown: dict[str, Any] = {}
    for point in points.values():
        if point.mean is not None:
            shown = {"difference": float(point.mean), "per_seed": _numbered(point)}
            break
    if len(points) > 1:
        shown["endpoints"] = {
            name: {"value": None if point.mean is None else float(point.mean), "per_seed": _numbered(point)}
            for name, point in points.items()
        }
    ends = {
        f"{end} end at {float(level):g} of {name}": float(value)
        for name, point in points.items()
        for (end, level), value in point.ends.items()
    }
    return shown | ({"interval": ends} if ends else {})


def _numbered(point: Point) -> dict[str, float]:
    return {str(index): float(value) for index, value in enumerate(point.values)}


def _at(witness: Mapping[str, Any]) -> str:
    if "difference" not in witness:
        return ""
    seeds = ", ".join(f"{value:+.4g}" for value in witness["per_seed"].values())
    ends = "".join(f", {name} {value:+.4g}" for name, value in witness.get("interval", {}).items())
    return f", for instance at a difference of {witness['difference']:+.4g} (seeds {seeds}{ends})"


def _on_sample(effective: EffectivePlan, sample: Registers) -> Iterator[Finding]:
    """Every endpoint on the sample: a refusal is a finding, and so is a value that cannot vary."""
    try:
        runs = None if sample.runs is None else counted_runs(sample.runs, effective.plan.runs)
        evaluator = Evaluator(effective, sample, runs)
    except PreregError as error:
        yield Finding("sample-refused", None, str(error))
        return
    for name in effective.plan.hypotheses:
        for endpoint in endpoints_of(*effective.plan.rules_of(name)):
            try:
                measured = evaluator.measured(endpoint)
            except PreregError as error:
                yield Finding("sample-refused", name, str(error), {"endpoint": endpoint})
                continue
            value = constant(measured)
            if value is not None:
                message = (
                    f"{endpoint} is {float(value):g} in every cell of the sample: if it is constant by construction, "
                    "this rule can never change its answer"
                )
                yield Finding("constant", name, message, {"endpoint": endpoint, "difference": float(value)})


def constant(measured: object) -> Fraction | None:
    """The one value of a contrast or series of at least two cells that does not vary, else None."""
    if (
        isinstance(measured, Paired)
        and measured.cells.size > 1
        and measured.cells.min() == measured.cells.max()
    ):
        return measured.value
    if isinstance(measured, Units) and len(measured.values) > 1 and len(set(measured.values.values())) == 1:
        return measured.value
    return None
