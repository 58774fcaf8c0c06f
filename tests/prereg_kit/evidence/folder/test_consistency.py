"""A frozen folder's parts contradict one another: each way is a finding, whatever the record was edited to say."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import loopback
import pytest

from prereg_kit.errors import DocumentError, UsageError
from prereg_kit.evidence import archive
from prereg_kit.evidence.archive.readme import derived_files
from prereg_kit.evidence.folder import DocumentReport
from prereg_kit.evidence.trust import add
from prereg_kit.foundation.digest import readable_json
from prereg_kit.operations.amend import amend, draft
from prereg_kit.operations.authorities import Authorities
from prereg_kit.operations.freeze import freeze
from prereg_kit.operations.stamp import stamp
from prereg_kit.operations.verify import Verification, verify
from tests.plans import SMALL

THREE = SMALL.replace("id: small\n", "id: small\ntimestamps: {quorum: 3}\n")
needs_openssl = pytest.mark.skipif(
    loopback.OPENSSL is None, reason="openssl, the independent peer, is not installed"
)


@contextlib.contextmanager
def asking(trust: Path, *names: str) -> Iterator[Authorities]:
    """Running authorities, each pinned in `trust` under its own name."""
    with contextlib.ExitStack() as stack:
        for name in names:
            authority = loopback.authority(name)
            server = stack.enter_context(loopback.serving(loopback.signing(authority)))
            if not (trust / name).exists():
                loopback.trust_folder(trust, (name, authority, server.url))
        yield Authorities(names, trust=(trust,), revocation=False, attempts=1)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def edit(folder: Path, change: Callable[[dict[str, object]], object], *, derived: bool = False) -> None:
    """Edit freeze.json as a forger would; with `derived` README and SHA256SUMS are made to fit."""
    record = json.loads((folder / "freeze.json").read_text())
    change(record)
    (folder / "freeze.json").write_bytes(readable_json(record))
    if derived:
        for name, data in derived_files(archive.read_record(folder)).items():
            (folder / name).write_bytes(data)


def only(found: Verification) -> DocumentReport:
    (report,) = found.documents
    return report


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A frozen document and a plan with two amendments, nobody having stamped them."""
    freeze(write(tmp_path / "protocol.md", "one thing\n"), root=tmp_path)
    freeze(write(tmp_path / "plan.yaml", SMALL), root=tmp_path)
    for number in (1, 2):
        text = draft(tmp_path / "frozen/small", tmp_path)
        for old, new in (
            ("<why the plan has to change>", "a reason"),
            ("<what exactly had been run and seen>", "none"),
        ):
            text = text.replace(old, new)
        text = text.replace("hypotheses/H1/statement", "title").replace("<the new text>", f"title {number}")
        text = text.replace("op: replace", "op: add" if number == 1 else "op: replace")
        amend(write(tmp_path / f"A{number}.yaml", text), root=tmp_path)
    return tmp_path


def failing(project: Path) -> dict[str, str]:
    """Folder -> problems, of what fails although nobody is asked to have stamped anything."""
    found = verify(project)
    bad = {d.folder.name: "\n".join(d.problems) for d in found.documents if d.status == "altered"}
    assert found.exit_code(allow_unstamped=True, allow_demo=True) == (1 if bad else 0)
    return bad


def test_an_untouched_project_has_no_finding(project: Path) -> None:
    assert failing(project) == {}
    assert len(verify(project).documents) == 4


@pytest.mark.parametrize("name", ["SHA256SUMS", "README.md"])
@pytest.mark.parametrize("how", ["altered", "emptied", "removed", "swapped", "line endings"])
def test_the_reviewers_own_commands_are_compared(project: Path, name: str, how: str) -> None:
    file = project / "frozen/small" / name
    other = (project / "frozen/protocol" / name).read_bytes()
    if how == "removed":
        file.unlink()
    else:
        data = file.read_bytes()
        changed = {"altered": data.replace(b"a", b"b", 1), "emptied": b"", "swapped": other}
        file.write_bytes(changed.get(how, data.replace(b"\n", b"\r\n")))
    bad = failing(project)
    assert list(bad) == ["small"]
    assert name in bad["small"]
    if how == "line endings":
        assert "differs only in line endings" in bad["small"]


def test_a_renamed_folder_is_a_finding(project: Path) -> None:
    (project / "frozen/protocol").rename(project / "frozen/other")
    assert "is called 'other' and freeze.json says 'protocol'" in failing(project)["other"]


def test_two_swapped_folders_are_findings(project: Path) -> None:
    frozen = project / "frozen"
    for old, new in (("protocol", "x"), ("small", "protocol"), ("x", "small")):
        (frozen / old).rename(frozen / new)
    assert {"protocol", "small"} <= set(failing(project))


def test_an_edited_id_is_a_finding_even_with_a_folder_and_a_readme_to_fit(project: Path) -> None:
    folder = project / "frozen/small"
    edit(folder, lambda record: record.update(id="other"))
    assert "small" in failing(project)
    folder.rename(project / "frozen/other")
    edit(project / "frozen/other", lambda record: None, derived=True)
    assert "freeze.json says the id 'other', and the plan says 'small'" in failing(project)["other"]


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_folder_replaced_by_a_link_is_a_finding(project: Path, target: str) -> None:
    folder = project / "frozen/protocol"
    shutil.move(folder, project / "elsewhere")
    folder.symlink_to(project / target)
    bad = failing(project)
    assert "symbolic link" in bad["protocol"]
    assert len(verify(project).documents) == 4


def test_a_removed_amendment_is_named_by_the_one_after_it(project: Path) -> None:
    first = archive.load_frozen(project / "amendments/small-A1")
    shutil.rmtree(first.folder)
    assert (
        f"builds on the amendment with SHA-256 {first.digest}, which is not here"
        in failing(project)["small-A2"]
    )


def test_a_removed_plan_is_named_by_its_amendments(project: Path) -> None:
    shutil.rmtree(project / "frozen/small")
    bad = failing(project)
    assert set(bad) == {"small-A1", "small-A2"}
    assert all("frozen/small, the plan that it amends, is missing" in text for text in bad.values())


def test_two_amendments_of_one_parent_are_findings(project: Path) -> None:
    folder = project / "amendments/small-A2"
    data = (folder / "A2.yaml").read_text().replace("id: A2", "id: B").encode()
    archive.freeze(data, "B.yaml", project / "amendments/small-B", kind="amendment")
    bad = failing(project)
    assert set(bad) == {"small-A2", "small-B"}
    assert "amend the same parent" in bad["small-B"]


def test_an_amendment_alone_says_that_its_plan_is_not_there(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "alone/small-A1"
    shutil.copytree(project / "amendments/small-A1", copy)
    report = only(verify(copy))
    assert any("the plan that it amends" in line for line in report.not_checked)


@pytest.mark.parametrize("value", [True, "2", 2.0, 0, 17, None])
def test_a_quorum_that_is_no_whole_number_is_refused(project: Path, value: object) -> None:
    edit(project / "frozen/protocol", lambda record: record.update(quorum=value))
    assert "quorum" in failing(project)["protocol"]


def test_a_plan_recorded_as_another_kind_is_a_finding(project: Path) -> None:
    edit(project / "frozen/small", lambda record: record.update(kind="document"), derived=True)
    assert "calls the document a document, and its bytes are a plan" in failing(project)["small"]


def test_a_quorum_below_the_plans_is_refused_and_a_stricter_one_kept(tmp_path: Path) -> None:
    plan = write(tmp_path / "plan.yaml", THREE)
    for asked in (1, 2):
        with pytest.raises(UsageError, match="below the plan's own"):
            freeze(plan, root=tmp_path, quorum=asked)
    assert not (tmp_path / "frozen").exists()
    assert freeze(plan, root=tmp_path, quorum=4).document.record.quorum == 4


def test_an_amendment_takes_the_plans_quorum(tmp_path: Path) -> None:
    freeze(write(tmp_path / "plan.yaml", THREE), root=tmp_path)
    text = draft(tmp_path / "frozen/small", tmp_path)
    text = text.replace("<why the plan has to change>", "why").replace(
        "<what exactly had been run and seen>", "none"
    )
    text = text.replace("hypotheses/H1/statement", "timestamps/quorum").replace("<the new text>", "1")
    file = write(tmp_path / "A1.yaml", text)
    with pytest.raises(UsageError, match="below the plan's own"):
        amend(file, root=tmp_path, quorum=2)
    # the amendment lowers the quorum to 1, and must itself meet the 3 that was in force
    assert amend(file, root=tmp_path).document.record.quorum == 3
    assert amend(file, root=tmp_path).existed
    edit(tmp_path / "amendments/small-A1", lambda record: record.update(quorum=1), derived=True)
    assert "asks for 1 operator(s), and the plan for 3" in failing(tmp_path)["small-A1"]


@needs_openssl
def test_a_quorum_edited_in_the_record_changes_nothing(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    with asking(trust, "alpha") as authorities:
        folder = freeze(
            write(tmp_path / "plan.yaml", SMALL), root=tmp_path, authorities=authorities
        ).document.folder
        assert only(verify(folder, trust=[trust])).status == "below quorum"
        edit(folder, lambda record: record.update(quorum=1), derived=True)
        for asked in (None, 1):
            found = verify(folder, trust=[trust], quorum=asked)
            assert found.exit_code(allow_demo=True, allow_unstamped=True) == 1
            assert (only(found).status, only(found).required) == ("below quorum", 2)
        assert any("which stands" in note for note in only(verify(folder, trust=[trust], quorum=1)).notes)
    with asking(trust, "alpha", "beta") as authorities:
        stamp(folder, authorities=replace(authorities, names=("beta",)))
    report = only(verify(folder, trust=[trust]))
    assert sorted(report.counted) == ["alpha", "beta"]
    assert report.status == "altered"  # enough operators now, and the record still contradicts its plan
    assert "the plan rules" in report.problems[0]


@needs_openssl
def test_what_the_record_quotes_of_a_token_is_compared_with_it(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    with asking(trust, "alpha") as authorities:
        file = write(tmp_path / "a.md", "text\n")
        folder = freeze(file, root=tmp_path, quorum=1, authorities=authorities).document.folder
    report = only(verify(folder, trust=[trust]))
    assert report.status == "protected"
    assert any("freeze.json alone asks for one operator" in note for note in report.notes)

    def backdate(record: dict[str, object]) -> None:
        record["stamps"][0]["gen_time"] = "2019-01-01T00:00:00Z"  # type: ignore[index]

    edit(folder, backdate, derived=True)
    report = only(verify(folder, trust=[trust]))
    assert (report.stamps[0].verdict, report.stamps[0].reason) == ("altered", "record-mismatch")
    assert report.status != "protected"


@needs_openssl
def test_a_clock_far_from_the_token_gets_a_line(tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    with asking(trust, "alpha") as authorities:
        file = write(tmp_path / "a.md", "text\n")
        folder = freeze(file, root=tmp_path, quorum=1, authorities=authorities).document.folder
    first = archive.read_record(folder).stamps[0].gen_time
    assert first is not None
    assert not any("frozen_at" in note for note in only(verify(folder, trust=[trust])).notes)
    moment = archive.moment(first)
    for shifted, words in (
        (moment.replace(year=moment.year - 6, day=1), "before the first token"),
        (moment + timedelta(hours=1), "after the first token"),
    ):
        edit(folder, lambda record, at=shifted: record.update(frozen_at=archive.rfc3339(at)), derived=True)
        report = only(verify(folder, trust=[trust]))
        assert report.status == "protected"
        assert any("frozen_at" in note and words in note for note in report.notes)


def test_the_repositorys_own_frozen_folders_are_consistent() -> None:
    root = Path(__file__).parents[4]
    assert [report.problems for report in verify(root).documents] == [(), ()]


def test_a_utf_16_plan_is_not_frozen_as_a_plain_document(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_bytes(SMALL.encode("utf-16"))
    with pytest.raises(DocumentError, match="UTF-16"):
        freeze(tmp_path / "plan.yaml", root=tmp_path)
    assert not (tmp_path / "frozen").exists()


@needs_openssl
def test_a_token_of_an_hours_accuracy_bounds_the_time_and_does_not_count(tmp_path: Path) -> None:
    vague = loopback.make_authority(tmp_path / "vague", "Vague", accuracy_s=3600)
    strict, loose = tmp_path / "strict", tmp_path / "loose"
    with loopback.serving(loopback.signing(vague)) as server:
        for folder, limit in ((strict, None), (loose, 3600)):
            add("vague", [vague.root.read_bytes()], folder, url=server.url, max_accuracy_seconds=limit)
        asked = Authorities(("vague",), trust=(strict,), revocation=False, attempts=1)
        file = write(tmp_path / "a.md", "text\n")
        refused = freeze(file, root=tmp_path, quorum=1, authorities=asked)
        assert refused.exit_code == 1
        assert "wider than 0:05:00" in refused.document.record.pending[0].problem
        folder = refused.document.folder
        assert stamp(folder, authorities=replace(asked, trust=(loose,))).exit_code == 0
        one = SMALL.replace("id: small\n", "id: small\ntimestamps: {quorum: 1, accuracy_seconds: 3600}\n")
        planned = freeze(write(tmp_path / "plan.yaml", one), root=tmp_path, authorities=asked)
        assert planned.exit_code == 0
    assert only(verify(folder, trust=[loose])).status == "protected"
    report = only(verify(folder, trust=[strict]))
    assert (report.status, report.counted) == ("below quorum", ())
    (given,) = report.stamps
    assert (given.verdict, given.reason) == ("bound", "accuracy_wide")
    assert given.proof is not None
    assert f"existed by {archive.rfc3339(given.proof.latest)}" in given.problem
    assert only(verify(planned.document.folder, trust=[strict])).status == "protected"
    assert only(verify(planned.document.folder, trust=[loose])).status == "protected"
