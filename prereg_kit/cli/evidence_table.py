"""The table of `verify-timestamps` for a person: who vouches for what, since when, until when, and what is open.

Names come from records and tokens that anybody can write: they are shown as text, never as markup or control.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from prereg_kit.evidence.folder import DocumentReport, StampReport
from prereg_kit.foundation.visible import one_line, visible

STYLES = {
    "protected": "green",
    "demo": "yellow",
    "not stamped": "yellow",
    "not checked": "yellow",
    "lapsed": "red",
    "gap": "red",
    "below quorum": "red",
    "altered": "bold red",
}
MEANING = {
    "protected": "a quorum of operators saw these bytes by the time shown",
    "demo": "stamped by the demo authority alone: no evidence",
    "not stamped": "frozen by its owner alone: nobody vouches for the time",
    "not checked": "an anchor is missing: see `prereg trust`",
    "lapsed": "was protected; certificates or algorithms have ended since",
    "gap": "renewed too late: nothing vouches for the time between",
    "below quorum": "fewer operators vouch for it than asked for",
    "altered": "its parts do not belong together: see the problems",
}


def _text(words: object, style: str = "") -> Text:
    return Text(one_line(visible(str(words))), style=style)


def _when(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%SZ") if moment else "-"


def _who(report: DocumentReport) -> str:
    strength = f"{len(report.counted)} of {report.required}"
    return f"{strength}: {', '.join(report.counted)}" if report.counted else strength


def _stamp_line(stamp: StampReport) -> str:
    if stamp.proof is None:
        claimed = f", claims {_when(stamp.claimed)}" if stamp.claimed else ""
        return f"{stamp.operator}: {stamp.verdict} ({stamp.reason}){claimed}"
    accuracy = stamp.proof.accuracy
    within = (
        "accuracy not stated, 60 s assumed" if accuracy is None else f"within {accuracy.total_seconds():g} s"
    )
    demo = "DEMO, never counted; " if stamp.demo else ""
    if stamp.verdict == "bound":
        return f"{stamp.operator}: {demo}bound ({stamp.reason}): {stamp.problem}"
    words = f"{stamp.operator}: {demo}{_when(stamp.proof.gen_time)} ({within}) by {stamp.proof.tsa.subject}"
    return words if stamp.demo else f"{words}; protects until {_when(stamp.proof.protected_until)}"


def _details(report: DocumentReport, console: Console) -> None:
    console.print(
        _text(str(report.folder), "bold") + Text(f"  {report.kind}  sha256 {report.sha256 or '-'}"),
        soft_wrap=True,
    )
    lines = [(_stamp_line(stamp), "") for stamp in report.stamps]
    for stamp in (*report.stamps, *(stamp for level in report.renewals for stamp in level)):
        if stamp.proof is not None and not stamp.demo:
            pinned = f"anchor {stamp.proof.anchor_fingerprint} pinned in {stamp.anchor_origin}"
            lines.append((f"{stamp.operator}: {pinned}", "dim"))
        lines += [
            (f"{stamp.operator}: {o.program} says {o.answer} ({o.said})", "dim") for o in stamp.opinions
        ]
    for number, level in enumerate(report.renewals, 1):
        lines += [(f"renewal {number}: {_stamp_line(stamp)}", "") for stamp in level]
    lines += [(f"problem: {problem}", "red") for problem in report.problems]
    lines += [(f"not checked: {item}", "yellow") for item in report.not_checked]
    lines += [(f"note: {note}", "") for note in report.notes]
    for words, style in lines:
        console.print(Padding(_text(words, style), (0, 0, 0, 4)))


def print_reports(reports: Sequence[DocumentReport], at: datetime) -> None:
    """Print banners, one row per document, the details, and the meaning of each status that occurs.

    Args:
        reports: at least one.
        at: the time at which protection was judged.
    """
    console = Console(highlight=False)
    for label in sorted({label for report in reports for label in report.labels}):
        console.print(_text(f"! {label}", "bold yellow"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("Document", "Status", "Operators", "Proven by", "Protected until"):
        table.add_column(heading, overflow="fold")
    for report in reports:
        table.add_row(
            _text(report.id),
            _text(report.status, STYLES[report.status]),
            _text(_who(report)),
            _text(_when(report.proven_time)),
            _text(_when(report.protected_until)),
        )
    console.print(table)
    for report in reports:
        _details(report, console)
    console.print()
    counts = Counter(report.status for report in reports)
    for status, number in counts.items():
        console.print(_text(f"{number} {status}: {MEANING[status]}", STYLES[status]))
    console.print(
        _text(f"Judged at {_when(at)}, offline. Proven by: the document existed at the latest then.")
    )
