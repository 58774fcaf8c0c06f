"""A plan as text for a reader: rules in words, amendments where they apply, every default spelt out. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from prereg_kit.foundation.visible import terminal_line
from prereg_kit.plan.amendment import KNOWN_IN_WORDS
from prereg_kit.plan.criteria.compare import percent
from prereg_kit.plan.endpoint import Contrast, Endpoint, Gap, Mean, Ratio
from prereg_kit.plan.fields import decimal_text
from prereg_kit.plan.history import EffectivePlan
from prereg_kit.plan.matrix import ANY
from prereg_kit.plan.plan import Plan
from prereg_kit.plan.words import rule_words

WIDTH = 100


def plan_lines(effective: EffectivePlan, *, frozen: bool) -> Iterator[str]:
    """The lines that `prereg show` prints, at most 100 characters wide where words allow it.

    Control characters, line breaks and direction marks of the plan's texts are written out: a plan is shown, never
    obeyed by a terminal.
    """
    return map(terminal_line, _lines(effective, frozen))


def _lines(effective: EffectivePlan, frozen: bool) -> Iterator[str]:
    plan = effective.plan
    yield f"{plan.title or plan.id}"
    yield f"  {plan.id}, prereg.plan/1, {plan.kind}{'' if frozen else ', NOT FROZEN'}"
    yield f"  sha256 {effective.digest}"
    if plan.authors:
        yield from _wrapped("by " + ", ".join(plan.authors), "  ")
    yield from _wrapped(plan.note, "  ")
    yield from _amendments(effective)
    yield from _head(plan)
    if plan.thesis or plan.definitions:
        yield ""
        yield from _wrapped(plan.thesis, "")
        for term, meaning in plan.definitions.items():
            yield from _wrapped(f"{term}: {meaning}", "  ", "      ")
    yield from _hypotheses(effective)
    yield from _predictions(plan)
    for name, gate in plan.gates.items():
        yield ""
        yield from _wrapped(f"Gate {name}: if {gate.if_.words()}, then {gate.then}", "")
    yield ""
    yield "Endpoints"
    for name, endpoint in plan.endpoints.items():
        yield from _wrapped(f"{name}: {endpoint_words(endpoint)}", "  ", "      ")
    for disclosure in plan.disclosures:
        yield ""
        yield from _wrapped(f"Disclosure {disclosure.id} ({disclosure.kind}): {disclosure.text}", "")


def _hypotheses(effective: EffectivePlan) -> Iterator[str]:
    yield ""
    yield "Hypotheses"
    plan = effective.plan
    for name, hypothesis in plan.hypotheses.items():
        origin = effective.rule_from("hypotheses", name)
        yield from _wrapped(f"{name}  {hypothesis.statement}", "  ", "      ")
        yield from _wrapped(rule_words(hypothesis), "      ")
        if hypothesis.for_each:
            yield f"      for each {hypothesis.for_each.column}: {', '.join(hypothesis.for_each.values)}"
        for reading, body in hypothesis.readings.items():
            swap = ", ".join(f"{new} instead of {old}" for old, new in body.replace.items())
            yield from _wrapped(f"reading {reading}: {swap}. {body.statement}", "      ")
        if origin != "plan":
            yield f"      this rule comes from amendment {origin}"


def _predictions(plan: Plan) -> Iterator[str]:
    if plan.predictions:
        yield ""
        yield "Predictions"
        for name, prediction in plan.predictions.items():
            sure = "" if prediction.confidence is None else f" ({percent(prediction.confidence)} sure)"
            yield from _wrapped(f"{name}{sure}  {prediction.statement}", "  ", "      ")
            for part, rule in prediction.criteria.items():
                yield from _wrapped(f"{part}: {rule.words()}", "      ")


def _amendments(effective: EffectivePlan) -> Iterator[str]:
    for applied in effective.amendments:
        amendment = applied.amendment
        yield ""
        yield f"Amendment {amendment.id}, sha256 {applied.source.digest}"
        yield f"  when it was written {KNOWN_IN_WORDS[amendment.known]}"
        yield from _wrapped(amendment.known_detail, "  ")
        yield from _wrapped(f"because: {amendment.reason}", "  ")
        for change in amendment.changes:
            yield f"  {change.op} {change.field}"


def _head(plan: Plan) -> Iterator[str]:
    yield ""
    yield f"Arms        {plan.arms.treatment} minus {plan.arms.reference} (column {plan.arms.column})"
    how = plan.resampling
    engine: str = how.engine
    if engine != "exact":
        engine += f" ({how.resamples} resamples, seed {how.seed}, where random numbers are drawn)"
    yield f"Resampling  pairs by {how.pairs}, clusters by {how.clusters}, crossed; engine {engine}"
    yield f"            {how.interval} interval of level {percent(how.level)}"
    yield f"Runs        {len(plan.runs.cells())} planned; missing runs: {plan.runs.missing}; repeated: refuse"
    for block in plan.runs.planned:
        conditions, arms = (", ".join(part) for part in (block.condition, block.arm))
        named = ((plan.resampling.pairs, block.pair), ("seeds", block.seed))
        runs = "; ".join(f"{name} {', '.join(values)}" for name, values in named if values != (ANY,))
        yield f"            {conditions}: arms {arms}; {runs} {block.note}".rstrip()
    for exclusion in plan.runs.exclusions:
        yield from _wrapped(f"may be excluded ({exclusion.id}): {exclusion.text}", "            ")
    for material in plan.materials:
        yield f"Binds       {material.path} sha256 {material.sha256}"
    seconds = plan.timestamps.accuracy_seconds
    within = "" if seconds is None else f", each within {seconds} s"
    yield f"Timestamps  {plan.timestamps.quorum} distinct operators{within}"


def endpoint_words(endpoint: Endpoint) -> str:
    """An endpoint as a phrase."""
    if isinstance(endpoint, Gap):
        text = f"{endpoint.of} minus {endpoint.minus}"
    elif isinstance(endpoint, Ratio):
        text = f"{endpoint.of} divided by {endpoint.over}"
    else:
        where = ", ".join(f"{column} = {' or '.join(values)}" for column, values in endpoint.where.items())
        text = f"{endpoint.kind} of {endpoint.column()}"
        text += f" in the {endpoint.register_} register" + (f" where {where}" if where else "")
        if isinstance(endpoint, Contrast | Mean) and endpoint.over is not None:
            weights = ", ".join(f"{point}: {decimal_text(w)}" for point, w in endpoint.over.weights.items())
            text += f", weighted over {endpoint.over.column} ({weights})"
    return f"{text} [{endpoint.unit}]" + (f"; {endpoint.description}" if endpoint.description else "")


def _wrapped(text: str, indent: str, further: str | None = None) -> list[str]:
    return textwrap.wrap(
        terminal_line(text), WIDTH, initial_indent=indent, subsequent_indent=indent if further is None else further,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
