"""The handed corpora of tokens and the handed cases C15, C17 and C19, through the library and the command.

They lie outside the repository (`$PREREG_SHARED`, or `shared` beside the checkout) and are not copied into it.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from prereg_kit.cli import token as verb
from prereg_kit.cli.main import cli
from prereg_kit.evidence.token import (
    Anchors,
    Evidence,
    QuorumError,
    TokenRejected,
    TokenUnsupported,
    certificates_in,
    crls_in,
    quorum,
    verify,
    verify_renewals,
)

SHARED = Path(os.environ.get("PREREG_SHARED") or Path(__file__).parents[2].parent / "shared")
ADVERSARIAL, REAL, CASES = SHARED / "tokens" / "adversarial", SHARED / "tokens" / "real", SHARED / "cases"
pytestmark = pytest.mark.skipif(
    not ADVERSARIAL.exists(), reason="the handed cases are not there (PREREG_SHARED)"
)
NOW = datetime(2026, 12, 1, tzinfo=UTC)
# The one case with a pinned unit: the command knows roots, so that only the root of the pinned unit is given.
PINNED = {"certs/tsaB.pem": "certs/rootB.pem"}


def manifest(folder):
    path = folder / "manifest.json"
    if not path.exists():
        return {"cases": [], "sets": [], "tokens": []}
    value = json.loads(path.read_text())
    return {"tokens": value} if isinstance(value, list) else value


def real_tokens():
    listed = next(value for value in manifest(REAL).values() if isinstance(value, list))
    return [
        (one, suffix)
        for one in listed
        for suffix in (".tst", ".tsr")
        if (REAL / one["token"]).with_suffix(suffix).exists()
    ]


def pem(*paths):
    return tuple(der for path in paths for der in certificates_in(path.read_bytes()))


def verdict(*arguments, **keywords):
    try:
        return "accept", "ok", verify(*arguments, **keywords)
    except (TokenRejected, TokenUnsupported) as error:
        return error.verdict, error.reason, None


def command(monkeypatch, line, now=NOW):
    monkeypatch.setattr(verb, "now", lambda: now)
    done = CliRunner().invoke(cli, ["token", "verify", *map(str, line)], standalone_mode=False)
    assert done.exception is None, done.exception
    return done


def roots_of(case):
    return [PINNED[case["pinned_tsa"]]] if "pinned_tsa" in case else case["roots"]


def line_of(case):
    line = [ADVERSARIAL / case["file"], "--data", ADVERSARIAL / case["data"], "--json"]
    line += ["--query", ADVERSARIAL / case["query"]] if case.get("query") else []
    line += [part for root in roots_of(case) for part in ("--root", ADVERSARIAL / root)]
    line += [part for one in case.get("untrusted", ()) for part in ("--untrusted", ADVERSARIAL / one)]
    line += [part for one in case.get("crls", ()) for part in ("--crl", ADVERSARIAL / one)]
    return [*line, *(("--policy", case["policy"]) if case.get("policy") else ())]


@pytest.mark.parametrize("case", manifest(ADVERSARIAL)["cases"], ids=lambda case: case["id"])
def test_adversarial(case, monkeypatch):
    expected = case["expected"]
    found, reason, proof = verdict(
        (ADVERSARIAL / case["file"]).read_bytes(),
        data=(ADVERSARIAL / case["data"]).read_bytes(),
        query=(ADVERSARIAL / case["query"]).read_bytes() if case.get("query") else None,
        anchors=Anchors(pem(*(ADVERSARIAL / root for root in roots_of(case)))),
        untrusted=pem(*(ADVERSARIAL / one for one in case.get("untrusted", ()))),
        evidence=Evidence(
            tuple(crl for one in case.get("crls", ()) for crl in crls_in((ADVERSARIAL / one).read_bytes()))
        ),
        policies=[case["policy"]] if case.get("policy") else None,
        now=NOW,
    )
    assert found == expected, reason
    if proof is not None:
        assert proof.gen_time == datetime.fromisoformat(case["gen_time"])
    outputs = [command(monkeypatch, line_of(case), now) for now in (NOW, datetime(2040, 1, 1, tzinfo=UTC))]
    value = json.loads(outputs[0].stdout)
    assert (value["verdict"], value["reason"]) == (expected, reason)
    assert outputs[0].return_value == {"accept": 0, "reject": 1}[expected]
    assert outputs[0].stdout == outputs[1].stdout
    early = json.loads(command(monkeypatch, line_of(case), datetime(2020, 7, 1, tzinfo=UTC)).stdout)
    late = proof is not None and proof.gen_time.year > 2020
    assert early["reason"] == ("future" if late else reason)


@pytest.mark.parametrize("case", manifest(ADVERSARIAL)["sets"], ids=lambda case: case["id"])
def test_sets(case):
    blobs = [(ADVERSARIAL / file).read_bytes() for file in case["files"]]
    data = (ADVERSARIAL / case["data"]).read_bytes()
    anchors = Anchors(pem(*(ADVERSARIAL / root for root in case["roots"])))
    if case.get("chain"):
        assert verify_renewals(blobs, data=data, anchors=anchors, at=NOW, now=NOW).status == case["expected"]
        return
    results = []
    for blob in blobs:
        try:
            results.append(verify(blob, data=data, anchors=anchors, now=NOW))
        except TokenRejected as error:
            results.append(error)
    if case["expected"] == "reject":
        with pytest.raises(QuorumError):
            quorum(results, k=case["quorum"])
        return
    proven = quorum(results, k=case["quorum"])
    assert proven.time == max(proof.latest for proof in results)
    assert ("skew" in {finding.code for finding in proven.warnings}) == (case["reason"] == "skew_warning")


@pytest.mark.parametrize(
    ("one", "suffix"),
    real_tokens() if REAL.exists() else [],
    ids=lambda value: value if isinstance(value, str) else value["operator"],
)
def test_real(one, suffix, monkeypatch):
    stem = REAL / one["token"].removesuffix(".tst")
    path = {end: stem.with_name(stem.name + end) for end in (suffix, ".data", ".roots.pem", ".inters.pem")}
    line = [path[suffix], "--root", path[".roots.pem"], "--json"]
    line += ["--untrusted", path[".inters.pem"]] if path[".inters.pem"].exists() else []
    line += (
        ["--data", path[".data"]]
        if path[".data"].exists()
        else ["--digest", f"{one['imprint_alg']}:{one['imprint']}"]
    )
    if one["expected"] != "accept" and not path[".data"].exists():
        pytest.fail("the rejected token needs its data")
    value = json.loads(command(monkeypatch, line).stdout)
    if one["expected"] == "accept":
        assert value["verdict"] == "accept", value["message"]
        assert datetime.fromisoformat(value["gen_time"]) == datetime.fromisoformat(one["gen_time"])
    else:
        assert (value["verdict"], value["reason"]) == ("reject", "weak_imprint_hash")


def case_runs(name):
    path = CASES / name / "expected.json"
    return json.loads(path.read_text())["runs"] if path.exists() else []


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, number) for name in ("C15", "C17", "C19") for number in range(len(case_runs(name)))],
)
def test_case(name, number, monkeypatch):
    folder, wanted = CASES / name, case_runs(name)[number]
    words = wanted["cmd"].split()
    root = folder / words[words.index("--ca") + 1]
    tokens = [word for word in words if word.endswith(".tsr")]
    codes, output = [], ""
    for one in tokens:
        done = command(monkeypatch, [folder / one, "--data", folder / "PREREG.md", "--root", root])
        codes.append(done.return_value)
        output += done.output
    assert (max(codes) == 0) == (wanted["exit"] == "0")
    folded = output.lower()
    assert all(text.lower() in folded for text in wanted.get("output_mentions_all", ()))
    assert all(
        any(text.lower() in folded for text in texts)
        for texts in wanted.get("output_mentions_any_of_each", ())
    )
    assert not any(text.lower() in folded for text in wanted["output_must_not_contain"])


def test_all_forms_of_c19_prove_the_same(monkeypatch):
    folder = CASES / "C19"
    expected = json.loads((folder / "expected.json").read_text())["values"]
    for form in ("full", "bare", "pem", "base64"):
        line = [
            folder / f"{form}.tsr",
            "--data",
            folder / "PREREG.md",
            "--root",
            folder / "root.pem",
            "--json",
        ]
        value = json.loads(command(monkeypatch, line).stdout)
        assert datetime.fromisoformat(value["gen_time"]) == datetime.fromisoformat(expected["gen_time"])
        assert int(value["serial"]) == expected["serial"]
