"""The parts of a plan around its rules: resampling, materials, registers, disclosures, timestamps."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, model_validator

from prereg_kit.plan.fields import (
    Column,
    Exact,
    Level,
    Name,
    PercentileMethod,
    Sha256,
    Text,
    Texts,
    Value,
    Whole,
)


class Resampling(Value):
    """How intervals are computed: pairs and clusters are resampled crossed; episodes are never pooled.

    `exact` needs no random numbers; `monte_carlo` draws `resamples` from the stream keyed by `seed` and the
    digest of the original frozen plan; `auto` is exact where its estimated cost is under a minute.
    """

    pairs: Column = "seed"
    clusters: Column | None = "task"
    engine: Literal["auto", "exact", "monte_carlo"] = "auto"
    resamples: Whole = 10_000
    seed: Whole = 0
    interval: PercentileMethod = "percentile"
    level: Level = Fraction(19, 20)

    @model_validator(mode="after")
    def _ranges(self) -> Resampling:
        if not 100 <= self.resamples <= 10_000_000:
            raise ValueError("resamples between 100 and 10,000,000")
        if self.seed < 0:
            raise ValueError("a seed that is not negative")
        return self


class Material(Value):
    """A file that the plan binds: a pool, a config, code. `path` is relative to the plan's repository."""

    path: Text
    sha256: Sha256
    what: Text = ""


class RegisterSpec(Value):
    """What the plan says about a register: its key columns, and how defects are treated."""

    key: Texts | None = None
    repeats: Literal["refuse", "drop_exact"] = "refuse"
    missing_values: Literal["refuse"] = "refuse"
    note: Text = ""


class Disclosure(Value):
    """Something that was known before the freeze.

    Where a number was known, `endpoint` and `seed` say of what: the pair's `difference`, or one arm's `value` (with
    `arm` and, if there is one, the expected value of the reference arm as `baseline`). `prereg check` conditions on it.
    """

    id: Name
    kind: Text
    text: Text
    runs: Texts = ()
    known: Text = ""
    endpoint: Name | None = None
    seed: Text | None = None
    difference: Exact | None = None
    value: Exact | None = None
    arm: Text | None = None
    baseline: Exact | None = None

    @model_validator(mode="after")
    def _of_something(self) -> Disclosure:
        if self.difference is not None and self.value is not None:
            raise ValueError("a difference or one arm's value, not both")
        if (self.difference is not None or self.value is not None) and self.endpoint is None:
            raise ValueError("the endpoint whose number was known")
        if self.value is not None and self.arm is None:
            raise ValueError("the arm whose value was known")
        return self


class Variance(Value):
    """What is known before the freeze about how much an endpoint varies: used by `prereg check` alone.

    `sd` is the standard deviation, over pairs, of treatment minus reference, in the endpoint's unit.
    """

    sd: Exact
    source: Text

    @model_validator(mode="after")
    def _varies(self) -> Variance:
        if self.sd <= 0:
            raise ValueError("a standard deviation above 0")
        return self


class TimestampPolicy(Value):
    """How many distinct operators must vouch for the time, and how exactly."""

    quorum: Annotated[Whole, Field(ge=1, le=16)] = 2
    accuracy_seconds: Annotated[Whole, Field(ge=1, le=31_536_000)] | None = None

    @property
    def limit(self) -> timedelta | None:
        """The widest accuracy of a token that counts; None leaves it to the verifier's own limit."""
        return None if self.accuracy_seconds is None else timedelta(seconds=self.accuracy_seconds)
