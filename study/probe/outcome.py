"""The outcome probe's figures: grader flips on clean groups, from the evidence alone.

Conditional on a clean group every moment over the flips is exact; what is left to chance is which rollouts the policy
sampled. Traces over all groups are the mask part plus the variance of the conditional means over groups with 1/n, as
the paper reports them; that variance holds policy sampling as well as differences of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import ConfigError
from study.probe.alignment import Alignment, measured
from study.probe.estimators import NAMES, Name, Scale, rule_of, scales
from study.probe.evidence import Evidence
from study.probe.intervals import Interval, drawn_units, percentile
from study.theory import coupling, covariance_law, enumeration, equation5, geometry, rates
from study.theory.advantages import DDOF, EPS, MeanCentred, Rule
from study.theory.closed_forms import FlipMoments, flip_moments
from study.theory.decomposition import Decomposition, decompose
from study.theory.designs import Design, Independent, Paired
from study.theory.geometry import Geometry

Array = npt.NDArray[np.float64]

MOST_MASKS = 12
"""Up to this G every mask is enumerated as well."""


@dataclass(frozen=True)
class Estimated:
    """One estimator's figures, in squared score units.

    Attributes:
        left, right: the two sides of Eq. 5, averaged over groups; with SW, of the weighted scores.
        ratio_of_sides: L/R, None where R is 0. sides_interval: its interval over tasks.
        independent, paired: traces in two parts.
        ratio: paired over independent trace, None where nothing varies. ratio_interval: over tasks, None where only
            running vectors were kept.
        standard_error: of the ratio, over resampled tasks.
        mask_ratio: ratio of the mask parts; L/R for MC.
        mean_cosine: cosine between the two designs' mean updates, None where one of them is 0.
        effective_weights: mean weight that is not 0. masked: share of weights that are 0.
        favourable: groups in which pairing lowers the mask part, L/R below this rule's threshold; undecided ones (at
            most one success) are left out. decided: groups with at least two successes.
    """

    left: float
    right: float
    ratio_of_sides: float | None
    sides_interval: Interval | None
    independent: Decomposition
    paired: Decomposition
    ratio: float | None
    ratio_interval: Interval | None
    standard_error: float | None
    mask_ratio: float | None
    mean_cosine: float | None
    effective_weights: float | None
    masked: float
    favourable: int
    decided: int


@dataclass(frozen=True)
class Dose:
    """Partial pairing: blocks of rollouts share a schedule.

    Attributes:
        block: rollouts of a block. dose: chance that two rollouts of a group share a schedule.
        mask: mean mask part under MC.
    """

    block: int
    dose: float
    mask: float


@dataclass(frozen=True)
class TwoSided:
    """A grader that also passes failures, under MC: mean conditional traces over groups.

    Attributes:
        false_rate: chance that a failure is reported as a success.
        paired, independent: mask parts when q of the successes and this share of the failures flip.
        ratio: paired over independent, None where nothing varies.
    """

    false_rate: float
    paired: float
    independent: float
    ratio: float | None


@dataclass(frozen=True)
class Spurious:
    """All-correct groups under flips.

    Attributes:
        groups: how many groups there are. all_correct: how many of them are all correct. mixed: how many have both
            outcomes.
        chance_independent, chance_paired: that an all-correct group shows variance.
        share_independent, share_paired: share of the expected squared standardised advantages that all-correct groups
            carry, None where nobody carries any.
        lost_independent, lost_paired: mean chance that a mixed group loses its contrast, None without one.
    """

    groups: int
    all_correct: int
    mixed: int
    chance_independent: float
    chance_paired: float
    share_independent: float | None
    share_paired: float | None
    lost_independent: float | None
    lost_paired: float | None


@dataclass(frozen=True)
class OutcomeFigures:
    """All figures of an outcome probe.

    Attributes:
        flip_rate: q. eps, ddof: of the standardisation.
        success_rate: of the sampled rollouts.
        estimators: MC and SW.
        holds: L < R under MC.
        gap: paired minus independent trace under MC, without Eq. 5: by enumerating masks, or by the covariance law.
        gap_by: which of the two.
        residual: the gap against q(1-q)(L - R), relative to q(1-q)(L + R).
        alignment: how far scores point where rewards do.
        spurious: all-correct groups.
        doses: partial pairing, from independent to paired.
        best: mean mask part under MC of the best exchangeable coupling, chosen group by group.
        two_sided: the same groups under a grader that also passes failures, None unless asked for.
        notes: what could not be said, and why.
    """

    flip_rate: float
    eps: float
    ddof: int
    success_rate: float
    estimators: dict[Name, Estimated]
    holds: bool
    gap: float
    gap_by: str
    residual: float
    alignment: Alignment
    spurious: Spurious
    doses: tuple[Dose, ...]
    best: float
    two_sided: TwoSided | None
    notes: tuple[str, ...]


def figures(
    evidence: Evidence,
    *,
    flip_rate: float | None = None,
    eps: float = EPS,
    ddof: int = DDOF,
    false_rate: float | None = None,
    resamples: int = 10_000,
) -> OutcomeFigures:
    """Every figure of an outcome probe.

    Args:
        evidence: of kind outcome.
        flip_rate: q in (0, 1); the registered one unless given.
        eps: of the standardisation.
        ddof: 0 or 1.
        false_rate: of a grader that also passes failures, in [0, 1]; None leaves that figure out.
        resamples: of tasks, for intervals.

    Raises:
        ConfigError: evidence of another kind, or a setting that its running vectors do not serve.
    """
    spec = evidence.spec
    if spec.kind != "outcome":
        raise ConfigError("not evidence of an outcome probe", where=Where(field="kind"), found=spec.kind)
    rate = spec.flip_rate if flip_rate is None else flip_rate
    if not 0.0 < rate < 1.0:
        raise ConfigError("the flip rate", expected="strictly between 0 and 1", found=rate)
    running = evidence.record.vectors == "running"
    if running and (rate, eps, ddof) != (spec.flip_rate, EPS, DDOF):
        raise ConfigError(
            "this evidence holds running vectors, which serve the registered setting alone",
            expected=f"q = {spec.flip_rate:g}, eps = {EPS:g}, ddof = {DDOF}",
            found=f"q = {rate:g}, eps = {eps:g}, ddof = {ddof}",
        )
    successes, gram = evidence.floats("successes"), evidence.floats("gram")
    both = scales(
        evidence.floats("log_ratios"), evidence.floats("own_tokens"), spec.samples, spec.importance, spec.cap
    )
    notes: list[str] = []
    estimators = {
        name: _estimated(evidence, both[name], rule_of(name, eps, ddof), rate, resamples, notes)
        for name in NAMES
    }
    groups = _geometries(gram, successes, both["MC"])
    gap, road = _gap(gram, successes, rate)
    sides = equation5.sides(groups)
    alignment = measured(gram, successes)
    if alignment.unclipped is not None and alignment.unclipped != alignment.value:
        notes.append(f"alignment {alignment.unclipped:.4g} was held to [0, 1]")
    counts = successes.sum(axis=1).astype(int)
    return OutcomeFigures(
        rate,
        eps,
        ddof,
        float(successes.mean()),
        estimators,
        sides.holds,
        gap,
        road,
        equation5.residual(gap, sides, rate),
        alignment,
        spurious(counts, spec.samples, rate, rule_of("SW", eps, ddof)),
        _doses(groups, rate),
        float(np.mean([coupling.best_exchangeable(group, rate).best.trace for group in groups])),
        None if false_rate is None else _two_sided(gram, successes, rate, false_rate),
        tuple(notes),
    )


def _geometries(gram: Array, successes: Array, scale: Scale) -> list[Geometry]:
    return [
        geometry.of_gram(one, outcome, weights, scale.divisor)
        for one, outcome, weights in zip(gram, successes, scale.weights, strict=True)
    ]


def _doses(groups: list[Geometry], rate: float) -> tuple[Dose, ...]:
    each = [coupling.dose_response(group, rate) for group in groups]
    size = groups[0].size
    return tuple(
        Dose(
            block,
            coupling.pair_rate([block] * (size // block)),
            float(np.mean([one[block].trace for one in each])),
        )
        for block in each[0]
    )


def _two_sided(gram: Array, successes: Array, rate: float, false_rate: float) -> TwoSided:
    paired, independent = (
        float(
            np.mean(
                [
                    covariance_law.moments(one, covariance_law.two_sided(r, rate, false_rate, sharing)).trace
                    for one, r in zip(gram, successes, strict=True)
                ]
            )
        )
        for sharing in (1.0, 0.0)
    )
    return TwoSided(false_rate, paired, independent, paired / independent if independent > 0 else None)


def _favourable(groups: list[Geometry], rate: float, rule: Rule) -> tuple[int, int]:
    """(groups whose L/R lies below the rule's threshold, groups that have a threshold)."""
    limits = [(group, equation5.threshold(group.successes, group.size, rate, rule)) for group in groups]
    decided = [(group.ratio, limit) for group, limit in limits if limit is not None]
    return sum(ratio is not None and ratio < limit for ratio, limit in decided), len(decided)


def _gap(gram: Array, successes: Array, rate: float) -> tuple[float, str]:
    """Mean over groups of the paired minus the independent trace, by a road that knows nothing of Eq. 5."""
    size = successes.shape[1]
    if size <= MOST_MASKS:
        roads = [(_by_masks(one, r, rate, Paired()), _by_masks(one, r, rate, Independent()))
                 for one, r in zip(gram, successes, strict=True)]  # fmt: skip
        return float(np.mean([shared - apart for shared, apart in roads])), "masks"
    laws = [
        covariance_law.moments(one, covariance_law.one_sided(r, rate, sharing)).trace
        for one, r in zip(gram, successes, strict=True)
        for sharing in (1.0, 0.0)
    ]
    return float(np.mean(np.subtract(laws[0::2], laws[1::2]))), "covariance law"


def _by_masks(gram: Array, successes: Array, rate: float, design: Design) -> float:
    """The conditional trace under MC, mask by mask; centred on the mean lever, so no digits cancel."""
    levers, laws = [], []
    for rewards, law in enumeration.masks(successes, rate, design):
        levers.append(MeanCentred().advantages(rewards) / successes.size)
        laws.append(law)
    lever, weight = np.concatenate(levers), np.concatenate(laws)
    away = lever - weight @ lever
    return float(np.einsum("m,mi,ij,mj->", weight, away, gram, away, optimize=True))


def _estimated(
    evidence: Evidence, scale: Scale, rule: Rule, rate: float, resamples: int, notes: list[str]
) -> Estimated:
    gram, successes = evidence.floats("gram"), evidence.floats("successes")
    groups = _geometries(gram, successes, scale)
    sides = equation5.sides(groups)
    moments = {
        design.name: [flip_moments(g, rate, design, rule) for g in groups]
        for design in (Independent(), Paired())
    }
    products = _mean_products(evidence, scale.name, moments, rate)
    apart = decompose(moments["independent"], products[0, 0])
    shared = decompose(moments["paired"], products[1, 1])
    lengths = np.sqrt(np.diagonal(products))
    cosine = float(products[0, 1] / (lengths[0] * lengths[1])) if (lengths > 0).all() else None
    drawn = drawn_units(evidence.spec, len(groups), resamples)
    left, right = (np.array([getattr(g, side) for g in groups]) for side in ("left", "right"))
    sides_interval = percentile(drawn @ left, drawn @ right)
    ratios = None
    if evidence.record.vectors == "each":
        ratios = percentile(
            *(
                _resampled(evidence, scale.name, moments[design], drawn)
                for design in ("paired", "independent")
            )
        )
    elif scale.name == "MC":
        notes.append("running vectors alone: the trace ratio has no interval over tasks")
    nonzero = scale.weights[scale.weights > 0]
    favourable, decided = _favourable(groups, rate, rule)
    return Estimated(
        sides.left,
        sides.right,
        sides.ratio,
        sides_interval,
        apart,
        shared,
        shared.trace / apart.trace if apart.trace > 0 else None,
        ratios,
        None if ratios is None else ratios.standard_error,
        shared.mask / apart.mask if apart.mask > 0 else None,
        cosine,
        float(nonzero.mean()) if nonzero.size else None,
        float((scale.weights == 0).mean()),
        favourable,
        decided,
    )


def _mean_products(
    evidence: Evidence, name: Name, moments: dict[str, list[FlipMoments]], rate: float
) -> Array:
    """Inner products of the two designs' mean updates, (independent, paired), shape (2, 2)."""
    cross, units = evidence.floats("cross"), evidence.spec.tasks
    if evidence.record.vectors == "each":
        block = _clean_block(evidence, name)
        lengths = np.array([[one.length for one in moments[design]] for design in ("independent", "paired")])
        products: Array = lengths @ block @ lengths.T / units**2
        return products
    if name == "MC":
        return np.full((2, 2), (1.0 - rate) ** 2 * cross[0, 0] / units**2)
    held: Array = cross[1:, 1:] / units**2
    return held


def _clean_block(evidence: Evidence, name: Name) -> Array:
    units, at = evidence.spec.tasks, NAMES.index(name)
    block: Array = evidence.floats("cross")[at * units : (at + 1) * units, at * units : (at + 1) * units]
    return block


def _resampled(evidence: Evidence, name: Name, moments: list[FlipMoments], drawn: Array) -> Array:
    """The whole trace of each resample of units, shape (resamples,)."""
    units = len(moments)
    length = np.array([one.length for one in moments])
    products = _clean_block(evidence, name) * np.outer(length, length)
    second = drawn @ np.array([one.trace + one.mean_square for one in moments]) / units
    mean = np.einsum("ni,ni->n", drawn @ products, drawn) / units**2
    traces: Array = second - mean
    return traces


def spurious(counts: npt.ArrayLike, size: int, rate: float, rule: Rule) -> Spurious:
    """What flips do to the contrasts of these groups.

    Args:
        counts: successes of each group.
        size: G.
        rate: q.
        rule: the standardised rule.
    """
    values = np.asarray(counts, dtype=int)
    mass = np.array([rates.advantage_mass(m, size, rule) for m in range(size + 1)])
    shares: list[float | None] = []
    lost: list[float | None] = []
    chances = []
    mixed = values[(values > 0) & (values < size)]
    for design in (Independent(), Paired()):
        expected = np.array([float(design.kept(k, size, rate) @ mass[: k + 1]) for k in range(size + 1)])
        total = float(expected[values].sum())
        shares.append(float(expected[values[values == size]].sum()) / total if total > 0 else None)
        gone = [rates.lost_contrast(int(k), size, rate, design) for k in mixed]
        lost.append(float(np.mean(gone)) if gone else None)
        chances.append(rates.spurious(size, rate, design))
    return Spurious(
        int(values.size), int((values == size).sum()), int(mixed.size), chances[0], chances[1], shares[0], shares[1],
        lost[0], lost[1],
    )  # fmt: skip
