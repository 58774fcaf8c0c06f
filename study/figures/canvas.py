"""How every figure of the study looks, and how it becomes bytes: the one owner of matplotlib in `study`.

Colours are Okabe and Ito's, told apart under the common colour blindnesses; every colour is doubled by a label, a
line style or a number. The same data gives the same bytes: no dates, no random ids, no global state.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prereg_kit.errors import Where
from study.errors import CannotStartError, ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Drawing = Callable[[], Figure]

BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
INK, GREY, PALE = "#222222", "#7A7A7A", "#EDEDED"

FORMATS = ("png", "svg", "pdf")

_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "study.figures",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
_UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
}


def new(width: float, height: float) -> Figure:
    """An empty figure in inches; called by the drawing functions that `render` runs."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def file_format(path: Path) -> str:
    """The format that a file's name asks for.

    Raises:
        ConfigError: it is not png, svg or pdf.
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise ConfigError(
            "not a figure's name",
            where=Where(field="--out"),
            expected="a .png, .svg or .pdf file",
            found=str(path),
        )
    return suffix


def render(draw: Drawing, format_name: str, dpi: int = 160) -> bytes:
    """Draw in the study's style and return the file's bytes, undated; matplotlib's settings are left as they were.

    Args:
        draw: makes the figure.
        format_name: png, svg or pdf.
        dpi: dots per inch of a png.

    Raises:
        CannotStartError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise CannotStartError(
            "matplotlib is not installed", next_step="Install the extra: pip install 'prereg-kit[figures]'."
        ) from error
    style: Any = _STYLE
    buffer = io.BytesIO()
    with mpl.rc_context(style):
        draw().savefig(buffer, format=format_name, dpi=dpi, metadata=_UNDATED[format_name], facecolor="white")
    return buffer.getvalue()
