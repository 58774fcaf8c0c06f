"""`prereg token verify`: exit codes, JSON, messages, and the only clock of the verifier."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from prereg_kit.cli import token as verb
from prereg_kit.cli.main import cli

VECTORS = Path(__file__).parents[2] / "vectors" / "tokens"
PLAIN, DATA = VECTORS / "plain", str(VECTORS / "data.bin")


@pytest.fixture(autouse=True)
def _the_present(monkeypatch):
    monkeypatch.setattr(verb, "now", lambda: datetime(2026, 6, 1, tzinfo=UTC))


def run(case, *arguments, roots=True, data=True):
    folder = VECTORS / case
    line = ["token", "verify", str(folder / "token.tsr"), *arguments]
    line += ["--root", str(folder / "roots.pem")] if roots else []
    line += ["--data", DATA] if data else []
    if (folder / "untrusted.pem").exists():
        line += ["--untrusted", str(folder / "untrusted.pem")]
    return invoke(line)


def invoke(line):
    done = CliRunner().invoke(cli, line, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done


def test_accepted_as_json():
    done = run("plain", "--json", "--query", str(PLAIN / "query.tsq"))
    assert done.return_value == 0
    value = json.loads(done.stdout)
    assert list(value)[:3] == ["format", "verdict", "reason"]
    assert (value["format"], value["verdict"], value["reason"]) == ("prereg.token/1", "accept", "ok")
    assert value["gen_time"] == "2026-03-01T12:00:00Z"
    assert value["tsa"]["subject"] == "CN=Vector unit, O=Vectors, no evidence"
    assert [finding["code"] for finding in value["warnings"]] == ["revocation_not_checked"] * 2


def test_accepted_in_words():
    done = run("plain")
    assert done.return_value == 0
    assert "2026-03-01T12:00:00Z (accuracy 1 s)" in done.stdout
    assert "no revocation data" in done.stdout
    assert done.stderr == ""


def test_rejected_exits_1_claims_no_time_and_names_the_file():
    done = run("expired_fail", "--json")
    assert done.return_value == 1
    value = json.loads(done.stdout)
    assert (value["verdict"], value["reason"]) == ("reject", "certificate_expired")
    assert value["gen_time"] is None
    assert value["tsa"] is None
    assert "expired_fail" in done.stderr
    assert run("expired_fail").stdout.split()[0] == "reject"


def test_unsupported_exits_3(tmp_path):
    blob = (PLAIN / "token.tsr").read_bytes()
    sha256, shake = bytes.fromhex("0609608648016503040201"), bytes.fromhex("060960864801650304020b")
    at = blob.index(
        sha256, blob.index(sha256) + 1
    )  # the first is SignedData's list, the second the imprint's
    file = tmp_path / "shake.tsr"
    file.write_bytes(blob[:at] + shake + blob[at + len(sha256) :])
    done = invoke(
        ["token", "verify", str(file), "--data", DATA, "--root", str(PLAIN / "roots.pem"), "--json"]
    )
    assert done.return_value == 3
    value = json.loads(done.stdout)
    assert (value["verdict"], value["reason"]) == ("unsupported", "unsupported_digest")


@pytest.mark.parametrize(
    "missing", ["--data", "--root", "--untrusted", "--crl", "--ocsp", "--query", "token"]
)
def test_an_absent_file_exits_3_and_is_named(missing, tmp_path):
    absent = str(tmp_path / "absent")
    line = ["token", "verify", absent if missing == "token" else str(PLAIN / "token.tsr"), "--json"]
    line += ["--root", str(PLAIN / "roots.pem")]
    line += [] if missing == "--data" else ["--data", DATA]
    line += [] if missing == "token" else [missing, absent]
    done = invoke(line)
    assert done.return_value == 3
    assert absent in done.stderr
    assert json.loads(done.stdout)["reason"] == "not_checked"


def test_no_roots_exit_3():
    assert run("plain", roots=False).return_value == 3


@pytest.mark.parametrize("option", ["--root", "--untrusted", "--crl", "--query"])
def test_a_file_that_is_not_what_it_should_be_exits_3_or_is_ignored_aloud(option, tmp_path):
    junk = tmp_path / "junk"
    junk.write_bytes(b"junk")
    done = run("plain", option, str(junk))
    assert done.return_value == 3
    assert "Traceback" not in done.output


def test_usage_errors_are_clicks():
    import click

    for line in (["--digest", "0" * 64], []):
        with pytest.raises(click.UsageError):
            run("plain", *line, data=bool(line))
    from prereg_kit.errors import UsageError

    with pytest.raises(UsageError):
        run("plain", "--digest", "abc", data=False)


def test_a_digest_in_place_of_the_document():
    import hashlib

    digest = hashlib.sha256(Path(DATA).read_bytes()).hexdigest()
    assert run("plain", "--digest", digest, data=False).return_value == 0
    assert run("plain", "--digest", "0" * 64, data=False).return_value == 1


def test_several_certificates_and_revocation_files():
    folder = VECTORS / "ocsp_good"
    done = run("ocsp_good", "--ocsp", str(folder / "a.ocsp"), "--crl", str(folder / "b.crl"), "--json")
    assert json.loads(done.stdout)["revocation"] == "good"
    assert run("certificates_apart").return_value == 0
    revoked = VECTORS / "ceased_before_fail"
    assert run("ceased_before_fail", "--crl", str(revoked / "a.crl")).return_value == 1


@pytest.mark.parametrize("case", ["demo_subject_fail", "demo_policy_fail"])
def test_demonstrations_are_refused_whatever_root_is_trusted(case):
    assert json.loads(run(case, "--json").stdout)["reason"] == "demo"


def test_the_clock_decides_about_the_future_alone(monkeypatch):
    now = run("plain", "--json").stdout
    monkeypatch.setattr(verb, "now", lambda: datetime(2040, 1, 1, tzinfo=UTC))
    assert run("plain", "--json").stdout == now
    monkeypatch.setattr(verb, "now", lambda: datetime(2046, 1, 1, tzinfo=UTC))
    later = run("plain", "--json")
    assert later.stdout == now
    assert "has expired since (2045-01-01T00:00:00Z)" in later.stderr
    monkeypatch.setattr(verb, "now", lambda: datetime(2020, 1, 1, tzinfo=UTC))
    assert json.loads(run("plain", "--json").stdout)["reason"] == "future"


def test_the_real_clock_is_aware_and_read_nowhere_else(monkeypatch):
    monkeypatch.undo()
    assert verb.now().tzinfo is UTC
    package = Path(verb.__file__).parents[1] / "evidence" / "token"
    for source in package.glob("*.py"):
        found = re.search(
            r"datetime\.now|utcnow|time\.time|\bimport os\b|\bopen\(|\burlopen|\bsocket\b", source.read_text()
        )
        assert found is None, (source.name, found)


def test_a_hostile_name_cannot_move_the_cursor(tmp_path):
    file = tmp_path / "x.tsr"
    text = b"\x1b[2J\x07gone"
    status = bytes.fromhex("020102") + b"\x30" + bytes([len(text) + 2]) + b"\x0c" + bytes([len(text)]) + text
    inner = b"\x30" + bytes([len(status)]) + status
    file.write_bytes(b"\x30" + bytes([len(inner)]) + inner)
    done = invoke(["token", "verify", str(file), "--data", DATA, "--root", str(PLAIN / "roots.pem")])
    assert done.return_value == 1
    assert "\x1b" not in done.output
