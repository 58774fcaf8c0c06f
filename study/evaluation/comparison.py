"""Two recorded episodes of one task side by side: equal event keys in one line, and how far their fates agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from study.errors import ConfigError
from study.evaluation.recorded import RecordedCall, RecordedEpisode

FORMAT = "study.compare/1"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison.

    Attributes:
        left: a call of the first episode, None if only the second has it here.
        right: a call of the second.
        elsewhere: where the other episode met the same event, if not in this line: its call number.
    """

    left: RecordedCall | None
    right: RecordedCall | None
    elsewhere: int | None = None

    @property
    def diverges(self) -> bool:
        """The two sides differ: one is missing, or call, fault, status or reply are not equal."""
        one, two = self.left, self.right
        if one is None or two is None:
            return True
        return (one.arguments, one.drawn, one.status, one.reply) != (
            two.arguments, two.drawn, two.status, two.reply,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two episodes of one task.

    Attributes:
        left: the first.
        right: the second.
        rows: their calls, aligned.
        shared: event keys that both met.
        agreeing: of them, those whose draws gave the same fault or none.
        first: index of the first row that diverges, None if none does.
    """

    left: RecordedEpisode
    right: RecordedEpisode
    rows: tuple[Row, ...]
    shared: int
    agreeing: int
    first: int | None

    @property
    def score(self) -> float | None:
        """The alignment score, agreeing / shared, in 0..1; None where no event is shared."""
        return self.agreeing / self.shared if self.shared else None


def compare(left: RecordedEpisode, right: RecordedEpisode) -> Comparison:
    """Align two episodes.

    Calls are paired where their event keys are equal and come in the same order in both; calls that drew nothing are
    paired where tool and arguments are equal. An event that both met at places which cannot stand in one line
    keeps two lines, each naming the other.

    Raises:
        ConfigError: they are episodes of different tasks.
    """
    if (left.profile, left.task) != (right.profile, right.task):
        raise ConfigError(
            "the two episodes are of different tasks",
            expected=f"{left.profile} {left.task} twice",
            found=f"{right.profile} {right.task}",
        )
    rows = _rows(left.calls, right.calls)
    ours, theirs = _events(left.calls), _events(right.calls)
    shared = ours.keys() & theirs.keys()
    agreeing = sum(ours[event].drawn == theirs[event].drawn for event in shared)
    first = next((index for index, row in enumerate(rows) if row.diverges), None)
    return Comparison(left, right, rows, len(shared), agreeing, first)


def _events(calls: Sequence[RecordedCall]) -> dict[tuple[str, str, int], RecordedCall]:
    return {call.event: call for call in calls if call.event is not None}


def _key(call: RecordedCall) -> tuple[object, ...]:
    return call.event or ("no draw", call.tool, repr(call.arguments))


def _rows(left: Sequence[RecordedCall], right: Sequence[RecordedCall]) -> tuple[Row, ...]:
    ours, theirs = _events(left), _events(right)

    def alone(call: RecordedCall, others: dict[tuple[str, str, int], RecordedCall]) -> int | None:
        other = None if call.event is None else others.get(call.event)
        return None if other is None else other.number

    matcher = SequenceMatcher(None, list(map(_key, left)), list(map(_key, right)), autojunk=False)
    rows: list[Row] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            rows += [Row(one, two) for one, two in zip(left[a:b], right[c:d], strict=True)]
            continue
        rows += [Row(call, None, alone(call, theirs)) for call in left[a:b]]
        rows += [Row(None, call, alone(call, ours)) for call in right[c:d]]
    return tuple(rows)


def as_value(found: Comparison) -> dict[str, object]:
    """The comparison as values that JSON can carry: numbers of calls, not their texts."""
    return {
        "format": FORMAT,
        "task": found.left.task,
        "episodes": [_episode(found.left), _episode(found.right)],
        "shared_events": found.shared,
        "agreeing_events": found.agreeing,
        "alignment": found.score,
        "first_divergence": found.first,
        "lines": [
            {
                "left": row.left.number if row.left else None,
                "right": row.right.number if row.right else None,
                "event": list(event) if (event := (row.left or row.right or _NEVER).event) else None,
                "elsewhere": row.elsewhere,
                "diverges": row.diverges,
            }
            for row in found.rows
        ],
    }


def _episode(one: RecordedEpisode) -> dict[str, object]:
    return {
        "policy": one.policy,
        "regime": one.regime,
        "schedule": one.schedule,
        "schedule_seed": one.schedule_seed,
        "calls": one.calls_counted,
        "true_success": one.true_success,
        "world_changes": list(one.world_changes),
    }


_NEVER = RecordedCall(
    number=None, tool="", arguments=None, reply="", status="", drawn=None, effective=False, clock=None, remaining=0
)  # fmt: skip
