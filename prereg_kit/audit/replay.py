"""The verdicts under the plan as frozen and under each amendment, on the same registers, and what each one turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prereg_kit.decision.verdict import Outcome, Verdicts
from prereg_kit.errors import PreregError
from prereg_kit.evidence.frozen_plans import LoadedPlan
from prereg_kit.operations.decide import decide_loaded
from prereg_kit.plan.amendment import Known
from prereg_kit.plan.history import replay as replay_amendments
from prereg_kit.registers.file import Registers, open_register

FORMAT = "prereg.replay/1"


@dataclass(frozen=True)
class Version:
    """The plan with the first `count` amendments. `verdicts` is None where it cannot be decided: `problem` says why."""

    count: int
    name: str
    known: Known | None
    verdicts: Verdicts | None
    problem: str = ""


@dataclass(frozen=True)
class Flip:
    """An amendment changed what a hypothesis comes out as. `before` is None for a hypothesis that it added."""

    amendment: str
    known: Known
    hypothesis: str
    before: Outcome | None
    after: Outcome | None
    known_in_advance: bool

    def to_json(self) -> dict[str, object]:
        """One entry of `flips`."""
        return {**vars(self)}


@dataclass(frozen=True)
class Replay:
    """All versions of a plan, decided on the same registers."""

    plan: str
    digest: str
    versions: tuple[Version, ...]
    flips: tuple[Flip, ...]

    def to_json(self) -> dict[str, object]:
        """`prereg.replay/1`."""
        return {
            "format": FORMAT,
            "plan": self.plan,
            "digest": self.digest,
            "versions": [
                {
                    "version": version.name,
                    "amendments": version.count,
                    "known": version.known,
                    "outcomes": outcomes(version.verdicts),
                    "problem": version.problem or None,
                }
                for version in self.versions
            ],
            "flips": [flip.to_json() for flip in self.flips],
        }


def outcomes(verdicts: Verdicts | None) -> dict[str, Outcome]:
    """Hypothesis, or reading of one, to outcome."""
    found: dict[str, Outcome] = {}
    for name, verdict in () if verdicts is None else verdicts.hypotheses.items():
        found[name] = verdict.outcome
        found |= {f"{name} ({reading})": each.outcome for reading, each in verdict.readings.items()}
    return found


def version_of(loaded: LoadedPlan, count: int) -> LoadedPlan:
    """The plan with its first `count` amendments only."""
    kept = [applied.source for applied in loaded.effective.amendments[:count]]
    return replace(loaded, effective=replay_amendments(loaded.effective.source, kept))


def replay(loaded: LoadedPlan, registers: Sequence[Path]) -> Replay:
    """Decide a plan as frozen, then with each amendment added, on the same registers.

    An amendment whose author says that results had been seen, and that turns an outcome on evidence which existed
    already, is no new confirmation: its flips are marked `known_in_advance`.

    Raises:
        NotCheckedError, RegisterError: the registers cannot be opened.
    """
    versions: list[Version] = []
    flips: list[Flip] = []
    applied = loaded.effective.amendments
    for count in range(len(applied) + 1):
        amendment = applied[count - 1].amendment if count else None
        version = _decide(
            loaded,
            count,
            registers,
            amendment.id if amendment else "as frozen",
            amendment.known if amendment else None,
        )
        if amendment and versions:
            before, after = outcomes(versions[-1].verdicts), outcomes(version.verdicts)
            flips += [
                Flip(
                    amendment.id,
                    amendment.known,
                    name,
                    before.get(name),
                    after.get(name),
                    amendment.known == "results_seen",
                )
                for name in dict.fromkeys((*before, *after))
                if before.get(name) != after.get(name)
            ]
        versions.append(version)
    return Replay(loaded.effective.plan.id, loaded.effective.digest, tuple(versions), tuple(flips))


def _decide(
    loaded: LoadedPlan, count: int, registers: Sequence[Path], name: str, known: Known | None
) -> Version:
    try:
        rows: Registers = open_register(registers, plan_digest=loaded.effective.digest)
        verdicts = decide_loaded(version_of(loaded, count), rows).verdicts
    except PreregError as error:
        if not count:
            raise
        return Version(count, name, known, None, str(error))
    return Version(count, name, known, verdicts)
