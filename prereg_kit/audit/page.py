"""An audit as one self-contained page: no script, no network, every text escaped."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from html import escape

from prereg_kit.audit.examine import Audit, StudyAudit
from prereg_kit.audit.findings import Finding
from prereg_kit.evidence.archive.record import rfc3339
from prereg_kit.foundation.visible import visible

_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4048); --soft: light-dark(#5a6370, #a3acb8);
  --violation: light-dark(#a4161a, #ff8a8a); --warning: light-dark(#8a5a00, #f0c060); --note: var(--soft); }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); }
article { border-left: 4px solid var(--line); padding: .1rem 0 .1rem .9rem; margin: 1rem 0; break-inside: avoid; }
.violation { border-color: var(--violation); } .warning { border-color: var(--warning); }
article > h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
.violation > h3 b { color: var(--violation); } .warning > h3 b { color: var(--warning); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .4rem 0; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; font-variant-numeric: tabular-nums; } code { font-size: .9em; }
@media (max-width: 36rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .3rem; } }
@media print { body { font-size: 10pt; max-width: none; padding: 0; } }
"""
_TITLES = {"violation": "Violations", "warning": "Warnings", "note": "Notes"}


def page(audit: Audit, at: datetime) -> str:
    """The page; `at` is the time of the audit."""
    return "\n".join(_page(audit, at)) + "\n"


def _page(audit: Audit, at: datetime) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield (
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Audit</title>'
    )
    yield f"<style>{_STYLE}</style></head><body><main>"
    names = ", ".join(study.id for study in audit.studies)
    yield f"<h1>Audit of {_text(names)}</h1>"
    yield (
        f"<p>{audit.count('violation')} violations, {audit.count('warning')} warnings, {audit.count('note')} notes. "
        f'<span class="soft">Made at {rfc3339(at.replace(microsecond=0))}.</span></p>'
        '<p class="soft">A finding names what does not fit together. It accuses nobody: each one says what an innocent '
        "explanation would have to show.</p>"
    )
    for severity, title in _TITLES.items():
        found = [finding for finding in audit.findings if finding.severity == severity]
        if found:
            yield f"<section><h2>{title}</h2>"
            for finding in found:
                yield from _finding(finding)
            yield "</section>"
    for study in audit.studies:
        yield from _study(study)
    yield "<section><h2>What cannot be known from here</h2><ul>"
    yield from (f"<li>{_text(text)}</li>" for text in audit.not_knowable)
    yield "</ul></section></main></body></html>"


def _finding(finding: Finding) -> Iterator[str]:
    yield f'<article class="{finding.severity}"><h3><b>{finding.severity}</b> {_text(finding.subject)}</h3>'
    yield f"<p>{_text(finding.message)}</p>"
    if finding.evidence:
        yield "<dl>"
        yield from (f"<dt>{_text(k)}</dt><dd>{_text(v)}</dd>" for k, v in finding.evidence.items() if v)
        yield "</dl>"
    if finding.severity != "note":
        yield f'<p class="soft">An innocent explanation would have to show: {_text(finding.innocent)}.</p>'
    yield f'<p class="soft"><code>{finding.code}</code></p></article>'


def _study(study: StudyAudit) -> Iterator[str]:
    yield f'<section><h2>Timeline of {_text(study.id)}</h2><div class="scroll"><table>'
    yield "<thead><tr><th>when (UTC)</th><th>what</th><th>evidence for the time</th></tr></thead><tbody>"
    for event in study.timeline:
        when = "unknown" if event.at is None else f"{event.at.when:%Y-%m-%d %H:%M}"
        how = "" if event.at is None else f"{event.at.grade}: {event.at.source}"
        yield f"<tr><td>{when}</td><td>{_text(event.text)}</td><td>{_text(how)}</td></tr>"
    yield '</tbody></table></div><h2>What came first</h2><div class="scroll"><table>'
    yield "<thead><tr><th>grade</th><th>order</th><th>why</th></tr></thead><tbody>"
    for order in study.orders:
        grade = "cannot be told" if order.grade is None else order.grade
        first = f"{_text(order.before)}, then {_text(order.after)}"
        yield f"<tr><td>{grade}</td><td>{first}</td><td>{_text(order.why)}</td></tr>"
    yield "</tbody></table></div>"
    if study.ledger:
        yield f'<h2>Runs of {_text(study.id)}</h2><div class="scroll"><table>'
        yield "<thead><tr><th>status</th><th>run</th><th>condition, arm, seed</th><th>why</th></tr></thead><tbody>"
        for row in study.ledger:
            cell = " ".join(each for each in (row.condition, row.arm, row.seed) if each)
            yield (
                f"<tr><td>{_text(row.status)}</td><td>{_text(row.run_id)}</td><td>{_text(cell)}</td>"
                f"<td>{_text(row.reason or '')}</td></tr>"
            )
        yield "</tbody></table></div>"
    yield "</section>"


def _text(text: str) -> str:
    return escape(visible(text))
