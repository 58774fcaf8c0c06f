"""The map: where pairing helps and where it hurts, over score alignment and success rate (`theory.alignment`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from study.figures import canvas
from study.theory import alignment
from study.theory.advantages import Standardised

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

    from study.theory.conditions import Array

_TICKS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
_LIMIT = 2.0
_ROOM = 0.01
PROBE = (0.19, 0.27)
"""L/R over the paper's eight checkpoints (Section 6.4)."""


@dataclass(frozen=True)
class Measured:
    """A probed checkpoint on the map.

    Attributes:
        label: a short name.
        success_rate: of its clean rollouts.
        alignment: measured on its groups.
        mask, total: paired over independent mask variance (L/R) and whole trace, mean-centred. standard: whole trace of
            the standardised, weighted estimator. None where nothing varies.
    """

    label: str
    success_rate: float
    alignment: float
    mask: float | None
    total: float | None
    standard: float | None


def draw(
    size: int = 8, flip_rate: float = 0.1, points: int = 121, measured: Sequence[Measured] = ()
) -> Figure:
    """Three panels: mask variance and whole trace under mean-centring, whole trace under standardisation.

    Args:
        size: G >= 2.
        flip_rate: q, strictly between 0 and 1.
        points: grid points per axis.
        measured: probed checkpoints, each drawn where it lies, in the colour of what was measured there.

    Returns:
        The figure; colours are log2 of the paired over the independent variance, cut at a factor of four.
    """
    across = np.linspace(0.02, 0.98, points)
    roots = np.linspace(0.0, 1.0, points)
    mask, total = alignment.grid(across, roots**2, size, flip_rate)
    _, standard = alignment.grid(across, roots**2, size, flip_rate, Standardised())
    figure = canvas.new(12.2, 4.9)
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    panels = (
        ("a  Mask variance, mean-centred: L/R", mask),
        ("b  Whole trace, mean-centred", total),
        ("c  Whole trace, standardised", standard),
    )
    for axis, (title, ratio) in zip(axes, panels, strict=True):
        shades = _panel(axis, across, roots, ratio)
        axis.set_title(title, pad=11)
    for axis, what in zip(axes, ("mask", "total", "standard"), strict=True):
        for number, point in enumerate(measured):
            _point(axis, point, getattr(point, what), number)
    if not measured:
        _probe(axes[0], across, roots, mask)
    axes[0].set_yticks(np.sqrt(_TICKS), [f"{tick:g}" for tick in _TICKS])
    axes[0].set_ylabel(
        "score alignment a: share of score energy along\nthe reward direction (square-root scale)"
    )
    axes[1].set_xlabel("true success rate of the task, p")
    bar = figure.colorbar(shades, ax=list(axes), shrink=0.92, pad=0.015, extend="both")
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["1/4", "1/2", "1", "2", "4"])
    bar.set_label("variance, paired over independent")
    figure.suptitle(
        f"Pairing helps where scores are spread and hurts where they are aligned (G = {size}, q = {flip_rate:g})",
        x=0.01,
        ha="left",
        fontsize=12,
        fontweight="bold",
    )
    return figure


def _panel(axis: Axes, across: Array, roots: Array, ratio: Array) -> QuadMesh:
    levels = np.log2(ratio)
    shades = axis.pcolormesh(
        across, roots, np.clip(levels, -_LIMIT, _LIMIT), cmap="PuOr_r", vmin=-_LIMIT, vmax=_LIMIT, shading="gouraud",
        rasterized=True,
    )  # fmt: skip
    # A contour in a corner of a few cells has no room for its label.
    wanted = [level for level in (-1.0, 1.0, 2.0) if (levels / level > 1.0).mean() > _ROOM]
    thin = axis.contour(
        across, roots, levels, levels=wanted, colors=canvas.INK, linewidths=0.7, linestyles="solid"
    )
    words = {-2.0: "1/4", -1.0: "1/2", 1.0: "2", 2.0: "4"}
    axis.clabel(thin, fmt=lambda level: words[round(level, 6)], fontsize=8)
    axis.contour(across, roots, levels, levels=[0.0], colors=canvas.INK, linewidths=2.4)
    axis.plot(
        0.5,
        1.0,
        marker="*",
        markersize=13,
        color="white",
        markeredgecolor=canvas.INK,
        clip_on=False,
        zorder=5,
    )
    axis.annotate(
        "the paper's bandit",
        (0.5, 1.0),
        (0.5, 0.93),
        ha="center",
        va="top",
        fontsize=8,
        bbox=_label(),
        zorder=6,
    )
    axis.text(0.30, 0.70, "pairing hurts", ha="center", fontsize=10, style="italic", bbox=_label())
    axis.text(0.44, 0.09, "pairing helps", ha="center", fontsize=10, style="italic", bbox=_label())
    axis.set_xlim(0.02, 0.98)
    axis.set_ylim(0.0, 1.0)
    axis.set_xticks([0.1, 0.3, 0.5, 0.7, 0.9])
    return shades


def _probe(axis: Axes, across: Array, roots: Array, mask: Array) -> None:
    axis.contourf(across, roots, mask, levels=list(PROBE), colors="none", hatches=["////"])
    axis.contour(
        across, roots, mask, levels=list(PROBE), colors=canvas.INK, linewidths=0.7, linestyles="dashed"
    )
    axis.annotate(
        f"L/R of the paper's\ncheckpoints, {PROBE[0]} to {PROBE[1]}", (0.82, 0.16), (0.41, 0.22), ha="left",
        va="center",
        fontsize=8, bbox=_label(), arrowprops={"arrowstyle": "-", "color": canvas.INK, "lw": 0.8},
    )  # fmt: skip


def _point(axis: Axes, point: Measured, ratio: float | None, number: int) -> None:
    """A marker whose filling is the measured ratio in the map's colours; a cross where nothing varies."""
    place = (point.success_rate, float(np.sqrt(point.alignment)))
    if ratio is None:
        axis.plot(*place, marker="x", color=canvas.INK, clip_on=False, zorder=7)
    else:
        axis.scatter(
            [place[0]], [place[1]], c=[float(np.clip(np.log2(max(ratio, 1e-9)), -_LIMIT, _LIMIT))], cmap="PuOr_r",
            vmin=-_LIMIT, vmax=_LIMIT, s=64, edgecolors=canvas.INK, linewidths=1.2, clip_on=False, zorder=7,
        )  # fmt: skip
    words = point.label if ratio is None else f"{point.label}: {ratio:.2f}"
    axis.annotate(
        words, place, (0.06, 0.60 - 0.075 * number), ha="left", va="center", fontsize=7.5, bbox=_label(), zorder=6,
        arrowprops={"arrowstyle": "-", "color": canvas.INK, "lw": 0.6},
    )  # fmt: skip


def _label() -> dict[str, object]:
    return {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
