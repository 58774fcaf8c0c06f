"""The status of a frozen document: quorum, lapse, gap, forgery, and the README's commands in a clean shell."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import loopback
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from prereg_kit.errors import ArchiveError, TimestampError
from prereg_kit.evidence import archive, tsa
from prereg_kit.evidence.archive.renew import renew
from prereg_kit.evidence.authority import OPERATOR, URL, DemoAuthority
from prereg_kit.evidence.folder import DocumentReport, Examiner, evidence_files, exit_code
from prereg_kit.evidence.trust import Operator, TrustStore, add
from prereg_kit.foundation.digest import sha256_bytes

pytestmark = pytest.mark.skipif(
    loopback.OPENSSL is None, reason="openssl, the independent peer, is not installed"
)
DATA = b"a protocol\nin two lines\n"
SETTINGS = tsa.Settings(limits=tsa.Limits(5, 10), revocation=False)


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def store(folder: Path) -> TrustStore:
    return TrustStore.load([folder], local=None)


@contextlib.contextmanager
def stamping(trust: Path, *authorities: loopback.Authority) -> Iterator[archive.Stamper]:
    """A stamper for running authorities, each pinned in `trust` under its own name."""
    with contextlib.ExitStack() as stack:
        sources = []
        for authority in authorities:
            server = stack.enter_context(loopback.serving(loopback.signing(authority)))
            name = authority.folder.name
            if not (trust / name).exists():
                loopback.trust_folder(trust, (name, authority, server.url))
            pinned = Operator(name, url=server.url, anchors=(authority.root.read_bytes(),))
            sources.append(tsa.Source(pinned))
        yield tsa.stamper(sources, SETTINGS)


def demo_stamper() -> archive.Stamper:
    authority = DemoAuthority.create()

    def send(url: str, body: bytes, limits: tsa.Limits) -> tsa.Answer:
        return tsa.Answer(200, loopback.REPLY, authority.answer(body))

    operator = Operator(OPERATOR, url=URL, anchors=(authority.root_pem,))
    return tsa.stamper([tsa.Source(operator, send, demo=True)], SETTINGS)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A document stamped by alpha and beta, and the folder in which both are pinned."""
    base = tmp_path_factory.mktemp("two")
    with stamping(base / "trust", loopback.authority("alpha"), loopback.authority("beta")) as stamper:
        folder = archive.freeze(DATA, "plan.md", base / "frozen" / "doc", stamper).document.folder
    return folder, base / "trust"


@pytest.fixture
def copy(two: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    shutil.copytree(two[0], tmp_path / "frozen/doc")
    return tmp_path / "frozen/doc", two[1]


def judge(folder: Path, trust: Path, **more: object) -> DocumentReport:
    return Examiner(store(trust), **({"at": now()} | more)).examine(folder)


def test_two_operators_protect_a_document_from_the_later_of_their_times(two: tuple[Path, Path]) -> None:
    report = judge(*two)
    assert report.status == "protected", report
    assert sorted(report.counted) == ["alpha", "beta"]
    latest = max(stamp.proof.latest for stamp in report.stamps)
    assert report.proven_time == latest
    assert report.protected_until == min(stamp.proof.protected_until for stamp in report.stamps)
    assert report.problems == ()
    assert [item.split(":")[0] for item in report.not_checked] == ["alpha", "beta"]
    assert exit_code([report], allow_demo=False, allow_unstamped=False) == 0


def test_more_operators_asked_for_than_there_are_is_below_quorum(two: tuple[Path, Path]) -> None:
    report = judge(*two, required=3)
    assert report.status == "below quorum"
    assert sorted(report.counted) == ["alpha", "beta"]
    assert exit_code([report], allow_demo=True, allow_unstamped=True) == 1
    assert judge(*two, required=1).proven_time == min(s.proof.latest for s in report.stamps)


def test_without_any_anchor_nothing_is_checked_and_the_exit_code_says_so(
    two: tuple[Path, Path], tmp_path: Path
) -> None:
    report = judge(two[0], tmp_path)
    assert report.status == "not checked"
    assert all("prereg trust add" in item for item in report.not_checked)
    assert exit_code([report], allow_demo=True, allow_unstamped=True) == 3


def test_with_one_anchor_missing_it_is_not_checked_rather_than_below(
    two: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(two[1] / "alpha", tmp_path / "trust/alpha")
    assert judge(two[0], tmp_path / "trust").status == "not checked"
    assert judge(two[0], tmp_path / "trust", required=1).status == "protected"
    assert judge(two[0], tmp_path / "trust", required=3).status == "below quorum"


def test_one_root_under_two_names_counts_once(copy: tuple[Path, Path], tmp_path: Path) -> None:
    record = json.loads((copy[0] / "freeze.json").read_text())
    record["stamps"] = [
        record["stamps"][0],
        record["stamps"][0] | {"operator": "gamma", "url": "http://127.0.0.1:1/"},
    ]
    (copy[0] / "freeze.json").write_text(json.dumps(record))
    trust = tmp_path / "trust"
    loopback.trust_folder(
        trust, ("alpha", loopback.authority("alpha"), ""), ("gamma", loopback.authority("alpha"), "")
    )
    report = judge(copy[0], trust)
    assert report.status == "below quorum"


def test_a_copy_years_later_is_lapsed_and_still_proven(two: tuple[Path, Path]) -> None:
    report = judge(*two, at=now() + dt.timedelta(days=3651))
    assert report.status == "lapsed"
    assert report.proven_time is not None
    assert exit_code([report], allow_demo=True, allow_unstamped=True) == 1


def test_under_an_early_clock_tokens_are_rejected_only_as_being_of_the_future(two: tuple[Path, Path]) -> None:
    report = judge(*two, at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    assert {stamp.reason for stamp in report.stamps} == {"future"}
    assert report.status == "below quorum"


def test_an_altered_document_is_altered_whatever_the_tokens_say(copy: tuple[Path, Path]) -> None:
    (copy[0] / "plan.md").write_bytes(DATA.replace(b"\n", b"\r\n"))
    report = judge(*copy)
    assert report.status == "altered"
    assert "line endings" in report.problems[0]


def test_document_and_record_rewritten_together_are_betrayed_by_the_tokens(copy: tuple[Path, Path]) -> None:
    forged = archive.freeze(b"another protocol\n", "plan.md", copy[0].parent / "forged").document.record
    record = json.loads((copy[0] / "freeze.json").read_text())
    record["document"] = forged.document.model_dump()
    (copy[0] / "freeze.json").write_text(json.dumps(record))
    (copy[0] / "plan.md").write_bytes(b"another protocol\n")
    report = judge(*copy)
    assert {stamp.reason for stamp in report.stamps} == {"imprint_mismatch"}
    assert report.status == "altered"


def test_a_damaged_extra_token_is_reported_and_no_veto(copy: tuple[Path, Path]) -> None:
    archive.complete(copy[0], demo_stamper())
    path = copy[0] / "stamps/demo.demo.tsr"
    path.write_bytes(path.read_bytes()[:-1])
    report = judge(*copy)
    assert report.status == "protected"
    assert any("demo" in problem for problem in report.problems)


def test_a_missing_token_that_is_needed_makes_it_fail(copy: tuple[Path, Path]) -> None:
    (copy[0] / "stamps/alpha.tsr").unlink()
    report = judge(*copy)
    assert report.status == "below quorum"
    assert "alpha" in report.problems[0]
    (copy[0] / "stamps/beta.tsr").write_bytes(b"")
    assert judge(*copy).status == "altered"


@pytest.mark.parametrize("part", ["query", "response", "chain"])
def test_a_file_exchanged_together_with_its_entry_is_rejected_and_not_merely_unchecked(
    copy: tuple[Path, Path], part: str
) -> None:
    record = json.loads((copy[0] / "freeze.json").read_text())
    for stamp in record["stamps"]:
        (copy[0] / stamp[part]["path"]).write_bytes(b"junk\n")
        stamp[part] |= {"sha256": sha256_bytes(b"junk\n"), "size": 5}
    (copy[0] / "freeze.json").write_text(json.dumps(record))
    report = judge(*copy)
    assert {stamp.verdict for stamp in report.stamps} == {"reject"}
    assert report.status == "below quorum"


def test_an_unreadable_anchor_is_not_checked_and_no_fault_of_the_token(
    copy: tuple[Path, Path], tmp_path: Path
) -> None:
    for name in ("alpha", "beta"):
        (tmp_path / "trust" / name).mkdir(parents=True)
        (tmp_path / "trust" / name / "root.pem").write_bytes(b"no certificate")
    assert judge(copy[0], tmp_path / "trust").status == "not checked"


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Every place inside a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


JUNK = st.sampled_from(
    [None, True, 0, -1, 1e300, "", "x", "../x", "\0", "demo", "0" * 64, [], {}, ["x"], {"x": 1}]
)


@given(st.data())
@hypothesis_settings(max_examples=150, derandomize=True, deadline=None)
def test_no_change_of_the_record_crashes_or_makes_a_better_case(
    two: tuple[Path, Path], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "doc"
        shutil.copytree(two[0], folder)
        record = json.loads((folder / "freeze.json").read_text())
        where = data.draw(st.sampled_from(places(record)))
        inner = record
        for key in where[:-1]:
            inner = inner[key]
        if data.draw(st.booleans()):
            inner[where[-1]] = data.draw(JUNK)
        else:
            del inner[where[-1]]
        (folder / "freeze.json").write_text(json.dumps(record))
        report = Examiner(store(two[1]), now()).examine(folder)
        json.dumps(report.to_json())
        if (
            report.status == "protected"
        ):  # a change of words alone, or of the number that the record itself asks for
            assert report.sha256 == sha256_bytes(DATA)
            assert set(report.counted) <= {"alpha", "beta"}
            assert len(report.counted) >= report.required


def test_unrecorded_files_are_named_and_never_counted(copy: tuple[Path, Path]) -> None:
    (copy[0] / "stamps/zeta.tsr").write_bytes((copy[0] / "stamps/alpha.tsr").read_bytes())
    report = judge(*copy)
    assert report.status == "protected"
    assert any("stamps/zeta.tsr" in note for note in report.notes)


def test_a_lost_record_is_altered(copy: tuple[Path, Path]) -> None:
    (copy[0] / "freeze.json").unlink()
    assert judge(*copy).status == "altered"


def test_a_demo_stamp_is_demo_even_if_its_root_is_pinned(tmp_path: Path) -> None:
    folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", demo_stamper()).document.folder
    trust = tmp_path / "trust/mine"
    trust.mkdir(parents=True)
    (trust / "root.pem").write_bytes((folder / "stamps/demo.anchor.pem").read_bytes())
    for required in (1, 2):
        report = judge(folder, tmp_path / "trust", required=required)
        assert report.status == "demo"
        assert report.proven_time is None
        assert "NO EVIDENTIAL VALUE" in report.labels[0]
    assert exit_code([report], allow_demo=False, allow_unstamped=True) == 1
    assert exit_code([report], allow_demo=True, allow_unstamped=False) == 0


def test_a_demo_stamp_recorded_as_a_real_one_still_never_counts(tmp_path: Path) -> None:
    folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", demo_stamper()).document.folder
    trust = tmp_path / "trust/mine"
    trust.mkdir(parents=True)
    (trust / "root.pem").write_bytes((folder / "stamps/demo.anchor.pem").read_bytes())
    record = json.loads((folder / "freeze.json").read_text())
    record["stamps"][0] |= {"demo": False, "operator": "mine"}
    (folder / "freeze.json").write_text(json.dumps(record))
    report = judge(folder, tmp_path / "trust", required=1)
    assert (report.status, report.counted) == ("altered", ())  # the README no longer follows from the record
    assert report.stamps[0].proof.demo


def test_a_real_token_recorded_as_demo_cannot_smuggle_its_own_anchor_in(
    copy: tuple[Path, Path], tmp_path: Path
) -> None:
    record = json.loads((copy[0] / "freeze.json").read_text())
    for stamp in record["stamps"]:
        stamp["demo"] = True
    (copy[0] / "freeze.json").write_text(json.dumps(record))
    report = judge(copy[0], tmp_path)
    assert report.counted == ()
    assert {stamp.reason for stamp in report.stamps} == {"demo-mismatch"}
    assert exit_code([report], allow_demo=True, allow_unstamped=True) == 1


def test_not_stamped_fails_unless_allowed(tmp_path: Path) -> None:
    folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a").document.folder
    report = judge(folder, tmp_path)
    assert report.status == "not stamped"
    assert exit_code([report], allow_demo=True, allow_unstamped=False) == 1
    assert exit_code([report], allow_demo=False, allow_unstamped=True) == 0
    assert exit_code([], allow_demo=True, allow_unstamped=True) == 3


def test_a_renewal_in_time_carries_the_evidence_on_and_its_first_time_stays(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    brief = [
        loopback.make_authority(tmp_path / n, n, lifetime=dt.timedelta(days=2))
        for n in ("brief-a", "brief-b")
    ]
    with stamping(trust, *brief) as stamper:
        folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", stamper).document.folder
    first = judge(folder, trust)
    later = now() + dt.timedelta(days=3)
    assert judge(folder, trust, at=later).status == "lapsed"
    with stamping(trust, loopback.authority("alpha"), loopback.authority("beta")) as stamper:
        renew(folder, evidence_files(archive.read_record(folder)), stamper)
    report = judge(folder, trust, at=later)
    assert report.status == "protected", report
    assert report.proven_time == first.proven_time
    assert report.protected_until > later + dt.timedelta(days=3000)
    run_commands(folder)


def test_a_renewal_below_the_quorum_does_not_count(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    brief = [
        loopback.make_authority(tmp_path / n, n, lifetime=dt.timedelta(days=2))
        for n in ("brief-a", "brief-b")
    ]
    with stamping(trust, *brief) as stamper:
        folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", stamper).document.folder
    with stamping(trust, loopback.authority("alpha")) as stamper:
        renew(folder, evidence_files(archive.read_record(folder)), stamper)
    report = judge(folder, trust, at=now() + dt.timedelta(days=3))
    assert report.status == "lapsed"
    assert any("renewal 1 does not count" in note for note in report.notes)


@pytest.mark.parametrize("left_out", ["stamps/beta.tsr", "stamps/alpha.tsq", "plan.md"])
def test_a_renewal_whose_list_leaves_something_needed_out_does_not_count(
    copy: tuple[Path, Path], left_out: str
) -> None:
    before = judge(*copy)
    files = [ref for ref in evidence_files(archive.read_record(copy[0])) if ref.path != left_out]
    with stamping(copy[1], loopback.authority("gamma"), loopback.authority("delta")) as stamper:
        renew(copy[0], files, stamper)
    report = judge(*copy)
    assert any("does not carry a quorum" in note for note in report.notes)
    assert report.protected_until == before.protected_until


def test_a_stamp_added_after_a_renewal_does_not_undo_it(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    brief = [
        loopback.make_authority(tmp_path / n, n, lifetime=dt.timedelta(days=2))
        for n in ("brief-a", "brief-b")
    ]
    with stamping(trust, *brief) as stamper:
        folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", stamper).document.folder
    with stamping(trust, loopback.authority("alpha"), loopback.authority("beta")) as stamper:
        renew(folder, evidence_files(archive.read_record(folder)), stamper)
    with stamping(trust, loopback.authority("gamma")) as stamper:
        archive.complete(folder, stamper)
    assert judge(folder, trust, at=now() + dt.timedelta(days=3)).status == "protected"


def test_a_second_renewal_may_rest_on_the_first(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    names = {"a": 2, "b": 2, "c": 20, "d": 20}
    made = [loopback.make_authority(tmp_path / n, n, lifetime=dt.timedelta(days=d)) for n, d in names.items()]
    with stamping(trust, *made[:2]) as stamper:
        folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "doc", stamper).document.folder
    for pair in (made[2:], [loopback.authority("alpha"), loopback.authority("beta")]):
        with stamping(trust, *pair) as stamper:
            renew(folder, evidence_files(archive.read_record(folder)), stamper)
    assert judge(folder, trust, at=now() + dt.timedelta(days=30)).status == "protected"
    first = judge(folder, trust)
    assert first.protected_until > now() + dt.timedelta(days=3000)
    (folder / "renewals/2/alpha.tsr").write_bytes(b"")
    assert judge(folder, trust, at=now() + dt.timedelta(days=10)).status == "protected"
    assert judge(folder, trust, at=now() + dt.timedelta(days=30)).status == "lapsed"


def test_a_late_renewal_is_a_gap(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    # Certificates that end in four seconds: long enough for two stamps on a busy machine, short enough to wait.
    brief = [
        loopback.make_authority(tmp_path / n, n, lifetime=dt.timedelta(seconds=4))
        for n in ("brief-a", "brief-b")
    ]
    with stamping(trust, *brief) as stamper:
        frozen = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", stamper)
    if len(frozen.stamps.done) < 2:
        pytest.skip("this machine was too slow for certificates of four seconds")
    folder = frozen.document.folder
    time.sleep(4)
    with stamping(trust, loopback.authority("alpha"), loopback.authority("beta")) as stamper:
        renew(folder, evidence_files(archive.read_record(folder)), stamper)
    report = judge(folder, trust)
    assert report.status == "gap"
    assert any("nothing vouches for the time between" in note for note in report.notes)
    assert exit_code([report], allow_demo=True, allow_unstamped=True) == 1


def test_an_unstamped_document_or_silent_authorities_give_no_renewal(
    tmp_path: Path, copy: tuple[Path, Path]
) -> None:
    folder = archive.freeze(DATA, "a.md", tmp_path / "x" / "frozen" / "a").document.folder
    with pytest.raises(ArchiveError, match="not stamped"):
        renew(folder, evidence_files(archive.read_record(folder)), demo_stamper())
    before = sorted(p.name for p in copy[0].rglob("*"))
    once = replace(SETTINGS, attempts=1)
    silent = tsa.stamper([tsa.Source(Operator("x", url="http://127.0.0.1:1/"))], once)
    with pytest.raises(TimestampError, match="no authority"):
        renew(copy[0], evidence_files(archive.read_record(copy[0])), silent)
    assert sorted(p.name for p in copy[0].rglob("*")) == before


def test_second_opinions_agree_on_good_tokens(two: tuple[Path, Path]) -> None:
    report = judge(*two, second_opinion=True)
    answers = {(o.program, o.answer) for stamp in report.stamps for o in stamp.opinions}
    assert ("openssl", "accept") in answers
    assert not any(answer == "reject" for _, answer in answers)


def commands(folder: Path) -> str:
    """The shell blocks of a folder's README, joined."""
    lines, inside = [], False
    for line in (folder / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```sh"
        elif inside:
            lines.append(line)
    return "\n".join(lines) + "\n"


def run_commands(folder: Path) -> str:
    done = subprocess.run(
        ["env", "-i", f"PATH={os.environ['PATH']}", "/bin/sh", "-e"],
        input=commands(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_readmes_commands_work_in_a_clean_shell(two: tuple[Path, Path]) -> None:
    said = run_commands(two[0])
    assert said.count("Verification: OK") == 4
    assert "plan.md: OK" in said


def test_the_readmes_commands_work_for_a_demo_stamp_and_a_name_with_a_quote_and_blanks(
    tmp_path: Path,
) -> None:
    name = "it's a $(plan) `x`.md"
    folder = archive.freeze(DATA, name, tmp_path / "frozen" / "a", demo_stamper()).document.folder
    assert run_commands(folder).count("Verification: OK") == 2
    assert "NO EVIDENTIAL VALUE" in (folder / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in (folder / "stamps").glob("*.tsr")] == ["demo.demo.tsr"]


def test_the_readmes_commands_fail_for_other_bytes(copy: tuple[Path, Path]) -> None:
    (copy[0] / "plan.md").write_bytes(b"other")
    with pytest.raises(AssertionError, match="FAILED"):
        run_commands(copy[0])


def test_an_intermediate_that_the_tokens_leave_out_is_given_by_the_operators_folder(tmp_path: Path) -> None:
    made = loopback.make_authority(tmp_path / "long", "Long", intermediate=True)
    root, inter = made.root.read_bytes(), (made.folder / "inter.pem").read_bytes()
    with loopback.serving(loopback.signing(made)) as server:
        bare = tsa.Source(Operator("long", url=server.url, anchors=(root,)))
        stamps = tsa.stamper([bare], SETTINGS)("00" * 32)
        assert stamps.done == ()
        assert "issuer" in stamps.pending[0].problem
        operator = add("long", [root], tmp_path / "trust", url=server.url, untrusted=[inter])
        stamper = tsa.stamper([tsa.Source(operator)], SETTINGS)
        folder = archive.freeze(DATA, "a.md", tmp_path / "frozen" / "a", stamper).document.folder
    assert judge(folder, tmp_path / "trust", required=1).status == "protected"
    assert run_commands(folder).count("Verification: OK") == 2
    # An intermediate is no anchor: without the root nothing is proven.
    shutil.copytree(tmp_path / "trust/long/untrusted", tmp_path / "only/long/untrusted")
    assert judge(folder, tmp_path / "only", required=1).status == "not checked"
