"""Templates that came from elsewhere: jinja2's immutable sandbox, inside a child process with hard limits.

A template sees plain JSON values, no object of ours. The sandbox refuses attributes that reach Python; because a
sandbox has had escapes before, and because `'x' * 10**10` is a legal expression, the child also has a limit on
processor time, memory, wall-clock time and output, may write no file and start no process. What a template
prints is escaped for the format named by the caller, always: `safe` and `autoescape` blocks are refused.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from prereg_kit.decision.verdict import Verdicts
from prereg_kit.errors import NotCheckedError, RenderError, Where
from prereg_kit.report.formats import Format
from prereg_kit.report.page import Page, build

CPU_SECONDS = 5
WALL_SECONDS = 15
MEMORY_BYTES = 1 << 30
OUTPUT_CHARACTERS = 16 << 20
TEMPLATE_BYTES = 1 << 20
_PROBLEMS = {
    "security": ("the template was stopped: it reaches for what a template may not use", "template-security"),
    "syntax": ("the template is not valid", "template-syntax"),
    "undefined": ("the template names something that does not exist", "template-undefined"),
    "limit": ("the template was stopped at a limit", "template-limit"),
    "error": ("the template failed", "template"),
}


def context(page: Page) -> dict[str, Any]:
    """What a template may print: `title`, `banners`, `rows`, `predictions`, `gates`, `verdicts` (the whole JSON)."""

    def plain(value: Any) -> Any:  # noqa: ANN401 - dataclasses of strings, numbers and tuples
        made = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.name != "source"}
        return {name: _plain(item) for name, item in made.items()}

    def _plain(value: Any) -> Any:  # noqa: ANN401
        if dataclasses.is_dataclass(value):
            return plain(value)
        return [_plain(item) for item in value] if isinstance(value, tuple) else value

    return {
        "title": page.title,
        "banners": list(page.banners),
        "rows": [
            plain(row) | {"name": row.name, "seeds": row.seeds, "remarks": list(row.remarks)}
            for row in page.rows
        ],
        "predictions": [plain(row) | {"name": row.name} for row in page.predictions],
        "gates": [plain(row) for row in page.gates],
        "verdicts": page.source.to_json(),
    }


def render(verdicts: Verdicts, template: Path, output: Format, *, title: str | None = None) -> str:
    """Render verdicts with a user's template.

    Args:
        verdicts: what `decide` wrote.
        template: the file; at most 1 MiB of UTF-8.
        output: which escaping the printed values get; the template's own text is copied.
        title: overrides the title.

    Raises:
        NotCheckedError: the template is absent.
        RenderError: it is not valid, names something undefined, reaches for something forbidden, or exceeds a
            limit; template and line are named where known.
    """
    where = Where(file=str(template))
    try:
        with template.open("rb") as handle:
            data = handle.read(TEMPLATE_BYTES + 1)
    except OSError as error:
        raise NotCheckedError(f"the template cannot be read ({error.strerror})", where=where) from error
    if len(data) > TEMPLATE_BYTES:
        raise RenderError(
            "the template is too large", where=where, expected=f"at most {TEMPLATE_BYTES} bytes"
        )
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RenderError("the template is not UTF-8", where=where) from error
    limits = {"cpu": CPU_SECONDS, "memory": MEMORY_BYTES, "output": OUTPUT_CHARACTERS}
    answer = _ask_child(
        {"template": source, "format": output, "context": context(build(verdicts, title)), "limits": limits}
    )
    if "text" in answer:
        return str(answer["text"])
    return _refuse(answer, str(template))


def _ask_child(request: dict[str, Any]) -> dict[str, Any]:
    root = (
        Path(__file__).resolve().parents[2]
    )  # the child imports this very package, not one in the caller's folder
    try:
        done = subprocess.run(
            [sys.executable, "-m", "prereg_kit.report.sandbox_child"],
            input=json.dumps(request, allow_nan=False).encode(),
            capture_output=True,
            timeout=WALL_SECONDS,
            cwd=root,
            env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"kind": "limit", "message": f"more than {WALL_SECONDS} s"}
    if done.returncode < 0:
        return {
            "kind": "limit",
            "message": f"more than {CPU_SECONDS} s of processor time (signal {-done.returncode})",
        }
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return {"kind": "limit", "message": "the child process ended without an answer"}
    return answer if isinstance(answer, dict) else {"kind": "error", "message": "no answer"}


def _refuse(answer: dict[str, Any], template: str) -> NoReturn:
    problem, code = _PROBLEMS.get(answer.get("kind", "error"), _PROBLEMS["error"])
    line = answer.get("line")
    raise RenderError(
        f"{problem}: {answer.get('message', '')}".removesuffix("."),
        where=Where(file=template, line=line if isinstance(line, int) else None),
        next_step="docs/rendering.md lists what a template can use.",
        code=code,
    )
