"""The transition probe's figures: tool faults, from the evidence alone.

A task has G rollouts under each of W schedules. A paired group is one schedule's rollouts. Three comparators stand for
the independent design:

    with replacement   schedule labels with replacement, then distinct rollouts of a label: as training draws (primary)
    stratified         one rollout of each schedule
    fresh              no groups at all: the unbiased closed form of `study.theory.transition`, mean-centred alone

The first two are fixed groups whose indices stand in the evidence, for the paper's pooled traces with 1/n, and many
more drawn from the Gram for within-task traces. The last has no reuse of rollouts in it and no 7/8 bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import ConfigError
from study.probe.estimators import NAMES, Name, Scale, rule_of, scales
from study.probe.evidence import Evidence
from study.probe.intervals import Interval, drawn_units, generator, of_ratio, percentile
from study.probe.vectors import COMPARED, Rows, group_levers, paired_rows
from study.theory import diversity, luck, luck_null
from study.theory import transition as pools
from study.theory.transition import Pool

Array = npt.NDArray[np.float64]

GROUPS = 4096
"""Comparator groups that are drawn from each task's Gram matrix."""


@dataclass(frozen=True)
class Pooled:
    """A pooled trace in two parts, with 1/n in both, as the paper reports it.

    Attributes:
        within: mean over tasks of the variance of a task's group gradients.
        between: variance of the tasks' mean gradients.
    """

    within: float
    between: float

    @property
    def trace(self) -> float:
        """Both parts."""
        return self.within + self.between


@dataclass(frozen=True)
class Compared:
    """Paired over one comparator.

    Attributes:
        ratio: of the pooled traces. interval: over tasks, None where only running vectors were kept.
        within_ratio: of the within-task parts of the fixed groups.
        many: within-task ratio from many groups drawn from the Gram matrices, without the bias of 1/n.
        many_interval: over tasks.
    """

    ratio: float | None
    interval: Interval | None
    within_ratio: float | None
    many: float | None
    many_interval: Interval | None


@dataclass(frozen=True)
class Estimated:
    """One estimator's figures.

    Attributes:
        pooled: paired, with_replacement and stratified traces.
        against: with_replacement and stratified.
        fresh: unbiased within-task ratio against fresh schedules, None for SW, whose rule is no polynomial.
        fresh_interval: over tasks.
        fresh_paired, fresh_independent: the two mean within-task traces behind it.
        mean_cosine: cosine between the mean updates of the paired and the with-replacement groups.
    """

    pooled: dict[str, Pooled]
    against: dict[str, Compared]
    fresh: float | None
    fresh_interval: Interval | None
    fresh_paired: float
    fresh_independent: float | None
    mean_cosine: float | None


@dataclass(frozen=True)
class Luck:
    """The luck share of the same rollouts.

    Attributes:
        share: mean over tasks where it is defined, None where it is nowhere. undefined: tasks without any variance.
        null_bias: what the clipped estimator would average at this success rate if schedules did nothing.
        contrast_paired, contrast_independent: twice the mean within-group variance of the rewards.
        matching_replicates: independent contrasts that match a paired one's variance.
        effective_size_of_mean: independent rollouts that a paired group is worth for the mean reward.
        design_effect: variance of the mean reward of a batch of paired groups over that of independent rollouts.
    """

    share: float | None
    undefined: int
    null_bias: float | None
    contrast_paired: float
    contrast_independent: float
    matching_replicates: float | None
    effective_size_of_mean: float | None
    design_effect: float | None


@dataclass(frozen=True)
class TransitionFigures:
    """All figures of a transition probe.

    Attributes:
        success_rate: of the rollouts under faults.
        estimators: MC and SW.
        luck: of the same rollouts.
        groups: comparator groups drawn from each Gram matrix.
        notes: what could not be said, and why.
    """

    success_rate: float
    estimators: dict[Name, Estimated]
    luck: Luck
    groups: int
    notes: tuple[str, ...]


def fixed_groups(evidence: Evidence, unit: int) -> dict[str, Rows]:
    """The groups of one task whose indices the evidence holds, and the paired ones."""
    spec = evidence.spec
    return {
        "paired": paired_rows(spec.schedules, spec.samples),
        **{name: evidence.arrays[name][unit].astype(np.intp) for name in COMPARED[1:]},
    }


def figures(evidence: Evidence, *, groups: int = GROUPS, resamples: int = 10_000) -> TransitionFigures:
    """Every figure of a transition probe.

    Args:
        evidence: of kind transition.
        groups: comparator groups to draw from each Gram matrix.
        resamples: of tasks, for intervals.

    Raises:
        ConfigError: evidence of another kind.
    """
    spec = evidence.spec
    if spec.kind != "transition":
        raise ConfigError("not evidence of a transition probe", where=Where(field="kind"), found=spec.kind)
    both = scales(
        evidence.floats("log_ratios"), evidence.floats("own_tokens"), spec.samples, spec.importance, spec.cap
    )
    notes: list[str] = []
    estimators = {name: _estimated(evidence, both[name], groups, resamples) for name in NAMES}
    if evidence.record.vectors == "running":
        notes.append("running vectors alone: pooled ratios have no interval over tasks")
    return TransitionFigures(
        float(evidence.floats("successes").mean()), estimators, _luck(evidence), groups, tuple(notes)
    )


def _estimated(evidence: Evidence, scale: Scale, groups: int, resamples: int) -> Estimated:
    spec = evidence.spec
    drawn = drawn_units(spec, spec.tasks, resamples)
    seconds, lengths = _fixed(evidence, scale)
    pooled = {
        design: Pooled(
            float((seconds[design] - lengths[design]).mean()),
            float(lengths[design].mean()) - _mean_square(evidence, scale.name, design),
        )
        for design in COMPARED
    }
    many = _many(evidence, scale, groups)
    against = {}
    for design in COMPARED[1:]:
        interval = None
        if evidence.record.vectors == "each":
            interval = percentile(
                *(_resampled(evidence, scale.name, name, seconds[name], drawn) for name in ("paired", design))
            )
        against[design] = Compared(
            _over(pooled["paired"].trace, pooled[design].trace),
            interval,
            _over(pooled["paired"].within, pooled[design].within),
            _over(float(many["paired"].sum()), float(many[design].sum())),
            _over_tasks(evidence, many["paired"], many[design], resamples),
        )
    fresh = many.get("fresh")
    return Estimated(
        pooled,
        against,
        None if fresh is None else _over(float(many["paired"].sum()), float(fresh.sum())),
        None if fresh is None else _over_tasks(evidence, many["paired"], fresh, resamples),
        float(many["paired"].mean()),
        None if fresh is None else float(fresh.mean()),
        _cosine(evidence, scale.name),
    )


def _over_tasks(evidence: Evidence, above: Array, below: Array, resamples: int) -> Interval | None:
    """The interval of a ratio of summed within-task traces; None for one task, or nothing to divide by."""
    if above.size < 2 or below.sum() <= 0:
        return None
    rng = generator(evidence.spec, "tasks")
    return of_ratio(pools.task_bootstrap(above, below, rng=rng, resamples=resamples))


def _over(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def _fixed(evidence: Evidence, scale: Scale) -> tuple[dict[str, Array], dict[str, Array]]:
    """Per task: mean squared length of the fixed groups' gradients, and squared length of their mean."""
    gram, rewards = evidence.floats("gram"), evidence.floats("successes")
    seconds: dict[str, list[float]] = {design: [] for design in COMPARED}
    lengths: dict[str, list[float]] = {design: [] for design in COMPARED}
    for unit in range(evidence.spec.tasks):
        for design, rows in fixed_groups(evidence, unit).items():
            levers = group_levers(rewards[unit], rows, scale, unit)
            laid = np.zeros((len(rows), gram.shape[1]))
            np.add.at(laid, (np.arange(len(rows))[:, None], rows), levers)
            products = laid @ gram[unit]
            seconds[design].append(float((products * laid).sum()) / len(rows))
            mean = laid.mean(axis=0)
            lengths[design].append(float(mean @ gram[unit] @ mean))
    return (
        {design: np.array(values) for design, values in seconds.items()},
        {design: np.array(values) for design, values in lengths.items()},
    )


def _channel(name: Name, design: str) -> int:
    return COMPARED.index(design) * len(NAMES) + NAMES.index(name)


def _products(evidence: Evidence, name: Name, first: str, second: str) -> Array:
    """Inner products of the tasks' mean gradients under two designs, (T, T), or of their totals, (1, 1)."""
    one, two = _channel(name, first), _channel(name, second)
    units = evidence.spec.tasks if evidence.record.vectors == "each" else 1
    block: Array = evidence.floats("cross")[one * units : (one + 1) * units, two * units : (two + 1) * units]
    return block


def _mean_square(evidence: Evidence, name: Name, design: str) -> float:
    return float(_products(evidence, name, design, design).sum()) / evidence.spec.tasks**2


def _cosine(evidence: Evidence, name: Name) -> float | None:
    across = float(_products(evidence, name, "paired", "with_replacement").sum())
    squares = [float(_products(evidence, name, one, one).sum()) for one in ("paired", "with_replacement")]
    return across / float(np.sqrt(squares[0] * squares[1])) if min(squares) > 0 else None


def _resampled(evidence: Evidence, name: Name, design: str, seconds: Array, drawn: Array) -> Array:
    units = evidence.spec.tasks
    mean = np.einsum("ni,ni->n", drawn @ _products(evidence, name, design, design), drawn) / units**2
    traces: Array = drawn @ seconds / units - mean
    return traces


def _many(evidence: Evidence, scale: Scale, groups: int) -> Mapping[str, Array]:
    """Unbiased within-task traces: paired, both resampled comparators, and `fresh` where it exists."""
    spec, rule = evidence.spec, rule_of(scale.name)
    rng = generator(spec, f"comparators of {scale.name}")
    gram, rewards = evidence.floats("gram"), evidence.floats("successes")
    found: dict[str, list[float]] = {}
    for unit in range(spec.tasks):
        weights = scale.weights[unit] * (spec.samples / scale.divisor)
        pool = Pool(
            rewards[unit].reshape(spec.schedules, spec.samples), gram[unit] * np.outer(weights, weights)
        )
        found.setdefault("paired", []).append(pools.paired(pool, rule).trace)
        found.setdefault("with_replacement", []).append(
            pools.regrouped(pool, spec.samples, rule, groups=groups, rng=rng).trace
        )
        found.setdefault("stratified", []).append(
            pools.regrouped(pool, spec.samples, rule, groups=groups, rng=rng, scheme="stratified").trace
        )
        if scale.name == "MC":
            found.setdefault("fresh", []).append(pools.independent(pool, spec.samples).trace)
    return {name: np.array(values) for name, values in found.items()}


def _null(evidence: Evidence, rate: float) -> luck_null.Expected:
    """What the clipped estimator averages if schedules do nothing: exact, or simulated for too large a table."""
    spec = evidence.spec
    if spec.rows <= luck_null.MOST_CELLS:
        return luck_null.binary(rate, spec.schedules, spec.samples)

    def table(rng: np.random.Generator, schedules: int, samples: int) -> Array:
        return (rng.random((schedules, samples)) < rate).astype(np.float64)

    rng = generator(spec, "null of the luck share")
    return luck_null.simulated(table, spec.schedules, spec.samples, tables=2000, rng=rng, truth=0.0)


def _luck(evidence: Evidence) -> Luck:
    spec = evidence.spec
    tables = evidence.floats("successes").reshape(spec.tasks, spec.schedules, spec.samples)
    mean = luck.mean_luck(tables)
    rate = float(tables.mean())
    null = _null(evidence, rate) if 0.0 < rate < 1.0 else None
    drawn = [
        tables[unit].ravel()[fixed_groups(evidence, unit)["with_replacement"]] for unit in range(spec.tasks)
    ]
    return Luck(
        mean.share,
        mean.undefined,
        None if null is None else null.bias,
        2.0 * float(tables.var(axis=2, ddof=1).mean()),
        2.0 * float(np.mean([one.var(axis=1, ddof=1).mean() for one in drawn])),
        None if mean.share is None else luck.matching_replicates(mean.share),
        None if mean.share is None else luck.effective_size_of_mean(spec.samples, mean.share),
        None
        if mean.share is None
        else diversity.of_batch(spec.tasks, spec.samples).design_effect(mean.share),
    )
