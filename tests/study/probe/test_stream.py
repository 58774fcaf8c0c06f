from __future__ import annotations

import numpy as np
import pytest

from study.errors import StudyError
from study.probe import stream

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("width", [1, 9, 10, 11, 25])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_change_nothing(monkeypatch, width, dtype):
    monkeypatch.setattr(stream, "BLOCK", 10)
    rows = RNG.normal(size=(4, width)).astype(dtype)
    unit = stream.Unit(4, width, dtype)
    unit.rows[:] = rows
    whole = rows.astype(np.float64)
    assert np.allclose(unit.gram(), whole @ whole.T, rtol=1e-13, atol=0)
    assert (unit.gram() == unit.gram().T).all()
    levers, vectors = RNG.normal(size=(3, 4)), RNG.normal(size=(3, width))
    before = vectors.copy()
    unit.add_to(vectors, levers)
    assert np.allclose(vectors, before + levers @ whole)
    assert np.allclose(stream.gram_of(vectors), vectors @ vectors.T)


def test_products_of_float32_gradients_are_float64():
    unit = stream.Unit(2, 200_000, np.float32)
    unit.rows[:] = np.float32(0.1)
    exact = 200_000 * float(np.float32(0.1)) ** 2
    assert unit.gram()[0, 1] == pytest.approx(exact, rel=1e-13)
    assert (
        abs(float((unit.rows[0] * unit.rows[0]).cumsum()[-1]) / exact - 1) > 1e-6
    )  # what float32 would give


def test_shapes_that_do_not_match_are_refused():
    with pytest.raises(StudyError, match="not a unit"):
        stream.Unit(0, 4)
    with pytest.raises(StudyError, match="do not match"):
        stream.Unit(2, 4).add_to(np.zeros((3, 4)), np.zeros((3, 3)))
