"""The list of reasons is closed: each is raised somewhere, and the page on verification explains each."""

import re
from pathlib import Path

import pytest

import prereg_kit.evidence.token as package
from prereg_kit.errors import TimestampError
from prereg_kit.evidence.token import REASONS, TokenRejected, TokenUnsupported

SOURCES = {path.stem: path.read_text() for path in Path(package.__file__).parent.glob("*.py")}
PAGE = (Path(__file__).parents[4] / "docs" / "verifier.md").read_text()


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_raised_and_explained(reason):
    assert any(f'"{reason}"' in text for name, text in SOURCES.items() if name != "reason")
    assert f"`{reason}`" in PAGE


def test_every_finding_is_explained():
    codes = {code for text in SOURCES.values() for code in re.findall(r'Finding\(\s*"(\w+)"', text)}
    documented = {code for code in codes if f"`{code}`" in PAGE}
    assert codes - documented == {"same_operator", "not_counted", "demo_not_counted", "wide_not_counted"}


def test_errors_carry_their_verdict_and_exit_code():
    rejected, unsupported = TokenRejected("status", "no"), TokenUnsupported("unsupported_signature", "what")
    assert isinstance(rejected, TimestampError)
    assert isinstance(unsupported, TimestampError)
    assert (rejected.verdict, rejected.exit_code, rejected.code) == ("reject", 1, "status")
    assert (unsupported.verdict, unsupported.exit_code, unsupported.code) == (
        "unsupported",
        3,
        "unsupported_signature",
    )


def test_the_public_surface_is_what_is_listed():
    assert all(hasattr(package, name) for name in package.__all__)
    assert package.__all__ == sorted(
        package.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
