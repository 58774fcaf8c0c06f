"""Every vector folder comes out as its case.json says, and openssl agrees on those that it can read."""

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prereg_kit.evidence.token import REASONS, TokenRejected, TokenUnsupported, certificates_in

VECTORS = Path(__file__).parents[3] / "vectors" / "tokens"
CASES = sorted(path.parent.name for path in VECTORS.glob("*/case.json"))
# openssl ts reads neither key identifiers, nor RSA-PSS, nor Ed25519 (PKCS #7 only), and takes no CRL.
OPENSSL = [
    "plain",
    "fraction",
    "nonce_high_bit",
    "ess_both",
    "certificates_apart",
    "name_constraints",
    "unsorted",
]


def test_there_are_vectors_of_both_kinds():
    assert len(CASES) >= 36
    assert {json.loads((VECTORS / case / "case.json").read_text())["expect"] for case in CASES} == {
        "accept",
        "reject",
    }


@pytest.mark.parametrize("case", CASES)
def test_the_verdict_and_its_reason(case, vector):
    one = vector(case)
    assert (one.expect == "accept") != case.endswith("_fail")
    if one.expect == "accept":
        proof = one.verify()
        assert proof.gen_time.replace(microsecond=0) == datetime(2026, 3, 1, 12, tzinfo=UTC)
        assert set(one.warnings) <= {finding.code for finding in proof.warnings}
        return
    with pytest.raises(TokenRejected) as caught:
        one.verify()
    assert caught.value.reason == one.reason == caught.value.code
    assert one.reason in REASONS


@pytest.mark.parametrize("case", [case for case in CASES if case.endswith("_fail")])
def test_a_rejected_token_is_rejected_in_every_year(case, vector):
    for year in (2027, 2040):
        with pytest.raises((TokenRejected, TokenUnsupported)):
            vector(case).verify(now=datetime(year, 1, 1, tzinfo=UTC))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.parametrize("case", OPENSSL)
def test_openssl_accepts_what_we_accept(case, vector, tmp_path):
    from cryptography import x509

    one = vector(case)
    pems = {"roots": one.arguments["anchors"].certificates, "rest": one.arguments["untrusted"]}
    if case != "certificates_apart":
        from prereg_kit.evidence.token import embedded_certificates

        pems["rest"] = embedded_certificates(one.blob)
    for name, ders in pems.items():
        text = b"".join(x509.load_der_x509_certificate(der).public_bytes(_pem()) for der in ders)
        (tmp_path / name).write_bytes(text)
    (tmp_path / "data").write_bytes(one.arguments["data"])
    (tmp_path / "token").write_bytes(one.blob)
    moment = str(int(one.verify().gen_time.timestamp()))
    command = [
        "openssl",
        "ts",
        "-verify",
        "-in",
        "token",
        "-data",
        "data",
        "-CAfile",
        "roots",
        "-untrusted",
        "rest",
        "-attime",
        moment,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Verification: OK" in done.stdout, done.stderr


def _pem():
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.PEM


def test_no_private_key_and_no_stray_file_is_kept():
    for path in VECTORS.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            assert b"PRIVATE KEY" not in path.read_bytes()
    assert all((VECTORS / case / "README.md").exists() for case in CASES)
    assert all(certificates_in((VECTORS / case / "roots.pem").read_bytes()) for case in CASES)
