"""The registers that plans read: format names, columns and keys, and the rows of the index of runs. Pure values.

A register is a table. Its format stands in the Parquet file's metadata under the key `format`, for instance
`prereg.episodes/1`; an unknown major version is refused. Columns beyond those listed are welcome. A table
without a format (plain Parquet, CSV, a data frame) is read by the same rules with the columns it has.

The key of a register is what tells its rows apart, without what was measured and without `run_id`. A column that is a
`key` here identifies; a `value` was measured; a `detail` describes and is never compared. Columns that no
format lists identify when they hold text or whole numbers, and are values when they hold fractions or truth
values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prereg_kit.errors import RegisterError, Where

FORMAT_KEY = "format"

ColumnType = Literal[
    "text", "integer", "boolean", "number", "texts", "integers", "booleans", "numbers", "files"
]
Role = Literal["key", "value", "detail"]
RunStatus = Literal["completed", "failed", "running"]


@dataclass(frozen=True)
class Column:
    """One column: `required` files carry it; `nullable` columns may lack a value in a row."""

    name: str
    type: ColumnType
    role: Role
    doc: str
    required: bool = True
    nullable: bool = False


@dataclass(frozen=True)
class RegisterFormat:
    """A kind of register at one major version."""

    kind: str
    major: int
    doc: str
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        """The text that stands in the file's metadata."""
        return f"prereg.{self.kind}/{self.major}"

    def column(self, name: str) -> Column | None:
        """The column of that name, or None where the format does not list it."""
        return next((column for column in self.columns if column.name == name), None)


def _run(*, arm_role: Role = "key") -> tuple[Column, ...]:
    return (
        Column(
            "run_id", "text", "detail", "the run that made the row; unique over all studies of a repository"
        ),
        Column("condition", "text", "key", "the condition of the run matrix"),
        Column("arm", "text", arm_role, "the arm, for instance paired or independent"),
        Column("seed", "integer", "key", "the training seed; runs of equal seed form a pair across arms"),
    )


def _optional(*columns: Column) -> tuple[Column, ...]:
    return tuple(Column(c.name, c.type, c.role, c.doc, required=False, nullable=True) for c in columns)


_STEP = Column("step", "integer", "key", "optimiser steps before this row was made; 0 is the base model")
_TASK = Column("task", "text", "key", "the task; text, also where it looks like a number")
_SPLIT = Column("split", "text", "key", "the pool of tasks: train, validation, test, diagnostic")
_REGIME = Column("regime", "text", "key", "the regime of evaluation, for instance clean or faults_p25")
_SCHEDULE = Column("schedule", "integer", "key", "the number of the fault schedule within its seed and task")

RUNS = RegisterFormat(
    "runs",
    1,
    "The index: one row per attempt at a run, of every study in the repository.",
    (
        Column("run_id", "text", "key", "the run"),
        Column("study", "text", "key", "the study that the run belongs to"),
        Column("plan_digest", "text", "detail", "SHA-256 of the original frozen plan's bytes, 64 hex digits"),
        Column("condition", "text", "detail", "the condition of the run matrix"),
        Column("arm", "text", "detail", "the arm"),
        Column("seed", "integer", "detail", "the training seed"),
        Column("attempt", "integer", "key", "1, 2, ...; attempts of one run_id continue each other"),
        Column("status", "text", "detail", "completed, failed or running"),
        Column("counted", "boolean", "detail", "false for a run that the study does not count"),
        Column(
            "exclusion_reason",
            "text",
            "detail",
            "the plan's reason where a run is not counted",
            nullable=True,
        ),
        Column("started_at", "text", "detail", "RFC 3339, UTC", nullable=True),
        Column("finished_at", "text", "detail", "RFC 3339, UTC", nullable=True),
        Column("accelerator", "text", "detail", "the device", nullable=True),
        Column("provider", "text", "detail", "who rents it out", nullable=True),
        Column("code_commit", "text", "detail", "the commit that ran", nullable=True),
        Column("config_digest", "text", "detail", "SHA-256 of the configuration's bytes", nullable=True),
        Column("stack", "text", "detail", "library versions", nullable=True),
        Column(
            "registers", "files", "detail", "the run's registers: kind, path from the index, sha256, rows"
        ),
    ),
)
EPISODES = RegisterFormat(
    "episodes",
    1,
    "One row per evaluation episode.",
    (
        *_run(),
        _STEP,
        _SPLIT,
        _REGIME,
        _TASK,
        _SCHEDULE,
        Column("true_success", "boolean", "value", "the grader's verdict, never corrupted"),
        *_optional(
            Column("observed_reward", "number", "value", "the reward a trainer would see, corrupted or not"),
            Column("calls", "integer", "value", "tool calls made"),
            Column("faults_drawn", "integer", "value", "faults that the schedule drew for the calls made"),
            Column("exposed", "boolean", "value", "at least one fault changed a result"),
            Column("ended_by", "text", "value", "what ended the episode"),
            Column("schedule_seed", "text", "detail", "the seed text of the schedule"),
            Column("budget", "integer", "detail", "the most calls that the task allows"),
            Column("faults_effective", "integer", "value", "faults that changed a result"),
            Column("faults_recovered", "integer", "value", "effective faults that were overcome later"),
            Column("over_budget", "boolean", "value", "the episode ended by a call beyond the budget"),
            Column("changed", "boolean", "value", "the world differs from its start"),
            Column("flipped", "boolean", "value", "the reported grade would turn a success into a failure"),
            Column("policy", "text", "detail", "what played"),
            Column("profile", "text", "detail", "the world and language of the tasks, with their digest"),
            Column("noise", "text", "detail", "law version, rate, flip rate and digest of the fault weights"),
        ),
    ),
)
GROUPS = RegisterFormat(
    "groups",
    1,
    "One row per training group of G rollouts; lists have G entries, in slot order.",
    (
        *_run(),
        _STEP,
        Column("row", "integer", "key", "the group's position: step x prompts per step + place in the batch"),
        Column("task", "text", "detail", "the task that all rollouts of the group play"),
        Column("schedule_seeds", "texts", "value", "one per slot, also where all are equal"),
        Column("slots", "integers", "detail", "0 to G-1"),
        Column("true_outcomes", "booleans", "value", "the grader's verdicts"),
        Column("observed_rewards", "numbers", "value", "what the trainer saw"),
        *_optional(
            Column("advantages", "numbers", "value", "what the trainer used"),
            Column("importance_weights", "numbers", "value", "sequence weights, where the trainer had them"),
            Column("attempt", "integer", "detail", "the attempt at the run"),
        ),
        Column("all_correct", "boolean", "value", "every true outcome is a success"),
        Column("zero_variance", "boolean", "value", "all observed rewards are equal"),
        Column(
            "spurious", "boolean", "value", "all true outcomes are equal and the observed rewards are not"
        ),
    ),
)
LUCK = RegisterFormat(
    "luck",
    1,
    "One row per episode of a diagnostic table: several samples of the policy under each of several schedules.",
    (
        *_run(),
        _STEP,
        _TASK,
        _SCHEDULE,
        Column("sample", "integer", "key", "the number of the policy's sample under this schedule"),
        Column("outcome", "number", "value", "the true outcome, or a return"),
    ),
)
PROBE = RegisterFormat(
    "probe",
    1,
    "One row per probed checkpoint, level and estimator.",
    (
        Column("run_id", "text", "detail", "the run that was probed"),
        Column("checkpoint", "integer", "key", "the optimiser step of the checkpoint"),
        Column("estimator", "text", "key", "the estimator, for instance MC or SW"),
        *_optional(
            Column("condition", "text", "key", "the condition of the run matrix"),
            Column("arm", "text", "key", "the arm"),
            Column("seed", "integer", "key", "the training seed"),
            Column(
                "trajectory",
                "text",
                "key",
                "the trajectory that the checkpoint lies on; step 0 belongs to all",
            ),
            Column("level", "text", "key", "outcome or transition"),
            Column("left", "number", "value", "the left side of the condition, L"),
            Column("right", "number", "value", "the right side, R"),
            Column("trace_paired", "number", "value", "trace of the gradient covariance under pairing"),
            Column("trace_independent", "number", "value", "the same under independent schedules"),
            Column("noise", "number", "value", "the estimator's own standard error"),
            Column("ratio", "number", "value", "trace_paired over trace_independent"),
        ),
    ),
)
COUNTS = RegisterFormat(
    "counts",
    1,
    "Successes and episodes per cell, for published counts without rows: no task can be resampled.",
    (
        *_run(),
        Column("step", "integer", "key", "optimiser steps; 0 is the base model"),
        *_optional(
            Column("split", "text", "key", "the pool of tasks"),
            Column("regime", "text", "key", "the regime of evaluation"),
            Column("quantity", "text", "key", "what was counted"),
        ),
        Column("successes", "integer", "value", "how many succeeded"),
        Column("episodes", "integer", "value", "out of how many"),
        Column("source", "text", "detail", "where the figure was printed", required=False, nullable=True),
    ),
)
REPORTED = RegisterFormat(
    "reported",
    1,
    "Figures that were published and cannot be recomputed.",
    (
        Column("endpoint", "text", "key", "the endpoint's name in the plan"),
        Column("statistic", "text", "key", "estimate, lower or upper"),
        *_optional(
            Column("level", "text", "key", "the interval's level as printed, for instance 0.95"),
            Column("run_id", "text", "key", "the run"),
            Column("condition", "text", "key", "the condition"),
            Column("arm", "text", "key", "the arm"),
            Column("seed", "integer", "key", "the seed"),
            Column("trajectory", "text", "key", "the trajectory"),
            Column("checkpoint", "integer", "key", "the checkpoint"),
            Column("axis", "text", "key", "the point of an axis"),
        ),
        Column("value", "text", "value", "the figure as printed: a decimal, exact"),
        Column("source", "text", "detail", "where it was printed"),
    ),
)
FORMATS: dict[str, RegisterFormat] = {
    known.kind: known for known in (RUNS, EPISODES, GROUPS, LUCK, PROBE, COUNTS, REPORTED)
}
KINDS = tuple(FORMATS)

# Columns of the formats above keep their meaning in a table that names no format.
_LISTED = {
    column.name: column
    for known in reversed(FORMATS.values())
    if known is not RUNS
    for column in known.columns
}
_INDEXES = ("", "Unnamed: 0")  # what data frames leave in a file when their row numbers are written too
REPEATS = ("schedule", "sample", "slot", "repeat", "episode", "replicate")
"""Columns that number the repetitions inside a cell: averaged over without being asked."""
CONTEXTS = frozenset(
    {column.name for column in _LISTED.values() if column.role == "key"} - set(REPEATS)
    | {"eval_set", "dataset", "benchmark", "phase", "model"}
)
"""Columns whose values are different measurements: never averaged together without being asked."""


def role_of(name: str, type_: ColumnType | None, kind: str | None) -> Role:
    """Whether a column identifies a row, was measured, or only describes (see the module's text).

    Args:
        name: the column.
        type_: its type, None where unknown.
        kind: the register's declared kind, None for a table without a format.
    """
    known = FORMATS[kind].column(name) if kind in FORMATS else _LISTED.get(name)
    if known is not None and (name != "run_id" or kind in FORMATS):
        return known.role
    if name == "run_id" or name in _INDEXES or name.startswith("__index_level_"):
        return "detail"
    return "key" if type_ in ("text", "integer") else "value"


def format_of(text: str, source: str) -> RegisterFormat | None:
    """The format that a file's metadata names, or None where the name is not ours.

    Raises:
        RegisterError: one of our names with an unknown kind or major version.
    """
    if not text.startswith("prereg."):
        return None
    kind, _, major = text.removeprefix("prereg.").partition("/")
    known = FORMATS.get(kind)
    if known is None or major != str(known.major):
        raise RegisterError(
            "a register format that this version does not read",
            where=Where(file=source, field=FORMAT_KEY),
            expected=", ".join(each.name for each in FORMATS.values()),
            found=text,
            next_step="Install a newer prereg-kit, or export the register again.",
            code="unknown-format",
        )
    return known


@dataclass(frozen=True)
class Sibling:
    """A register that belongs to a run: `path` is relative to the index's folder, `sha256` is of its bytes."""

    kind: str
    path: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class RunRow:
    """One row of the index: an attempt at a run. Field meanings: see `RUNS`."""

    run_id: str
    study: str
    plan_digest: str
    condition: str
    arm: str
    seed: int
    attempt: int = 1
    status: RunStatus = "completed"
    counted: bool = True
    exclusion_reason: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    accelerator: str | None = None
    provider: str | None = None
    code_commit: str | None = None
    config_digest: str | None = None
    stack: str | None = None
    registers: tuple[Sibling, ...] = ()

    @property
    def identity(self) -> tuple[str, str, int]:
        """What no two rows of an index share."""
        return (self.study, self.run_id, self.attempt)
