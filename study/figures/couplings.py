"""The dose of pairing: mask variance from balanced flips over separate ones to a schedule shared by all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prereg_kit.errors import Where
from study.errors import TheoryError
from study.figures import canvas
from study.theory.advantages import MeanCentred, Rule, Standardised
from study.theory.alignment import Policy
from study.theory.closed_forms import flip_moments
from study.theory.designs import Balanced, Blocks, Design, Independent, Paired, binomial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Marks = tuple[str, str, str]

_LINES: tuple[tuple[float, Marks], ...] = (
    (1.0, (canvas.VERMILLION, "s", "-")),
    (0.16, (canvas.INK, "o", "--")),
    (0.0, (canvas.BLUE, "^", "-")),
)
_WORDS = {1.0: "aligned (the bandit)", 0.16: "alignment 0.16, where L = R", 0.0: "orthogonal scores"}


@dataclass(frozen=True)
class Dose:
    """One design: its name, Cov(F_i, F_j) over q(1-q), and the mask variance over that of separate flips."""

    name: str
    dose: float
    relative: float


def doses(policy: Policy, flip_rate: float, rule: Rule) -> list[Dose]:
    """Balanced, then blocks of every size that divides G, from 1 (separate) to G (paired).

    Raises:
        TheoryError: q = 0 or q = 1, where the designs tie.
    """
    size = policy.size
    blocks = [c for c in range(2, size) if size % c == 0]
    if not 0.0 < flip_rate < 1.0:
        raise TheoryError(
            "the designs tie",
            where=Where(field="flip rate"),
            expected="strictly between 0 and 1",
            found=flip_rate,
        )
    designs: list[tuple[str, Design]] = [("balanced", Balanced()), ("separate", Independent())]
    designs += [(f"blocks of {c}", Blocks(c)) for c in blocks]
    designs.append(("paired", Paired()))
    law = binomial(size, policy.success_rate)
    groups = policy.geometries()

    def mask(design: Design) -> float:
        moments = [flip_moments(group, flip_rate, design, rule).trace for group in groups]
        return sum(float(chance) * trace for chance, trace in zip(law, moments, strict=True))

    base = mask(Independent())
    scale = flip_rate * (1.0 - flip_rate)
    return [
        Dose(name, one.pair_covariance(size, flip_rate) / scale, mask(one) / base) for name, one in designs
    ]


def draw(flip_rate: float = 0.1) -> Figure:
    """Mean-centred and standardised, orthogonal to aligned scores: G = 8, p = 1/2, the bandit's."""
    size, success_rate = 8, 0.5
    figure = canvas.new(11.0, 4.6)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, title, rule in (
        (axes[0], "a  Mean-centred: a straight line", MeanCentred()),
        (axes[1], "b  Standardised", Standardised()),
    ):
        _panel(axis, rule, size, flip_rate, success_rate)
        axis.set_title(title, pad=24)
    axes[0].set_ylim(0.0, 1.04 * max(axis.dataLim.y1 for axis in axes))
    axes[0].set_ylabel("mask variance, relative to separate flips")
    axes[0].legend(loc="upper left", frameon=False, fontsize=8.5)
    figure.supxlabel("covariance of two siblings' flips, over q(1-q)", fontsize=9)
    figure.suptitle(
        f"A little pairing does a little: G = {size}, q = {flip_rate:g}, p = {success_rate:g}",
        x=0.01, ha="left", fontsize=12, fontweight="bold",
    )  # fmt: skip
    return figure


def _panel(axis: Axes, rule: Rule, size: int, flip_rate: float, success_rate: float) -> None:
    for alignment, (colour, marker, style) in _LINES:
        found = doses(Policy(size, success_rate, alignment), flip_rate, rule)
        axis.plot(
            [one.dose for one in found], [one.relative for one in found], color=colour, marker=marker, ls=style,
            ms=6, lw=1.8, label=_WORDS[alignment],
        )  # fmt: skip
    names = [(one.name, one.dose) for one in found]
    top = axis.secondary_xaxis("top")
    top.set_xticks(
        [dose for _, dose in names], [name.replace("blocks of", "by") for name, _ in names], fontsize=7.5
    )
    for label in top.get_xticklabels()[:1]:
        label.set_horizontalalignment("right")
    axis.axhline(1.0, color=canvas.GREY, lw=0.8, zorder=0)
    axis.axvline(0.0, color=canvas.GREY, lw=0.8, zorder=0)
    axis.spines["right"].set_visible(False)
