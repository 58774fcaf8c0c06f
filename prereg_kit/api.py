"""The library's front door, for notebooks and scripts: frames or paths in, verdicts out.

from prereg_kit import Plan, check, decide, load_plan
plan = load_plan("plan.yaml")
decide(plan, {"episodes": frame})            # displays as a table in a notebook
"""

from __future__ import annotations

from collections import Counter
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
        """Each hypothesis and reading in a row: outcome, what qualifies it, estimate, both intervals, rule, remarks."""
        import pandas as pd

        from prereg_kit.report.notebook import frame_rows

        return pd.DataFrame(frame_rows(self.verdicts)).set_index("hypothesis")

    def __repr__(self) -> str:
        counts = Counter(verdict.outcome for verdict in self.verdicts.hypotheses.values())
        found = ", ".join(f"{number} {outcome}" for outcome, number in counts.items()) or "no hypotheses"
        frozen = "frozen" if self.verdicts.plan.frozen else "not frozen"
        return f"<Result of plan {self.verdicts.plan.id!r} ({frozen}): {found}>"

    def _repr_html_(self) -> str:
        """The outcomes for a notebook, with the banners and what qualifies each outcome; every text is escaped."""
        from prereg_kit.report.notebook import html_table

        return html_table(self.verdicts)


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
