"""The child process of `sandbox`: limits itself, then renders one template. stdin and stdout carry JSON."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from types import TracebackType
from typing import Any

from jinja2 import TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from prereg_kit.report.environment import sandbox
from prereg_kit.report.formats import named

_NAME = "<template>"
# A block's text was escaped when it was made; outside HTML there is no type that says so, and it would be twice.
_BLOCKS = (nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock)


def _limit(seconds: int, memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))  # not obeyed for root


def _line(trace: TracebackType | None) -> int | None:
    """The template's line in a traceback, which jinja2 rewrites to the template's own lines."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _check(environment: SandboxedEnvironment, source: str, *, blocks: bool) -> None:
    tree = environment.parse(source, filename=_NAME)
    for modifier in tree.find_all((nodes.EvalContextModifier, nodes.ScopedEvalContextModifier)):
        raise TemplateSyntaxError("the escaping cannot be changed by a template", modifier.lineno)
    if not blocks:
        for block in tree.find_all(_BLOCKS):
            raise TemplateSyntaxError(
                "macro, call, filter and set blocks work in HTML only: elsewhere their text would be escaped twice",
                block.lineno,
            )


def _render(request: dict[str, Any]) -> dict[str, Any]:
    output = named(request["format"])
    environment = sandbox(output)
    try:
        _check(environment, request["template"], blocks=output.markup)
        parts: list[str] = []
        size, largest = 0, request["limits"]["output"]
        for part in environment.from_string(request["template"]).generate(request["context"]):
            size += len(part)
            if size > largest:
                return {"kind": "limit", "message": f"more than {largest} characters of output"}
            parts.append(part)
        return {"text": "".join(parts)}
    except SecurityError as error:
        return {"kind": "security", "message": str(error), "line": _line(error.__traceback__)}
    except UndefinedError as error:
        return {"kind": "undefined", "message": str(error), "line": _line(error.__traceback__)}
    except TemplateSyntaxError as error:
        return {"kind": "syntax", "message": error.message or "", "line": error.lineno}
    except (OverflowError, MemoryError, RecursionError) as error:
        message = str(error) or type(error).__name__
        return {"kind": "limit", "message": message, "line": _line(error.__traceback__)}
    except TemplateError as error:
        return {
            "kind": "error",
            "message": f"{type(error).__name__}: {error}",
            "line": _line(error.__traceback__),
        }
    except Exception as error:
        return {
            "kind": "error",
            "message": f"{type(error).__name__}: {error}",
            "line": _line(error.__traceback__),
        }


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.buffer.read())
    _limit(request["limits"]["cpu"], request["limits"]["memory"])
    answer = json.dumps(_render(request))
    sys.stdout.write(answer)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
