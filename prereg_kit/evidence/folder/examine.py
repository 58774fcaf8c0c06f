"""The judge of frozen folders: bytes, tokens, quorum and renewals, offline, with the anchors of a trust store."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from prereg_kit.errors import ArchiveError, DocumentError, NotCheckedError, PreregError, TimestampError
from prereg_kit.evidence.archive.load import load_frozen, read_file, read_record
from prereg_kit.evidence.archive.manifest import read_lines
from prereg_kit.evidence.archive.record import FreezeRecord, StampRecord, rfc3339
from prereg_kit.evidence.folder.consistency import check_consistency
from prereg_kit.evidence.folder.files import leftovers, stamp_files
from prereg_kit.evidence.folder.quoted import clock_notes, misquoted
from prereg_kit.evidence.folder.renewed import Level, follow
from prereg_kit.evidence.folder.report import DocumentReport, StampReport, Status
from prereg_kit.evidence.frozen_plans import kind_of
from prereg_kit.evidence.second_opinion import openssl, rfc3161_client
from prereg_kit.evidence.token import (
    Anchors,
    Evidence,
    QuorumError,
    QuorumProof,
    TokenRejected,
    TokenUnsupported,
    certificates_in,
    describe,
    quorum,
    verify,
)
from prereg_kit.evidence.trust import Operator, TrustStore
from prereg_kit.plan.parts import TimestampPolicy

_RETROSPECTIVE = re.compile(rb"^kind:\s*[\"']?retrospective\b", re.MULTILINE)
_AFTERWARDS = (
    "the plan calls itself retrospective: its results existed, and no stamp makes it earlier than them"
)


@dataclass(frozen=True)
class Examiner:
    """The judge of frozen folders.

    Attributes:
        store: the pinned anchors.
        at: the time at which protection is judged; later tokens are of the future.
        required: distinct operators asked for; None takes each record's own number.
        second_opinion: ask openssl and rfc3161-client as well.
    """

    store: TrustStore
    at: datetime
    required: int | None = None
    second_opinion: bool = False

    def examine(self, folder: Path) -> DocumentReport:
        """The status of one frozen folder; nothing is raised for what is wrong with it."""
        try:
            record = read_record(folder)
        except ArchiveError as error:
            return DocumentReport(folder, folder.name, "altered", problems=(str(error),))
        report = DocumentReport(
            folder,
            record.id,
            "altered",
            kind=record.kind,
            document=record.document.path,
            sha256=record.document.sha256,
            frozen_at=record.frozen_at,
            required=self.required or record.quorum,
            notes=(*record.remarks, *leftovers(folder, record)),
        )
        try:
            data = load_frozen(folder).data
            if _RETROSPECTIVE.search(data) and kind_of(data) == "plan":
                report = replace(report, notes=(*report.notes, _AFTERWARDS))
            for ref in record.attachments:
                read_file(folder, ref)
        except ArchiveError as error:
            return replace(report, problems=(str(error),))
        found = check_consistency(folder, record, data)
        required, note = self._required(record, found.policy)
        report = replace(report, required=required, notes=(*report.notes, *note))
        limit = None if found.policy is None else found.policy.limit
        report = self._judged(folder, record, report, data, limit)
        report = replace(
            report,
            problems=(*found.problems, *report.problems),
            not_checked=(*found.not_checked, *report.not_checked),
        )
        if found.problems and report.status != "below quorum":
            return replace(report, status="altered")
        if found.not_checked and report.status == "protected":
            return replace(report, status="not checked")
        return report

    def _required(self, record: FreezeRecord, policy: TimestampPolicy | None) -> tuple[int, tuple[str, ...]]:
        """How many operators must agree, and a line where the wish of the call or of the record has no effect."""
        if policy is None:
            asked = self.required or record.quorum
            bare = self.required is None and record.quorum == 1
            note = "freeze.json alone asks for one operator, and no token covers it; --quorum N asks for more"
            return asked, (note,) if bare else ()
        least = max(policy.quorum, record.quorum)
        if self.required is not None and self.required < least:
            return least, (
                f"asked for {self.required} operator(s); the frozen plan asks for {least}, which stands",
            )
        return max(least, self.required or 0), ()

    def _judged(
        self,
        folder: Path,
        record: FreezeRecord,
        report: DocumentReport,
        data: bytes,
        limit: timedelta | None,
    ) -> DocumentReport:
        """The report with its stamps, renewals and the status that the tokens give."""
        required = report.required
        stamps = tuple(self._stamp(folder, stamp, data, limit) for stamp in record.stamps)
        report = replace(
            report,
            stamps=stamps,
            not_checked=_not_checked(stamps),
            notes=(*report.notes, *clock_notes(record, stamps)),
        )
        if not stamps:
            return replace(report, status="not stamped")
        problems = tuple(
            f"{s.operator}: {s.problem}" for s in stamps if s.verdict in ("reject", "altered", "bound")
        )
        levels, broken = self._levels(folder, record, limit)
        report = replace(
            report, problems=(*problems, *broken), renewals=tuple(level.stamps for level in levels)
        )
        try:
            first = self._quorum(stamps, required)
        except QuorumError as error:
            return self._short(report, error)
        report = replace(
            report,
            counted=tuple(first.counted),
            notes=(*report.notes, *(finding.message for finding in first.warnings)),
        )
        judge = functools.partial(self._quorum, required=required)
        return follow(report, record, first, levels, judge, self.at)

    def _anchors(self, stamp: StampRecord, folder: Path) -> tuple[Anchors, tuple[bytes, ...], str]:
        """The pinned anchors, further certificates, and where they come from."""
        if stamp.demo:
            if stamp.anchor is None:
                return Anchors(()), (), ""
            return Anchors.from_pem(read_file(folder, stamp.anchor)), (), "beside the document"
        operator = self._operator(stamp)
        return operator.pinned(), operator.intermediates(), operator.origin

    def _operator(self, stamp: StampRecord) -> Operator:
        return self.store.find(stamp.operator, stamp.url) or Operator(stamp.operator, url=stamp.url)

    def _stamp(self, folder: Path, stamp: StampRecord, data: bytes, limit: timedelta | None) -> StampReport:
        report = StampReport(stamp.operator, stamp.url, "altered", "altered", demo=stamp.demo)
        try:
            files = {ref.path: read_file(folder, ref) for ref in stamp_files(stamp)}
        except ArchiveError as error:
            return replace(report, problem=str(error))
        response, query = files[stamp.response.path], files[stamp.query.path]
        chain = files[stamp.chain.path] if stamp.chain else b""
        operator = self._operator(stamp)
        try:
            anchors, others, origin = self._anchors(stamp, folder)
        except PreregError as error:  # an anchor's file, not the token
            return replace(report, verdict="not checked", reason=error.code, problem=str(error))
        try:
            report = replace(report, claimed=describe(response).gen_time)
            proof = verify(
                response,
                data=data,
                query=query,
                anchors=anchors,
                untrusted=(*(certificates_in(chain) if chain else ()), *others),
                evidence=Evidence(
                    crls=tuple(files[r.file.path] for r in stamp.revocation if r.kind == "crl"),
                    ocsps=tuple(files[r.file.path] for r in stamp.revocation if r.kind == "ocsp"),
                ),
                now=self.at,
                allow_demo=True,
                accuracy_limit=operator.accuracy_limit(limit),
                allow_wide=True,
            )
        except TokenRejected as error:
            return replace(report, verdict="reject", reason=error.reason, problem=error.problem)
        except TokenUnsupported as error:
            return replace(report, verdict="unsupported", reason=error.reason, problem=error.problem)
        except NotCheckedError:
            return replace(report, verdict="not checked", reason="no-anchor", problem=operator.missing())
        except PreregError as error:
            return replace(report, verdict="reject", reason=error.code, problem=error.problem)
        if stamp.demo and not proof.demo:  # its anchor came from beside the document, which anybody can write
            problem = "recorded as a demo stamp, and the token carries no demo mark"
            return replace(report, verdict="reject", reason="demo-mismatch", problem=problem)
        wrong = misquoted(stamp, proof)
        if wrong:
            return replace(report, reason="record-mismatch", problem=wrong)
        report = replace(
            report, verdict="accept", reason="", claimed=proof.gen_time, proof=proof, demo=proof.demo
        )
        if proof.wide:
            bound = f"its accuracy of {proof.accuracy} is too wide to count; it shows only that the document existed by"
            report = replace(
                report, verdict="bound", reason="accuracy_wide", problem=f"{bound} {rfc3339(proof.latest)}"
            )
        if self.second_opinion:
            digest = bytes.fromhex(proof.imprint_hex)
            opinions = (
                openssl(
                    data,
                    query,
                    response,
                    anchors=anchors.certificates,
                    untrusted=chain,
                    at=proof.gen_time,
                ),
                rfc3161_client(digest, response, anchors=anchors.certificates, chain=proof.chain),
            )
            report = replace(report, opinions=opinions)
        return replace(report, anchor_origin=origin)

    def _quorum(self, stamps: Sequence[StampReport], required: int) -> QuorumProof:
        names: dict[str, str] = {}
        for operator in self.store.operators.values():
            with contextlib.suppress(PreregError):  # an unreadable anchor vouches for nobody
                names |= dict.fromkeys(operator.pinned().fingerprints, operator.name)
        results = [
            (stamp.operator, stamp.proof if stamp.proof else TimestampError(stamp.problem))
            for stamp in stamps
        ]
        return quorum(results, k=required, operators=names)

    def _short(self, report: DocumentReport, error: QuorumError) -> DocumentReport:
        """The status of a document that too few operators vouch for."""
        verdicts = [stamp.verdict for stamp in report.stamps]
        open_ = verdicts.count("not checked") + verdicts.count("unsupported")
        real = [stamp for stamp in report.stamps if stamp.verdict == "accept" and not stamp.demo]
        demo = any(stamp.proof and stamp.proof.demo for stamp in report.stamps)
        foreign = any(stamp.reason == "imprint_mismatch" for stamp in report.stamps)
        status: Status = "below quorum"
        if not real and (foreign or "altered" in verdicts):
            status = "altered"
        elif open_ and error.counted + open_ >= error.required:
            status = "not checked"
        elif demo and not real:
            status = "demo"
        counted = tuple(sorted({stamp.operator for stamp in real}))
        latest = max((stamp.proof.latest for stamp in real if stamp.proof), default=None)
        notes: tuple[str, ...] = (f"{error.counted} of {error.required} operators count",) if real else ()
        if real and latest is not None:
            notes += (f"the operators that count saw it by {rfc3339(latest)}",)
        return replace(report, status=status, counted=counted, notes=(*report.notes, *notes))

    def _levels(
        self, folder: Path, record: FreezeRecord, limit: timedelta | None
    ) -> tuple[list[Level], tuple[str, ...]]:
        """Every renewal with its list and stamps; an empty list for one that cannot be read."""
        levels, problems = [], []
        for number, renewal in enumerate(record.renewals, 1):
            level = Level({}, ())
            try:
                manifest = read_file(folder, renewal.manifest)
                stamps = tuple(self._stamp(folder, stamp, manifest, limit) for stamp in renewal.stamps)
                level = Level(read_lines(manifest, renewal.manifest.path), stamps)
            except (ArchiveError, DocumentError) as error:
                problems.append(f"renewal {number}: {error}")
            problems += [
                f"renewal {number}, {stamp.operator}: {stamp.problem}"
                for stamp in level.stamps
                if stamp.verdict in ("reject", "altered", "bound")
            ]
            levels.append(level)
        return levels, tuple(problems)


def _not_checked(stamps: Sequence[StampReport]) -> tuple[str, ...]:
    found = []
    for stamp in stamps:
        if stamp.verdict in ("not checked", "unsupported"):
            found.append(f"{stamp.operator}: {stamp.problem}")
        elif stamp.proof is not None and not stamp.proof.demo and stamp.proof.revocation == "not_checked":
            found.append(f"{stamp.operator}: revocation, for want of complete data")
    return tuple(found)
