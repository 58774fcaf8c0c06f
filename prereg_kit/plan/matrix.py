"""The run matrix: every planned run and pair, and the policy for those that are missing, failed or repeated."""

from __future__ import annotations

from itertools import product
from typing import Literal

from pydantic import model_validator

from prereg_kit.plan.fields import Listed, Name, Text, Value

MAX_RUNS = 100_000
ANY = ""
"""In a planned run the empty text stands for any condition, arm, seed or pair."""
_ANY = (ANY,)

Run = tuple[str, str, str]
"""(condition, arm, seed) as texts."""


class PlannedRuns(Value):
    """A block of the run matrix: the product of the lists.

    `arm` lists values of the arms' column. `pair` lists values of the pairing column (`resampling.pairs`) and is
    needed where that column is not `seed`: then only `pair` says which pairs have to be there. An index of runs names
    `seed`, so a block may have both.
    """

    condition: Listed = _ANY
    arm: Listed
    seed: Listed = _ANY
    pair: Listed = _ANY
    note: Text = ""

    @model_validator(mode="after")
    def _names_pairs_or_seeds(self) -> PlannedRuns:
        if self.seed == _ANY and self.pair == _ANY:
            raise ValueError("seed: the planned seeds; or pair, where resampling.pairs is another column")
        return self


class Exclusion(Value):
    """One admissible reason to leave a run out; no other reason excludes."""

    id: Name
    text: Text


class RunMatrix(Value):
    """Every planned run, and the policy for those that are missing, failed or repeated.

    A pair that only one arm has is refused, unless `missing: exclude_pair` leaves the pair out and says so; the ledger
    keeps it, and the verdict shows what the missing pairs could have made of it at worst and at best.
    """

    planned: tuple[PlannedRuns, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    missing: Literal["refuse", "exclude_pair"] = "refuse"
    repeated: Literal["refuse"] = "refuse"

    @model_validator(mode="after")
    def _of_a_readable_size(self) -> RunMatrix:
        count = sum(
            len(block.condition) * len(block.arm) * max(len(block.seed), len(block.pair))
            for block in self.planned
        )
        if count > MAX_RUNS:
            raise ValueError(f"at most {MAX_RUNS} planned runs, not {count}")
        return self

    def cells(self) -> tuple[Run, ...]:
        """Every planned (condition, arm, seed), in the order of the plan; a block without seeds has seed `ANY`."""
        return tuple(
            dict.fromkeys(
                cell for block in self.planned for cell in product(block.condition, block.arm, block.seed)
            )
        )


def covers(planned: Run, run: Run) -> bool:
    """Whether a planned run is this run: equal, or `ANY`, in condition, arm and seed."""
    return all(one in (ANY, other) for one, other in zip(planned, run, strict=True))
