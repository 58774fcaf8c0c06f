"""The verbs freeze, stamp, renew, verify-timestamps, trust and tsa, as a person and a program meet them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import loopback
import pytest

from prereg_kit.cli.main import cli
from prereg_kit.errors import PreregError
from prereg_kit.evidence import archive
from prereg_kit.evidence.tsa import build_query
from prereg_kit.foundation.digest import sha256_bytes

ROOT = Path(__file__).parents[3]
DATA = b"# A protocol\n\nTwo lines.\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "protocol.md").write_bytes(DATA)
    return tmp_path


@pytest.fixture
def prereg(here: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a verb in this process: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code: object = 0
        try:
            cli.main([str(a) for a in arguments], prog_name="prereg", standalone_mode=False)
        except SystemExit as error:
            code = error.code
        except PreregError as error:
            print(error, file=sys.stderr)
            code = error.exit_code
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        out, err = capfd.readouterr()
        return int(code or 0), out, err

    return run


needs_openssl = pytest.mark.skipif(
    loopback.OPENSSL is None, reason="openssl, the independent peer, is not installed"
)


def test_freeze_without_an_authority_keeps_the_bytes_and_says_that_nobody_vouches(
    prereg: Run, here: Path
) -> None:
    code, out, err = prereg("freeze", "protocol.md")
    assert code == 0
    assert out.splitlines()[0] == f"{sha256_bytes(DATA)}  protocol.md"
    assert "NOT STAMPED" in err
    assert (here / "frozen/protocol/protocol.md").read_bytes() == DATA
    code, out, err = prereg("verify-timestamps")
    assert code == 1
    assert "not stamped" in out
    assert prereg("verify-timestamps", "--allow-unstamped")[0] == 0


def test_freezing_again_says_already_and_other_bytes_are_refused(prereg: Run, here: Path) -> None:
    prereg("freeze", "protocol.md")
    code, _, err = prereg("freeze", "protocol.md", "--demo-tsa")
    assert code == 0
    assert "already frozen" in err and "1 of 1 authorities stamped it" in err
    assert [path.name for path in here.rglob("*.tsr")] == ["demo.demo.tsr"]
    code, _, err = prereg("freeze", "protocol.md", "--demo-tsa")
    assert code == 0
    assert "nothing is missing" in err
    assert len(list(here.rglob("*.tsr"))) == 1
    code, _, err = prereg("freeze", "protocol.md", "--quorum", "3")
    assert code == 2
    assert "frozen already, with a quorum of 2" in err
    (here / "protocol.md").write_bytes(DATA + b"more\n")
    code, _, err = prereg("freeze", "protocol.md")
    assert code == 1
    assert "never overwritten" in err


def test_the_demo_authority_shows_the_way_and_is_never_enough(prereg: Run, here: Path) -> None:
    code, out, err = prereg("freeze", "protocol.md", "--demo-tsa")
    assert code == 0
    assert "NO EVIDENTIAL VALUE" in out
    assert "NO EVIDENTIAL VALUE" in err
    assert (here / "frozen/protocol/stamps/demo.demo.tsr").exists()
    code, out, _ = prereg("verify-timestamps")
    assert code == 1
    assert "NO EVIDENTIAL VALUE" in out
    code, out, _ = prereg("verify-timestamps", "--allow-demo", "--json")
    assert code == 0
    report = json.loads(out)
    assert next(iter(report)) == "format"
    assert report["format"] == "prereg.timestamps/1"
    assert "NO EVIDENTIAL VALUE" in report["labels"][0]
    assert [d["status"] for d in report["documents"]] == ["demo"]
    assert prereg("verify-timestamps", "--allow-demo", "--allow-unstamped", "--quorum", "1")[0] == 0


def test_a_plan_is_read_strictly_and_named_by_its_id(prereg: Run, here: Path) -> None:
    assert prereg("new", "plan.yaml")[0] == 0
    code, _, err = prereg("freeze", "plan.yaml")
    assert code == 1
    assert "placeholder" in err
    plan = here / "plan.yaml"
    plan.write_text(re.sub("<(.*?)>", r"\1", plan.read_text()))
    code, _, _ = prereg("freeze", "plan.yaml")
    assert code == 0
    assert archive.load_frozen(here / "frozen/my-study").record.kind == "plan"
    assert prereg("freeze", "plan.yaml", "--id", "other")[0] == 2
    text = (
        (here / "plan.yaml").read_text().replace("at_least: 0.03", "at_leest: 0.03").replace("my-study", "b")
    )
    (here / "bad.yaml").write_text(text)
    code, _, err = prereg("freeze", "bad.yaml")
    assert code == 1
    assert "at_leest" in err
    assert not (here / "frozen/b").exists()


def test_an_amendment_is_sent_to_its_own_verb(prereg: Run, here: Path) -> None:
    (here / "a1.yaml").write_text("format: prereg.amendment/1\nid: a1\n")
    code, _, err = prereg("freeze", "a1.yaml")
    assert code == 2
    assert "prereg amend" in err


@pytest.mark.parametrize("name", ["no-such.md", "."])
def test_what_is_no_document_is_refused(prereg: Run, here: Path, name: str) -> None:
    code, _, err = prereg("freeze", name)
    assert code == (3 if name.endswith("md") else 1)
    assert name in err
    assert not (here / "frozen").exists()


def test_several_files_are_frozen_each_and_a_refused_one_does_not_stop_the_others(
    prereg: Run, here: Path
) -> None:
    (here / "b.txt").write_bytes(b"b\n")
    (here / "empty.txt").write_bytes(b"")
    code, out, _ = prereg("freeze", "protocol.md", "empty.txt", "b.txt", "--json")
    assert code == 1
    report = json.loads(out)
    assert [d["id"] for d in report["documents"]] == ["protocol", "b"]
    assert [r["file"] for r in report["refused"]] == ["empty.txt"]
    assert prereg("freeze", "protocol.md", "b.txt", "--id", "x")[0] == 2


def test_a_stem_that_is_no_id_is_refused_with_a_suggestion(prereg: Run, here: Path) -> None:
    (here / "étude n°1.md").write_bytes(b"x\n")
    code, _, err = prereg("freeze", "étude n°1.md")
    assert code == 1
    assert "--id etude-n1" in err or "--id etude-n-1" in err


@needs_openssl
def test_two_of_three_are_kept_reported_and_completed_later(prereg: Run, here: Path) -> None:
    alpha, beta, gamma = map(loopback.authority, ("alpha", "beta", "gamma"))
    broken = loopback.reply(503, b"closed", "text/plain")
    later: list = [broken]

    def third(handler, query: bytes) -> None:
        later[0](handler, query)

    with (
        loopback.serving(loopback.signing(alpha)) as one,
        loopback.serving(loopback.signing(beta)) as two,
        loopback.serving(third) as three,
    ):
        operators = [("alpha", alpha, one.url), ("beta", beta, two.url), ("gamma", gamma, three.url)]
        loopback.trust_folder(here / "trust", *operators)
        asked = [part for name, _, _ in operators for part in ("--tsa", name)]
        code, out, err = prereg("freeze", "protocol.md", *asked, "--quorum", "3", "--attempts", "1")
        assert code == 1
        assert "2 of 3" in err
        assert "503" in err
        assert "missing: gamma" in out
        for name in ("alpha", "beta", "gamma"):
            assert re.search(rf"^  {name}: asking http", err, re.MULTILINE)
        code, out, _ = prereg("verify-timestamps")
        assert code == 1
        assert "below quorum" in out
        assert prereg("verify-timestamps", "--quorum", "2")[0] == 0
        assert prereg("stamp", "frozen/protocol", "--tsa", "alpha")[2].startswith("nothing is missing")
        later[0] = loopback.signing(gamma)
        before = len(one.requests)
        code, out, err = prereg("stamp", "frozen/protocol")
        assert code == 0
        assert len(one.requests) == before, "only who is missing is asked again"
        code, out, _ = prereg("verify-timestamps", "--json")
        assert code == 0
        document = json.loads(out)["documents"][0]
        assert document["status"] == "protected"
        assert document["quorum"] == {"required": 3, "counted": document["quorum"]["counted"]}
        assert sorted(document["quorum"]["counted"]) == ["alpha", "beta", "gamma"]
        assert {s["anchor_origin"] for s in document["stamps"]} == {
            f"trust/{n}" for n in ("alpha", "beta", "gamma")
        }
        code, out, _ = prereg("renew", "frozen", "--tsa", "alpha", "--tsa", "beta", "--tsa", "gamma")
        assert code == 0
        assert (here / "frozen/protocol/renewals/1/manifest.sha256").exists()
        assert prereg("verify-timestamps", "--at", "2027-12-31")[0] == 0
        assert prereg("renew", ".", "--tsa", "alpha", "--within", "30")[0] == 0
        assert not (here / "frozen/protocol/renewals/2").exists()
    code, out, _ = prereg("verify-timestamps", "--at", "2060-01-01")
    assert code == 1
    assert "lapsed" in out
    assert prereg("verify-timestamps", "--at", "soon")[0] == 2


@needs_openssl
def test_two_of_three_with_a_quorum_of_two_is_enough_for_exit_0(prereg: Run, here: Path) -> None:
    alpha, beta = loopback.authority("alpha"), loopback.authority("beta")
    with (
        loopback.serving(loopback.signing(alpha)) as one,
        loopback.serving(loopback.signing(beta)) as two,
        loopback.serving(loopback.reply(500, b"", None)) as three,
    ):
        loopback.trust_folder(here / "trust", ("alpha", alpha, one.url), ("beta", beta, two.url))
        asked = ["--tsa", "alpha", "--tsa", two.url, "--tsa", three.url, "--attempts", "1"]
        assert prereg("freeze", "protocol.md", *asked)[0] == 0
    assert prereg("verify-timestamps")[0] == 0


@needs_openssl
def test_an_authority_without_an_anchor_is_kept_and_exits_3_until_the_anchor_is_added(
    prereg: Run, here: Path
) -> None:
    alpha = loopback.authority("alpha")
    with loopback.serving(loopback.signing(alpha)) as server:
        code, out, err = prereg("freeze", "protocol.md", "--tsa", server.url, "--quorum", "1")
        assert code == 3
        assert "anchor not at hand" in out
        assert "prereg trust add" in err
        assert prereg("verify-timestamps")[0] == 3
        root = str(alpha.root)
        code, out, err = prereg(
            "trust", "add", "mine", "--root", root, "--url", server.url, "--into", "trust"
        )
        assert code == 0
        assert "Compare the fingerprint" in err
    assert prereg("verify-timestamps")[0] == 0


@needs_openssl
def test_offline_queries_are_answered_by_a_file_later_and_the_nonce_is_checked(
    prereg: Run, here: Path
) -> None:
    alpha = loopback.authority("alpha")
    loopback.trust_folder(here / "trust", ("alpha", alpha, "http://authority.invalid/tsr"))
    assert prereg("freeze", "protocol.md", "--offline")[0] == 2
    code, out, err = prereg("freeze", "protocol.md", "--offline", "--tsa", "alpha", "--quorum", "1")
    assert code == 0
    assert "nobody was asked" in err
    query = next((here / "frozen/protocol").rglob("*.tsq"))
    (here / "foreign.tsr").write_bytes(alpha.answer(build_query(sha256_bytes(DATA))))
    code, _, err = prereg("stamp", "frozen/protocol", "--response", "foreign.tsr")
    assert code == 1
    assert "another query" in err
    (here / "good.tsr").write_bytes(alpha.answer(query.read_bytes()))
    code, out, _ = prereg("stamp", "frozen/protocol", "--response", "good.tsr")
    assert code == 0
    assert "stamped by alpha" in out
    assert prereg("verify-timestamps")[0] == 0
    assert prereg("stamp", "frozen/protocol", "--response", "good.tsr")[0] == 2


@needs_openssl
def test_revocation_data_can_be_fetched_again_later(prereg: Run, here: Path) -> None:
    made: list = []
    available: list[bytes] = []

    def get(handler, body: bytes) -> None:
        behaviour = loopback.reply(200, available[0]) if available else loopback.reply(404, b"", None)
        behaviour(handler, body)

    def sign(handler, query: bytes) -> None:
        loopback.signing(made[0])(handler, query)

    with loopback.serving(sign, get) as server:
        made.append(loopback.make_authority(here / "a", "Crl", crl_url=server.url + "/root.crl"))
        loopback.trust_folder(here / "trust", ("crl", made[0], server.url))
        assert prereg("freeze", "protocol.md", "--tsa", "crl", "--quorum", "1")[0] == 0
        _, out, _ = prereg("verify-timestamps", "--json")
        assert json.loads(out)["documents"][0]["stamps"][0]["revocation"] == "not_checked"
        assert prereg("stamp", "frozen/protocol", "--revocation")[0] == 3
        available.append(made[0].crl())
        assert prereg("stamp", "frozen/protocol", "--revocation")[0] == 0
        assert prereg("stamp", "frozen/protocol", "--revocation")[0] == 3
    assert (here / "frozen/protocol/stamps/crl.1.crl").read_bytes() == available[0]
    code, out, _ = prereg("verify-timestamps", "--json")
    assert code == 0
    assert json.loads(out)["documents"][0]["stamps"][0]["revocation"] == "good"
    assert json.loads(out)["documents"][0]["not_checked"] == []


def test_no_frozen_folder_is_not_checked(prereg: Run, here: Path) -> None:
    assert prereg("verify-timestamps")[0] == 3
    assert prereg("renew", ".", "--demo-tsa")[0] == 3
    prereg("freeze", "protocol.md")
    assert prereg("stamp", "frozen/protocol")[0] == 2
    assert prereg("verify-timestamps", "--trust", "nowhere")[0] == 3


def test_a_deleted_record_is_reported_and_not_forgotten(prereg: Run, here: Path) -> None:
    prereg("freeze", "protocol.md", "--demo-tsa")
    (here / "frozen/protocol/freeze.json").unlink()
    code, out, _ = prereg("verify-timestamps", "--allow-demo", "--allow-unstamped")
    assert code == 1
    assert "altered" in out


def test_names_in_records_cannot_drive_the_terminal(prereg: Run, here: Path) -> None:
    prereg("freeze", "protocol.md", "--demo-tsa")
    path = here / "frozen/protocol/freeze.json"
    record = json.loads(path.read_text())
    record["stamps"][0]["operator"] = "[bold]x\x1b[2J\u202e"
    path.write_text(json.dumps(record))
    _, out, _ = prereg("verify-timestamps", "--allow-demo")
    assert "\x1b[2J" not in out
    assert "[bold]x" in out


def test_trust_list_and_show_invent_nothing(prereg: Run, here: Path) -> None:
    code, out, _ = prereg("trust", "list", "--json")
    assert code == 0
    operators = {o["name"]: o for o in json.loads(out)["operators"]}
    assert {"freetsa", "digicert", "sectigo", "globalsign"} <= set(operators)
    for operator in operators.values():
        assert operator["anchors"] == []
        assert "anchor not at hand" in operator["problem"]
        assert operator["url"].startswith("http")
    code, out, _ = prereg("trust", "show", "freetsa")
    assert code == 0
    assert "https://freetsa.org/tsr" in out
    assert prereg("trust", "show", "nobody")[0] == 2


@needs_openssl
def test_trust_check_asks_each_and_says_what_is_not_anchored(prereg: Run, here: Path) -> None:
    alpha = loopback.authority("alpha")
    with (
        loopback.serving(loopback.signing(alpha)) as one,
        loopback.serving(loopback.reply(500, b"", None)) as two,
    ):
        assert prereg("trust", "check", one.url)[0] == 3
        loopback.trust_folder(here / "trust", ("alpha", alpha, one.url))
        code, out, _ = prereg("trust", "check", "alpha")
        assert code == 0
        assert "verified" in out
        code, out, _ = prereg("trust", "check", "alpha", two.url, "--json")
        assert code == 1
        assert {r["result"] for r in json.loads(out)["operators"]} == {"verified", "failed"}


def spawn(here: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "prereg_kit", *arguments],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_the_served_demo_authority_answers_openssl_and_is_recognised_as_demo(prereg: Run, here: Path) -> None:
    with spawn(here, "tsa", "serve", "--root-out", "root.pem") as server:
        try:
            url = server.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:")
            code, _, err = prereg("freeze", "protocol.md", "--tsa", url)
            assert code == 0
            assert "NO EVIDENTIAL VALUE" in err
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(10) == 0
    assert len(list((here / "frozen/protocol/stamps").glob("*.demo.tsr"))) == 1
    (here / "trust/mine").mkdir(parents=True)
    (here / "root.pem").rename(here / "trust/mine/root.pem")
    assert prereg("verify-timestamps", "--quorum", "1")[0] == 1
    assert prereg("verify-timestamps", "--quorum", "1", "--allow-demo")[0] == 0


def test_an_interruption_while_asking_leaves_nothing(here: Path) -> None:
    with loopback.serving(loopback.hang(8)) as server:
        with spawn(here, "freeze", "protocol.md", "--tsa", server.url) as process:
            deadline = time.monotonic() + 20
            while not server.requests and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(5) == 130
            assert "interrupted" in process.stderr.read()
        assert not list(here.rglob("*.tsr"))
        assert not (here / "frozen").exists()


def test_the_help_of_these_verbs_loads_neither_numbers_nor_network_code() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom prereg_kit.cli.main import cli\n"
        "for verb in ('freeze', 'stamp', 'renew', 'verify-timestamps', 'trust', 'tsa'):\n"
        "    assert CliRunner().invoke(cli, [verb, '--help']).exit_code == 0\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'torch', 'scipy', 'requests', 'rfc3161ng', 'cryptography'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == "[]\n"
