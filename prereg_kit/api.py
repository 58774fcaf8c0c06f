"""The library's front door, for notebooks and scripts: frames or paths in, verdicts out.

    from prereg_kit import Plan, decide, load_plan
    plan = load_plan("plan.yaml")
    decide(plan, {"episodes": frame})            # displays as a table in a notebook
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prereg_kit import decision, deciding, plan_archive
from prereg_kit.decision import Decided, Standing
from prereg_kit.digest import sha256_bytes
from prereg_kit.errors import UsageError
from prereg_kit.history import EffectivePlan, Source, replay
from prereg_kit.plan import Plan
from prereg_kit.register_file import Registers, open_register

if TYPE_CHECKING:
    from prereg_kit.plan_archive import LoadedPlan

PathLike = str | Path


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
) -> Decided:
    """Decide a plan's hypotheses.

    Args:
        plan: a path, the file's bytes, what `load_plan` gives, or a `Plan` built in code (which has no frozen bytes:
            its canonical JSON is hashed, and the result is labelled as not frozen).
        registers: data frames by kind (`{"episodes": df}`), one path or several, or opened registers.
        root: the repository with frozen/ and amendments/.

    Raises:
        RegisterError, PlanError, DecisionError: as the parts say; nothing is decided then.
    """
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


def _loaded(
    plan: LoadedPlan | EffectivePlan | Plan | PathLike | bytes, root: PathLike | None
) -> LoadedPlan | EffectivePlan:
    if isinstance(plan, Plan):
        from prereg_kit.digest import canonical_json

        data = canonical_json(plan.model_dump(mode="json", by_alias=True, exclude_none=True))
        return EffectivePlan(plan, plan, Source(data, sha256_bytes(data), "<Plan>"))
    if isinstance(plan, str | Path | bytes):
        return load_plan(plan, root)
    if isinstance(plan, EffectivePlan | plan_archive.LoadedPlan):
        return plan
    raise UsageError("not a plan", expected="a path, bytes, a Plan or a loaded plan", found=type(plan).__name__)


def _decided(loaded: LoadedPlan | EffectivePlan, rows: Registers) -> Decided:
    if isinstance(loaded, EffectivePlan):
        return decision.decide(loaded, rows, runs=rows.runs, notes=rows.notes, standing=Standing())
    return deciding.decide_loaded(loaded, rows)
