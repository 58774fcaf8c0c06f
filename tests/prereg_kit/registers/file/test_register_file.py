"""Registers on disk: shapes that are read, defects that are refused by name, and writing that loses nothing."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from prereg_kit.errors import ArchiveError, NotCheckedError, RegisterError, UsageError
from prereg_kit.foundation.digest import sha256_file
from prereg_kit.registers.cells import Policy, cell_table, count_rate, value_rows
from prereg_kit.registers.file import (
    Registers,
    add_run,
    open_register,
    plans_named,
    read_runs,
    sibling_of,
    write_register,
    write_runs,
)
from prereg_kit.registers.formats import FORMATS, RunRow, Sibling, format_of, role_of

ARMS = ("paired", "independent")
PLAN, OTHER = "a" * 64, "b" * 64


def rows(arms=ARMS, seeds=(0, 1), tasks=3, schedules=2) -> dict[str, list]:
    cells = [(a, s, t, k) for a in arms for s in seeds for t in range(tasks) for k in range(schedules)]
    return {
        "run_id": [f"{a}-{s}" for a, s, _, _ in cells],
        "condition": ["C2"] * len(cells),
        "arm": [a for a, *_ in cells],
        "seed": [s for _, s, _, _ in cells],
        "step": [100] * len(cells),
        "split": ["test"] * len(cells),
        "regime": ["clean"] * len(cells),
        "task": [f"task-{t}" for *_, t, _ in cells],
        "schedule": [k for *_, k in cells],
        "true_success": [(a == "paired") or (s + t + k) % 2 == 0 for a, s, t, k in cells],
    }


def cells(found: Registers, **changes) -> list:
    asked = {"where": {"condition": "C2"}, "value": "true_success", "arm": "arm", "arms": ARMS, "pairs": "seed",
             "cluster": "task"}  # fmt: skip
    table = cell_table(found, "episodes", **{**asked, **changes})
    return [table.successes.tolist(), table.episodes.tolist(), table.seeds, table.tasks]


WANTED = cells(Registers.from_frames({"episodes": rows()}))


def parquet(path: Path, columns: dict, **more) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **more)
    return path


def refused(*paths: Path, **changes) -> RegisterError:
    with pytest.raises(RegisterError) as caught:
        cells(open_register(paths), **changes)
    return caught.value


def run(run_id: str, arm: str, seed: int, *registers: Sibling, **changes) -> RunRow:
    return replace(RunRow(run_id, "study", PLAN, "C2", arm, seed, registers=registers), **changes)


def index(tmp_path: Path) -> Path:
    """An index with one sibling per run."""
    path = tmp_path / "registers" / "runs.parquet"
    path.parent.mkdir()
    for arm in ARMS:
        for seed in (0, 1):
            folder = path.parent / "study" / f"{arm}-{seed}"
            folder.mkdir(parents=True)
            info = write_register(folder / "episodes.parquet", "episodes", rows((arm,), (seed,)))
            add_run(path, run(f"{arm}-{seed}", arm, seed, sibling_of(path, "episodes", info.path)))
    return path


# --- reading ----------------------------------------------------------------------------------------------------


def test_the_same_rows_from_every_shape(tmp_path):
    written = write_register(tmp_path / "e.parquet", "episodes", rows())
    plain = parquet(tmp_path / "plain.parquet", rows(), row_group_size=5)
    dictionary = pa.table(rows()).set_column(7, "task", pa.array(rows()["task"]).dictionary_encode())
    pq.write_table(dictionary, tmp_path / "dictionary.parquet")
    pa.csv.write_csv(pa.table(rows()), tmp_path / "rows.csv")
    (tmp_path / "bom.csv").write_bytes(
        b"\xef\xbb\xbf" + (tmp_path / "rows.csv").read_bytes().replace(b"\n", b"\r\n")
    )
    for path in (
        written.path,
        plain,
        tmp_path / "dictionary.parquet",
        tmp_path / "rows.csv",
        tmp_path / "bom.csv",
    ):
        assert cells(open_register([path])) == WANTED, path


def test_a_folder_of_parts_in_any_split(tmp_path):
    table = pa.table(rows())
    for i in range(4):
        pq.write_table(table.slice(i * 6, 6), tmp_path / f"part-{3 - i}.parquet")
    (tmp_path / "README.md").write_text("not a register")
    (tmp_path / ".part-0.parquet.crc").write_text("x")
    (tmp_path / "_SUCCESS").write_text("")
    found = open_register([tmp_path])
    assert cells(found) == WANTED
    assert found.notes == (f"{tmp_path}: 1 other files were not read, {tmp_path / 'README.md'} first",)
    assert len(found.tables("episodes")) == 4


def partitioned(root: Path, inside: tuple[str, ...] = ()) -> Path:
    for arm in ARMS:
        for seed in (0, 1):
            part = rows((arm,), (seed,))
            kept = {
                name: column for name, column in part.items() if name not in ("arm", "seed") or name in inside
            }
            parquet(root / f"arm={arm}" / f"seed={seed}" / "part.parquet", kept)
    return root


@pytest.mark.parametrize("inside", [(), ("seed",), ("arm", "seed")])
def test_keys_in_folder_names_are_columns_also_where_they_are_inside_too(tmp_path, inside):
    found = open_register([partitioned(tmp_path / "tree", inside)])
    assert cells(found) == WANTED
    assert found.rows("episodes").columns["seed"] == "integer"
    alone = open_register([tmp_path / "tree" / "arm=paired" / "seed=1" / "part.parquet"])
    table = cell_table(alone, "episodes", where={"seed": "1"}, value="true_success", arm="arm", arms=("paired",),
                       pairs="seed", cluster="task")  # fmt: skip
    assert table.successes.tolist() == [[[[2, 2, 2]]]]


def test_a_folder_that_contradicts_its_rows(tmp_path):
    parquet(tmp_path / "seed=1" / "x.parquet", {**rows(seeds=(9,))})
    error = refused(tmp_path)
    assert error.code == "contradicts-folder"
    assert "seed=1" in str(error)
    assert error.found == 9


def test_folder_names_that_only_look_like_numbers_stay_text(tmp_path):
    for name in ("007", "2"):
        part = {key: column for key, column in rows(seeds=(0,)).items() if key != "seed"}
        parquet(tmp_path / f"seed={name}" / "x.parquet", part)
    assert open_register([tmp_path]).rows("episodes").columns["seed"] == "text"


@pytest.mark.parametrize(
    ("name", "make", "code", "says"),
    [
        ("typed.parquet", lambda p: pq.write_table(pa.table(rows()).slice(0, 0), p), "no-rows", "no rows"),
        ("null.parquet", lambda p: pq.write_table(pa.table({"a": pa.nulls(0)}), p), "no-rows", "no rows"),
        ("none.parquet", lambda p: pq.write_table(pa.table({}), p), "no-columns", "no columns"),
        ("header.csv", lambda p: p.write_text("arm,seed\n"), "no-rows", "no rows"),
        ("nothing.csv", lambda p: p.write_text(""), "no-columns", "no columns"),
        ("zero.parquet", lambda p: p.write_bytes(b""), "not-a-register", "no rows"),
        ("text.parquet", lambda p: p.write_text("hello"), "not-a-register", "neither Parquet nor CSV"),
        ("cut.parquet", lambda p: p.write_bytes(b"PAR1" + b"\0" * 40), "corrupt", "cannot be read"),
        ("ragged.csv", lambda p: p.write_text("arm,seed\na,1\nb\n"), "corrupt", "cannot be read"),
        ("latin.csv", lambda p: p.write_bytes(b"arm,seed\n\xe9,1\n"), "corrupt", ""),
        ("twice.csv", lambda p: p.write_text("arm,arm\na,1\n"), "repeated-column", "two columns"),
    ],
)
def test_files_that_hold_no_register_are_refused_by_name(tmp_path, name, make, code, says):
    path = tmp_path / name
    make(path)
    error = refused(path)
    assert error.code == code
    assert name in str(error)
    assert says in str(error)


def test_empty_parts_beside_others_are_skipped_and_mentioned(tmp_path):
    parquet(tmp_path / "a.parquet", rows())
    parquet(tmp_path / "b.parquet", {name: pa.nulls(0) for name in rows()})
    found = open_register([tmp_path])
    assert cells(found) == WANTED
    assert "b.parquet: no rows; this part was skipped" in found.notes[0]


def test_damaged_pages_are_found_by_their_checksums(tmp_path):
    data = rows(tasks=200, schedules=8)
    info = write_register(tmp_path / "e.parquet", "episodes", data)
    whole = bytearray(info.path.read_bytes())
    place = pq.read_metadata(info.path).row_group(0).column(9).data_page_offset + 60
    whole[place] ^= 1
    info.path.write_bytes(whole)
    error = refused(info.path)
    assert error.code == "corrupt"
    assert "e.parquet" in str(error)


def test_damaged_bytes_never_change_an_answer(tmp_path):
    data = write_register(tmp_path / "e.parquet", "episodes", rows()).path.read_bytes()
    path, rng, damaged = tmp_path / "x.parquet", random.Random(7), 0
    for _ in range(150):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            assert cells(open_register([path])) == WANTED
        except RegisterError as error:
            assert "x.parquet" in str(error)
            damaged += 1
    assert damaged > 75


def test_a_pointer_in_place_of_the_bytes(tmp_path):
    path = tmp_path / "e.parquet"
    path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{PLAN}\nsize 123\n")
    with pytest.raises(NotCheckedError, match="git lfs pull") as caught:
        open_register([path])
    assert caught.value.code == "lfs-pointer"
    assert caught.value.found == {"oid": f"sha256:{PLAN}", "size": "123"}
    with pytest.raises(NotCheckedError, match="no such file"):
        open_register([tmp_path / "absent"])


@pytest.mark.parametrize("text", ["prereg.episodes/2", "prereg.episodes/1.5", "prereg.diary/1", "prereg."])
def test_other_versions_of_our_formats_are_refused(tmp_path, text):
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table(rows()).replace_schema_metadata({"format": text}), path)
    error = refused(path)
    assert error.code == "unknown-format"
    assert error.found == text
    assert format_of("someone.else/7", "x") is None


def test_a_file_that_is_not_what_its_format_says(tmp_path):
    for columns, field in (
        ({**rows(), "true_success": ["x"] * 24}, "true_success"),
        ({name: column for name, column in rows().items() if name != "regime"}, "regime"),
    ):
        pq.write_table(
            pa.table(columns).replace_schema_metadata({"format": "prereg.episodes/1"}), tmp_path / "e.parquet"
        )
        error = refused(tmp_path / "e.parquet")
        assert (error.code, error.where.field) == ("format-columns", field)


def test_keys_of_mixed_types_are_refused(tmp_path):
    parquet(tmp_path / "a.parquet", rows(seeds=(0,)))
    parquet(tmp_path / "b.parquet", {**rows(seeds=(1,)), "seed": ["1"] * 12})
    error = refused(tmp_path)
    assert error.code == "mixed-types"
    assert error.where.field == "seed"
    assert "integer" in str(error)
    assert "b.parquet" in str(error)
    with pytest.raises(RegisterError, match="mixed types"):
        Registers.from_frames({"episodes": {**rows(), "task": [1, "2"] * 12}})


def test_a_part_that_lacks_a_column(tmp_path):
    parquet(tmp_path / "a.parquet", rows(seeds=(0,)))
    parquet(tmp_path / "b.parquet", {k: v for k, v in rows(seeds=(1,)).items() if k != "true_success"})
    error = refused(tmp_path)
    assert error.code == "absent-column"
    assert error.where.file.endswith("b.parquet")
    # a key column that only some parts have is a difference between the rows
    parquet(tmp_path / "b.parquet", {**rows(seeds=(1,)), "eval_set": ["noisy"] * 12})
    assert refused(tmp_path).code == "mixed"


def test_kinds_by_format_by_name_and_by_nothing(tmp_path):
    write_register(tmp_path / "e.parquet", "episodes", rows())
    pa.csv.write_csv(pa.table({"step": [1], "successes": [3], "episodes": [4]}), tmp_path / "counts.csv")
    parquet(tmp_path / "other.parquet", {"x": ["a"], "value": [1.5]})
    found = open_register([tmp_path])
    assert found.kinds == ("counts", "episodes")
    assert found.rows("counts").size == 1
    assert found.rows("probe").files == (str(tmp_path / "other.parquet"),)
    with pytest.raises(RegisterError, match="no probe register") as caught:
        open_register([tmp_path / "e.parquet"]).rows("probe")
    assert caught.value.found == ["episodes"]


def test_a_frame_is_a_register():
    import pandas as pd

    frame = pd.DataFrame(rows())
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED
    frame["task"] = pd.Categorical(frame["task"], categories=["task-9", *sorted(set(frame["task"]))])
    frame["seed"] = frame["seed"].astype("Int64")
    frame["true_success"] = frame["true_success"].astype("boolean")
    frame["when"] = pd.Timestamp("2026-01-01")
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED
    frame["seed"] = frame["seed"].astype("float64")
    assert cells(Registers.from_frames({"episodes": frame})) == WANTED
    with pytest.raises(UsageError):
        Registers.from_frames({"diary": rows()})
    with pytest.raises(RegisterError, match="no rows"):
        Registers.from_frames({"episodes": pd.DataFrame(rows()).head(0)})


def test_the_same_file_twice_is_read_once(tmp_path):
    path = parquet(tmp_path / "a.parquet", rows())
    assert cells(open_register([path, tmp_path])) == WANTED


def test_roles_of_columns():
    assert role_of("true_success", "text", None) == "value"
    assert role_of("eval_set", "text", None) == "key"
    assert role_of("loss", "number", None) == "value"
    assert role_of("run_id", "text", "probe") == "detail"
    assert role_of("run_id", "text", None) == "detail"
    assert role_of("run_id", "text", "reported") == "key"
    assert role_of("task", "text", "groups") == "detail"


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
    table = cell_table(open_register([path]), "episodes", where={"seed": "2"}, value="true_success", arm="arm",
                       arms=("paired",), pairs="seed", cluster="task", axis="step")  # fmt: skip
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


# --- writing ------------------------------------------------------------------------------------------------------


def test_the_same_columns_give_the_same_bytes(tmp_path):
    one = write_register(tmp_path / "a.parquet", "episodes", rows())
    arrays = {
        name: pa.array(column) if name == "task" else np.array(column)
        for name, column in reversed(rows().items())
    }
    other = write_register(tmp_path / "b.parquet", "episodes", arrays)
    assert one.sha256 == other.sha256 == sha256_file(tmp_path / "a.parquet")
    assert one.rows == 24
    metadata = pq.read_schema(one.path).metadata
    assert metadata[b"format"] == b"prereg.episodes/1"
    with pytest.raises(ArchiveError):
        write_register(one.path, "episodes", rows())
    assert not list(tmp_path.glob("*.partial"))


def test_further_columns_and_metadata_are_kept(tmp_path):
    info = write_register(
        tmp_path / "e.parquet", "episodes", {"speed": [1.5] * 24, **rows()}, {"writer": "study"}
    )
    table = pq.read_table(info.path)
    assert table.column_names[-1] == "speed"
    assert table.schema.metadata[b"writer"] == b"study"


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"regime": None}, "format-columns", "regime"),
        ({"seed": ["x"] * 24}, "mixed-types", "seed"),
        ({"seed": [1.5] * 24}, "mixed-types", "seed"),
        ({"seed": [True] * 24}, "mixed-types", "seed"),
        ({"true_success": [2] * 24}, "mixed-types", "true_success"),
        ({"task": list(range(24))}, "mixed-types", "task"),
        ({"task": [None, *["t"] * 23]}, "missing-value", "task"),
        ({"true_success": [True] * 23}, "column-length", None),
        ({"extra": [None] * 24}, "missing-value", "extra"),
    ],
)
def test_columns_that_do_not_fit_are_refused_before_anything_is_written(tmp_path, change, code, field):
    columns = {name: column for name, column in {**rows(), **change}.items() if column is not None}
    with pytest.raises(RegisterError) as caught:
        write_register(tmp_path / "e.parquet", "episodes", columns)
    assert (caught.value.code, caught.value.where.field) == (code, field)
    assert not list(tmp_path.iterdir())


def test_nothing_to_write(tmp_path):
    with pytest.raises(RegisterError, match="no rows"):
        write_register(tmp_path / "e.parquet", "episodes", {name: [] for name in rows()})
    with pytest.raises(UsageError):
        write_register(tmp_path / "e.parquet", "runs", rows())


def test_every_format_describes_itself():
    for kind, known in FORMATS.items():
        assert known.name == f"prereg.{kind}/1"
        assert len({column.name for column in known.columns}) == len(known.columns)
        assert all(column.doc for column in known.columns)
        assert format_of(known.name, "x") is known
    assert (
        json.dumps(sorted(FORMATS)) == '["counts", "episodes", "groups", "luck", "probe", "reported", "runs"]'
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
    count_rate(found, "episodes", where={"arm": "blocking"}, numerator="true_success")
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
