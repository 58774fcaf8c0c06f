"""The token vectors as fixtures: a folder's files become the arguments of `verify`."""

import importlib.util
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prereg_kit.evidence.token import (
    Anchors,
    Evidence,
    Proof,
    TokenRejected,
    TokenUnsupported,
    certificates_in,
    verify,
)

VECTORS = Path(__file__).parents[3] / "vectors" / "tokens"
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


@pytest.fixture(scope="session")
def pki():
    """The vectors' throw-away PKI, for tokens that are made during the test."""
    spec = importlib.util.spec_from_file_location("token_vector_pki", VECTORS / "pki.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Mint:
    """A root, an intermediate, and tokens of any shape below them."""

    def __init__(self, pki: Any) -> None:
        self.pki = pki
        self.root = pki.issue("Mint root", ca=True, start=2015)
        self.inter = pki.issue("Mint CA", self.root, ca=True, start=2015)
        self.unit = pki.issue("Mint unit", self.inter)

    def token(self, unit=None, bag=None, content=None, **signer: Any) -> bytes:
        unit = unit or self.unit
        content = self.pki.tstinfo() if content is None else content
        bag = (unit, self.inter) if bag is None else bag
        info = self.pki.signer_info(unit, content, **signer)
        return self.pki.response(self.pki.token(content, [info], [one.der for one in bag]))

    def verify(self, blob: bytes | None = None, **changes: Any) -> Proof:
        given = {"data": self.pki.DATA, "anchors": Anchors((self.root.der,)), "now": NOW}
        return verify(self.token() if blob is None else blob, **{**given, **changes})

    def refused(self, blob: bytes | None = None, **changes: Any) -> str:
        with pytest.raises((TokenRejected, TokenUnsupported)) as caught:
            self.verify(blob, **changes)
        return f"{caught.value.verdict} {caught.value.reason}"


@pytest.fixture(scope="session")
def mint(pki) -> Mint:
    return Mint(pki)
