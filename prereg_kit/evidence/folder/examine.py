"""The judge of frozen folders: bytes, tokens, quorum and renewals, offline, with the anchors of a trust store."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from prereg_kit.errors import ArchiveError, NotCheckedError, PreregError, TimestampError
from prereg_kit.evidence.archive.load import load_frozen, read_file, read_record
from prereg_kit.evidence.archive.manifest import read_lines
from prereg_kit.evidence.archive.record import FreezeRecord, StampRecord, rfc3339
from prereg_kit.evidence.folder.files import leftovers, stamp_files
from prereg_kit.evidence.folder.renewed import Level, follow
from prereg_kit.evidence.folder.report import DocumentReport, StampReport, Status
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
        required = self.required or record.quorum
        report = DocumentReport(
            folder,
            record.id,
            "altered",
            kind=record.kind,
            document=record.document.path,
            sha256=record.document.sha256,
            frozen_at=record.frozen_at,
            required=required,
            notes=(*record.remarks, *leftovers(folder, record)),
        )
        try:
            data = load_frozen(folder).data
            if record.kind == "plan" and _RETROSPECTIVE.search(data):
                report = replace(report, notes=(*report.notes, _AFTERWARDS))
            for ref in record.attachments:
                read_file(folder, ref)
        except ArchiveError as error:
            return replace(report, problems=(str(error),))
        stamps = tuple(self._stamp(folder, stamp, data) for stamp in record.stamps)
        report = replace(report, stamps=stamps, not_checked=_not_checked(stamps))
        if not stamps:
            return replace(report, status="not stamped")
        problems = tuple(f"{s.operator}: {s.problem}" for s in stamps if s.verdict in ("reject", "altered"))
        levels, broken = self._levels(folder, record)
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
        operator = self.store.find(stamp.operator, stamp.url) or Operator(stamp.operator, url=stamp.url)
        return operator.pinned(), operator.intermediates(), operator.origin

    def _stamp(self, folder: Path, stamp: StampRecord, data: bytes) -> StampReport:
        report = StampReport(stamp.operator, stamp.url, "altered", "altered", demo=stamp.demo)
        try:
            files = {ref.path: read_file(folder, ref) for ref in stamp_files(stamp)}
        except ArchiveError as error:
            return replace(report, problem=str(error))
        response, query = files[stamp.response.path], files[stamp.query.path]
        chain = files[stamp.chain.path] if stamp.chain else b""
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
            )
        except TokenRejected as error:
            return replace(report, verdict="reject", reason=error.reason, problem=error.problem)
        except TokenUnsupported as error:
            return replace(report, verdict="unsupported", reason=error.reason, problem=error.problem)
        except NotCheckedError:
            known = self.store.find(stamp.operator, stamp.url) or Operator(stamp.operator)
            return replace(report, verdict="not checked", reason="no-anchor", problem=known.missing())
        except PreregError as error:
            return replace(report, verdict="reject", reason=error.code, problem=error.problem)
        if stamp.demo and not proof.demo:  # its anchor came from beside the document, which anybody can write
            problem = "recorded as a demo stamp, and the token carries no demo mark"
            return replace(report, verdict="reject", reason="demo-mismatch", problem=problem)
        report = replace(
            report, verdict="accept", reason="", claimed=proof.gen_time, proof=proof, demo=proof.demo
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
        real = [stamp for stamp in report.stamps if stamp.proof and not stamp.proof.demo]
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

    def _levels(self, folder: Path, record: FreezeRecord) -> tuple[list[Level], tuple[str, ...]]:
        """Every renewal with its list and stamps; an empty list for one that cannot be read."""
        levels, problems = [], []
        for number, renewal in enumerate(record.renewals, 1):
            level = Level({}, ())
            try:
                manifest = read_file(folder, renewal.manifest)
                stamps = tuple(self._stamp(folder, stamp, manifest) for stamp in renewal.stamps)
                level = Level(read_lines(manifest, renewal.manifest.path), stamps)
            except ArchiveError as error:
                problems.append(f"renewal {number}: {error}")
            problems += [
                f"renewal {number}, {stamp.operator}: {stamp.problem}"
                for stamp in level.stamps
                if stamp.verdict in ("reject", "altered")
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
