"""The formats describe themselves, and say what each column is."""

from __future__ import annotations

import json

from prereg_kit.registers.formats import FORMATS, format_of, role_of


def test_roles_of_columns():
    assert role_of("true_success", "text", None) == "value"
    assert role_of("eval_set", "text", None) == "key"
    assert role_of("loss", "number", None) == "value"
    assert role_of("run_id", "text", "probe") == "detail"
    assert role_of("run_id", "text", None) == "detail"
    assert role_of("run_id", "text", "reported") == "key"
    assert role_of("task", "text", "groups") == "detail"


def test_every_format_describes_itself():
    for kind, known in FORMATS.items():
        assert known.name == f"prereg.{kind}/1"
        assert len({column.name for column in known.columns}) == len(known.columns)
        assert all(column.doc for column in known.columns)
        assert format_of(known.name, "x") is known
    assert (
        json.dumps(sorted(FORMATS)) == '["counts", "episodes", "groups", "luck", "probe", "reported", "runs"]'
    )
