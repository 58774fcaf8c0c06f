"""A comparison as one self-contained HTML page: no script or style from elsewhere, every text escaped."""

from __future__ import annotations

import json
from html import escape

from prereg_kit.foundation.visible import visible
from study.backoffice.faults import FAULT_TYPES
from study.evaluation.comparison import Comparison, Row
from study.evaluation.recorded import RecordedCall, RecordedEpisode

_STYLE = """
:root{color-scheme:light dark;--ink:#1c1f23;--soft:#5d6670;--line:#d9dee3;--page:#fff;--card:#f5f7f9;--bad:#a8321f;
--good:#1f6f43;--fault:#7a4bb5;--mark:#fff4d6}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#9aa4ae;--line:#353b42;--page:#16191d;--card:#1e2328;
--bad:#ff8d78;--good:#6fd09b;--fault:#c7a4f5;--mark:#3a3220}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1.2rem;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.35rem;margin:0 0 .3rem}h2{font-size:1.05rem;margin:1.6rem 0 .5rem}
p{margin:.3rem 0}.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}.fault{color:var(--fault)}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:.6rem;margin:.4rem 0}
.bar{position:sticky;top:0;background:var(--page);padding:.6rem 0;border-bottom:1px solid var(--line);display:flex;
flex-wrap:wrap;gap:.8rem;align-items:center;z-index:1}
.bar a,.bar select{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:.4rem;
padding:.25rem .6rem;text-decoration:none}
.call{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.45rem .6rem;min-width:0;
overflow-wrap:anywhere}
.none{border:1px dashed var(--line);border-radius:.4rem;color:var(--soft);padding:.45rem .6rem}
.same .call{border-left:4px solid var(--good)}.differs .call{border-left:4px solid var(--bad)}
#first{scroll-margin-top:4.5rem;background:var(--mark);outline:.35rem solid var(--mark);border-radius:.2rem}
code{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap}
details summary{cursor:pointer;color:var(--soft)}
.row[hidden]{display:none}
ul{margin:.2rem 0;padding-left:1.1rem}
@media (max-width:640px){body{padding:.7rem}.pair{gap:.35rem}code{font-size:11.5px}.call{padding:.35rem .4rem}}
@media print{.bar{display:none}.pair{break-inside:avoid}body{max-width:none}}
"""

_SCRIPT = """
const choice=document.getElementById('filter');
choice.addEventListener('change',()=>{for(const row of document.querySelectorAll('.row')){
const faults=row.dataset.faults.split(' ');
row.hidden=!(choice.value===''||(choice.value==='any'?faults[0]!=='':faults.includes(choice.value)));}});
"""


def page(found: Comparison) -> str:
    """The page; equal comparisons give equal bytes."""
    one, other = found.left, found.right
    score = "no event was met by both" if found.score is None else f"alignment score {found.score:.3f}"
    kinds = "".join(f'<option value="{kind}">{kind.replace("_", " ")}</option>' for kind in FAULT_TYPES)
    jump = (
        '<a href="#first">First divergence</a>' if found.first is not None else "<span>No divergence</span>"
    )
    rows = "\n".join(_row(row, index == found.first) for index, row in enumerate(found.rows))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(one.task)}: two episodes</title><style>{_STYLE}</style></head><body>
<h1>{_text(one.task)}: two episodes side by side</h1>
<p>{_text(one.request)}</p>
<p class="soft">{score}: {found.agreeing} of {found.shared} shared events drew the same. Calls with equal event keys
stand in one line.</p>
<div class="pair">{_head(one)}{_head(other)}</div>
<div class="bar">{jump}<label>Show <select id="filter"><option value="">all calls</option>
<option value="any">calls with a fault</option>{kinds}</select></label><a href="#end">The world's difference</a></div>
<main>
{rows}
</main>
<h2 id="end">The world at the end</h2>
<div class="pair">{_end(one)}{_end(other)}</div>
<script>{_SCRIPT}</script></body></html>
"""


def _text(value: str) -> str:
    return escape(visible(value))


def _head(one: RecordedEpisode) -> str:
    grade = '<b class="good">success</b>' if one.true_success else '<b class="bad">failure</b>'
    return (
        f'<div class="call"><b>{_text(one.policy)}</b>, {_text(one.regime)}, schedule {one.schedule}<br>{grade}, '
        f"{one.calls_counted} of {one.budget} calls, ended by {_text(one.ended_by or 'nothing')}</div>"
    )


def _row(row: Row, first: bool) -> str:
    faults = sorted(
        {call.drawn for call in (row.left, row.right) if call is not None and call.drawn is not None}
    )
    kind = "differs" if row.diverges else "same"
    mark = ' id="first"' if first else ""
    sides = "".join(_side(call, row.elsewhere) for call in (row.left, row.right))
    return f'<div class="row pair {kind}" data-faults="{" ".join(faults)}"{mark}>{sides}</div>'


def _side(call: RecordedCall | None, elsewhere: int | None) -> str:
    if call is None:
        return '<div class="none">no such call here</div>'
    number = "" if call.number is None or call.tool == "finish" else f"{call.number}. "
    arguments = "(unreadable)" if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    status = "" if call.status == "ok" else f' <b class="bad">{_text(call.status)}</b>'
    fault = ""
    if call.drawn is not None:
        effect = "" if call.effective else ", without effect"
        fault = f' <b class="fault">fault: {call.drawn.replace("_", " ")}{effect}</b>'
    where = (
        ""
        if elsewhere is None
        else f'<br><span class="soft">same event as the other\'s call {elsewhere}</span>'
    )
    clock = "" if call.clock is None else f'<span class="soft"> {call.clock} s, {call.remaining} left</span>'
    return (
        f'<div class="call">{number}<b>{_text(call.tool)}</b>{status}{fault}{clock}<br>'
        f"<code>{_text(arguments)}</code>{where}<details><summary>reply</summary>"
        f"<code>{_text(call.reply)}</code></details></div>"
    )


def _end(one: RecordedEpisode) -> str:
    changes = (
        "".join(f"<li>{_text(change)}</li>" for change in one.world_changes) or "<li>nothing changed</li>"
    )
    reasons = "".join(f"<li>{_text(reason)}</li>" for reason in one.reasons)
    why = f"<p><b>Why it failed</b></p><ul>{reasons}</ul>" if reasons else ""
    return f'<div class="call"><ul>{changes}</ul>{why}</div>'
