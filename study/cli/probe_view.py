"""What `study probe` prints: a summary for people, or `study.probe/1`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from prereg_kit.errors import UsageError, Where
from prereg_kit.foundation.digest import readable_json, sha256_file
from prereg_kit.foundation.visible import terminal_line
from study.errors import ConfigError
from study.figures.alignment_map import Measured
from study.probe import outcome, transition
from study.probe.evidence import Evidence, read
from study.probe.intervals import Interval
from study.probe.outcome import OutcomeFigures
from study.probe.transition import TransitionFigures
from study.theory.advantages import DDOF, EPS

FORMAT = "study.probe/1"


@dataclass(frozen=True)
class Settings:
    """How figures are computed; the defaults are the registered settings.

    Attributes:
        flip_rate: q, None for the evidence's own. eps, ddof: of the standardisation.
        groups: comparator groups drawn for each task, None for the default.
        false_rate: of a grader that also passes failures, None to leave it out.
    """

    flip_rate: float | None = None
    eps: float = EPS
    ddof: int = DDOF
    groups: int | None = None
    false_rate: float | None = None


def show(path: Path, evidence: Evidence, settings: Settings, *, as_json: bool) -> None:
    """Compute the figures of evidence and print them.

    Raises:
        UsageError: a setting that this kind of probe does not have.
    """
    figures = figures_of(evidence, settings)
    if as_json:
        click.echo(readable_json(value_of(path, evidence, figures)).decode(), nl=False)
        return
    for line in _lines(path, evidence, figures):
        click.echo(terminal_line(line))


def figures_of(evidence: Evidence, settings: Settings) -> OutcomeFigures | TransitionFigures:
    """The figures of either kind.

    Raises:
        UsageError: a setting that this kind of probe does not have.
    """
    if evidence.spec.kind == "outcome":
        if settings.groups is not None:
            raise UsageError("--groups belongs to transition probes", found=evidence.spec.kind)
        return outcome.figures(
            evidence,
            flip_rate=settings.flip_rate,
            eps=settings.eps,
            ddof=settings.ddof,
            false_rate=settings.false_rate,
        )
    if (settings.flip_rate, settings.eps, settings.ddof, settings.false_rate) != (None, EPS, DDOF, None):
        raise UsageError(
            "--flip-rate, --eps, --ddof and --false-rate belong to outcome probes", found=evidence.spec.kind
        )
    return transition.figures(evidence, groups=settings.groups or transition.GROUPS)


def value_of(path: Path, evidence: Evidence, figures: OutcomeFigures | TransitionFigures) -> dict[str, Any]:
    """`study.probe/1`: what was probed, its guards and checks, and all figures."""
    record = evidence.record.model_dump(mode="json")
    about = {key: record[key] for key in record if key not in ("format", "spec", "arrays", "task_ids")}
    return {
        "format": FORMAT,
        "evidence": str(path),
        "sha256": sha256_file(path),
        "spec": record["spec"],
        "record": about,
        "figures": _plain(asdict(figures)),
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - nested plain values
    """Infinite interval ends as text, since JSON has no infinity; traces beside their parts."""
    if isinstance(value, dict):
        traced = dict(value)
        for first, second in (("mask", "between"), ("within", "between")):
            if set(value) >= {first, second}:
                traced["trace"] = value[first] + value[second]
        return {str(key): _plain(each) for key, each in traced.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and value == float("inf"):
        return "infinity"
    return value


def _lines(path: Path, evidence: Evidence, figures: OutcomeFigures | TransitionFigures) -> Iterator[str]:
    spec, record = evidence.spec, evidence.record
    yield f"{spec.kind} probe of {spec.run_id} at step {spec.checkpoint}: {path}"
    yield (
        f"  {spec.tasks} tasks x {spec.schedules} schedules x {spec.samples} rollouts, "
        f"{record.coordinates:,} coordinates, success rate {figures.success_rate:.3f}"
    )
    yield from (_outcome(figures) if isinstance(figures, OutcomeFigures) else _transition(figures))
    yield from _checks(evidence)
    for note in figures.notes:
        yield f"  note: {note}"


def _outcome(figures: OutcomeFigures) -> Iterator[str]:
    for name, one in figures.estimators.items():
        yield (
            f"  {name}  L {one.left:.4g}  R {one.right:.4g}  L/R {_number(one.ratio_of_sides)}"
            f"{_interval(one.sides_interval)}"
        )
        yield (
            f"      trace at q = {figures.flip_rate:g}: paired {one.paired.trace:.4g}, independent "
            f"{one.independent.trace:.4g}, ratio {_number(one.ratio)}{_interval(one.ratio_interval)}; "
            f"mask share {_number(one.independent.mask_share)}; below its threshold in {one.favourable} of "
            f"{one.decided} groups"
        )
    verdict = "holds: pairing lowers" if figures.holds else "does not hold: pairing does not lower"
    yield f"  Eq. 5 {verdict} the trace; identity residual {figures.residual:.1e} (by {figures.gap_by})"
    if figures.two_sided is not None:
        other = figures.two_sided
        yield (
            f"  if {other.false_rate:g} of the failures pass as well: mask part paired {other.paired:.4g}, independent "
            f"{other.independent:.4g}, ratio {_number(other.ratio)}"
        )
    alignment, spurious = figures.alignment, figures.spurious
    yield f"  score alignment {_number(alignment.value)} over {alignment.mixed} mixed groups of {spurious.groups}"
    yield (
        f"  all-correct groups {spurious.all_correct}; they carry {_number(spurious.share_independent)} of the squared "
        f"standardised advantages under separate flips, {_number(spurious.share_paired)} under a shared one"
    )


def _transition(figures: TransitionFigures) -> Iterator[str]:
    for name, one in figures.estimators.items():
        for design, against in one.against.items():
            yield (
                f"  {name}  paired over {design.replace('_', ' ')}: {_number(against.ratio)}"
                f"{_interval(against.interval)}; within tasks {_number(against.many)}{_interval(against.many_interval)}"
            )
        if one.fresh is not None:
            yield f"  {name}  within tasks, against fresh schedules: {one.fresh:.3f}{_interval(one.fresh_interval)}"
    luck = figures.luck
    yield (
        f"  luck share {_number(luck.share)} (null bias {_number(luck.null_bias)}, {luck.undefined} tasks undefined); "
        f"contrast variance {luck.contrast_paired:.3f} paired, {luck.contrast_independent:.3f} independent"
    )


def _checks(evidence: Evidence) -> Iterator[str]:
    checks = evidence.record.checks
    if checks is None:
        yield "  cross-checks: left out"
        return
    hooks = "not for every parameter" if checks.hooks is None else f"{checks.hooks:.1e}"
    yield (
        f"  relative differences: loop {checks.loop:.1e}, hooks {hooks}, finite differences "
        f"{checks.finite_differences:.1e}"
    )
    if checks.trainer_difference is None or checks.trainer_difference_float64 is None:
        yield f"  trainer's loss gradient: not compared, {checks.trainer_note}"
        return
    yield (
        f"  trainer's loss gradient on {checks.trainer_rows} rollouts: cosine {checks.trainer_cosine:.9f}, difference "
        f"{checks.trainer_difference:.1e}; in float64 {checks.trainer_difference_float64:.1e}"
    )


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _interval(interval: Interval | None) -> str:
    return " [no interval]" if interval is None else f" [{interval.lower:.3f}, {interval.upper:.3f}]"


def trajectories(named: Sequence[str]) -> dict[str, str]:
    """`NAME=RUN_ID` texts as run id -> name.

    Raises:
        UsageError: not of that form, or a run on two trajectories.
    """
    found: dict[str, str] = {}
    for text in named:
        name, equals, run_id = text.partition("=")
        if not (name and equals and run_id):
            raise UsageError("--trajectory", expected="NAME=RUN_ID", found=text)
        if run_id in found:
            raise UsageError("a run on two trajectories", expected="one", found=text)
        found[run_id] = name
    return found


def measured_points(files: Sequence[Path], size: int, flip_rate: float) -> list[Measured]:
    """Probed checkpoints as points of the map.

    Raises:
        UsageError: a probe with another group size.
        ConfigError: evidence of another kind, or without an alignment.
    """
    points = []
    for file in files:
        evidence = read(file)
        if evidence.spec.samples != size:
            raise UsageError(
                "a probe with groups of another size than the map's",
                where=Where(file=str(file)),
                expected=f"{size} (or --group-size {evidence.spec.samples})",
                found=evidence.spec.samples,
            )
        figures = outcome.figures(evidence, flip_rate=flip_rate, resamples=2)
        if figures.alignment.value is None:
            raise ConfigError(
                "this probe has no score alignment, so it has no place on the map",
                where=Where(file=str(file)),
                expected="at least one group with both outcomes",
                found=f"{figures.alignment.mixed} of {figures.spurious.groups}",
            )
        mc, sw = figures.estimators["MC"], figures.estimators["SW"]
        spec = evidence.spec
        name = "base" if spec.checkpoint == 0 else f"{spec.condition} {spec.arm}, step {spec.checkpoint}"
        points.append(
            Measured(
                name, figures.success_rate, figures.alignment.value, mc.ratio_of_sides, mc.ratio, sw.ratio
            )
        )
    return points
