"""What a record repeats of its tokens, and how its own clock compares with theirs.

freeze.json repeats a token's time, policy and serial number for a reader, and the README's commands use the time. The
token is what counts, so a record that quotes it wrongly is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from prereg_kit.evidence.archive.record import FreezeRecord, StampRecord, moment, rfc3339
from prereg_kit.evidence.folder.report import StampReport
from prereg_kit.evidence.token import Proof

#: `frozen_at` may lie this far before the first token without a line: a freeze is often stamped the next morning.
STAMPED_SOON = timedelta(days=1)
#: `frozen_at` may lie this far after the first token: clocks of machines are off by minutes.
CLOCK_ERROR = timedelta(minutes=10)


def misquoted(stamp: StampRecord, proof: Proof) -> str:
    """What the record says otherwise than the token, as a sentence; empty if nothing."""
    accuracy = None if proof.accuracy is None else proof.accuracy.total_seconds()
    quoted = (
        ("time", stamp.gen_time, rfc3339(proof.gen_time)),
        ("policy", stamp.policy, proof.policy),
        ("serial number", stamp.serial, f"{proof.serial:x}"),
        ("accuracy in seconds", stamp.accuracy_s, accuracy),
    )
    for what, recorded, found in quoted:
        if recorded is not None and recorded != found:
            return f"freeze.json gives the token's {what} as {recorded}, and the token says {found}"
    return ""


def clock_notes(record: FreezeRecord, stamps: Sequence[StampReport]) -> tuple[str, ...]:
    """A line if `frozen_at`, this machine's clock, is far from the earliest accepted token."""
    proven = [stamp.proof for stamp in stamps if stamp.proof is not None and not stamp.proof.wide]
    if not proven:
        return ()
    first, frozen = min(proven, key=lambda proof: proof.gen_time), moment(record.frozen_at)
    apart = first.gen_time - frozen
    if apart > STAMPED_SOON:
        return (
            f"frozen_at ({record.frozen_at}) lies {_span(apart)} before the first token ({rfc3339(first.gen_time)}): "
            "only the owner's clock says so, and nothing vouches for the time before the token",
        )
    if frozen - first.latest > CLOCK_ERROR:
        return (
            f"frozen_at ({record.frozen_at}) lies {_span(-apart)} after the first token "
            f"({rfc3339(first.gen_time)}), which stamps these bytes: the owner's clock was wrong, or the record was "
            "edited",
        )
    return ()


def _span(length: timedelta) -> str:
    minutes = length.total_seconds() / 60
    if minutes < 120:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 2880 else f"{minutes / 1440:.0f} days"
