"""Token verifiers side by side on the same tokens: who accepts the bad, who refuses the good, how long it takes.

    python benchmarks/tokens.py            table on stdout
    python benchmarks/tokens.py --json     the same as JSON

Corpora: the repository's vectors; and under $PREREG_SHARED (or `shared` beside the checkout), where there, the
adversarial and the real tokens. The others get every help: bare tokens are wrapped, openssl gets `-attime` with
genTime and both `-data` and `-queryfile`, rfc3161ng gets the digest's name and the signer's certificate.
Times are medians per good token, openssl with its process; the throughput part verifies 1,000 tokens in one loop.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from prereg_kit.errors import PreregError
from prereg_kit.evidence import token

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "tests" / "vectors" / "tokens"
SHARED = Path(os.environ.get("PREREG_SHARED") or ROOT.parent / "shared") / "tokens"
NOW = datetime(2027, 1, 1, tzinfo=UTC)


@dataclass
class Case:
    corpus: str
    name: str
    blob: bytes
    good: bool
    data: bytes | None
    digest: dict[str, str] | None
    query: bytes | None
    roots: tuple[bytes, ...]
    untrusted: tuple[bytes, ...] = ()
    crls: tuple[bytes, ...] = ()
    ocsps: tuple[bytes, ...] = ()
    policy: str | None = None
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def response(self) -> bytes:
        """The case as a response in DER; a bare token gets a granted status around it."""
        if self.blob[:1] == b"\x30":
            inner = self.blob
            if b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02" in inner[:20] and inner[4:6] == b"\x06\x09":
                content = bytes.fromhex("3003020100") + inner
                return b"\x30\x82" + len(content).to_bytes(2, "big") + content
        return self.blob


def load() -> list[Case]:
    """Every case of every corpus that is there."""
    cases = []
    data = (VECTORS / "data.bin").read_bytes()
    for path in sorted(VECTORS.glob("*/case.json")):
        folder, case = path.parent, json.loads(path.read_text())
        query, untrusted = folder / "query.tsq", folder / "untrusted.pem"
        cases.append(
            Case(
                "vectors",
                folder.name,
                (folder / "token.tsr").read_bytes(),
                case["expect"] == "accept",
                data,
                None,
                query.read_bytes() if query.exists() else None,
                token.certificates_in((folder / "roots.pem").read_bytes()),
                token.certificates_in(untrusted.read_bytes()) if untrusted.exists() else (),
                tuple(one.read_bytes() for one in sorted(folder.glob("*.crl"))),
                tuple(one.read_bytes() for one in sorted(folder.glob("*.ocsp"))),
            )
        )
    cases += _adversarial() + _real()
    return cases


def _pem(folder: Path, names: list[str]) -> tuple[bytes, ...]:
    return tuple(der for name in names for der in token.certificates_in((folder / name).read_bytes()))


def _adversarial() -> list[Case]:
    folder = SHARED / "adversarial"
    if not (folder / "manifest.json").exists():
        return []
    cases = []
    for one in json.loads((folder / "manifest.json").read_text())["cases"]:
        roots = ["certs/rootB.pem"] if "pinned_tsa" in one else one["roots"]
        cases.append(
            Case(
                "adversarial",
                one["id"],
                (folder / one["file"]).read_bytes(),
                one["expected"] == "accept",
                (folder / one["data"]).read_bytes(),
                None,
                (folder / one["query"]).read_bytes() if one.get("query") else None,
                _pem(folder, roots),
                _pem(folder, one.get("untrusted", [])),
                tuple(
                    crl for name in one.get("crls", ()) for crl in token.crls_in((folder / name).read_bytes())
                ),
                policy=one.get("policy"),
            )
        )
    return cases


def _real() -> list[Case]:
    folder = SHARED / "real"
    if not (folder / "manifest.json").exists():
        return []
    listed = json.loads((folder / "manifest.json").read_text())
    listed = (
        listed
        if isinstance(listed, list)
        else next(value for value in listed.values() if isinstance(value, list))
    )
    cases = []
    for one in listed:
        stem = one["token"].removesuffix(".tst")
        stamped, others = folder / f"{stem}.data", folder / f"{stem}.inters.pem"
        cases.append(
            Case(
                "real",
                one["operator"],
                (folder / one["token"]).read_bytes(),
                one["expected"] == "accept",
                stamped.read_bytes() if stamped.exists() else None,
                {one["imprint_alg"]: one["imprint"]},
                None,
                _pem(folder, [f"{stem}.roots.pem"]),
                token.certificates_in(others.read_bytes()) if others.exists() else (),
            )
        )
    return cases


def ours(case: Case) -> bool:
    """This package."""
    asked = {"data": case.data} if case.data is not None else {"digest": case.digest}
    try:
        token.verify(
            case.blob,
            **asked,
            query=case.query,
            anchors=token.Anchors(case.roots),
            untrusted=case.untrusted,
            evidence=token.Evidence(case.crls, case.ocsps),
            policies=[case.policy] if case.policy else None,
            now=NOW,
        )
    except PreregError:
        return False
    return True


def _hashed(case: Case) -> tuple[str, bytes]:
    import hashlib

    try:
        name = token.describe(case.blob).imprint_algorithm
    except PreregError:
        name = "sha256"
    if case.data is not None:
        return name, hashlib.new(name, case.data).digest()
    assert case.digest is not None
    return name, bytes.fromhex(case.digest.get(name) or next(iter(case.digest.values())))


def _nonce(case: Case) -> int | None:
    from asn1crypto.tsp import TimeStampReq

    return None if case.query is None else TimeStampReq.load(case.query)["nonce"].native


def _unit_apart(case: Case) -> bytes | None:
    """The signer's certificate among the given ones, where the token brings none; the others need to be told."""
    from prereg_kit.evidence.token.certificate import TIME_STAMPING, read_certificate

    try:
        if token.embedded_certificates(case.blob):
            return None
        units = [raw for raw in case.untrusted if read_certificate(raw).purposes == (TIME_STAMPING,)]
    except PreregError:
        return None
    return next((raw for raw in units if not read_certificate(raw).authority[0]), None)


def rfc3161_client(case: Case) -> bool:
    """The binding to a Rust parser; needs every intermediate given, and the nonce by hand."""
    from cryptography import x509
    from rfc3161_client import VerifierBuilder, decode_timestamp_response

    response = decode_timestamp_response(case.response)
    builder = VerifierBuilder()
    for der in case.roots:
        builder = builder.add_root_certificate(x509.load_der_x509_certificate(der))
    unit = _unit_apart(case)
    if unit is not None:
        builder = builder.tsa_certificate(x509.load_der_x509_certificate(unit))
    for der in case.untrusted:
        if der != unit:
            builder = builder.add_intermediate_certificate(x509.load_der_x509_certificate(der))
    nonce = _nonce(case)
    builder = builder.nonce(nonce) if nonce is not None else builder
    if case.policy is not None:
        builder = builder.policy_id(x509.ObjectIdentifier(case.policy))
    return bool(builder.build().verify(response, _hashed(case)[1]))


def rfc3161ng(case: Case) -> bool:
    """`check_timestamp` of rfc3161ng with all that it takes."""
    import rfc3161ng as module
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509 import load_der_x509_certificate

    name, digest = _hashed(case)
    unit = _unit_apart(case)
    certificate = b"" if unit is None else load_der_x509_certificate(unit).public_bytes(Encoding.PEM)
    response = module.decode_timestamp_response(case.response)
    return bool(
        module.check_timestamp(
            response.time_stamp_token,
            certificate=certificate,
            digest=digest,
            hashname=name,
            nonce=_nonce(case),
        )
    )


def _armour(der: bytes) -> bytes:
    """PEM without reading the certificate: openssl shall get what other libraries cannot load."""
    return b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n"


def openssl(case: Case) -> bool:
    """`openssl ts -verify`, once against the data and once against the query."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "token").write_bytes(case.response)
        embedded: tuple[bytes, ...] = ()
        try:
            embedded = token.embedded_certificates(case.blob)
            moment = ["-attime", str(int(token.describe(case.blob).gen_time.timestamp()))]
        except PreregError:
            moment = []
        for file, ders in (("roots", case.roots), ("rest", (*case.untrusted, *embedded))):
            (folder / file).write_bytes(b"".join(_armour(der) for der in ders))
        rest = ["-untrusted", "rest"] if (folder / "rest").stat().st_size else []
        (folder / "data").write_bytes(case.data or b"")
        against = [["-data", "data"]] if case.data is not None else [["-digest", _hashed(case)[1].hex()]]
        if case.query is not None:
            (folder / "query").write_bytes(case.query)
            against.append(["-queryfile", "query"])
        return all(
            subprocess.run(
                ["openssl", "ts", "-verify", "-in", "token", *one, "-CAfile", "roots", *rest, *moment],
                cwd=folder,
                capture_output=True,
                check=False,
            ).returncode
            == 0
            for one in against
        )


def measure(tool: Callable[[Case], bool], cases: list[Case], repeats: int) -> dict[str, object]:
    """False accepts, false rejects, crashes and the median time per good token."""
    bad_accepted, good_refused, errors, times = [], [], {}, []
    for case in cases:
        try:
            accepted = tool(case)
        except Exception as error:
            accepted = False
            kind = type(error).__name__
            errors[kind] = errors.get(kind, 0) + 1
        if accepted and not case.good:
            bad_accepted.append(f"{case.corpus}/{case.name}")
        if not accepted and case.good:
            good_refused.append(f"{case.corpus}/{case.name}")
        if accepted and case.good:
            spent = []
            for _ in range(repeats):
                before = time.perf_counter()
                tool(case)
                spent.append(time.perf_counter() - before)
            times.append(statistics.median(spent))
    return {
        "bad_accepted": bad_accepted,
        "good_refused": good_refused,
        "exceptions": errors,
        "median_ms": 1000 * statistics.median(times) if times else None,
    }


def throughput(count: int) -> dict[str, float]:
    """`count` different tokens, RSA-3072 under an RSA-3072 chain of three, verified one after the other."""
    sys.path.insert(0, str(VECTORS))
    pki = importlib.import_module("pki")
    root = pki.issue("Bench root", kind="rsa3072", ca=True, start=2015)
    inter = pki.issue("Bench CA", root, kind="rsa3072", ca=True, start=2015)
    unit = pki.issue("Bench unit", inter, kind="rsa3072")
    blobs = []
    for serial in range(count):
        content = pki.tstinfo(serial=serial + 1, data=serial.to_bytes(8, "big"))
        blobs.append(
            pki.response(pki.token(content, [pki.signer_info(unit, content)], [unit.der, inter.der]))
        )
    anchors = token.Anchors((root.der,))
    token.verify(blobs[0], data=bytes(8), anchors=anchors, now=NOW)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = time.perf_counter()
    for serial, blob in enumerate(blobs):
        token.verify(blob, data=serial.to_bytes(8, "big"), anchors=anchors, now=NOW)
    spent = time.perf_counter() - before
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    return {
        "tokens": count,
        "seconds": spent,
        "ms_per_token": 1000 * spent / count,
        "memory_growth_kib": grown,
    }


def _split(names: object) -> str:
    """Such as "3 (1 + 2 + 0)": in all, and by corpus in the order above."""
    assert isinstance(names, list)
    corpora = ("vectors", "adversarial", "real")
    return f"{len(names)} ({' + '.join(str(sum(one.startswith(corpus) for one in names)) for corpus in corpora)})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Token verifiers side by side.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = load()
    tools: dict[str, tuple[Callable[[Case], bool], int]] = {"prereg_kit": (ours, options.repeats)}
    for name, tool in (("rfc3161_client", rfc3161_client), ("rfc3161ng", rfc3161ng)):
        try:
            importlib.import_module(name)
            tools[name] = (tool, options.repeats)
        except ImportError:
            print(f"{name} is not installed; left out", file=sys.stderr)
    if shutil.which("openssl"):
        tools["openssl ts"] = (openssl, 1)
    results = {name: measure(tool, cases, repeats) for name, (tool, repeats) in tools.items()}
    good = sum(case.good for case in cases)
    speed = throughput(1000)
    if options.json:
        print(
            json.dumps(
                {"good": good, "bad": len(cases) - good, "tools": results, "throughput": speed}, indent=1
            )
        )
        return
    own = results["prereg_kit"]["median_ms"]
    print(f"{len(cases)} tokens: {good} good, {len(cases) - good} bad")
    for corpus in dict.fromkeys(case.corpus for case in cases):
        fine = sum(case.good for case in cases if case.corpus == corpus)
        print(f"  {corpus}: {fine} good, {sum(case.corpus == corpus for case in cases) - fine} bad")
    print()
    print(
        f"{'tool':<16}{'bad accepted':>13}{'good refused':>14}{'median ms':>11}{'times ours':>12}  exceptions"
    )
    for name, result in results.items():
        median = result["median_ms"]
        shown = "-" if median is None else f"{median:.2f}"
        ratio = "-" if median is None else f"{median / own:.1f}"
        print(
            f"{name:<16}{_split(result['bad_accepted']):>22}{_split(result['good_refused']):>22}"
            f"{shown:>11}{ratio:>12}  {result['exceptions'] or '-'}"
        )
    print(
        f"\n{speed['tokens']} different tokens in {speed['seconds']:.2f} s: {speed['ms_per_token']:.2f} ms each,"
        f" peak memory grew by {speed['memory_growth_kib']:.0f} KiB"
    )


if __name__ == "__main__":
    main()
