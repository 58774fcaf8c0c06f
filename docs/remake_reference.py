"""The field reference of docs/plans.md, made from the models of `prereg_kit.plan`: `python docs/remake_reference.py`.

Names, types, defaults and the sentence about each part come from the code; what a field means stands in `MEANING`,
once for a field that several parts share. A field without a meaning, or a meaning without a field, is an error.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from prereg_kit.plan import amendment, endpoint, fields, hypothesis, matrix, parts, plan
from prereg_kit.plan.criteria import rule
from prereg_kit.plan.criteria.bounded import Bounded
from prereg_kit.plan.criteria.criterion import OneEndpoint

PAGE = Path(__file__).parent / "plans.md"
BEGIN, END = "<!-- fields: made by docs/remake_reference.py -->", "<!-- end of fields -->"

SECTIONS: dict[str, tuple[type[BaseModel], ...]] = {
    "The plan": (plan.Plan, endpoint.Arms),
    "Runs and resampling": (matrix.RunMatrix, matrix.PlannedRuns, matrix.Exclusion, parts.Resampling),
    "Endpoints": (
        endpoint.Selection, endpoint.Contrast, endpoint.Mean, endpoint.Rate, endpoint.LuckShare, endpoint.Series,
        endpoint.Distinct, endpoint.StepsToThreshold, endpoint.Gap, endpoint.Ratio, endpoint.Over,
    ),
    "Criteria": (Bounded, *rule.KINDS.values()),
    "Hypotheses, predictions, gates, families": (
        hypothesis.Hypothesis, hypothesis.ForEach, hypothesis.Reading, hypothesis.Prediction, hypothesis.Gate,
        hypothesis.Family,
    ),
    "What surrounds a plan": (
        parts.Disclosure, parts.Variance, parts.Material, parts.RegisterSpec, parts.TimestampPolicy,
    ),
    "Amendments": (amendment.Amendment, amendment.Change),
}  # fmt: skip

NAMES: dict[type[BaseModel], str] = {
    plan.Plan: "plan", endpoint.Arms: "arms", matrix.RunMatrix: "runs", matrix.PlannedRuns: "runs.planned[]",
    matrix.Exclusion: "runs.exclusions[]", parts.Resampling: "resampling", endpoint.Selection: "endpoint",
    endpoint.Over: "over", Bounded: "bounds", hypothesis.Hypothesis: "hypothesis",
    hypothesis.ForEach: "for_each", hypothesis.Reading: "reading", hypothesis.Prediction: "prediction",
    hypothesis.Gate: "gate", hypothesis.Family: "family", parts.Disclosure: "disclosures[]", parts.Variance: "variance",
    parts.Material: "materials[]", parts.RegisterSpec: "register", parts.TimestampPolicy: "timestamps",
    amendment.Amendment: "amendment", amendment.Change: "changes[]",
}  # fmt: skip

WORDS: tuple[tuple[object, str], ...] = (
    (fields.Name, "name"),
    (fields.Listed, "text or list of texts"),
    (fields.Texts, "text or list of texts"),
    (fields.Text, "text"),
    (fields.Column, "column"),
    (fields.Exact, "exact number"),
    (fields.Level, "level"),
    (fields.Whole, "whole number"),
    (fields.Sha256, "SHA-256"),
    (fields.Moment, "date or time in UTC"),
    (fields.PercentileMethod, "`percentile`"),
    (rule.Criterion, "criterion"),
    (endpoint.Endpoint, "endpoint"),
)

MEANING = {
    "Plan.format": "always the first line",
    "Plan.id": "names `frozen/ID/`",
    "Plan.title": "heads every table",
    "Plan.kind": "`retrospective` admits published figures that nobody can recompute, and is labelled so",
    "Plan.note": "a remark for readers, shown with the results",
    "Plan.authors": "who registers",
    "Plan.written": "when, by the authors' own word; a timestamp is what vouches for it",
    "Plan.thesis": "what is claimed, in a sentence; for readers",
    "Plan.definitions": "words to what they mean; for readers",
    "Plan.arms": "what is compared",
    "Plan.resampling": "how intervals are computed",
    "Plan.runs": "every planned run, and what happens to missing and excluded ones",
    "Plan.materials": "files that the plan binds by their digest",
    "Plan.registers": "the key of a register, and how repeated rows are treated",
    "Plan.timestamps": "how many operators are to vouch for the time",
    "Plan.variance": "how much endpoints vary between pairs; `prereg check` draws its power figures with it",
    "Variance.sd": "standard deviation over pairs of the difference, in the endpoint's unit",
    "Variance.source": "where the number comes from, as a reader should see it",
    "Plan.disclosures": "what was known before the freeze",
    "Plan.endpoints": "the numbers that rules compare; at least one",
    "Plan.hypotheses": "statements with the rule that decides them; at least one",
    "Plan.predictions": "what the authors expect, with their confidence",
    "Plan.gates": "what follows from the outcomes",
    "Plan.families": "hypotheses whose intervals are widened together",
    "Arms.column": "the column that tells the arms apart",
    "Arms.treatment": "differences are treatment minus reference",
    "Arms.reference": "the other value",
    "RunMatrix.planned": "blocks of runs; without any, no run can be missing",
    "RunMatrix.exclusions": "the only reasons for which an index may leave a run out",
    "RunMatrix.missing": (
        "`refuse`: a planned pair that is missing makes the hypotheses that need it `not_evaluable`. "
        "`exclude_pair`: it is left out, and the verdict of a proportion shows the outcome with the missing pairs "
        "at worst and at best"
    ),
    "RunMatrix.repeated": "two counted runs of one condition, arm and seed are refused",
    "PlannedRuns.condition": "conditions; the empty text stands for any",
    "PlannedRuns.arm": "arms: values of the arms' column; an index of runs calls it `arm`",
    "PlannedRuns.seed": "seeds; they are also the pairs where `resampling.pairs` is `seed`",
    "PlannedRuns.pair": (
        "pairs: values of the column `resampling.pairs`; required, instead of or beside `seed`, where that column is "
        "not `seed`"
    ),
    "PlannedRuns.note": "for readers",
    "Exclusion.id": "what the index writes as `exclusion_reason`",
    "Exclusion.text": "the reason in words",
    "Resampling.pairs": "the column that pairs runs across arms",
    "Resampling.clusters": "the column of the repeated units; `null` if there are none",
    "Resampling.engine": (
        "`exact` needs no random numbers; `monte_carlo` draws; `auto` is exact where that takes up to about a minute"
    ),
    "Resampling.resamples": "draws of `monte_carlo`, 100 to 10,000,000",
    "Resampling.seed": "keys the draws, together with the digest of the plan",
    "Resampling.interval": "quantiles of the resampled means",
    "Resampling.level": "the level of the interval that is shown beside a rule without an interval criterion",
    "Selection.description": "for readers",
    "Selection.unit": "`proportion` means rows of true and false, `fraction` numbers from 0 to 1; any other text is "
    "the unit of numbers",
    "Selection.register": "the kind of rows: `episodes`, `counts`, `groups`, `luck`, `probe` or `reported`",
    "Selection.where": "column to the value, or list of values, that counts",
    "Selection.range": "the least and the greatest value that a row may have, both included, as in `[0, 100]`",
    "Contrast.value": "the column that is averaged",
    "Contrast.over": "a weighted mean over a column",
    "Contrast.arms": "other arms than the plan's",
    "Contrast.unequal": "`cell_means` admits different numbers of rows per arm, seed and task",
    "Mean.value": "the column that is averaged",
    "Mean.over": "a weighted mean over a column",
    "Rate.count": "rows where this is true; on counts, a column of whole numbers",
    "Rate.among": "rows that are looked at; all without it",
    "LuckShare.value": "the outcome of an episode",
    "LuckShare.each": "one luck share per value of this column",
    "Series.value": "the column with the numbers",
    "Series.axis": "the column whose values are the points",
    "Series.relative_to": "the point that is subtracted from all others and then drops out",
    "Distinct.value": "the column whose values are counted; a list column counts its entries",
    "Distinct.group": "the columns that make a group of rows",
    "StepsToThreshold.value": "the column whose mean makes the curve",
    "StepsToThreshold.axis": "the column of steps; numbers",
    "StepsToThreshold.steps": "the points that have to be there; without it those found",
    "StepsToThreshold.arms": "other arms than the plan's",
    "StepsToThreshold.threshold": "the level to be reached",
    "Gap.of": "an endpoint",
    "Gap.minus": "the endpoint subtracted from it",
    "Ratio.of": "an endpoint",
    "Ratio.over": "the endpoint that divides it; where it is 0 the ratio has no value",
    "Over.column": "the column, for instance `step`",
    "Over.weights": "value of the column to its weight",
    "Bounded.above": "strictly more",
    "Bounded.at_least": "or equal; `not_below` is the same",
    "Bounded.below": "strictly less",
    "Bounded.at_most": "or equal; `not_above` is the same",
    "Difference.endpoint": "an endpoint",
    "EverySeed.endpoint": "an endpoint",
    "IntervalEnd.endpoint": "an endpoint",
    "IntervalEnd.two_sided_level": "the level of the two-sided interval",
    "IntervalEnd.method": "the only method",
    "IntervalEnd.lower_above": "the lower end is more than this",
    "IntervalEnd.lower_at_least": "the lower end is this or more",
    "IntervalEnd.upper_below": "the upper end is less than this",
    "IntervalEnd.upper_at_most": "the upper end is this or less",
    "IntervalEnd.lower_below": "the lower end is less than this",
    "IntervalEnd.upper_above": "the upper end is more than this",
    "RateCriterion.endpoint": "an endpoint",
    "RateCriterion.within": "the largest distance, ends included",
    "RateCriterion.of": "from this value",
    "Estimate.endpoint": "an endpoint",
    "Estimate.within": "the largest distance, ends included",
    "Estimate.of": "from this value",
    "Estimate.lower_above": "the lower end of the interval is more than this",
    "Estimate.upper_below": "the upper end is less than this",
    "Estimate.level": "the level of that interval",
    "AtEvery.endpoint": "an endpoint",
    "AtEvery.over": "the axis, named again for readers",
    "AtEvery.points": "these points only; all of them have to be there",
    "AtMajority.endpoint": "an endpoint",
    "AtMajority.over": "the axis, named again for readers",
    "AtMajority.points": "these points only; all of them have to be there",
    "Invariant.endpoint": "an endpoint",
    "Invariant.each_group_has": "which of the two holds for every group",
    "Hypothesis.statement": "the claim in words",
    "Hypothesis.passes_if": "the rule; either this or `outcomes`",
    "Hypothesis.fails_if": "a second rule; where neither holds the outcome is inconclusive",
    "Hypothesis.outcomes": "named results, of which exactly one has to hold",
    "Hypothesis.counts_as": "named result to `pass`, `fail` or `inconclusive`; the last where it is not named",
    "Hypothesis.requires": "named controls: if one does not hold, the outcome is `void`",
    "Hypothesis.for_each": "one verdict per value of a column",
    "Hypothesis.readings": "further computations of the same rule, shown below it",
    "Hypothesis.family": "the family that it belongs to, which names it in turn",
    "ForEach.column": "the column",
    "ForEach.values": "its values; each makes a verdict `H1[value]`",
    "Reading.statement": "how it differs, in words",
    "Reading.replace": "an endpoint of the rule to the endpoint used instead",
    "Prediction.statement": "the prediction in words",
    "Prediction.hypothesis": "the hypothesis that it is about",
    "Prediction.confidence": "the probability, 0 to 1, that it will be met",
    "Prediction.expects": "one criterion; either this or `parts`",
    "Prediction.parts": "several criteria by name; it is met if all hold",
    "Prediction.readings": "further computations, shown below it and not scored",
    "Gate.if": "the condition",
    "Gate.then": "what follows, in words; shown, never executed",
    "Family.correction": "each interval's error is divided by the number of verdicts in the family",
    "Family.members": "its hypotheses; one with `for_each` counts once per value, and so do those that were not run",
    "Disclosure.id": "its name",
    "Disclosure.kind": "a word of your own, for instance `pilot`",
    "Disclosure.text": "what was known",
    "Disclosure.runs": "which runs it rests on; for readers",
    "Disclosure.known": "who knew, or since when; for readers",
    "Disclosure.endpoint": "the endpoint whose number was known; `prereg check` then conditions on it",
    "Disclosure.seed": "the seed pair that it is about",
    "Disclosure.difference": "the known difference of that pair",
    "Disclosure.value": "or the known value of one arm",
    "Disclosure.arm": "that arm",
    "Disclosure.baseline": "with `value`: the expected value of the reference arm, if there is one",
    "Material.path": "from the root of the plan's repository",
    "Material.sha256": "of its bytes",
    "Material.what": "what it is",
    "RegisterSpec.key": (
        "the columns that identify a row; those that no format lists number repetitions, and columns left out are not "
        "looked at"
    ),
    "RegisterSpec.repeats": "`drop_exact` drops rows that repeat another one exactly, and says how many",
    "RegisterSpec.missing_values": "a row without its value is refused",
    "RegisterSpec.note": "for readers",
    "TimestampPolicy.quorum": (
        "the number of distinct operators, 1 to 16; `prereg freeze --quorum` can ask for more and never for fewer"
    ),
    "TimestampPolicy.accuracy_seconds": (
        "the widest accuracy of a token that counts as a time; without it five minutes, or what the operator's trust "
        "entry says"
    ),
    "Amendment.format": "always the first line",
    "Amendment.id": "for instance A1",
    "Amendment.plan": "the id of the plan",
    "Amendment.amends": "the digest of the plan, or of the amendment before this one; `--draft` fills it in",
    "Amendment.written": "when, by the authors' own word",
    "Amendment.authors": "who amends",
    "Amendment.reason": "why",
    "Amendment.known": "what was known of the results by then",
    "Amendment.known_detail": "what exactly had been run and seen",
    "Amendment.note": "for readers",
    "Amendment.changes": "at least one",
    "Change.op": "what is done",
    "Change.field": "a path into the plan with slashes; `format`, `id` and `kind` stay as they are",
    "Change.value": "the new value; none with `remove`",
}


def type_words(hint: object) -> str:
    """A field's type as the page says it."""
    for known, words in WORDS:  # the same type, or one that admits fewer values; the narrowest first
        if hint == known or (get_args(known) and get_args(hint)[: len(get_args(known))] == get_args(known)):
            return words
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return type_words(inner[0])
    if origin in (Union, types.UnionType):
        return " or ".join(type_words(each) for each in inner if each is not type(None))
    if origin is Literal:
        return " or ".join(f"`{each}`" for each in inner)
    if origin is dict:
        return f"{type_words(inner[0])} to {type_words(inner[1]).removeprefix('see ')}"
    if origin is tuple:
        many = type_words(inner[0])
        return f"list; {many}" if many.startswith("see ") else f"list of {many}s"
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return f"see `{_title(hint)}`"
    return {Any: "any", str: "text"}[hint]  # type: ignore[index]


def default_words(info: FieldInfo) -> str:
    """A field's default as it would be written, or that it has to be given."""
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if value is None or value in ("", (), {}):
        return "none"
    if isinstance(value, BaseModel):
        return "its defaults"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Fraction):
        return f"`{fields.decimal_text(value)}`"
    return (
        f"`{value[0]}`"
        if value != ("",) and isinstance(value, tuple)
        else "any"
        if value == ("",)
        else f"`{value}`"
    )


def rows(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Each field to be shown: the key of its meaning, and its line of the table."""
    hints = get_type_hints(model, include_extras=True)
    for name, info in model.model_fields.items():
        if name in ("criterion", "kind") and model not in (plan.Plan, parts.Disclosure):
            continue  # the name under which the part stands
        if model in rule.KINDS.values() and not issubclass(model, OneEndpoint):
            continue  # written as the name and what follows it
        shared = _shared(model, name)
        if shared is not None and shared is not model:
            continue  # in the table of what several parts share
        written = info.alias or name
        key = f"{model.__name__}.{written}"
        yield key, f"| `{written}` | {type_words(hints[name])} | {default_words(info)} | {MEANING[key]} |"


def _shared(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The part whose table already holds this field, unless the default differs."""
    for parent in (endpoint.Selection, Bounded):
        if name in parent.model_fields and (
            issubclass(model, parent) or model in (endpoint.Gap, endpoint.Ratio)
        ):
            return parent
    return None


def _title(model: type[BaseModel]) -> str:
    """How the page calls a part: its place in the file, a kind of endpoint, or a criterion."""
    if model in NAMES:
        return NAMES[model]
    for name in ("criterion", "kind"):
        if name in model.model_fields:
            hint = get_type_hints(model)[name]
            return str(get_args(hint)[0])
    raise KeyError(model)


def _sentence(model: type[BaseModel]) -> str:
    """The docstring's first paragraph on one line."""
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())


def _notes(model: type[BaseModel]) -> Iterator[str]:
    """What the table of shared fields leaves out: bounds, fitting endpoints, another default unit."""
    if issubclass(model, OneEndpoint):
        yield f"Endpoints of kind {' or '.join(model.kinds)}."
    if issubclass(model, Bounded) and model is not Bounded:
        yield "Takes the bounds above."
    if issubclass(model, endpoint._Endpoint):
        if model in (endpoint.Gap, endpoint.Ratio):
            yield "Takes `description` and `unit`, and reads no register of its own."
        unit = model.model_fields["unit"].default
        if unit != "proportion":
            yield f"`unit` is `{unit}` by default."


def reference() -> str:
    """The whole reference between its two markers.

    Raises:
        ValueError: a meaning that belongs to no field.
    """
    lines = [BEGIN]
    used: set[str] = set()
    for section, models in SECTIONS.items():
        lines += ["", f"### {section}"]
        for model in models:
            lines += ["", f"**`{_title(model)}`** {' '.join([_sentence(model), *_notes(model)])}"]
            table = list(rows(model))
            used.update(key for key, _ in table)
            if table:
                lines += ["", "| field | what it takes | default | meaning |", "|---|---|---|---|"]
                lines += [line for _, line in table]
    if stale := sorted(set(MEANING) - used):
        raise ValueError(f"meanings of fields that are not there: {', '.join(stale)}")
    return "\n".join([*lines, "", END])


def remade(text: str) -> str:
    """The page with its reference made anew."""
    start, stop = text.index(BEGIN), text.index(END) + len(END)
    return text[:start] + reference() + text[stop:]


if __name__ == "__main__":
    PAGE.write_text(remade(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
