"""The index of runs leads to its registers, and no row of it is ever changed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from prereg_kit.errors import NotCheckedError, RegisterError
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.registers.cells import CellQuery, cell_table
from prereg_kit.registers.file import (
    add_run,
    open_register,
    plans_named,
    read_runs,
    sibling_of,
    write_register,
    write_runs,
)
from prereg_kit.registers.formats import Sibling
from tests.prereg_kit.registers.file.by_hand import (
    ARMS,
    OTHER,
    PLAN,
    WANTED,
    cells,
    index,
    parquet,
    refused,
    rows,
    run,
)

# --- the index ----------------------------------------------------------------------------------------------------


def test_an_index_leads_to_its_siblings(tmp_path):
    path = index(tmp_path)
    for opened in (open_register([path], plan_digest=PLAN), open_register([path.parent])):
        assert cells(opened) == WANTED
        assert opened.plan_digests == (PLAN,)
        assert [row.run_id for row in opened.runs] == [
            "paired-0",
            "paired-1",
            "independent-0",
            "independent-1",
        ]
    one = opened.select_runs(lambda row: row.seed == 1)
    assert cells(one)[2] == ("1",)
    with pytest.raises(RegisterError, match="no run of this plan") as caught:
        open_register([path], plan_digest=OTHER)
    assert caught.value.found == [PLAN]


def test_a_sibling_whose_bytes_changed_is_refused_with_both_digests(tmp_path):
    path = index(tmp_path)
    file = path.parent / "study" / "paired-1" / "episodes.parquet"
    before = sha256_file(file)
    file.unlink()
    after = write_register(file, "episodes", rows(("paired",), (1,), tasks=4)).sha256
    error = refused(path)
    assert error.code == "sibling-altered"
    assert str(file) in str(error)
    assert before in str(error)
    assert after in str(error)
    file.unlink()
    assert refused(path).code == "sibling-absent"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x.parquet", "a/../../x.parquet", "link.parquet", "", "a\\..\\x"]
)
def test_siblings_outside_the_index_folder_are_refused(tmp_path, path):
    outside = write_register(tmp_path / "x.parquet", "episodes", rows())
    folder = tmp_path / "registers"
    folder.mkdir()
    (folder / "link.parquet").symlink_to(outside.path)
    write_runs(
        folder / "runs.parquet", [run("r", "paired", 0, Sibling("episodes", path, outside.sha256, 24))]
    )
    error = refused(folder / "runs.parquet")
    assert error.code == "outside"
    assert error.found == path
    with pytest.raises(RegisterError, match="outside"):
        sibling_of(folder / "runs.parquet", "episodes", outside.path)


def test_rows_of_runs_that_do_not_count_are_left_out(tmp_path):
    path = index(tmp_path)
    extra = write_register(
        path.parent / "again.parquet", "episodes", {**rows(("paired",), (1,)), "run_id": ["again"] * 6}
    )
    add_run(
        path,
        run(
            "again",
            "paired",
            1,
            sibling_of(path, "episodes", extra.path),
            counted=False,
            exclusion_reason="other-stack",
        ),
    )
    failed = write_register(
        path.parent / "failed.parquet", "episodes", {**rows(("paired",), (1,)), "run_id": ["failed"] * 6}
    )
    add_run(path, run("failed", "paired", 1, sibling_of(path, "episodes", failed.path), status="failed"))
    add_run(
        path,
        run("going", "paired", 1, Sibling("episodes", "not-there-yet.parquet", OTHER, 6), status="running"),
    )
    found = open_register([path])
    assert cells(found) == WANTED
    assert len(found.runs) == 7
    assert [note.rsplit(": ", 1)[1] for note in found.notes] == ["other-stack", "failed", "running"]


def test_attempts_of_one_run_continue_each_other(tmp_path):
    path = index(tmp_path)
    early = write_register(
        path.parent / "early.parquet",
        "episodes",
        {**rows(("paired",), (2,)), "step": [0] * 6, "run_id": ["r"] * 6},
    )
    late = write_register(
        path.parent / "late.parquet", "episodes", {**rows(("paired",), (2,)), "run_id": ["r"] * 6}
    )
    add_run(path, run("r", "paired", 2, sibling_of(path, "episodes", early.path), status="failed"))
    add_run(path, run("r", "paired", 2, sibling_of(path, "episodes", late.path), attempt=2))
    table = cell_table(open_register([path]), "episodes", CellQuery(where={"seed": "2"}, value="true_success", arm="arm",
                       arms=("paired",), pairs="seed", cluster="task", axis="step"))  # fmt: skip
    assert table.axis == ("0", "100")


def test_one_file_may_serve_several_runs(tmp_path):
    path = tmp_path / "runs.parquet"
    info = write_register(tmp_path / "e.parquet", "episodes", rows())
    sibling = sibling_of(path, "episodes", info.path)
    write_runs(path, [run(f"{arm}-{seed}", arm, seed, sibling) for arm in ARMS for seed in (0, 1)])
    assert cells(open_register([path])) == WANTED
    path.unlink()
    write_runs(path, [run(f"{arm}-{seed}", arm, seed, sibling) for arm in ARMS for seed in (0,)])
    assert refused(path).code == "stray-run"
    path.unlink()
    write_runs(path, [run(f"{arm}-{seed}", arm, 1 - seed, sibling) for arm in ARMS for seed in (0, 1)])
    assert refused(path).code == "contradicts-index"


def test_an_index_row_must_be_a_run(tmp_path):
    for name, value in (
        ("plan_digest", "x"),
        ("status", "done"),
        ("started_at", "yesterday"),
        ("seed", "0"),
        ("run_id", ""),
    ):
        with pytest.raises(RegisterError) as caught:
            add_run(tmp_path / "runs.parquet", replace(run("r", "paired", 0), **{name: value}))
        assert (caught.value.code, caught.value.where.field) == ("bad-run", name)
    assert not (tmp_path / "runs.parquet").exists()


def test_a_row_of_the_index_is_never_changed(tmp_path):
    path = tmp_path / "runs.parquet"
    going = run("r", "paired", 0, status="running", started_at="2026-01-01T00:00:00Z")
    add_run(path, going)
    assert add_run(path, going).rows == 1
    done = replace(going, status="completed", finished_at="2026-01-01T01:00:00Z")
    assert add_run(path, done).rows == 1
    assert read_runs(path) == (done,)
    for other in (replace(done, stack="other"), going, replace(going, seed=1)):
        with pytest.raises(RegisterError) as caught:
            add_run(path, other)
        assert caught.value.code == "run-exists"
    assert add_run(path, replace(done, attempt=2)).rows == 2
    with pytest.raises(RegisterError, match="this run already"):
        write_runs(tmp_path / "other.parquet", [done, done])


def _append(path: str, worker: int, count: int) -> None:
    for i in range(count):
        add_run(Path(path), run(f"w{worker}-{i}", "paired", i, stack="x" * 1000))


def test_two_writers_at_once_lose_no_row(tmp_path):
    path = tmp_path / "runs.parquet"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append, args=(str(path), w, 8)) for w in range(4)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        if path.exists():
            read_runs(path)  # a reader never sees half an index
        time.sleep(0.005)
    assert all(worker.exitcode == 0 for worker in workers)
    assert {row.run_id for row in read_runs(path)} == {f"w{w}-{i}" for w in range(4) for i in range(8)}


def _hold(path: str, ready) -> None:
    from prereg_kit.registers.file.index import locked

    with locked(Path(path)):
        ready.set()
        time.sleep(60)


def test_a_held_lock_names_its_owner_and_dies_with_it(tmp_path):
    path = tmp_path / "runs.parquet"
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    holder = context.Process(target=_hold, args=(str(path), ready))
    holder.start()
    assert ready.wait(20)
    with pytest.raises(NotCheckedError, match=f"process {holder.pid} on ") as caught:
        add_run(path, run("r", "paired", 0), wait_s=0.05)
    assert caught.value.code == "locked"
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert add_run(path, run("r", "paired", 0), wait_s=5).rows == 1


def test_the_plans_that_an_index_names_are_read_without_its_registers(tmp_path):
    path = index(tmp_path)
    other = write_register(path.parent / "other.parquet", "episodes", rows(("paired",), (9,)))
    add_run(path, run("paired-9", "paired", 9, sibling_of(path, "episodes", other.path), plan_digest=OTHER))
    other.path.write_bytes(b"PAR1 altered")
    (path.parent / "pointer.csv").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    )
    assert plans_named([path]) == plans_named([path.parent]) == (PLAN, OTHER)
    assert cells(open_register([path.parent], plan_digest=PLAN)) == WANTED
    with pytest.raises(RegisterError) as caught:
        open_register([path])
    assert caught.value.code == "sibling-altered"
    assert plans_named([parquet(tmp_path / "plain.parquet", rows())]) == ()
