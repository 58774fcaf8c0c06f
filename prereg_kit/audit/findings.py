"""The closed list of what an audit can say. Pure.

`violation`: something contradicts the frozen documents, or was altered. `warning`: a reader must know it to judge the
result. `note`: it stands on the record, and explains itself. Each code says what an innocent explanation would have to
show, because the audit accuses nobody: it names what does not fit together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

Severity = Literal["note", "warning", "violation"]

Code = Literal[
    # frozen documents
    "frozen-altered", "frozen-line-endings", "frozen-unreadable", "timestamp-rejected", "demo-as-evidence",
    "not-anchored", "frozen-time-contradicted", "plan-twin", "plan-replaced", "material-changed", "plan-withdrawn",
    # amendments
    "amendment-altered", "amendment-missing", "amendment-does-not-apply", "knowledge-understated",
    "amendment-follows-results", "amendment-flips-outcome", "amendment-time-contradicted",
    # the log
    "log-broken", "log-shortened", "log-times-disorder", "deviation-entered-late", "deviation", "disclosure",
    # runs
    "run-before-freeze", "run-before-freeze-disclosed", "run-missing", "run-not-run", "run-extra", "run-repeated",
    "rerun-after-completion", "run-excluded", "exclusion-unlisted", "run-times-impossible", "run-times-changed",
    "run-names-no-plan", "run-duplicated", "run-vanished", "run-status-changed", "failed-run-is-whole",
    "pair-on-two-stacks", "config-differs", "guard-off",
    # registers
    "register-altered", "register-absent", "register-unindexed", "schedule-shared", "unreadable-register",
    # decisions
    "decision-does-not-recompute", "decision-not-checked", "decision-of-older-registers",
    "decision-by-another-evaluator", "decision-unreadable", "report-differs",
    # history
    "history-unknown", "history-rewritten",
]  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What a code means: how severe it is, and what an innocent explanation would have to show."""

    severity: Severity
    innocent: str


_RESTORE = "the original bytes, and who changed the file by mistake: the recorded digest must match them"
_SAME = "that both hold the same rules for the same reason, for instance a copy for another language"

CODES: dict[Code, Kind] = {
    "frozen-altered": Kind("violation", _RESTORE),
    "frozen-line-endings": Kind(
        "warning", "a checkout that rewrites line endings; `git checkout` with `-text` restores the bytes"
    ),
    "frozen-unreadable": Kind("violation", "the folder as it was frozen, with its record"),
    "timestamp-rejected": Kind(
        "violation", "a token over these very bytes, from the authority that the record names"
    ),
    "demo-as-evidence": Kind("violation", "that nobody relied on the demo stamp as evidence of time"),
    "not-anchored": Kind(
        "note", "nothing: without a verified timestamp the time rests on the author's word and on git"
    ),
    "frozen-time-contradicted": Kind(
        "warning", "a clock that was wrong, or a stamp that was asked for later, with the reason"
    ),
    "plan-twin": Kind(
        "violation", _SAME + ", and which of them was meant to rule before the results were known"
    ),
    "plan-replaced": Kind(
        "violation", "that no result was known when the plan was frozen anew, with evidence from outside"
    ),
    "material-changed": Kind(
        "violation", "that what changed in the file has no part in the result, and the original file"
    ),
    "plan-withdrawn": Kind("note", "nothing: the author says so himself"),
    "amendment-altered": Kind("violation", _RESTORE),
    "amendment-missing": Kind("violation", "the amendment's folder, restored"),
    "amendment-does-not-apply": Kind(
        "violation", "the chain of amendments as it was, each naming the one before it"
    ),
    "knowledge-understated": Kind(
        "violation", "that the run times in the register are wrong, with evidence from outside"
    ),
    "amendment-follows-results": Kind("warning", "that the change does not depend on what the results were"),
    "amendment-flips-outcome": Kind(
        "violation", "that the change was decided before anybody had seen the result that it turns"
    ),
    "amendment-time-contradicted": Kind(
        "warning", "a clock that was wrong, or a stamp that was asked for later, with the reason"
    ),
    "log-broken": Kind("violation", "the log as it was written, for instance from git"),
    "log-shortened": Kind("violation", "the entries that were there before, restored"),
    "log-times-disorder": Kind(
        "warning", "two machines whose clocks differ, or an entry that was written up later"
    ),
    "deviation-entered-late": Kind(
        "warning", "a record from that time that shows the decision: a message, a commit, a ticket"
    ),
    "deviation": Kind("note", "nothing: it is on the record; the reader judges its weight"),
    "disclosure": Kind("note", "nothing: it is on the record"),
    "run-before-freeze": Kind(
        "violation", "that the run's results were not known at the freeze, in a disclosure"
    ),
    "run-before-freeze-disclosed": Kind("note", "nothing: it was disclosed"),
    "run-missing": Kind("warning", "why the run has no result, in the log of deviations"),
    "run-not-run": Kind("note", "nothing, if the study is still running; else why it was not done"),
    "run-extra": Kind("warning", "why it was made; it is not counted in any verdict"),
    "run-repeated": Kind(
        "violation", "which of the runs was planned as the one that counts, before either was seen"
    ),
    "rerun-after-completion": Kind("violation", "why a completed run was made again, and both results"),
    "run-excluded": Kind("note", "that the plan's reason holds for this run"),
    "exclusion-unlisted": Kind("violation", "a reason that the frozen plan lists"),
    "run-times-impossible": Kind("warning", "a clock that was set wrong or changed during the run"),
    "run-times-changed": Kind("violation", "which of the times is right, with the machine's own log"),
    "run-names-no-plan": Kind("violation", "the plan that the runs were made under, restored"),
    "run-duplicated": Kind(
        "violation", "two runs that cannot but give the same rows, for instance a policy without chance"
    ),
    "run-vanished": Kind(
        "violation", "why the run was taken out of the index; it must stand there, counted or excluded"
    ),
    "run-status-changed": Kind(
        "violation", "what happened to the run after it had been recorded as completed"
    ),
    "failed-run-is-whole": Kind(
        "warning", "what failed, although as many rows were written as in runs that count"
    ),
    "pair-on-two-stacks": Kind(
        "warning", "that the two machines give the same result, in a deviation that names the runs"
    ),
    "config-differs": Kind(
        "warning", "what differs between the configurations, and that it is not what is compared"
    ),
    "guard-off": Kind("warning", "a plan whose runs can be counted against the register"),
    "register-altered": Kind("violation", _RESTORE),
    "register-absent": Kind("warning", "where the file lies; its digest must match"),
    "register-unindexed": Kind("warning", "why rows of this study lie there without a run in the index"),
    "schedule-shared": Kind("warning", "that the design wants one schedule for several tasks"),
    "unreadable-register": Kind("warning", "the file as it was written"),
    "decision-does-not-recompute": Kind("violation", "the inputs and the version that give these verdicts"),
    "decision-not-checked": Kind("warning", "the registers that the decision names"),
    "decision-of-older-registers": Kind(
        "violation", "why the registers changed after the decision, and the earlier ones"
    ),
    "decision-by-another-evaluator": Kind("note", "nothing, if the verdicts recompute"),
    "decision-unreadable": Kind("warning", "the file as `prereg decide` wrote it"),
    "report-differs": Kind("violation", "the report as `prereg render` makes it from the verdicts beside it"),
    "history-unknown": Kind(
        "note", "nothing: earlier states cannot be told from here, which is not evidence of anything"
    ),
    "history-rewritten": Kind(
        "note", "nothing: a rebase is no fault; earlier states are unknown, not changed"
    ),
}

if missing := set(get_args(Code)) ^ set(
    CODES
):  # a code without its meaning stops every import, so tests cannot miss it
    raise AssertionError(f"codes and their meanings differ: {sorted(missing)}")

_ORDER: dict[Severity, int] = {"violation": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Finding:
    """One thing that an audit says.

    Attributes:
        code: of the closed list.
        subject: the plan, run, amendment, register or decision.
        message: one sentence, complete without the documentation.
        evidence: what stands where, name -> text.
        severity: the code's own, unless the detector knows why it weighs less here.
    """

    code: Code
    subject: str
    message: str
    evidence: dict[str, str] = field(default_factory=dict)
    weighs: Severity | None = None

    @property
    def severity(self) -> Severity:
        """How severe it is here."""
        return self.weighs or CODES[self.code].severity

    @property
    def innocent(self) -> str:
        """What an innocent explanation would have to show."""
        return CODES[self.code].innocent

    def to_json(self) -> dict[str, object]:
        """One entry of `prereg.audit/1`."""
        return {
            "code": self.code,
            "severity": self.severity,
            "subject": self.subject,
            "message": self.message,
            "evidence": self.evidence,
            "innocent_explanation": self.innocent,
        }


def in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    """Without repeats: the severest first, then by code and subject."""
    unique = {(f.code, f.subject, f.message): f for f in findings}
    return tuple(sorted(unique.values(), key=lambda f: (_ORDER[f.severity], f.code, f.subject, f.message)))
