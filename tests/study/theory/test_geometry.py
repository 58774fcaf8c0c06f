from __future__ import annotations

import numpy as np
import pytest

from study.errors import TheoryError
from study.theory import geometry
from study.theory.geometry import Geometry


def test_the_four_numbers_by_their_definitions(random_groups):
    for group in random_groups(50, seed=21):
        size = len(group.scores)
        rows = group.scores if group.weights is None else group.scores * group.weights[:, None]
        clean = (group.successes - group.successes.mean()) @ rows / size
        spread = group.successes @ ((rows - rows.mean(axis=0)) ** 2).sum(axis=1) / size**2
        one = geometry.of_scores(group.scores, group.successes, group.weights)
        assert one.size == size
        assert one.successes == group.successes.sum()
        assert one.left == pytest.approx(float(clean @ clean), rel=1e-10, abs=1e-14 * group.scale)
        assert one.right == pytest.approx(float(spread), rel=1e-10, abs=1e-14 * group.scale)


def test_unit_weights_are_no_weights_and_the_divisor_scales():
    rng = np.random.default_rng(0)
    scores, successes = rng.normal(size=(5, 3)), [1, 0, 1, 1, 0]
    plain = geometry.of_scores(scores, successes)
    assert geometry.of_scores(scores, successes, np.ones(5)) == plain
    tokens = geometry.of_scores(scores, successes, divisor=100.0)
    assert tokens.left == pytest.approx(plain.left * 25 / 1e4, rel=1e-14)
    assert tokens.right == pytest.approx(plain.right * 25 / 1e4, rel=1e-14)


@pytest.mark.parametrize("size", [2, 5, 8])
def test_orthogonal_scores_match_section_4_3(size):
    for k in range(size + 1):
        formula = geometry.orthogonal(size, k, norm=3.0)
        built = geometry.of_scores(3.0 * np.eye(size), np.arange(size) < k)
        assert formula.left == pytest.approx(built.left, abs=1e-15)
        assert formula.right == pytest.approx(built.right, abs=1e-15)
        assert (formula.left < formula.right) == (k >= 2)


def test_averages_weigh_by_probability():
    groups = [geometry.orthogonal(4, 1), geometry.orthogonal(4, 3)]
    assert geometry.average(groups, [1.0, 0.0]) == (groups[0].left, groups[0].right)
    left, _ = geometry.average(groups)
    assert left == pytest.approx((groups[0].left + groups[1].left) / 2)


SCORES = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("scores", "successes", "weights", "divisor"),
    [
        (SCORES[:1], [1], None, None),
        (SCORES[:0], [], None, None),
        (SCORES[:, :0], [1, 0, 1, 0], None, None),
        (SCORES[0], [1, 0, 1], None, None),
        (SCORES, [1, 0, 1], None, None),
        (SCORES, [1, 0, 1, 0.5], None, None),
        (SCORES, [1, 0, 1, -1], None, None),
        (SCORES * np.nan, [1, 0, 1, 0], None, None),
        (SCORES, [1, 0, 1, 0], [1, 1, 1], None),
        (SCORES, [1, 0, 1, 0], [1, 1, 1, -0.1], None),
        (SCORES, [1, 0, 1, 0], [1, 1, 1, np.inf], None),
        (SCORES, [1, 0, 1, 0], None, 0.0),
        (SCORES, [1, 0, 1, 0], None, -2.0),
        (SCORES.astype(complex), [1, 0, 1, 0], None, None),
    ],
)
def test_bad_groups_are_refused_with_what_was_expected(scores, successes, weights, divisor):
    with pytest.raises(TheoryError) as caught:
        geometry.of_scores(scores, successes, weights, divisor)
    assert caught.value.expected
    assert caught.value.where.field
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "gram",
    [np.ones((3, 4)), np.array([[1.0, 2.0], [0.0, 1.0]]), np.diag([1.0, -1.0]), np.ones((1, 1)), np.ones(4)],
)
def test_what_is_no_gram_matrix_is_refused(gram):
    with pytest.raises(TheoryError):
        geometry.of_gram(gram, [1, 0])


@pytest.mark.parametrize(
    "fields", [(1, 0, 0.0, 0.0), (4, 5, 0.0, 0.0), (4, 2, -1.0, 1.0), (4, 2, 1.0, np.nan), (4, 2, 2.1, 1.0)]
)
def test_an_impossible_geometry_cannot_be_made(fields):
    with pytest.raises(TheoryError):
        Geometry(*fields)
