"""Fresh-draw traces from a pool of rollouts under several schedules, without drawing comparator groups.

A task has M rollouts under each of W schedules: rewards (W, M), scores known by their Gram matrix. The
paired group of schedule w is its M rollouts. The independent design would draw G fresh schedules with one
rollout each. Its moments are polynomials in moments of (R, S): with U = sum R_i S_i, P = sum R_i, Q = sum
S_i, g = (U - P Q / G)/G, and

    E||g||^2 = (E||U||^2 - (2/G) E[P U.Q] + (1/G^2) E[P^2 ||Q||^2]) / G^2

where each expectation splits by which indices coincide. Averages over rollouts of *different* schedules
estimate each factor without bias, so the result is unbiased for fresh schedules and fresh samples, for any
G, from four schedules up. Regrouping the pool (labels with replacement) instead reuses rollouts and needs
simulation; `regrouped` does that for rules that are not polynomial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.theory import conditions
from study.theory.advantages import MeanCentred, Rule
from study.theory.closed_forms import Moments
from study.theory.conditions import Array

Scheme = Literal["with-replacement", "stratified"]

MOST_SCHEDULES = 24


@dataclass(frozen=True)
class Pool:
    """One task's rollouts, schedule by schedule.

    Attributes:
        rewards: R, shape (W, M), W >= 2 schedules, M >= 1 rollouts under each.
        gram: inner products of the (weighted) scores, shape (W M, W M), rows in the order of rewards.ravel().
    """

    rewards: Array
    gram: Array

    def __post_init__(self) -> None:
        rewards = conditions.numbers(self.rewards, "rewards", 2)
        products = conditions.gram(self.gram)
        if rewards.shape[0] < 2 or rewards.size != products.shape[0]:
            raise TheoryError(
                "the pool's shapes do not match",
                where=Where(field="gram"),
                expected=f"W >= 2 schedules and a Gram of {rewards.size} rows",
                found=(rewards.shape, products.shape),
            )


@dataclass(frozen=True)
class Estimated(Moments):
    """Estimated moments; `mean_square` and so `trace` may come out negative when the truth is near 0.

    Attributes:
        plug_in: the trace with n^-1 over groups, which the paper reports; None where no groups were formed.
    """

    plug_in: float | None = None


def paired(pool: Pool, rule: Rule | None = None) -> Estimated:
    """Moments of the paired design, group = all M rollouts of a schedule; unbiased for fresh schedules.

    ||E g||^2 is estimated from products of different schedules' gradients. The plug-in trace with n^-1 is
    too small by the factor (W-1)/W: 7/8 with 8 schedules.

    Raises:
        TheoryError: fewer than two rollouts under a schedule.
    """
    schedules, samples = pool.rewards.shape
    size = conditions.group_size(samples)
    chosen = rule if rule is not None else MeanCentred()
    levers = chosen.advantages(pool.rewards) / size
    blocks = pool.gram.reshape(schedules, samples, schedules, samples)
    products = np.einsum("wi,wivj,vj->wv", levers, blocks, levers)
    second = float(np.trace(products)) / schedules
    cross = float(products.sum() - np.trace(products)) / (schedules * (schedules - 1))
    return Estimated(second, cross, second - cross, second - float(products.sum()) / schedules**2)


def independent(pool: Pool, size: int) -> Estimated:
    """Moments of the mean-centred estimator with G fresh schedules, unbiased, in closed form.

    Costs O((W M)^2 + W^4).

    Args:
        pool: at least 4 and at most 24 schedules.
        size: G >= 2; it need not be W or M.

    Raises:
        TheoryError: too few or too many schedules.
    """
    schedules, samples = pool.rewards.shape
    conditions.whole(schedules, "schedules", 4, MOST_SCHEDULES)
    group = conditions.group_size(size)
    mean_r = pool.rewards.mean(axis=1)
    mean_r2 = (pool.rewards**2).mean(axis=1)
    norms = np.diagonal(pool.gram).reshape(schedules, samples)
    norm = [(pool.rewards**power * norms).mean(axis=1) for power in range(3)]
    blocks = pool.gram.reshape(schedules, samples, schedules, samples)
    # dot[a][b][w, v] = (mean of R^a S under w) . (mean of R^b S under v)
    powers = [pool.rewards**power / samples for power in range(3)]
    right = [np.einsum("wivj,vj->wiv", blocks, power) for power in powers]
    dot = [[np.einsum("wi,wiv->wv", left, half) for half in right] for left in powers]

    apart2 = _distinct(schedules, 2)
    apart3 = _distinct(schedules, 3)
    apart4 = _distinct(schedules, 4)
    alone = float(norm[2].mean())
    both_rs = float((apart2 * dot[1][1]).sum())
    r_rnorm = float(np.einsum("wv,w,v->", apart2, mean_r, norm[1]))
    r2s_s = float((apart2 * dot[2][0]).sum())
    r2_norm = float(np.einsum("wv,w,v->", apart2, mean_r2, norm[0]))
    r_rs_s = float(np.einsum("uwv,u,wv->", apart3, mean_r, dot[1][0]))
    r2_s_s = float(np.einsum("uwv,u,wv->", apart3, mean_r2, dot[0][0]))
    rr_norm = float(np.einsum("uwv,u,w,v->", apart3, mean_r, mean_r, norm[0]))
    rr_s_s = float(np.einsum("tuwv,t,u,wv->", apart4, mean_r, mean_r, dot[0][0]))

    one, two = group, group * (group - 1)
    three, four = two * (group - 2), two * (group - 2) * (group - 3)
    u_u = one * alone + two * both_rs
    p_u_q = one * alone + two * (r_rnorm + r2s_s + both_rs) + three * r_rs_s
    p_p_q_q = (
        one * alone
        + two * (r2_norm + 2 * both_rs + 2 * r2s_s + 2 * r_rnorm)
        + three * (r2_s_s + rr_norm + 4 * r_rs_s)
        + four * rr_s_s
    )
    second = (u_u - 2 * p_u_q / group + p_p_q_q / group**2) / group**2
    mean_square = ((group - 1) / group) ** 2 * (both_rs - 2 * r_rs_s + rr_s_s)
    return Estimated(second, mean_square, second - mean_square)


def _distinct(count: int, order: int) -> Array:
    """Weights of an average over ordered tuples of distinct schedules, shape (count,) * order."""
    grids = np.indices((count,) * order)
    keep = np.ones((count,) * order, dtype=bool)
    for first in range(order):
        for second in range(first + 1, order):
            keep &= grids[first] != grids[second]
    weights: Array = keep / keep.sum()
    return weights


def regrouped(
    pool: Pool,
    size: int,
    rule: Rule | None = None,
    *,
    groups: int,
    rng: np.random.Generator,
    scheme: Scheme = "with-replacement",
) -> Estimated:
    """Moments over groups drawn from the pool, as the paper's comparator forms them.

    `with-replacement` draws G schedule labels with replacement, then distinct rollouts within a label;
    `stratified` draws G different labels and one rollout under each. From the Gram matrix 10^5 groups cost
    seconds. The trace divides by n - 1, the plug-in by n; both describe the pool, not fresh draws.

    Args:
        pool: the task's rollouts.
        size: G >= 2; at most W when stratified.
        rule: the advantage rule; mean-centred unless given.
        groups: how many groups, at least 2.
        rng: the only source of chance.
        scheme: how labels are drawn.

    Raises:
        TheoryError: an unknown scheme, or one that needs more schedules or rollouts than there are.
    """
    group = conditions.group_size(size)
    count = conditions.whole(groups, "groups", 2)
    chosen = rule if rule is not None else MeanCentred()
    rows = regrouped_rows(pool.rewards.shape, group, count, rng, scheme)
    levers = chosen.advantages(pool.rewards.ravel()[rows]) / group
    total = np.zeros(pool.rewards.size)
    np.add.at(total, rows, levers)
    squares = 0.0
    for start in range(0, count, 4096):
        part = slice(start, start + 4096)
        block = pool.gram[rows[part][:, :, None], rows[part][:, None, :]]
        squares += float(np.einsum("ni,nij,nj->", levers[part], block, levers[part]))
    second = squares / count
    square_of_mean = float(total @ pool.gram @ total) / count**2
    plug_in = second - square_of_mean
    trace = plug_in * count / (count - 1)
    return Estimated(second, second - trace, trace, plug_in)


def regrouped_rows(
    shape: tuple[int, ...], group: int, count: int, rng: np.random.Generator, scheme: Scheme
) -> npt.NDArray[np.intp]:
    """Which rollouts each comparator group holds, shape (count, group), as `regrouped` draws them.

    Args:
        shape: (W, M) of the pool.
        group: G; at most W when stratified, at most M otherwise.
        count: groups.
        rng: the only source of chance.
        scheme: how labels are drawn.

    Raises:
        TheoryError: an unknown scheme, or one that needs more schedules or rollouts than there are.
    """
    schedules, samples = shape
    if scheme == "stratified":
        conditions.whole(group, "group size", 2, schedules)
        labels = rng.random((count, schedules)).argsort(axis=1)[:, :group]
        return labels * samples + rng.integers(samples, size=labels.shape)
    if scheme != "with-replacement":
        raise TheoryError(
            "unknown scheme",
            where=Where(field="scheme"),
            expected="with-replacement or stratified",
            found=scheme,
        )
    conditions.whole(group, "group size", 2, samples)
    labels = rng.integers(schedules, size=(count, group))
    # Place j takes the j-th of a fresh order of its label's rollouts: places differ, so rollouts under a label do too.
    orders = rng.random((count, schedules, samples)).argsort(axis=2)
    picks = orders[np.arange(count)[:, None], labels, np.arange(group)]
    rows: npt.NDArray[np.intp] = labels * samples + picks
    return rows


@dataclass(frozen=True)
class Ratio:
    """Paired over independent trace, summed over tasks, with a percentile interval from a task bootstrap."""

    value: float
    lower: float
    upper: float
    level: float
    resamples: int


def task_bootstrap(
    paired_traces: npt.ArrayLike,
    independent_traces: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Ratio:
    """Interval of the ratio of summed traces, tasks resampled as (paired, independent) pairs.

    Args:
        paired_traces: one unbiased within-task trace per task, shape (T,), T >= 2.
        independent_traces: the same tasks under the other design, shape (T,).
        rng: the only source of chance.
        resamples: how many, at least 100.
        level: in (0, 1).

    Raises:
        TheoryError: shapes that do not match, or a sum of independent traces that is not positive.
    """
    top = conditions.numbers(paired_traces, "paired traces", 1)
    bottom = conditions.numbers(independent_traces, "independent traces", 1)
    if top.shape != bottom.shape or top.size < 2:
        raise TheoryError(
            "not the same tasks",
            where=Where(field="independent traces"),
            expected=f"shape {top.shape}, at least 2 tasks",
            found=bottom.shape,
        )
    if bottom.sum() <= 0:
        raise TheoryError(
            "no variance to compare with",
            where=Where(field="independent traces"),
            expected="a positive sum",
            found=float(bottom.sum()),
        )
    count = conditions.whole(resamples, "resamples", 100)
    tail = (1.0 - conditions.probability(level, "level")) / 2.0
    drawn = rng.multinomial(top.size, np.full(top.size, 1.0 / top.size), size=count)
    below = drawn @ bottom
    ratio = np.divide(drawn @ top, below, out=np.full(count, np.inf), where=below > 0)
    lower, upper = np.quantile(ratio, [tail, 1.0 - tail], method="inverted_cdf")
    return Ratio(float(top.sum() / bottom.sum()), float(lower), float(upper), level, count)
