"""Files that are given beside an index, and which rows count as used."""

from __future__ import annotations

import pyarrow as pa
import pytest

from prereg_kit.errors import RegisterError
from prereg_kit.registers.cells import Policy, RateQuery, count_rate, value_rows
from prereg_kit.registers.file import add_run, open_register, sibling_of, write_register
from tests.prereg_kit.registers.file.by_hand import (
    ARMS,
    OTHER,
    PLAN,
    WANTED,
    cells,
    index,
    parquet,
    rows,
    run,
)

# --- beside an index, and what was used ---------------------------------------------------------------------------


def test_rows_beside_an_index_must_be_of_its_runs(tmp_path):
    path = index(tmp_path)
    loose = parquet(tmp_path / "loose" / "episodes.parquet", rows(("paired",), (7,)))
    for given in ([path, loose], [loose, path], [path.parent, loose]):
        with pytest.raises(RegisterError) as caught:
            cells(open_register(given))
        assert (caught.value.code, caught.value.found) == ("stray-run", "paired-7")
    nameless = {name: column for name, column in rows(("paired",), (7,)).items() if name != "run_id"}
    with pytest.raises(RegisterError) as caught:
        cells(open_register([path, parquet(tmp_path / "nameless" / "episodes.parquet", nameless)]))
    assert caught.value.code == "stray-run"
    # rows of another plan's run are rows of no run of this one
    add_run(path, run("paired-7", "paired", 7, plan_digest=OTHER))
    with pytest.raises(RegisterError) as caught:
        cells(open_register([path, loose], plan_digest=PLAN))
    assert caught.value.code == "stray-run"


def test_rows_beside_an_index_count_as_its_runs_do(tmp_path):
    path = tmp_path / "runs.parquet"
    for arm in ARMS:
        for seed in (0, 1, 2):
            counted = seed < 2
            add_run(
                path,
                run(f"{arm}-{seed}", arm, seed, counted=counted, exclusion_reason=None if counted else "x"),
            )
    loose = parquet(tmp_path / "loose.parquet", rows(seeds=(0, 1, 2)))
    found = open_register([path, loose])
    assert cells(found) == WANTED
    (table,) = found.tables()
    assert (table.rows, table.used) == (36, 24)


def test_published_figures_beside_an_index_belong_to_no_run(tmp_path):
    path = index(tmp_path)
    figures = write_register(tmp_path / "reported.parquet", "reported", {
        "endpoint": ["e"], "statistic": ["estimate"], "value": ["0.5"], "source": ["Table 2"],
    })  # fmt: skip
    found = open_register([path, figures.path])
    assert [row.value for row in value_rows(found, "reported", where={"endpoint": "e"}, value="value")] == [
        0.5
    ]


def test_rows_used_are_counted_by_file_and_each_once(tmp_path):
    pa.csv.write_csv(pa.table(rows(seeds=(0,))), tmp_path / "0.csv")
    pa.csv.write_csv(pa.table(rows(seeds=(1,))), tmp_path / "1.csv")
    pa.csv.write_csv(pa.table(rows(seeds=(2,), arms=("blocking",))), tmp_path / "2.csv")
    found = open_register([tmp_path])
    assert [table.used for table in found.tables()] == [0, 0, 0]
    cells(found)
    assert [table.used for table in found.tables()] == [12, 12, 0]
    cells(found, where={"condition": "C2", "seed": "0"})  # other endpoints, the same rows
    assert [table.used for table in found.tables()] == [12, 12, 0]
    count_rate(found, "episodes", RateQuery(where={"arm": "blocking"}, numerator="true_success"))
    assert [(table.rows, table.used) for table in found.tables()] == [(12, 12), (12, 12), (6, 6)]


def test_dropped_repeats_are_not_used(tmp_path):
    columns = {name: [*column, column[3]] for name, column in rows().items()}
    found = open_register([parquet(tmp_path / "e.parquet", columns)])
    assert cells(found, policy=Policy(repeats="drop_exact")) == WANTED
    assert [(table.rows, table.used) for table in found.tables()] == [(25, 24)]


def test_a_run_that_does_not_count_has_no_row_used(tmp_path):
    path = index(tmp_path)
    extra = write_register(path.parent / "e.parquet", "episodes", rows(("paired",), (9,)))
    add_run(
        path,
        run(
            "paired-9",
            "paired",
            9,
            sibling_of(path, "episodes", extra.path),
            counted=False,
            exclusion_reason="x",
        ),
    )
    found = open_register([path])
    assert cells(found) == WANTED
    assert sorted((table.rows, table.used) for table in found.tables()) == [(6, 0)] + [(6, 6)] * 4
