"""Fuzzes the token verifier: `python tests/fuzz/fuzz_token.py --seconds 600`.

Coverage-guided with atheris where it is installed, else a structured mutator alone (`--plain` forces it). Not
part of the test run. Seeds are the token vectors and, where there, the tokens under $PREREG_SHARED.

What must hold for every input: an answer in time, no exception outside the error tree, and no proof that claims
what no seed claims (time, imprint, serial, policy, nonce, signer). Parts that nobody signed may change freely.

With `--hollow` every signature and digest passes, so that mutations reach the code behind them; then only
escapes and time are looked at.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
try:
    import atheris
except ImportError:
    atheris = None

if atheris is not None and "--plain" not in sys.argv:
    with atheris.instrument_imports(include=["prereg_kit"]):
        from prereg_kit.errors import PreregError
        from prereg_kit.evidence import token
else:
    from prereg_kit.errors import PreregError
    from prereg_kit.evidence import token

NOW = datetime(2040, 1, 1, tzinfo=UTC)
TARGETS = ("token", "crl", "ocsp", "certificates", "anchors", "query")


def hollow() -> None:
    """Let every signature, message digest and ESS identifier pass: what lies behind them is reached."""
    from prereg_kit.evidence.token import crl, ocsp, path, signed, verification

    def passes(**_: object) -> None:
        return None

    for module in (crl, ocsp, path, signed):
        module.verify_signature = passes
    signed.hmac = type("Same", (), {"compare_digest": staticmethod(lambda *_: True)})
    checked = verification.check_ess

    def lenient(signer: object, certificate: object) -> tuple[object, ...]:
        try:
            return checked(signer, certificate)
        except token.TokenRejected:
            return ()

    verification.check_ess = lenient


class Bench:
    """The seeds, the good case they are played against, and the counts."""

    def __init__(self, crashes: Path, log: Path | None) -> None:
        vectors = ROOT / "tests" / "vectors" / "tokens"
        shared = Path(os.environ.get("PREREG_SHARED", ROOT.parent / "shared")) / "tokens"
        folder = vectors / "plain"
        self.data = (vectors / "data.bin").read_bytes()
        self.blob = (folder / "token.tsr").read_bytes()
        self.query = (folder / "query.tsq").read_bytes()
        pems = [
            path
            for base in (vectors, shared)
            for path in sorted(base.rglob("*.pem"))
            if "crl" not in path.parts
        ]
        self.anchors = token.Anchors(
            tuple(dict.fromkeys(c for p in pems for c in token.certificates_in(p.read_bytes())))
        )
        self.seeds: list[tuple[int, bytes]] = []
        for base in (vectors, shared):
            for path in sorted(base.rglob("*")):
                kind = {".tsr": 0, ".tst": 0, ".crl": 1, ".ocsp": 2, ".tsq": 5}.get(path.suffix)
                if kind is not None and path.stat().st_size < 20_000:
                    self.seeds.append((kind, path.read_bytes()))
        self.seeds += [(3, der) for der in self.anchors.certificates[:40]] + [
            (4, der) for der in self.anchors.certificates[:40]
        ]
        self.claims: set[tuple[object, ...]] = set()
        for kind, blob in self.seeds:
            if kind == 0:
                for anchor in (self.anchors,):
                    proof = self.judge(blob, anchors=anchor)
                    if proof is not None:
                        self.claims.add(self.claim(proof))
        self.crashes, self.log, self.hollow = crashes, log, False
        self.executions = self.crashed = self.accepted = self.forged = 0
        self.slowest = 0.0
        self.started = self.reported = time.monotonic()

    def judge(self, blob: bytes, **kwargs: object) -> token.Proof | None:
        """A proof or None; the imprint is taken from the token itself, so that the document never hides a fault."""
        try:
            shown = token.describe(blob)
            call = {"anchors": self.anchors, "now": NOW, "allow_demo": True, **kwargs}
            return token.verify(blob, digest={shown.imprint_algorithm: shown.imprint_hex}, **call)
        except PreregError:
            return None

    @staticmethod
    def claim(proof: token.Proof) -> tuple[object, ...]:
        return (
            proof.gen_time,
            proof.imprint_hex,
            proof.serial,
            proof.policy,
            proof.nonce,
            proof.accuracy,
            proof.tsa.fingerprint_sha256,
        )

    def play(self, target: int, blob: bytes) -> token.Proof | None:
        name = TARGETS[target % len(TARGETS)]
        if name == "token":
            return self.judge(blob)
        if name == "crl":
            return self.judge(self.blob, evidence=token.Evidence(crls=(blob,)))
        if name == "ocsp":
            return self.judge(self.blob, evidence=token.Evidence(ocsps=(blob,)))
        if name == "certificates":
            return self.judge(self.blob, untrusted=(blob,))
        if name == "anchors":
            return self.judge(self.blob, anchors=token.Anchors((blob,)))
        return self.judge(self.blob, query=blob)

    def one(self, raw: bytes) -> None:
        if not raw:
            return
        before = time.process_time()  # a busy machine must not look like a slow input
        try:
            proof = self.play(raw[0], raw[1:])
        except Exception as error:
            self.crashed += 1
            self._keep("crash", raw, f"{type(error).__name__}: {error}")
        else:
            if proof is not None:
                self.accepted += 1
                if self.claim(proof) not in self.claims and not self.hollow:
                    self.forged += 1
                    self._keep("forged", raw, str(self.claim(proof)))
        spent = time.process_time() - before
        if spent > self.slowest:
            self.slowest = spent
            if spent > 0.5:
                self._keep("slow", raw, f"{spent:.3f} s")
        self.executions += 1
        if time.monotonic() - self.reported > 10:
            self.report()

    def report(self) -> None:
        self.reported = time.monotonic()
        figures = {
            "seconds": round(self.reported - self.started, 1),
            "executions": self.executions,
            "crashes": self.crashed,
            "accepted_unchanged_claims": self.accepted - self.forged,
            "accepted_changed_claims": self.forged,
            "slowest_cpu_ms": round(self.slowest * 1000, 1),
            "hollow": self.hollow,
            "guided": atheris is not None and "--plain" not in sys.argv,
        }
        line = json.dumps(figures)
        print(line, file=sys.stderr)
        if self.log is not None:
            with self.log.open("a") as handle:
                handle.write(line + "\n")

    def _keep(self, kind: str, raw: bytes, note: str) -> None:
        self.crashes.mkdir(parents=True, exist_ok=True)
        name = f"{kind}-{hashlib.sha256(raw).hexdigest()[:16]}"
        (self.crashes / name).write_bytes(raw)
        (self.crashes / f"{name}.txt").write_text(f"{TARGETS[raw[0] % len(TARGETS)]}: {note}\n")


def elements(
    blob: bytes, start: int, end: int, path: tuple[int, ...], out: list[tuple[tuple[int, ...], int, int]]
) -> None:
    """Every element of well-formed DER with the starts of the elements around it; stops at the first fault."""
    position = start
    while position + 2 <= end and len(out) < 4000:
        length, body = blob[position + 1], position + 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(blob[body : body + count], "big")
            body += count
        if body + length > end:
            return
        out.append((path, position, body + length))
        opaque = blob[position] == 0x04 and length > 2 and blob[body] in (0x30, 0x31)
        if blob[position] & 0x20 or opaque:
            elements(blob, body, body + length, (*path, position), out)
        position = body + length


def header(tag: int, length: int) -> bytes:
    if length < 0x80:
        return bytes([tag, length])
    size = (length.bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + length.to_bytes(size, "big")


def body_of(blob: bytes, start: int) -> int:
    return start + 2 + (blob[start + 1] & 0x7F if blob[start + 1] & 0x80 else 0)


def splice(blob: bytes, path: tuple[int, ...], start: int, end: int, new: bytes) -> bytes:
    """Replace blob[start:end] and put the lengths of the elements around it right."""
    bodies = [(outer, body_of(blob, outer)) for outer in path]
    ends = []
    for outer, body in bodies:
        length = blob[outer + 1]
        ends.append(body + (int.from_bytes(blob[outer + 2 : body], "big") if length & 0x80 else length))
    inner = new
    low, high = start, end
    for (outer, body), stop in zip(reversed(bodies), reversed(ends), strict=True):
        content = blob[body:low] + inner + blob[high:stop]
        inner = header(blob[outer], len(content)) + content
        low, high = outer, stop
    return blob[:low] + inner + blob[high:]


def mutate(blob: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    """One structural change: flip, cut, double, swap, retag, or take an element of another seed."""
    found: list[tuple[tuple[int, ...], int, int]] = []
    elements(blob, 0, len(blob), (), found)
    if not found:
        return blob[: rng.randrange(len(blob) + 1)] + rng.randbytes(rng.randrange(8))
    path, start, end = rng.choice(found)
    old = blob[start:end]
    choice = rng.randrange(9)
    if choice == 0:
        new = b""
    elif choice == 1:
        new = old + old
    elif choice == 2:
        new = (
            bytes([rng.choice((0x02, 0x04, 0x05, 0x06, 0x30, 0x31, 0xA0, 0xA1, 0x80, old[0] ^ 0x20))])
            + old[1:]
        )
    elif choice == 3:
        other = rng.choice(pool)
        theirs: list[tuple[tuple[int, ...], int, int]] = []
        elements(other, 0, len(other), (), theirs)
        _, low, high = rng.choice(theirs) if theirs else ((), 0, len(other))
        new = other[low:high]
    elif choice == 4:
        content = blob[body_of(blob, start) : end] + rng.randbytes(rng.randrange(1, 5))
        new = header(old[0], len(content)) + content
    elif choice == 5 and path:
        siblings = [item for item in found if item[0] == path]
        _, low, high = rng.choice(siblings)
        new = blob[low:high]
    elif choice == 6:
        new = old[:1] + rng.choice((b"\x80", b"\x84\xff\xff\xff\xff", b"\x81\x01", b"\x00")) + old[2:]
    else:
        new = bytearray(old)
        for _ in range(rng.randrange(1, 4)):
            new[rng.randrange(len(new))] = rng.randrange(256)
        new = bytes(new)
    return splice(blob, path, start, end, new)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--plain", action="store_true", help="structured mutations without coverage")
    parser.add_argument(
        "--hollow", action="store_true", help="let every signature pass; look for escapes only"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crashes", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    bench = Bench(options.crashes, options.log)
    if options.hollow:
        hollow()
        bench.hollow = True
    pool = [blob for _, blob in bench.seeds]
    if atheris is None or options.plain:
        rng = random.Random(options.seed)
        while time.monotonic() - bench.started < options.seconds:
            kind, blob = rng.choice(bench.seeds)
            for _ in range(rng.randrange(1, 4)):
                blob = mutate(blob, pool, rng)
            bench.one(bytes([kind]) + blob)
        bench.report()
        sys.exit(1 if bench.crashed or bench.forged else 0)

    def custom(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.3 or len(data) < 4:
            return bytes(atheris.Mutate(data, max_size))
        return (data[:1] + mutate(data[1:], pool, rng))[:max_size]

    corpus = options.crashes / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for index, (kind, blob) in enumerate(bench.seeds):
        (corpus / f"seed-{index:04d}").write_bytes(bytes([kind]) + blob)

    def guided(data: bytes) -> None:
        bench.one(data)

    arguments = [
        sys.argv[0],
        str(corpus),
        f"-max_total_time={int(options.seconds)}",
        "-max_len=24000",
        "-verbosity=0",
    ]
    arguments += [f"-seed={options.seed}", "-rss_limit_mb=2048", "-timeout=20", "-print_final_stats=0"]
    atheris.Setup(arguments, guided, custom_mutator=custom)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
