"""Pictures: deterministic bytes, every number of the grid in the picture, and refusals."""

from __future__ import annotations

import struct
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need the extra `figures`")

from prereg_kit.design import plots as figures
from prereg_kit.design.characteristics import Cell, Setting, grid
from prereg_kit.errors import UsageError
from prereg_kit.statistics.random_stream import StreamKey

SETTING = Setting(StreamKey(1, "0" * 64), 500)


def rule(differences: np.ndarray) -> np.ndarray:
    return (differences.mean(axis=1) > 0.02).astype(int)


CELLS = grid(rule, SETTING, effects=[0.0, 0.03, 0.06], seed_sds=[0.02, 0.04])
CURVE = grid(rule, SETTING, effects=[0.0, 0.03], seed_sds=[0.04], seeds=[2, 3, 5])


def test_equal_values_give_equal_bytes() -> None:
    first = figures.pass_map(CELLS, "H2a")
    assert first == figures.pass_map(list(reversed(CELLS)), "H2a")
    assert first != figures.pass_map(CELLS, "H2b")
    assert b"<dc:date>" not in first
    assert figures.seed_curve(CURVE, "H2a") == figures.seed_curve(CURVE, "H2a")


def test_a_picture_is_a_whole_file_of_its_kind() -> None:
    for picture in (figures.pass_map(CELLS, "H", kind="png"), figures.seed_curve(CURVE, "H", kind="png")):
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", picture[16:24])
        assert 600 < width < 2000 and 300 < height < 1200
    assert figures.coverage({"percentile": [(3, 0.87, 0.01), (5, 0.9, 0.01)]}, "Coverage").startswith(
        b"<?xml"
    )


def test_the_map_shows_the_cells_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.axes import Axes

    written, shown = [], []
    text, image = Axes.text, Axes.imshow
    monkeypatch.setattr(
        Axes,
        "text",
        lambda self, x, y, s, **rest: (written.append((x, y, s)), text(self, x, y, s, **rest))[1],
    )
    monkeypatch.setattr(
        Axes, "imshow", lambda self, values, **rest: (shown.append(values), image(self, values, **rest))[1]
    )
    cells = [Cell(e, s, 3, {"pass": v, "fail": 1 - v, "inconclusive": 0, "void": 0}, 0.0)
             for e, s, v in [(0.0, 0.1, 0.0), (0.0, 0.2, 0.086), (1.0, 0.1, 0.5), (1.0, 0.2, 1.0)]]  # fmt: skip
    figures.pass_map(cells, "H")
    assert {(0, 0, "<.001"), (0, 1, ".086"), (1, 0, ".500"), (1, 1, ">.999")} <= set(written)
    assert shown == [[[0.0, 0.5], [0.086, 1.0]]]


def test_hostile_titles_stay_text() -> None:
    title = "$\\frac{</text><script>alert(1)</script>"
    assert b"<script" not in figures.pass_map(CELLS, title)
    assert figures.seed_curve(CURVE, title, kind="png")


def test_what_cannot_be_drawn_is_refused() -> None:
    for cells in ([], CELLS[:-1], [*CELLS, *CURVE]):
        with pytest.raises(UsageError):
            figures.pass_map(cells, "H")
    for cells in ([], CELLS):
        with pytest.raises(UsageError):
            figures.seed_curve(cells, "H")
    with pytest.raises(UsageError):
        figures.coverage({}, "Coverage")


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = "import sys, prereg_kit.design.plots; print('matplotlib' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )
