"""Several authorities, one proven time: the quorum over operators.

An operator is who stands behind an anchor. Two units under one root, a token given twice and two tokens of one
key are one operator and count once, with the earliest token. Tokens that fail are reported and are no veto:
anyone can add a bad file to a folder. A demonstration token never counts, nor
one whose accuracy is wider than the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from prereg_kit.errors import TimestampError, UsageError
from prereg_kit.evidence.token.proof import Proof, utc
from prereg_kit.evidence.token.reason import Finding

#: Operators that disagree by more than this are reported.
SKEW_LIMIT = timedelta(minutes=10)

Result = Proof | TimestampError


class QuorumError(TimestampError):
    """Fewer operators than asked for proved anything. `counted` of `required` did; `findings` say why."""

    code = "quorum"
    verdict: ClassVar[str] = "reject"

    def __init__(self, counted: int, required: int, findings: tuple[Finding, ...]) -> None:
        self.reason = "quorum"
        self.counted = counted
        self.required = required
        self.findings = findings
        reasons = "; ".join(finding.message for finding in findings)
        super().__init__(
            "too few independent authorities" + (f" ({reasons})" if reasons else ""),
            expected=f"{required} operators",
            found=counted,
            next_step="`prereg stamp` asks further authorities for the frozen document.",
        )


@dataclass(frozen=True)
class QuorumProof:
    """The time that `required` operators agree on.

    Attributes:
        time: the required-th smallest of the counted tokens' latest times (genTime plus accuracy or 60 s): by
            then at least `required` operators had seen the digest. With 2 of 2 it is the later one.
        required: k.
        counted: operator name -> its earliest token, in order of their latest time.
        warnings: skew, tokens that did not count and why.
        protected_until: until when at least `required` of the counted tokens still protect by themselves.
    """

    time: datetime
    required: int
    counted: Mapping[str, Proof]
    warnings: tuple[Finding, ...]
    protected_until: datetime

    def to_json(self) -> dict[str, Any]:
        """Strings and numbers only."""
        return {
            "time": utc(self.time),
            "required": self.required,
            "counted": {name: utc(proof.latest) for name, proof in self.counted.items()},
            "protected_until": utc(self.protected_until),
            "warnings": [finding.to_json() for finding in self.warnings],
        }


def quorum(
    results: Sequence[Result | tuple[str, Result]], *, k: int = 2, operators: Mapping[str, str] | None = None
) -> QuorumProof:
    """Combine what `verify` said of several tokens of one document.

    Args:
        results: proofs and errors, each alone or with a name for messages, such as the file's.
        k: how many operators are required, at least 1.
        operators: SHA-256 fingerprint of an anchor -> operator; anchors not in it stand for themselves by
            their key, so that a root and its re-issue are one operator.

    Raises:
        QuorumError: fewer than `k` operators.
        UsageError: `k` under 1, or proofs of different digests of one algorithm (not one document).
    """
    if k < 1:
        raise UsageError("a quorum needs at least one operator", found=k)
    findings: list[Finding] = []
    earliest: dict[str, Proof] = {}
    signer_of: dict[str, str] = {}
    imprints: dict[str, str] = {}
    named = [
        item if isinstance(item, tuple) else (f"token {index}", item) for index, item in enumerate(results, 1)
    ]
    for name, result in named:
        if not isinstance(result, Proof):
            findings.append(Finding("not_counted", f"{name}: {result.problem}"))
        elif result.demo:
            findings.append(Finding("demo_not_counted", f"{name}: a demonstration token never counts"))
        elif result.wide:
            findings.append(
                Finding(
                    "wide_not_counted",
                    f"{name}: its accuracy of {result.accuracy} is too wide to count as a time",
                )
            )
        elif imprints.setdefault(result.imprint_algorithm, result.imprint_hex) != result.imprint_hex:
            raise UsageError("the tokens stamp different documents", found=name)
        else:
            alone = f"{result.anchor_subject} (key {result.anchor_key_sha256[:16]})"
            operator = (operators or {}).get(result.anchor_fingerprint, alone)
            operator = signer_of.setdefault(result.tsa.key_sha256, operator)
            if operator in earliest:
                findings.append(
                    Finding("same_operator", f"{name}: a further token of {operator} does not count again")
                )
            if operator not in earliest or result.latest < earliest[operator].latest:
                earliest[operator] = result
    if len(earliest) < k:
        raise QuorumError(len(earliest), k, tuple(findings))
    counted = dict(sorted(earliest.items(), key=lambda item: (item[1].latest, item[0])))
    latest = [proof.latest for proof in counted.values()]
    spread = max(proof.gen_time for proof in counted.values()) - min(
        proof.gen_time for proof in counted.values()
    )
    if spread > SKEW_LIMIT:
        findings.append(Finding("skew", f"the authorities' times lie {spread} apart, more than {SKEW_LIMIT}"))
    ends = sorted((proof.protected_until for proof in counted.values()), reverse=True)
    return QuorumProof(
        time=latest[k - 1], required=k, counted=counted, warnings=tuple(findings), protected_until=ends[k - 1]
    )
