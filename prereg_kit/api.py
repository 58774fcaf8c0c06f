"""The library's front door, for notebooks and scripts: frames or paths in, verdicts out.

from prereg_kit import Plan, check, decide, load_plan
plan = load_plan("plan.yaml")
decide(plan, {"episodes": frame})            # displays as a table in a notebook
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prereg_kit.decision import decide as decision
from prereg_kit.decision.decide import Decided, Standing
from prereg_kit.errors import UsageError
from prereg_kit.evidence import frozen_plans as plan_archive
from prereg_kit.foundation.digest import sha256_bytes
from prereg_kit.operations import decide as deciding
from prereg_kit.plan import Plan
from prereg_kit.plan.history import EffectivePlan, Source, replay
from prereg_kit.registers.file import Registers, open_register

if TYPE_CHECKING:
    from prereg_kit.design.plan_check import CheckReport
    from prereg_kit.evidence.frozen_plans import LoadedPlan

PathLike = str | Path


class Result(Decided):
    """The verdicts as a notebook shows them; `to_frame()` gives the outcomes table as a pandas DataFrame."""

    def to_frame(self) -> Any:  # noqa: ANN401 - pandas is imported at the user's edge only
        """One row per hypothesis and reading: outcome, evidence, estimate, interval, rule."""
        import pandas as pd

        return pd.DataFrame(self._rows()).set_index("hypothesis")

    def _rows(self) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for name, verdict in self.verdicts.hypotheses.items():
            readings = {
                name: verdict,
                **{f"{name} ({key})": value for key, value in verdict.readings.items()},
            }
            for label, each in readings.items():
                rows.append(
                    {
                        "hypothesis": label,
                        "outcome": each.result or each.outcome,
                        "evidence": each.evidence,
                        "effect established": each.interval_excludes_zero,
                        "estimate": None if each.estimate is None else each.estimate.value,
                        "level": None if each.interval is None else each.interval.level,
                        "lower": None if each.interval is None else each.interval.lower,
                        "upper": None if each.interval is None else each.interval.upper,
                        "rule": each.rule,
                    }
                )
        return rows

    def _repr_html_(self) -> str:
        """The outcomes table for a notebook; every text is escaped."""
        rows = self._rows()
        cells = ["".join(f"<td>{html.escape(_shown(value))}</td>" for value in row.values()) for row in rows]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in (rows[0] if rows else ()))
        banners = "".join(f"<p><b>{html.escape(label)}</b></p>" for label in self.verdicts.labels)
        body = "".join(f"<tr>{line}</tr>" for line in cells)
        return f"{banners}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def load_plan(source: PathLike | bytes, root: PathLike | None = None) -> LoadedPlan:
    """A plan from a file, a frozen folder (amendments applied), or bytes.

    Raises:
        NotCheckedError: no such file.
        DocumentError, PlanError, ArchiveError: as the readers say.
    """
    if isinstance(source, bytes):
        effective = replay(Source(source, sha256_bytes(source), "<bytes>"))
        return plan_archive.LoadedPlan(effective, Path("<bytes>"), Path())
    return plan_archive.load(Path(source), None if root is None else Path(root))


def decide(
    plan: LoadedPlan | EffectivePlan | Plan | PathLike | bytes,
    registers: Mapping[str, Any] | Sequence[PathLike] | PathLike | Registers,
    *,
    root: PathLike | None = None,
) -> Result:
    """Decide a plan's hypotheses.

    Args:
        plan: a path, the file's bytes, what `load_plan` gives, or a `Plan` built in code (which has no frozen bytes:
            its canonical JSON is hashed, and the result is labelled as not frozen).
        registers: data frames by kind (`{"episodes": df}`), one path or several, or opened registers.
        root: the repository with frozen/ and amendments/.

    Raises:
        RegisterError, PlanError, DecisionError: as the parts say; nothing is decided then.
    """
    if hasattr(registers, "columns") and not isinstance(registers, Mapping):
        raise UsageError(
            "a data frame without its kind",
            expected='a mapping such as {"episodes": frame}',
            found="a data frame",
        )
    if isinstance(registers, Mapping):
        rows = Registers.from_frames(registers)
    elif isinstance(registers, Registers):
        rows = registers
    else:
        paths = [registers] if isinstance(registers, str | Path) else list(registers)
        loaded = _loaded(plan, root)
        digest = loaded.digest if isinstance(loaded, EffectivePlan) else loaded.effective.digest
        rows = open_register([Path(path) for path in paths], plan_digest=digest)
        return _decided(loaded, rows)
    return _decided(_loaded(plan, root), rows)


def check(
    plan: LoadedPlan | EffectivePlan | Plan | PathLike | bytes,
    sample: Mapping[str, Any] | Sequence[PathLike] | None = None,
) -> CheckReport:
    """Examine a plan's rules before the freeze: see `prereg check`.

    Args:
        plan: as for `decide`.
        sample: data frames by kind, or paths, on which the rules are tried as well.

    Raises:
        PlanError, DocumentError: the plan does not read.
    """
    from prereg_kit.design import plan_check

    loaded = _loaded(plan, None)
    effective = loaded if isinstance(loaded, EffectivePlan) else loaded.effective
    rows = None
    if sample is not None:
        rows = Registers.from_frames(sample) if isinstance(sample, Mapping) else open_register(list(sample))
    return plan_check.check(effective, rows)


def _loaded(
    plan: LoadedPlan | EffectivePlan | Plan | PathLike | bytes, root: PathLike | None
) -> LoadedPlan | EffectivePlan:
    if isinstance(plan, Plan):
        from prereg_kit.foundation.digest import canonical_json

        data = canonical_json(plan.model_dump(mode="json", by_alias=True, exclude_none=True))
        return EffectivePlan(plan, plan, Source(data, sha256_bytes(data), "<Plan>"))
    if isinstance(plan, str | Path | bytes):
        return load_plan(plan, root)
    if isinstance(plan, EffectivePlan | plan_archive.LoadedPlan):
        return plan
    raise UsageError(
        "not a plan", expected="a path, bytes, a Plan or a loaded plan", found=type(plan).__name__
    )


def _decided(loaded: LoadedPlan | EffectivePlan, rows: Registers) -> Result:
    if isinstance(loaded, EffectivePlan):
        rows = deciding.planned_only(rows, loaded)
        found = decision.decide(loaded, rows, runs=rows.runs, notes=rows.notes, standing=Standing())
    else:
        found = deciding.decide_loaded(loaded, rows)
    return Result(found.verdicts, found.curves)
