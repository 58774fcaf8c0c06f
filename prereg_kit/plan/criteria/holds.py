"""`holds`: another hypothesis of the plan passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from prereg_kit.plan.criteria.answers import Answers
from prereg_kit.plan.criteria.clause import Clause, Reason
from prereg_kit.plan.criteria.criterion import BaseCriterion
from prereg_kit.plan.criteria.possible import PossibleRegister, Studies
from prereg_kit.plan.fields import Name

if TYPE_CHECKING:
    from prereg_kit.plan.criteria.compare import Flags


class Holds(BaseCriterion):
    """Another hypothesis of the plan passes; unknown if it neither passes nor fails."""

    criterion: Literal["holds"] = "holds"
    body: ClassVar[str | None] = "hypothesis"

    hypothesis: Name

    def words(self) -> str:
        """Such as `H1 passes`."""
        return f"{self.hypothesis} passes"

    def judged(self, answers: Answers) -> Clause:
        """The outcome of the other hypothesis, where it is pass, fail or not run."""
        outcome, evidence = answers.outcome_of(self.hypothesis)
        known = outcome in ("pass", "fail")
        reason = Reason(code="depends-on-unknown", message=f"{self.hypothesis} is {outcome}")
        return Clause(
            criterion=self.criterion,
            words=self.words(),
            outcome=outcome if known or outcome == "not_run" else "not_evaluable",
            evidence=evidence,
            reasons=() if known else (reason,),
        )

    def true_in(self, register: PossibleRegister) -> bool:
        """Whether the other hypothesis holds there."""
        return register.holding[self.hypothesis]

    def obstacle(self) -> str:
        """Another hypothesis has endpoints of its own."""
        return f"its clause {self.criterion} is not about seed pairs"

    def holds_in(self, studies: Studies) -> Flags:
        """Never asked: see `obstacle`."""
        raise AssertionError(self.obstacle())
