"""Whatever a verdicts file says to qualify an outcome changes the output of every format."""

from __future__ import annotations

import io
import typing
from collections.abc import Callable, Iterator

import pytest
from pydantic import BaseModel
from rich.console import Console

from prereg_kit import report
from prereg_kit.api import Result
from prereg_kit.cli.verdict_text import print_verdicts
from prereg_kit.decision.verdict import (
    AmendmentRef,
    Clause,
    Figure,
    Guard,
    Interval,
    PlanRef,
    Reason,
    Stability,
    Verdict,
    Verdicts,
)


def terminal(width: int) -> Callable[[Verdicts], str]:
    def printed(verdicts: Verdicts) -> str:
        out = io.StringIO()
        print_verdicts(verdicts, Console(file=out, width=width, highlight=False, markup=False))
        return out.getvalue()

    return printed


def rendered(name: report.Format) -> Callable[[Verdicts], str]:
    return lambda verdicts: report.render(verdicts, name)


def frame(verdicts: Verdicts) -> str:
    return Result(verdicts, {}).to_frame().to_csv()


def notebook(verdicts: Verdicts) -> str:
    return Result(verdicts, {})._repr_html_()


FORMS: dict[str, Callable[[Verdicts], str]] = {
    "terminal 40": terminal(40),
    "terminal 80": terminal(80),
    "terminal 200": terminal(200),
    **{name: rendered(name) for name in report.FORMATS},
    "notebook": notebook,
    "frame": frame,
}

# What describes and qualifies nothing, with the reason.
DESCRIBES = {
    "guards.*.applies": "false where there is a reason, and the reason is printed",
    "hypotheses.*.statement": "the claim, not a limit of it",
    "hypotheses.*.endpoint": "names what was measured; the rule in words names it too",
    "hypotheses.*.unit": "stands behind the numbers; the frame's numbers are bare",
    "hypotheses.*.estimate.exact": "the same number as a fraction",
    "hypotheses.*.interval.lower_exact": "the same end as a fraction",
    "hypotheses.*.interval.upper_exact": "the same end as a fraction",
    "hypotheses.*.t_interval.lower_exact": "the same end as a fraction",
    "hypotheses.*.t_interval.upper_exact": "the same end as a fraction",
    "hypotheses.*.reasons.*.code": "for programs; the message is printed",
    "hypotheses.*.clauses.*.criterion": "for programs; its words are printed",
    "hypotheses.*.clauses.*.endpoint": "in the clause's words",
    "hypotheses.*.clauses.*.estimate.exact": "the same number as a fraction",
    "hypotheses.*.clauses.*.distance.exact": "the same number as a fraction",
    "hypotheses.*.clauses.*.distance.evidence": "the clause's own evidence says it",
    "hypotheses.*.clauses.*.estimate.evidence": "the clause's own evidence says it",
    "hypotheses.*.clauses.*.bounds.*.exact": "the same number as a fraction",
    "hypotheses.*.clauses.*.bounds.*.evidence": "a bound is registered, never measured",
    "hypotheses.*.clauses.*.interval.lower_exact": "the same end as a fraction",
    "hypotheses.*.clauses.*.interval.upper_exact": "the same end as a fraction",
    "hypotheses.*.clauses.*.reasons.*.code": "for programs; the message is printed",
    "hypotheses.*.clauses.*.per_unit.*.exact": "the same number as a fraction",
    "hypotheses.*.per_seed.*.exact": "the same number as a fraction",
}


def figure(value: float) -> Figure:
    return Figure(value=value, exact="1/7")


def interval(**more: object) -> Interval:
    given: dict[str, object] = {
        "level": 0.95, "lower": -0.11, "upper": 0.31, "engine": "monte_carlo", "scheme": "tasks only",
        "lower_exact": "1/3", "upper_exact": "1/3", "resamples": 4321, "mc_sd": (0.003, 0.005), "note": "one note",
    }  # fmt: skip
    return Interval(**(given | more))  # type: ignore[arg-type]


def reason(text: str) -> Reason:
    return Reason(code="bound-not-met", message=text)


def example() -> Verdicts:
    """One hypothesis in which every field of the model has a value of its own."""
    clause = Clause(
        criterion="estimate", words="estimate e at least 0.25", outcome="fail", endpoint="e", estimate=figure(0.21),
        distance=figure(-0.04), bounds=(figure(0.25),), interval=interval(level=0.9, lower=-0.12, resamples=999),
        per_unit={"run-a": figure(0.22)}, reasons=(reason("a reason of the clause"),),
    )  # fmt: skip
    verdict = Verdict(
        outcome="fail", statement="a claim", rule="passes if e is large", rule_from="A1", result="small effect",
        reasons=(reason("a reason of the verdict"),), endpoint="e", unit="proportion", estimate=figure(0.21),
        interval=interval(), t_interval=interval(engine="t", lower=-0.41, scheme="components", resamples=77),
        interval_excludes_zero=False, per_seed={"7": figure(0.23)}, clauses=(clause,),
        stability=Stability(leave_one_out={"7": "pass"}, missing_worst="fail", missing_best="pass", note="a note"),
    )  # fmt: skip
    amendment = AmendmentRef(id="A1", digest="2" * 64, known="results_seen", reason="because", changes=("x",))
    return Verdicts(
        evaluator="e",
        plan=PlanRef(id="p", digest="1" * 64, frozen=True, amendments=(amendment,)),
        labels=("a label",),
        guards=(Guard(name="planned-pairs", applies=False, endpoints=("e",), reason="no index"),),
        hypotheses={"H1": verdict},
    )


def other(value: object, hint: object) -> object | None:
    """A different value of a leaf's type; None if it is no leaf."""
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    if choices:
        return next((each for each in choices if each != value), None)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 5
    if isinstance(value, float):
        return round(value * 0.5 + 0.013, 6)
    return value + " differently" if isinstance(value, str) else None


def leaf_hint(hint: object) -> object:
    """A hint without its None."""
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    return parts[0] if len(parts) == 1 and typing.get_origin(hint) is not typing.Literal else hint


def changes(value: object, path: str, hint: object = None) -> Iterator[tuple[str, object]]:
    """(path, the whole value with one leaf changed), for every leaf of a model, also those that lie in lists."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            field_hint = leaf_hint(type(value).model_fields[name].annotation)
            for where, changed in changes(getattr(value, name), f"{path}.{name}".lstrip("."), field_hint):
                yield where, value.model_copy(update={name: changed})
    elif isinstance(value, dict):
        for key, item in value.items():
            for where, changed in changes(item, f"{path}.*", typing.get_args(hint)[1]):
                yield where, {**value, key: changed}
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            for where, changed in changes(item, f"{path}.*", typing.get_args(hint)[0]):
                yield where, (*value[:i], changed, *value[i + 1 :])
    elif (new := other(value, hint)) is not None:
        yield path, new


def qualifying() -> dict[str, Verdicts]:
    """Each field of a verdict, with the example in which it differs; fields of the plan that are labels too."""
    found: dict[str, Verdicts] = {}
    for path, changed in changes(example(), ""):
        wanted = path.startswith(
            ("hypotheses.", "labels", "guards.", "plan.frozen", "plan.amendments.*.known")
        )
        if wanted and path not in DESCRIBES:
            found[path] = typing.cast(Verdicts, changed)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_every_field_that_qualifies_an_outcome_changes_the_output(form: str) -> None:
    before = FORMS[form](example())
    silent = [path for path, changed in qualifying().items() if FORMS[form](changed) == before]
    assert silent == []


def test_the_example_has_a_value_in_every_field() -> None:
    """A field without a value would never be tried."""
    met = {part for path, _ in changes(example(), "") for part in path.split(".")}
    excused = {"readings", "clauses"}  # a verdict or a clause again
    for model in (Verdict, Clause, Interval, Stability, Figure, Reason):
        assert set(model.model_fields) - excused <= met, model
