"""Bytes to plans and amendments: strict YAML, then typed values; every complaint names file, line and field."""

from __future__ import annotations

import difflib
import functools
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from prereg_kit.errors import DocumentError, PlanError, Where
from prereg_kit.plan.amendment import FORMAT as AMENDMENT_FORMAT
from prereg_kit.plan.amendment import Amendment
from prereg_kit.plan.plan import FORMAT as PLAN_FORMAT
from prereg_kit.plan.plan import Plan
from prereg_kit.plan.yaml_file import Document, Path, Tree, dotted, read

_NAME = re.compile(r"[a-z.]+/[0-9]+")
Model = TypeVar("Model", bound=BaseModel)


def declared_format(data: bytes) -> str | None:
    """The value of a first key `format`, or None if the file does not begin with one.

    Read from the text where it stands on one line; parsed where it does not, so that no way of writing it hides it.
    """
    for raw in data[:65536].decode("utf-8", errors="replace").lstrip("\ufeff").splitlines():
        line = raw.strip()
        if not line or line.startswith(("#", "---", "%")):
            continue
        key, _, value = line.lstrip("{ ").partition(":")
        if key.strip(" \"'") != "format":
            return None
        plain = value.split("#")[0].strip(" ,}\"'")
        return plain if _NAME.fullmatch(plain) else _parsed_format(data)
    return None


def _parsed_format(data: bytes) -> str | None:
    try:
        value = read(data, "").value
    except DocumentError:
        return None
    found = value.get("format") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def read_plan(data: bytes, source: str) -> Plan:
    """The plan in a file's bytes.

    Raises:
        DocumentError: not strict YAML.
        PlanError: another format, an unknown field, a value that does not fit, a reference to nothing.
    """
    return plan_of(read_document(data, source, PLAN_FORMAT))


def read_amendment(data: bytes, source: str) -> Amendment:
    """The amendment in a file's bytes; raises as `read_plan` does."""
    return validated(Amendment, read_document(data, source, AMENDMENT_FORMAT))


def read_document(data: bytes, source: str, wanted: str) -> Document:
    """Parse and check that the first key is `format` with the wanted value.

    Raises:
        DocumentError: not strict YAML.
        PlanError: another format or major version.
    """
    document = read(data, source)
    value = document.value
    if not isinstance(value, dict):
        raise PlanError("not a mapping", where=Where(file=source, line=1), expected=f"format: {wanted}")
    found = value.get("format")
    if found != wanted:
        raise PlanError(
            "not a document of the wanted format",
            where=Where(file=source, line=document.line(("format",)), field="format"),
            expected=wanted,
            found=found,
            next_step=f"Begin the file with `format: {wanted}`; `prereg new` writes a starting plan.",
        )
    if next(iter(value)) != "format":
        raise PlanError(
            "`format` is not the first key",
            where=Where(file=source, line=document.line(("format",)), field="format"),
            expected=f"`format: {wanted}` before everything else",
            found=next(iter(value)),
        )
    return document


def plan_of(document: Document) -> Plan:
    """A parsed document as a plan; raises PlanError as `read_plan` does."""
    return validated(Plan, document)


def validated(model: type[Model], document: Document) -> Model:
    """A parsed document as a typed value.

    Raises:
        PlanError: the first misfit, with its line and what was expected; further ones are counted.
    """
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        raise _explain(error, document) from error


def _explain(error: ValidationError, document: Document) -> PlanError:
    problems = error.errors()
    first = problems[0]
    misplaced = first.get("ctx", {}).get("path")  # set where only the whole plan could see the misfit
    path = _path_in_file(misplaced or first["loc"], document.value)
    message = first["msg"].removeprefix("Value error, ")
    kind = first["type"]
    found: dict[str, Any] = (
        {} if kind in ("missing", "value_error", "plan_misfit") else {"found": first["input"]}
    )
    if kind == "extra_forbidden":
        message = "unknown field"
        found = {"found": str(path[-1]) if path else None}
    if kind == "value_error" and isinstance(first["input"], str | int | float | list):
        found = {"found": first["input"]}
    hint = "docs/plans.md lists every field."
    if kind == "extra_forbidden" and path:
        near = difflib.get_close_matches(str(path[-1]), _known_fields(), n=2)
        hint = f"Did you mean {' or '.join(near)}? {hint}" if near else hint
    expected = None
    if kind == "value_error" and found:
        message, expected = "a value that does not fit", message
    more = f" {len(problems) - 1} more problem(s) follow it." if len(problems) > 1 else ""
    return PlanError(
        message if kind in ("plan_misfit", "value_error") else message[:1].lower() + message[1:],
        where=Where(file=document.source, line=document.line(path), field=dotted(path) or None),
        expected=expected,
        next_step=hint + more,
        **found,
    )


@functools.cache
def _known_fields() -> tuple[str, ...]:
    """Every field name of every part of a plan, as written in a file."""
    from prereg_kit.plan import endpoint, hypothesis, parts, plan
    from prereg_kit.plan.criteria import rule

    models: list[type[BaseModel]] = list(rule.KINDS.values())
    models += [
        each
        for module in (endpoint, hypothesis, parts, plan)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, BaseModel)
    ]
    names = {field.alias or name for model in models for name, field in model.model_fields.items()}
    return tuple(sorted(names | set(rule.KINDS)))


def _path_in_file(loc: tuple[int | str, ...], value: Tree) -> Path:
    """Pydantic's location without the parts (union tags, `of`) that are not in the file."""
    path: list[str | int] = []
    here: Tree = value
    for index, part in enumerate(loc):
        if isinstance(here, dict) and part in here:
            here = here[str(part)]
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        elif index == len(loc) - 1 and not (isinstance(part, str) and part == "of"):
            path.append(part)  # a missing or misplaced field: named, though it has no line
            break
        else:
            continue
        path.append(part)
    return tuple(path)
