"""The conditions of the formulas, checked once and in one wording.

Every function returns the checked value as float64 (or int) or raises `TheoryError`.
"""

from __future__ import annotations

import operator

import numpy as np
import numpy.typing as npt

from prereg_kit.errors import Where
from study.errors import TheoryError

Array = npt.NDArray[np.float64]

_SYMMETRY = 1e-9


def _fail(problem: str, field: str, expected: str, found: object) -> TheoryError:
    return TheoryError(problem, where=Where(field=field), expected=expected, found=found)


def numbers(values: npt.ArrayLike, field: str, ndim: int | None = None) -> Array:
    """`values` as a finite float64 array, of `ndim` dimensions where that is given."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError(array.dtype)
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise _fail("not an array of numbers", field, "real numbers", values) from error
    if ndim is not None and array.ndim != ndim:
        raise _fail("wrong number of dimensions", field, f"{ndim} dimensions", array.shape)
    if not np.isfinite(array).all():
        raise _fail("a value is not finite", field, "finite numbers", array[~np.isfinite(array)].tolist())
    return array


def whole(value: int, field: str, least: int, most: int | None = None) -> int:
    """A whole number in [least, most]; booleans and floats are refused."""
    expected = (
        f"a whole number of at least {least}" if most is None else f"a whole number in [{least}, {most}]"
    )
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError as error:
        raise _fail("not a whole number", field, expected, value) from error
    if number < least or (most is not None and number > most):
        raise _fail("out of range", field, expected, number)
    return number


def group_size(size: int) -> int:
    """G >= 2: a group of one has no contrast, an empty one no mean."""
    return whole(size, "group size", 2)


def probability(value: float, field: str) -> float:
    """A number in [0, 1]."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise _fail("not a probability", field, "a number in [0, 1]", value) from error
    if not 0.0 <= number <= 1.0:
        raise _fail("not a probability", field, "a number in [0, 1]", value)
    return number


def probabilities(values: npt.ArrayLike, field: str, size: int | None = None) -> Array:
    """A vector of numbers in [0, 1], of length `size` where that is given."""
    array = numbers(values, field, 1)
    if size is not None and array.shape != (size,):
        raise _fail("wrong length", field, f"{size} values", array.shape)
    if ((array < 0) | (array > 1)).any():
        raise _fail("a value is not a probability", field, "numbers in [0, 1]", array.tolist())
    return array


def distribution(values: npt.ArrayLike, field: str, size: int | None = None) -> Array:
    """Probabilities that sum to one (to 1e-9)."""
    array = probabilities(values, field, size)
    if array.size == 0 or abs(array.sum() - 1.0) > 1e-9:
        raise _fail("probabilities do not sum to one", field, "a sum of 1", float(array.sum()))
    return array


def rewards(values: npt.ArrayLike, field: str = "rewards") -> Array:
    """Finite rewards of shape (..., G) with G >= 2."""
    array = numbers(values, field)
    if array.ndim < 1 or array.shape[-1] < 2:
        raise _fail("a group needs at least two rollouts", field, "a last axis of length G >= 2", array.shape)
    return array


def successes(values: npt.ArrayLike, size: int, field: str = "successes") -> Array:
    """True outcomes of one group: a vector of G zeros and ones."""
    array = numbers(values, field, 1)
    if array.shape != (size,):
        raise _fail("does not match the scores", field, f"{size} outcomes", array.shape)
    if ((array != 0.0) & (array != 1.0)).any():
        raise _fail("an outcome outside the law", field, "0 or 1", array.tolist())
    return array


def scores(values: npt.ArrayLike) -> Array:
    """Scores of one group: shape (G, d), G >= 2, d >= 1."""
    array = numbers(values, "scores", 2)
    if array.shape[0] < 2 or array.shape[1] < 1:
        raise _fail("a group needs at least two rollouts", "scores", "shape (G >= 2, d >= 1)", array.shape)
    return array


def gram(values: npt.ArrayLike) -> Array:
    """Inner products of one group's scores: symmetric, shape (G, G), no negative diagonal, G >= 2."""
    array = numbers(values, "gram", 2)
    if array.shape[0] != array.shape[1] or array.shape[0] < 2:
        raise _fail("not a Gram matrix", "gram", "shape (G, G) with G >= 2", array.shape)
    return _symmetric(array, "gram")


def covariance(values: npt.ArrayLike, size: int) -> Array:
    """Covariance of one group's rewards: symmetric (G, G), |c_ij| at most the product of the deviations."""
    array = numbers(values, "reward covariance", 2)
    if array.shape != (size, size):
        raise _fail("does not match the scores", "reward covariance", f"shape ({size}, {size})", array.shape)
    array = _symmetric(array, "reward covariance")
    deviations = np.sqrt(np.diagonal(array))
    excess = np.abs(array) - np.outer(deviations, deviations)
    if excess.max() > _SYMMETRY * max(1.0, float(np.abs(array).max())):
        raise _fail("not a covariance", "reward covariance", "|c_ij| <= sd_i sd_j", float(excess.max()))
    return array


def _symmetric(array: Array, field: str) -> Array:
    if not (array == array.T).all():
        skew = float(np.abs(array - array.T).max())
        if skew > _SYMMETRY * float(np.abs(array).max()):
            raise _fail("not symmetric", field, "a symmetric matrix", skew)
    if array.diagonal().min() < 0:
        raise _fail("a negative square", field, "a diagonal of at least 0", array.diagonal().tolist())
    return array


def weights(values: npt.ArrayLike | None, size: int) -> Array | None:
    """Importance weights of one group: None for none, else G finite numbers of at least 0."""
    if values is None:
        return None
    array = numbers(values, "weights", 1)
    if array.shape != (size,):
        raise _fail("does not match the scores", "weights", f"{size} weights", array.shape)
    if (array < 0).any():
        raise _fail("a negative importance weight", "weights", "numbers of at least 0", array.tolist())
    return array


def divisor(value: float | None, size: int) -> float:
    """What the sum over the group is divided by: G unless a positive number (a token count) is given."""
    if value is None:
        return float(size)
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise _fail("not a divisor", "divisor", "a positive number", value)
    return number
