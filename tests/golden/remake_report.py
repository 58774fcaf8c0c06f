"""The only writer of tests/golden/report/: an invented example of verdicts, and its rendered forms.

Every number here is made up so that each kind of row occurs once: no study is described. Run
`python tests/golden/remake_report.py` after a wanted change of a format, and read the difference.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from prereg_kit import report
from prereg_kit.decision.verdict import (
    AmendmentRef,
    Clause,
    Figure,
    GateVerdict,
    Interval,
    LedgerRow,
    PlanRef,
    PredictionSummary,
    PredictionVerdict,
    Reason,
    RegisterRef,
    Stability,
    Verdict,
    Verdicts,
)
from prereg_kit.foundation.digest import readable_json, sha256_bytes

FOLDER = Path(__file__).parent / "report"


def exact(text: str, evidence: str = "recomputed") -> Figure:
    return Figure.of(Fraction(text), evidence)  # type: ignore[arg-type]


def ends(lower: str, upper: str, level: float = 0.95, **more: object) -> Interval:
    low, high = Fraction(lower), Fraction(upper)
    given = {"engine": "exact", "lower_exact": str(low), "upper_exact": str(high)} | more
    return Interval(level=level, lower=float(low), upper=float(high), **given)  # type: ignore[arg-type]


def clause(criterion: str, words: str, outcome: str, **more: object) -> Clause:
    return Clause(criterion=criterion, words=words, outcome=outcome, **more)  # type: ignore[arg-type]


def reason(code: str, message: str) -> Reason:
    return Reason(code=code, message=message)  # type: ignore[arg-type]


def at(*bounds: str) -> tuple[Figure, ...]:
    return tuple(map(exact, bounds))


def seeds(*values: str) -> dict[str, Figure]:
    return {str(seed): exact(value) for seed, value in enumerate(values)}


def hypotheses() -> dict[str, Verdict]:
    speed = seeds("43/800", "-1/640", "47/800")
    mean = sum((Fraction(f.exact) for f in speed.values()), Fraction()) / 3
    late = {"40": exact("3/5"), "60": exact("29/50"), "80": exact("13/25")}
    return {
        "H1a": Verdict(
            outcome="pass",
            statement="Without pairing, a share of the full groups is full by luck.",
            rule="passes if rate luck_rate within 0.07 of 0.57",
            endpoint="luck_rate",
            unit="proportion",
            estimate=exact("1040/1863"),
            clauses=(
                clause(
                    "rate",
                    "rate luck_rate within 0.07 of 0.57",
                    "pass",
                    endpoint="luck_rate",
                    estimate=exact("1040/1863"),
                    distance=exact("10801/186300"),
                    bounds=at("1/2", "16/25"),
                ),
            ),
        ),
        "H1b[A]": Verdict(
            outcome="pass",
            evidence="reported",
            statement="Pairing lowers the trace of the score covariance.",
            rule="trace_ratio is below 1 at every checkpoint",
            endpoint="trace_ratio",
            unit="ratio",
            clauses=(
                clause(
                    "at_every",
                    "trace_ratio is below 1 at every checkpoint",
                    "pass",
                    endpoint="trace_ratio",
                    evidence="reported",
                    distance=Figure(value=0.4, evidence="reported"),
                    bounds=at("1"),
                    per_unit={k: Figure(value=v.value, evidence="reported") for k, v in late.items()},
                ),
            ),
            reasons=(reason("interval-reported", "the ratios were published and not recomputed"),),
        ),
        "H2a": Verdict(
            outcome="fail",
            statement="Under tool faults pairing learns faster at a matched rollout budget.",
            rule="passes if mean difference of speed ≥ 0.03 AND every seed's difference of speed > 0",
            endpoint="speed",
            unit="proportion",
            estimate=exact(str(mean)),
            interval=ends("-1/256", "39/500"),
            t_interval=Interval(
                level=0.95, lower=-0.0421, upper=0.1161, engine="t", scheme="variance components"
            ),
            interval_excludes_zero=False,
            per_seed=speed,
            clauses=(
                clause(
                    "all",
                    "all of",
                    "fail",
                    clauses=(
                        clause(
                            "difference",
                            "mean difference of speed ≥ 0.03",
                            "pass",
                            endpoint="speed",
                            estimate=exact(str(mean)),
                            distance=exact(str(mean - Fraction(3, 100))),
                            bounds=at("3/100"),
                        ),
                        clause(
                            "every_seed",
                            "every seed's difference of speed > 0",
                            "fail",
                            endpoint="speed",
                            estimate=exact(str(mean)),
                            distance=exact("-1/640"),
                            bounds=at("0"),
                            per_unit=speed,
                            reasons=(reason("bound-not-met", "seed 1 is -0.0016, which is not above 0"),),
                        ),
                    ),
                ),
            ),
            reasons=(reason("bound-not-met", "seed 1 is -0.0016, which is not above 0"),),
            stability=Stability(leave_one_out={"0": "fail", "1": "pass", "2": "fail"}),
        ),
        "H2b": Verdict(
            outcome="fail",
            statement="The same on clean episodes.",
            rule="passes if mean difference of clean ≥ 0.03 AND mean difference of final_clean ≥ 0",
            rule_from="A1",
            endpoint="clean",
            unit="proportion",
            estimate=exact("1/384"),
            interval=ends("-1/35", "163/5000"),
            interval_excludes_zero=False,
            per_seed=seeds("1/1280", "13/640", "-17/1280"),
            clauses=(
                clause(
                    "difference",
                    "mean difference of clean ≥ 0.03",
                    "fail",
                    endpoint="clean",
                    estimate=exact("1/384"),
                    distance=exact("-263/9600"),
                    bounds=at("3/100"),
                ),
            ),
            reasons=(reason("bound-not-met", "the mean difference is 0.0026, and at least 0.03 was needed"),),
            readings={
                "literal": Verdict(
                    outcome="fail",
                    statement="The final clause read on the noisy set, as the words say.",
                    rule="passes if mean difference of clean ≥ 0.03 AND mean difference of final_noisy ≥ 0",
                    endpoint="clean",
                    unit="proportion",
                    estimate=exact("1/384"),
                    interval=ends("-1/35", "163/5000"),
                    interval_excludes_zero=False,
                    per_seed=seeds("1/1280", "13/640", "-17/1280"),
                    reasons=(
                        reason(
                            "bound-not-met", "the mean difference is 0.0026, and at least 0.03 was needed"
                        ),
                    ),
                )
            },
        ),
        "H3": Verdict(
            outcome="pass",
            statement="Pairing helps on the challenge set while it is being learnt.",
            rule="passes if mean difference of challenge ≥ 5 AND every seed's difference of challenge > 0",
            endpoint="challenge",
            unit="pp",
            estimate=exact("43/8"),
            interval=ends("-25/24", "243/20"),
            t_interval=Interval(
                level=0.95, lower=-6.31, upper=17.06, engine="t", scheme="variance components"
            ),
            interval_excludes_zero=False,
            per_seed=seeds("175/24", "25/16", "175/24"),
            clauses=(
                clause(
                    "difference",
                    "mean difference of challenge ≥ 5",
                    "pass",
                    endpoint="challenge",
                    estimate=exact("43/8"),
                    distance=exact("3/8"),
                    bounds=at("5"),
                ),
                clause(
                    "every_seed",
                    "every seed's difference of challenge > 0",
                    "pass",
                    endpoint="challenge",
                    estimate=exact("43/8"),
                    distance=exact("25/16"),
                    bounds=at("0"),
                    per_unit=seeds("175/24", "25/16", "175/24"),
                ),
            ),
        ),
        "H4": Verdict(
            outcome="not_run",
            statement="A larger group closes the gap.",
            rule="passes if mean difference of speed_large_group ≤ 0.01",
            reasons=(reason("runs-not-run", "no run of condition C6 was found"),),
        ),
        "H5": Verdict(
            outcome="pass",
            evidence="reported",
            statement="Pairing does no harm on held-out fault types.",
            rule="passes if 90 % interval of heldout: lower end > −3",
            endpoint="heldout",
            unit="pp",
            estimate=exact("55/24"),
            interval=ends("-37/100", "21/4", 0.9, engine="reported"),
            interval_excludes_zero=False,
            per_seed=seeds("5/8", "1", "21/4"),
            clauses=(
                clause(
                    "interval",
                    "90 % interval of heldout: lower end > −3",
                    "pass",
                    endpoint="heldout",
                    evidence="reported",
                    estimate=exact("55/24"),
                    distance=Figure(value=2.63, evidence="reported"),
                    bounds=at("-3"),
                ),
            ),
            reasons=(reason("interval-reported", "the interval was published and not recomputed"),),
        ),
        "H6": Verdict(
            outcome="inconclusive",
            statement="Early steps do not differ by more than 0.01.",
            rule="passes if the interval lies within 0.01 of 0; fails if it lies outside",
            endpoint="early",
            unit="proportion",
            estimate=exact("1/250"),
            interval=ends("-3/500", "7/500", engine="monte_carlo", resamples=10000, mc_sd=(0.0002, 0.0002)),
            interval_excludes_zero=False,
            per_seed=seeds("1/100", "-1/500", "1/250"),
            reasons=(reason("between-the-rules", "neither the passing nor the failing rule holds"),),
        ),
        "H7": Verdict(
            outcome="void",
            statement="The repaired grader agrees with people.",
            rule="agreement is at least 0.9",
            endpoint="agreement",
            unit="proportion",
            estimate=exact("47/50"),
            reasons=(
                reason(
                    "control-failed", "the control `blind_labels` does not hold, so the rule says nothing"
                ),
            ),
        ),
        "H8": Verdict(
            outcome="not_evaluable",
            statement="Time to the first success is shorter.",
            rule="passes if mean difference of steps_to_half < 0",
            endpoint="steps_to_half",
            unit="steps",
            reasons=(
                reason("censored", "seed 2 of the reference arm never reached 0.5: a bound, not a value"),
            ),
        ),
        "H9": Verdict(
            outcome="pass",
            statement="The smoke task is always solved.",
            rule="mean difference of smoke ≥ 0",
            endpoint="smoke",
            unit="proportion",
            estimate=exact("1"),
            interval=ends("1", "1", degenerate=True, note="all tasks and seeds have the same difference"),
            interval_excludes_zero=True,
            per_seed=seeds("1", "1", "1"),
            clauses=(
                clause(
                    "difference",
                    "mean difference of smoke ≥ 0",
                    "pass",
                    endpoint="smoke",
                    estimate=exact("1"),
                    distance=exact("1"),
                    bounds=at("0"),
                ),
            ),
            reasons=(reason("degenerate", "nothing varies, so the interval is the point 1"),),
        ),
    }


def predictions() -> dict[str, PredictionVerdict]:
    return {
        "P1": PredictionVerdict(
            outcome="pass",
            statement="The luck rate lies within 0.05 of 0.57.",
            hypothesis="H1a",
            confidence=0.9,
            parts={
                "expects": clause(
                    "rate", "luck_rate is within 0.05 of 0.57", "pass", estimate=exact("1040/1863")
                )
            },
            brier=exact("1/100"),
        ),
        "P2": PredictionVerdict(
            outcome="fail",
            statement="The gap on clean episodes is at least 0.03, and the final success within 3 points of C0.",
            hypothesis="H2b",
            confidence=0.65,
            parts={
                "gap": clause("difference", "mean difference of clean ≥ 0.03", "fail"),
                "final": clause("estimate", "final_clean is within 3 pp of C0", "pass"),
            },
            brier=exact("169/400"),
        ),
        "P3": PredictionVerdict(
            outcome="not_run",
            statement="The largest group shows no gap.",
            hypothesis="H4",
            confidence=0.7,
            reasons=(reason("runs-not-run", "no run of condition C6 was found"),),
        ),
        "P4": PredictionVerdict(
            outcome="pass",
            evidence="reported",
            statement="The trace ratio is below 1.",
            hypothesis="H1b",
            confidence=0.7,
            parts={"expects": clause("at_every", "trace_ratio is below 1", "pass", evidence="reported")},
            brier=exact("9/100", "reported"),
        ),
    }


def run(name: str, status: str, arm: str | None, seed: str | None, **more: object) -> LedgerRow:
    given = {"planned": True, "condition": "C2"} | more
    return LedgerRow(run_id=name, status=status, arm=arm, seed=seed, **given)  # type: ignore[arg-type]


def ledger() -> tuple[LedgerRow, ...]:
    hours = (("09", "13"), ("14", "19"))
    made = [
        run(
            f"c2-{arm}-s{seed}",
            "included",
            arm,
            str(seed),
            attempt=1,
            started_at=f"2026-03-0{seed + 2}T{hours[i][0]}:00:00Z",
            finished_at=f"2026-03-0{seed + 2}T{hours[i][1]}:30:00Z",
        )
        for seed in range(3)
        for i, arm in enumerate(("paired", "independent"))
    ]
    return (
        *made,
        run("c2-paired-s1-other-stack", "excluded", "paired", "1", planned=False, reason="other accelerator"),
        run(
            "c2-paired-s1-retry", "repeated", "paired", "1", attempt=2, reason="a second run of the same cell"
        ),
        run("c6-paired-s0", "not_run", "paired", "0", condition="C6"),
        run("c9-trial", "extra", None, None, planned=False, condition=None, details={"found in": "scratch"}),
    )


def verdicts() -> Verdicts:
    """The invented example."""
    digest = sha256_bytes(b"an invented plan")
    return Verdicts(
        evaluator="prereg-kit 0.1.0",
        plan=PlanRef(
            id="example-plan",
            title="An invented example of every kind of row",
            kind="retrospective",
            digest=digest,
            path="frozen/example-plan/plan.yaml",
            frozen=True,
            label="retrospective re-expression",
            time="2026-03-01T08:00:00Z by demo (DEMO TSA)",
            amendments=(
                AmendmentRef(
                    id="A1",
                    digest=sha256_bytes(b"an invented amendment"),
                    path="amendments/A1/amendment.yaml",
                    known="results exist but were not opened",
                    reason="the final clause named the wrong set",
                    changes=("hypotheses.H2b.passes_if.all[1].endpoint: final_noisy -> final_clean",),
                ),
            ),
            disclosures=(
                {"id": "D1", "kind": "completed-run", "runs": "c2-paired-s0", "known": "validation curve"},
            ),
        ),
        registers=(
            RegisterRef(
                path="registers/counts.parquet",
                sha256=sha256_bytes(b"r"),
                format="prereg.counts/1",
                rows=504,
                used=252,
            ),
            RegisterRef(
                path="registers/reported.parquet",
                sha256=sha256_bytes(b"s"),
                format="prereg.reported/1",
                rows=9,
                used=5,
            ),
        ),
        labels=("EXAMPLE: every number on this page is invented", "DEMO TSA - NO EVIDENTIAL VALUE"),
        hypotheses=hypotheses(),
        predictions=predictions(),
        prediction_summary=PredictionSummary(
            scored=3, met=2, met_reported=1, mean_brier=exact("209/1200"), not_run=1
        ),
        gates={
            "gate2": GateVerdict(
                holds=True,
                condition="not (any of: H2a passes; H2b passes)",
                then="adopt the estimator-and-boundary framing",
            ),
            "gate3": GateVerdict(
                holds=None,
                condition="H4 passes",
                then="run the larger groups",
                reasons=(reason("depends-on-unknown", "H4 was not run"),),
            ),
        },
        ledger=ledger(),
        notes=("Rows that no endpoint uses were counted, not refused.",),
    )


def main() -> None:
    """Write the example and its rendered forms."""
    FOLDER.mkdir(exist_ok=True)
    made = verdicts()
    (FOLDER / "verdicts.json").write_bytes(readable_json(made.to_json()))
    for output in ("md", "latex", "csv", "html"):
        name = {"latex": "page.tex", "csv": "outcomes.csv"}.get(output, f"page.{output}")
        (FOLDER / name).write_bytes(report.render(made, output).encode())  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
