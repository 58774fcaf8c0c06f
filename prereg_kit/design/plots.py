"""Pictures of what rules are worth: pass probabilities over effect, between-seed sd and number of seed pairs.

The one owner of matplotlib, which is loaded only when something is drawn. Values in, the bytes of an SVG or PNG
file out; equal values give equal bytes for one version of matplotlib (no date, fixed ids). Colours are read from a
scale that stays ordered in grey, and every number that a colour stands for is written in its cell.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from prereg_kit.design.characteristics import Cell
from prereg_kit.errors import NotCheckedError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["svg", "png"]

_INK, _FAINT = "#22303c", "#9aa7b2"
_SERIES = ("#0b5394", "#b45309", "#2f7d4f", "#8e3b8a", "#6b7280", "#b3261e")
_MARKERS = ("o", "s", "^", "D", "v", "P")


def pass_map(
    cells: Sequence[Cell], title: str, *, null: float = 0.0, kind: Kind = "svg", unit: str = ""
) -> bytes:
    """Heat map of the pass probability over effect (across) and between-seed sd (up).

    The column of the effect at which a pass is false is framed.

    Args:
        cells: one number of seed pairs; a full grid of effects and sds.
        title: shown above; plain text.
        null: that effect: 0, or minus the margin of a non-inferiority rule.
        kind: svg or png.
        unit: of the effect, in brackets on the axes.

    Raises:
        UsageError: no cells, several numbers of seed pairs, or gaps in the grid.
        NotCheckedError: matplotlib is not installed.
    """
    effects = sorted({cell.effect for cell in cells})
    spreads = sorted({cell.seed_sd for cell in cells})
    table = {(cell.effect, cell.seed_sd): cell for cell in cells}
    if not cells or len({cell.seeds for cell in cells}) != 1 or len(table) != len(effects) * len(spreads):
        raise UsageError(
            "a pass map needs a full grid of effects and sds at one number of seed pairs", found=len(cells)
        )
    figure, axes = _canvas(1.6 + 0.78 * len(effects), 1.9 + 0.52 * len(spreads))
    values = [[table[effect, spread].passing for effect in effects] for spread in spreads]
    axes.imshow(values, cmap="YlGnBu", vmin=0, vmax=1, origin="lower", aspect="auto")
    for row, spread in enumerate(spreads):
        for column, effect in enumerate(effects):
            share = table[effect, spread].passing
            axes.text(
                column, row, _share(share), ha="center", va="center", fontsize=9,
                color="white" if share > 0.6 else _INK,
            )  # fmt: skip
    if null in effects:
        from matplotlib.patches import Rectangle

        place = effects.index(null)
        axes.add_patch(
            Rectangle(
                (place - 0.49, -0.49), 0.98, len(spreads) - 0.02, fill=False, edgecolor="#b3261e", linewidth=2
            )
        )
    axes.set_xticks(range(len(effects)), [f"{effect:g}" for effect in effects])
    axes.set_yticks(range(len(spreads)), [f"{spread:g}" for spread in spreads])
    framed = "; framed: where a pass is false" if null in effects else ""
    axes.set_xlabel(f"true effect{_bracket(unit)}{framed}")
    axes.set_ylabel("between-seed sd" + _bracket(unit))
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    seeds = cells[0].seeds
    return _file(figure, axes, f"{title}: probability of a pass, {seeds} seed pair{'s' * (seeds != 1)}", kind)


def seed_curve(cells: Sequence[Cell], title: str, *, kind: Kind = "svg", unit: str = "") -> bytes:
    """Pass probability over the number of seed pairs, one line for each effect, at one between-seed sd.

    Raises:
        UsageError: no cells, or several sds.
        NotCheckedError: matplotlib is not installed.
    """
    if not cells or len({cell.seed_sd for cell in cells}) != 1:
        raise UsageError("a curve over seed pairs needs cells of one between-seed sd", found=len(cells))
    lines: dict[float, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.effect, cell.seeds)):
        lines.setdefault(cell.effect, []).append(cell)
    series = {
        f"effect {effect:g}" + (" (false pass)" if effect == 0 else ""): [
            (cell.seeds, cell.passing, 1.96 * cell.error) for cell in row
        ]
        for effect, row in lines.items()
    }
    figure, axes = _canvas(6.4, 3.6)
    _lines(axes, series)
    axes.set_xticks(sorted({cell.seeds for cell in cells}))
    axes.set_xlabel("number of seed pairs")
    axes.set_ylabel("probability of a pass")
    axes.axhline(0.8, color=_FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
    return _file(
        figure,
        axes,
        f"{title}: probability of a pass, between-seed sd {cells[0].seed_sd:g}{_bracket(unit)}",
        kind,
    )


def coverage(
    shares: Mapping[str, Sequence[tuple[float, float, float]]],
    title: str,
    *,
    nominal: float = 0.95,
    across: str = "number of seed pairs",
    kind: Kind = "svg",
) -> bytes:
    """Actual coverage of intervals against the nominal level.

    Args:
        shares: by interval: (place on the axis, coverage, half width of its error bar).
        title: shown above.
        nominal: drawn as a line.
        across: label of the axis.
        kind: svg or png.

    Raises:
        UsageError: nothing to draw.
        NotCheckedError: matplotlib is not installed.
    """
    if not any(shares.values()):
        raise UsageError("there is no coverage to draw", found=len(shares))
    figure, axes = _canvas(6.4, 3.6)
    _lines(axes, shares)
    axes.axhline(nominal, color=_INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(f"nominal {nominal:.0%}", (1.0, nominal), xycoords=("axes fraction", "data"), fontsize=8,
                  color=_INK, ha="right", va="bottom")  # fmt: skip
    axes.set_xticks(sorted({place for row in shares.values() for place, _, _ in row}))
    axes.set_xlabel(across)
    axes.set_ylabel("coverage")
    return _file(figure, axes, title, kind)


def _lines(axes: Axes, series: Mapping[str, Sequence[tuple[float, float, float]]]) -> None:
    """Lines with error bars over [0, 1], named in a legend outside the axes."""
    for place, (name, row) in enumerate(series.items()):
        axes.errorbar(
            [x for x, _, _ in row], [y for _, y, _ in row], yerr=[half for _, _, half in row], label=name,
            color=_SERIES[place % len(_SERIES)], marker=_MARKERS[place % len(_MARKERS)], markersize=4.5,
            linewidth=1.4, elinewidth=0.9, capsize=2,
        )  # fmt: skip
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.grid(visible=True, color="#e3e8ec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise NotCheckedError(
            "pictures need matplotlib, which is not installed",
            next_step='Install it with `pip install "prereg-kit[figures]"`.',
        ) from error
    figure = NewFigure(figsize=(max(width, 4.6), height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _file(figure: Figure, axes: Axes, title: str, kind: Kind) -> bytes:
    import matplotlib as mpl

    axes.set_title(title, fontsize=10, color=_INK, loc="left", parse_math=False)
    axes.tick_params(labelsize=8.5, colors=_INK)
    axes.xaxis.label.set(fontsize=9, color=_INK)
    axes.yaxis.label.set(fontsize=9, color=_INK)
    target = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "prereg-kit", "svg.fonttype": "path", "savefig.facecolor": "white"}):
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(target, format=kind, dpi=150, metadata=metadata)
    return target.getvalue()


def _share(share: float) -> str:
    """Three decimals; 0 and 1 of a simulation are bounds, not certainties."""
    if share < 0.0005:
        return "<.001"
    if share >= 0.9995:
        return ">.999"
    return f"{share:.3f}".lstrip("0")


def _bracket(unit: str) -> str:
    return f" ({unit})" if unit else ""
