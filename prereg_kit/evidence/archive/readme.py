"""README.md of a frozen folder: what is here, and the commands that check it without prereg_kit.

Pure: a record in, bytes out. Every shell word is quoted; the commands are run from inside the folder.

`verify-timestamps` writes both files again from the record and compares them, since they hold the commands that a
reviewer runs. Their text is therefore part of `prereg.freeze/1`: another wording would fail every older folder.
"""

from __future__ import annotations

import shlex

from prereg_kit.evidence.archive.record import FreezeRecord, StampRecord, moment

DEMO_BANNER = (
    "> **DEMO STAMP, NO EVIDENTIAL VALUE.** A key made for one run signed it; anybody can make one with any\n"
    "> date. It shows how the commands work and proves nothing about time.\n"
)


def _plain(text: str) -> str:
    """Text from a certificate or a server on one line, without anything that Markdown or a terminal obeys."""
    return "".join(c if c.isprintable() and c not in "`<>[]" else "." for c in text)[:300]


def _stamp(stamp: StampRecord, document: str) -> list[str]:
    title = f"### {_plain(stamp.operator)}{' (demo)' if stamp.demo else ''}"
    said = f"{_plain(stamp.tsa or 'The authority')} states {stamp.gen_time or 'a time (see the token)'}"
    lines = [title, "", f"{said}; answer of `{_plain(stamp.url)}`, stored as received.", ""]
    if stamp.demo:
        lines += [DEMO_BANNER]
    if stamp.anchor is None:
        lines += [
            "No anchor (root certificate) of this authority was at hand when this was stored. Fetch it from",
            "the authority's own site as `anchor.pem` and use it in these commands.",
            "",
        ]
    anchor = stamp.anchor.path if stamp.anchor else "anchor.pem"
    parts = ["-in", stamp.response.path, "-CAfile", anchor]
    if stamp.chain:
        parts += ["-untrusted", stamp.chain.path]
    parts += ["-partial_chain"]
    if stamp.gen_time:
        parts += ["-attime", str(int(moment(stamp.gen_time).timestamp()))]
    tail = shlex.join(parts)
    lines += [
        "```sh",
        f"openssl ts -verify -data {shlex.quote(document)} {tail}",
        f"openssl ts -verify -queryfile {shlex.quote(stamp.query.path)} {tail}",
        f"openssl ts -reply -in {shlex.quote(stamp.response.path)} -text",
    ]
    if stamp.anchor:
        lines.append(f"openssl x509 -in {shlex.quote(anchor)} -noout -subject -enddate -fingerprint -sha256")
    return [*lines, "```", ""]


def _beside(path: str) -> str:
    if path == "check.json":
        return "`check.json` is what `prereg check` said of the plan's rules when it was frozen.\n"
    return f"`{_plain(path)}` was frozen with it.\n"


def derived_files(record: FreezeRecord) -> dict[str, bytes]:
    """SHA256SUMS and README.md as they follow from a record: name -> bytes."""
    attachments = sorted(record.attachments, key=lambda ref: ref.path)
    sums = "".join(f"{ref.sha256}  {ref.path}\n" for ref in (record.document, *attachments))
    return {"SHA256SUMS": sums.encode(), "README.md": _readme(record).encode()}


def _readme(record: FreezeRecord) -> str:
    name = record.document.path
    lines = [
        f"# Frozen: {record.id}",
        "",
        f"This folder holds a {record.kind}, byte for byte as it was on {record.frozen_at} by the clock of",
        "the machine that froze it. That clock is a statement of its owner; only a timestamp below is",
        "vouched for by somebody else. Nothing here is to be edited: a change is a new document (for a plan,",
        "an amendment).",
        "",
        "```",
        f"{record.document.sha256}  {name}",
        "```",
        "",
        *[f"The document {remark}.\n" for remark in record.remarks],
        *[_beside(attachment.path) for attachment in record.attachments],
        "## Check the bytes",
        "",
        "```sh",
        "sha256sum -c SHA256SUMS",
        "```",
        "",
        "## Check the timestamps",
        "",
    ]
    if not record.stamps:
        lines += [
            "Not stamped: nobody outside vouches for the time. `prereg stamp` on this folder adds a stamp.",
            "",
        ]
    else:
        lines += [
            "`-data` compares the document with the token but neither nonce nor policy; `-queryfile` compares",
            "those but never reads the document: both are needed. `-attime` is the time that the token states:",
            "a certificate that has expired since does not undo it. The certificates lie here for convenience;",
            "compare the fingerprint with what the authority itself publishes.",
            "",
        ]
    for stamp in record.stamps:
        lines += _stamp(stamp, name)
    for number, renewal in enumerate(record.renewals, 1):
        lines += [
            f"## Renewal {number} ({renewal.renewed_at})",
            "",
            f"`{renewal.manifest.path}` lists every piece of evidence before it; these stamps are over it.",
            "",
        ]
        for stamp in renewal.stamps:
            lines += _stamp(stamp, renewal.manifest.path)
    if record.pending:
        lines += ["## Asked without an answer", ""]
        lines += [f"* {_plain(item.operator)}: {_plain(item.problem)}" for item in record.pending] + [""]
    lines += ["`prereg verify-timestamps` on this folder checks all of this strictly and offline.", ""]
    return "\n".join(lines)
