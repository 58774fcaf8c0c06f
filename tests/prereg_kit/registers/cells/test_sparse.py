"""Tables with far more cells than rows are refused as small ones are."""

from __future__ import annotations

from tests.prereg_kit.registers.cells.by_hand import diagonal, refused


def test_far_too_few_rows_are_refused_as_a_small_table_is():
    for count in (3, 4096):  # 2 x 4096 x 4096 cells would take gigabytes
        error = refused(diagonal(count))
        assert error.code == "missing-cells"
        assert f"{2 * count * (count - 1)} missing cells" in str(error)
        assert error.where.key == "arm=paired, seed=0, task=t00001"
        rows = [row for row in diagonal(count) if (row["arm"], row["seed"]) != ("independent", 1)]
        error = refused(rows)
        assert error.code == "orphan-seeds"
        assert "seed 1 only in arm paired" in str(error)
        rows = [{**row, "step": row["seed"] % 3} for row in diagonal(count)]
        error = refused(rows, axis="step")
        assert error.code == "missing-step"
        assert (error.where.key, "step 1, 2 is missing" in str(error)) == ("arm=paired, seed=0", True)
