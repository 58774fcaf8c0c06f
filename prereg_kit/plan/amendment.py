"""Amendments: typed changes to a frozen plan, each naming its parent's digest and what was known by then."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from prereg_kit.plan.fields import Moment, Name, Sha256, Text, Value

FORMAT = "prereg.amendment/1"

Known = Literal["nothing_run", "no_results_seen", "results_not_opened", "results_seen"]
KNOWN_IN_WORDS = {
    "nothing_run": "nothing had been run",
    "no_results_seen": "runs had started, no result had been seen",
    "results_not_opened": "results existed and had not been opened",
    "results_seen": "results had been seen",
}


class Change(Value):
    """One change: `field` is a path with slashes, such as `hypotheses/H1b/for_each`."""

    op: Literal["add", "replace", "remove"]
    field: Annotated[str, Field(pattern=r"^[^/\x00-\x1f]+(/[^/\x00-\x1f]+)*$")]
    value: Any = None

    @model_validator(mode="after")
    def _shape(self) -> Change:
        if self.field.split("/", 1)[0] in ("format", "id", "kind"):
            raise ValueError("a field that an amendment may change; format, id and kind stay")
        if self.op == "remove" and self.value is not None:
            raise ValueError("no value with remove")
        if self.op != "remove" and self.value is None:
            raise ValueError(f"a value with {self.op}")
        return self


class Amendment(Value):
    """An amendment. `amends` is the SHA-256 of the parent's bytes: the plan, or the amendment before this one."""

    format: Literal["prereg.amendment/1"] = "prereg.amendment/1"
    id: Name
    plan: Name
    amends: Sha256
    written: Moment | None = None
    authors: tuple[Text, ...] = ()
    reason: Text
    known: Known
    known_detail: Text = ""
    note: Text = ""
    changes: Annotated[tuple[Change, ...], Field(min_length=1)]
