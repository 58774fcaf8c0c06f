"""Freezing: exact bytes, nothing overwritten, nothing half-written, whatever kills it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg_kit.errors import ArchiveError
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.record import NewStamp, Pending, Stamps
from prereg_kit.foundation.digest import sha256_bytes

DATA = b"line one\nline two\n"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def stamp(operator: str = "alpha", response: bytes = b"response", **more: object) -> NewStamp:
    return NewStamp(operator, f"http://{operator}/", query=b"query", response=response, gen_time=NOW, **more)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_the_exact_bytes_are_kept_and_sha256sum_reproduces_the_digest(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfmixed\r\nendings\n\x00\xff"
    document = archive.freeze(data, "a b.md", tmp_path / "frozen" / "doc").document
    assert (tmp_path / "frozen/doc/a b.md").read_bytes() == data == document.data
    assert document.digest == sha256_bytes(data)
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=document.folder, check=True, capture_output=True
    )
    assert done.stdout == b"a b.md: OK\n"


@given(st.binary(min_size=1, max_size=300))
@settings(max_examples=20, derandomize=True, deadline=None)
def test_any_bytes_come_back_as_they_were(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        archive.freeze(data, "x.bin", Path(folder) / "d")
        assert archive.load_frozen(Path(folder) / "d").data == data


def test_the_same_bytes_again_change_nothing_and_ask_nobody(tmp_path: Path) -> None:
    archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a")
    before = tree(tmp_path)

    def stamper(digest: str) -> Stamps:
        raise AssertionError("asked")

    again = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", stamper)
    assert again.existed
    assert tree(tmp_path) == before


def test_other_bytes_under_the_same_id_are_refused_with_both_digests(tmp_path: Path) -> None:
    archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a")
    before = tree(tmp_path)
    with pytest.raises(ArchiveError) as caught:
        archive.freeze(DATA + b"x", "a.md", tmp_path / "frozen" / "a")
    assert caught.value.code == "exists"
    assert sha256_bytes(DATA) in str(caught.value)
    assert sha256_bytes(DATA + b"x") in str(caught.value)
    assert tree(tmp_path) == before


def test_an_id_that_differs_only_in_case_is_refused(tmp_path: Path) -> None:
    archive.freeze(DATA, "a.md", tmp_path / "frozen" / "Plan")
    with pytest.raises(ArchiveError, match="only in case"):
        archive.freeze(DATA, "a.md", tmp_path / "frozen" / "plan")


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "a/b", "a\\b", "-a", ".a", "a.", "é", "a b", "a" * 81, "NUL", "com1.x", "a\n"]
)
def test_unusable_ids_are_refused(bad: str, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError) as caught:
        archive.check_id(bad)
    assert caught.value.code == "id"
    assert "--id " in str(caught.value)


def test_a_folder_whose_name_is_no_id_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="--id"):
        archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a b")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("good", ["a", "A-1_b.c", "9", "a" * 80, "console"])
def test_usable_ids_are_accepted(good: str, tmp_path: Path) -> None:
    archive.freeze(DATA, "a.md", tmp_path / "frozen" / good)


@pytest.mark.parametrize(
    "bad", ["", "freeze.json", "README.md", "stamps", ".hidden", "a/b", "a\\b", "a\u202eb", "a\nb", "a\0"]
)
def test_unusable_document_names_are_refused(bad: str, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError) as caught:
        archive.freeze(DATA, bad, tmp_path / "d")
    assert caught.value.code == "name"


def test_an_empty_document_is_refused_without_a_digest(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="empty") as caught:
        archive.freeze(b"", "a.md", tmp_path / "d")
    assert sha256_bytes(b"") not in str(caught.value)


def test_stamps_are_filed_by_operator_and_named_in_the_record(tmp_path: Path) -> None:
    stamps = Stamps(
        done=(
            stamp(chain=b"CHAIN", anchor=b"ANCHOR"),
            stamp("demo", demo=True),
            stamp(response=b"second of the same operator"),
        ),
        pending=(Pending("gamma", "http://gamma/", "503", NOW, query=b"prepared"),),
    )
    frozen = archive.freeze(DATA, "a.md", tmp_path / "d", lambda digest: stamps, quorum=3)
    names = set(tree(tmp_path / "d/stamps"))
    assert names == {
        "alpha.tsq", "alpha.tsr", "alpha.chain.pem", "alpha.anchor.pem", "demo.tsq", "demo.demo.tsr", "alpha-2.tsq",
        "alpha-2.tsr", "gamma.pending.tsq",
    }  # fmt: skip
    record = frozen.document.record
    assert record.quorum == 3
    for entry in record.stamps:
        assert archive.read_file(tmp_path / "d", entry.response)
    assert json.loads((tmp_path / "d/freeze.json").read_bytes())["format"] == "prereg.freeze/1"


def test_completing_adds_a_stamp_settles_the_pending_one_and_keeps_the_rest(tmp_path: Path) -> None:
    first = Stamps(done=(stamp(),), pending=(Pending("beta", "http://beta/", "503", NOW, query=b"prepared"),))
    archive.freeze(DATA, "a.md", tmp_path / "d", lambda digest: first)
    before = tree(tmp_path / "d")
    failed = Stamps(pending=(Pending("beta", "http://beta/", "504", NOW),))
    record = archive.complete(tmp_path / "d", lambda digest: failed).document.record
    assert record.pending[0].problem == "504"
    assert archive.read_file(tmp_path / "d", record.pending[0].query) == b"prepared"
    done = archive.complete(tmp_path / "d", lambda digest: Stamps(done=(stamp("beta"),)))
    assert [s.operator for s in done.document.record.stamps] == ["alpha", "beta"]
    assert done.document.record.pending == ()
    after = tree(tmp_path / "d")
    assert "stamps/beta.pending.tsq" not in after
    for name, data in before.items():
        assert name in ("freeze.json", "README.md", "stamps/beta.pending.tsq") or after[name] == data


def test_an_altered_document_is_not_completed(tmp_path: Path) -> None:
    archive.freeze(DATA, "a.md", tmp_path / "d")
    (tmp_path / "d/a.md").write_bytes(b"other")
    with pytest.raises(ArchiveError, match="not the frozen ones"):
        archive.complete(tmp_path / "d", lambda digest: Stamps(done=(stamp(),)))


def test_a_second_writer_is_turned_away_while_the_first_works(tmp_path: Path) -> None:
    archive.freeze(DATA, "a.md", tmp_path / "d")

    def stamper(digest: str) -> Stamps:
        with pytest.raises(ArchiveError) as caught:
            archive.complete(tmp_path / "d", lambda digest: Stamps(done=(stamp("beta"),)))
        assert caught.value.code == "busy"
        return Stamps(done=(stamp("alpha"),))

    record = archive.complete(tmp_path / "d", stamper).document.record
    assert [s.operator for s in record.stamps] == ["alpha"]


def test_of_two_freezes_at_once_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    def slow(digest: str) -> Stamps:
        archive.freeze(b"the other one\n", "a.md", tmp_path / "frozen/a")
        return Stamps()

    with pytest.raises(ArchiveError) as caught:
        archive.freeze(DATA, "a.md", tmp_path / "frozen/a", slow)
    assert caught.value.code == "exists"
    assert archive.load_frozen(tmp_path / "frozen/a").data == b"the other one\n"
    assert [p.name for p in (tmp_path / "frozen").iterdir()] == ["a"]


def test_a_freeze_in_progress_is_not_swept_by_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, nested = os.fsync, []

    def meanwhile(handle: int) -> None:
        real(handle)
        if not nested:
            nested.append(True)
            archive.freeze(b"other\n", "b.md", tmp_path / "frozen/b")

    monkeypatch.setattr(os, "fsync", meanwhile)
    archive.freeze(DATA, "a.md", tmp_path / "frozen/a")
    assert sorted(p.name for p in (tmp_path / "frozen").iterdir()) == ["a", "b"]


def test_of_several_processes_at_once_exactly_one_wins_whole(tmp_path: Path) -> None:
    code = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from prereg_kit.evidence import archive
        from prereg_kit.errors import ArchiveError
        target, number, start = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
        time.sleep(max(0.0, start - time.time()))
        try:
            archive.freeze(number.encode() * 1000, "a.txt", target)
            print("won", number)
        except ArchiveError as error:
            print(error.code)
        """
    )
    import time

    start = str(time.time() + 2)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "frozen/a"), str(number), start],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        )
        for number in range(4)
    ]
    said = [child.communicate()[0].strip() for child in children]
    winners = [line.split()[1] for line in said if line.startswith("won")]
    assert len(winners) == 1
    assert said.count("exists") == 3
    assert archive.load_frozen(tmp_path / "frozen/a").data == winners[0].encode() * 1000
    assert [p.name for p in (tmp_path / "frozen").iterdir()] == ["a"]


KILLER = textwrap.dedent(
    """
    # Runs one verb once whole and then once for every durable step, killed there; a fork each, so that the
    # imports are paid for once. Prints the number of steps and, per run, the signal that ended it.
    import os, signal, sys
    from datetime import UTC, datetime
    from pathlib import Path
    from prereg_kit.evidence import archive
    from prereg_kit.evidence.archive.record import NewStamp, Stamps

    base, verb = Path(sys.argv[1]), sys.argv[2]
    stamp = NewStamp("alpha", "http://a/", b"query", b"response", gen_time=datetime(2026, 1, 1, tzinfo=UTC))
    ask = lambda digest: Stamps(done=(stamp,))

    def act(target, fatal, pipe):
        steps = 0

        def counted(function):
            def wrapper(*args, **kwargs):
                nonlocal steps
                for moment in ("before", "after"):
                    steps += 1
                    if steps == fatal:
                        os.kill(os.getpid(), signal.SIGKILL)
                    if moment == "before":
                        result = function(*args, **kwargs)
                return result
            return wrapper

        for name in ("fsync", "rename", "replace", "link", "mkdir", "unlink", "open", "rmdir"):
            setattr(os, name, counted(getattr(os, name)))
        if verb == "freeze":
            archive.freeze(b"document\\n", "a.md", target, ask)
        else:
            archive.complete(target, ask)
        os.write(pipe, str(steps).encode())
        os._exit(0)

    def run(name, fatal):
        target = base / name / "frozen" / "a"
        if verb == "stamp":
            archive.freeze(b"document\\n", "a.md", target)
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            act(target, fatal, into)
        os.close(into)
        _, status = os.waitpid(child, 0)
        said = os.read(out, 100)
        os.close(out)
        return said, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0

    said, ended = run("whole", 0)
    assert ended == 0
    print(int(said))
    for fatal in range(1, int(said) + 1):
        print(fatal, run(f"k{fatal}", fatal)[1])
    """
)


def state(target: Path) -> tuple[int, int] | None:
    """What a reader sees: None before the freeze, else the number of stamps, each readable, and of documents."""
    folders = archive.find_frozen(target.parent.parent)
    if not folders:
        return None
    document = archive.load_frozen(target)
    assert document.data == b"document\n"
    for entry in document.record.stamps:
        assert archive.read_file(target, entry.response) == b"response"
        assert archive.read_file(target, entry.query) == b"query"
    return len(document.record.stamps), len(folders)


@pytest.mark.parametrize(("verb", "old", "new"), [("freeze", None, (1, 1)), ("stamp", (0, 1), (1, 1))])
def test_a_kill_at_any_step_leaves_the_old_state_or_the_new_one(tmp_path: Path, verb: str, old, new) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path), verb],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
    )
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert int(first) == len(lines) > 20
    seen = []
    for line in lines:
        fatal, ended = map(int, line.split())
        assert ended == signal.SIGKILL, fatal
        target = tmp_path / f"k{fatal}" / "frozen" / "a"
        seen.append(state(target))
        assert seen[-1] in (old, new), fatal
        if verb == "freeze":
            again = archive.freeze(b"document\n", "a.md", target)
            assert [p.name for p in target.parent.iterdir()] == ["a"], "the leftovers of the dead are swept"
            assert again.existed == (seen[-1] == new)
        else:
            finished = archive.complete(target, lambda digest: Stamps(done=(stamp("beta"),)))
            assert finished.document.record.stamps[-1].operator == "beta"
    assert {old, new} == set(seen)
    assert seen == sorted(seen, key=lambda s: s == new), "once new, never old again"


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    code = textwrap.dedent(
        """
        import resource, signal, sys
        from pathlib import Path
        from prereg_kit.evidence import archive
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            archive.freeze(bytes(10000), "a.bin", Path(sys.argv[1]) / "frozen" / "a")
        except OSError as error:
            print("refused", error.errno)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
    )
    assert done.stdout.startswith("refused"), done.stderr
    assert list((tmp_path / "frozen").iterdir()) == []


def test_a_full_disk_during_a_stamp_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.freeze(DATA, "a.md", tmp_path / "d")
    before = tree(tmp_path / "d")
    real, count = os.fsync, []

    def full(handle: int) -> None:
        count.append(handle)
        if len(count) == 3:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        archive.complete(tmp_path / "d", lambda digest: Stamps(done=(stamp(),)))
    monkeypatch.undo()
    after = tree(tmp_path / "d")
    assert {name: after[name] for name in before} == before
    assert archive.load_frozen(tmp_path / "d").record.stamps == ()
