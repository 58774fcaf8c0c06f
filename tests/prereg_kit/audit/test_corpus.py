"""The audit finds every planted manipulation, and accuses no honest study."""

from __future__ import annotations

import pytest

from tests.corpus.honest import HONEST
from tests.corpus.measure import measure
from tests.corpus.planted import KINDS


def test_the_corpus_is_large_enough() -> None:
    assert len(KINDS) >= 40
    assert len(HONEST) >= 40


@pytest.mark.parametrize("name", KINDS)
def test_a_planted_manipulation_is_found(name: str) -> None:
    found = measure(name)
    assert found.right, found.said


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_study_is_not_accused(name: str) -> None:
    found = measure(name)
    assert found.right, found.said
