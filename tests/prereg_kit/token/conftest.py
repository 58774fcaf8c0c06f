"""The token vectors as fixtures: a folder's files become the arguments of `verify`."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prereg_kit.token import Anchors, Evidence, Proof, certificates_in, verify

VECTORS = Path(__file__).parents[2] / "vectors" / "tokens"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Vector:
    """One case: its bytes, what `verify` is called with, and what must come out."""

    name: str
    blob: bytes
    arguments: dict[str, Any] = field(repr=False)
    expect: str = "accept"
    reason: str = "ok"
    warnings: tuple[str, ...] = ()

    def verify(self, blob: bytes | None = None, **changes: Any) -> Proof:
        return verify(self.blob if blob is None else blob, **{**self.arguments, **changes})


def load(name: str) -> Vector:
    folder = VECTORS / name
    case = json.loads((folder / "case.json").read_text())

    def read(file: str) -> bytes | None:
        return (folder / file).read_bytes() if (folder / file).exists() else None

    roots, untrusted = read("roots.pem"), read("untrusted.pem")
    assert roots is not None
    evidence = Evidence(
        tuple(path.read_bytes() for path in sorted(folder.glob("*.crl"))),
        tuple(path.read_bytes() for path in sorted(folder.glob("*.ocsp"))),
    )
    arguments = {
        "data": (VECTORS / "data.bin").read_bytes(),
        "query": read("query.tsq"),
        "anchors": Anchors.from_pem(roots),
        "untrusted": () if untrusted is None else certificates_in(untrusted),
        "evidence": evidence,
        "now": NOW,
    }
    blob = read("token.tsr")
    assert blob is not None
    return Vector(name, blob, arguments, case["expect"], case["reason"], tuple(case["warnings"]))


@pytest.fixture(scope="session")
def plain() -> Vector:
    return load("plain")


@pytest.fixture(scope="session")
def proof(plain: Vector) -> Proof:
    return plain.verify()


@pytest.fixture(scope="session")
def vector():
    return load
