"""Every error that prereg_kit raises on purpose.

    PreregError                 exit 1   anything below
    ├── UsageError              exit 2   the command line or a call was malformed
    ├── NotCheckedError         exit 3   nothing was checked: a file, a trust root or a network is absent
    ├── DocumentError           exit 1   bytes that are not the text they should be (encoding, YAML, JSON)
    │   └── PlanError           exit 1   a plan or an amendment that does not say what a plan must say
    ├── RegisterError           exit 1   a register with a defect; the row's key is named
    ├── ArchiveError            exit 1   a frozen folder whose bytes do not match its record, or a refusal to overwrite
    ├── TimestampError          exit 1   a token or an authority's answer that was examined and rejected
    │   └── (prereg_kit.evidence.token)           TokenRejected exit 1, TokenUnsupported exit 3, QuorumError exit 1
    ├── DecisionError           exit 1   a rule that cannot be evaluated on the given register
    └── RenderError             exit 1   a verdicts file or a template that cannot be rendered

An error says what was expected, what was found and what to do next, and where: file, line, field or row key.
`code` is stable and lower-case; a program may switch on it. Foreign exceptions are translated once, at the
module that owns the dependency, with `raise ... from`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

_UNSET = object()


@dataclass(frozen=True)
class Where:
    """A place in an input: any part may be missing, none is invented."""

    file: str | None = None
    line: int | None = None
    field: str | None = None
    key: str | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
        parts = [place] if place else []
        if self.field:
            parts.append(f"field {self.field}")
        if self.key:
            parts.append(f"row {self.key}")
        return ", ".join(parts)


class PreregError(Exception):
    """Base of the tree; raised directly only where no narrower class fits.

    Args:
        problem: one clause, lower case, no full stop.
        where: the place in the input.
        expected: what would have been right.
        found: the offending value; shown with `repr`, cut at 200 characters.
        next_step: what the reader can do now.
        code: overrides the class's stable code where one class has several reasons.
    """

    code: str = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        problem: str,
        *,
        where: Where | None = None,
        expected: str | None = None,
        found: object = _UNSET,
        next_step: str | None = None,
        code: str | None = None,
    ) -> None:
        self.problem = problem
        self.where = where or Where()
        self.expected = expected
        self.found = None if found is _UNSET else found
        self.next_step = next_step
        if code is not None:
            self.code = code
        place = str(self.where)
        text = f"{place}: {problem}" if place else problem
        if expected is not None:
            text += f"; expected {expected}"
        if found is not _UNSET:
            shown = repr(found)
            text += f"; found {shown if len(shown) <= 200 else shown[:200] + '...'}"
        if next_step is not None:
            text += f". {next_step}"
        super().__init__(text)


class UsageError(PreregError):
    """The command line, or a call's arguments, were malformed."""

    code = "usage"
    exit_code = 2


class NotCheckedError(PreregError):
    """Nothing was checked because something needed for the check is absent."""

    code = "not-checked"
    exit_code = 3


class DocumentError(PreregError):
    """Bytes that are not the text they should be: encoding, YAML, JSON."""

    code = "document"


class PlanError(DocumentError):
    """A plan or an amendment that does not say what it must say."""

    code = "plan"


class RegisterError(PreregError):
    """A register with a defect; the row's key is named."""

    code = "register"


class ArchiveError(PreregError):
    """A frozen folder that does not match its record, or a refusal to overwrite."""

    code = "archive"


class TimestampError(PreregError):
    """A token, or an authority's answer, that was examined and rejected."""

    code = "timestamp"


class DecisionError(PreregError):
    """A rule that cannot be evaluated on the given register."""

    code = "decision"


class RenderError(PreregError):
    """A verdicts file or a template that cannot be rendered."""

    code = "render"
